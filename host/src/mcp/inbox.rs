//! The inbox as resources: runs of loops that wait for an agent.
//!
//! There while `remit/loops` is installed and granted. What changed is looked for only while somebody listens:
//! modern clients do on the subscription that they hold open, legacy ones on their session.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{Resource, ResourceContents, ResourceTemplate};
use serde_json::{Value, json};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

use super::listeners::Listeners;
use crate::builtin::run_value;
use crate::call::Host;
use crate::error::Result;

/// The inbox itself.
const INBOX: &str = "remit://inbox";

/// Its type.
const JSON: &str = "application/json";

/// How often it is looked whether something changed. A run that waits for an agent does not wait for seconds.
const LOOK: Duration = Duration::from_millis(250);

/// Changed addresses that one subscription may lag behind; beyond it, it hears of the inbox as a whole.
const LAG: usize = 1_024;

/// The inbox of one door.
pub(super) struct Inbox {
    host: Host,
    changed: broadcast::Sender<String>,
    legacy: Listeners,
}

impl Inbox {
    /// Watches until `stop` is cancelled.
    pub(super) fn watch(host: Host, stop: CancellationToken) -> Arc<Self> {
        let (changed, _) = broadcast::channel(LAG);
        let this = Arc::new(Self { host, changed, legacy: Listeners::default() });
        tokio::spawn(Arc::clone(&this).run(stop));
        this
    }

    /// Whether there is an inbox now.
    pub(super) fn is_there(&self) -> bool {
        self.host.has_inbox().unwrap_or_default()
    }

    /// The inbox and the runs in it.
    pub(super) fn list(&self) -> Result<Vec<Resource>> {
        let Some(runs) = self.runs()? else { return Ok(Vec::new()) };
        let about = "Runs of loops that wait for an agent. Take one with the tool `take_run`.";
        let whole = resource(INBOX.to_owned(), "inbox", about);
        let each = runs.keys().map(|run| resource(address(run), run, "A run that waits for an agent."));
        Ok(std::iter::once(whole).chain(each).collect())
    }

    /// How the addresses of runs are written.
    pub(super) fn templates() -> Vec<ResourceTemplate> {
        let template = ResourceTemplate::new(format!("{INBOX}/{{run}}"), "inbox-run");
        vec![template.with_description("A run that waits for an agent.").with_mime_type(JSON)]
    }

    /// What is at an address, if it is one of the inbox.
    pub(super) fn read(&self, uri: &str) -> Result<Option<ResourceContents>> {
        let Some(runs) = self.runs()? else { return Ok(None) };
        let found = match uri.strip_prefix(INBOX) {
            Some("") => Some(json!({ "runs": runs.into_values().collect::<Vec<_>>() })),
            Some(rest) => rest.strip_prefix('/').and_then(|run| runs.get(run).cloned()),
            None => None,
        };
        Ok(found.map(|value| ResourceContents::TextResourceContents {
            uri: uri.to_owned(),
            mime_type: Some(JSON.to_owned()),
            text: value.to_string(),
            meta: None,
        }))
    }

    /// Whether an address can be listened to: one of the inbox, whether there is such a run now or not.
    pub(super) fn is_address(uri: &str) -> bool {
        uri == INBOX || uri.strip_prefix(INBOX).and_then(|rest| rest.strip_prefix('/')).is_some_and(is_run)
    }

    /// Changed addresses from now on.
    pub(super) fn subscribe(&self) -> broadcast::Receiver<String> {
        self.changed.subscribe()
    }

    /// The legacy clients that listen to it.
    pub(super) fn legacy(&self) -> &Listeners {
        &self.legacy
    }

    /// The runs by their ids; nothing when there is no inbox.
    fn runs(&self) -> Result<Option<BTreeMap<String, Value>>> {
        let inbox = self.host.inbox()?;
        Ok(inbox.map(|runs| {
            let each = runs.into_iter().map(|(run, of)| {
                let mut value = run_value(&run, &of);
                value["state"] = json!(run.state.as_str());
                (run.id, value)
            });
            each.collect()
        }))
    }

    async fn run(self: Arc<Self>, stop: CancellationToken) {
        let mut beat = tokio::time::interval(LOOK);
        let mut seen: Option<BTreeMap<String, Value>> = None;
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                _ = beat.tick() => {}
            }
            if self.changed.receiver_count() == 0 && self.legacy.is_empty() {
                seen = None;
                continue;
            }
            let now = match self.runs() {
                Ok(runs) => runs.unwrap_or_default(),
                Err(error) => {
                    tracing::warn!(%error, "cannot tell whether the inbox changed");
                    continue;
                }
            };
            if let Some(seen) = &seen {
                self.tell(&changed(seen, &now));
            }
            seen = Some(now);
        }
    }

    fn tell(&self, uris: &[String]) {
        for uri in uris {
            // Nobody may listen any more.
            let _ = self.changed.send(uri.clone());
            self.legacy.tell(Some(uri));
        }
    }
}

/// The addresses at which something else is than before: the inbox first.
fn changed(before: &BTreeMap<String, Value>, now: &BTreeMap<String, Value>) -> Vec<String> {
    let runs: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    let mut uris: Vec<String> =
        runs.into_iter().filter(|run| before.get(*run) != now.get(*run)).map(|run| address(run)).collect();
    if !uris.is_empty() {
        uris.insert(0, INBOX.to_owned());
    }
    uris
}

/// Whether this could be the id of a run.
fn is_run(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn address(run: &str) -> String {
    format!("{INBOX}/{run}")
}

fn resource(uri: String, name: &str, description: &str) -> Resource {
    Resource::new(uri, name).with_description(description).with_mime_type(JSON)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_is_the_inbox_and_each_run_that_is_another() {
        let runs = |states: &[(&str, &str)]| -> BTreeMap<String, Value> {
            states.iter().map(|(run, state)| ((*run).to_owned(), json!(state))).collect()
        };
        type Case<'a> = (&'a [(&'a str, &'a str)], &'a [(&'a str, &'a str)], &'a [&'a str]);
        let cases: &[Case] = &[
            (&[], &[], &[]),
            (&[("a", "waiting")], &[("a", "waiting")], &[]),
            (&[], &[("a", "waiting")], &["remit://inbox", "remit://inbox/a"]),
            (
                &[("a", "waiting"), ("b", "taken")],
                &[("a", "taken"), ("b", "taken")],
                &["remit://inbox", "remit://inbox/a"],
            ),
            (&[("a", "taken")], &[], &["remit://inbox", "remit://inbox/a"]),
        ];
        for (before, now, expected) in cases {
            assert_eq!(changed(&runs(before), &runs(now)), *expected);
        }
    }

    #[test]
    fn what_can_be_listened_to() {
        for (uri, expected) in [
            ("remit://inbox", true),
            ("remit://inbox/01ke", true),
            ("remit://inbox/acme/note:1", false),
            ("remit://inbox/", false),
            ("remit://inboxes", false),
            ("remit://inbox?x", false),
            ("file:///etc/passwd", false),
            ("", false),
        ] {
            assert_eq!(Inbox::is_address(uri), expected, "{uri}");
        }
        assert!(!Inbox::is_address(&format!("remit://inbox/{}", "x".repeat(100))));
    }
}
