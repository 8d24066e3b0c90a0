//! Where a list goes on: an opaque text that only fits the list it came from. Pure.
//!
//! It gives no rights: whatever it says, a list shows the capability's own documents. The check keeps a cursor of
//! one list from being taken for that of another, and so does not need a key.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::digest::{Context, SHA256};

use super::document::Refusal;
use super::rules::KEY_BYTES;

/// Bytes of the check before the key: two lists share one with a chance of one in 2^64.
const CHECK_BYTES: usize = 8;

/// Characters of the longest cursor: four for three bytes.
const LONGEST: usize = (CHECK_BYTES + KEY_BYTES).div_ceil(3) * 4;

/// The cursor after `key`.
pub(super) fn write(capability: &str, entity: &str, prefix: &str, key: &str) -> String {
    let mut bytes = check(&[capability, entity, prefix, key]).to_vec();
    bytes.extend_from_slice(key.as_bytes());
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

/// The key after which the list goes on.
pub(super) fn read(capability: &str, entity: &str, prefix: &str, cursor: &str) -> Result<String, Refusal> {
    if cursor.len() > LONGEST {
        return Err(Refusal::InvalidCursor);
    }
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(cursor).map_err(|_| Refusal::InvalidCursor)?;
    let (checked, key) = bytes.split_at_checked(CHECK_BYTES).ok_or(Refusal::InvalidCursor)?;
    let key = std::str::from_utf8(key).map_err(|_| Refusal::InvalidCursor)?;
    if checked != check(&[capability, entity, prefix, key]) || !key.starts_with(prefix) {
        return Err(Refusal::InvalidCursor);
    }
    Ok(key.to_owned())
}

fn check(parts: &[&str]) -> [u8; CHECK_BYTES] {
    let mut context = Context::new(&SHA256);
    for part in parts {
        // With their lengths, so that no two lists of parts are the same bytes.
        context.update(&(part.len() as u64).to_be_bytes());
        context.update(part.as_bytes());
    }
    let mut check = [0; CHECK_BYTES];
    check.copy_from_slice(&context.finish().as_ref()[..CHECK_BYTES]);
    check
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_fits_its_own_list_only() {
        let long = "k".repeat(KEY_BYTES);
        for key in ["k", "ka", "k\u{ffff}", "k' OR 1=1 --", &long] {
            let cursor = write("acme/notes", "notes", "k", key);
            assert!(cursor.len() <= LONGEST);
            assert_eq!(read("acme/notes", "notes", "k", &cursor).as_deref(), Ok(key));
            for (capability, entity, prefix) in
                [("acme/other", "notes", "k"), ("acme/notes", "tags", "k"), ("acme/notes", "notes", "")]
            {
                assert_eq!(
                    read(capability, entity, prefix, &cursor),
                    Err(Refusal::InvalidCursor),
                    "{entity} {prefix}"
                );
            }
        }
    }

    #[test]
    fn what_is_made_up_is_refused() {
        let good = write("acme/notes", "notes", "", "key");
        let mut other = good.clone();
        other.replace_range(2..3, if &good[2..3] == "A" { "B" } else { "A" });
        let long = "A".repeat(1_000_000);
        let padded = format!("{good}==");
        let raw = BASE64_URL_SAFE_NO_PAD.encode(b"key");
        let no_text = BASE64_URL_SAFE_NO_PAD.encode([0xff; 20]);
        for forged in ["", "key", "0", "'; drop", "ä", &other, &good[1..], &long, &padded, &raw, &no_text] {
            let shown = &forged[..forged.len().min(30)];
            assert_eq!(read("acme/notes", "notes", "", forged), Err(Refusal::InvalidCursor), "{shown}");
        }
    }
}
