//! What can be a key, a value, a list of changes; and whether changes may be made. Pure.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use super::document::{Action, Change, Document, Expected, Refusal};
use crate::config::EntitiesConfig;

/// Bytes of a key, by the contract: a title or an address fits, a text does not.
pub(crate) const KEY_BYTES: usize = 512;

/// Documents of one page, by the contract.
pub(super) const PAGE_DOCUMENTS: usize = 1_000;

/// Bytes of one page, by the contract. One document always fits: no value may be larger.
pub(super) const PAGE_BYTES: usize = 1024 * 1024;

/// Changes of one transaction, by the contract: the writer serves others after some milliseconds.
pub(super) const TRANSACTION_CHANGES: usize = 128;

/// Bytes that a refused text is shown with.
const SHOWN_BYTES: usize = 64;

/// Checks a key: some text, not too long, without control characters.
pub(crate) fn check_key(key: &str) -> Result<(), Refusal> {
    if key.is_empty() {
        return Err(Refusal::InvalidKey("a key has at least one character".to_owned()));
    }
    check_prefix(key)
}

/// Checks the beginning of keys. The empty one is that of all.
pub(super) fn check_prefix(prefix: &str) -> Result<(), Refusal> {
    if prefix.len() > KEY_BYTES {
        return Err(Refusal::InvalidKey(format!("a key has at most {KEY_BYTES} bytes, not {}", prefix.len())));
    }
    if prefix.chars().any(char::is_control) {
        return Err(Refusal::InvalidKey("a key has no control characters".to_owned()));
    }
    Ok(())
}

/// Checks a value: JSON text, not too long, not nested too deeply.
pub(crate) fn check_value(value: &str, limits: &EntitiesConfig) -> Result<(), Refusal> {
    if value.len() > limits.value_bytes {
        let (most, length) = (limits.value_bytes, value.len());
        return Err(Refusal::InvalidValue(format!("a value has at most {most} bytes, not {length}")));
    }
    let mut parser = serde_json::Deserializer::from_str(value);
    Nested(limits.depth).deserialize(&mut parser).and_then(|()| parser.end()).map_err(|error| {
        // The parser quotes nothing of the text.
        Refusal::InvalidValue(format!("the value is not JSON that can be stored: {error}"))
    })
}

/// Checks a transaction as a whole. An empty one is none, and no mistake.
pub(super) fn check_transaction(changes: &[Change]) -> Result<(), Refusal> {
    if changes.len() > TRANSACTION_CHANGES {
        return Err(Refusal::Quota(format!("a transaction has at most {TRANSACTION_CHANGES} changes")));
    }
    check_once(changes)
}

/// No document twice: which of its changes would count?
pub(crate) fn check_once(changes: &[Change]) -> Result<(), Refusal> {
    let mut seen = BTreeSet::new();
    match changes.iter().find(|change| !seen.insert((&change.entity, &change.key))) {
        Some(Change { entity, key, .. }) => {
            let shown = &key[..key.floor_char_boundary(SHOWN_BYTES)];
            Err(Refusal::InvalidKey(format!("`{entity}` `{shown}` is changed twice")))
        }
        None => Ok(()),
    }
}

/// What is there under a key, as far as a decision needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Present {
    pub(crate) version: u64,
    pub(crate) bytes: u64,
}

impl Document {
    /// What a decision needs of it.
    pub(crate) fn present(&self) -> Present {
        Present { version: self.version, bytes: self.size() }
    }
}

/// How much one capability keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Documents.
    pub documents: u64,
    /// Bytes of their keys and values.
    pub bytes: u64,
}

