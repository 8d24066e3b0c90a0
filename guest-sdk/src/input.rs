//! Reads a tool's input. The host has checked it already, so this is a small reader of JSON and not a
//! diagnosing one: in a guest it takes a third of the room of serde_json's, and the agent gets the host's
//! explanation of a wrong input. It is still safe on any text.
//!
//! Only what a type asks for is linked: a capability without fractions carries no code for them.

use serde::de::value::StringDeserializer;
use serde::de::{self, DeserializeOwned, DeserializeSeed, IntoDeserializer as _, MapAccess, SeqAccess, Visitor};

/// How deep arrays and objects may lie in each other, as serde_json has it: far from the end of a stack.
const MAX_DEPTH: u8 = 128;

/// Reads a value that is the whole text.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    let mut reader = Reader { text, at: 0, depth: 0 };
    let value = T::deserialize(&mut reader)?;
    match reader.peek() {
        None => Ok(value),
        Some(_) => Err(reader.unexpected()),
    }
}

/// Why an input cannot be read.
#[derive(Debug, PartialEq)]
pub struct Error(String);

impl Error {
    /// The reason, for the agent.
    pub fn into_message(self) -> String {
        self.0
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

// The defaults describe what was found in full, and their code for that is larger than this reader.
impl de::Error for Error {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }

    fn invalid_type(_: de::Unexpected<'_>, _: &dyn de::Expected) -> Self {
        Self("a value has the wrong type".to_owned())
    }

    fn invalid_value(_: de::Unexpected<'_>, _: &dyn de::Expected) -> Self {
        Self("a value is out of range".to_owned())
    }

    fn invalid_length(_: usize, _: &dyn de::Expected) -> Self {
        Self("a list has the wrong length".to_owned())
    }

    fn unknown_variant(variant: &str, _: &'static [&'static str]) -> Self {
        Self(["`", variant, "` is none of the choices"].concat())
    }

    fn unknown_field(field: &str, _: &'static [&'static str]) -> Self {
        Self(["unknown property `", field, "`"].concat())
    }

    fn missing_field(field: &'static str) -> Self {
        Self(["missing property `", field, "`"].concat())
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self(["property `", field, "` stands twice"].concat())
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: u8,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        // `at` only ever stands behind a whole character.
        self.text.get(self.at..).unwrap_or_default()
    }

    /// The next byte that is not white space.
    fn peek(&mut self) -> Option<u8> {
        let rest = self.rest().as_bytes();
        let space = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count();
        self.at += space;
        rest.get(space).copied()
    }

    fn take(&mut self, word: &str) -> bool {
        self.peek();
        let found = self.rest().starts_with(word);
        if found {
            self.at += word.len();
        }
        found
    }

    fn expect(&mut self, word: &str) -> Result<(), Error> {
        if self.take(word) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn unexpected(&self) -> Error {
        Error("not JSON, or a value has the wrong type".to_owned())
    }

    fn boolean(&mut self) -> Result<bool, Error> {
        if self.take("true") {
            return Ok(true);
        }
        self.expect("false").map(|()| false)
    }

    fn string(&mut self) -> Result<String, Error> {
        self.expect("\"")?;
        let mut string = String::new();
        loop {
            let rest = self.rest();
            let length = rest.bytes().take_while(|byte| !matches!(byte, b'"' | b'\\' | ..b' ')).count();
            string.push_str(rest.get(..length).unwrap_or_default());
            self.at += length + 1;
            match rest.as_bytes().get(length) {
                Some(b'"') => return Ok(string),
                Some(b'\\') => string.push(self.escape()?),
                _ => return Err(self.unexpected()),
            }
        }
    }

    fn escape(&mut self) -> Result<char, Error> {
        let byte = self.rest().bytes().next();
        self.at += 1;
        Ok(match byte {
            Some(plain @ (b'"' | b'\\' | b'/')) => char::from(plain),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode(),
            _ => return Err(self.unexpected()),
        })
    }

    /// What follows `\u`: four digits, or two times four for what lies outside the first plane.
    fn unicode(&mut self) -> Result<char, Error> {
        let first = self.digits()?;
        if !matches!(first, 0xd800..0xdc00) {
            return char::from_u32(first).ok_or_else(|| self.unexpected());
        }
        let rest = self.rest();
        if !rest.starts_with("\\u") {
            return Err(self.unexpected());
        }
        self.at += 2;
        match self.digits()? {
            second @ 0xdc00..0xe000 => {
                let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                char::from_u32(code).ok_or_else(|| self.unexpected())
            }
            _ => Err(self.unexpected()),
        }
    }

    fn digits(&mut self) -> Result<u32, Error> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.rest().chars().next().and_then(|digit| digit.to_digit(16));
            code = code * 16 + digit.ok_or_else(|| self.unexpected())?;
            self.at += 1;
        }
        Ok(code)
    }

    /// A number as it is written.
    fn number(&mut self) -> Result<&'a str, Error> {
        self.peek();
        let rest = self.rest();
        let digits = |from: usize| rest.bytes().skip(from).take_while(u8::is_ascii_digit).count();
        let at = |at: usize| rest.as_bytes().get(at).copied();

        let mut length = usize::from(at(0) == Some(b'-'));
        let whole = digits(length);
        if whole == 0 || (whole > 1 && at(length) == Some(b'0')) {
            return Err(self.unexpected());
        }
        length += whole;
        if at(length) == Some(b'.') {
            let fraction = digits(length + 1);
            if fraction == 0 {
                return Err(self.unexpected());
            }
            length += 1 + fraction;
        }
        if matches!(at(length), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(at(length + 1), Some(b'+' | b'-')));
            let exponent = digits(length + 1 + sign);
            if exponent == 0 {
                return Err(self.unexpected());
            }
            length += 1 + sign + exponent;
        }
        self.at += length;
        Ok(rest.get(..length).unwrap_or_default())
    }

    /// Runs inside an array or object, from behind its opening bracket to behind its closing one.
    fn nested<T>(&mut self, close: &str, read: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Error("too many arrays and objects lie in each other".to_owned()));
        }
        let value = read(self)?;
        self.expect(close)?;
        self.depth -= 1;
        Ok(value)
    }
}

