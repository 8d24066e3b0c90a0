//! Capabilities whose code is this program's own.
//!
//! Their manifests are data, and their pins are the digests of that data: what a person saw and granted is what
//! is called, and a program with another manifest is asked about anew. Calls of them go the path of every call;
//! this room is in the place of the guest.

mod input;
mod loops;

pub(crate) use self::loops::{Desk, run_value};
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::{self, Manifest};
use crate::registry::{Capability, CapabilityName, Digest};

/// A capability of this program's own.
pub struct Builtin {
    name: &'static str,
    /// Its manifest as text. This is what is pinned.
    manifest: &'static str,
}

/// All of them. A manifest that changes gets another version: no version is pinned to two digests.
const BUILTINS: &[Builtin] = &[Builtin { name: "remit/loops", manifest: include_str!("loops.json") }];

/// The one of this name.
#[must_use]
pub fn find(name: &CapabilityName) -> Option<&'static Builtin> {
    let name = name.to_string();
    BUILTINS.iter().find(|builtin| builtin.name == name)
}

/// The names of all.
pub fn names() -> impl Iterator<Item = &'static str> {
    BUILTINS.iter().map(|builtin| builtin.name)
}

impl Builtin {
    /// What is pinned.
    #[must_use]
    pub fn bytes(&self) -> &'static [u8] {
        self.manifest.as_bytes()
    }

    /// Its manifest.
    pub fn manifest(&self) -> Result<Manifest> {
        manifest::parse(self.bytes())
    }
}

/// Refuses a call of a pin that is not what this program would install.
pub(crate) fn verify(capability: &Capability) -> Result<()> {
    let name = &capability.name;
    if find(name).is_some_and(|builtin| Digest::of(builtin.bytes()) == capability.digest) {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::DigestMismatch,
        format!("`{name}` was installed by another version of this program"),
    )
    .hint(format!("look at what it asks now, and install it again: remit install {name}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn their_manifests_keep_the_rules_of_all_others() {
        for builtin in BUILTINS {
            let manifest = builtin.manifest().unwrap();
            assert_eq!(format!("{}/{}", manifest.publisher, manifest.slug), builtin.name);
            // What a stranger may not write is the one thing that makes it ours.
            let problems = manifest::check(&manifest);
            let fields: Vec<_> = problems.iter().map(|problem| problem.field.as_str()).collect();
            assert_eq!(fields, ["runtime"], "{problems:?}");
        }
    }

    #[test]
    fn what_another_program_pinned_is_not_called() {
        let name: CapabilityName = "remit/loops".parse().unwrap();
        let builtin = find(&name).unwrap();
        let of = |name: &str, bytes: &[u8]| Capability {
            name: name.parse().unwrap(),
            digest: Digest::of(bytes),
            manifest: builtin.manifest().unwrap(),
            installed_at: 1,
            size: 1,
        };
        assert!(verify(&of("remit/loops", builtin.bytes())).is_ok());
        for other in [of("remit/loops", b"{}"), of("acme/loops", builtin.bytes())] {
            let error = verify(&other).unwrap_err();
            assert_eq!(error.kind, ErrorKind::DigestMismatch);
            assert!(error.hint.is_some_and(|hint| hint.contains("remit install")));
        }
    }

    /// Who changes a manifest raises its version, and then this line.
    #[test]
    fn a_version_is_pinned_to_one_digest() {
        let pins: Vec<String> = BUILTINS
            .iter()
            .map(|builtin| {
                let version = builtin.manifest().unwrap().version;
                format!("{} {version} {}", builtin.name, &Digest::of(builtin.bytes()).hex()[..12])
            })
            .collect();
        insta::assert_snapshot!(pins.join("\n"));
    }
}
