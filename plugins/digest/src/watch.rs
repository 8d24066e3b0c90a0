//! Which feeds are watched, and what is new in them.
//!
//! Items that were seen are remembered, so that a feed that fails, or that shows an item again, brings nothing back.
//! There are two readers, and each is told once. A loop is told what differs from what its last run that ended well
//! was told: the host keeps that, and a run that was interrupted has told nothing. Anybody else is told what no
//! caller was told before: that is marked in the documents.

use std::collections::BTreeSet;

use remit_sdk::ask::{self, Decision};
use remit_sdk::entities::{self, Document, Entity, Expected, entity, transaction};
use remit_sdk::serde::{Deserialize, Serialize};
use remit_sdk::serde_json::json;
use remit_sdk::{Failure, http, log, loops, progress};

use crate::feed::{self, Feed, Item};

/// By address.
const FEEDS: Entity<Subscription> = entity("feeds");

/// Feeds that can be watched: all are fetched in one call.
const MOST_FEEDS: usize = 20;

/// Items remembered of one feed: half as many again as are read of it. Of all feeds together they are fewer than the
/// 1,000 that the host compares.
const REMEMBERED: usize = feed::MOST_ITEMS * 3 / 2;

/// Time for one feed, in milliseconds: all together stay within the call's.
const FETCH_MS: u32 = 5_000;

/// How often a change is decided anew because another was faster.
const ATTEMPTS: u32 = 8;

/// A feed that is watched, as it is kept.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(crate = "remit_sdk::serde")]
struct Subscription {
    title: String,
    /// What it showed, the newest first.
    items: Vec<Item>,
    /// Keys of those that callers were told.
    told: BTreeSet<String>,
}

/// What is compared between two runs: the key of an item, or the address of a feed that fails. A failure is told
/// when it begins.
#[derive(Serialize, Deserialize)]
#[serde(crate = "remit_sdk::serde")]
struct Seen {
    key: String,
}

/// A feed that is watched now.
#[remit_sdk::data]
#[derive(Debug, PartialEq)]
pub struct Watched {
    /// Its address.
    pub url: String,
    /// Its title.
    pub title: String,
    /// Whether it was watched before.
    pub already: bool,
}

/// What became of it.
#[remit_sdk::data]
#[derive(Debug, PartialEq)]
pub struct Unwatched {
    /// Whether it was watched.
    pub unwatched: bool,
}

/// The feeds that are watched.
#[remit_sdk::data]
#[derive(Debug, PartialEq)]
pub struct Feeds {
    /// The feeds.
    pub feeds: Vec<Listed>,
}

/// A feed in a list.
#[remit_sdk::data]
#[derive(Debug, PartialEq)]
pub struct Listed {
    /// Its address.
    pub url: String,
    /// Its title.
    pub title: String,
}

/// What is new.
#[remit_sdk::data]
#[serde(rename_all = "camelCase")]
#[derive(Debug, PartialEq)]
pub struct Digest {
    /// Whether there is nothing to tell.
    pub nothing_to_report: bool,
    /// New items, feed by feed, the newest first.
    pub items: Vec<Item>,
    /// Feeds that cannot be read.
    pub problems: Vec<Problem>,
}

/// A feed that cannot be read.
#[remit_sdk::data]
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// Its address.
    pub url: String,
    /// Why.
    pub reason: String,
}

/// Watches a feed that can be read.
pub fn watch(url: &str) -> Result<Watched, Failure> {
    let watched = |title: String, already| Watched { url: url.to_owned(), title, already };
    if let Some(there) = FEEDS.get(url)? {
        return Ok(watched(there.value.title, true));
    }
    let feeds = all()?;
    let left = if feeds.len() < MOST_FEEDS { None } else { Some(one_to_leave(&feeds)?) };
    let feed = fetch(url).map_err(|why| Failure::Failed(format!("`{url}`: {why}")))?;
    // Its items are remembered when they are first told.
    let subscription = Subscription { title: feed.title, ..Subscription::default() };
    let mut changes = transaction().put(&FEEDS, url, &subscription, Expected::Absent);
    if let Some(left) = &left {
        changes = changes.delete(&FEEDS, left, Expected::Any);
    }
    match changes.commit() {
        Ok(_) => Ok(watched(subscription.title, false)),
        Err(entities::Error::Conflict { .. }) => Ok(watched(subscription.title, true)),
        Err(error) => Err(error.into()),
    }
}

/// Asks the person which of the feeds to watch no more, and gives its address.
fn one_to_leave(feeds: &[Document<Subscription>]) -> Result<String, Failure> {
    let full = || Failure::Failed(format!("{MOST_FEEDS} feeds are watched already: unwatch one first"));
    let choices = feeds.iter().map(|feed| json!({ "const": feed.key, "title": feed.value.title }));
    let choices: Vec<_> = choices.collect();
    let schema = json!({
        "type": "object",
        "properties": { "feed": { "type": "string", "title": "Feed", "oneOf": choices } },
        "required": ["feed"],
    });
    let message = format!("{MOST_FEEDS} feeds are watched already. Which of them should be watched no more?");
    match ask::form_with_schema("leave", &message, &schema) {
        Ok(Decision::Accepted(filled)) => filled["feed"].as_str().map(str::to_owned).ok_or_else(full),
        // Nobody is there who could choose, or nobody wants to.
        Ok(Decision::Declined | Decision::Cancelled) | Err(ask::Error::NotAvailable(_)) => Err(full()),
        Err(error) => Err(error.into()),
    }
}

