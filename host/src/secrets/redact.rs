//! Keeps values out of everything that leaves the host: answers, errors, logs, results, records.
//!
//! One automaton over all spellings of all values that a capability may use, not only of those that a
//! request used: a value stored at an API yesterday comes back today. One pass, linear in the text. Each
//! value found becomes a marker of fixed text, so that the marker tells nothing about the value.

use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use serde_json::Value;

use super::{SecretSet, encodings};
use crate::error::{Error, Result};

/// The marker that stands for a value is `[redacted:NAME]`.
fn marker(name: &str) -> String {
    format!("[redacted:{name}]")
}

/// Something that was searched for values. Only a [`Redactor`] makes one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redacted<T>(T);

impl<T> Redacted<T> {
    /// What is left.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> AsRef<T> for Redacted<T> {
    fn as_ref(&self) -> &T {
        &self.0
    }
}

/// Finds the values of one capability. The default one knows no value: what it is given is clean because no
/// secret could have come near it.
#[derive(Default)]
pub struct Redactor {
    automaton: Option<AhoCorasick>,
    /// The secret's name, for each pattern of the automaton.
    names: Vec<String>,
}

/// What can be searched. The way to a [`Redacted`] is [`Redactor::redact`].
pub trait Redact: Sized {
    /// Replaces every value in it.
    #[must_use]
    fn redact(self, redactor: &Redactor) -> Self;
}

impl Redactor {
    /// A redactor of all values of `set`.
    pub fn new(set: &SecretSet) -> Result<Self> {
        let mut names = Vec::new();
        let mut patterns = Vec::new();
        for secret in set.iter() {
            for spelling in encodings::of(&secret.value) {
                names.push(secret.name.clone());
                patterns.push(spelling);
            }
        }
        if patterns.is_empty() {
            return Ok(Self::default());
        }
        // A DFA of this size would take longer to build than an answer takes to search.
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(patterns.iter().map(|pattern| pattern.as_slice()))
            .map_err(|_| Error::internal("the secrets of a capability are too large to search for"))?;
        Ok(Self { automaton: Some(automaton), names })
    }

    /// Searches `content` and gives the receipt.
    pub fn redact<T: Redact>(&self, content: T) -> Redacted<T> {
        Redacted(if self.automaton.is_some() { content.redact(self) } else { content })
    }

    /// Whether any value is in `text`.
    #[must_use]
    pub fn finds(&self, text: &[u8]) -> bool {
        self.automaton.as_ref().is_some_and(|automaton| automaton.is_match(text))
    }

