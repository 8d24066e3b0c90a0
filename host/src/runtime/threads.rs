//! Threads for guests: one runs one call, so that a guest never holds up the threads that do I/O.
//!
//! Threads are made when they are needed and go when they idle. A guest that computes for long is put behind
//! all others: its thread gives up its priority, which the system does not give back, and ends with
//! that call. So a loop costs other calls next to nothing, whatever the number of cores.

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use thread_priority::ThreadPriority;
use thread_priority::unix::{
    NormalThreadSchedulePolicy, ThreadSchedulePolicy, set_thread_priority_and_policy, thread_native_id,
};

use crate::clock::monotonic;

/// Stack of a guest's thread. The guest and the host's calls above it have the fiber's.
const STACK_BYTES: usize = 256 * 1024;

/// An idle thread waits so long for another call.
const IDLE: Duration = Duration::from_secs(10);

/// A thread that ended a call looks so long for the next one before it sleeps: waking a sleeping core costs more
/// than a short call. Only while no other guest runs: the core is theirs.
const LINGER: Duration = Duration::from_micros(50);

type Job = Box<dyn FnOnce() + Send>;

thread_local! {
    static DEMOTED: Cell<bool> = const { Cell::new(false) };
}

/// The threads. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct Threads {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    ready: Condvar,
    /// The number of waiting jobs, for the thread that looks without the lock.
    waiting: AtomicUsize,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    /// Threads without a job, the one that looks included.
    idle: usize,
    /// Threads with a job.
    busy: usize,
    is_looking: bool,
}

impl Threads {
    /// Runs `job` on a thread of its own, at once: admission is decided before. Fails when the system gives
    /// no thread.
    pub(super) fn run(&self, job: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
        let mut queue = self.shared.lock();
        queue.jobs.push_back(Box::new(job));
        self.shared.waiting.store(queue.jobs.len(), Ordering::Release);
        if queue.jobs.len() <= queue.idle {
            // The thread that looks takes the first; it is never told apart from sleep without the lock.
            if !(queue.is_looking && queue.jobs.len() == 1) {
                self.shared.ready.notify_one();
            }
            return Ok(());
        }
        let shared = self.shared.clone();
        let spawned = std::thread::Builder::new()
            .name("guest".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(move || shared.work());
        if let Err(error) = spawned {
            queue.jobs.pop_back();
            self.shared.waiting.store(queue.jobs.len(), Ordering::Release);
            return Err(error);
        }
        Ok(())
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) {
        while let Some(job) = self.next() {
            job();
            self.lock().busy -= 1;
            if DEMOTED.get() {
                return;
            }
        }
    }

    fn next(&self) -> Option<Job> {
        let mut queue = self.lock();
        if let Some(job) = self.take(&mut queue) {
            return Some(job);
        }
        queue.idle += 1;
        if queue.busy == 0 && !queue.is_looking {
            queue = self.look(queue);
        }
        loop {
            if let Some(job) = self.take(&mut queue) {
                queue.idle -= 1;
                return Some(job);
            }
            let (woken, timeout) = self.ready.wait_timeout(queue, IDLE).unwrap_or_else(PoisonError::into_inner);
            queue = woken;
            if timeout.timed_out() && queue.jobs.is_empty() {
                queue.idle -= 1;
                return None;
            }
        }
    }

    /// Looks for a job without sleeping.
    fn look<'a>(&'a self, mut queue: MutexGuard<'a, Queue>) -> MutexGuard<'a, Queue> {
        queue.is_looking = true;
        drop(queue);
        let until = monotonic() + LINGER;
        while self.waiting.load(Ordering::Acquire) == 0 && monotonic() < until {
            std::thread::yield_now();
        }
        let mut queue = self.lock();
        queue.is_looking = false;
        queue
    }

    fn take(&self, queue: &mut Queue) -> Option<Job> {
        let job = queue.jobs.pop_front();
        queue.busy += usize::from(job.is_some());
        self.waiting.store(queue.jobs.len(), Ordering::Release);
        job
    }
}

/// Puts the calling guest thread behind all others, for the rest of its life.
pub(super) fn demote() {
    if DEMOTED.replace(true) {
        return;
    }
    // `SCHED_IDLE` (sched(7)): any other thread that wakes goes first, at once. A low nice value would only
    // shorten this one's share, not the wait for the end of its turn.
    let idle = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle);
    let lowered = set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Min, idle);
    if let Err(error) = lowered {
        // Then it runs as it did.
        tracing::debug!("a long call keeps its priority: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn a_thread_is_used_again_unless_it_was_demoted() {
        let threads = Threads::default();
        let (send, receive) = mpsc::channel();
        let id = |demoted: bool| {
            let send = send.clone();
            threads
                .run(move || {
                    if demoted {
                        demote();
                    }
                    send.send(std::thread::current().id()).expect("the test listens");
                })
                .expect("a thread");
            let id = receive.recv().expect("the job ran");
            // The thread counts as idle once it waits again.
            while !demoted && threads.shared.lock().idle == 0 {
                std::thread::yield_now();
            }
            id
        };
        let first = id(false);
        assert_eq!(id(true), first);
        assert_ne!(id(false), first);
    }
}