/// Stops watching a feed, and forgets its items.
pub fn unwatch(url: &str) -> Result<Unwatched, Failure> {
    Ok(Unwatched { unwatched: FEEDS.delete(url, Expected::Any)? })
}

/// Lists the feeds.
pub fn list() -> Result<Feeds, Failure> {
    let listed = all()?.into_iter().map(|feed| Listed { url: feed.key, title: feed.value.title });
    Ok(Feeds { feeds: listed.collect() })
}

/// Fetches all feeds and tells what is new.
pub fn digest() -> Result<Digest, Failure> {
    let mut fetched = Vec::new();
    let (mut items, mut problems) = (Vec::new(), Vec::new());
    let feeds = all()?;
    let total = feeds.len();
    for (done, Document { key: url, value: mut subscription, .. }) in feeds.into_iter().enumerate() {
        progress::message(done, total, &format!("reading {}", subscription.title));
        let feed = fetch(&url);
        match &feed {
            Ok(feed) => subscription.merge(feed),
            Err(why) => {
                log::warn!("`{url}`: {why}");
                problems.push(Problem { url: url.clone(), reason: why.clone() });
            }
        }
        items.append(&mut subscription.items);
        fetched.push((url, feed));
    }
    progress::report(total, total);
    let keys = items.iter().map(|item| &item.key).chain(problems.iter().map(|problem| &problem.url));
    let seen: Vec<Seen> = keys.map(|key| Seen { key: key.clone() }).collect();

    match loops::diff_since_last_run(&seen) {
        Ok(difference) => {
            remember(&fetched, false)?;
            let new: BTreeSet<String> = difference.added.into_iter().map(|seen| seen.key).collect();
            items.retain(|item| new.contains(&item.key));
            problems.retain(|problem| new.contains(&problem.url));
            Ok(report(items, problems))
        }
        // Not a run of a loop.
        Err(loops::Error::NotFound(_)) => Ok(report(remember(&fetched, true)?, problems)),
        Err(error) => Err(error.into()),
    }
}

fn report(items: Vec<Item>, problems: Vec<Problem>) -> Digest {
    Digest { nothing_to_report: items.is_empty() && problems.is_empty(), items, problems }
}

/// Keeps what was fetched, all of it or nothing. For a caller also marks what is told, and gives that.
fn remember(fetched: &[(String, Result<Feed, String>)], to_caller: bool) -> Result<Vec<Item>, Failure> {
    for _ in 0..ATTEMPTS {
        let (mut changes, mut told) = (transaction(), Vec::new());
        for (url, feed) in fetched {
            // Nobody watches it any more.
            let Some(there) = FEEDS.get(url)? else { continue };
            let mut subscription = there.value.clone();
            if let Ok(feed) = feed {
                subscription.merge(feed);
            }
            if to_caller {
                told.extend(subscription.tell());
            }
            if subscription != there.value {
                changes = changes.put(&FEEDS, url, &subscription, Expected::Version(there.version));
            }
        }
        match changes.commit() {
            Ok(_) => return Ok(told),
            Err(entities::Error::Conflict { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(Failure::Failed("the feeds are being changed by others: try again".to_owned()))
}

impl Subscription {
    /// Adds what the feed shows now before what it showed earlier.
    fn merge(&mut self, feed: &Feed) {
        self.title.clone_from(&feed.title);
        let shown: BTreeSet<&str> = feed.items.iter().map(|item| item.key.as_str()).collect();
        let earlier = self.items.drain(..).filter(|item| !shown.contains(item.key.as_str()));
        let items = feed.items.iter().cloned().chain(earlier);
        self.items = items.take(REMEMBERED).collect();
        self.told.retain(|key| self.items.iter().any(|item| item.key == *key));
    }

    /// Marks all items as told, and gives those that were not.
    fn tell(&mut self) -> Vec<Item> {
        let Self { items, told, .. } = self;
        items.iter().filter(|item| told.insert(item.key.clone())).cloned().collect()
    }
}

fn all() -> Result<Vec<Document<Subscription>>, entities::Error> {
    FEEDS.list("").take(MOST_FEEDS).collect()
}

fn fetch(url: &str) -> Result<Feed, String> {
    let request = http::get(url)
        .header("accept", "application/rss+xml, application/atom+xml, application/xml;q=0.9, */*;q=0.1")
        .timeout_ms(FETCH_MS);
    let response = request.send().map_err(|error| error.to_string())?;
    if !response.is_success() {
        return Err(format!("the server answered with status {}", response.status));
    }
    feed::read(&response.body, url)
}
