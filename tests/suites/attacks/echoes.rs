//! Attacks by a server that sends the value back: in every spelling, in every part of an answer, cut anywhere. The
//! approved host is trusted with the value; the guest is not.

use remit_upstream::Seen;
use serde_json::{Value, json};

use super::{AWKWARD, body, told};
use crate::support::spellings::{self, Family, Spelling};
use crate::support::world::{HOST, SECRET, World, approval, authorization};

const MARKER: &str = "[redacted:API_KEY]";

/// A world whose server answers as `answer` makes of the value that it got and the path.
fn world(value: &str, answer: fn(&str, &str) -> Vec<Vec<u8>>) -> World {
    let world = World::raw(move |seen: &Seen| {
        let key = seen.header("authorization").and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default();
        answer(key, seen.path.trim_start_matches('/'))
    })
    .granted()
    .with_secret(HOST, &[authorization()]);
    world.set("API_KEY", value);
    world
}

fn with_key(path: &str) -> Value {
    json!({ "url": format!("https://{HOST}/{path}"), "headers": ["authorization: Bearer {{API_KEY}}"] })
}

/// One answer with these fields and this body.
fn answer(fields: &[(&str, &[u8])], body: &[u8]) -> Vec<Vec<u8>> {
    let mut bytes = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n", body.len()).into_bytes();
    for (name, value) in fields {
        bytes.extend([name.as_bytes(), b": ", value, b"\r\n"].concat());
    }
    vec![[&bytes, &b"\r\n"[..], body].concat()]
}

/// Between these the value stands, so that nothing but the value is cut out.
fn among(spelling: &Spelling) -> Vec<u8> {
    [b"before ", &spelling.whole[..], b" after"].concat()
}

/// The spelling of this number, in the body and in every field that a guest sees.
fn everywhere(family: Family, key: &str, number: &str) -> Vec<Vec<u8>> {
    let spelling = family(key).swap_remove(number.parse().unwrap_or_default());
    let text = among(&spelling);
    let fields: &[&str] =
        if spelling.is_visible() { &["x-echo", "etag", "location", "link", "content-type"] } else { &[] };
    let fields: Vec<_> = fields.iter().map(|name| (*name, text.as_slice())).collect();
    answer(&fields, &text)
}

/// Asserts that a guest never sees the value in these spellings: not in the answer, not through what it says of it,
/// logs, or fails with; nor does the record keep it.
fn comes_back_clean(family: Family, answer: fn(&str, &str) -> Vec<Vec<u8>>) {
    for value in [SECRET, AWKWARD] {
        let world = world(value, answer);
        for (number, spelling) in family(value).iter().enumerate() {
            let name = &spelling.name;
            let clean = |place: &str, text: &str| {
                assert!(!spelling.is_in(text.as_bytes()), "{value} as {name} in {place}: {text}");
            };
            let reply = world.fetch(&with_key(&number.to_string())).expect("an answer");
            let seen = reply.structured.clone().expect("structured");
            let whole = spelling.core == spelling.whole;
            let expected = format!("before {MARKER} after");
            let mut fields = 0;
            for text in seen["headers"].as_array().expect("fields").iter().chain([&seen["body"]]) {
                let text = text.as_str().expect("text");
                clean("the answer", text);
                if text.contains("before ") {
                    assert!(!whole || text.ends_with(&expected), "{value} as {name}: {text}");
                    assert!(text.contains(MARKER), "{value} as {name}: {text}");
                    fields += 1;
                }
            }
            assert_eq!(fields, if spelling.is_visible() { 6 } else { 1 }, "{value} as {name}");
            clean("the reply", &format!("{reply:?}"));

            let mut complaint = with_key(&number.to_string());
            complaint["message"] = json!("it said:");
            let failure = world.home.call("test/probe.complain", &complaint).expect_err("it complains");
            assert!(failure.error.message.contains(MARKER), "{value} as {name}: {failure:?}");
            clean("an error", &failure.error.message);
            let record = &world.home.records()[0];
            assert_eq!(record.log.len(), 1);
            clean("the record", &format!("{record:?}"));
        }
    }
}

#[test]
fn s17_an_echo_as_it_is() {
    comes_back_clean(spellings::raw, |key, number| everywhere(spellings::raw, key, number));
}

#[test]
fn s18_an_echo_in_base64() {
    comes_back_clean(spellings::base64, |key, number| everywhere(spellings::base64, key, number));
}

#[test]
fn s19_an_echo_in_hexadecimal() {
    comes_back_clean(spellings::hex, |key, number| everywhere(spellings::hex, key, number));
}

#[test]
fn s20_an_echo_percent_encoded() {
    comes_back_clean(spellings::percent, |key, number| everywhere(spellings::percent, key, number));
}

