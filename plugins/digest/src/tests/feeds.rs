//! What strangers write into feeds.

use crate::feed::{Feed, Item, MOST_ITEMS, read};

const URL: &str = "https://feeds.example.com/news/all.xml";

fn rss(items: &str) -> Feed {
    let feed = format!("<?xml version='1.0'?><rss version='2.0'><channel><title>T</title>{items}</channel></rss>");
    read(feed.as_bytes(), URL).expect("a feed")
}

fn atom(entries: &str) -> Feed {
    let feed = format!("<feed xmlns='http://www.w3.org/2005/Atom'><title>T</title>{entries}</feed>");
    read(feed.as_bytes(), URL).expect("a feed")
}

fn only(feed: Feed) -> Item {
    let [item] = <[Item; 1]>::try_from(feed.items).expect("one item");
    item
}

fn titles(feed: &Feed) -> Vec<&str> {
    feed.items.iter().map(|item| item.title.as_str()).collect()
}

#[test]
fn rss_and_atom_say_the_same() {
    let of_rss =
        only(rss("<item><title>One</title><link>https://a.example/1</link><guid>https://a.example/1</guid>\
         <pubDate>Mon, 02 Nov 2026 10:00:00 +0100</pubDate></item>"));
    let of_atom = only(atom(
        "<entry><title>One</title><id>https://a.example/1</id><link href='https://a.example/1'/>\
         <updated>2026-11-02T10:00:00+01:00</updated></entry>",
    ));
    assert_eq!(of_rss, of_atom);
    assert_eq!(of_rss.link.as_deref(), Some("https://a.example/1"));
    assert_eq!(of_rss.published.as_deref(), Some("2026-11-02T10:00:00+01:00"));
    assert_eq!((of_rss.feed.as_str(), of_rss.key.len()), ("T", 32));
}

#[test]
fn old_rss_is_read() {
    let feed = "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns='http://purl.org/rss/1.0/'>\
        <channel><title>Old</title><link>https://a.example/</link><description/></channel>\
        <item><title>One</title><link>https://a.example/1</link></item></rdf:RDF>";
    let feed = read(feed.as_bytes(), URL).expect("a feed");
    assert_eq!((feed.title.as_str(), titles(&feed)), ("Old", vec!["One"]));
}

#[test]
fn broken_feeds_say_why() {
    let deep = format!("<rss><channel><x:a xmlns:x='u'>{}</x:a></channel></rss>", "<x:b>".repeat(100_000));
    let entities = "<!DOCTYPE rss [<!ENTITY a 'aaaaaaaa'><!ENTITY b '&a;&a;&a;&a;'>]>\
        <rss><channel><title>&b;</title></channel></rss>";
    for broken in [
        "",
        "not XML",
        "<rss>",
        "<rss><channel><title>T</channel></rss>",
        "<rss><channel><item><title>One</title>",
        "<rss version='2.0'></rss>",
        "<html/>",
        "{\"version\":\"https://jsonfeed.org/version/1\"}",
        "<feed><entry></feed>",
        "\u{0}\u{1}\u{2}",
        &deep,
    ] {
        let refused = read(broken.as_bytes(), URL).expect_err("it is broken");
        assert!(refused.starts_with("it ") || refused.starts_with("its "), "{refused}");
        assert!(refused.chars().count() < 300, "{refused}");
    }
    // Entities of its own are not expanded.
    if let Ok(feed) = read(entities.as_bytes(), URL) {
        assert!(!feed.title.contains("aaaa"), "{}", feed.title);
    }
    assert!(read(&[0xff, 0xfe, 0x00], URL).is_err());
}

#[test]
fn huge_feeds_are_cut() {
    let items: String = (0..10_000).map(|number| format!("<item><title>Item {number}</title></item>")).collect();
    let feed = rss(&items);
    assert_eq!(feed.items.len(), MOST_ITEMS);
    assert_eq!(feed.items[0].title, "Item 0");
    let long = only(rss(&format!(
        "<item><title>{}</title><guid>{}</guid></item>",
        "a".repeat(100_000),
        "g".repeat(100_000)
    )));
    assert_eq!((long.title.chars().count(), long.key.len()), (200, 32));
}

