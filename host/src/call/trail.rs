//! What a call leaves behind on its way: for its record, for people, and for whoever can make it again.

use std::time::{Duration, Instant};

use super::Failure;
use crate::answer::{Answer, Plan};
use crate::asks::{self, Asked, Need};
use crate::audit::{CallEnd, OpenRecord, RequestRecord, Usage};
use crate::client::{Unconfirmed, Wants};
use crate::clock;
use crate::egress::{Ledger, PLANNED};
use crate::error::{Error, ErrorKind, Result};
use crate::namespaces::Services;
use crate::namespaces::loops::Loops;
use crate::runtime::{Finished, Moments, Outcome};
use crate::scheduler;
use crate::secrets::Redactor;

/// How long the last report of a call waits for a listener that is slow.
const LAST_WORD: Duration = Duration::from_millis(250);

/// What a call left behind on its way.
#[derive(Default)]
pub(super) struct Trail {
    usage: Usage,
    /// When its guest passed which door.
    moments: Moments,
    services: Option<Services>,
    /// What code of this program did to loops, in the place of a guest.
    builtin: Option<Loops>,
    /// The call of an upstream server, which is all that such a call sends.
    upstream: Option<RequestRecord>,
    log: Vec<String>,
    /// What a person is to agree to, after a trial.
    unconfirmed: Option<Unconfirmed>,
    /// Knows no secret: for a call that never came near one.
    clean: Redactor,
}

/// A call with an answer.
pub(super) struct Passed {
    pub(super) call_id: String,
    pub(super) answer: Answer,
    pub(super) plan: Plan,
    pub(super) asked: Vec<Asked>,
    pub(super) usage: Usage,
}

impl Trail {
    /// Keeps what a guest spent and did, and passes on what it answered.
    pub(super) fn follow(&mut self, finished: Finished) -> Result<Outcome> {
        let Finished { outcome, spent, services } = finished;
        self.services = services;
        let ledger = self.ledger();
        let (bytes_out, bytes_in) = ledger.map_or((0, 0), Ledger::bytes);
        let requests = ledger.map_or(0, |ledger| ledger.requests().len());
        self.usage = Usage {
            fuel: spent.fuel,
            memory_peak: spent.memory_peak as u64,
            host_calls: spent.host_calls,
            requests: u32::try_from(requests).unwrap_or(u32::MAX),
            bytes_out,
            bytes_in,
            ..self.usage
        };
        self.moments = spent.moments;
        let log = self.services.as_mut().map(|services| std::mem::take(&mut services.log)).unwrap_or_default();
        let redactor = self.redactor();
        self.log = log.into_lines().iter().map(|line| redactor.redact_text(line)).collect();
        outcome
    }

    /// Keeps what was sent to an upstream server.
    pub(super) fn sent(&mut self, request: RequestRecord) {
        self.usage = Usage { requests: 1, bytes_out: request.bytes_out, bytes_in: request.bytes_in, ..self.usage };
        self.upstream = Some(request);
    }

    /// Keeps what a dry run did not send to an upstream server.
    pub(super) fn planned(&mut self, request: RequestRecord) {
        self.upstream = Some(request);
    }

    /// Keeps what code of this program did.
    pub(super) fn follow_builtin(&mut self, loops: Loops) {
        self.builtin = Some(loops);
    }

    pub(super) fn redactor(&self) -> &Redactor {
        self.services.as_ref().and_then(|services| services.http.redactor()).unwrap_or(&self.clean)
    }

    /// Keeps what a trial came to, for whoever can bring the word of a person.
    pub(super) fn tried(
        &mut self,
        (answer, unconfirmed): (Result<Answer>, Option<Unconfirmed>),
    ) -> Result<Answer> {
        self.unconfirmed = unconfirmed;
        answer
    }

    /// Tells the last report of how far the call is, if its listener has not heard it.
    pub(super) async fn tell_last_report(&mut self) {
        let progress = self.services.as_mut().map(|services| std::mem::take(&mut services.progress));
        if let Some((news, last)) = progress.and_then(crate::namespaces::progress::Progress::into_last) {
            // A listener that is gone, or does not listen, has not asked for more.
            let _ = tokio::time::timeout(LAST_WORD, news.send(last)).await;
        }
    }

