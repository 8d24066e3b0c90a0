//! What the `sandbox` namespace may do for one capability: how much it keeps, and whose files it reads.

use super::Grant;
use crate::config::SandboxConfig;
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::{NamespaceName, Sandbox};

/// The entry that lets a capability read what others of the same conversation wrote.
pub const OTHERS: &str = "others";

/// What `sandbox` may do for one capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SandboxGrant {
    /// Files that it may keep in one conversation.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Whether it may read files of other capabilities of the conversation.
    pub others: bool,
}

/// One entry of a grant.
enum Limit {
    Files(u64),
    Bytes(u64),
    Others,
}

/// The least of what is declared, granted and the operator's limit; where the grant says a number, that is in the
/// place of the operator's.
pub(super) fn decide(declared: Option<&Sandbox>, grants: &[Grant], config: &SandboxConfig) -> SandboxGrant {
    let declared = declared.copied().unwrap_or_default();
    let (mut files, mut bytes, mut others) = (None, None, false);
    let least = |known: Option<u64>, number: u64| Some(known.map_or(number, |known| known.min(number)));
    let entries = grants.iter().filter(|grant| grant.namespace == NamespaceName::Sandbox);
    for limit in entries.filter_map(|grant| read(grant.entry.as_deref()?)) {
        match limit {
            Limit::Files(number) => files = least(files, number),
            Limit::Bytes(number) => bytes = least(bytes, number),
            Limit::Others => others = true,
        }
    }
    let within = |asked: Option<u64>, given: u64| asked.map_or(given, |asked| asked.min(given));
    SandboxGrant {
        files: within(declared.files, files.unwrap_or(config.files)),
        bytes: within(declared.bytes, bytes.unwrap_or(config.bytes)),
        others: declared.others && others,
    }
}

/// Checks an entry that is to be granted.
pub(super) fn check_entry(declared: Option<&Sandbox>, entry: &str) -> Result<()> {
    match read(entry) {
        Some(Limit::Others) if !declared.is_some_and(|declared| declared.others) => {
            Err(Error::new(ErrorKind::NotAllowed, format!("its manifest does not ask for `sandbox` `{OTHERS}`")))
        }
        Some(_) => Ok(()),
        None => Err(Error::new(ErrorKind::Usage, format!("`{entry}` is no entry of `sandbox`"))
            .hint("for example files=20, bytes=1000000, or others")),
    }
}

fn read(entry: &str) -> Option<Limit> {
    if entry == OTHERS {
        return Some(Limit::Others);
    }
    let (key, value) = entry.split_once('=')?;
    let number = || value.bytes().all(|byte| byte.is_ascii_digit()).then(|| value.parse().ok())?;
    match key {
        "files" => number().map(Limit::Files),
        "bytes" => number().map(Limit::Bytes),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grants(entries: &[&str]) -> Vec<Grant> {
        let namespace = NamespaceName::Sandbox;
        let entries = entries.iter().map(|entry| Some((*entry).to_owned()));
        entries.chain([None]).map(|entry| Grant { namespace, entry }).collect()
    }

    #[test]
    fn a_quota_is_the_least_of_what_is_said() {
        let config = SandboxConfig { files: 10, bytes: 1_000, ..SandboxConfig::default() };
        let asks = |files, bytes, others| Some(Sandbox { files, bytes, others });
        let cases = [
            (None, vec![], (10, 1_000, false)),
            (asks(Some(3), None, false), vec![], (3, 1_000, false)),
            (asks(Some(30), Some(5), false), vec![], (10, 5, false)),
            (None, vec!["files=50", "bytes=7"], (50, 7, false)),
            (asks(Some(30), None, false), vec!["files=50"], (30, 1_000, false)),
            (None, vec!["files=50", "files=20"], (20, 1_000, false)),
            (None, vec!["others"], (10, 1_000, false)),
            (asks(None, None, true), vec![], (10, 1_000, false)),
            (asks(None, None, true), vec!["others"], (10, 1_000, true)),
            // What cannot be granted counts for nothing.
            (
                None,
                vec!["files=", "files=-1", "bytes=x", "Others", "files=99999999999999999999"],
                (10, 1_000, false),
            ),
        ];
        for (declared, entries, (files, bytes, others)) in cases {
            let decided = decide(declared.as_ref(), &grants(&entries), &config);
            assert_eq!(decided, SandboxGrant { files, bytes, others }, "{declared:?} {entries:?}");
        }
        // What other namespaces are granted is not this one's.
        let other = [Grant { namespace: NamespaceName::Loops, entry: Some("files=50".to_owned()) }];
        assert_eq!(decide(None, &other, &config).files, 10);
    }

    #[test]
    fn an_entry_is_checked_before_it_is_granted() {
        let asks = Sandbox { others: true, ..Sandbox::default() };
        for good in ["files=0", "files=50", "bytes=1", "others"] {
            assert!(check_entry(Some(&asks), good).is_ok(), "{good}");
        }
        for bad in ["", "files", "files=", "files=+1", "Files=1", "max=1", "Others", "others=1", "acme/images"] {
            assert!(check_entry(Some(&asks), bad).is_err(), "{bad}");
        }
        assert!(check_entry(None, "others").is_err());
        assert!(check_entry(Some(&Sandbox::default()), "others").is_err());
    }
}