fn fraction(number: &str) -> Result<f64, Error> {
    let fraction = number.parse().ok().filter(|fraction: &f64| fraction.is_finite());
    fraction.ok_or_else(|| Error("a number is out of range".to_owned()))
}

macro_rules! integers {
    ($($method:ident $visit:ident;)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            let number = self.number()?.parse().map_err(|_| Error("a number is not whole, or out of range".to_owned()))?;
            visitor.$visit(number)
        })*
    };
}

macro_rules! as_any {
    ($($method:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            self.deserialize_any(visitor)
        })*
    };
}

impl<'de> de::Deserializer<'de> for &mut Reader<'_> {
    type Error = Error;

    integers! {
        deserialize_i8 visit_i8;
        deserialize_i16 visit_i16;
        deserialize_i32 visit_i32;
        deserialize_i64 visit_i64;
        deserialize_u8 visit_u8;
        deserialize_u16 visit_u16;
        deserialize_u32 visit_u32;
        deserialize_u64 visit_u64;
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_f64(fraction(self.number()?)?)
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_f64(visitor)
    }

    as_any! { deserialize_bytes deserialize_byte_buf deserialize_unit }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.peek() {
            Some(b'"') => visitor.visit_string(self.string()?),
            Some(b'[') => self.deserialize_seq(visitor),
            Some(b'{') => self.deserialize_map(visitor),
            Some(b't' | b'f') => visitor.visit_bool(self.boolean()?),
            Some(b'n') => self.expect("null").and_then(|()| visitor.visit_unit()),
            _ => {
                let number = self.number()?;
                if let Ok(whole) = number.parse() {
                    return visitor.visit_u64(whole);
                }
                match number.parse() {
                    // Only a fraction has a negative zero.
                    Ok(0) | Err(_) => visitor.visit_f64(fraction(number)?),
                    Ok(whole) => visitor.visit_i64(whole),
                }
            }
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_bool(self.boolean()?)
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_string(visitor)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_string(visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_string(self.string()?)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_string(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.take("null") { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.expect("[")?;
        self.nested("]", |reader| visitor.visit_seq(Items { reader, first: true }))
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.expect("{")?;
        self.nested("}", |reader| visitor.visit_map(Items { reader, first: true }))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_map(visitor)
    }

    /// A choice is a string: the types of inputs have no other enums.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let name: StringDeserializer<Error> = self.string()?.into_deserializer();
        visitor.visit_enum(name)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.peek() {
            Some(b'"') => drop(self.string()?),
            Some(b'[') => return self.deserialize_seq(visitor),
            Some(b'{') => return self.deserialize_map(visitor),
            Some(b't' | b'f') => drop(self.boolean()?),
            Some(b'n') => self.expect("null")?,
            _ => drop(self.number()?),
        }
        visitor.visit_unit()
    }
}

/// The items of an array, or the members of an object.
struct Items<'r, 'a> {
    reader: &'r mut Reader<'a>,
    first: bool,
}

impl Items<'_, '_> {
    /// Goes to the next one. False at the closing bracket.
    fn next(&mut self, close: u8) -> Result<bool, Error> {
        if self.reader.peek() == Some(close) {
            return Ok(false);
        }
        if !self.first {
            self.reader.expect(",")?;
        }
        self.first = false;
        Ok(true)
    }
}

impl<'de> SeqAccess<'de> for Items<'_, '_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        if self.next(b']')? { seed.deserialize(&mut *self.reader).map(Some) } else { Ok(None) }
    }
}

