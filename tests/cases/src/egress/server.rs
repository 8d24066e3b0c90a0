//! What the server of a case does, as a script of raw replies.
//!
//! The words of `raw`, `tls` and `h2` are matched by what they say. Words that say nothing known are an error.

use remit_upstream::script::{Certificate, Reply};
use url::Url;

use super::case::{Case, Upstream, fields, upstreams};
use super::words::{has, header_lines, number, size};

/// What an old server answers to a client that does not speak its version: alert 70, `protocol_version`.
const PROTOCOL_VERSION: [u8; 7] = [0x15, 0x03, 0x01, 0x00, 0x02, 0x02, 0x46];

/// The replies of a case, one a connection; the last repeats.
///
/// A line break inside a value cannot be sent: on the wire it is the end of the value, and what follows is another
/// field. With `carried`, the control bytes of a `Location` that no value can carry are replaced by the one that
/// can, the tab, as RFC 9112, 5.2 has recipients do with a folded line: so that they reach whoever reads the URL.
pub(super) fn replies(case: &Case, carried: bool) -> Result<Vec<Reply>, String> {
    let mut each = upstreams(case)?;
    for location in each.iter_mut().filter(|_| carried).filter_map(|upstream| upstream.location.as_mut()) {
        *location = location.replace(is_uncarried, "\t");
    }
    let mut replies = Vec::new();
    for upstream in &each {
        let reply = reply(upstream)?;
        match upstream.hops {
            Some(hops) => replies.extend(vec![reply; hops]),
            None => replies.push(reply),
        }
    }
    let redirects = each.last().is_some_and(|last| last.location.is_some());
    // The same question has the same answer; any other is answered.
    let repeats = each.iter().all(|upstream| upstream.hops.is_none() && leads_back(case, upstream));
    if redirects && !repeats {
        replies.push(Reply::ok("there"));
    }
    Ok(replies)
}

/// What stands in a `Location` behind a byte that no field value can carry, in lower case.
pub(super) fn injected(case: &Case) -> Result<Option<String>, String> {
    let locations = upstreams(case)?.into_iter().filter_map(|upstream| upstream.location);
    let mut injected = locations.filter_map(|location| {
        let (_, behind) = location.split_once(is_uncarried)?;
        Some(behind.trim_matches(is_uncarried).to_lowercase())
    });
    Ok(injected.find(|behind| !behind.is_empty()))
}

/// Whether a control character cannot stand in the value of a header field (RFC 9110, 5.5).
fn is_uncarried(letter: char) -> bool {
    letter.is_ascii_control() && letter != '\t'
}

/// Whether a redirect leads to the URL that was asked.
fn leads_back(case: &Case, upstream: &Upstream) -> bool {
    let Ok(start) = Url::parse(&case.url_or_host) else { return false };
    upstream.location.as_ref().is_some_and(|location| start.join(location).is_ok_and(|next| next == start))
}

fn reply(upstream: &Upstream) -> Result<Reply, String> {
    match (&upstream.raw, &upstream.tls, &upstream.h2) {
        (None, None, None) => answer(upstream),
        (Some(words), None, None) => raw(words),
        (None, Some(words), None) => tls(words),
        (None, None, Some(_)) => Ok(Reply::Http2),
        _ => Err("`upstream` has more than one of `raw`, `tls` and `h2`".to_owned()),
    }
}

/// An answer by its parts.
fn answer(upstream: &Upstream) -> Result<Reply, String> {
    let status = upstream.status.unwrap_or(200);
    let mut head = format!("HTTP/1.1 {status} Scripted\r\n");
    let mut line = |name: &str, value: &str| head.push_str(&format!("{name}: {value}\r\n"));
    if let Some(location) = &upstream.location {
        line("location", location);
    }
    let given = fields(&upstream.headers)?;
    for (name, value) in &given {
        line(name, value);
    }
    if status == 101 {
        line("connection", "upgrade");
    }
    for number in 0..upstream.headers_count.unwrap_or(0) {
        line(&format!("x-{number}"), "1");
    }
    if let Some(bytes) = upstream.header_bytes {
        line("x-long", &"a".repeat(bytes));
    }
    let has_length = given.iter().any(|(name, _)| {
        name.eq_ignore_ascii_case("content-length") || name.eq_ignore_ascii_case("transfer-encoding")
    });
    let body = upstream.body.as_deref().unwrap_or_default();
    let zeroes = match (&upstream.bomb, upstream.body_bytes) {
        (Some(bomb), None) => {
            let size = size(bomb).ok_or_else(|| format!("`upstream.bomb` names no size: `{bomb}`"))?;
            line("content-length", &size.to_string());
            Some(size)
        }
        (None, Some(bytes)) => Some(bytes),
        (None, None) => {
            if !has_length {
                line("content-length", &body.len().to_string());
            }
            None
        }
        (Some(_), Some(_)) => return Err("`upstream` has both `bomb` and `body_bytes`".to_owned()),
    };
    let bytes = format!("{head}\r\n{body}").into_bytes();
    Ok(zeroes.map_or_else(|| Reply::Bytes(bytes.clone()), |count| Reply::Zeroes(bytes.clone(), count)))
}