/// Decides whether all of these changes may be made, and gives the sums after them. `present` is what is there for
/// each of them.
pub(crate) fn decide(
    changes: &[Change],
    present: &[Option<Present>],
    sums: Sums,
    limits: &EntitiesConfig,
) -> Result<Sums, Refusal> {
    let mut after = sums;
    for (change, present) in changes.iter().zip(present) {
        let actual = present.map(|present| present.version);
        let fits = match change.expected {
            Expected::Any => true,
            Expected::Absent => actual.is_none(),
            Expected::Version(version) => actual == Some(version),
        };
        if !fits {
            let (entity, key) = (change.entity.clone(), change.key.clone());
            return Err(Refusal::Conflict { entity, key, actual });
        }
        if let Some(present) = present {
            after.documents = after.documents.saturating_sub(1);
            after.bytes = after.bytes.saturating_sub(present.bytes);
        }
        if let Action::Put(value) = &change.action {
            after.documents += 1;
            after.bytes = after.bytes.saturating_add((change.key.len() + value.len()) as u64);
        }
    }
    // Whoever is above a limit that was lowered may still get below it, step by step.
    if after.documents > limits.documents && after.documents > sums.documents {
        return Err(Refusal::Quota(format!("a capability keeps at most {} documents", limits.documents)));
    }
    if after.bytes > limits.bytes && after.bytes > sums.bytes {
        return Err(Refusal::Quota(format!("a capability keeps at most {} bytes of documents", limits.bytes)));
    }
    Ok(after)
}

/// Walks a value and keeps nothing of it; so many arrays and objects may lie in one another. The walk itself goes
/// no deeper than that, whatever the text.
#[derive(Clone, Copy)]
struct Nested(usize);

impl Nested {
    fn deeper<E: serde::de::Error>(self) -> Result<Self, E> {
        self.0.checked_sub(1).map(Self).ok_or_else(|| E::custom("nested too deeply"))
    }
}

