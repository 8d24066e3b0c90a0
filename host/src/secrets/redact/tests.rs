//! What is found, in which spellings, across which borders; and that nothing else is touched. The ids are those
//! of `docs/security.md`.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::secrets::SecretValue;

const VALUE: &str = "s3cr3t/+\"\\<&> 'é=key";

fn set(values: &[(&str, &[u8])]) -> SecretSet {
    let value = |(name, value): &(&str, &[u8])| SecretValue {
        name: (*name).to_owned(),
        source: (*name).to_owned(),
        value: value.to_vec().into(),
        is_usable: true,
    };
    SecretSet::new(values.iter().map(value).collect())
}

fn redactor(values: &[(&str, &[u8])]) -> Redactor {
    Redactor::new(&set(values))
}

fn percent(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}

fn bytes(text: &str) -> Vec<u8> {
    text.as_bytes().to_vec()
}

fn each_byte(form: impl Fn(u8) -> String) -> Vec<u8> {
    VALUE.bytes().map(form).collect::<String>().into_bytes()
}

fn each_letter(form: impl Fn(u32) -> String) -> Vec<u8> {
    VALUE.chars().map(|letter| form(letter.into())).collect::<String>().into_bytes()
}

fn in_json(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

/// Echoes by the id of the attack.
fn echoes() -> Vec<(&'static str, Vec<u8>)> {
    let html = "s3cr3t/+&quot;\\&lt;&amp;&gt; &#39;é=key";
    let long = STANDARD.encode(VALUE.repeat(4));
    let lines = |width: usize, end: &str| {
        let lines: Vec<_> = long.as_bytes().chunks(width).map(|line| std::str::from_utf8(line).unwrap()).collect();
        lines.join(end).into_bytes()
    };
    vec![
        ("S-17 as it is", bytes(VALUE)),
        ("S-18 base64", bytes(&STANDARD.encode(VALUE))),
        ("S-18 base64, one before", bytes(&STANDARD.encode(format!(":{VALUE}")))),
        ("S-18 base64, two before", bytes(&STANDARD.encode(format!("u:{VALUE}")))),
        ("S-18 base64, both sides", bytes(&STANDARD_NO_PAD.encode(format!("user:{VALUE}:x")))),
        ("S-18 base64 with \\/", bytes(&STANDARD.encode(VALUE).replace('/', "\\/"))),
        ("S-18 base64 in a query", bytes(&percent(&STANDARD.encode(VALUE)))),
        ("S-18 base64 in .NET's JSON", bytes(&STANDARD.encode(VALUE).replace('+', "\\u002B"))),
        ("S-18 base64url", bytes(&URL_SAFE_NO_PAD.encode(format!("user:{VALUE}")))),
        ("S-18 base64url, padded", bytes(&URL_SAFE.encode(format!("user:{VALUE}")))),
        ("S-18 base64, MIME", lines(76, "\r\n")),
        ("S-18 base64, PEM", lines(64, "\n")),
        ("S-18 base64, Ruby in JSON", lines(60, "\\n")),
        ("S-19 hex", each_byte(|byte| format!("{byte:02x}"))),
        ("S-19 HEX", each_byte(|byte| format!("{byte:02X}"))),
        ("S-19 \\x", each_byte(|byte| format!("\\x{byte:02x}"))),
        ("S-19 \\x in JSON", each_byte(|byte| format!("\\\\x{byte:02X}"))),
        ("S-19 \\x in a log", bytes("s3cr3t/+\\x22\\x5C<&> '\\xC3\\xA9=key")),
        ("S-20 percent, every byte", each_byte(|byte| format!("%{byte:02x}"))),
        ("S-20 percent", bytes(&percent(VALUE).replace("%2E", ".").replace("%2D", "-"))),
        ("S-20 percent, lower case", bytes("s3cr3t%2f%2b%22%5c%3c%26%3e%20%27%c3%a9%3dkey")),
        ("S-20 percent, a whole URL", bytes("s3cr3t/+%22%5C%3C&%3E%20'%C3%A9=key")),
        ("S-20 percent twice", bytes(&percent(VALUE).replace('%', "%25"))),
        ("S-20 a form", bytes(&url::form_urlencoded::byte_serialize(VALUE.as_bytes()).collect::<String>())),
        ("S-20 JSON in a query", bytes(&percent(in_json(VALUE).trim_matches('"')))),
        ("S-21 JSON", bytes(&in_json(VALUE))),
        ("S-21 JSON in JSON", bytes(&in_json(&in_json(VALUE)))),
        ("S-21 JSON with \\/", bytes(&in_json(VALUE).replace('/', "\\/"))),
        ("S-21 JSON, all \\u", each_letter(|code| format!("\\u{code:04x}"))),
        ("S-21 JSON, all \\U", each_letter(|code| format!("\\u{code:04X}"))),
        ("S-21 Go's JSON", bytes("s3cr3t/+\\\"\\\\\\u003c\\u0026\\u003e 'é=key")),
        ("S-21 Gson's JSON", bytes("s3cr3t/+\\\"\\\\\\u003c\\u0026\\u003e \\u0027é\\u003dkey")),
        ("S-21 .NET's JSON", bytes("s3cr3t/\\u002B\\u0022\\\\\\u003C\\u0026\\u003E \\u0027\\u00E9=key")),
        ("S-21 Python's JSON", bytes("s3cr3t/+\\\"\\\\<&> '\\u00e9=key")),
        ("S-22 HTML", bytes(html)),
        ("S-22 HTML, twice", bytes(&html.replace('&', "&amp;"))),
        ("S-22 HTML in Go's JSON", bytes(&html.replace('\\', "\\\\").replace('&', "\\u0026"))),
        ("S-22 HTML in JSON", bytes(&html.replace('\\', "\\\\"))),
        ("S-22 HTML of Go", bytes(&html.replace('+', "&#43;").replace("&quot;", "&#34;"))),
        ("S-22 HTML of Handlebars", bytes(&html.replace('=', "&#x3D;").replace("&#39;", "&#x27;"))),
        ("S-22 HTML, decimal", each_letter(|code| format!("&#{code};"))),
        ("S-22 HTML, hex", each_letter(|code| format!("&#x{code:x};"))),
        ("S-22 JSON in an attribute", bytes(&html.replace('\\', "\\\\").replace("&quot;", "\\&quot;"))),
        ("S-23 UTF-16LE", VALUE.encode_utf16().flat_map(u16::to_le_bytes).collect()),
        ("S-23 UTF-16BE", VALUE.encode_utf16().flat_map(u16::to_be_bytes).collect()),
        ("S-25 a header field's name", bytes(&VALUE.to_ascii_lowercase())),
    ]
}

#[test]
fn a_value_is_found_however_it_is_spelt() {
    let long = VALUE.repeat(4);
    let redactor = redactor(&[("KEY", VALUE.as_bytes()), ("LONG", long.as_bytes())]);
    for (spelling, echo) in echoes() {
        let text = [b"<<", echo.as_slice(), b">>"].concat();
        let clean = redactor.redact(text).into_inner();
        let shown = String::from_utf8_lossy(&clean);
        assert!(shown.starts_with("<<") && shown.ends_with(">>"), "{spelling}: {shown}");
        assert!(shown.contains("[redacted:"), "{spelling}: {shown}");
        // Letters at the edges of base64 hold bits of the neighbours too, and stay.
        assert!(shown.len() <= "<<[redacted:LONG]>>".len() + 16, "{spelling}: {shown}");
        assert!(redactor.finds(echo.as_slice()).is_some(), "{spelling}");
    }
}

#[test]
fn s_24_a_value_is_found_across_any_border() {
    let redactor = redactor(&[("KEY", VALUE.as_bytes())]);
    for (spelling, echo) in echoes() {
        let text = [b"<<", echo.as_slice(), b">>"].concat();
        let whole = redactor.redact(text.clone());
        for border in 0..=text.len() {
            let mut stream = redactor.stream();
            stream.push(&text[..border]);
            stream.push(&text[border..]);
            assert_eq!(stream.finish(), whole, "{spelling} at {border}");
        }
    }
}

#[test]
fn s_33_values_that_overlap_become_one_marker_under_the_longest_name() {
    let redactor = redactor(&[("SHORT", b"abcdefgh"), ("LONG", b"abcdefghijkl"), ("NEXT", b"klmnopqrst")]);
    for (text, clean, count) in [
        ("abcdefgh", "[redacted:SHORT]", 1),
        ("abcdefghijkl", "[redacted:LONG]", 1),
        ("abcdefghabcdefghijkl", "[redacted:SHORT][redacted:LONG]", 2),
        ("-abcdefghijklmnopqrst-", "-[redacted:LONG]-", 1),
        ("xabcdefghx", "x[redacted:SHORT]x", 1),
        ("xabcdefgx", "xabcdefgx", 0),
    ] {
        let redacted = redactor.redact(text.to_owned());
        assert_eq!((redacted.as_ref().as_str(), redacted.cuts().count), (clean, count), "{text}");
    }
}

#[test]
fn a_receipt_counts_and_names_what_is_missing() {
    let redactor = redactor(&[("ONE", b"value-one"), ("TWO", b"value-two"), ("THREE", b"value-three")]);
    let body = redactor.redact(b"value-one, value-two, value-one".to_vec());
    let both = redactor.redact("value-two".to_owned()).with(body, |head, body| (head, body));
    assert_eq!(both.cuts().count, 4);
    assert_eq!(both.cuts().names, ["ONE".to_owned(), "TWO".to_owned()].into());
    assert_eq!(Redactor::default().redact("value-one".to_owned()).cuts(), &Cuts::default());
}

#[test]
fn text_without_values_is_left_alone() {
    let redactor = redactor(&[("KEY", VALUE.as_bytes())]);
    for text in ["", "s3cr3t", "[redacted:KEY]", "%5C%22", &VALUE[..VALUE.len() - 1]] {
        assert_eq!(redactor.redact(text.to_owned()).into_inner(), text);
    }
    assert_eq!(Redactor::default().redact("anything".to_owned()).into_inner(), "anything");
}

#[test]
fn a_value_shorter_than_a_window_is_found_too() {
    let redactor = redactor(&[("PIN", b"4711"), ("KEY", b"a much longer value")]);
    let clean = redactor.redact("my 4711, a much longer value, 4711".to_owned()).into_inner();
    assert_eq!(clean, "my [redacted:PIN], [redacted:KEY], [redacted:PIN]");
}

/// Each byte of a value that repeats itself begins many comparisons, none of which may cost its length.
#[test]
fn texts_and_values_that_repeat_themselves_are_searched_in_one_pass() {
    let long = b"abcd".repeat(2000);
    let near = [long.as_slice(), b"!"].concat();
    let redactor = redactor(&[("LONG", &long), ("NEAR", &near)]);
    assert_eq!(redactor.redact(b"abcd".repeat(1 << 18)).into_inner(), b"[redacted:LONG]");
    let almost = [&long[1..], b"?"].concat().repeat(100);
    assert_eq!(redactor.redact(almost.clone()).into_inner(), almost);
}

/// A text whose every place could begin a value, in pieces of one byte: what is held back is no longer than the
/// longest spelling, and moved about no more often than it doubles.
#[test]
fn a_stream_holds_back_less_than_the_longest_spelling() {
    let long = b"abcd".repeat(500);
    let redactor = redactor(&[("LONG", &long)]);
    let longest = redactor.patterns().longest();
    let text = long[1..].repeat(20);
    let mut stream = redactor.stream();
    let mut given = 0;
    for (number, byte) in text.iter().enumerate() {
        stream.push(&[*byte]);
        given += stream.take().as_ref().len();
        assert!(number + 1 - given < longest, "{given} of {number}");
    }
    given += stream.finish().as_ref().len();
    assert_eq!(given, text.len());
}

#[test]
fn json_is_searched_in_names_strings_and_numbers() {
    let redactor = redactor(&[("PIN", b"1234567890"), ("KEY", VALUE.as_bytes())]);
    let value = json!({ "a": [VALUE, 1], "n": 1_234_567_890, VALUE: null, "x": true });
    let clean = redactor.redact(value).into_inner();
    let expected = json!({
        "a": ["[redacted:KEY]", 1], "n": "[redacted:PIN]", "[redacted:KEY]": null, "x": true,
    });
    assert_eq!(clean, expected);
}

#[test]
fn nothing_prints_a_value() {
    assert_eq!(format!("{:?}", set(&[("KEY", VALUE.as_bytes())])), r#"{"KEY"}"#);
}

/// Values as they are given out, by their looks.
const REALISTIC: [&str; 20] = [
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZab",
    "sk-proj-T3BlbkFJq8Zr2mYx7Lw0Nc5Vd9Hs1Kt4",
    "sk_test_4eC39HqLyjWDarjtT1zdp7dc",
    "xoxb-17653672481-19874698323-pdFZKVeTuE8sk7oOcHrzqqgy",
    "AKIAIOSFODNN7EXAMPLE",
    "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
    "AIzaSyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY",
    "glpat-9xTz3yqQ8mWv4hBnKc2d",
    "0b5d2e36-7a8e-4f5e-9d3a-2f1c6b7a8d90",
    "d41d8cd98f00b204e9800998ecf8427f",
    "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",
    "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",
    "p@ss word & <more> \"quotes\" + 100%",
    "correct horse battery staple",
    "Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9v==",
    "1//0gFqZlHcYt7dWkCgYIARAAGBASNwF-L9Ir",
    "7893465219087",
    "schl\u{fc}ssel-f\u{fc}r-die-\u{e4}pfel",
];

fn realistic() -> Redactor {
    let names: Vec<_> = (0..REALISTIC.len()).map(|number| format!("KEY_{number}")).collect();
    let values: Vec<_> =
        names.iter().zip(REALISTIC).map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
    redactor(&values)
}

/// The files of `tests/data/clean`, and what is better made than kept.
fn clean_corpus() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/clean");
    let mut corpus: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), std::fs::read(entry.path()).unwrap()))
        .collect();
    assert!(corpus.len() >= 10, "the corpus is not there");
    let mut state = 7_u32;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    })
    .take(1 << 18)
    .collect();
    let words: String = (0..20_000).map(|number| format!("{} ", number * 7919 % 10_007)).collect();
    corpus.push(("utf-16".to_owned(), words.encode_utf16().flat_map(u16::to_le_bytes).collect()));
    corpus.push(("base64".to_owned(), bytes(&STANDARD.encode(&noise))));
    corpus.push(("hex".to_owned(), noise.iter().flat_map(|byte| bytes(&format!("{byte:02x}"))).collect()));
    corpus.push(("escapes".to_owned(), (0..9000_u32).flat_map(|code| bytes(&format!("\\u{code:04x}"))).collect()));
    corpus.push(("references".to_owned(), (32..9000_u32).flat_map(|code| bytes(&format!("&#{code};"))).collect()));
    corpus.push(("percent".to_owned(), bytes(&percent(&words))));
    corpus.push(("zeros".to_owned(), vec![0; 100_000]));
    corpus.push(("noise".to_owned(), noise));
    corpus
}

