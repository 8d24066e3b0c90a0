//! Where credentials are, and that they come out nowhere.
//!
//! Values are kept in the vault and opened for one call at a time, as late as possible: after a request's
//! name and address were approved ([`CallSecrets`]). They go into a request at one place only
//! ([`substitute()`]), and out of everything that comes back ([`Redactor`]). The guest sees neither.
//!
//! The approval of a host and a place is what keeps a secret. Redaction is the second net: it finds a value
//! in the spellings of `encodings.rs`, but not one that an approved host reversed, split or hashed.

mod body;
mod encodings;
mod filled;
mod key;
mod oauth;
mod of_call;
mod patterns;
mod placeholder;
mod placement;
mod redact;
mod roster;
mod rotate;
mod seal;
mod stream;
mod substitute;
mod value;
mod vault;

use std::fmt;

use zeroize::Zeroizing;

pub(crate) use filled::{Filled, placeholders};
pub use key::sealing_key;
pub(crate) use oauth::Validity;
pub use oauth::{
    Asker, Authorization, ClientAuth, Code, Connection, Connections, GrantType, Settings, Unrenewed, authorize,
    obtain_by_code, obtain_for_client,
};
pub use of_call::{CallSecrets, Opened};
pub(crate) use placeholder::contains_placeholder;
pub use placement::{Destination, Text, Unplaced};
pub(crate) use placement::{is_approved_header, place_body, place_header};
pub use redact::{Cuts, Redact, Redacted, Redactor};
pub use stream::Stream;
pub use substitute::{Prepared, substitute};
pub use value::COMFORTABLE;
pub use vault::{KeyCheck, SecretKind, StoredSecret, Vault};

/// One value, as the vault gives it. It has no way to be printed, and its memory is cleared.
pub struct SecretValue {
    /// The name inside the capability: `{{NAME}}`.
    pub name: String,
    /// The name of the stored value, as the approval says it.
    pub source: String,
    /// The value.
    pub value: Zeroizing<Vec<u8>>,
    /// Whether it may be put into a request. One that may not (an earlier value, a refresh token, a value whose
    /// approval was withdrawn) is only searched for in what comes back.
    pub is_usable: bool,
}

/// All values that one capability may use, and those it could have used. A secret that is not set is not in it.
#[derive(Default)]
pub struct SecretSet {
    values: Vec<SecretValue>,
    /// (placeholder, stored name) of what would be usable, had it not ended.
    expired: Vec<(String, String)>,
    /// How long the tokens of connections are good, by stored name.
    validities: Vec<(String, Validity)>,
}

impl SecretSet {
    /// Holds `values`.
    #[must_use]
    pub fn new(values: Vec<SecretValue>) -> Self {
        Self { values, ..Self::default() }
    }

    /// The values.
    pub fn iter(&self) -> impl Iterator<Item = &SecretValue> {
        self.values.iter()
    }

    /// The value of the placeholder `name` that is stored under `source`.
    pub(crate) fn get(&self, name: &str, source: &str) -> Option<&[u8]> {
        let found =
            self.values.iter().find(|secret| secret.is_usable && secret.name == name && secret.source == source);
        found.map(|secret| secret.value.as_slice())
    }

    /// Whether the value of `name` under `source` is stored and approved, and has ended.
    pub(crate) fn has_expired(&self, name: &str, source: &str) -> bool {
        self.expired.iter().any(|(expired, stored)| expired == name && stored == source)
    }

    /// How long the access token under `source` is good, when that is a connection that may be used.
    pub(crate) fn validity(&self, source: &str) -> Option<&Validity> {
        self.validities.iter().find(|(stored, _)| stored == source).map(|(_, validity)| validity)
    }

    fn note_validity(&mut self, source: &str, validity: Validity) {
        self.validities.push((source.to_owned(), validity));
    }

    fn note_expired(&mut self, name: &str, source: &str) {
        self.expired.push((name.to_owned(), source.to_owned()));
    }

    fn extend(&mut self, values: impl IntoIterator<Item = SecretValue>) {
        self.values.extend(values);
    }

    /// Adds what is only in `earlier`, to be searched for.
    fn remember(&mut self, earlier: &Self) {
        let known = self.values.len();
        for SecretValue { name, source, value, .. } in &earlier.values {
            let is_known =
                self.values[..known].iter().any(|secret| secret.name == *name && secret.value == *value);
            if !is_known {
                let (name, source, value) = (name.clone(), source.clone(), value.clone());
                self.values.push(SecretValue { name, source, value, is_usable: false });
            }
        }
    }
}

impl fmt::Debug for SecretSet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.values.iter().map(|secret| &secret.name)).finish()
    }
}
