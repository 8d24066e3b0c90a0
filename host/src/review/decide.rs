//! Whether somebody may decide about a release at this moment, and about which bytes.
//!
//! Pure. A registry asks it in the step that writes the decision, with what it reads in that step: a role that was
//! taken away, or other bytes that came, count whenever that happened. What it gives is the receipt that the write
//! takes. Whether a signature is whose it claims is asked before; what becomes of the release is the registry's.

use crate::error::{Error, ErrorKind, Result};
use crate::registry::Digest;

/// A release that waits for a decision, as the registry has it now.
#[derive(Clone, Copy, Debug)]
pub struct Submission<'a> {
    /// Its name and version, to be named in an error.
    pub release: &'a str,
    /// The bytes that wait.
    pub digest: Digest,
    /// Whose key signed its statement.
    pub author: &'a str,
}

/// Who decides, as the registry knows them now.
#[derive(Clone, Copy, Debug)]
pub struct Reviewer<'a> {
    /// Whose key signed the decision.
    pub owner: &'a str,
    /// Whether they are a reviewer here.
    pub is_reviewer: bool,
}

/// What a person decided, and which bytes they were shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word {
    /// The digest of the report that was read.
    pub shown: Digest,
    /// Whether it is a yes.
    pub is_approval: bool,
}

/// A decision that may be written: only [`decide`] makes it.
#[derive(Debug, PartialEq, Eq)]
pub struct Decided {
    digest: Digest,
    is_approval: bool,
}

impl Decided {
    /// The bytes that it is about.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Whether it is a yes.
    #[must_use]
    pub fn is_approval(&self) -> bool {
        self.is_approval
    }
}

/// Judges one decision. `submission` is missing when nothing waits under the name.
pub fn decide(submission: Option<Submission<'_>>, reviewer: Reviewer<'_>, word: Word) -> Result<Decided> {
    let Some(Submission { release, digest, author }) = submission else {
        return Err(Error::new(
            ErrorKind::ReviewNothing,
            "nothing waits for a decision under this name and version",
        )
        .hint("remit review list"));
    };
    if !reviewer.is_reviewer {
        let message = format!("`{}` is no reviewer of this registry", reviewer.owner);
        return Err(Error::new(ErrorKind::ReviewRole, message)
            .hint("whoever runs the registry says who its reviewers are"));
    }
    // Also a no: who may not say yes must not be able to clear the way for another upload either.
    if same_owner(reviewer.owner, author) {
        let message = format!("`{release}` was submitted by `{author}`, and nobody decides about their own");
        return Err(Error::new(ErrorKind::ReviewOwn, message).hint("ask a second person"));
    }
    if word.shown != digest {
        let message = format!("`{release}` is not what was shown: other bytes wait now");
        return Err(Error::new(ErrorKind::ReviewOtherBytes, message)
            .detail(format!("{} was shown, {digest} waits", word.shown))
            .hint(format!("look at it again: remit review show {release}")));
    }
    Ok(Decided { digest, is_approval: word.is_approval })
}

/// Owners are the same whatever the case of their letters: a second spelling is no second person.
pub(crate) fn same_owner(one: &str, other: &str) -> bool {
    one.trim().to_lowercase() == other.trim().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(text: &str) -> Digest {
        Digest::of(text.as_bytes())
    }

    fn outcome(submission: Option<Submission<'_>>, owner: &str, is_reviewer: bool, shown: &str) -> &'static str {
        let word = Word { shown: digest(shown), is_approval: true };
        match decide(submission, Reviewer { owner, is_reviewer }, word) {
            Ok(decided) => {
                assert_eq!((decided.digest(), decided.is_approval()), (digest(shown), true));
                "decided"
            }
            Err(error) => error.kind.code(),
        }
    }

    fn waiting() -> Submission<'static> {
        Submission { release: "acme/weather@1.0.0", digest: digest("one"), author: "ada" }
    }

    #[test]
    fn c_20_nobody_decides_about_their_own() {
        assert_eq!(outcome(Some(waiting()), "bob", true, "one"), "decided");
        for owner in ["ada", "Ada", "ADA", " ada "] {
            assert_eq!(outcome(Some(waiting()), owner, true, "one"), "review/own-submission", "{owner}");
            // Nor do they reject it.
            let word = Word { shown: digest("one"), is_approval: false };
            let error = decide(Some(waiting()), Reviewer { owner, is_reviewer: true }, word).expect_err("refused");
            assert_eq!(error.kind, ErrorKind::ReviewOwn);
        }
    }

    #[test]
    fn c_21_a_decision_is_about_the_bytes_that_were_shown() {
        // The page was open while another upload came.
        let replaced = Submission { digest: digest("two"), ..waiting() };
        assert_eq!(outcome(Some(replaced), "bob", true, "one"), "review/other-bytes");
        assert_eq!(outcome(Some(replaced), "bob", true, "two"), "decided");
        // It was withdrawn, or somebody else decided.
        assert_eq!(outcome(None, "bob", true, "one"), "review/nothing-waits");
    }

    #[test]
    fn c_22_a_role_counts_at_the_moment_of_the_write() {
        assert_eq!(outcome(Some(waiting()), "bob", false, "one"), "review/not-a-reviewer");
        // What is lacking first is said first: no word about bytes to who may not decide.
        let replaced = Submission { digest: digest("two"), ..waiting() };
        assert_eq!(outcome(Some(replaced), "bob", false, "one"), "review/not-a-reviewer");
        assert_eq!(outcome(Some(replaced), "ada", true, "one"), "review/own-submission");
    }
}
