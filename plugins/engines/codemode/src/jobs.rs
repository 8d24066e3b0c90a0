//! The jobs of promises, in their order. Nothing else is ever queued: there are no timers, and what a collector of
//! garbage could tell a program is left out.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use boa_engine::job::{Job, JobExecutor, PromiseJob};
use boa_engine::{Context, JsResult};

/// The queue.
#[derive(Default)]
pub(crate) struct Jobs(RefCell<VecDeque<PromiseJob>>);

impl JobExecutor for Jobs {
    fn enqueue_job(self: Rc<Self>, job: Job, _context: &mut Context) {
        if let Job::PromiseJob(job) = job {
            self.0.borrow_mut().push_back(job);
        }
    }

    fn run_jobs(self: Rc<Self>, context: &mut Context) -> JsResult<()> {
        loop {
            // Taken out before it runs, because it queues others.
            let next = self.0.borrow_mut().pop_front();
            match next {
                Some(job) => job.call(context).map(drop)?,
                None => return Ok(()),
            }
        }
    }
}
