//! What a dry run would have written: seen by its own call, kept nowhere. Pure.

use std::collections::BTreeMap;

use super::file::{File, FileRecord, Refusal};
use super::name::FileName;
use super::rules::{Quota, Sums, decide};
use crate::registry::CapabilityName;

/// The changes of one dry run over what is stored.
#[derive(Debug, Default)]
pub(super) struct Overlay {
    /// By name; `None` for what was removed.
    files: BTreeMap<FileName, Option<(Vec<u8>, i64)>>,
    plan: Vec<FileRecord>,
}

impl Overlay {
    /// The changes that would have been made.
    pub(super) fn plan(&self) -> &[FileRecord] {
        &self.plan
    }

    /// The bytes that this call sees under a name, if it changed it.
    pub(super) fn bytes(&self, name: &FileName) -> Option<Option<&[u8]>> {
        self.files.get(name).map(|changed| changed.as_ref().map(|(bytes, _)| bytes.as_slice()))
    }

    /// What is stored, as this call sees it, in the order of the names.
    pub(super) fn merge(&self, owner: &CapabilityName, stored: Vec<File>) -> Vec<File> {
        if self.files.is_empty() {
            return stored;
        }
        let mut seen: BTreeMap<FileName, File> =
            stored.into_iter().map(|file| (file.name.clone(), file)).collect();
        for (name, changed) in &self.files {
            match changed {
                Some((bytes, written_at)) => {
                    let (owner, bytes, written_at) = (owner.clone(), bytes.len() as u64, *written_at);
                    let file = File { owner, name: name.clone(), bytes, written_at };
                    drop(seen.insert(name.clone(), file));
                }
                None => drop(seen.remove(name)),
            }
        }
        seen.into_values().collect()
    }

    /// Writes as the store would. `present` is what this call sees, `of_principal` what is stored.
    pub(super) fn write(
        &mut self,
        name: &FileName,
        bytes: Vec<u8>,
        present: &[File],
        of_principal: Sums,
        now_ms: i64,
        quota: &Quota,
    ) -> Result<(), Refusal> {
        let seen = present.iter().map(|file| (&file.name, file.bytes));
        decide(name, bytes.len() as u64, seen, of_principal, quota)?;
        self.plan.push(FileRecord::written(name, bytes.len() as u64));
        self.files.insert(name.clone(), Some((bytes, now_ms)));
        Ok(())
    }

    /// Removes as the store would, and tells whether there was something.
    pub(super) fn delete(&mut self, name: &FileName, present: &[File]) -> bool {
        let is_there = present.iter().any(|file| file.name == *name);
        if is_there {
            self.plan.push(FileRecord::deleted(name));
            self.files.insert(name.clone(), None);
        }
        is_there
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dry_run_sees_its_own_changes_and_keeps_its_quota() {
        let owner: CapabilityName = "acme/images".parse().unwrap();
        let quota = Quota { files: 2, bytes: 10, file_bytes: 8, principal_bytes: 100_000 };
        let stored = |overlay: &Overlay| {
            let file =
                |name: &str| File { owner: owner.clone(), name: name.parse().unwrap(), bytes: 3, written_at: 1 };
            overlay.merge(&owner, vec![file("a"), file("b")])
        };
        let names = |overlay: &Overlay| {
            stored(overlay).iter().map(|file| format!("{} {}", file.name, file.bytes)).collect::<Vec<_>>()
        };
        let (mut overlay, sums) = (Overlay::default(), Sums { files: 2, bytes: 6 });
        let write = |overlay: &mut Overlay, name: &str, bytes: usize| {
            let present = stored(overlay);
            overlay.write(&name.parse().unwrap(), vec![b'x'; bytes], &present, sums, 7, &quota)
        };
        assert!(write(&mut overlay, "c", 1).is_err(), "two files are there");
        let present = stored(&overlay);
        assert!(overlay.delete(&"a".parse().unwrap(), &present));
        assert!(!overlay.delete(&"x".parse().unwrap(), &present));
        assert_eq!(write(&mut overlay, "c", 7), Ok(()));
        assert!(write(&mut overlay, "B", 1).is_err(), "it collides");
        assert!(write(&mut overlay, "b", 4).is_err(), "too many bytes");
        assert_eq!(names(&overlay), ["b 3", "c 7"]);
        assert_eq!(overlay.bytes(&"c".parse().unwrap()).flatten().map(<[u8]>::len), Some(7));
        assert_eq!(overlay.bytes(&"a".parse().unwrap()), Some(None));
        assert_eq!(overlay.bytes(&"b".parse().unwrap()), None);
        let plan: Vec<_> = overlay.plan().iter().map(|one| format!("{} {}", one.action, one.name)).collect();
        assert_eq!(plan, ["delete a", "write c"]);
    }
}
