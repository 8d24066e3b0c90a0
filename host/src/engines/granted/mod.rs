//! What the program of a `codemode` capability can call: its granted namespaces, each function with JSON in and out.
//!
//! A translation and nothing more. What is called are the functions that any guest of the capability would import, so
//! what they may do, cost and record is decided where it always is.

mod entities;
mod http;
mod loops;

use std::collections::VecDeque;

use serde::de::DeserializeOwned;
use serde_json::Value;
use wasmtime::StoreContextMut;

use super::names::Named;
use crate::error::{Error, ErrorKind};
use crate::manifest::NamespaceName;
use crate::policy::Granted;
use crate::runtime::{State, bound};

type Context<'a> = StoreContextMut<'a, State>;

/// What a function gives, or throws.
type Outcome = Result<Value, Error>;

/// A function of a namespace. An outer error ends the program.
type Function = fn(Context<'_>, Value) -> wasmtime::Result<Outcome>;

/// One function under the name that a program calls it by.
type Row = (&'static str, Function);

/// What of each namespace a program can call.
const TABLE: &[(NamespaceName, &[Row])] = &[
    (NamespaceName::Entities, entities::FUNCTIONS),
    (NamespaceName::Http, http::FUNCTIONS),
    (NamespaceName::Loops, loops::FUNCTIONS),
];

/// The calls of one program. They are made one after another, when they are started.
#[derive(Default)]
pub(crate) struct Namespaces {
    ended: VecDeque<bound::Ended>,
    started: u32,
}

impl Namespaces {
    /// The next end of a call.
    pub(super) fn next(&mut self) -> Option<bound::Ended> {
        self.ended.pop_front()
    }

    /// Keeps the end of a call, and gives its number.
    pub(super) fn keep(&mut self, outcome: Outcome) -> u32 {
        let id = self.started;
        self.started += 1;
        let outcome = outcome.map(|value| value.to_string()).map_err(|error| bound::Failure {
            code: error.kind.code().to_owned(),
            message: error.message,
            details: None,
        });
        self.ended.push_back(bound::Ended { id, outcome });
        id
    }
}

/// The names at a place: what is not granted has none.
pub(super) fn list(granted: &Granted, path: &[String]) -> Vec<Named> {
    let offered = TABLE.iter().filter(|(namespace, _)| granted.namespaces().contains(namespace));
    match path {
        [] => offered.map(|(name, _)| Named { name: name.as_str().to_owned(), is_tool: false }).collect(),
        [place] => {
            let rows = offered.filter(|(name, _)| name.as_str() == place).flat_map(|(_, rows)| *rows);
            rows.map(|(name, _)| Named { name: (*name).to_owned(), is_tool: true }).collect()
        }
        _ => Vec::new(),
    }
}

/// Calls the function at a path.
pub(super) fn call(store: Context<'_>, path: &[String], input: &str) -> wasmtime::Result<Outcome> {
    let granted = &store.data().granted;
    let found = TABLE
        .iter()
        .filter(|(namespace, _)| granted.namespaces().contains(namespace))
        .flat_map(|(namespace, rows)| {
            rows.iter().map(move |(name, function)| (namespace.as_str(), *name, function))
        })
        .find(|(namespace, name, _)| path == [*namespace, *name]);
    let Some((_, _, function)) = found else {
        let message = format!("nothing is bound as `remit.{}`", path.join("."));
        return Ok(Err(Error::new(ErrorKind::UnknownTool, message)));
    };
    match serde_json::from_str(input) {
        Ok(input) => function(store, input),
        Err(_) => Ok(Err(Error::new(ErrorKind::InvalidInput, "the input is not JSON"))),
    }
}

/// The input of a function.
fn read<T: DeserializeOwned>(input: Value) -> Result<T, Error> {
    serde_json::from_value(input).map_err(|error| Error::new(ErrorKind::InvalidInput, error.to_string()))
}
