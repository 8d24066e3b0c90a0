//! What is written is read back, and what was edited wrongly is refused with its line.

use super::*;
use crate::error::ErrorKind;
use crate::policy::Place;

fn digest(of: &str) -> Digest {
    Digest::of(of.as_bytes())
}

fn entry(slug: &str, origin: Option<Origin>) -> Locked {
    let grant = |namespace, entry: &str| Grant {
        namespace,
        entry: Some(entry.to_owned()).filter(|entry| !entry.is_empty()),
    };
    let approval = |host: &str, port, expires_at| Approval {
        secret: "API_KEY".to_owned(),
        source: "WORK_KEY".to_owned(),
        host: host.to_owned(),
        port,
        place: Place::Header("authorization".to_owned()),
        expires_at,
    };
    Locked {
        name: CapabilityName { publisher: "acme".to_owned(), slug: slug.to_owned() },
        version: Version::new(1, 2, 0),
        component: digest(slug),
        tools: digest("tools"),
        grants: digest("grants"),
        granted: vec![
            grant(NamespaceName::Http, ""),
            grant(NamespaceName::Http, "*.cdn.example.com:8443"),
            grant(NamespaceName::Http, "api.example.com"),
            grant(NamespaceName::Loops, ""),
            grant(NamespaceName::Loops, "every=1h"),
        ],
        approved: vec![
            approval("api.example.com", 443, None),
            approval("api.example.com", 8443, Some(1_800_000_000_000)),
        ],
        origin,
        engine: ENGINE.to_owned(),
        position: Position(0),
    }
}

fn lock() -> Lock {
    let origin = Origin {
        registry: "main".to_owned(),
        key: "k1 \"quoted\"".to_owned(),
        reviewer: "ada".to_owned(),
        reviewed_at: 1_700_000_000_123,
    };
    Lock { entries: vec![entry("notes", None), entry("weather", Some(origin))] }
}

#[test]
fn what_is_written_is_read_and_written_the_same_again() {
    let text = write(&lock());
    assert_eq!(read("remit.lock", &text).unwrap(), lock());
    assert_eq!(write(&read("remit.lock", &text).unwrap()), text);
    let backwards = Lock { entries: lock().entries.into_iter().rev().collect() };
    assert_eq!(write(&backwards), text, "the order of installs is none of the text's");
    assert_eq!(read("remit.lock", "version = 1\n").unwrap(), Lock::default());
    insta::assert_snapshot!(text);
}

