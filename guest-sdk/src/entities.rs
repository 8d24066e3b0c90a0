//! Documents that a capability keeps, over `wit/entities.wit`: typed ones, as JSON.
//!
//! Which entities there are is in `capability.json`. A change is on disk when its function returns; in a dry run
//! it becomes part of the plan, and a tool need not know.
//!
//! ```
//! use remit_sdk::entities::{self, Entity, Expected, entity};
//! use remit_sdk::serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize)]
//! # #[serde(crate = "remit_sdk::serde")]
//! struct Note {
//!     text: String,
//! }
//!
//! const NOTES: Entity<Note> = entity("notes");
//!
//! # fn main() -> Result<(), remit_sdk::Failure> {
//! # remit_sdk::testing::entities(&["notes"]);
//! NOTES.put("milk", &Note { text: "buy milk".into() }, Expected::Absent)?;
//!
//! // Another call may change it between reading and writing: `update` reads again then.
//! NOTES.update("milk", |note| {
//!     let mut note = note.ok_or("there is no such note")?;
//!     note.text.push_str(", two litres");
//!     Ok(note)
//! })?;
//!
//! for note in NOTES.list("mi") {
//!     assert_eq!(note?.value.text, "buy milk, two litres");
//! }
//! # Ok(()) }
//! ```

mod error;
mod list;
mod transaction;

use std::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Failure;
use crate::bindings::remit::capability::entities as wit;
pub use crate::bindings::remit::capability::entities::Expected;
#[cfg(not(target_arch = "wasm32"))]
use crate::testing::entities as host;
#[cfg(target_arch = "wasm32")]
use wit as host;

pub use error::Error;
pub use list::{List, Page};
pub use transaction::{Transaction, transaction};

/// How often `update` decides. Each failed attempt means that somebody else's change was made: so many in a row
/// are a document that too many write, and to be told.
const ATTEMPTS: u32 = 16;

/// A collection of documents of one type.
pub struct Entity<T> {
    name: &'static str,
    values: PhantomData<fn() -> T>,
}

/// A document.
#[derive(Clone, Debug, PartialEq)]
pub struct Document<T> {
    /// Its key inside the entity.
    pub key: String,
    /// What it says.
    pub value: T,
    /// Grows with each change of the capability's documents, and never repeats.
    pub version: u64,
    /// When it was changed, in milliseconds since 1970-01-01 UTC.
    pub changed_at: u64,
}

/// The entity of this name, which `capability.json` lists.
#[must_use]
pub const fn entity<T>(name: &'static str) -> Entity<T> {
    Entity { name, values: PhantomData }
}

impl<T> Clone for Entity<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Entity<T> {}

impl<T> Entity<T> {
    /// Its name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Removes a document and tells whether it was there.
    pub fn delete(&self, key: &str, expected: Expected) -> Result<bool, Error> {
        Ok(host::delete(self.name, key, expected)?)
    }
}

impl<T: DeserializeOwned> Entity<T> {
    /// The document under a key.
    pub fn get(&self, key: &str) -> Result<Option<Document<T>>, Error> {
        host::get(self.name, key)?.map(|document| read(self.name, document)).transpose()
    }

    /// The documents whose keys begin with `prefix`, in the order of the keys' bytes: all of them, read page by
    /// page as they are asked for.
    pub fn list(&self, prefix: &str) -> List<T> {
        List::new(*self, prefix)
    }

    /// Up to `limit` (1 to 1,000) of the documents whose keys begin with `prefix`, from where `cursor` points or
    /// from the first: for tools that hand pages on.
    pub fn page(&self, prefix: &str, cursor: Option<&str>, limit: u32) -> Result<Page<T>, Error> {
        let page = host::list(self.name, prefix, cursor, limit)?;
        let documents = page.documents.into_iter().map(|document| read(self.name, document));
        Ok(Page { documents: documents.collect::<Result<_, _>>()?, next: page.next })
    }
}

impl<T: Serialize> Entity<T> {
    /// Stores a value and gives its version.
    pub fn put(&self, key: &str, value: &T, expected: Expected) -> Result<u64, Error> {
        Ok(host::put(self.name, key, &write(value)?, expected)?)
    }
}

