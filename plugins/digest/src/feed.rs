//! What a feed says: RSS and Atom become the same few words. Pure. What is in a feed was written by strangers, and
//! is cut to what a digest needs.

use std::collections::BTreeSet;

use fluent_uri::{Iri, IriRef};
use quick_xml::Reader;
use quick_xml::events::Event;
use sha2::{Digest as _, Sha256};

use crate::plain::plain;

/// Items read of one feed, from its beginning, where the newest are.
pub const MOST_ITEMS: usize = 30;

/// Characters of a title.
const TITLE: usize = 200;

/// Bytes of a link. A longer one is left out.
const LINK_BYTES: usize = 500;

/// Elements in one another. Real feeds have under ten; the readers of feeds recurse, and a guest's stack is small.
const DEPTH: usize = 64;

/// An item of a feed.
#[remit_sdk::data]
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// The same for the same item.
    pub key: String,
    /// The feed's title.
    pub feed: String,
    /// Its title.
    pub title: String,
    /// Where it is.
    pub link: Option<String>,
    /// When it was published, by the feed's account, as in RFC 3339.
    pub published: Option<String>,
}

/// A feed as it was read.
#[derive(Debug, PartialEq)]
pub struct Feed {
    pub title: String,
    pub items: Vec<Item>,
}

/// What an item says of itself, in either format.
struct Said<'a> {
    id: Option<&'a str>,
    title: &'a str,
    text: &'a str,
    link: Option<&'a str>,
    published: Option<String>,
}

/// Reads a feed that was fetched from `url`. The error says why it cannot be read.
pub fn read(bytes: &[u8], url: &str) -> Result<Feed, String> {
    check_depth(bytes)?;
    match rss::Channel::read_from(bytes) {
        Ok(channel) => Ok(from_rss(&channel, url)),
        Err(rss::Error::InvalidStartTag) => match atom_syndication::Feed::read_from(bytes) {
            Ok(feed) => Ok(from_atom(&feed, url)),
            Err(atom_syndication::Error::InvalidStartTag) => Err("it is neither RSS nor Atom".to_owned()),
            Err(error) => Err(unreadable(&error)),
        },
        Err(error) => Err(unreadable(&error)),
    }
}

fn from_rss(channel: &rss::Channel, url: &str) -> Feed {
    let base = resolve(channel.link(), url).unwrap_or_else(|| url.to_owned());
    let said = channel.items().iter().map(|item| Said {
        id: item.guid().map(rss::Guid::value),
        title: item.title().unwrap_or_default(),
        text: item.description().unwrap_or_default(),
        // Many feeds give the address as the identifier only.
        link: item.link().or_else(|| item.guid().filter(|guid| guid.is_permalink()).map(rss::Guid::value)),
        published: item.pub_date().and_then(diligent_date_parser::parse_date).map(|date| date.to_rfc3339()),
    });
    feed(channel.title(), said, &base, url)
}

fn from_atom(atom: &atom_syndication::Feed, url: &str) -> Feed {
    let base = atom.base().and_then(|base| resolve(base, url)).unwrap_or_else(|| url.to_owned());
    let said = atom.entries().iter().map(|entry| {
        let alternate = entry.links().iter().find(|link| link.rel() == "alternate");
        // The reader gives 1970 where there is no date.
        let updated = Some(entry.updated()).filter(|date| date.timestamp() != 0);
        Said {
            id: Some(entry.id()),
            title: entry.title(),
            text: entry.summary().map(|summary| summary.value.as_str()).unwrap_or_default(),
            link: alternate.or(entry.links().first()).map(atom_syndication::Link::href),
            published: entry.published().or(updated).map(|date| date.to_rfc3339()),
        }
    });
    feed(atom.title(), said, &base, url)
}

fn feed<'a>(title: &str, said: impl Iterator<Item = Said<'a>>, base: &str, url: &str) -> Feed {
    let title = Some(plain(title, TITLE)).filter(|title| !title.is_empty()).unwrap_or_else(|| url.to_owned());
    let mut seen = BTreeSet::new();
    let items = said
        .filter_map(|said| item(&said, &title, base, url))
        .filter(|item| seen.insert(item.key.clone()))
        .take(MOST_ITEMS)
        .collect();
    Feed { title, items }
}

fn item(said: &Said<'_>, feed: &str, base: &str, url: &str) -> Option<Item> {
    let link = said.link.and_then(|link| resolve(link, base));
    // Without an identifier an item is what it says.
    let id = [said.id, said.link].into_iter().flatten().map(str::trim).find(|id| !id.is_empty());
    let id = id.map_or_else(|| format!("{}\n{}", said.title, said.text), str::to_owned);
    let words = [said.title, said.text].map(|text| plain(text, TITLE));
    let title = words.into_iter().find(|text| !text.is_empty()).or_else(|| link.clone())?;
    Some(Item { key: key(url, &id), feed: feed.to_owned(), title, link, published: said.published.clone() })
}

/// Identifiers are as long as a feed likes, and unique in it at best.
fn key(url: &str, id: &str) -> String {
    let digest = Sha256::digest(format!("{url}\n{id}"));
    digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// An absolute link. `None` for what is none of the web's.
fn resolve(link: &str, base: &str) -> Option<String> {
    let link = link.trim().replace(' ', "%20");
    let base = base.split('#').next().unwrap_or_default();
    let resolved = IriRef::parse(link.as_str()).ok()?.resolve_against(&Iri::parse(base).ok()?).ok()?;
    let scheme = resolved.scheme().as_str();
    let of_the_web = scheme.eq_ignore_ascii_case("https") || scheme.eq_ignore_ascii_case("http");
    Some(resolved.into_string()).filter(|link| of_the_web && link.len() <= LINK_BYTES)
}

fn check_depth(bytes: &[u8]) -> Result<(), String> {
    let mut reader = Reader::from_reader(bytes);
    let (mut depth, mut buffer) = (0_usize, Vec::new());
    loop {
        match reader.read_event_into(&mut buffer).map_err(|error| unreadable(&error))? {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth = depth.saturating_sub(1),
            Event::Eof => return Ok(()),
            _ => {}
        }
        if depth > DEPTH {
            return Err(format!("its elements are nested more than {DEPTH} deep"));
        }
        buffer.clear();
    }
}

fn unreadable(error: &impl std::fmt::Display) -> String {
    // The reader quotes the feed.
    format!("it cannot be read: {}", plain(&error.to_string(), TITLE))
}