#[test]
fn s_32_ordinary_answers_pass_byte_for_byte() {
    let redactor = realistic();
    for (name, text) in clean_corpus() {
        let redacted = redactor.redact(text.clone());
        assert_eq!(redacted.cuts(), &Cuts::default(), "{name}");
        assert!(*redacted.as_ref() == text, "{name} was changed");
    }
}

/// The twin: in the same answers, each of these values is found.
#[test]
fn in_ordinary_answers_values_are_found() {
    let redactor = realistic();
    for (name, text) in clean_corpus() {
        let (before, after) = text.split_at(text.len() / 2);
        let echoes = REALISTIC.map(|value| format!("({value})")).concat();
        let markers: String = (0..REALISTIC.len()).map(|number| format!("([redacted:KEY_{number}])")).collect();
        let echo = [before, echoes.as_bytes(), after].concat();
        let expected = [before, markers.as_bytes(), after].concat();
        assert!(redactor.redact(echo).into_inner() == expected, "{name}");
    }
}

/// What the redactor must find, by the slowest way there is: all spellings at all places.
fn model(set: &SecretSet, text: &[u8]) -> Vec<u8> {
    let mut spellings = Vec::new();
    for secret in set.iter() {
        crate::secrets::encodings::each(&secret.value, &mut |spelling| {
            spellings.push((spelling.to_vec(), secret.name.clone()));
        });
    }
    let mut ranges: Vec<(usize, usize, usize, String)> = Vec::new();
    for at in 0..text.len() {
        let here = spellings.iter().filter(|(spelling, _)| text[at..].starts_with(spelling));
        // The first of several that are as long.
        let Some((longest, name)) = here.rev().max_by_key(|(spelling, _)| spelling.len()) else { continue };
        let (end, length) = (at + longest.len(), longest.len());
        match ranges.last_mut().filter(|range| range.1 > at) {
            Some(range) => {
                range.1 = range.1.max(end);
                if length > range.2 {
                    (range.2, range.3) = (length, name.clone());
                }
            }
            None => ranges.push((at, end, length, name.clone())),
        }
    }
    let mut clean = Vec::new();
    let mut at = 0;
    for (start, end, _, name) in ranges {
        clean.extend_from_slice(&text[at..start]);
        clean.extend(format!("[redacted:{name}]").into_bytes());
        at = end;
    }
    clean.extend_from_slice(&text[at..]);
    clean
}

