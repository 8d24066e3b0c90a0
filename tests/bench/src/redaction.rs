//! `redact`: how fast an answer is searched for 20 secrets, in pieces as they come from a connection, against a
//! plain copy of the same pieces; and how long it takes to make ready for that.

use std::time::Instant;

use remit::secrets::{Redacted, Redactor, SecretSet, SecretValue};

use crate::{Effort, figure};

const SECRETS: usize = 20;

/// Bytes of a value: those of common tokens.
const VALUE: usize = 40;

/// Bytes of one text: a round takes about a millisecond.
const TEXT: usize = 512 << 10;

/// Bytes of a text that is made to be slow, for the same reason.
const HOSTILE: usize = 64 << 10;

/// The largest TLS record.
const PIECE: usize = 16 << 10;

const WORDS: [&str; 12] = [
    "the",
    "status",
    "of",
    "repository",
    "changed",
    "when",
    "a",
    "token",
    "expires",
    "2026-01-31",
    "secret",
    "key",
];

pub(crate) fn measure(effort: Effort) {
    let mut random = Random(0x5EED);
    let values: Vec<_> = (0..SECRETS).map(|_| random.token(VALUE)).collect();
    for count in [1, SECRETS] {
        let took = fastest(effort, || redactor(&values[..count]));
        figure(&format!("redactor_of_{count}"), "value", took * 1e6, "µs", "");
    }
    let ours = redactor(&values);
    let clean = [
        ("json", random.text(|random| format!(
            "{{\"id\":{},\"url\":\"https:\\/\\/api.example.com\\/items\\/{}\",\"title\":\"{} {}\",\"ok\":true,\"sha\":\"{:016x}\"}},",
            random.next() % 100_000, random.next() % 1000, random.word(), random.word(), random.next(),
        ).into_bytes())),
        ("html", random.text(|random| format!(
            "<p class=\"{}\">{} {} &amp; {}, &#39;{}&#39;</p>\n<a href=\"/search?q={}%20{}\">{}</a>\n",
            random.word(), random.word(), random.word(), random.word(), random.word(), random.word(), random.word(),
            random.word(),
        ).into_bytes())),
        ("base64", random.text(|random| random.token(76))),
        ("binary", random.text(|random| random.next().to_le_bytes().to_vec())),
    ];
    for (name, text) in &clean {
        compare(&format!("redact_{name}"), &ours, text, effort);
        let echo = with_echoes(text, &values);
        compare(&format!("redact_{name}_with_echoes"), &ours, &echo, effort);
    }
    // All but the end of the longest spelling, over and over: every place of it that can be compared, is.
    let near: Vec<u8> = values.iter().flat_map(|value| in_json(&value[..VALUE - 1])).collect();
    hostile("redact_near_misses", &ours, &random.text(|_| near.clone()), effort);
    // Only the part that is looked up, of spellings that many others begin like.
    let begins: Vec<u8> = values.iter().flat_map(|value| value[..8].to_vec()).collect();
    hostile("redact_beginnings", &ours, &random.text(|_| begins.clone()), effort);
    // Values that repeat themselves: the same byte belongs to comparisons from as many places as possible.
    let periodic: Vec<_> = (0..SECRETS).map(|turn| rotated(turn % 4, 1024, turn)).collect();
    hostile("redact_periods", &redactor(&periodic), &random.text(|_| b"abcd".to_vec()), effort);
}

/// Figures of an ordinary text: the speed, and how many times as long as a copy it takes.
fn compare(name: &str, redactor: &Redactor, text: &[u8], effort: Effort) {
    let copy = fastest(effort, || {
        let mut copy = Vec::new();
        text.chunks(PIECE).for_each(|piece| copy.extend_from_slice(piece));
        copy
    });
    let ours = fastest(effort, || search(redactor, text));
    figure(name, "value", megabytes(text) / ours, "MB/s", ">= 200");
    figure(&format!("{name}_to_copy"), "ratio", ours / copy, "x", "");
}

/// Figures of a text that is made to be slow: the speed, and how a byte's share grows when the text is four times
/// as long.
fn hostile(name: &str, redactor: &Redactor, text: &[u8], effort: Effort) {
    let text = &text[..HOSTILE];
    let whole = fastest(effort, || search(redactor, text));
    let quarter = fastest(effort, || search(redactor, &text[..text.len() / 4]));
    figure(name, "value", megabytes(text) / whole, "MB/s", "");
    figure(&format!("{name}_growth"), "ratio", whole / (4.0 * quarter), "x", "linear: about 1");
}

fn search(redactor: &Redactor, text: &[u8]) -> Redacted<Vec<u8>> {
    let mut stream = redactor.stream();
    text.chunks(PIECE).for_each(|piece| stream.push(piece));
    stream.finish()
}

fn megabytes(text: &[u8]) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a number of bytes")]
    let bytes = text.len() as f64;
    bytes / 1e6
}

/// Seconds of the fastest round. Rounds are many and shorter than a turn on a processor that is shared, so that
/// some are not interrupted.
fn fastest<T>(effort: Effort, mut work: impl FnMut() -> T) -> f64 {
    let times = (0..effort.rounds * 20).map(|_| {
        let begun = Instant::now();
        let result = std::hint::black_box(work());
        let took = begun.elapsed().as_secs_f64();
        drop(result);
        took
    });
    times.fold(f64::INFINITY, f64::min)
}

fn redactor(values: &[Vec<u8>]) -> Redactor {
    let secret = |(number, value): (usize, &Vec<u8>)| SecretValue {
        name: format!("KEY_{number}"),
        source: format!("KEY_{number}"),
        value: value.clone().into(),
        is_usable: true,
    };
    Redactor::new(&SecretSet::new(values.iter().enumerate().map(secret).collect()))
}

/// One value in each of the text's kibibytes, in one spelling after the other.
fn with_echoes(text: &[u8], values: &[Vec<u8>]) -> Vec<u8> {
    let echoes = values.iter().cycle().enumerate().map(|(number, value)| match number % 3 {
        0 => value.clone(),
        1 => in_json(value),
        _ => value.iter().flat_map(|byte| format!("{byte:02x}").into_bytes()).collect(),
    });
    text.chunks(1024).zip(echoes).flat_map(|(part, echo)| [part, &echo].concat()).collect()
}

fn in_json(value: &[u8]) -> Vec<u8> {
    value.iter().flat_map(|byte| format!("\\\\u{byte:04x}").into_bytes()).collect()
}

fn rotated(turn: usize, length: usize, end: usize) -> Vec<u8> {
    let mut value: Vec<_> = b"abcd".iter().copied().cycle().skip(turn).take(length).collect();
    value.extend(end.to_string().into_bytes());
    value
}

/// The same numbers in each run (xorshift64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn token(&mut self, length: usize) -> Vec<u8> {
        const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        std::iter::repeat_with(|| LETTERS[(self.next() >> 58) as usize]).take(length).collect()
    }

    fn word(&mut self) -> &'static str {
        WORDS[(self.next() >> 32) as usize % WORDS.len()]
    }

    fn text(&mut self, mut part: impl FnMut(&mut Self) -> Vec<u8>) -> Vec<u8> {
        let mut text = Vec::with_capacity(TEXT);
        while text.len() < TEXT {
            text.extend(part(self));
        }
        text.truncate(TEXT);
        text
    }
}