    /// `text` without values.
    #[must_use]
    pub fn redact_text(&self, text: &str) -> String {
        match self.replaced(text.as_bytes()) {
            // A value in UTF-16 can begin or end inside a letter.
            Some(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            None => text.to_owned(),
        }
    }

    /// `text` with markers in the place of values, or `None` when there are none.
    fn replaced(&self, text: &[u8]) -> Option<Vec<u8>> {
        let found = self.find(text);
        if found.is_empty() {
            return None;
        }
        let mut out = Vec::with_capacity(text.len());
        let mut at = 0;
        for (range, pattern) in found {
            out.extend_from_slice(&text[at..range.start]);
            out.extend_from_slice(marker(&self.names[pattern]).as_bytes());
            at = range.end;
        }
        out.extend_from_slice(&text[at..]);
        Some(out)
    }

    /// Where values are: ranges that overlap are one, under the name of the longest value in it.
    fn find(&self, text: &[u8]) -> Vec<(Range<usize>, usize)> {
        let mut found: Vec<Found> = Vec::new();
        let Some(automaton) = &self.automaton else { return Vec::new() };
        // Matches come in the order of their ends, so a longer one can swallow several before it.
        for next in automaton.find_overlapping_iter(text) {
            let mut whole = Found { range: next.range(), longest: next.len(), pattern: next.pattern().as_usize() };
            while let Some(last) = found.pop_if(|last| last.range.end > whole.range.start) {
                whole.range.start = whole.range.start.min(last.range.start);
                if last.longest >= whole.longest {
                    (whole.longest, whole.pattern) = (last.longest, last.pattern);
                }
            }
            found.push(whole);
        }
        found.into_iter().map(|found| (found.range, found.pattern)).collect()
    }
}

struct Found {
    range: Range<usize>,
    longest: usize,
    pattern: usize,
}

impl Redact for Vec<u8> {
    fn redact(self, redactor: &Redactor) -> Self {
        redactor.replaced(&self).unwrap_or(self)
    }
}

impl Redact for String {
    fn redact(self, redactor: &Redactor) -> Self {
        if redactor.finds(self.as_bytes()) { redactor.redact_text(&self) } else { self }
    }
}

impl Redact for Value {
    fn redact(self, redactor: &Redactor) -> Self {
        match self {
            Self::String(text) => Self::String(text.redact(redactor)),
            Self::Array(items) => items.into_iter().map(|item| item.redact(redactor)).collect(),
            Self::Object(fields) => {
                fields.into_iter().map(|(name, value)| (name.redact(redactor), value.redact(redactor))).collect()
            }
            // A value of digits can come back as a number: better no number than a secret.
            Self::Number(number) if redactor.finds(number.to_string().as_bytes()) => {
                Self::String(redactor.redact_text(&number.to_string()))
            }
            Self::Number(_) | Self::Bool(_) | Self::Null => self,
        }
    }
}

impl<T: Redact> Redact for Option<T> {
    fn redact(self, redactor: &Redactor) -> Self {
        self.map(|content| content.redact(redactor))
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
    use serde_json::json;
    use zeroize::Zeroizing;

    use super::*;
    use crate::secrets::SecretValue;

    const VALUE: &str = "s3cr3t/+\"\\<&> 'é=key";

    fn redactor(values: &[(&str, &[u8])]) -> Redactor {
        let value = |(name, value): &(&str, &[u8])| SecretValue {
            name: (*name).to_owned(),
            source: (*name).to_owned(),
            value: Zeroizing::new(value.to_vec()),
            is_usable: true,
        };
        Redactor::new(&SecretSet::new(values.iter().map(value).collect())).unwrap()
    }

    fn percent(text: &str) -> String {
        percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
    }

    #[test]
    fn a_value_is_found_however_it_is_spelt() {
        let redactor = redactor(&[("KEY", VALUE.as_bytes())]);
        let bytes = |text: &str| text.as_bytes().to_vec();
        let each = |form: &dyn Fn(u8) -> String| VALUE.bytes().map(form).collect::<String>().into_bytes();
        let every_char = |form: &dyn Fn(u32) -> String| -> Vec<u8> {
            VALUE.chars().map(|letter| form(letter.into())).collect::<String>().into_bytes()
        };
        for (spelling, echo) in [
            ("as it is", bytes(VALUE)),
            ("JSON", serde_json::to_vec(VALUE).unwrap()),
            ("JSON in JSON", serde_json::to_vec(&serde_json::to_string(VALUE).unwrap()).unwrap()),
            ("JSON with \\/", bytes(&serde_json::to_string(VALUE).unwrap().replace('/', "\\/"))),
            ("JSON, all \\u", every_char(&|code| format!("\\u{code:04x}"))),
            ("JSON, all \\U", every_char(&|code| format!("\\u{code:04X}"))),
            ("base64", bytes(&STANDARD.encode(VALUE))),
            ("base64, one before", bytes(&STANDARD.encode(format!(":{VALUE}")))),
            ("base64, two before", bytes(&STANDARD.encode(format!("u:{VALUE}")))),
            ("base64, both sides", bytes(&STANDARD.encode(format!("user:{VALUE}:x")))),
            ("base64 with \\/", bytes(&STANDARD.encode(VALUE).replace('/', "\\/"))),
            ("base64url", bytes(&URL_SAFE_NO_PAD.encode(format!("user:{VALUE}")))),
            ("hex", each(&|byte| format!("{byte:02x}"))),
            ("HEX", each(&|byte| format!("{byte:02X}"))),
            ("\\x", each(&|byte| format!("\\x{byte:02x}"))),
            ("percent, every byte", each(&|byte| format!("%{byte:02x}"))),
            ("percent", bytes(&percent(VALUE).replace("%2E", ".").replace("%2D", "-"))),
            ("percent twice", bytes(&percent(VALUE).replace('%', "%25"))),
            ("form", url::form_urlencoded::byte_serialize(VALUE.as_bytes()).collect::<String>().into_bytes()),
            ("HTML", bytes("s3cr3t/+&quot;\\&lt;&amp;&gt; &#39;é=key")),
            ("HTML, numbers", every_char(&|code| format!("&#{code};"))),
            ("HTML, hex", every_char(&|code| format!("&#x{code:x};"))),
            ("UTF-16LE", VALUE.encode_utf16().flat_map(u16::to_le_bytes).collect()),
            ("UTF-16BE", VALUE.encode_utf16().flat_map(u16::to_be_bytes).collect()),
        ] {
            let text = [b"<<", echo.as_slice(), b">>"].concat();
            let clean = redactor.redact(text).into_inner();
            let shown = String::from_utf8_lossy(&clean);
            assert!(shown.starts_with("<<") && shown.ends_with(">>"), "{spelling}: {shown}");
            assert!(shown.contains("[redacted:KEY]"), "{spelling}: {shown}");
            // Letters at the edges of base64 hold bits of the neighbours too, and stay.
            assert!(shown.len() <= "<<[redacted:KEY]>>".len() + 16, "{spelling}: {shown}");
        }
    }

    #[test]
    fn what_is_no_value_stays_as_it_is() {
        let redactor = redactor(&[("KEY", b"0123456789abcdef")]);
        for text in ["", "0123456789abcde", "{{KEY}}", "[redacted:KEY]"] {
            assert_eq!(redactor.redact(text.to_owned()).into_inner(), text);
        }
        assert_eq!(Redactor::default().redact("anything".to_owned()).into_inner(), "anything");
    }

    #[test]
    fn values_that_overlap_become_one_marker_under_the_longest_name() {
        let redactor = redactor(&[("SHORT", b"abcdefgh"), ("LONG", b"abcdefghijkl"), ("NEXT", b"klmnopqrst")]);
        for (text, clean) in [
            ("abcdefgh", "[redacted:SHORT]"),
            ("abcdefghijkl", "[redacted:LONG]"),
            ("abcdefghabcdefghijkl", "[redacted:SHORT][redacted:LONG]"),
            ("-abcdefghijklmnopqrst-", "-[redacted:LONG]-"),
            ("xabcdefghx", "x[redacted:SHORT]x"),
        ] {
            assert_eq!(redactor.redact(text.to_owned()).into_inner(), clean, "{text}");
        }
    }

    #[test]
    fn repeated_letters_are_searched_in_one_pass() {
        let redactor = redactor(&[("KEY", b"aaaaaaaaaaaaaaaa")]);
        let clean = redactor.redact(vec![b'a'; 1 << 20]).into_inner();
        assert_eq!(clean, b"[redacted:KEY]");
    }

    #[test]
    fn json_is_searched_in_names_strings_and_numbers() {
        let redactor = redactor(&[("PIN", b"1234567890"), ("KEY", VALUE.as_bytes())]);
        let value = json!({ "a": [VALUE, 1], "n": 1_234_567_890, VALUE: null, "x": true });
        let clean = redactor.redact(value).into_inner();
        let expected = json!({
            "a": ["[redacted:KEY]", 1], "n": "[redacted:PIN]", "[redacted:KEY]": null, "x": true,
        });
        assert_eq!(clean, expected);
    }

    #[test]
    fn nothing_prints_a_value() {
        let secret = SecretValue {
            name: "KEY".to_owned(),
            source: "KEY".to_owned(),
            value: Zeroizing::new(VALUE.as_bytes().to_vec()),
            is_usable: true,
        };
        assert_eq!(format!("{:?}", SecretSet::new(vec![secret])), r#"{"KEY"}"#);
    }
}
