//! Names of hosts in text that no parser made: what follows `://`, and what looks like a name under an ending that
//! services have.
//!
//! Compilers put literals side by side without anything between them, so a name may run into the next word. A wrong
//! guess costs a reviewer one line.

use std::net::Ipv4Addr;

use crate::policy::is_dns_name;

/// Endings under which a name counts without a scheme. Others are also those of files and of fields of objects.
const ENDINGS: [&str; 17] = [
    "com", "net", "org", "io", "dev", "app", "ai", "cloud", "info", "biz", "xyz", "site", "online", "eu", "uk",
    "de", "onion",
];

/// The shortest name in front of such an ending: `a.io` is a field, not a host.
const MIN_LABEL: usize = 3;

/// Bytes of a name that DNS can carry (RFC 1035, 2.3.4).
const MAX_NAME: usize = 253;

/// A host that a text names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    /// In lower case, without a port.
    pub(super) host: String,
    /// Whether it stands after `://`.
    pub(super) is_url: bool,
}

/// All hosts that a text names, in order, some perhaps more than once.
pub(super) fn find(text: &str) -> Vec<Named> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("://") {
        if let Some(host) = authority(&text[at + 3..]) {
            found.push(Named { host, is_url: true });
        }
    }
    let is_part =
        |character: char| character.is_ascii_lowercase() || character.is_ascii_digit() || ".-".contains(character);
    let mut rest = 0;
    while let Some(start) = text[rest..].find(is_part).map(|at| at + rest) {
        let end = text[start..].find(|character| !is_part(character)).map_or(text.len(), |at| at + start);
        let (before, after) = (text[..start].chars().next_back(), text[end..].chars().next());
        if let Some(host) = bare(&text[start..end], before, after) {
            found.push(Named { host, is_url: false });
        }
        rest = end;
    }
    found
}

/// Whether a text is a host's name, by its ending.
pub(super) fn is_name(text: &str) -> bool {
    let ending = text.rsplit('.').next().unwrap_or_default();
    ENDINGS.contains(&ending) && is_dns_name(text)
}

/// The host of what follows `://`.
fn authority(rest: &str) -> Option<String> {
    let is_part = |character: char| character.is_ascii_alphanumeric() || ".-@:%_".contains(character);
    let end = rest.find(|character| !is_part(character)).unwrap_or(rest.len());
    let after_user = rest[..end].rsplit('@').next()?;
    let host = after_user.split(':').next()?;
    // No name is longer, and each beginning of one is tried.
    let host = host.get(..MAX_NAME).unwrap_or(host).trim_end_matches(['.', '-']).to_ascii_lowercase();
    if host.parse::<Ipv4Addr>().is_ok() {
        return Some(host);
    }
    whole_or_beginning(&host)
}

/// The name, or else its beginning up to the longest ending that is one.
fn whole_or_beginning(host: &str) -> Option<String> {
    let (front, last) = host.rsplit_once('.')?;
    (1..=last.len()).rev().filter_map(|length| last.get(..length)).find_map(|ending| {
        let name = format!("{front}.{ending}");
        (is_dns_name(&name) && has_known_ending(&name)).then_some(name)
    })
}

/// A name without a scheme.
fn bare(token: &str, before: Option<char>, after: Option<char>) -> Option<String> {
    let name = token.trim_matches(['.', '-']);
    // Part of a path, of a longer word or of an expression.
    let is_inside = |character: Option<char>| {
        character.is_some_and(|character| character.is_alphabetic() || "/\\@_$({[".contains(character))
    };
    if is_inside(before) && token.starts_with(name) || after.is_some_and(|after| "(_[=".contains(after)) {
        return None;
    }
    let mut labels = name.rsplit('.');
    let (ending, label) = (labels.next()?, labels.next()?);
    let is_plain = ENDINGS.contains(&ending) && label.len() >= MIN_LABEL;
    (is_plain && is_dns_name(name) && has_known_ending(name)).then(|| name.to_owned())
}

/// Whether a registry gives out names under its ending; `onion` has none and names services all the same.
fn has_known_ending(name: &str) -> bool {
    name.ends_with(".onion") || psl::suffix(name.as_bytes()).is_some_and(|suffix| suffix.is_known())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_found_where_they_stand() {
        let cases: &[(&str, &[&str])] = &[
            ("https://api.example.com/v1?x=1", &["+api.example.com"]),
            ("see HTTPS://Evil.Example.NET:8443.", &["+evil.example.net"]),
            ("https://user:pass@evil.example.net/", &["+evil.example.net"]),
            ("wss://push.example.io", &["+push.example.io"]),
            ("http://10.0.0.1/x", &["+10.0.0.1"]),
            // Literals side by side.
            ("GEThttps://api.example.comContent-Type", &["+api.example.com"]),
            ("x.example.orgAccept: z.example.org", &["x.example.org", "z.example.org"]),
            ("api.example.com", &["api.example.com"]),
            ("send to collect.evil-site.xyz now", &["collect.evil-site.xyz"]),
            ("abcdefghijklmnop234567.onion", &["abcdefghijklmnop234567.onion"]),
            // None of these.
            ("src/main.rs library/core/src/fmt/mod.rs", &[]),
            ("/rustc/abc.io/x", &[]),
            ("console.log self.name e.g. i.e. v1.2.3 1.0.0", &[]),
            ("https://{}/v1", &[]),
            ("https://localhost/", &[]),
            ("grpc://example.com and ://x.example.org", &["+example.com", "+x.example.org"]),
            ("object.app(", &[]),
            ("user@example Bytecode.info", &[]),
            ("", &[]),
        ];
        for (text, expected) in cases {
            let mut found: Vec<String> = find(text)
                .into_iter()
                .map(|named| format!("{}{}", if named.is_url { "+" } else { "" }, named.host))
                .collect();
            // A host of a URL is also a name.
            found.retain(|name| {
                name.starts_with('+') || !text.contains("://") || expected.contains(&name.as_str())
            });
            assert_eq!(found, *expected, "{text}");
        }
    }
}
