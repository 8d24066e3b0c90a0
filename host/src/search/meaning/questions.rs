//! What questions mean, without a search ever waiting for long.
//!
//! A question that was asked before is known. For another a search waits as long as the operator allows; the answer is
//! kept when it comes later. After one that failed nobody waits for a while, and no more than a few are asked at once:
//! an endpoint that is dead or slow costs words alone.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

use super::Meaning;
use super::vector::Vector;
use crate::clock;

/// Questions whose meaning is kept: some megabytes.
const KEPT: usize = 1_000;

/// Questions that are asked about at once.
const AT_ONCE: usize = 4;

/// How long nobody asks after a failure.
const REST: Duration = Duration::from_secs(10);

/// What is known of questions.
pub(super) struct Questions {
    wait: Duration,
    places: Arc<Semaphore>,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    vectors: HashMap<String, Arc<Vector>>,
    /// In the order in which they came.
    order: VecDeque<String>,
    /// Nobody asks before.
    rests_until: Option<Instant>,
}

impl Questions {
    pub(super) fn new(wait: Duration) -> Self {
        Self { wait, places: Arc::new(Semaphore::new(AT_ONCE)), known: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn keep(&mut self, question: String, vector: Arc<Vector>) {
        if self.vectors.insert(question.clone(), vector).is_none() {
            self.order.push_back(question);
        }
        while self.order.len() > KEPT {
            if let Some(oldest) = self.order.pop_front() {
                self.vectors.remove(&oldest);
            }
        }
    }
}

impl Meaning {
    /// What a question means, if that is known within the moment that a search may wait.
    pub(crate) async fn of_question(self: &Arc<Self>, question: &str) -> Option<Arc<Vector>> {
        let now = clock::monotonic();
        {
            let known = self.questions.lock();
            if let Some(vector) = known.vectors.get(question) {
                return Some(Arc::clone(vector));
            }
            if known.rests_until.is_some_and(|until| now < until) {
                return None;
            }
        }
        let place = Arc::clone(&self.questions.places).try_acquire_owned().ok()?;
        let (meaning, question) = (Arc::clone(self), question.to_owned());
        // Not dropped with whoever waits for it: the next one who asks finds the answer.
        let asked = tokio::spawn(async move {
            let _place = place;
            meaning.ask(question).await
        });
        tokio::time::timeout(self.questions.wait, asked).await.ok()?.ok()?
    }

    async fn ask(&self, question: String) -> Option<Arc<Vector>> {
        match self.embed(std::slice::from_ref(&question)).await {
            Ok(mut vectors) => {
                let vector = Arc::new(vectors.pop()??);
                self.questions.lock().keep(question, Arc::clone(&vector));
                Some(vector)
            }
            Err(why) => {
                tracing::debug!(%why, "a question is searched for by its words alone");
                self.questions.lock().rests_until = clock::monotonic().checked_add(REST);
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_questions_are_forgotten() {
        let mut known = Known::default();
        let vector = Arc::new(Vector::new(&[1.0]).unwrap());
        for number in 0..KEPT + 2 {
            known.keep(format!("question {number}"), Arc::clone(&vector));
            known.keep("question 7".to_owned(), Arc::clone(&vector));
        }
        assert_eq!((known.vectors.len(), known.order.len()), (KEPT, KEPT));
        assert!(!known.vectors.contains_key("question 0") && known.vectors.contains_key("question 7"));
    }
}