impl<T: Serialize + DeserializeOwned> Entity<T> {
    /// Reads what is under a key, decides what it becomes, and stores that; when another call was faster, from
    /// the start, a bounded number of times. Gives what is stored and its version.
    ///
    /// `change` gets `None` when there is nothing, may run more than once, and ends it all with a failure.
    pub fn update(
        &self,
        key: &str,
        mut change: impl FnMut(Option<T>) -> Result<T, Failure>,
    ) -> Result<(T, u64), Failure> {
        let mut attempt = 1;
        loop {
            let (value, expected) = match self.get(key)? {
                Some(document) => (Some(document.value), Expected::Version(document.version)),
                None => (None, Expected::Absent),
            };
            let value = change(value)?;
            match self.put(key, &value, expected) {
                Ok(version) => return Ok((value, version)),
                Err(Error::Conflict { .. }) if attempt < ATTEMPTS => attempt += 1,
                Err(error) => return Err(error.into()),
            }
        }
    }
}

fn read<T: DeserializeOwned>(entity: &str, document: wit::Document) -> Result<Document<T>, Error> {
    let wit::Document { key, value, version, changed_at } = document;
    match serde_json::from_str(&value) {
        Ok(value) => Ok(Document { key, value, version, changed_at }),
        Err(error) => Err(Error::Json(format!("`{entity}` `{key}`: {error}"))),
    }
}

fn write(value: &impl Serialize) -> Result<String, Error> {
    serde_json::to_string(value).map_err(|error| Error::Json(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    const COUNTS: Entity<u32> = entity("counts");
    const WORDS: Entity<String> = entity("words");

    #[test]
    fn documents_are_typed() {
        testing::entities(&["counts", "words"]);
        assert_eq!(COUNTS.get("a"), Ok(None));
        let version = COUNTS.put("a", &7, Expected::Absent).expect("it is new");
        let document = COUNTS.get("a").expect("it can be read").expect("it is there");
        assert_eq!((document.key.as_str(), document.value, document.version), ("a", 7, version));
        assert_eq!(WORDS.get("a"), Ok(None), "another entity");
        assert_eq!(COUNTS.delete("a", Expected::Version(version)), Ok(true));
        assert_eq!(COUNTS.delete("a", Expected::Any), Ok(false));

        let wrong: Entity<String> = entity("counts");
        COUNTS.put("b", &1, Expected::Any).expect("stored");
        assert!(matches!(wrong.get("b"), Err(Error::Json(why)) if why.starts_with("`counts` `b`: ")));
    }

    #[test]
    fn what_cannot_be_written_is_not_stored() {
        testing::entities(&["counts"]);
        let odd: Entity<std::collections::HashMap<Vec<u8>, u8>> = entity("counts");
        let unwritable = std::collections::HashMap::from([(vec![1], 1)]);
        assert!(matches!(odd.put("a", &unwritable, Expected::Any), Err(Error::Json(_))));
        assert_eq!(COUNTS.get("a"), Ok(None));
    }

    #[test]
    fn an_update_reads_again_when_another_was_faster() {
        testing::entities(&["counts"]);
        let mut others = 2;
        let added = COUNTS.update("a", |count| {
            if others > 0 {
                others -= 1;
                COUNTS.put("a", &(count.unwrap_or_default() + 10), Expected::Any)?;
            }
            Ok(count.unwrap_or_default() + 1)
        });
        let there = COUNTS.get("a").expect("it can be read").expect("it is there");
        assert_eq!(added, Ok((21, there.version)));
        assert_eq!(there.value, 21);
    }

    #[test]
    fn an_update_ends() {
        testing::entities(&["counts"]);
        let mut attempts = 0;
        let never = COUNTS.update("a", |count| {
            attempts += 1;
            COUNTS.put("a", &attempts, Expected::Any)?;
            Ok(count.unwrap_or_default())
        });
        assert_eq!(
            never,
            Err(Failure::Failed("`counts` `a` was changed meanwhile: read it again and decide again".to_owned()))
        );
        assert_eq!(attempts, ATTEMPTS);

        let version = COUNTS.get("a").expect("it can be read").map(|document| document.version);
        let refused = COUNTS.update("a", |_| Err(Failure::NotFound("none".to_owned())));
        assert_eq!(refused, Err(Failure::NotFound("none".to_owned())));
        assert_eq!(COUNTS.get("a").expect("it can be read").map(|document| document.version), version);
    }
}
