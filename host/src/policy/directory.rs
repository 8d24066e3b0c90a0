//! What is stored of principals, roles and flags, as it was at one moment; and whether a flag is on for somebody.
//!
//! Pure. Who may call what with it is decided in `caller.rs`, and tokens, which only say who somebody is, are
//! not in it.

use std::collections::{BTreeMap, BTreeSet};

/// All principals, roles and flags of a home.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Directory {
    /// By name.
    pub principals: BTreeMap<String, Principal>,
    /// The permissions of each role that has some.
    pub roles: BTreeMap<String, BTreeSet<String>>,
    /// By name.
    pub flags: BTreeMap<String, Flag>,
}

/// What is stored of one principal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Principal {
    /// When it was added, in milliseconds since 1970; 0 for the doors' own.
    pub created_at: i64,
    /// Its roles.
    pub roles: BTreeSet<String>,
    /// What it may do besides what its roles may.
    pub permissions: BTreeSet<String>,
}

/// A feature flag.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flag {
    /// Whether it is on.
    pub on: bool,
    /// When it is on: for so many of a hundred principals only.
    pub percent: Option<u8>,
    /// Principals for whom it is on or off whatever else it says.
    pub exceptions: BTreeMap<String, bool>,
}

impl Directory {
    /// Whether a flag is on for a principal. One that nobody set is off.
    #[must_use]
    pub fn is_on(&self, flag: &str, principal: &str) -> bool {
        let Some(stored) = self.flags.get(flag) else { return false };
        let by_default = stored.on && stored.percent.is_none_or(|percent| place(flag, principal) < percent);
        stored.exceptions.get(principal).copied().unwrap_or(by_default)
    }
}

/// The place of a principal among a hundred, for one flag: the same in every process and for ever, and different
/// from flag to flag, so that not always the same ones are first.
fn place(flag: &str, principal: &str) -> u8 {
    // No name holds a line's end, so two pairs never make one text.
    let digest = ring::digest::digest(&ring::digest::SHA256, format!("{flag}\n{principal}").as_bytes());
    let number = digest.as_ref().iter().take(8).fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    u8::try_from(number % 100).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(flag: Flag) -> Directory {
        Directory { flags: [("beta".to_owned(), flag)].into(), ..Directory::default() }
    }

    #[test]
    fn an_exception_counts_first_then_the_share_then_the_flag() {
        let exceptions = |on| BTreeMap::from([("ada".to_owned(), on)]);
        let cases = [
            (Flag::default(), false),
            (Flag { on: true, ..Flag::default() }, true),
            (Flag { on: true, percent: Some(0), ..Flag::default() }, false),
            (Flag { on: true, percent: Some(100), ..Flag::default() }, true),
            (Flag { on: false, percent: Some(100), ..Flag::default() }, false),
            (Flag { exceptions: exceptions(true), ..Flag::default() }, true),
            (Flag { on: true, exceptions: exceptions(false), ..Flag::default() }, false),
            (Flag { on: true, percent: Some(0), exceptions: exceptions(true) }, true),
            (Flag { on: true, percent: Some(100), exceptions: exceptions(false) }, false),
        ];
        for (flag, expected) in cases {
            assert_eq!(directory(flag.clone()).is_on("beta", "ada"), expected, "{flag:?}");
            assert!(!directory(flag).is_on("gamma", "ada"), "an unknown flag is off");
        }
        assert!(!directory(Flag { exceptions: exceptions(true), ..Flag::default() }).is_on("beta", "bob"));
    }

    /// These places are kept for ever: a change would switch flags of running hosts.
    #[test]
    fn a_share_is_always_the_same_ones() {
        let names: Vec<String> = (0..1000).map(|number| format!("agent-{number}")).collect();
        let share = |flag: &str, percent: u8| -> BTreeSet<&str> {
            names.iter().filter(|name| place(flag, name) < percent).map(String::as_str).collect()
        };
        let (ten, thirty) = (share("beta", 10), share("beta", 30));
        assert!(ten.is_subset(&thirty), "who has it keeps it as the share grows");
        assert!((70..130).contains(&ten.len()), "{}", ten.len());
        assert!((260..340).contains(&thirty.len()), "{}", thirty.len());
        assert_ne!(ten, share("gamma", 10));
        let places = ["ada", "bob", "http"].map(|name| place("beta", name));
        assert_eq!(places, [79, 26, 33]);
    }
}
