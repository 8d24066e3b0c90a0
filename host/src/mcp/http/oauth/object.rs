//! JSON objects in which each name stands once. Where one stands twice, two readers could see two things, so such an
//! object is none.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::{Map, Value};

/// A JSON object without doubles at its top.
#[derive(Debug)]
pub(super) struct Object(Map<String, Value>);

impl Object {
    /// Reads it, or gives `None`.
    pub(super) fn read(json: &[u8]) -> Option<Self> {
        serde_json::from_slice(json).ok()
    }

    /// What stands under `name`.
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// The text under `name`.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(Value::as_str)
    }
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Once;
        impl<'de> Visitor<'de> for Once {
            type Value = Object;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Object, A::Error> {
                let mut map = Map::new();
                while let Some((name, value)) = entries.next_entry::<String, Value>()? {
                    if map.insert(name, value).is_some() {
                        return Err(A::Error::custom("a name stands twice"));
                    }
                }
                Ok(Object(map))
            }
        }
        deserializer.deserialize_map(Once)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_stands_once() {
        let object = Object::read(br#"{"a":"x","A":"y","a\u0000":"z","b":{"c":1}}"#).unwrap();
        assert_eq!((object.text("a"), object.text("A"), object.text("b")), (Some("x"), Some("y"), None));
        for not in [
            r#"{"a":1,"a":1}"#,
            r#"{"a":1,"\u0061":2}"#,
            "[]",
            "null",
            r#""a""#,
            "",
            "{}{}",
            "{} x",
            r#"{"a":1"#,
            r#"{'a':1}"#,
        ] {
            assert!(Object::read(not.as_bytes()).is_none(), "{not}");
        }
        assert!(Object::read(b"{\"a\":\"\xff\"}").is_none(), "no UTF-8");
        assert!(Object::read(format!("{{\"a\":{}", "[".repeat(100_000)).as_bytes()).is_none(), "too deep");
    }
}
