//! What an agent wants of the four tools, read from their arguments. What is not as it was listed is refused with what
//! would be right.

use rmcp::ErrorData;
use rmcp::model::JsonObject;
use serde::Deserialize;
use serde_json::Value;

use super::super::arguments::ForHost;
use super::invalid;
use crate::client::Confirmation;

/// Results of a search, unless it says how many.
const RESULTS: usize = 8;

/// Results of a search at most.
const MOST: usize = 20;

/// Bytes of a query: a question, and not a text.
const QUERY_BYTES: usize = 1_000;

/// One of the four.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Meta {
    Search,
    CallRead,
    Call,
    Execute,
}

/// What is looked for.
#[derive(Debug, PartialEq, Eq)]
pub(in super::super) enum Lookup {
    /// What a query finds, so much of it.
    Query(String, usize),
    /// This one thing.
    Entity(String),
}

/// A tool to be called.
#[derive(Debug, PartialEq)]
pub(in super::super) struct Wanted {
    pub(in super::super) tool: String,
    pub(in super::super) input: JsonObject,
    pub(in super::super) for_host: ForHost,
}

/// A program to be run.
#[derive(Debug, PartialEq)]
pub(in super::super) struct Source {
    pub(in super::super) program: String,
    pub(in super::super) for_host: ForHost,
}

impl Meta {
    /// The tool of this name, if it is one of the four.
    pub(in super::super) fn of(name: &str) -> Option<Self> {
        [Self::Search, Self::CallRead, Self::Call, Self::Execute].into_iter().find(|meta| meta.name() == name)
    }

    /// Its name.
    pub(in super::super) fn name(self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::CallRead => "call_read_tool",
            Self::Call => "call_tool",
            Self::Execute => "execute",
        }
    }
}

impl Lookup {
    pub(in super::super) fn read(arguments: JsonObject) -> Result<Self, ErrorData> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Arguments {
            query: Option<String>,
            entity: Option<String>,
            limit: Option<usize>,
        }
        let Arguments { query, entity, limit } = read(arguments)?;
        match (query, entity) {
            (Some(_), Some(_)) => Err(invalid("`query` or `entity`, not both")),
            (None, Some(id)) => Ok(Self::Entity(id)),
            (Some(query), None) if query.len() > QUERY_BYTES => {
                Err(invalid(format!("`query` has more than {QUERY_BYTES} bytes: a few words are enough")))
            }
            (query, None) => Ok(Self::Query(query.unwrap_or_default(), limit.unwrap_or(RESULTS).clamp(1, MOST))),
        }
    }
}

impl Wanted {
    /// What is to be called. A token and a dry run are for what can change something.
    pub(in super::super) fn read(arguments: JsonObject, meta: Meta) -> Result<Self, ErrorData> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Arguments {
            tool: String,
            #[serde(default)]
            input: JsonObject,
            #[serde(default)]
            dry_run: bool,
            confirmation_token: Option<String>,
        }
        if meta == Meta::CallRead
            && let Some(name) =
                ["dry_run", "confirmation_token"].into_iter().find(|name| arguments.contains_key(*name))
        {
            return Err(invalid(format!("`{name}` is of `call_tool`: what only reads needs none")));
        }
        let Arguments { tool, input, dry_run, confirmation_token } = read(arguments)?;
        Ok(Self { tool, input, for_host: for_host(dry_run, confirmation_token) })
    }
}

impl Source {
    pub(in super::super) fn read(arguments: JsonObject) -> Result<Self, ErrorData> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Arguments {
            program: String,
            #[serde(default)]
            dry_run: bool,
            confirmation_token: Option<String>,
        }
        let Arguments { program, dry_run, confirmation_token } = read(arguments)?;
        Ok(Self { program, for_host: for_host(dry_run, confirmation_token) })
    }
}

fn for_host(dry_run: bool, token: Option<String>) -> ForHost {
    ForHost { dry_run, confirmation: token.map_or(Confirmation::Missing, Confirmation::Token) }
}

fn read<T: serde::de::DeserializeOwned>(arguments: JsonObject) -> Result<T, ErrorData> {
    serde_json::from_value(Value::Object(arguments)).map_err(|error| invalid(error.to_string()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: &Value) -> JsonObject {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn a_search_is_a_query_or_an_entity() {
        let read = |value: Value| Lookup::read(object(&value)).map_err(|error| error.message.into_owned());
        assert_eq!(read(json!({})), Ok(Lookup::Query(String::new(), 8)));
        assert_eq!(read(json!({ "query": "rain", "limit": 90 })), Ok(Lookup::Query("rain".to_owned(), 20)));
        assert_eq!(read(json!({ "query": "rain", "limit": 0 })), Ok(Lookup::Query("rain".to_owned(), 1)));
        assert_eq!(read(json!({ "entity": "tool:a/b.c" })), Ok(Lookup::Entity("tool:a/b.c".to_owned())));
        for wrong in [
            json!({ "query": "a", "entity": "b" }),
            json!({ "query": 7 }),
            json!({ "what": "a" }),
            json!({ "limit": -1 }),
            json!({ "query": "x".repeat(1_001) }),
        ] {
            assert!(read(wrong.clone()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_only_reads_takes_nothing_for_the_host() {
        let read = |value: Value, meta| Wanted::read(object(&value), meta);
        let plain = json!({ "tool": "a/b.c", "input": { "x": 1, "dry_run": true } });
        for meta in [Meta::CallRead, Meta::Call] {
            let wanted = read(plain.clone(), meta).unwrap();
            assert_eq!(
                (wanted.for_host, wanted.input.len()),
                (ForHost::default(), 2),
                "what is inside is the tool's"
            );
        }
        for field in [json!({ "dry_run": true }), json!({ "confirmation_token": "t" })] {
            let mut with = object(&plain);
            with.extend(object(&field));
            assert!(Wanted::read(with.clone(), Meta::CallRead).is_err());
            assert_ne!(Wanted::read(with, Meta::Call).unwrap().for_host, ForHost::default());
        }
        for wrong in
            [json!({}), json!({ "tool": 1 }), json!({ "tool": "a", "input": [] }), json!({ "tool": "a", "z": 1 })]
        {
            assert!(read(wrong.clone(), Meta::Call).is_err(), "{wrong}");
        }
    }
}
