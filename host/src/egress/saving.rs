//! What of a body is saved: all of it, or the file that a field of JSON holds in base64. Pure.
//!
//! The JSON was searched for secrets as it came, and so is the file: base64 hides a value at three alignments only
//! from those who do not look for them, but what is not looked for twice need not be believed. An answer that is no
//! success is not saved: an error is no picture, and the guest has to read why.

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::{Answer, Refusal};
use crate::secrets::{Redacted, Redactor};

/// Bytes of JSON around a file in base64: what APIs say besides.
const AROUND: usize = 256 * 1024;

/// Parts of a pointer. Answers are not nested deeper where anything is found in them.
const PARTS: usize = 16;

/// Bytes of a field's name or pointer.
const FIELD_BYTES: usize = 512;

/// Servers leave padding out, or not.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// What is saved of an answer.
#[derive(Clone, Debug)]
pub struct Saving {
    /// The way to the field; `None` for the body itself.
    field: Option<Vec<String>>,
    /// Bytes of the file.
    file_bytes: usize,
}

impl Saving {
    /// A file of at most so many bytes. `field` is the name of a field, or a JSON Pointer (RFC 6901).
    pub fn new(field: Option<&str>, file_bytes: usize) -> Result<Self, Refusal> {
        let field = field.map(pointer).transpose().map_err(|why| Refusal::ResponseInvalid(why.to_owned()))?;
        Ok(Self { field, file_bytes })
    }

    /// Bytes of a body that can hold such a file.
    pub(super) fn body_bytes(&self) -> usize {
        match self.field {
            None => self.file_bytes,
            Some(_) => (self.file_bytes / 3 + 1).saturating_mul(4).saturating_add(AROUND),
        }
    }

    /// An answer with the file for its body, if it is a success; any other as it is.
    pub(super) fn file(&self, answer: Redacted<Answer>, redactor: &Redactor) -> Result<Redacted<Answer>, Refusal> {
        let Some(field) = self.field.as_ref().filter(|_| answer.as_ref().is_success()) else { return Ok(answer) };
        // What a dry run did not send has no body.
        if answer.as_ref().body.is_empty() {
            return Ok(answer);
        }
        let invalid = |why: &str| Refusal::ResponseInvalid(why.to_owned());
        let text = find(&answer.as_ref().body, field).map_err(invalid)?;
        let file = BASE64.decode(text.as_bytes()).map_err(|_| invalid("the field of its body is not base64"))?;
        if file.len() > self.file_bytes {
            return Err(Refusal::ResponseTooLarge);
        }
        Ok(answer.with(redactor.redact(file), Answer::holding))
    }
}

fn pointer(field: &str) -> Result<Vec<String>, &'static str> {
    if field.len() > FIELD_BYTES {
        return Err("the name of the field is too long");
    }
    let Some(rest) = field.strip_prefix('/') else {
        return if field.is_empty() { Err("the field has no name") } else { Ok(vec![field.to_owned()]) };
    };
    let parts: Vec<String> = rest.split('/').map(|part| part.replace("~1", "/").replace("~0", "~")).collect();
    if parts.len() > PARTS { Err("the pointer has too many parts") } else { Ok(parts) }
}

/// The text of a field, without a copy of the rest.
fn find<'a>(body: &'a [u8], field: &[String]) -> Result<Cow<'a, str>, &'static str> {
    let mut parser = serde_json::Deserializer::from_slice(body);
    let found = At(field).deserialize(&mut parser).and_then(|found| parser.end().map(|()| found));
    match found {
        Ok(Some(text)) => Ok(text),
        Ok(None) => Err("its body has no text in the field"),
        Err(_) => Err("its body is not JSON, or has the field twice"),
    }
}

/// Goes one part of the way at a time, and keeps nothing of what lies beside it.
struct At<'f>(&'f [String]);

impl<'de> DeserializeSeed<'de> for At<'_> {
    type Value = Option<Cow<'de, str>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for At<'_> {
    type Value = Option<Cow<'de, str>>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(self.0.is_empty().then_some(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(self.0.is_empty().then(|| Cow::Owned(text.to_owned())))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let wanted = self.0.split_first().and_then(|(part, rest)| Some((index(part)?, rest)));
        let (mut found, mut position) = (None, 0);
        loop {
            match wanted.filter(|(wanted, _)| *wanted == position) {
                Some((_, rest)) => match items.next_element_seed(At(rest))? {
                    Some(text) => found = text,
                    None => return Ok(found),
                },
                None => {
                    if items.next_element::<IgnoredAny>()?.is_none() {
                        return Ok(found);
                    }
                }
            }
            position += 1;
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let (mut found, mut times) = (None, 0);
        while let Some(name) = members.next_key::<Cow<'_, str>>()? {
            match self.0.split_first().filter(|(part, _)| **part == *name) {
                // Which of two would another reader take?
                Some(_) if times > 0 => return Err(serde::de::Error::custom("twice")),
                Some((_, rest)) => {
                    times += 1;
                    found = members.next_value_seed(At(rest))?;
                }
                None => drop(members.next_value::<IgnoredAny>()?),
            }
        }
        Ok(found)
    }
}

