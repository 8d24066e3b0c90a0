//! What can be a secret: which names, and which values can be told from other text in an answer.

use zeroize::Zeroizing;

use super::SecretKind;
use crate::error::{Error, ErrorKind, Result};

/// Shorter values occur in answers by chance, and would be cut out of them.
const SHORTEST: usize = 8;

/// A value below this can be found by guessing: whoever sees what is cut out of an answer learns whether a guess
/// was right.
pub const COMFORTABLE: usize = 16;

/// Longer ones are no credentials; header fields end at this size as well.
const LONGEST: usize = 8 * 1024;

/// What a connection holds besides its tokens is small; tokens are a few kilobytes at most.
const LONGEST_CONNECTION: usize = 64 * 1024;

/// A value of fewer different bytes occurs by chance, too: rulers, blanks, zeros.
const DIFFERENT_BYTES: usize = 4;

/// Letters of a name: as long as the placeholder's grammar allows.
const LONGEST_NAME: usize = 64;

/// Words that stand for a secret but are none. Compared without case.
const COMMON: [&str; 12] = [
    "12345678",
    "123456789",
    "1234567890",
    "changeme",
    "password",
    "password1",
    "passw0rd",
    "undefined",
    "your-api-key",
    "your_api_key",
    "<your-api-key>",
    "placeholder",
];

/// Whether a secret can have this name.
pub(super) fn check_name(name: &str) -> Result<()> {
    let bytes = name.as_bytes();
    let legal = bytes.first().is_some_and(u8::is_ascii_uppercase)
        && bytes.len() <= LONGEST_NAME
        && bytes.iter().all(|byte| matches!(byte, b'A'..=b'Z' | b'0'..=b'9' | b'_'));
    if legal {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::SecretInvalid,
        "a secret's name has upper-case letters, digits and underscores, a letter first, 64 at most",
    ))
}

/// Whether this can be a secret of this kind.
pub(super) fn check_value(kind: SecretKind, value: &[u8]) -> Result<()> {
    let refused = match kind {
        SecretKind::Value => refused_value(value),
        SecretKind::OAuth2 if value.len() > LONGEST_CONNECTION => Some("it is longer than 64 KiB"),
        SecretKind::OAuth2 => None,
    };
    match refused {
        None => Ok(()),
        Some(reason) => Err(Error::new(ErrorKind::SecretInvalid, format!("this cannot be a secret: {reason}"))),
    }
}

fn refused_value(value: &[u8]) -> Option<&'static str> {
    let mut sorted = Zeroizing::new(value.to_vec());
    sorted.sort_unstable();
    let different = sorted.chunk_by(|one, other| one == other).count();
    if value.len() < SHORTEST {
        Some("it is shorter than 8 bytes, so it could not be told from other text in answers")
    } else if value.len() > LONGEST {
        Some("it is longer than 8 KiB")
    } else if value.iter().any(|byte| matches!(byte, b'\0' | b'\r' | b'\n')) {
        Some("it holds a line break or a NUL, which no header field may")
    } else if different < DIFFERENT_BYTES
        || COMMON.iter().any(|common| value.eq_ignore_ascii_case(common.as_bytes()))
    {
        Some("it is too common to be one")
    } else {
        None
    }
}
