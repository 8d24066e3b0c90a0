//! The secrets of one call: opened at its first request, and again when somebody changed something since.
//!
//! A request is made with the values of its own moment. What comes back is searched for every value that this call
//! ever had, and for all that are stored when the answer comes: one that was set meanwhile can be in it already.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::{Redactor, SecretSet, Vault};
use crate::error::Result;
use crate::policy::Granted;

/// The secrets of one call.
pub struct CallSecrets {
    source: Source,
    opened: OnceLock<Box<Opened>>,
    used: Mutex<BTreeSet<String>>,
}

/// Gives the values of what is granted.
type Open = Box<dyn Fn(&Granted) -> Result<SecretSet> + Send + Sync>;

/// Where the values of one call come from: the vault, or a test that counts.
struct Source {
    open: Open,
    /// Moves when `open` could give something else.
    state: Box<dyn Fn() -> Result<u64> + Send + Sync>,
    /// Takes the names of the stored values that went out, at the end of the call.
    note_uses: Box<dyn Fn(BTreeSet<String>) + Send + Sync>,
}

/// The values of one moment, and what keeps them out of answers.
pub struct Opened {
    /// The values.
    pub set: SecretSet,
    /// Finds every one of them.
    pub redactor: Redactor,
    state: u64,
    /// What was opened after a change. Whoever still holds this one may.
    next: OnceLock<Box<Self>>,
}

impl CallSecrets {
    /// Secrets that never change during the call.
    pub fn new(open: impl Fn(&Granted) -> Result<SecretSet> + Send + Sync + 'static) -> Self {
        Self::from_source(Source { open: Box::new(open), state: Box::new(|| Ok(0)), note_uses: Box::new(drop) })
    }

    /// The secrets that a call gets from the vault.
    #[must_use]
    pub fn from_vault(vault: &Arc<Vault>) -> Self {
        let (of_open, of_state, of_uses) = (Arc::clone(vault), Arc::clone(vault), Arc::clone(vault));
        Self::from_source(Source {
            open: Box::new(move |granted| of_open.open(granted)),
            state: Box::new(move || of_state.state()),
            note_uses: Box::new(move |sources| of_uses.note_uses(sources)),
        })
    }

    fn from_source(source: Source) -> Self {
        Self { source, opened: OnceLock::new(), used: Mutex::default() }
    }

    /// What keeps the values out, if any were opened.
    #[must_use]
    pub fn redactor(&self) -> Option<&Redactor> {
        self.newest().map(|opened| &opened.redactor)
    }

    /// Opens those of what is granted now, or gives what was opened before in this call when nothing changed since.
    pub fn opened(&self, granted: &Granted) -> Result<&Opened> {
        // In this order: a change between the two is opened once more by the next request, not missed.
        let state = (self.source.state)()?;
        let newest = self.newest();
        if let Some(opened) = newest.filter(|opened| opened.state == state) {
            return Ok(opened);
        }
        let mut set = (self.source.open)(granted)?;
        if let Some(earlier) = newest {
            set.remember(&earlier.set);
        }
        let redactor = Redactor::new(&set);
        let slot = newest.map_or(&self.opened, |opened| &opened.next);
        Ok(slot.get_or_init(|| Box::new(Opened { set, redactor, state, next: OnceLock::new() })))
    }

    /// Notes which stored values are in a request that goes out.
    pub(crate) fn note_uses(&self, sources: BTreeSet<String>) {
        self.used.lock().unwrap_or_else(PoisonError::into_inner).extend(sources);
    }

    fn newest(&self) -> Option<&Opened> {
        let mut newest = self.opened.get()?;
        while let Some(next) = newest.next.get() {
            newest = next;
        }
        Some(newest)
    }
}

impl Drop for CallSecrets {
    fn drop(&mut self) {
        // Beside the record of the call, and written with it.
        let used = self.used.get_mut().unwrap_or_else(PoisonError::into_inner);
        (self.source.note_uses)(std::mem::take(used));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use zeroize::Zeroizing;

    use super::super::SecretValue;
    use super::*;
    use crate::config::Config;
    use crate::policy::decide;
    use crate::registry::{Capability, Digest};

    fn value(text: &str) -> SecretValue {
        let value = Zeroizing::new(text.as_bytes().to_vec());
        SecretValue { name: "KEY".to_owned(), source: "KEY".to_owned(), value, is_usable: true }
    }

    fn nothing_granted() -> Granted {
        let manifest = serde_json::json!({
            "publisher": "acme", "slug": "weather", "version": "1.0.0", "title": "W", "description": "W.",
        });
        let capability = Capability {
            name: "acme/weather".parse().unwrap(),
            digest: Digest::of(b""),
            manifest: serde_json::from_value(manifest).unwrap(),
            installed_at: 0,
            size: 0,
        };
        decide(&Arc::new(capability), &[], &[], 0, &Config::default())
    }

    #[test]
    fn a_change_is_opened_once_and_nothing_is_forgotten() {
        let state = Arc::new(AtomicU64::new(1));
        let opens = Arc::new(AtomicU64::new(0));
        let (now, count) = (Arc::clone(&state), Arc::clone(&opens));
        let secrets = CallSecrets::from_source(Source {
            open: Box::new(move |_| {
                let number = count.fetch_add(1, Ordering::Relaxed);
                Ok(SecretSet::new(vec![value(&format!("value-number-{number}"))]))
            }),
            state: Box::new(move || Ok(now.load(Ordering::Relaxed))),
            note_uses: Box::new(drop),
        });
        let granted = nothing_granted();
        assert!(secrets.redactor().is_none());
        let first = secrets.opened(&granted).unwrap();
        assert_eq!(secrets.opened(&granted).unwrap().set.get("KEY", "KEY"), Some(b"value-number-0".as_slice()));
        assert_eq!(opens.load(Ordering::Relaxed), 1, "nothing changed");

        for number in 1..3 {
            state.fetch_add(1, Ordering::Relaxed);
            let opened = secrets.opened(&granted).unwrap();
            assert_eq!(opened.set.get("KEY", "KEY"), Some(format!("value-number-{number}").as_bytes()));
        }
        assert_eq!(opens.load(Ordering::Relaxed), 3);
        let redactor = secrets.redactor().unwrap();
        for number in 0..3 {
            assert!(redactor.finds(format!("value-number-{number}").as_bytes()).is_some(), "{number}");
        }
        assert_eq!(first.set.get("KEY", "KEY"), Some(b"value-number-0".as_slice()), "whoever holds it goes on");
    }

    #[test]
    fn uses_are_told_at_the_end() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let teller = Arc::clone(&told);
        let secrets = CallSecrets::from_source(Source {
            open: Box::new(|_| Ok(SecretSet::default())),
            state: Box::new(|| Ok(0)),
            note_uses: Box::new(move |sources| teller.lock().unwrap().push(sources)),
        });
        for source in ["B", "A", "B"] {
            secrets.note_uses(BTreeSet::from([source.to_owned()]));
        }
        assert!(told.lock().unwrap().is_empty());
        drop(secrets);
        assert_eq!(*told.lock().unwrap(), [BTreeSet::from(["A".to_owned(), "B".to_owned()])]);
    }
}