#[test]
fn c_26_c_27_c_28_what_was_edited_wrongly_is_refused_with_its_line() {
    use ErrorKind::{LockDigest, LockInvalid, LockUnpinned, VersionInexact};
    let text = write(&lock());
    let component = digest("notes").to_string();
    let line = |part: &str| text.lines().position(|line| line.contains(part)).unwrap() + 1;
    let at_component = line(&component);
    type Edit<'a> = (&'a str, String, String, ErrorKind, usize);
    let edit = |what, from: &str, to: &str, kind, line| -> Edit<'_> {
        (what, from.to_owned(), to.to_owned(), kind, line)
    };
    let hex = component.trim_start_matches("sha256:");
    let cases = [
        edit("upper case", hex, &hex.to_uppercase(), LockDigest, at_component),
        edit("sha512", &component, &component.replace("sha256", "sha512"), LockDigest, at_component),
        edit("63 digits", hex, &hex[..63], LockDigest, at_component),
        edit("65 digits", hex, &format!("{hex}0"), LockDigest, at_component),
        edit("no prefix", &component, hex, LockDigest, at_component),
        edit("empty", &component, "", LockDigest, at_component),
        edit("spaces", &component, &format!(" {component}"), LockDigest, at_component),
        edit("tools digest", &digest("tools").to_string(), "sha256:00", LockDigest, line("tools-digest")),
        edit("grants digest", &digest("grants").to_string(), "sha1:00", LockDigest, line("grants-digest")),
        edit(
            "no component digest",
            &format!("component-digest = \"{component}\"\n"),
            "",
            LockUnpinned,
            line("acme/notes"),
        ),
        edit(
            "no tools digest",
            &format!("tools-digest = \"{}\"\n", digest("tools")),
            "",
            LockUnpinned,
            line("acme/notes"),
        ),
        edit("caret", "\"1.2.0\"", "\"^1.2.0\"", VersionInexact, line("version = \"1.2.0\"")),
        edit("star", "\"1.2.0\"", "\"*\"", VersionInexact, line("version = \"1.2.0\"")),
        edit("latest", "\"1.2.0\"", "\"latest\"", VersionInexact, line("version = \"1.2.0\"")),
        edit("part", "\"1.2.0\"", "\"1.2\"", VersionInexact, line("version = \"1.2.0\"")),
        edit("build metadata", "\"1.2.0\"", "\"1.2.0+a\"", VersionInexact, line("version = \"1.2.0\"")),
        edit("no number", "\"1.2.0\"", "1", LockInvalid, line("version = \"1.2.0\"")),
        edit("another form", "version = 1\n", "version = 2\n", LockInvalid, 2),
        edit("unknown field", "engine =", "motor =", LockInvalid, line("engine")),
        edit("unknown table", "version = 1\n", "version = 1\nextra = 1\n", LockInvalid, 3),
        edit("a field twice", "engine =", "name = \"a/b\"\nengine =", LockInvalid, line("engine")),
        edit("an entry twice", "acme/weather", "acme/notes", LockInvalid, line("acme/weather")),
        edit("a name", "acme/notes", "../notes", LockInvalid, line("acme/notes")),
        edit("a grant", "\"http:api.example.com\"", "\"htpp\"", LockInvalid, line("\"http:api.example.com\"")),
        edit(
            "an empty entry",
            "\"http:api.example.com\"",
            "\"http:\"",
            LockInvalid,
            line("\"http:api.example.com\""),
        ),
        edit("a grant twice", "\"loops:every=1h\"", "\"http\"", LockInvalid, line("\"loops:every=1h\"")),
        edit("a place", "header:authorization", "header:Authorization", LockInvalid, line("header:authorization")),
        edit("a port", "api.example.com:8443\"", "api.example.com:0\"", LockInvalid, line("com:8443\", place")),
        edit("an unknown approval field", "stored-as", "source", LockInvalid, line("stored-as")),
        edit(
            "an approval twice",
            "api.example.com:8443\"",
            "api.example.com\"",
            LockInvalid,
            line("com:8443\", place"),
        ),
        edit("half an origin", "reviewer = \"ada\"\n", "", LockInvalid, line("acme/weather")),
        edit("no syntax", "[[capability]]", "[[capability]", LockInvalid, line("[[capability]]")),
    ];
    for (what, from, to, kind, line) in cases {
        let edited = text.replacen(&from, &to, 1);
        assert_ne!(edited, text, "{what}: nothing was edited");
        let error = read("remit.lock", &edited).map(|_| what).unwrap_err();
        assert_eq!(error.kind, kind, "{what}: {error}");
        assert!(error.message.starts_with(&format!("`remit.lock` line {line}: ")), "{what}: {error}");
    }
}

#[test]
fn any_flipped_byte_of_a_lock_is_refused_or_decides_something_else() {
    let text = write(&lock());
    let comment = text.lines().next().unwrap().len();
    for at in comment..text.len() {
        let mut bytes = text.clone().into_bytes();
        bytes[at] ^= 1;
        let Ok(flipped) = String::from_utf8(bytes) else { continue };
        // The engine is told, and decides nothing; white space is none of the text's meaning.
        if let Ok(read) = read("remit.lock", &flipped) {
            let is_told = !differences(&read, &lock()).is_empty();
            let is_layout = text.as_bytes()[at].is_ascii_whitespace();
            let is_engine = read.entries.iter().any(|entry| entry.engine != ENGINE);
            assert!(is_told || is_layout || is_engine, "byte {at} of {flipped}");
        }
    }
}

#[test]
fn a_home_is_compared_line_by_line() {
    let mut home = lock();
    assert_eq!(differences(&lock(), &home), [""; 0]);
    home.entries[0].engine = "remit 9.9.9".to_owned();
    assert_eq!(differences(&lock(), &home), [""; 0]);
    home.entries[0].version = Version::new(1, 3, 0);
    home.entries[0].granted.pop();
    home.entries[0].approved.remove(0);
    home.entries[1].name.slug = "other".to_owned();
    assert_eq!(
        differences(&lock(), &home),
        [
            "acme/notes: not approved, as in the lock: { secret = \"API_KEY\", stored-as = \"WORK_KEY\", \
             host = \"api.example.com\", place = \"header:authorization\" }",
            "acme/notes: not granted, as in the lock: loops:every=1h",
            "acme/notes: version is 1.3.0, in the lock 1.2.0",
            "acme/other@1.2.0: not in the lock",
            "acme/weather@1.2.0: not installed",
        ]
    );
}
