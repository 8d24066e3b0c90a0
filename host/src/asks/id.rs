//! The id of an ask: eight letters that can be read aloud.
//!
//! It is made of the wish with a key that only this home has, so that every process gives one wish the same id
//! without asking another, and a guest can neither know nor choose one. It opens nothing: people decide.

use std::fmt;
use std::str::FromStr;

use ring::hmac;

use crate::registry::{CapabilityName, Digest};

/// Crockford's digits: none that is read as another.
const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// Forty bits: among some hundred asks of a home, two are the same with a chance of one in a hundred million.
const LENGTH: usize = 8;

/// The id of an ask. Shown as `K7QM-2XWA`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct AskId([u8; LENGTH]);

/// The text is no such id.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("an approval id has eight letters and digits, as `K7QM-2XWA`")]
pub struct InvalidId;

impl AskId {
    /// The id of what `name`, pinned to `digest`, wishes for. `key` is the home's.
    pub(crate) fn new(key: &[u8], name: &CapabilityName, digest: &Digest, wish: &str) -> Self {
        let key = hmac::Key::new(hmac::HMAC_SHA256, key);
        // No part but the last, which ends the text, can hold a line's end.
        let tag = hmac::sign(&key, format!("{name}\n{digest}\n{wish}").as_bytes());
        let bits = tag.as_ref().iter().take(5).fold(0_u64, |bits, byte| bits << 8 | u64::from(*byte));
        let mut digits = [0; LENGTH];
        for (place, digit) in digits.iter_mut().rev().enumerate() {
            *digit = DIGITS[(bits >> (5 * place)) as usize & 31];
        }
        Self(digits)
    }
}

impl fmt::Display for AskId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, digit) in self.0.iter().enumerate() {
            write!(formatter, "{}{}", if place == LENGTH / 2 { "-" } else { "" }, char::from(*digit))?;
        }
        Ok(())
    }
}

impl fmt::Debug for AskId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// Reads it as people type it: in any case, with or without the hyphen, `O` for `0`, `I` and `L` for `1`.
impl FromStr for AskId {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let typed = text.bytes().filter(|byte| *byte != b'-').map(|byte| match byte.to_ascii_uppercase() {
            b'O' => b'0',
            b'I' | b'L' => b'1',
            other => other,
        });
        let digits: Vec<u8> = typed.take(LENGTH + 1).collect();
        let digits: [u8; LENGTH] = digits.try_into().map_err(|_| InvalidId)?;
        if digits.iter().all(|digit| DIGITS.contains(digit)) { Ok(Self(digits)) } else { Err(InvalidId) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(key: &[u8], name: &str, bytes: &[u8], wish: &str) -> AskId {
        AskId::new(key, &name.parse().unwrap(), &Digest::of(bytes), wish)
    }

    #[test]
    fn one_wish_of_one_digest_in_one_home_has_one_id() {
        let first = id(b"key", "acme/weather", b"1", "{}");
        assert_eq!(first, id(b"key", "acme/weather", b"1", "{}"));
        for other in [
            id(b"another", "acme/weather", b"1", "{}"),
            id(b"key", "acme/other", b"1", "{}"),
            id(b"key", "acme/weather", b"2", "{}"),
            id(b"key", "acme/weather", b"1", "[]"),
        ] {
            assert_ne!(first, other);
        }
    }

    #[test]
    fn an_id_is_read_as_people_type_it() {
        let id: AskId = "K01M-2XWA".parse().unwrap();
        assert_eq!(id.to_string(), "K01M-2XWA");
        for typed in ["k01m-2xwa", "K01M2XWA", "KOIM-2XWA", "kolm2xwa", "K0-1M-2XWA-"] {
            assert_eq!(typed.parse(), Ok(id), "{typed}");
        }
        for typed in ["", "K01M-2XW", "K01M-2XWAA", "K01M-2XWU", "K01M 2XWA", "K01M-2XW\u{410}", "acme/weather"] {
            assert_eq!(typed.parse::<AskId>(), Err(InvalidId), "{typed}");
        }
    }

    #[test]
    fn every_id_can_be_read_back() {
        for number in 0..200_u32 {
            let made = id(&number.to_be_bytes(), "acme/weather", b"1", "{}");
            assert_eq!(made.to_string().parse(), Ok(made));
        }
    }
}