impl<'de> DeserializeSeed<'de> for Nested {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Nested {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let item = self.deeper::<A::Error>()?;
        while items.next_element_seed(item)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let member = self.deeper::<A::Error>()?;
        while members.next_key_seed(Self(0))?.is_some() {
            members.next_value_seed(member)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> EntitiesConfig {
        EntitiesConfig { documents: 3, bytes: 100, value_bytes: 64, depth: 4, ..EntitiesConfig::default() }
    }

    fn put(key: &str, value: &str, expected: Expected) -> Change {
        Change { entity: "notes".to_owned(), key: key.to_owned(), expected, action: Action::Put(value.to_owned()) }
    }

    fn delete(key: &str, expected: Expected) -> Change {
        Change { action: Action::Delete, ..put(key, "", expected) }
    }

    #[test]
    fn a_key_is_text_of_bounded_length() {
        let long = "ä".repeat(KEY_BYTES / 2);
        for good in
            ["a", " ", "'; DROP TABLE documents; --", "%", "*_[a]?", "\u{ffff}", "\u{202e}x", "日本", &long]
        {
            assert_eq!(check_key(good), Ok(()), "{good:?}");
        }
        let (longer, mebibyte) = (format!("{long}a"), "a".repeat(1024 * 1024));
        for bad in ["", "\0", "a\0b", "a\nb", "\u{7f}", "\u{85}", &longer, &mebibyte] {
            assert!(matches!(check_key(bad), Err(Refusal::InvalidKey(_))), "{:?}", &bad[..bad.len().min(20)]);
        }
        assert_eq!(check_prefix(""), Ok(()));
        assert!(check_prefix("\0").is_err());
    }

    #[test]
    fn a_value_is_json_of_bounded_size_and_depth() {
        let good =
            ["null", "0", "-1.5e300", "18446744073709551616", "\"\\u0000\"", "[[[[]]]]", "{\"a\":[{\"b\":{}}]}"];
        for good in good {
            assert_eq!(check_value(good, &limits()), Ok(()), "{good}");
        }
        let long = format!("\"{}\"", "a".repeat(63));
        let bad = [
            "",
            "nul",
            "1 2",
            "{\"a\":}",
            "{a:1}",
            "[1,]",
            "'a'",
            "\"\\ud800\"",
            "1e400",
            "\"a\nb\"",
            "[[[[[]]]]]",
            "{\"a\":{\"a\":{\"a\":{\"a\":{}}}}}",
            "\u{feff}1",
            "NaN",
            &long,
        ];
        for bad in bad {
            assert!(matches!(check_value(bad, &limits()), Err(Refusal::InvalidValue(_))), "{bad}");
        }
    }

    #[test]
    fn deep_text_is_refused_without_deep_recursion() {
        let limits = EntitiesConfig { value_bytes: usize::MAX, depth: 32, ..EntitiesConfig::default() };
        // A thread with little stack: a walk as deep as the text would end the process.
        let walk = move || {
            for opening in ["[", "{\"a\":", "[{\"a\":"] {
                assert!(check_value(&opening.repeat(1_000_000), &limits).is_err(), "{opening}");
            }
        };
        std::thread::Builder::new().stack_size(256 * 1024).spawn(walk).unwrap().join().unwrap();
    }

    #[test]
    fn a_change_is_made_when_what_is_expected_is_there() {
        let present = Some(Present { version: 7, bytes: 2 });
        let cases = [
            (Expected::Any, None, true),
            (Expected::Any, present, true),
            (Expected::Absent, None, true),
            (Expected::Absent, present, false),
            (Expected::Version(7), present, true),
            (Expected::Version(6), present, false),
            (Expected::Version(7), None, false),
            (Expected::Version(0), None, false),
        ];
        for (expected, present, is_made) in cases {
            for change in [put("a", "1", expected), delete("a", expected)] {
                let sums = Sums { documents: u64::from(present.is_some()), bytes: present.map_or(0, |_| 2) };
                let decided = decide(std::slice::from_ref(&change), &[present], sums, &limits());
                assert_eq!(decided.is_ok(), is_made, "{change:?} {present:?}: {decided:?}");
                if let Err(refusal) = decided {
                    let actual = present.map(|present| present.version);
                    let (entity, key) = ("notes".to_owned(), "a".to_owned());
                    assert_eq!(refusal, Refusal::Conflict { entity, key, actual });
                }
            }
        }
    }

    #[test]
    fn quotas_count_what_would_be_there() {
        let any = Expected::Any;
        let of = |documents, bytes| Sums { documents, bytes };
        let old = |bytes| Some(Present { version: 1, bytes });
        let large = "1".repeat(50);
        type Case<'a> = (Sums, Vec<Change>, Vec<Option<Present>>, Result<Sums, &'a str>);
        let cases: Vec<Case<'_>> = vec![
            (of(0, 0), vec![put("a", "1", any)], vec![None], Ok(of(1, 2))),
            (of(1, 2), vec![put("a", "10", any)], vec![old(2)], Ok(of(1, 3))),
            (of(1, 2), vec![delete("a", any)], vec![old(2)], Ok(of(0, 0))),
            (of(1, 2), vec![delete("b", any)], vec![None], Ok(of(1, 2))),
            (of(3, 9), vec![put("d", "1", any)], vec![None], Err("a capability keeps at most 3 documents")),
            // One goes, one comes.
            (of(3, 9), vec![delete("a", any), put("d", "1", any)], vec![old(3), None], Ok(of(3, 8))),
            (
                of(1, 60),
                vec![put("b", &large, any)],
                vec![None],
                Err("a capability keeps at most 100 bytes of documents"),
            ),
            (of(1, 60), vec![put("a", &large, any)], vec![old(60)], Ok(of(1, 51))),
            // Above limits that were lowered: less is welcome, more is not.
            (of(9, 900), vec![delete("a", any)], vec![old(100)], Ok(of(8, 800))),
            (of(9, 900), vec![put("a", "1", any)], vec![old(100)], Ok(of(9, 802))),
            (
                of(2, 900),
                vec![put("c", "1", any)],
                vec![None],
                Err("a capability keeps at most 100 bytes of documents"),
            ),
        ];
        for (sums, changes, present, expected) in cases {
            let expected = expected.map_err(|message| Refusal::Quota(message.to_owned()));
            assert_eq!(decide(&changes, &present, sums, &limits()), expected, "{sums:?} {changes:?}");
        }
    }

    #[test]
    fn a_transaction_is_short_and_changes_nothing_twice() {
        let changes = |count: usize| -> Vec<Change> {
            (0..count).map(|number| put(&number.to_string(), "1", Expected::Any)).collect()
        };
        assert_eq!(check_transaction(&[]), Ok(()));
        assert_eq!(check_transaction(&changes(TRANSACTION_CHANGES)), Ok(()));
        assert!(matches!(check_transaction(&changes(TRANSACTION_CHANGES + 1)), Err(Refusal::Quota(_))));
        let twice = [put("a", "1", Expected::Any), delete("a", Expected::Any)];
        assert_eq!(check_transaction(&twice), Err(Refusal::InvalidKey("`notes` `a` is changed twice".to_owned())));
        let mut elsewhere = twice;
        elsewhere[1].entity = "tags".to_owned();
        assert_eq!(check_transaction(&elsewhere), Ok(()));
    }
}