#[test]
fn s21_an_echo_as_a_json_string() {
    comes_back_clean(spellings::json, |key, number| everywhere(spellings::json, key, number));
}

#[test]
fn s22_an_echo_in_entities() {
    comes_back_clean(spellings::entities, |key, number| everywhere(spellings::entities, key, number));
}

#[test]
fn s23_an_echo_in_utf16() {
    comes_back_clean(spellings::utf16, |key, number| everywhere(spellings::utf16, key, number));
}

fn chunk(bytes: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
}

/// An answer in chunks: `cut/N` holds the spelling of this number once for each place where it can be cut in two,
/// `bytes/N` once, a byte a chunk.
fn in_chunks(key: &str, path: &str) -> Vec<Vec<u8>> {
    let (how, number) = path.split_once('/').unwrap_or_default();
    let whole = spellings::all(key).swap_remove(number.parse().unwrap_or_default()).whole;
    let mut pieces = vec![b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_vec()];
    if how == "cut" {
        for at in 1..whole.len() {
            pieces.push(chunk(&[b"<", &whole[..at]].concat()));
            pieces.push(chunk(&[&whole[at..], b">"].concat()));
        }
    } else {
        pieces.extend(whole.iter().map(|byte| chunk(&[*byte])));
    }
    pieces.push(b"0\r\n\r\n".to_vec());
    pieces
}

#[test]
fn s24_an_echo_that_is_cut_anywhere() {
    for value in [SECRET, AWKWARD] {
        let world = world(value, in_chunks);
        for (number, spelling) in spellings::all(value).iter().enumerate() {
            let name = &spelling.name;
            let whole = spelling.core == spelling.whole;
            let cut = body(world.fetch(&with_key(&format!("cut/{number}"))));
            let expected = format!("<{MARKER}>").repeat(spelling.whole.len() - 1);
            assert!(!spelling.is_in(cut.as_bytes()) && (!whole || cut == expected), "{value} as {name}: {cut}");
            let bytes = body(world.fetch(&with_key(&format!("bytes/{number}"))));
            assert!(
                !spelling.is_in(bytes.as_bytes()) && (!whole || bytes == MARKER),
                "{value} as {name}: {bytes}"
            );
        }
    }
}

/// The value in the part of an answer that the path names.
fn in_one_place(key: &str, place: &str) -> Vec<Vec<u8>> {
    let text = |text: String| vec![text.into_bytes()];
    let ok = "HTTP/1.1 200 OK\r\n";
    let hexadecimal = String::from_utf8(spellings::hex(key).swap_remove(0).whole).unwrap_or_default();
    match place {
        "reason" => text(format!("HTTP/1.1 200 {key}\r\ncontent-length: 4\r\n\r\nbody")),
        "trailer" => text(format!(
            "{ok}transfer-encoding: chunked\r\ntrailer: x-late\r\n\r\n4\r\nbody\r\n0\r\nx-late: {key}\r\n\r\n"
        )),
        "extension" => {
            text(format!("{ok}transfer-encoding: chunked\r\n\r\n4;x={hexadecimal}\r\nbody\r\n0\r\n\r\n"))
        }
        "hint" => {
            text(format!("HTTP/1.1 103 Early Hints\r\nlink: </{key}>\r\n\r\n{ok}content-length: 4\r\n\r\nbody"))
        }
        "name" => text(format!("{ok}x-{hexadecimal}: 1\r\ncontent-length: 4\r\n\r\nbody")),
        "name-as-it-is" => text(format!("{ok}x-{key}: 1\r\ncontent-length: 4\r\n\r\nbody")),
        "redirect" => text(format!("HTTP/1.1 302 Found\r\nlocation: /{key}\r\ncontent-length: 0\r\n\r\n")),
        "broken" => text(format!("{key}\r\n{key}: {key}\r\n\r\n{key}")),
        "broken-off" => text(format!("{ok}content-length: 1000\r\n\r\n{key}")),
        "two-lengths" => {
            text(format!("{ok}content-length: 24\r\ntransfer-encoding: chunked\r\nx-echo: {key}\r\n\r\n0\r\n\r\n"))
        }
        "too-large" => text(format!("{ok}content-length: 99999999\r\nx-echo: {key}\r\n\r\n{key}")),
        "folded" => text(format!("{ok}x-echo: a\r\n {key}\r\ncontent-length: 4\r\n\r\nbody")),
        field => answer(&[(field, format!("k=\"{key}\"").as_bytes())], b"body"),
    }
}

