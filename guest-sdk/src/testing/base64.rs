//! A field of JSON that holds bytes in base64, as the host reads it for `http::save`.

use serde_json::Value;

use crate::http::Error;

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The bytes in the field of this name, or at this JSON Pointer.
pub(super) fn field(body: &[u8], field: &str) -> Result<Vec<u8>, Error> {
    let invalid = |why: &str| Error::ResponseInvalid(why.to_owned());
    let json: Value = serde_json::from_slice(body).map_err(|_| invalid("its body is not JSON"))?;
    let found = if field.starts_with('/') { json.pointer(field) } else { json.get(field) };
    let text = found.and_then(Value::as_str).ok_or_else(|| invalid("its body has no text in the field"))?;
    decode(text).ok_or_else(|| invalid("the field of its body is not base64"))
}

/// Padding may be missing.
fn decode(text: &str) -> Option<Vec<u8>> {
    let text = text.strip_suffix("==").or_else(|| text.strip_suffix('=')).unwrap_or(text);
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    for group in text.as_bytes().chunks(4) {
        let mut bits = 0_u32;
        for letter in group {
            let value = LETTERS.iter().position(|known| known == letter)?;
            bits = bits << 6 | u32::try_from(value).ok()?;
        }
        let whole = match group.len() {
            4 => 3,
            3 => 2,
            2 => 1,
            _ => return None,
        };
        let bits = bits << (6 * (4 - group.len()));
        bytes.extend_from_slice(&bits.to_be_bytes()[1..=whole]);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_read() {
        for (text, bytes) in [
            ("", Some("")),
            ("YQ==", Some("a")),
            ("YQ", Some("a")),
            ("Y2E=", Some("ca")),
            ("Y2F0", Some("cat")),
            ("Y", None),
            ("Y2F_", None),
            ("Y2 0", None),
        ] {
            assert_eq!(decode(text).as_deref(), bytes.map(str::as_bytes), "{text}");
        }
    }
}