/// A head with these lines, complete.
fn head(lines: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\n{lines}\r\n").into_bytes()
}

fn raw(words: &str) -> Result<Reply, String> {
    if words.starts_with("HTTP/1.") && words.contains("\r\n") {
        return Ok(Reply::text(words));
    }
    let said = words.to_lowercase();
    let with_body = |lines: &str, body: &str| Reply::Bytes([&head(lines)[..], body.as_bytes()].concat());
    let lines = header_lines(words);
    let reply = if has(&said, &["per second"]) {
        if has(&said, &["body", "chunk"]) {
            Reply::Drip(head("content-length: 1000000\r\n"), b"a".to_vec())
        } else {
            Reply::Drip(b"HTTP/1.1 200 OK\r\nx-slow: ".to_vec(), b"a".to_vec())
        }
    } else if has(&said, &["100 continue", "103", "early hints", "interim"]) {
        Reply::Drip(Vec::new(), b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n".to_vec())
    } else if has(&said, &["0.9", "without head", "no head"]) {
        Reply::text("body without head\r\n\r\n")
    } else if has(&said, &["chunk"]) && has(&said, &["size"]) {
        let size = hex(&said).ok_or_else(|| unknown("raw", words))?;
        with_body("transfer-encoding: chunked\r\n", &format!("{size}\r\na"))
    } else if has(&said, &["never", "silence", "silent", "stall", "hang", "no answer"]) {
        Reply::Drip(Vec::new(), Vec::new())
    } else if has(&said, &["close", "truncat", "breaks off", "cut off", "shorter than"]) {
        with_body("content-length: 100\r\n", "a tenth")
    } else if !lines.is_empty() {
        let lines: String = lines.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let body = if has(&said, &["chunked"]) { "5\r\nhello\r\n0\r\n\r\n" } else { "hello" };
        with_body(&lines, body)
    } else if has(&said, &["fold"]) {
        with_body("x-folded: a\r\n b\r\ncontent-length: 0\r\n", "")
    } else if has(&said, &["nul"]) {
        with_body("x-nul: a\0b\r\ncontent-length: 0\r\n", "")
    } else if has(&said, &["bare cr"]) {
        with_body("x-cr: a\rb\r\ncontent-length: 0\r\n", "")
    } else if has(&said, &["head"]) {
        let field = match (size(words), number(&said)) {
            (Some(bytes), _) => {
                format!("x-long: {}\r\n", "a".repeat(usize::try_from(bytes).unwrap_or(usize::MAX)))
            }
            (None, Some(count)) => (0..count).map(|number| format!("x-{number}: 1\r\n")).collect(),
            (None, None) => return Err(unknown("raw", words)),
        };
        with_body(&field, "")
    } else {
        return Err(unknown("raw", words));
    };
    Ok(reply)
}

fn tls(words: &str) -> Result<Reply, String> {
    let said = words.to_lowercase();
    let certificate = if let Some((_, name)) = said.split_once("certificate for ") {
        Certificate::Named(
            name.split_whitespace().next().unwrap_or_default().trim_matches(['`', '.', ',']).to_owned(),
        )
    } else if has(&said, &["not yet", "future"]) {
        Certificate::NotYetValid
    } else if has(&said, &["expired"]) {
        Certificate::Expired
    } else if has(&said, &["self-signed", "self signed", "untrusted", "unknown", "private ca", "other authority"])
    {
        Certificate::Foreign
    } else if has(&said, &["1.0", "1.1", "ssl", "old"]) {
        return Ok(Reply::Plain(PROTOCOL_VERSION.to_vec()));
    } else if has(&said, &["plain", "no tls", "not tls", "without tls", "cleartext"]) {
        return Ok(Reply::Plain(head("content-length: 0\r\n")));
    } else {
        return Err(unknown("tls", words));
    };
    Ok(Reply::Certificate(certificate))
}

/// The longest word of hexadecimal digits.
fn hex(text: &str) -> Option<&str> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric());
    let hex = words.filter(|word| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_hexdigit()));
    hex.max_by_key(|word| word.len())
}

fn unknown(field: &str, words: &str) -> String {
    format!("`upstream.{field}` says what is not known: `{words}`")
}