impl<'de> MapAccess<'de> for Items<'_, '_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        if !self.next(b'}')? {
            return Ok(None);
        }
        let key: StringDeserializer<Error> = self.reader.string()?.into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        self.reader.expect(":")?;
        seed.deserialize(&mut *self.reader)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;
    use serde::de::IgnoredAny;
    use serde_json::{Value, json};

    use super::*;

    /// Texts that are JSON, and texts that are not.
    const TEXTS: &[&str] = &[
        "null",
        "true",
        " false ",
        "0",
        "-0",
        "-12",
        "18446744073709551615",
        "-9223372036854775808",
        "1.5",
        "-0.25e+2",
        "1E400",
        "1e-3",
        "[]",
        "[ ]",
        "[1,2]",
        "{}",
        r#"{"a":{"b":[null,true]},"":"x"}"#,
        r#"{"a":1,"a":2}"#,
        r#""é\n\"\\\/\b\f\r\t\u00e9\ud83d\ude00""#,
        "\"\u{7f}\"",
        " \t\r\n[\t1 , 2\n] ",
        "",
        " ",
        "nul",
        "nulll",
        "tru",
        "truex",
        "01",
        "-",
        "-a",
        "+1",
        "1.",
        ".5",
        "1.e1",
        "1e",
        "1e+",
        "0x1",
        "NaN",
        "[",
        "[1",
        "[1,",
        "[1,]",
        "[,1]",
        "[1 2]",
        "{",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":1",
        "{\"a\":1,}",
        "{,}",
        "{a:1}",
        "{1:2}",
        "\"",
        "\"a",
        "\"\\",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\u12g4\"",
        "\"\\ud800\"",
        "\"\\ud800x\"",
        "\"\\ud800\\u0041\"",
        "\"\\udc00\"",
        "\"\\u+123\"",
        "\"\n\"",
        "\"\u{0}\"",
        "1 2",
        "[]]",
        "{}}",
        "'a'",
        "\u{a0}1",
        "\u{feff}1",
        "// 1",
        "\"\\é\"",
        "\"\\u1é\"",
        "é",
    ];

    #[test]
    fn it_reads_what_serde_json_reads() {
        for text in TEXTS {
            let theirs = serde_json::from_str::<Value>(text).ok();
            assert_eq!(read::<Value>(text).ok(), theirs, "{text:?}");
        }
    }

    #[test]
    fn it_skips_what_it_can_read() {
        for text in TEXTS {
            assert_eq!(
                read::<IgnoredAny>(text).is_ok(),
                read::<Value>(text).is_ok() || *text == "1E400",
                "{text:?}"
            );
        }
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Everything {
        small: u8,
        signed: i64,
        real: f32,
        text: String,
        list: Vec<Option<bool>>,
        map: BTreeMap<String, u16>,
        choice: Choice,
        value: Value,
        missing: Option<u8>,
        #[serde(rename = "new type")]
        newtype: Newtype,
        tuple: (u8, String),
        character: char,
        #[serde(flatten)]
        rest: BTreeMap<String, Value>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Newtype(u64);

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    enum Choice {
        OneThing,
    }

    #[test]
    fn all_kinds_of_types() {
        let input = json!({
            "small": 255, "signed": -1, "real": 2, "text": "é\n", "list": [true, null], "map": { "a": 1 },
            "choice": "one-thing", "value": [{}], "new type": 5, "tuple": [1, "x"], "character": "ß", "other": 1.5,
        });
        let theirs = serde_json::from_value::<Everything>(input.clone()).map_err(|error| error.to_string());
        assert_eq!(read(&input.to_string()).map_err(Error::into_message), theirs);
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Few {
        count: u8,
        choice: Option<Choice>,
    }

    #[test]
    fn reasons() {
        let check = |text, reason: &str| assert_eq!(read::<Few>(text), Err(Error(reason.to_owned())), "{text}");
        check("{}", "missing property `count`");
        check(r#"{"count":256}"#, "a number is not whole, or out of range");
        check(r#"{"count":1.0}"#, "a number is not whole, or out of range");
        check(r#"{"count":"1"}"#, "not JSON, or a value has the wrong type");
        check(r#"{"count":1,"count":1}"#, "property `count` stands twice");
        check(r#"{"count":1,"choice":"other"}"#, "`other` is none of the choices");
        assert!(read::<Few>(r#"{"count":1,"more":[{"a":"b"},1.5e3,true,null]}"#).is_ok());
    }

    #[test]
    fn depth_is_bounded() {
        let deep = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(read::<IgnoredAny>(&deep(128)).is_ok());
        for text in [deep(129), deep(100_000), "[".repeat(100_000)] {
            assert!(read::<IgnoredAny>(&text).is_err());
            assert!(read::<Value>(&text).is_err());
        }
    }
}
