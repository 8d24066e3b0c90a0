//! What one call sent, tried to send, or would have sent: one record an attempt, redirects included, written when
//! the attempt begins, so that a call that is dropped in the middle still tells what it did.

use std::time::Instant;

use super::{Checked, Method, Refusal, Target, Template};
use crate::asks::Need;
use crate::audit::{RequestRecord, Traced};
use crate::clock;
use crate::error::ErrorKind;
use crate::registry::Capability;

/// The outcome of a request that was answered.
pub(crate) const SENT: &str = "sent";

/// The outcome of a request that a dry run did not send.
pub(crate) const PLANNED: &str = "planned";

/// Characters of a text that could not be read as a host: enough to recognise it.
const UNREAD: usize = 100;

/// Characters of a path: more belongs to data, not to addresses.
const PATH: usize = 500;

/// The requests of one call.
#[derive(Debug)]
pub struct Ledger {
    budget: u32,
    records: Vec<RequestRecord>,
    begun: Instant,
    hint: Option<String>,
    needs: Vec<Need>,
    reasons: Vec<String>,
}

impl Ledger {
    /// For a call that may send `budget` requests.
    #[must_use]
    pub fn new(budget: u32) -> Self {
        Self {
            budget,
            records: Vec::new(),
            begun: clock::monotonic(),
            hint: None,
            needs: Vec::new(),
            reasons: Vec::new(),
        }
    }

    /// All attempts, in order.
    #[must_use]
    pub fn requests(&self) -> &[RequestRecord] {
        &self.records
    }

    /// All attempts, in order.
    #[must_use]
    pub fn into_requests(self) -> Vec<RequestRecord> {
        self.records
    }

    /// In a dry run: the requests that were not sent.
    #[must_use]
    pub fn plan(&self) -> Vec<RequestRecord> {
        self.records.iter().filter(|record| record.outcome == PLANNED).cloned().collect()
    }

    /// Whether a request that can change something may have arrived: one that got a connection, whatever became of
    /// it then.
    #[must_use]
    pub fn may_have_changed(&self) -> bool {
        let is_safe = |record: &RequestRecord| record.method.parse().is_ok_and(Method::is_safe);
        self.records.iter().any(|record| !record.own && !is_safe(record) && record.address.is_some())
    }

    /// Bytes of bodies: sent and received.
    #[must_use]
    pub fn bytes(&self) -> (u64, u64) {
        self.records.iter().fold((0, 0), |(out, back), record| (out + record.bytes_out, back + record.bytes_in))
    }

    /// What a person can do about the last refusal, if anything.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// What people could give so that refused requests leave, each once.
    #[must_use]
    pub fn needs(&self) -> &[Need] {
        &self.needs
    }

    /// Why requests were refused, where their code does not say it: for the operator only.
    #[must_use]
    pub fn reasons(&self) -> &[String] {
        &self.reasons
    }

    /// Notes what the attempt that was just refused needed.
    pub(super) fn need(&mut self, need: Need) {
        if !self.needs.contains(&need) {
            self.needs.push(need);
        }
    }

    /// Begins an attempt and takes it from the budget.
    pub(super) fn begin(&mut self, template: &Template) -> Result<(), Refusal> {
        self.begun = clock::monotonic();
        // The host's own requests are not the guest's to pay for.
        let spent = self.records.iter().filter(|record| !record.own).count() >= self.budget as usize;
        self.records.push(RequestRecord {
            method: template.method.as_str().to_owned(),
            authority: unread(&template.url),
            path: String::new(),
            address: None,
            status: None,
            // Stays when the call is dropped before the attempt ends.
            outcome: ErrorKind::Cancelled.code().to_owned(),
            bytes_out: 0,
            bytes_in: 0,
            secrets: Vec::new(),
            redactions: 0,
            time_ms: 0,
            own: false,
            traced: Traced { begun: Some(self.begun), host: None },
        });
        if spent { Err(Refusal::Budget(self.budget)) } else { Ok(()) }
    }

    /// Begins a request of the host's own for the attempt of now, before which it stands.
    pub(super) fn begin_own(&mut self, record: RequestRecord) {
        self.records.insert(self.records.len().saturating_sub(1), record);
    }

    /// Ends the last request of the host's own.
    pub(super) fn end_own(&mut self, record: RequestRecord) {
        if let Some(begun) = self.records.iter_mut().rfind(|record| record.own) {
            *begun = record;
        }
    }

    /// Notes where the attempt goes.
    pub(super) fn target(&mut self, target: &Target) {
        self.note(|record| {
            record.authority = target.authority();
            record.traced.host = Some(target.admitted_by().to_owned());
            record.path = target.url().path().chars().take(PATH).collect();
        });
    }

    /// Notes what the attempt carries. Sizes are those of the template: that of a value is nobody's business.
    pub(super) fn request(&mut self, request: &Checked<'_>, template: &Template) {
        self.note(|record| {
            record.secrets = request.secrets();
            record.bytes_out = template.body.as_ref().map_or(0, Vec::len) as u64;
        });
    }

    /// Notes what came back.
    pub(super) fn note(&mut self, write: impl FnOnce(&mut RequestRecord)) {
        if let Some(record) = self.records.last_mut() {
            write(record);
        }
    }

    /// Ends the attempt: it was answered.
    pub(super) fn sent(&mut self) {
        self.end(SENT);
    }

    /// Ends the attempt: it was planned only.
    pub(super) fn planned(&mut self) {
        self.end(PLANNED);
    }

    /// Ends the attempt with a refusal, and passes it on.
    pub(super) fn refused(&mut self, refusal: Refusal, capability: &Capability) -> Refusal {
        self.end(refusal.kind().code());
        if let Some(record) = self.records.last_mut() {
            self.hint = refusal.hint(capability, &record.authority);
            match &refusal {
                Refusal::PrivateAddress(address) => record.address = Some(address.to_string()),
                Refusal::Undecided(why) => self.reasons.push(format!("{}: {}", record.authority, why.message)),
                _ => {}
            }
        }
        refusal
    }

    fn end(&mut self, outcome: &str) {
        let time_ms = clock::monotonic().duration_since(self.begun).as_millis();
        self.note(|record| {
            outcome.clone_into(&mut record.outcome);
            record.time_ms = u64::try_from(time_ms).unwrap_or(u64::MAX);
        });
    }
}

/// What a record shows of a URL that was not approved: something like its host, without user name, path and
/// control characters.
fn unread(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let host = authority.rsplit('@').next().unwrap_or(authority);
    host.chars().take(UNREAD).map(|letter| if letter.is_ascii_graphic() { letter } else { '?' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_shows_something_like_the_host() {
        for (url, shown) in [
            ("https://api.example.com/secret?path", "api.example.com"),
            ("https://user:pass@api.example.com:8443/", "api.example.com:8443"),
            ("javascript:alert(1)", "javascript:alert(1)"),
            ("https://\u{430}pi\r\n.example.com/", "?pi??.example.com"),
            ("", ""),
        ] {
            assert_eq!(unread(url), shown, "{url}");
        }
        assert_eq!(unread(&"a".repeat(10_000)).len(), UNREAD);
    }
}
