//! Is this URL a granted host? Pure: no DNS, no I/O.
//!
//! Two parsers that read one URL differently are how allow-lists are passed. So the raw text is checked first
//! and nothing is repaired: what is then parsed has one reading, and the parser's host must equal the one in
//! the raw text. The rest of the pipeline uses the parsed URL only. Paths and queries are not judged.

use url::{Host, Url};

use super::Refusal;
use crate::policy::{HTTPS_PORT, HostPattern, canonical_port, is_dns_name};

/// What servers commonly take as a request line.
const URL_BYTES: usize = 8 * 1024;

/// A URL whose host is granted at its port. Only [`approve`] makes one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    url: Url,
    host: String,
    port: u16,
    admitted_by: String,
}

impl Target {
    /// The URL, without fragment.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// The host: a name in lower case.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The entry of the allow-list that covers it, as the manifest writes it.
    #[must_use]
    pub fn admitted_by(&self) -> &str {
        &self.admitted_by
    }

    /// `host`, or `host:port` where that is not 443.
    #[must_use]
    pub fn authority(&self) -> String {
        let Self { host, port, .. } = self;
        if *port == HTTPS_PORT { host.clone() } else { format!("{host}:{port}") }
    }
}

/// Approves a URL under an allow-list.
pub fn approve(text: &str, allow: &[HostPattern]) -> Result<Target, Refusal> {
    refuse_bytes(text)?;
    let after_scheme = https_rest(text)?;
    let authority = after_scheme.split(['/', '?', '#']).next().unwrap_or(after_scheme);
    let (host, port) = read_authority(authority)?;
    let url = parse(text, host, port)?;
    let host = host.to_ascii_lowercase();
    if let Some(entry) = allow.iter().find(|entry| entry.matches(&host, port)) {
        Ok(Target { url, host, port, admitted_by: entry.to_string() })
    } else if allow.iter().any(|entry| entry.matches_host(&host)) {
        Err(Refusal::PortNotAllowed(port))
    } else {
        Err(Refusal::HostNotAllowed(host))
    }
}

/// Whether `text` begins with a scheme (RFC 3986, 3.1), and what follows its colon.
pub(super) fn split_scheme(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once(':')?;
    let valid = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    valid.then_some((scheme, rest))
}

fn invalid<T>(why: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::InvalidUrl(why.into()))
}

fn refuse_bytes(text: &str) -> Result<(), Refusal> {
    if text.len() > URL_BYTES {
        return Err(Refusal::RequestTooLarge);
    }
    if !text.is_ascii() {
        return match Url::parse(text).as_ref().map(Url::host_str) {
            Ok(Some(host)) if !text.contains(host) => invalid(format!("its host in ASCII would be `{host}`")),
            _ => invalid("it must be ASCII: percent-encode other letters"),
        };
    }
    if !text.bytes().all(|byte| (0x21..=0x7E).contains(&byte)) {
        return invalid("it has a space or a control character");
    }
    if text.contains('\\') {
        return invalid("it has a backslash");
    }
    Ok(())
}

/// What follows `https://`.
fn https_rest(text: &str) -> Result<&str, Refusal> {
    let Some((scheme, rest)) = split_scheme(text) else {
        return invalid("it must begin with `https://`");
    };
    if !scheme.eq_ignore_ascii_case("https") {
        return Err(Refusal::SchemeNotAllowed);
    }
    match rest.strip_prefix("//") {
        Some(rest) => Ok(rest),
        None => invalid("it must begin with `https://`"),
    }
}

/// Host and port of a raw authority, which must have the one form that every parser reads alike.
fn read_authority(authority: &str) -> Result<(&str, u16), Refusal> {
    if authority.contains('@') {
        return Err(Refusal::UserinfoNotAllowed);
    }
    if authority.contains('%') {
        return invalid("its host is percent-encoded");
    }
    let (host, port) = match authority.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
        Some((address, rest)) => (&authority[..address.len() + 2], rest.strip_prefix(':')),
        None => authority.split_once(':').map_or((authority, None), |(host, port)| (host, Some(port))),
    };
    let port = match port.map(canonical_port) {
        None => HTTPS_PORT,
        Some(Some(port)) => port,
        Some(None) => return invalid("its port is not a number from 1 to 65535 in its normal form"),
    };
    if !host.starts_with('[') && !is_dns_name(host) {
        return invalid("its host is not a DNS name: labels of letters, digits and hyphens, no final dot");
    }
    Ok((host, port))
}

