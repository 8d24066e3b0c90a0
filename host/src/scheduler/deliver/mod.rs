//! Tells somebody outside what runs came to: a program, a webhook, or both.
//!
//! Decides what is told, and when again. Each is told at least once, under the same id: an attempt is noted before
//! it begins, so that a process that dies in it leaves the row to the next. What there is to tell is decided in
//! `store/deliveries.rs`, where the run ends. What is told has passed the redactor: it is the tool's answer.

mod command;
mod webhook;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use self::command::Program;
use self::webhook::Webhook;
use super::Scheduler;
use super::definition::Task;
use crate::config::DeliverConfig;
use crate::egress::Own;
use crate::error::Result;
use crate::secrets::Vault;
use crate::store::Delivery;

/// Attempts of one delivery.
const ATTEMPTS: u32 = 5;

/// How long the second attempt waits after the first, the third after the second, and so on.
const PAUSES: [Duration; ATTEMPTS as usize] = [
    Duration::from_secs(10),
    Duration::from_secs(60),
    Duration::from_secs(5 * 60),
    Duration::from_secs(30 * 60),
    Duration::ZERO,
];

/// Deliveries at once; more wait.
const CONCURRENT: usize = 4;

/// A way to somebody outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// A program of the operator's.
    Command,
    /// A signed request.
    Webhook,
}

impl Way {
    /// The ways that the operator configured.
    pub(crate) fn configured(config: &DeliverConfig) -> Vec<Self> {
        let command = (!config.command.is_empty()).then_some(Self::Command);
        let webhook = config.webhook.is_some().then_some(Self::Webhook);
        command.into_iter().chain(webhook).collect()
    }

    /// Its word.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Webhook => "webhook",
        }
    }

    /// The way of this word.
    pub(crate) fn from_word(word: &str) -> Option<Self> {
        [Self::Command, Self::Webhook].into_iter().find(|way| way.as_str() == word)
    }
}

/// The ways of one home, ready to use.
pub(crate) struct Deliverer {
    command: Option<Program>,
    webhook: Option<Webhook>,
    places: Arc<Semaphore>,
}

/// Why an attempt did not arrive.
#[derive(Debug)]
enum Undelivered {
    /// Another attempt may.
    Failed(String),
    /// No other will.
    Unwanted(String),
}

impl Deliverer {
    /// The ways of `config`. Programs start in `home`; signing secrets are in `vault`; requests go out by `own`.
    pub(crate) fn new(config: &DeliverConfig, home: &Path, vault: Arc<Vault>, own: Own) -> Result<Self> {
        Ok(Self {
            command: Program::configured(config, home),
            webhook: Webhook::configured(config, vault, own)?,
            places: Arc::new(Semaphore::new(CONCURRENT)),
        })
    }

    async fn send(&self, delivery: &Delivery, now_ms: i64) -> Result<(), Undelivered> {
        let body = body(delivery);
        match (delivery.way, &self.command, &self.webhook) {
            (Way::Command, Some(program), _) => program.tell(&body, &delivery.run.id).await,
            (Way::Webhook, _, Some(webhook)) => webhook.tell(&delivery.id, now_ms, body).await,
            _ => Err(Undelivered::Unwanted(format!("no `{}` is configured any more", delivery.way.as_str()))),
        }
    }

    /// How long one attempt may take at most.
    fn longest(&self) -> Duration {
        let command = self.command.as_ref().map(Program::limit);
        let webhook = self.webhook.as_ref().map(Webhook::limit);
        command.max(webhook).unwrap_or_default()
    }

    /// Waits until nothing is being delivered.
    pub(super) async fn settled(&self) {
        // The places are never closed.
        drop(self.places.acquire_many(CONCURRENT as u32).await);
    }
}

impl Scheduler {
    /// Begins what is due, as long as there are places.
    pub(super) fn deliver_due(&self) -> Result<()> {
        let (store, deliverer) = (&self.shared.store, &self.shared.deliverer);
        let now = store.now_ms();
        for delivery in store.due_deliveries(now, deliverer.places.available_permits())? {
            if delivery.attempts >= ATTEMPTS {
                self.undelivered(&delivery, "its process died".to_owned(), None)?;
                continue;
            }
            let Ok(place) = Arc::clone(&deliverer.places).try_acquire_owned() else { return Ok(()) };
            // Not again while it goes on.
            let next_at = later(now, deliverer.longest() + pause(delivery.attempts));
            if store.begin_delivery(&delivery, next_at)? {
                self.shared.threads.spawn(self.clone().attempt(delivery, place));
            }
        }
        Ok(())
    }

    async fn attempt(self, delivery: Delivery, place: OwnedSemaphorePermit) {
        let sent = self.shared.deliverer.send(&delivery, self.shared.store.now_ms()).await;
        let this = self.clone();
        let noted = tokio::task::spawn_blocking(move || this.note(&delivery, sent)).await;
        if let Ok(Err(error)) = noted {
            tracing::error!(%error, "what became of a delivery could not be noted; it is tried again");
        }
        drop(place);
    }

    fn note(&self, delivery: &Delivery, sent: Result<(), Undelivered>) -> Result<()> {
        match sent {
            Ok(()) => self.shared.store.delivered(&delivery.id),
            Err(Undelivered::Failed(why)) if delivery.attempts + 1 < ATTEMPTS => {
                let next_at = later(self.shared.store.now_ms(), pause(delivery.attempts));
                self.undelivered(delivery, why, Some(next_at))
            }
            Err(Undelivered::Failed(why) | Undelivered::Unwanted(why)) => self.undelivered(delivery, why, None),
        }
    }

    fn undelivered(&self, delivery: &Delivery, why: String, next_at: Option<i64>) -> Result<()> {
        let (run, way, is_last) = (&delivery.run.id, delivery.way.as_str(), next_at.is_none());
        tracing::warn!(run, way, principal = delivery.of.principal(), is_last, why, "a run was not delivered");
        self.shared.store.undelivered(&delivery.id, why, next_at)
    }
}

/// What is told.
fn body(delivery: &Delivery) -> String {
    let Delivery { id, run, of, .. } = delivery;
    let nominal_at = jiff::Timestamp::from_millisecond(run.nominal_at)
        .map_or_else(|_| run.nominal_at.to_string(), |time| format!("{time:.3}"));
    let mut told = json!({
        "id": id, "loop": of.definition.name, "capability": of.capability.to_string(),
        "run": run.id, "nominalAt": nominal_at,
    });
    match &of.definition.task {
        Task::Prompt(prompt) => told["prompt"] = json!(prompt),
        Task::Tool { .. } => told["result"] = json!(run.report),
    }
    told.to_string()
}

/// How long to wait after this many attempts and one more.
fn pause(attempts: u32) -> Duration {
    PAUSES.get(attempts as usize).copied().unwrap_or_default()
}

fn later(now_ms: i64, by: Duration) -> i64 {
    now_ms.saturating_add(i64::try_from(by.as_millis()).unwrap_or(i64::MAX))
}
