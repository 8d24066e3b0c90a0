//! The tools against scripted feeds, with documents and loops in memory.

mod feeds;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use remit_sdk::http::{Error, Response};
use remit_sdk::serde_json::{self, Value, json};
use remit_sdk::{Context, Failure, testing};

use crate::digest::Capability as Digest;

const NEWS: &str = "https://feeds.example.com/news.xml";
const BLOG: &str = "https://feeds.example.com/blog.xml";

/// What the web says now, by address. What is not there is not found.
#[derive(Clone, Default)]
struct Web(Rc<RefCell<BTreeMap<&'static str, String>>>);

impl Web {
    /// An empty web, and a capability that was just installed.
    fn new() -> Self {
        let web = Self::default();
        testing::entities(&["feeds"]);
        testing::loops();
        let pages = Rc::clone(&web.0);
        testing::http(move |request| {
            if request.url.contains("refused") {
                return Err(Error::HostNotAllowed("refused.example".to_owned()));
            }
            let page = pages.borrow().get(request.url.as_str()).cloned();
            let status = if page.is_some() { 200 } else { 404 };
            Ok(Response { status, headers: Vec::new(), body: page.unwrap_or_default().into_bytes() })
        });
        web
    }

    fn shows(&self, url: &'static str, items: &[&str]) {
        self.0.borrow_mut().insert(url, rss(items));
    }

    fn fails(&self, url: &'static str) {
        self.0.borrow_mut().remove(url);
    }
}

fn rss(items: &[&str]) -> String {
    let item =
        |title: &&str| format!("<item><title>{title}</title><guid isPermaLink='false'>id {title}</guid></item>");
    let items: String = items.iter().map(item).collect();
    format!("<rss version='2.0'><channel><title>News</title><link>/</link>{items}</channel></rss>")
}

fn call(tool: &str, input: &Value) -> Result<Value, Failure> {
    let reply = testing::call::<Digest>(tool, input)?;
    Ok(serde_json::from_str(&reply.structured.expect("answers are structured")).expect("they are JSON"))
}

fn watch(url: &str) {
    call("watch_feed", &json!({ "url": url })).expect("watched");
}

/// Titles and failing addresses; checks that the answer says whether that is nothing.
fn told(answer: &Value) -> Vec<String> {
    let texts = |list: &str, member: &str| -> Vec<String> {
        let list = answer[list].as_array().expect("a list").iter();
        list.filter_map(|entry| entry[member].as_str()).map(str::to_owned).collect()
    };
    let told = [texts("items", "title"), texts("problems", "url")].concat();
    assert_eq!(answer["nothingToReport"], told.is_empty());
    told
}

fn by_hand() -> Vec<String> {
    told(&call("digest", &json!({})).expect("a digest"))
}

fn in_a_run() -> Vec<String> {
    told(&testing::run(|| call("digest", &json!({}))).expect("a digest"))
}

#[test]
fn feeds_are_watched_and_left() {
    let web = Web::new();
    web.shows(NEWS, &["a"]);
    let watched = call("watch_feed", &json!({ "url": NEWS }));
    assert_eq!(watched, Ok(json!({ "url": NEWS, "title": "News", "already": false })));
    let again = call("watch_feed", &json!({ "url": NEWS }));
    assert_eq!(again, Ok(json!({ "url": NEWS, "title": "News", "already": true })));
    assert_eq!(call("list_feeds", &json!({})), Ok(json!({ "feeds": [{ "url": NEWS, "title": "News" }] })));
    assert_eq!(call("unwatch_feed", &json!({ "url": NEWS })), Ok(json!({ "unwatched": true })));
    assert_eq!(call("unwatch_feed", &json!({ "url": NEWS })), Ok(json!({ "unwatched": false })));
    assert_eq!(call("list_feeds", &json!({})), Ok(json!({ "feeds": [] })));
}

#[test]
fn what_cannot_be_read_is_not_watched() {
    let web = Web::new();
    web.0.borrow_mut().insert(BLOG, "<html><body>Hello</body></html>".to_owned());
    for (url, why) in [
        (NEWS, "status 404"),
        (BLOG, "neither RSS nor Atom"),
        ("https://refused.example/", "requests to `refused.example` are not allowed"),
    ] {
        let refused = call("watch_feed", &json!({ "url": url }));
        assert!(matches!(&refused, Err(Failure::Failed(text)) if text.contains(why)), "{refused:?}");
    }
    assert_eq!(call("list_feeds", &json!({})), Ok(json!({ "feeds": [] })));
}

#[test]
fn feeds_are_bounded() {
    let web = Web::new();
    for number in 0..21 {
        let url: &'static str = format!("https://feeds.example.com/{number}").leak();
        web.shows(url, &[]);
        let watched = call("watch_feed", &json!({ "url": url }));
        assert_eq!(watched.is_ok(), number < 20, "{number}: {watched:?}");
    }
}

#[test]
fn at_the_bound_a_person_chooses_which_to_leave() {
    let web = Web::new();
    let urls: Vec<&'static str> =
        (0..21).map(|number| &*format!("https://feeds.example.com/{number}").leak()).collect();
    for url in &urls {
        web.shows(url, &["a"]);
    }
    urls[..20].iter().for_each(|url| watch(url));
    let listed = || -> Vec<String> {
        let feeds = call("list_feeds", &json!({})).expect("a list");
        feeds["feeds"].as_array().expect("a list").iter().map(|feed| feed["url"].to_string()).collect()
    };
    let before = listed();
    let _client = testing::client().declines("leave");
    let refused = call("watch_feed", &json!({ "url": urls[20] }));
    assert!(matches!(refused, Err(Failure::Failed(_))), "{refused:?}");
    assert_eq!(listed(), before);

    let client = testing::client().accepts("leave", &json!({ "feed": urls[3] }));
    watch(urls[20]);
    assert_eq!(client.asked().len(), 1);
    let after = listed();
    assert_eq!(after.len(), 20);
    assert!(after.contains(&json!(urls[20]).to_string()) && !after.contains(&json!(urls[3]).to_string()));
}

#[test]
fn a_digest_tells_how_far_it_is() {
    let web = Web::new();
    for url in [NEWS, BLOG] {
        web.shows(url, &["a"]);
        watch(url);
    }
    by_hand();
    let told: Vec<_> = testing::progress().into_iter().map(|report| (report.done, report.total)).collect();
    assert_eq!(told, [0.0, 1.0, 2.0].map(|done| (done, Some(2.0))));
}

#[test]
fn callers_are_told_once() {
    let web = Web::new();
    assert_eq!(by_hand(), [""; 0], "nothing is watched");
    web.shows(NEWS, &["b", "a"]);
    watch(NEWS);
    assert_eq!(by_hand(), ["b", "a"]);
    assert_eq!(by_hand(), [""; 0]);
    web.shows(NEWS, &["c", "b", "a"]);
    assert_eq!(by_hand(), ["c"]);
    assert_eq!(by_hand(), [""; 0]);
}

#[test]
fn a_loop_is_told_once() {
    let web = Web::new();
    web.shows(NEWS, &["b", "a"]);
    watch(NEWS);
    assert_eq!(in_a_run(), ["b", "a"]);
    assert_eq!(in_a_run(), [""; 0]);
    web.shows(NEWS, &["c", "b"]);
    assert_eq!(in_a_run(), ["c"]);
    web.shows(NEWS, &["c", "b", "a"]);
    assert_eq!(in_a_run(), [""; 0], "what comes back is not new");
}

#[test]
fn a_loop_and_a_caller_are_two_readers() {
    let web = Web::new();
    web.shows(NEWS, &["a"]);
    watch(NEWS);
    assert_eq!(by_hand(), ["a"]);
    assert_eq!(in_a_run(), ["a"]);
    web.shows(NEWS, &["b", "a"]);
    assert_eq!(in_a_run(), ["b"]);
    assert_eq!(by_hand(), ["b"]);
    assert_eq!((in_a_run(), by_hand()), (Vec::new(), Vec::new()));
}

#[test]
fn what_an_interrupted_run_found_is_told_by_the_next() {
    let web = Web::new();
    web.shows(NEWS, &["a"]);
    watch(NEWS);
    assert_eq!(in_a_run(), ["a"]);
    web.shows(NEWS, &["b", "a"]);
    let interrupted: Result<(), ()> = testing::run(|| {
        assert_eq!(told(&call("digest", &json!({})).expect("a digest")), ["b"]);
        Err(())
    });
    assert_eq!(interrupted, Err(()));
    // Even when the feed shows it no more.
    web.shows(NEWS, &["c"]);
    assert_eq!(in_a_run(), ["c", "b"]);
}

#[test]
fn a_feed_that_fails_brings_nothing_back_and_is_told_when_it_begins() {
    let web = Web::new();
    web.shows(NEWS, &["a"]);
    web.shows(BLOG, &["x"]);
    watch(NEWS);
    watch(BLOG);
    assert_eq!(in_a_run(), ["x", "a"]);
    web.fails(NEWS);
    web.shows(BLOG, &["y", "x"]);
    assert_eq!(in_a_run(), ["y", NEWS]);
    assert_eq!(in_a_run(), [""; 0]);
    assert_eq!(by_hand(), ["y", "x", "a", NEWS]);
    web.shows(NEWS, &["b", "a"]);
    assert_eq!(in_a_run(), ["b"]);
    web.fails(NEWS);
    assert_eq!(in_a_run(), [NEWS], "it begins again");
}

#[test]
fn a_dry_run_marks_nothing() {
    let web = Web::new();
    web.shows(NEWS, &["a"]);
    watch(NEWS);
    let context = Context { dry_run: true, ..testing::context() };
    assert!(testing::call_with::<Digest>("digest", &json!({}), &context).is_ok());
    assert_eq!(by_hand(), ["a"]);
}

#[test]
fn full_feeds_fit_into_a_document() {
    let web = Web::new();
    let titles = |from: u32| -> Vec<String> {
        (from..from + 40).map(|number| format!("{number} {}", "&quot;é".repeat(200))).collect()
    };
    for from in [0, 100, 200] {
        let titles = titles(from);
        web.shows(NEWS, &titles.iter().map(String::as_str).collect::<Vec<_>>());
        if from == 0 {
            watch(NEWS);
        }
        assert_eq!(by_hand().len(), 30);
    }
    assert_eq!(by_hand(), [""; 0]);
}

#[test]
fn many_full_feeds_can_be_compared() {
    let web = Web::new();
    for from in [0, 100] {
        let titles: Vec<String> =
            (from..from + 30).map(|number| format!("{number} {}", "é".repeat(300))).collect();
        let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
        for number in 0..20 {
            let url: &'static str = format!("https://feeds.example.com/{number}").leak();
            web.shows(url, &titles);
            watch(url);
        }
        assert_eq!(in_a_run().len(), 600);
    }
    for number in 0..20 {
        web.fails(format!("https://feeds.example.com/{number}").leak());
    }
    assert_eq!(in_a_run().len(), 20, "900 items and 20 problems");
}
