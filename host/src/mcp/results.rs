//! Answers too large for a client to read at once: kept for a while, shown by their beginning, read in pages.
//!
//! They are kept in the memory of the process that made them, for the principal that got them; to anyone else
//! they do not exist. What is kept was redacted and checked like any answer.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use ring::rand::{SecureRandom as _, SystemRandom};
use rmcp::model::{ResourceContents, ResourceTemplate};

use crate::clock;
use crate::error::{Error, Result};

/// Before the id of a kept answer.
const ADDRESS: &str = "remit://results/";

/// Characters that are shown at once: clients cut at 49,000 or put the answer aside by themselves.
pub(super) const AT_ONCE: usize = 40_000;

/// Bytes of all kept answers of a process: sixteen of the largest.
const ROOM: usize = 64 * 1024 * 1024;

/// How long an answer is kept: as long as a conversation may need it.
const KEPT: Duration = Duration::from_secs(60 * 60);

/// Bytes of an id: nobody guesses 128 bits.
const ID_BYTES: usize = 16;

/// The answers that are kept.
#[derive(Default)]
pub(super) struct Results(Mutex<VecDeque<Kept>>);

struct Kept {
    id: String,
    principal: String,
    text: String,
    until: Instant,
}

impl Results {
    /// Keeps a text for a principal, and gives its address. The oldest make room.
    pub(super) fn keep(&self, principal: &str, text: String) -> Result<String> {
        let mut bytes = [0; ID_BYTES];
        SystemRandom::new().fill(&mut bytes).map_err(|_| Error::internal("the system gives no random bytes"))?;
        let id: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let address = format!("{ADDRESS}{id}");
        let until = clock::monotonic() + KEPT;
        let mut kept = self.living();
        kept.push_back(Kept { id, principal: principal.to_owned(), text, until });
        while kept.iter().map(|one| one.text.len()).sum::<usize>() > ROOM {
            kept.pop_front();
        }
        Ok(address)
    }

    /// What a principal finds at an address: one page, and where to read on.
    pub(super) fn read(&self, principal: &str, uri: &str) -> Option<ResourceContents> {
        let (id, offset) = place(uri)?;
        let kept = self.living();
        let found = kept.iter().find(|one| one.id == id && one.principal == principal)?;
        let total = found.text.chars().count();
        if offset > 0 && offset >= total {
            return None;
        }
        let mut text: String = found.text.chars().skip(offset).take(AT_ONCE).collect();
        let end = (offset + AT_ONCE).min(total);
        if end < total {
            text.push_str(&format!(
                "\n\n[characters {offset} to {end} of {total}; read on at `{ADDRESS}{id}?offset={end}`]"
            ));
        }
        Some(ResourceContents::TextResourceContents {
            uri: uri.to_owned(),
            mime_type: Some("text/plain".to_owned()),
            text,
            meta: None,
        })
    }

    /// How the addresses are written.
    pub(super) fn template() -> ResourceTemplate {
        ResourceTemplate::new(format!("{ADDRESS}{{id}}{{?offset}}"), "result")
            .with_title("The rest of a large answer")
            .with_description(
                "An answer that was too large to show at once, from a character on. Kept for an hour.",
            )
            .with_mime_type("text/plain")
    }

    fn living(&self) -> std::sync::MutexGuard<'_, VecDeque<Kept>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = clock::monotonic();
        kept.retain(|one| one.until > now);
        kept
    }
}

/// The id and the offset that an address names.
fn place(uri: &str) -> Option<(&str, usize)> {
    let rest = uri.strip_prefix(ADDRESS)?;
    match rest.split_once('?') {
        None => Some((rest, 0)),
        Some((id, query)) => Some((id, query.strip_prefix("offset=")?.parse().ok()?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(contents: Option<ResourceContents>) -> Option<String> {
        match contents? {
            ResourceContents::TextResourceContents { text, .. } => Some(text),
            _ => None,
        }
    }

    #[test]
    fn a_long_text_is_read_to_its_end_page_by_page() {
        let results = Results::default();
        let whole: String = "aé漢🎉".chars().cycle().take(AT_ONCE * 2 + 7).collect();
        let address = results.keep("a", whole.clone()).unwrap();
        let (mut read, mut next) = (String::new(), Some(address));
        let mut pages = 0;
        while let Some(uri) = next {
            let page = text(results.read("a", &uri)).unwrap();
            pages += 1;
            next = page.split_once("read on at `").map(|(_, rest)| rest.trim_end_matches("`]").to_owned());
            read.push_str(page.split_once("\n\n[characters").map_or(page.as_str(), |(page, _)| page));
        }
        assert_eq!((pages, read == whole), (3, true));
    }

    #[test]
    fn nobody_else_finds_it_and_nothing_else_is_found() {
        let results = Results::default();
        let address = results.keep("a", "secret".to_owned()).unwrap();
        assert_eq!(text(results.read("a", &address)).as_deref(), Some("secret"));
        assert_eq!(text(results.read("b", &address)), None);
        let other = results.keep("a", "other".to_owned()).unwrap();
        assert_ne!(address, other);
        for uri in [
            format!("{address}0"),
            format!("{address}?offset=6"),
            format!("{address}?offset=-1"),
            format!("{address}?offset=99999999999999999999"),
            format!("{address}?offset"),
            format!("{address}?x=1"),
            ADDRESS.to_owned(),
            "remit://results".to_owned(),
        ] {
            assert_eq!(text(results.read("a", &uri)), None, "{uri}");
        }
    }

    #[test]
    fn the_oldest_make_room() {
        let results = Results::default();
        let first = results.keep("a", "1".to_owned()).unwrap();
        let second = results.keep("a", "x".repeat(ROOM - 1)).unwrap();
        assert!(results.read("a", &first).is_some());
        let third = results.keep("b", "3".to_owned()).unwrap();
        assert!(results.read("a", &first).is_none());
        assert!(results.read("a", &second).is_some() && results.read("b", &third).is_some());
    }
}
