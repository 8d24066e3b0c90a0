//! Lists: a page for tools that hand pages on, and an iterator for those that want all.

use std::vec;

use serde::de::DeserializeOwned;

use super::{Document, Entity, Error, host, read, wit};

/// Documents asked for at once: the most that a page may have. Its bytes are bounded by the host.
const AT_ONCE: u32 = 1_000;

/// A part of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Page<T> {
    /// The documents, in the order of the keys' bytes.
    pub documents: Vec<Document<T>>,
    /// Where the next part begins; `None` at the end.
    pub next: Option<String>,
}

/// Documents one after the other. It ends after an error of the host; one that does not fit the type is passed
/// over by asking on.
#[must_use = "nothing is read before it is asked for"]
pub struct List<T> {
    entity: Entity<T>,
    prefix: String,
    documents: vec::IntoIter<wit::Document>,
    next: Next,
}

enum Next {
    First,
    After(String),
    End,
}

impl<T> List<T> {
    pub(super) fn new(entity: Entity<T>, prefix: &str) -> Self {
        Self { entity, prefix: prefix.to_owned(), documents: Vec::new().into_iter(), next: Next::First }
    }

    /// Reads the next page. False at the end.
    fn turn(&mut self) -> Result<bool, Error> {
        let cursor = match &self.next {
            Next::First => None,
            Next::After(cursor) => Some(cursor.as_str()),
            Next::End => return Ok(false),
        };
        let page = host::list(self.entity.name, &self.prefix, cursor, AT_ONCE);
        self.next = Next::End;
        let page = page?;
        self.next = page.next.map_or(Next::End, Next::After);
        self.documents = page.documents.into_iter();
        Ok(true)
    }
}

impl<T: DeserializeOwned> Iterator for List<T> {
    type Item = Result<Document<T>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(document) = self.documents.next() {
                return Some(read(self.entity.name, document));
            }
            match self.turn() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Expected, entity};
    use super::*;
    use crate::testing;

    const COUNTS: Entity<u32> = entity("counts");

    #[test]
    fn a_list_goes_over_pages() {
        testing::entities(&["counts"]);
        for count in 0..2_500 {
            COUNTS.put(&format!("a{count:04}"), &count, Expected::Absent).expect("stored");
        }
        COUNTS.put("b", &1, Expected::Absent).expect("stored");
        let counts: Result<Vec<u32>, Error> = COUNTS.list("a").map(|document| Ok(document?.value)).collect();
        assert_eq!(counts, Ok((0..2_500).collect()));
        assert_eq!(COUNTS.list("c").count(), 0);

        let page = COUNTS.page("a", None, 2_000).expect("a page");
        assert_eq!(page.documents.len(), 1_000, "the host's bound");
        let next = COUNTS.page("a", page.next.as_deref(), 1).expect("a page");
        assert_eq!(next.documents[0].key, "a1000");
        assert_eq!(COUNTS.page("b", page.next.as_deref(), 1), Err(Error::InvalidCursor));
    }

    #[test]
    fn what_does_not_fit_does_not_end_the_list() {
        testing::entities(&["counts"]);
        let words: Entity<String> = entity("counts");
        COUNTS.put("a", &1, Expected::Any).expect("stored");
        words.put("b", &"two".to_owned(), Expected::Any).expect("stored");
        COUNTS.put("c", &3, Expected::Any).expect("stored");
        let read: Vec<bool> = COUNTS.list("").map(|document| document.is_ok()).collect();
        assert_eq!(read, [true, false, true]);
    }

    #[test]
    fn an_error_ends_the_list() {
        testing::entities(&[]);
        let read: Vec<_> = COUNTS.list("").take(5).collect();
        assert_eq!(read, [Err(Error::NotAvailable("counts".to_owned()))]);
    }
}