    /// What whoever made the call can bring so that it succeeds. A call that failed because its client cannot be
    /// asked something says so.
    pub(super) fn wants(&mut self, answer: &mut Result<Answer>) -> Wants {
        if let Some(unconfirmed) = self.unconfirmed.take() {
            return Wants::Confirmation(unconfirmed);
        }
        let (Err(error), Some(services)) = (answer, &mut self.services) else { return Wants::Nothing };
        let ask = std::mem::take(&mut services.ask);
        let says_no = matches!(error.kind, ErrorKind::Failed | ErrorKind::InvalidInput | ErrorKind::NotFound);
        if error.kind == ErrorKind::InputRequired {
            return Wants::Answers(ask.into_open());
        }
        if says_no && !ask.lacking().is_empty() {
            error.kind = ErrorKind::ClientCannot;
            return Wants::Abilities(ask.lacking().clone());
        }
        Wants::Nothing
    }

    /// What people could give so that refused requests leave.
    pub(super) fn needs(&self) -> Vec<Need> {
        let needs = self.ledger().map_or(&[][..], Ledger::needs);
        needs.iter().map(|need| Need { why: self.redactor().redact_text(&need.why), ..need.clone() }).collect()
    }

    fn ledger(&self) -> Option<&Ledger> {
        self.services.as_ref().map(|services| services.http.ledger())
    }

    fn requests(&self) -> Vec<RequestRecord> {
        let requests = self.ledger().map_or_else(Vec::new, |ledger| ledger.requests().to_vec());
        requests.into_iter().chain(self.upstream.clone()).collect()
    }

    /// In a dry run: the requests that were not sent, and the changes that were not made.
    pub(super) fn plan(&self) -> Plan {
        let builtin = self.builtin.as_ref().map_or(&[][..], Loops::plan);
        let Some(Services { http, entities, loops, listing, sandbox, .. }) = &self.services else {
            let requests = self.upstream.iter().filter(|request| request.outcome == PLANNED).cloned().collect();
            return Plan { requests, loops: builtin.to_vec(), ..Plan::default() };
        };
        let plan = Plan {
            requests: http.ledger().plan(),
            changes: entities.plan().to_vec(),
            files: sandbox.plan().to_vec(),
            loops: loops.plan().to_vec(),
            listing: listing.plan().to_vec(),
        };
        plan.redacted(self.redactor())
    }

    /// Why requests were refused, where their code does not say it.
    fn reasons(&self) -> Vec<String> {
        self.ledger().map_or_else(Vec::new, |ledger| ledger.reasons().to_vec())
    }

    /// What a person can do about the request that was refused last.
    fn hint(&self) -> Option<String> {
        self.ledger().and_then(|ledger| ledger.hint().map(str::to_owned))
    }
}

/// Ends the record, whatever the outcome, and gives the caller its part.
pub(super) async fn finish(
    mut record: OpenRecord,
    mut answer: Result<Answer>,
    mut trail: Trail,
    asked: Vec<Asked>,
    begun: Instant,
    run: Option<String>,
) -> Result<Passed, Failure> {
    let wants = trail.wants(&mut answer);
    trail.tell_last_report().await;
    trail.usage.time = clock::monotonic().duration_since(begun);
    let usage = trail.usage;
    let call_id = record.id().to_owned();
    record.passed(trail.moments);
    let error = answer.as_ref().err();
    let detail = error.map(|error| match &error.detail {
        Some(detail) => format!("{}: {detail}", error.message),
        None => error.message.clone(),
    });
    let detail: Vec<String> = detail.into_iter().chain(trail.reasons()).collect();
    record
        .finish(CallEnd {
            error: error.map(|error| error.kind),
            detail: Some(detail.join("; ")).filter(|detail| !detail.is_empty()),
            usage,
            requests: trail.requests(),
            log: std::mem::take(&mut trail.log),
            run: run.map(|id| scheduler::run_end(id, &answer)),
        })
        .await;
    match answer {
        Ok(answer) => Ok(Passed { call_id, answer, plan: trail.plan(), asked, usage }),
        Err(error) => Err(failure(error, &trail, call_id, asked, wants)),
    }
}

fn failure(mut error: Error, trail: &Trail, call_id: String, asked: Vec<Asked>, wants: Wants) -> Failure {
    error.hint = error.hint.or_else(|| ways(&asked)).or_else(|| trail.hint());
    Failure { call_id, error, asked, usage: trail.usage, input_schema: None, wants }
}

/// The commands by which a person decides what was asked.
fn ways(asked: &[Asked]) -> Option<String> {
    let ways: Vec<String> = asks::ids(asked).into_iter().map(|id| format!("remit approve {id}")).collect();
    if ways.is_empty() { None } else { Some(ways.join("\n")) }
}

impl Failure {
    /// Of a call that did not come to have a record.
    pub(crate) fn unrecorded(error: Error) -> Self {
        Self {
            call_id: String::new(),
            error,
            asked: Vec::new(),
            usage: Usage::default(),
            input_schema: None,
            wants: Wants::Nothing,
        }
    }
}