/// Few letters, so that values overlap themselves, each other, and their own spellings.
fn letters(length: impl Into<proptest::collection::SizeRange>) -> impl Strategy<Value = Vec<u8>> {
    vec(prop::sample::select(b"aab/%".to_vec()), length)
}

proptest! {
    #[test]
    fn any_pieces_give_what_the_whole_gives_and_what_the_model_says(
        values in vec(letters(3..12), 1..4),
        parts in vec((letters(0..12), any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..8),
        sizes in vec(1_usize..20, 1..10),
    ) {
        let names = ["A", "B", "C"];
        let named: Vec<_> = names.iter().zip(&values).map(|(name, value)| (*name, value.as_slice())).collect();
        let (set, redactor) = (set(&named), redactor(&named));
        let mut text = Vec::new();
        for (between, value, spelling) in &parts {
            let mut spellings = Vec::new();
            crate::secrets::encodings::each(&values[value.index(values.len())], &mut |one| spellings.push(one.to_vec()));
            text.extend_from_slice(between);
            text.extend_from_slice(&spellings[spelling.index(spellings.len())]);
        }
        let whole = redactor.redact(text.clone());
        prop_assert_eq!(whole.as_ref(), &model(&set, &text));
        let mut stream = redactor.stream();
        let mut rest = text.as_slice();
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, after) = rest.split_at((*size).min(rest.len()));
            stream.push(piece);
            rest = after;
        }
        prop_assert_eq!(stream.finish(), whole);
    }
}
