//! Whether a file may be written: what is in its way, and how much there may be. Pure.
//!
//! The store asks inside the transaction that writes, and a dry run asks of what it would have written.

use super::file::Refusal;
use super::name::FileName;

/// Bytes that a read gives at most, by the contract.
pub(crate) const READ_BYTES: u64 = 1024 * 1024;

/// Bytes that a file counts for besides its own: so that empty ones without end are not free.
const FILE_BYTES: u64 = 1024;

/// How much there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Quota {
    /// Files of one capability in one conversation.
    pub(crate) files: u64,
    /// Their bytes.
    pub(crate) bytes: u64,
    /// Bytes of one file.
    pub(crate) file_bytes: u64,
    /// Bytes of one principal in all conversations, with what each file counts for besides.
    pub(crate) principal_bytes: u64,
}

/// What one principal keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Sums {
    /// What they count for.
    fn weight(self) -> u64 {
        self.bytes.saturating_add(self.files.saturating_mul(FILE_BYTES))
    }
}

/// Decides whether `name` may become a file of so many bytes. `present` is what the capability has in the
/// conversation, `of_principal` what the principal has in all of them.
pub(crate) fn decide<'a>(
    name: &FileName,
    bytes: u64,
    present: impl Iterator<Item = (&'a FileName, u64)>,
    of_principal: Sums,
    quota: &Quota,
) -> Result<(), Refusal> {
    let (mut files, mut sum, mut replaced) = (1_u64, bytes, None);
    for (other, size) in present {
        if other.collides(name) {
            return Err(Refusal::Collision(other.to_string()));
        }
        if other == name {
            replaced = Some(size);
        } else {
            files += 1;
            sum = sum.saturating_add(size);
        }
    }
    // Whoever is above a limit that was lowered may still make a file smaller.
    if replaced.is_some_and(|size| bytes <= size) {
        return Ok(());
    }
    let (most, found) = (quota.file_bytes, bytes);
    if found > most {
        return Err(Refusal::Quota(format!("a file has at most {most} bytes, not {found}")));
    }
    if files > quota.files && replaced.is_none() {
        return Err(Refusal::Quota(format!(
            "the capability keeps at most {} files in a conversation",
            quota.files
        )));
    }
    if sum > quota.bytes {
        return Err(Refusal::Quota(format!(
            "the capability keeps at most {} bytes in a conversation",
            quota.bytes
        )));
    }
    let after = Sums {
        files: of_principal.files + u64::from(replaced.is_none()),
        bytes: of_principal.bytes.saturating_sub(replaced.unwrap_or_default()).saturating_add(bytes),
    };
    if after.weight() > quota.principal_bytes {
        return Err(Refusal::Quota(
            "the principal keeps as many files as it may, all conversations together".to_owned(),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn db_12_quotas_count_what_would_be_there() {
        let quota = Quota { files: 3, bytes: 100, file_bytes: 60, principal_bytes: 10_000 };
        let none = Sums::default();
        let full = Sums { files: 9, bytes: 784 };
        type Case<'a> = (&'a [(&'a str, u64)], &'a str, u64, Sums, Result<(), &'a str>);
        let cases: &[Case<'_>] = &[
            (&[], "a", 60, none, Ok(())),
            (&[], "a", 61, none, Err("a file has at most 60 bytes, not 61")),
            (&[("a", 60)], "b", 40, none, Ok(())),
            (&[("a", 60)], "b", 41, none, Err("the capability keeps at most 100 bytes in a conversation")),
            (
                &[("a", 1), ("b", 1), ("c", 1)],
                "d",
                0,
                none,
                Err("the capability keeps at most 3 files in a conversation"),
            ),
            (&[("a", 1), ("b", 1), ("c", 1)], "c", 9, none, Ok(())),
            // Above limits that were lowered: less is welcome, more is not.
            (&[("a", 900), ("b", 1)], "a", 900, none, Ok(())),
            (&[("a", 90), ("b", 50)], "a", 60, none, Ok(())),
            (
                &[("a", 50), ("b", 90)],
                "a",
                51,
                none,
                Err("the capability keeps at most 100 bytes in a conversation"),
            ),
            (&[("a", 1), ("b", 1), ("c", 1), ("d", 1)], "a", 2, none, Ok(())),
            // A principal with many conversations.
            (&[], "a", 0, Sums { files: 8, bytes: 784 }, Ok(())),
            (&[], "a", 1, full, Err("the principal keeps as many files as it may, all conversations together")),
            (&[("a", 5)], "a", 4, Sums { files: 99, bytes: 0 }, Ok(())),
        ];
        for (present, name, bytes, of_principal, expected) in cases {
            let present: Vec<(FileName, u64)> =
                present.iter().map(|(name, size)| (name.parse().unwrap(), *size)).collect();
            let found = present.iter().map(|(name, size)| (name, *size));
            let decided = decide(&name.parse().unwrap(), *bytes, found, *of_principal, &quota);
            let expected = expected.map_err(|why| Refusal::Quota(why.to_owned()));
            assert_eq!(decided, expected, "{present:?} {name} {bytes}");
        }
    }

    #[test]
    fn what_is_in_the_way_is_named() {
        let quota = Quota { files: 9, bytes: 100, file_bytes: 60, principal_bytes: 100_000 };
        let there: FileName = "a/Cat.png".parse().unwrap();
        for name in ["a/cat.png", "A", "a/cat.PNG/b"] {
            let decided = decide(&name.parse().unwrap(), 1, [(&there, 1)].into_iter(), Sums::default(), &quota);
            assert_eq!(decided, Err(Refusal::Collision("a/Cat.png".to_owned())), "{name}");
        }
    }
}
