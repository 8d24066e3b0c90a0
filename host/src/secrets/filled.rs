//! Placeholders in what the operator wrote for the host's own use: how an upstream server is reached.
//!
//! Nobody else writes such a text, so there is no approval beside it: adding the server is the operator's word that
//! the secret goes there. Values are opened when a connection is made, and each is searched for in all that comes
//! back. Which texts may hold placeholders is not decided here.

use std::sync::Arc;

use zeroize::Zeroizing;

use super::placeholder;
use super::{Redactor, SecretKind, SecretSet, SecretValue, Vault};
use crate::error::{Error, ErrorKind, Result};

/// Texts with values in them. It has no way to be printed.
pub(crate) struct Filled {
    /// In the order in which they were given.
    pub(crate) texts: Vec<Zeroizing<String>>,
    /// Finds every value that is in them.
    pub(crate) redactor: Arc<Redactor>,
    /// The names of the secrets.
    pub(crate) names: Vec<String>,
}

impl Filled {
    /// Whether they say the same: a value that was set anew makes other texts.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.texts == other.texts
    }
}

/// The names of the placeholders of `text`, in order.
pub(crate) fn placeholders(text: &str) -> Result<Vec<String>> {
    let found = placeholder::find(text.as_bytes()).map_err(|_| {
        Error::new(ErrorKind::Usage, "a placeholder stands inside other braces: write `{{NAME}}` alone")
    })?;
    Ok(found.into_iter().map(|one| one.name.to_owned()).collect())
}

impl Vault {
    /// Puts values in the place of the placeholders of `texts`. A value that is not set, or has ended, is an error.
    pub(crate) fn fill(&self, texts: &[&str]) -> Result<Filled> {
        let mut values: Vec<SecretValue> = Vec::new();
        for text in texts {
            for name in placeholders(text)? {
                if !values.iter().any(|known| known.name == name) {
                    values.push(self.value(&name)?);
                }
            }
        }
        let texts = texts.iter().map(|text| replaced(text, &values)).collect::<Result<_>>()?;
        let names: Vec<String> = values.iter().map(|value| value.name.clone()).collect();
        self.note_uses(names.iter().cloned().collect());
        Ok(Filled { texts, redactor: Arc::new(Redactor::new(&SecretSet::new(values))), names })
    }

    fn value(&self, name: &str) -> Result<SecretValue> {
        let has_ended =
            self.list()?.iter().any(|stored| stored.name == name && stored.has_expired(self.store.now_ms()));
        if has_ended {
            return Err(Error::new(ErrorKind::SecretNotAvailable, format!("the secret `{name}` has ended"))
                .hint(format!("remit secret set {name}")));
        }
        let Some(value) = self.read(name, SecretKind::Value)? else {
            return Err(Error::new(ErrorKind::SecretUnset, format!("no value is stored under `{name}`"))
                .hint(format!("remit secret set {name}")));
        };
        Ok(SecretValue { name: name.to_owned(), source: name.to_owned(), value, is_usable: true })
    }
}

fn replaced(text: &str, values: &[SecretValue]) -> Result<Zeroizing<String>> {
    let found = placeholder::find(text.as_bytes()).unwrap_or_default();
    let room: usize = values.iter().map(|value| value.value.len()).sum();
    let mut out = Zeroizing::new(String::with_capacity(text.len() + room * found.len().max(1)));
    let mut from = 0;
    for one in found {
        out.push_str(&text[from..one.start]);
        let value = values.iter().find(|value| value.name == one.name).map(|value| value.value.as_slice());
        let value = std::str::from_utf8(value.unwrap_or_default());
        out.push_str(value.map_err(|_| {
            Error::new(ErrorKind::SecretInvalid, format!("the secret `{}` is not text", one.name))
        })?);
        from = one.end;
    }
    out.push_str(&text[from..]);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::store::Store;

    fn vault() -> (tempfile::TempDir, Vault) {
        let home = tempfile::tempdir().unwrap();
        let store = Store::open(home.path(), std::sync::Arc::new(Clock::system())).unwrap();
        let vault = Vault::new(home.path(), store);
        (home, vault)
    }

    #[test]
    fn values_stand_where_their_names_stood_and_are_searched_for() {
        let (_home, vault) = vault();
        vault.set("TOKEN", b"tok_5f8Zq2pV7wXcT4").unwrap();
        let filled = vault.fill(&["Bearer {{TOKEN}}", "plain", "{{TOKEN}}/{{TOKEN}}", "{{ not one }}"]).unwrap();
        let texts: Vec<&str> = filled.texts.iter().map(|text| text.as_str()).collect();
        assert_eq!(
            texts,
            ["Bearer tok_5f8Zq2pV7wXcT4", "plain", "tok_5f8Zq2pV7wXcT4/tok_5f8Zq2pV7wXcT4", "{{ not one }}"]
        );
        assert_eq!(filled.names, ["TOKEN"]);
        assert_eq!(filled.redactor.redact_text("it is tok_5f8Zq2pV7wXcT4"), "it is [redacted:TOKEN]");
        assert!(filled.is_same(
            &vault.fill(&["Bearer {{TOKEN}}", "plain", "{{TOKEN}}/{{TOKEN}}", "{{ not one }}"]).unwrap()
        ));
        vault.set("TOKEN", b"another_8Zq2pV7wXcT4").unwrap();
        assert!(!filled.is_same(
            &vault.fill(&["Bearer {{TOKEN}}", "plain", "{{TOKEN}}/{{TOKEN}}", "{{ not one }}"]).unwrap()
        ));
    }

    #[test]
    fn what_is_not_set_or_has_ended_fills_nothing() {
        let (_home, vault) = vault();
        let kind = |text: &str| vault.fill(&[text]).err().map(|error| error.kind);
        assert_eq!(kind("{{TOKEN}}"), Some(ErrorKind::SecretUnset));
        vault.set_with("TOKEN", SecretKind::Value, b"tok_5f8Zq2pV7wXcT4", Some(1)).unwrap();
        assert_eq!(kind("{{TOKEN}}"), Some(ErrorKind::SecretNotAvailable));
        assert_eq!(kind("{{a {{TOKEN}}"), Some(ErrorKind::Usage));
        assert_eq!(kind("nothing"), None);
    }
}
