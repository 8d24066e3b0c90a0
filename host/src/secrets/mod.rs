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
mod key;
mod placeholder;
mod placement;
mod redact;
mod seal;
mod substitute;
mod vault;

use std::fmt;
use std::sync::OnceLock;

use zeroize::Zeroizing;

use crate::error::Result;
use crate::policy::Granted;

pub use key::sealing_key;
pub(crate) use placeholder::contains_placeholder;
pub use placement::{Destination, Text, Unplaced};
pub(crate) use placement::{is_approved_header, place_body, place_header};
pub use redact::{Redact, Redacted, Redactor};
pub use substitute::{Prepared, substitute};
pub use vault::{KeyCheck, StoredSecret, Vault};

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
pub struct SecretSet(Vec<SecretValue>);

impl SecretSet {
    /// Holds `values`.
    #[must_use]
    pub fn new(values: Vec<SecretValue>) -> Self {
        Self(values)
    }

    /// The values.
    pub fn iter(&self) -> impl Iterator<Item = &SecretValue> {
        self.0.iter()
    }

    /// The value of the placeholder `name` that is stored under `source`.
    pub(crate) fn get(&self, name: &str, source: &str) -> Option<&[u8]> {
        let found =
            self.0.iter().find(|secret| secret.is_usable && secret.name == name && secret.source == source);
        found.map(|secret| secret.value.as_slice())
    }
}

impl fmt::Debug for SecretSet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.0.iter().map(|secret| &secret.name)).finish()
    }
}

/// How the values of one call are read: from the vault, or by a test that counts.
type Open = Box<dyn Fn() -> Result<SecretSet> + Send + Sync>;

/// The secrets of one call: opened at the first use, and once.
pub struct CallSecrets {
    open: Open,
    opened: OnceLock<Opened>,
}

/// The values of one call, and what keeps them out of its answers.
pub struct Opened {
    /// The values.
    pub set: SecretSet,
    /// Finds every one of them.
    pub redactor: Redactor,
}

impl CallSecrets {
    /// The secrets of a call with these grants. `open` is never asked when no secret is approved.
    pub fn new(granted: &Granted, open: impl Fn() -> Result<SecretSet> + Send + Sync + 'static) -> Self {
        let secrets = Self { open: Box::new(open), opened: OnceLock::new() };
        if granted.secrets().iter().all(|secret| secret.approvals.is_empty()) {
            secrets.opened.get_or_init(Opened::nothing);
        }
        secrets
    }

    /// What keeps the values out, if they were opened.
    #[must_use]
    pub fn redactor(&self) -> Option<&Redactor> {
        self.opened.get().map(|opened| &opened.redactor)
    }

    /// Opens them, or gives what was opened before in this call.
    pub fn opened(&self) -> Result<&Opened> {
        if let Some(opened) = self.opened.get() {
            return Ok(opened);
        }
        let set = (self.open)()?;
        let redactor = Redactor::new(&set)?;
        Ok(self.opened.get_or_init(|| Opened { set, redactor }))
    }
}

impl Opened {
    fn nothing() -> Self {
        Self { set: SecretSet::default(), redactor: Redactor::default() }
    }
}