/// Parses, and checks that the parser found the same host and port.
fn parse(text: &str, host: &str, port: u16) -> Result<Url, Refusal> {
    let Ok(mut url) = Url::parse(text) else {
        return invalid("its host is neither a name nor an address");
    };
    match url.host() {
        Some(Host::Ipv4(_) | Host::Ipv6(_)) => return Err(Refusal::IpLiteralNotAllowed),
        Some(Host::Domain(parsed)) if host.eq_ignore_ascii_case(parsed) => {}
        _ => return invalid("parsers disagree about its host"),
    }
    if url.port_or_known_default() != Some(port) {
        return invalid("parsers disagree about its port");
    }
    url.set_fragment(None);
    Ok(url)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::error::ErrorKind;

    fn allow(entries: &[&str]) -> Vec<HostPattern> {
        entries.iter().map(|entry| entry.parse().unwrap()).collect()
    }

    fn list() -> Vec<HostPattern> {
        allow(&["api.example.com", "*.cdn.example.com", "alt.example.com:8443"])
    }

    #[test]
    fn a_granted_host_is_approved_and_dialled_under_its_parsed_name() {
        for (text, host, port, path) in [
            ("https://api.example.com", "api.example.com", 443, "/"),
            ("https://API.Example.COM/v1", "api.example.com", 443, "/v1"),
            ("HTTPS://api.example.com/", "api.example.com", 443, "/"),
            ("https://api.example.com:443/", "api.example.com", 443, "/"),
            ("https://alt.example.com:8443/", "alt.example.com", 8443, "/"),
            ("https://a.b.cdn.example.com/", "a.b.cdn.example.com", 443, "/"),
            ("https://api.example.com/a/../../v1", "api.example.com", 443, "/v1"),
            ("https://api.example.com/#@evil.test/", "api.example.com", 443, "/"),
            ("https://api.example.com#@evil.test/", "api.example.com", 443, "/"),
            ("https://api.example.com?@evil.test/", "api.example.com", 443, "/"),
        ] {
            let target = approve(text, &list()).unwrap_or_else(|refusal| panic!("{text}: {refusal}"));
            assert_eq!((target.host(), target.port(), target.url().path()), (host, port, path), "{text}");
            assert_eq!(target.url().fragment(), None);
        }
    }

    #[test]
    fn what_is_not_granted_is_refused_by_its_first_fault() {
        use ErrorKind::{
            HttpHostNotAllowed as Host, HttpInvalidUrl as Url, HttpIpLiteralNotAllowed as Ip,
            HttpPortNotAllowed as Port, HttpSchemeNotAllowed as Scheme, HttpUserinfoNotAllowed as Userinfo,
        };
        for (text, kind) in [
            ("", Url),
            ("api.example.com", Url),
            ("//api.example.com/", Url),
            ("https:api.example.com/", Url),
            ("https:/api.example.com/", Url),
            ("https:///", Url),
            ("https://:443/", Url),
            ("http://api.example.com/", Scheme),
            ("file:///etc/passwd", Scheme),
            ("javascript:alert(1)", Scheme),
            ("view-source:https://api.example.com/", Scheme),
            ("https://user:pass@api.example.com/", Userinfo),
            ("https://@api.example.com/", Userinfo),
            ("https://api.example.com:443@evil.test/", Userinfo),
            ("https://evil.test\\@api.example.com/", Url),
            ("https://%61pi.example.com/", Url),
            ("https://api.example.com%2Fevil/", Url),
            (" https://api.example.com/", Url),
            ("https://ap\ti.example.com/", Url),
            ("https://api.example.com/a b", Url),
            ("https://аpi.example.com/", Url),
            ("https://ａｐｉ.example.com/", Url),
            ("https://api\u{200b}.example.com/", Url),
            ("https://api.example.com./", Url),
            ("https://api..example.com/", Url),
            ("https://.api.example.com/", Url),
            ("https://a_b.cdn.example.com/", Url),
            ("https://xn--a.cdn.example.com/", Url),
            ("https://api.example.com:/", Url),
            ("https://api.example.com:0/", Url),
            ("https://api.example.com:00443/", Url),
            ("https://api.example.com:65536/", Url),
            ("https://api.example.com:443:80/", Url),
            ("https://127.0.0.1/", Ip),
            ("https://127.1/", Ip),
            ("https://2130706433/", Ip),
            ("https://0x7f000001/", Ip),
            ("https://[::1]/", Ip),
            ("https://[::ffff:127.0.0.1]:443/", Ip),
            ("https://[fe80::1%25eth0]/", Url),
            ("https://[v1.a]/", Url),
            ("https://[::1]x/", Url),
            ("https://[api.example.com]/", Url),
            ("https://api.example.com:8443/", Port),
            ("https://alt.example.com/", Port),
            ("https://cdn.example.com/", Host),
            ("https://x.api.example.com/", Host),
            ("https://api.example.com.evil.test/", Host),
            ("https://evil.test/", Host),
        ] {
            match approve(text, &list()) {
                Ok(target) => panic!("{text} was approved for {}", target.authority()),
                Err(refusal) => assert_eq!(refusal.kind(), kind, "{text}: {refusal}"),
            }
        }
        let long = format!("https://api.example.com/{}", "a".repeat(URL_BYTES));
        assert!(matches!(approve(&long, &list()), Err(Refusal::RequestTooLarge)));
        assert!(matches!(approve("https://api.example.com/", &[]), Err(Refusal::HostNotAllowed(_))));
    }

    #[test]
    fn a_host_in_other_letters_is_named_in_ascii() {
        let refusal = approve("https://bücher.example/", &[]).unwrap_err();
        assert_eq!(
            refusal.to_string(),
            "the URL cannot be used: its host in ASCII would be `xn--bcher-kva.example`"
        );
    }

    /// Pieces from which URLs that confuse parsers are made.
    fn confusing() -> impl Strategy<Value = String> {
        let piece = prop::sample::select(vec![
            "https",
            "http",
            ":",
            "/",
            "//",
            "\\",
            "@",
            "#",
            "?",
            "%",
            ".",
            "api.example.com",
            "evil.test",
            "127.0.0.1",
            "[::1]",
            "443",
            "8443",
            "\t",
            " ",
            "ａ",
            "xn--",
            "%2e",
            "%40",
            "cdn.example.com",
            "a",
            "-",
        ]);
        prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    /// URLs that are refused for their host, port, scheme or user name, whatever follows.
    fn refused() -> impl Strategy<Value = String> {
        let start = prop::sample::select(vec![
            "https://evil.test",
            "https://api.example.com.evil.test",
            "https://evilapi.example.com",
            "https://cdn.example.com",
            "https://api.example.com:8443",
            "https://alt.example.com",
            "https://api.example.com@evil.test",
            "https://user@api.example.com",
            "https://evil.test\\@api.example.com",
            "https://127.0.0.1",
            "https://[::ffff:127.0.0.1]",
            "https://2130706433",
            "http://api.example.com",
            "//api.example.com",
        ]);
        let end = prop::sample::select(vec!["", "/", "/v1", "?q=api.example.com", "#@api.example.com"]);
        (start, end).prop_map(|(start, end)| format!("{start}{end}"))
    }

    /// One change that some reader undoes: letter case, percent-encoding, dots that are no labels' borders.
    fn mutate(url: &str, at: prop::sample::Index, kind: usize) -> String {
        let at = at.index(url.len());
        let (before, rest) = url.split_at(at);
        let (letter, after) = rest.split_at(1);
        let code = letter.as_bytes()[0];
        match kind {
            0 => format!("{before}{}{after}", letter.to_ascii_uppercase()),
            1 => format!("{before}%{code:02x}{after}"),
            2 => format!("{before}%{code:02X}{after}"),
            3 => url.replacen('.', "..", 1),
            4 => url.replacen('.', "%2e", 1 + at % 3),
            5 => format!("{before}%25{code:02x}{after}"),
            6 => url.replacen("://", "://.", 1),
            _ => url.replacen(".test", ".test.", 1).replacen(".com", ".com.", 1),
        }
    }

    proptest! {
        #[test]
        fn whatever_is_approved_is_on_the_list_and_read_alike(tail in confusing(), plain in any::<bool>()) {
            let text = if plain { tail } else { format!("https://{tail}") };
            if let Ok(target) = approve(&text, &list()) {
                prop_assert!(list().iter().any(|entry| entry.matches(target.host(), target.port())));
                prop_assert_eq!(target.url().host_str(), Some(target.host()));
                prop_assert_eq!(target.url().port_or_known_default(), Some(target.port()));
                let uri: http::Uri = target.url().as_str().parse().unwrap();
                prop_assert_eq!(uri.host(), Some(target.host()));
                prop_assert_eq!(uri.port_u16().unwrap_or(443), target.port());
            }
        }

        #[test]
        fn no_spelling_of_a_refused_url_is_approved(
            url in refused(),
            changes in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..8), 0..4),
        ) {
            prop_assert!(approve(&url, &list()).is_err(), "{}", url);
            let changed = changes.into_iter().fold(url, |url, (at, kind)| mutate(&url, at, kind));
            prop_assert!(approve(&changed, &list()).is_err(), "{}", changed);
        }
    }
}