/// A position as a pointer writes it: no sign, no leading zero.
fn index(part: &str) -> Option<usize> {
    let is_plain = part == "0" || !part.starts_with('0');
    let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    (is_plain && is_number).then(|| part.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secrets::{SecretSet, SecretValue};

    const VALUE: &str = "sk-0123456789abcdef";

    fn redactor() -> Redactor {
        Redactor::new(&SecretSet::new(vec![SecretValue {
            name: "KEY".to_owned(),
            source: "KEY".to_owned(),
            value: VALUE.as_bytes().to_vec().into(),
            is_usable: true,
        }]))
    }

    /// What is saved of a body, or why nothing is.
    fn saved(field: &str, status: u16, body: &str) -> Result<String, String> {
        let saving = Saving::new(Some(field), 64).map_err(|refusal| refusal.to_string())?;
        let answer = Answer { status, headers: Vec::new(), body: body.as_bytes().to_vec() };
        let redactor = redactor();
        let file = saving.file(redactor.redact(answer), &redactor).map_err(|refusal| refusal.to_string())?;
        Ok(String::from_utf8_lossy(&file.as_ref().body).into_owned())
    }

    #[test]
    fn a_field_is_a_name_or_a_pointer() {
        for (field, body) in [
            ("image", r#"{"other": [1, {"image": "eHg="}], "image": "Y2F0", "last": null}"#),
            ("image", r#"{"image": "Y2F0"}"#),
            ("/image", r#"{"image": "Y2\u00460"}"#),
            ("/data/0/b64_json", r#"{"created": 1.5e3, "data": [{"b64_json": "Y2F0"}, {"b64_json": "eHg="}]}"#),
            ("/data/1", r#"{"data": [{"a": [[]]}, "Y2F0", true]}"#),
            ("/a~1b/m~0n", r#"{"a/b": {"m~n": "Y2F0"}}"#),
            ("/", r#"{"": "Y2F0"}"#),
        ] {
            assert_eq!(saved(field, 200, body), Ok("cat".to_owned()), "{field} {body}");
        }
        assert_eq!(saved("image", 201, r#"{"image": "Y2E"}"#), Ok("ca".to_owned()), "padding may be missing");
        assert_eq!(saved("image", 200, r#"{"image": ""}"#), Ok(String::new()));
    }

    #[test]
    fn what_is_not_there_is_not_made_up() {
        let no_text = "the response cannot be used: its body has no text in the field";
        let no_json = "the response cannot be used: its body is not JSON, or has the field twice";
        let no_base64 = "the response cannot be used: the field of its body is not base64";
        let large = format!("{{\"image\": \"{}\"}}", "A".repeat(88));
        for (field, body, why) in [
            ("image", r#"{"Image": "Y2F0"}"#, no_text),
            ("image", r#"{"image": 7}"#, no_text),
            ("image", r#"{"image": {"image": "Y2F0"}}"#, no_text),
            ("image", r#"["image", "Y2F0"]"#, no_text),
            ("image", r#""Y2F0""#, no_text),
            ("/data/00", r#"{"data": ["Y2F0"]}"#, no_text),
            ("/data/-1", r#"{"data": ["Y2F0"]}"#, no_text),
            ("/data/9", r#"{"data": ["Y2F0"]}"#, no_text),
            ("image", r#"{"image": "Y2F0", "image": "eHg="}"#, no_json),
            ("image", r#"{"image": "Y2F0"} {}"#, no_json),
            ("image", r#"{"image": "Y2F0""#, no_json),
            ("image", "<html>", no_json),
            ("image", r#"{"image": "Y2F0\n"}"#, no_base64),
            ("image", r#"{"image": "Y2F_"}"#, no_base64),
            ("image", r#"{"image": "data:image/png;base64,Y2F0"}"#, no_base64),
            ("image", &large, "the response is larger than allowed"),
        ] {
            assert_eq!(saved(field, 200, body), Err(why.to_owned()), "{field} {body}");
        }
        for field in [String::new(), "/".repeat(PARTS + 2), "a".repeat(FIELD_BYTES + 1)] {
            assert!(Saving::new(Some(&field), 64).is_err(), "{field}");
        }
    }

    #[test]
    fn deep_json_ends() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(saved("image", 200, &deep).is_err());
        let beside = format!(r#"{{"x": {deep}, "image": "Y2F0"}}"#);
        // It is walked over or refused: no stack is used up by it.
        let _ = saved("image", 200, &beside);
    }

    #[test]
    fn an_answer_that_is_no_success_is_left_as_it_is() {
        for status in [199, 300, 400, 404, 500] {
            assert_eq!(saved("image", status, r#"{"error": "no"}"#), Ok(r#"{"error": "no"}"#.to_owned()));
        }
        assert_eq!(saved("image", 202, ""), Ok(String::new()), "planned");
    }

    #[test]
    fn s_18_a_value_in_the_file_is_cut_wherever_it_stands() {
        for before in ["", "a", "ab"] {
            let encoded = BASE64.encode(format!("{before}{VALUE} and more text after it"));
            // As it stands in the JSON the value is found at every alignment; what is left is no base64.
            let refused = saved("image", 200, &format!(r#"{{"image": "{encoded}"}}"#));
            assert!(refused.as_ref().is_err_and(|why| why.contains("not base64")), "{refused:?}");
            // Escaped, so that nothing is found before the JSON is read.
            let escaped: String = encoded.chars().map(|letter| format!("\\u{:04x}", u32::from(letter))).collect();
            let file = saved("image", 200, &format!(r#"{{"image": "{escaped}"}}"#));
            assert!(file.as_ref().map_or_else(|_| true, |file| !file.contains("0123456789")), "{file:?}");
        }
    }
}
