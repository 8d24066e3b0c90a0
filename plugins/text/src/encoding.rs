//! Text in other alphabets, and its digest.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::general_purpose::{NO_PAD, STANDARD, URL_SAFE_NO_PAD};
use base64::engine::{DecodePaddingMode, GeneralPurpose};
use remit_sdk::Failure;
use sha2::{Digest as _, Sha256};

/// An encoding of bytes as text.
#[remit_sdk::data]
#[serde(rename_all = "lowercase")]
#[derive(Clone, Copy)]
pub enum Encoding {
    /// RFC 4648, section 4.
    Base64,
    /// RFC 4648, section 5: for URLs and file names, without padding.
    Base64Url,
    /// Two digits for each byte.
    Hex,
    /// Percent-encoding, for a part of a URL.
    Url,
}

/// Encodes.
pub fn encode(text: &str, encoding: Encoding) -> String {
    match encoding {
        Encoding::Base64 => STANDARD.encode(text),
        Encoding::Base64Url => URL_SAFE_NO_PAD.encode(text),
        Encoding::Hex => hex(text.as_bytes()),
        Encoding::Url => remit_sdk::http::encode(text),
    }
}

/// Decodes.
pub fn decode(encoded: &str, encoding: Encoding) -> Result<String, Failure> {
    let encoded = encoded.trim();
    let bytes = match encoding {
        Encoding::Base64 => from_base64(encoded, &alphabet::STANDARD)?,
        Encoding::Base64Url => from_base64(encoded, &alphabet::URL_SAFE)?,
        Encoding::Hex => from_hex(encoded)?,
        Encoding::Url => from_url(encoded)?,
    };
    let length = bytes.len();
    String::from_utf8(bytes)
        .map_err(|_| Failure::InvalidInput(format!("it decodes to {length} bytes that are not text (UTF-8)")))
}

/// The SHA-256 digest, in hexadecimal.
pub fn sha256(text: &str) -> String {
    hex(&Sha256::digest(text))
}

/// Padding may be there or not: both are sent around.
fn from_base64(encoded: &str, alphabet: &alphabet::Alphabet) -> Result<Vec<u8>, Failure> {
    let config = NO_PAD.with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let engine = GeneralPurpose::new(alphabet, config);
    engine.decode(encoded).map_err(|error| Failure::InvalidInput(format!("not base64: {error}")))
}

fn hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(value.into(), 16).unwrap_or_default();
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

fn from_hex(encoded: &str) -> Result<Vec<u8>, Failure> {
    let pairs = encoded.as_bytes().chunks(2);
    let bytes = pairs.map(byte).collect::<Option<Vec<_>>>();
    bytes.ok_or_else(|| Failure::InvalidInput("not hexadecimal: it is made of pairs of 0-9 and a-f".to_owned()))
}

fn from_url(encoded: &str) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut rest = encoded.as_bytes();
    while let Some((&first, others)) = rest.split_first() {
        rest = others;
        if first != b'%' {
            bytes.push(first);
            continue;
        }
        let Some(byte) = others.get(..2).and_then(byte) else {
            return Err(Failure::InvalidInput("not percent-encoding: two digits follow each `%`".to_owned()));
        };
        bytes.push(byte);
        rest = &others[2..];
    }
    Ok(bytes)
}

/// The byte that two hexadecimal digits stand for.
fn byte(digits: &[u8]) -> Option<u8> {
    let &[high, low] = digits else { return None };
    let digit = |digit: u8| char::from(digit).to_digit(16);
    u8::try_from(digit(high)? * 16 + digit(low)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        let check = |text, encoding, encoded| {
            assert_eq!(encode(text, encoding), encoded);
            assert_eq!(decode(encoded, encoding).as_deref(), Ok(text));
        };
        check("", Encoding::Base64, "");
        check("any carnal pleas", Encoding::Base64, "YW55IGNhcm5hbCBwbGVhcw==");
        check("ÿ?>~", Encoding::Base64Url, "w78_Pn4");
        check("hé", Encoding::Hex, "68c3a9");
        check("a b/é", Encoding::Url, "a%20b%2F%C3%A9");
    }

    #[test]
    fn decoding_is_kind_to_what_is_sent_around() {
        let check = |encoded, encoding, text| assert_eq!(decode(encoded, encoding).as_deref(), Ok(text));
        check(" aGk\n", Encoding::Base64, "hi");
        check("aGk=", Encoding::Base64Url, "hi");
        check("4A6b", Encoding::Hex, "Jk");
        check("a+b%2f", Encoding::Url, "a+b/");
    }

    #[test]
    fn what_does_not_decode_is_the_callers() {
        for (encoded, encoding) in [
            ("a", Encoding::Base64),
            ("aG!k", Encoding::Base64),
            ("_w", Encoding::Base64),
            ("/w", Encoding::Base64),
            ("abc", Encoding::Hex),
            ("+1", Encoding::Hex),
            ("é", Encoding::Hex),
            ("%", Encoding::Url),
            ("%4", Encoding::Url),
            ("%é", Encoding::Url),
            ("%ff", Encoding::Url),
        ] {
            assert!(matches!(decode(encoded, encoding), Err(Failure::InvalidInput(_))), "{encoded}");
        }
    }

    #[test]
    fn digests() {
        assert_eq!(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
