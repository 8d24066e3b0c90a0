//! The `progress` namespace: how far a call is, for whoever made it.
//!
//! It decides which reports are worth telling. A client that listens slowly, or not at all, costs the guest nothing
//! but the price of the host call: nothing here waits.

use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use wasmtime::StoreContextMut;
use wasmtime::component::Linker;

use super::{Services, words};
use crate::client::News;
use crate::clock;
use crate::runtime::{State, charge};

/// The interface of the contract.
pub(super) const INTERFACE: &str = "remit:capability/progress@0.1.0";

/// Reports of a call that are told at once: a call of a few steps is told in full, however fast it is.
const BURST: u32 = 10;

/// The time between two reports that are told after those: nobody reads faster than ten a second.
const PAUSE: Duration = Duration::from_millis(100);

/// Characters of a message: one line of a screen or two.
const MESSAGE_CHARS: usize = 300;

/// What one call said of its progress.
#[derive(Debug, Default)]
pub struct Progress {
    news: Option<mpsc::Sender<News>>,
    /// The last `done`, told or not.
    done: Option<f64>,
    told_at: Option<Instant>,
    /// How many were told.
    told: u32,
    /// The newest report, while it is not told.
    held: Option<News>,
}

impl Progress {
    /// For one call, and whoever listens to it.
    #[must_use]
    pub fn new(news: Option<mpsc::Sender<News>>) -> Self {
        Self { news, ..Self::default() }
    }

    /// The listener, and the newest report if it was not told yet.
    #[must_use]
    pub fn into_last(self) -> Option<(mpsc::Sender<News>, News)> {
        self.news.zip(self.held)
    }

    /// Whether a report of this number says something new. Numbers that are none, and steps back, say nothing.
    fn grows(&mut self, done: f64) -> bool {
        let grows = done.is_finite() && self.done.is_none_or(|before| done > before);
        if grows {
            self.done = Some(done);
        }
        grows
    }

    fn report(&mut self, report: News, now: Instant) {
        let Some(news) = &self.news else { return };
        if self.told >= BURST && self.told_at.is_some_and(|told| now.duration_since(told) < PAUSE) {
            self.held = Some(report);
            return;
        }
        // A channel that is full has a listener that is slow: the report waits for the next one, or for the end.
        match news.try_send(report) {
            Ok(()) => (self.held, self.told_at, self.told) = (None, Some(now), self.told.saturating_add(1)),
            Err(mpsc::error::TrySendError::Full(report)) => self.held = Some(report),
            Err(mpsc::error::TrySendError::Closed(_)) => self.news = None,
        }
    }
}

/// Puts the namespace's functions into a linker.
pub(super) fn link(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    linker.instance(INTERFACE)?.func_wrap("report", report)
}

fn report(
    mut store: StoreContextMut<'_, State>,
    (done, total, message): (f64, Option<f64>, Option<String>),
) -> wasmtime::Result<()> {
    charge(&mut store, message.as_ref().map_or(0, String::len))?;
    let Services { progress, http, .. } = &mut store.data_mut().services;
    if progress.news.is_none() || !progress.grows(done) {
        return Ok(());
    }
    let message = message.map(|message| words::line(&message, MESSAGE_CHARS, http.redactor()));
    let total = total.filter(|total| total.is_finite());
    progress.report(News::Progress { done, total, message }, clock::monotonic());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn news(done: f64) -> News {
        News::Progress { done, total: None, message: None }
    }

    fn drain(receiver: &mut mpsc::Receiver<News>) -> Vec<News> {
        std::iter::from_fn(|| receiver.try_recv().ok()).collect()
    }

    #[test]
    fn only_numbers_that_grow_are_told() {
        let mut progress = Progress::default();
        let cases = [
            (f64::NAN, false),
            (f64::INFINITY, false),
            (-1.0, true),
            (0.0, true),
            (0.0, false),
            (-0.0, false),
            (f64::NEG_INFINITY, false),
            (0.5, true),
            (0.4, false),
            (1e300, true),
        ];
        for (done, grows) in cases {
            assert_eq!(progress.grows(done), grows, "{done}");
        }
    }

    #[test]
    fn a_flood_becomes_ten_and_ten_a_second_and_its_end() {
        let (sender, mut receiver) = mpsc::channel(1_000);
        let mut progress = Progress::new(Some(sender));
        let begun = clock::monotonic();
        for step in 0..1_000_u32 {
            progress.report(news(step.into()), begun + Duration::from_millis(step.into()));
        }
        let told = drain(&mut receiver);
        let at_once = (0..10).map(f64::from);
        let paused = (1..10).map(|tenth| f64::from(tenth).mul_add(100.0, 9.0));
        assert_eq!(told, at_once.chain(paused).map(news).collect::<Vec<_>>());
        assert_eq!(progress.into_last().map(|(_, last)| last), Some(news(999.0)), "the last one is not lost");
    }

    #[test]
    fn a_slow_listener_misses_what_is_between() {
        let (sender, mut receiver) = mpsc::channel(1);
        let mut progress = Progress::new(Some(sender));
        let begun = clock::monotonic();
        for step in 0..5_u32 {
            progress.report(news(step.into()), begun + PAUSE * step);
        }
        assert_eq!(drain(&mut receiver), [news(0.0)]);
        assert_eq!(progress.into_last().map(|(_, last)| last), Some(news(4.0)));
    }

    #[test]
    fn nobody_listens() {
        let (sender, receiver) = mpsc::channel(1);
        drop(receiver);
        let mut progress = Progress::new(Some(sender));
        progress.report(news(1.0), clock::monotonic());
        assert!(progress.into_last().is_none());
        assert!(Progress::default().into_last().is_none());
    }
}