#[test]
fn repeated_items_count_once() {
    let feed = rss("<item><title>One</title><guid>1</guid></item><item><title>Again</title><guid>1</guid></item>");
    assert_eq!(titles(&feed), ["One"]);
    let feed =
        rss("<item><title>One</title></item><item><title>One</title></item><item><title>Two</title></item>");
    assert_eq!(titles(&feed), ["One", "Two"]);
}

#[test]
fn an_identifier_is_the_feeds_own() {
    let item = "<rss><channel><title>T</title><item><title>One</title><guid>1</guid></item></channel></rss>";
    let here = only(read(item.as_bytes(), URL).expect("a feed"));
    let there = only(read(item.as_bytes(), "https://feeds.example.com/other").expect("a feed"));
    assert_ne!(here.key, there.key);
    let retitled = item.replace("One", "One, corrected");
    assert_eq!(only(read(retitled.as_bytes(), URL).expect("a feed")).key, here.key);
}

#[test]
fn dates_may_be_missing_or_odd() {
    let of_rss = |date: &str| only(rss(&format!("<item><title>One</title>{date}</item>"))).published;
    assert_eq!(of_rss(""), None);
    assert_eq!(of_rss("<pubDate/>"), None);
    assert_eq!(of_rss("<pubDate>soon</pubDate>"), None);
    assert_eq!(of_rss("<pubDate>2026-11-02T10:00:00Z</pubDate>").as_deref(), Some("2026-11-02T10:00:00+00:00"));
    let of_atom = only(atom("<entry><title>One</title><id>1</id></entry>"));
    assert_eq!(of_atom.published, None);
}

#[test]
fn titles_are_plain() {
    let title = |title: &str| only(rss(&format!("<item>{title}<guid>1</guid></item>"))).title;
    assert_eq!(title("<title>&lt;b&gt;Bold&lt;/b&gt; &amp;amp; new</title>"), "Bold & new");
    assert_eq!(title("<title><![CDATA[<a href='x'>Link</a>\n&eacute;]]></title>"), "Link &eacute;");
    assert_eq!(title("<title/><description>What it &lt;i&gt;says&lt;/i&gt;</description>"), "What it says");
    assert_eq!(only(atom("<entry><title type='html'>&lt;b&gt;x&lt;/b&gt;</title><id>1</id></entry>")).title, "x");
}

#[test]
fn an_item_that_says_nothing_is_none() {
    assert_eq!(titles(&rss("<item/><item><guid isPermaLink='false'>1</guid></item>")), [""; 0]);
    assert_eq!(titles(&rss("<item><link>https://a.example/</link></item>")), ["https://a.example/"]);
}

#[test]
fn links_become_absolute() {
    let link = |link: &str| only(rss(&format!("<item><title>One</title><link>{link}</link></item>"))).link;
    for (written, expected) in [
        ("/1", Some("https://feeds.example.com/1")),
        ("1?a=b", Some("https://feeds.example.com/news/1?a=b")),
        ("../1", Some("https://feeds.example.com/1")),
        ("//a.example/1", Some("https://a.example/1")),
        ("http://a.example/a b", Some("http://a.example/a%20b")),
        ("https://a.example/é", Some("https://a.example/é")),
        ("javascript:alert(1)", None),
        ("data:text/html,x", None),
        ("https://[", None),
    ] {
        assert_eq!(link(written).as_deref(), expected, "{written}");
    }
    let long = format!("https://a.example/{}", "x".repeat(500));
    assert_eq!(link(&long), None);

    let base = "<feed xmlns='http://www.w3.org/2005/Atom' xml:base='https://b.example/x/'><title>T</title>\
        <entry><title>One</title><id>1</id><link rel='self' href='self'/><link rel='alternate' href='1'/></entry></feed>";
    assert_eq!(only(read(base.as_bytes(), URL).expect("a feed")).link.as_deref(), Some("https://b.example/x/1"));
}

#[test]
fn other_encodings_are_read() {
    let mut feed = b"<?xml version='1.0' encoding='ISO-8859-1'?><rss><channel><title>caf\xe9</title>".to_vec();
    feed.extend(b"<item><title>\xfcber</title></item></channel></rss>");
    let feed = read(&feed, URL).expect("a feed");
    assert_eq!((feed.title.as_str(), titles(&feed)), ("café", vec!["über"]));
}
