//! The digest capability: what each tool takes and gives. What a feed says is read in `feed.rs`, what is new is
//! decided in `watch.rs`.

mod feed;
mod plain;
#[cfg(test)]
mod tests;
mod watch;

/// The tools.
#[remit_sdk::capability]
pub mod digest {
    use remit_sdk::Failure;

    use crate::watch::{self, Digest, Feeds, Unwatched, Watched};

    /// Watches a feed: from now on, its items are part of each digest.
    #[tool(title = "Watch a feed", destructive = false, idempotent, keywords("subscribe", "rss", "atom"))]
    pub fn watch_feed(
        /// The address of an RSS or Atom feed.
        #[schema(pattern = "^https://[^ ]+$", max_length = 500)]
        url: &str,
    ) -> Result<Watched, Failure> {
        watch::watch(url)
    }

    /// Stops watching a feed.
    #[tool(title = "Stop watching a feed", idempotent, keywords("unsubscribe"))]
    pub fn unwatch_feed(
        /// The address, as `list_feeds` gives it.
        #[schema(min_length = 1, max_length = 500)]
        url: &str,
    ) -> Result<Unwatched, Failure> {
        watch::unwatch(url)
    }

    /// Lists the feeds that are watched.
    #[tool(title = "List feeds", read_only, idempotent, open_world = false, keywords("subscriptions"))]
    pub fn list_feeds() -> Result<Feeds, Failure> {
        watch::list()
    }

    /// Tells what is new in the watched feeds since it was last asked, and which feeds cannot be read.
    ///
    /// The loop `hourly` asks for itself: what it was told is told again to a caller who was not told yet.
    #[tool(title = "What is new", destructive = false, keywords("news", "updates"))]
    pub fn digest() -> Result<Digest, Failure> {
        watch::digest()
    }
}