#[test]
fn s25_an_echo_in_any_other_part_of_an_answer() {
    let world = world(SECRET, in_one_place);
    // Names of fields come in lower case.
    let spellings = [spellings::all(SECRET), spellings::raw(&SECRET.to_lowercase())].concat();
    let clean = |place: &str, text: &str| {
        let spelt = spellings.iter().find(|spelling| spelling.is_in(text.as_bytes()));
        assert!(spelt.is_none(), "{place}, {spelt:?}: {text}");
    };
    // What a guest sees of each: nothing, the marker, or an error in our words.
    let hidden = [
        "reason",
        "trailer",
        "extension",
        "hint",
        "name",
        "name-as-it-is",
        "set-cookie",
        "set-cookie2",
        "www-authenticate",
    ]
    .into_iter()
    .chain(["proxy-authenticate", "authentication-info", "proxy-authentication-info", "authorization", "cookie"])
    .map(|place| (place, ""));
    let marked =
        ["x-echo", "etag", "location", "content-location", "link", "refresh", "server", "content-type", "date"]
            .map(|place| (place, MARKER));
    let refused = [
        ("redirect", "RedirectRefused"),
        ("broken", "ResponseInvalid"),
        ("broken-off", "ResponseInvalid"),
        ("two-lengths", "ResponseInvalid"),
        ("too-large", "ResponseTooLarge"),
        ("folded", "ResponseInvalid"),
    ];
    for (place, expected) in hidden.chain(marked).chain(refused) {
        let result = world.fetch(&with_key(place));
        let told = told(&result);
        clean(place, &told);
        match (&result, expected) {
            (Ok(_), "") => assert!(!told.contains("redacted") && !told.contains(place), "{place}: {told}"),
            (Ok(_), MARKER) => assert!(told.contains(&format!("{place}: k=\\\"{MARKER}\\\"")), "{place}: {told}"),
            (Err(_), words) => assert!(!words.is_empty() && told.starts_with(words), "{place}: {told}"),
            (Ok(_), _) => panic!("{place}: {told}"),
        }
        clean(place, &format!("{:?}", world.home.records()[0]));
    }
    assert_eq!(world.outside.counts().0, world.upstream.seen().len(), "no redirect was followed");
}

#[test]
fn s31_the_length_of_a_value_is_told_by_nothing() {
    let all_that_is_seen = |value: &str| {
        let world = world(value, |key, _| answer(&[("x-echo", key.as_bytes())], key.as_bytes()));
        let reply = world.fetch(&with_key("")).expect("an answer");
        let seen = reply.structured.expect("structured");
        let length = format!("content-length: {}", MARKER.len());
        assert!(seen["headers"].as_array().expect("fields").contains(&json!(length)), "{seen}");
        let usage = remit::audit::Usage { time: std::time::Duration::ZERO, ..reply.usage };
        let record = &world.home.records()[0];
        (seen, usage, record.requests[0].bytes_in, record.requests[0].bytes_out)
    };
    let (short, long) = ("8Zq2pV7wXcT4nLrB", "8Zq2pV7wXcT4nLrB".repeat(20));
    assert_eq!(all_that_is_seen(short), all_that_is_seen(&long));
}

#[test]
fn s33_values_that_overlap_leave_nothing_of_either() {
    let values = [
        ("API_KEY", SECRET),
        ("LONG_KEY", "sk_live_8Zq2pV7wXcT4nLrB-and-more"),
        ("NEXT_KEY", "nLrB-and-more-of-it"),
    ];
    let world = World::raw(|seen: &Seen| answer(&[], &seen.body)).granted_as(|manifest| {
        let secrets = manifest["secrets"].as_array_mut().expect("a list");
        for (name, _) in &values[1..] {
            let mut other = secrets[0].clone();
            other["name"] = json!(name);
            secrets.push(other);
        }
    });
    for (name, value) in values {
        world.set(name, value);
        world.approve("test/probe", &[approval(name, HOST, 443, &authorization())]);
    }
    for (text, clean) in [
        (values[0].1.to_owned(), "[redacted:API_KEY]"),
        (values[1].1.to_owned(), "[redacted:LONG_KEY]"),
        (format!("<{}>", "sk_live_8Zq2pV7wXcT4nLrB-and-more-of-it"), "<[redacted:LONG_KEY]>"),
        (format!("{}{}", values[0].1, values[1].1), "[redacted:API_KEY][redacted:LONG_KEY]"),
        (format!("{}{}", &SECRET[..10], SECRET), "sk_live_8Z[redacted:API_KEY]"),
        ("nLrB-and-more-of-it".to_owned(), "[redacted:NEXT_KEY]"),
    ] {
        let echoed = world.fetch(&super::post(HOST, &["content-type: text/plain"], &text));
        assert_eq!(body(echoed), clean, "{text}");
    }
}
