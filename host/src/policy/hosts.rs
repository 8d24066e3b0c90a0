//! Host patterns: which (host, port) an entry of an allow-list covers. Pure: no DNS, no I/O.
//!
//! An entry is a DNS name in its normal form (lower case, A-labels, no final dot), with `*.` in front for
//! subdomains at any depth but never the name itself, and with a port where that is not 443. What is no
//! such entry is refused when the manifest is checked or the grant is made, in words that name the fix, so
//! that no grant can ever reach an address, a name of the local network or a whole registry's customers.
//! Which entries are declared and granted is not decided here.

use std::fmt;
use std::str::FromStr;

/// The port of `https:` (RFC 9110, 4.2.2).
pub const HTTPS_PORT: u16 = 443;

/// The longest name that DNS can carry, without the final dot (RFC 1035, 2.3.4).
const NAME_MAX: usize = 253;

/// The longest label (RFC 1035, 2.3.4).
const LABEL_MAX: usize = 63;

/// Names that are resolved on the local machine or network, or not in DNS at all (RFC 6761, RFC 6762,
/// RFC 7686, RFC 8375, RFC 9476, and `internal` as reserved by ICANN in 2024).
const LOCAL_NAMES: [&str; 6] = ["localhost", "local", "internal", "home.arpa", "onion", "alt"];

/// Ports of other protocols: those that browsers refuse (Fetch standard, "bad port"), and databases that
/// read lines of text. A request sent there could be understood as commands.
const OTHER_PROTOCOLS: &[u16] = &[
    1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109,
    110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530,
    531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3306, 3659,
    4045, 4190, 5060, 5061, 5432, 6000, 6379, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080, 11211, 27017,
];

/// One entry of an allow-list.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostPattern {
    wildcard: bool,
    name: String,
    port: u16,
}

/// Why an entry is none, in words that name the fix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidPattern(pub String);

impl HostPattern {
    /// Whether it covers `host` (a lower-case name) at `port`.
    #[must_use]
    pub fn matches(&self, host: &str, port: u16) -> bool {
        self.port == port && self.matches_host(host)
    }

    /// Whether it covers `host` at the port of the entry, whichever that is.
    #[must_use]
    pub fn matches_host(&self, host: &str) -> bool {
        if self.wildcard { is_below(host, &self.name) } else { host == self.name }
    }

    /// Whether everything that `other` covers is covered by this one.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        self.port == other.port
            && match (self.wildcard, other.wildcard) {
                (false, false) => self.name == other.name,
                (false, true) => false,
                (true, false) => is_below(&other.name, &self.name),
                (true, true) => other.name == self.name || is_below(&other.name, &self.name),
            }
    }

    /// The name, without `*.` and without the port.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Whether it stands for the subdomains of its name.
    #[must_use]
    pub fn is_wildcard(&self) -> bool {
        self.wildcard
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { wildcard, name, port } = self;
        formatter.write_str(if *wildcard { "*." } else { "" })?;
        formatter.write_str(name)?;
        if *port == HTTPS_PORT { Ok(()) } else { write!(formatter, ":{port}") }
    }
}

impl FromStr for HostPattern {
    type Err = InvalidPattern;

    fn from_str(entry: &str) -> Result<Self, InvalidPattern> {
        refuse_spelling(entry)?;
        let (host, port) = match entry.split_once(':') {
            Some((host, port)) => (host, read_port(port)?),
            None => (entry, HTTPS_PORT),
        };
        let (wildcard, name) = match host.strip_prefix("*.") {
            Some(name) => (true, name),
            None => (false, host),
        };
        refuse_name(name, wildcard)?;
        Ok(Self { wildcard, name: name.to_owned(), port })
    }
}

/// Whether `host` is a dotted label or more in front of `name`.
fn is_below(host: &str, name: &str) -> bool {
    host.strip_suffix(name).is_some_and(|front| front.len() > 1 && front.ends_with('.'))
}

/// Whether `host` is a name of letters, digits and hyphens that DNS can carry, in any case.
pub(crate) fn is_dns_name(host: &str) -> bool {
    host.len() <= NAME_MAX
        && host.split('.').all(|label| {
            (1..=LABEL_MAX).contains(&label.len())
                && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
                && !label.starts_with('-')
                && !label.ends_with('-')
        })
}

/// Reads a port as it is written in its one normal form: no sign, no leading zero, not 0.
pub(crate) fn canonical_port(text: &str) -> Option<u16> {
    let canonical = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    if canonical { text.parse().ok() } else { None }
}

fn invalid<T>(reason: impl Into<String>) -> Result<T, InvalidPattern> {
    Err(InvalidPattern(reason.into()))
}

/// Refuses what is more, or less, than a name and a port.
fn refuse_spelling(entry: &str) -> Result<(), InvalidPattern> {
    if entry.is_empty() {
        return invalid("an entry must not be empty: write a host, as in `api.example.com`");
    }
    if !entry.is_ascii() {
        return match idna::domain_to_ascii_strict(entry) {
            Ok(ascii) => invalid(format!("a host is written in ASCII: write `{ascii}` if that is what you mean")),
            Err(_) => invalid("a host is written in ASCII: remove hidden characters, write A-labels (`xn--…`)"),
        };
    }
    if entry.bytes().any(|byte| byte <= b' ' || byte == 0x7F) {
        return invalid("an entry has no spaces or control characters: remove them");
    }
    if let Some((_, rest)) = entry.split_once("://") {
        return invalid(format!("an entry is a host, not a URL: write `{}`", host_of(rest)));
    }
    if entry.contains(['/', '?', '#', '\\']) {
        return invalid(format!("an entry covers all paths of a host: write `{}`", host_of(entry)));
    }
    if entry.contains('@') {
        return invalid("an entry has no user name: declare a secret instead");
    }
    if entry.contains(['[', ']']) {
        return invalid("an entry is a name, not an address: certificates and secrets are bound to names");
    }
    if entry.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return invalid(format!("write it in lower case: `{}`", entry.to_ascii_lowercase()));
    }
    if entry.strip_prefix("*.").unwrap_or(entry).contains('*') {
        return invalid("`*` stands only in front, for the subdomains of a name: `*.example.com`");
    }
    Ok(())
}

/// What of a URL without its scheme is the host and port, for a hint.
fn host_of(rest: &str) -> &str {
    rest.split(['/', '?', '#', '\\']).next().unwrap_or(rest)
}

fn read_port(port: &str) -> Result<u16, InvalidPattern> {
    let Some(port) = canonical_port(port) else {
        return invalid("a port is a number from 1 to 65535, without leading zeros; 443 needs none");
    };
    if OTHER_PROTOCOLS.contains(&port) {
        return invalid(format!("port {port} belongs to another protocol: HTTPS is not served there"));
    }
    Ok(port)
}

fn refuse_name(name: &str, wildcard: bool) -> Result<(), InvalidPattern> {
    if name.ends_with('.') && name.len() > 1 {
        return invalid(format!("an entry has no final dot: write `{}`", name.trim_end_matches('.')));
    }
    if !is_dns_name(name) {
        return invalid(
            "a host is made of labels of letters, digits and inner hyphens, with single dots between them, \
             253 characters at most",
        );
    }
    // As in the URL standard: a name whose last label is a number is an IPv4 address to some parsers.
    let last = name.rsplit('.').next().unwrap_or(name);
    if last.bytes().all(|byte| byte.is_ascii_digit()) || is_hex_number(last) {
        return invalid("an entry is a name, not an address: certificates and secrets are bound to names");
    }
    if let Some(local) = LOCAL_NAMES.iter().find(|local| name == **local || is_below(name, local)) {
        return invalid(format!("`.{local}` names are of the local machine or network, which is not reachable"));
    }
    if wildcard && psl::suffix_str(name) == Some(name) {
        return invalid(format!(
            "anyone can register a name under `{name}`: name the hosts, as in `*.example.{name}`"
        ));
    }
    if !name.contains('.') {
        return invalid(format!("`{name}` is a name of the local network: write a full name with a dot"));
    }
    match url::Host::parse(name) {
        Ok(url::Host::Domain(parsed)) if parsed == name => Ok(()),
        _ => invalid("a label that starts with `xn--` must be valid punycode"),
    }
}

fn is_hex_number(label: &str) -> bool {
    label.strip_prefix("0x").is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(entry: &str) -> HostPattern {
        entry.parse().unwrap_or_else(|error| panic!("{entry}: {error}"))
    }

    #[test]
    fn entries_are_stored_in_normal_form() {
        for (entry, shown) in [
            ("api.example.com", "api.example.com"),
            ("api.example.com:443", "api.example.com"),
            ("api.example.com:8443", "api.example.com:8443"),
            ("*.cdn.example.com", "*.cdn.example.com"),
            ("*.cdn.example.com:8443", "*.cdn.example.com:8443"),
            ("xn--bcher-kva.example", "xn--bcher-kva.example"),
            ("co.uk", "co.uk"),
            ("me.github.io", "me.github.io"),
            ("*.me.github.io", "*.me.github.io"),
            ("1password.example.com", "1password.example.com"),
        ] {
            assert_eq!(pattern(entry).to_string(), shown);
        }
    }

    #[test]
    fn what_is_no_entry_says_how_to_fix_it() {
        for (entry, fix) in [
            ("", "api.example.com"),
            (" api.example.com", "spaces"),
            ("api.example.com\u{200b}", "write `api.example.com`"),
            ("éxample.com", "xn--xample-9ua.com"),
            ("API.example.com", "`api.example.com`"),
            ("https://api.example.com/v1", "write `api.example.com`"),
            ("api.example.com/v1", "write `api.example.com`"),
            ("user@api.example.com", "secret"),
            ("api.example.com.", "write `api.example.com`"),
            ("*", "only in front"),
            ("*.", "labels"),
            ("*api.example.com", "only in front"),
            ("api.*.example.com", "only in front"),
            ("*.*.example.com", "only in front"),
            ("*.com", "anyone"),
            ("*.co.uk", "anyone"),
            ("*.github.io", "anyone"),
            ("*.ck", "anyone"),
            ("*.anything.ck", "anyone"),
            ("10.0.0.1", "not an address"),
            ("[::1]", "not an address"),
            ("2130706433", "not an address"),
            ("0x7f.1", "not an address"),
            ("api.0x", "not an address"),
            ("localhost", "local"),
            ("intranet", "full name"),
            ("a.localhost", "local"),
            ("svc.cluster.local", "local"),
            ("host.docker.internal", "local"),
            ("router.home.arpa", "local"),
            ("foo_bar.example.com", "letters"),
            ("-a.example.com", "letters"),
            ("api..example.com", "labels"),
            ("xn--a.example.com", "punycode"),
            ("api.example.com:", "1 to 65535"),
            ("api.example.com:0", "1 to 65535"),
            ("api.example.com:99999", "1 to 65535"),
            ("api.example.com:08443", "1 to 65535"),
            ("api.example.com:+443", "1 to 65535"),
            ("api.example.com:443:443", "1 to 65535"),
            ("api.example.com:22", "another protocol"),
            ("api.example.com:25", "another protocol"),
            ("api.example.com:6379", "another protocol"),
        ] {
            match entry.parse::<HostPattern>() {
                Ok(pattern) => panic!("{entry} was read as {pattern}"),
                Err(error) => assert!(error.0.contains(fix), "{entry}: {error}"),
            }
        }
    }

    #[test]
    fn a_pattern_covers_whole_names_at_one_port() {
        for (entry, host, port, covered) in [
            ("api.example.com", "api.example.com", 443, true),
            ("api.example.com", "api.example.com", 8443, false),
            ("api.example.com:8443", "api.example.com", 443, false),
            ("api.example.com", "x.api.example.com", 443, false),
            ("api.example.com", "evilapi.example.com", 443, false),
            ("api.example.com", "api.example.com.evil.test", 443, false),
            ("api.example.com", "api-example.com", 443, false),
            ("*.cdn.example.com", "a.cdn.example.com", 443, true),
            ("*.cdn.example.com", "a.b.cdn.example.com", 443, true),
            ("*.cdn.example.com", "cdn.example.com", 443, false),
            ("*.cdn.example.com", ".cdn.example.com", 443, false),
            ("*.cdn.example.com", "evilcdn.example.com", 443, false),
            ("*.cdn.example.com", "a.cdn.example.com", 8443, false),
        ] {
            assert_eq!(pattern(entry).matches(host, port), covered, "{entry} {host}:{port}");
        }
    }

    #[test]
    fn a_pattern_covers_narrower_patterns() {
        for (wide, narrow, covered) in [
            ("api.example.com", "api.example.com", true),
            ("api.example.com", "api.example.com:8443", false),
            ("api.example.com", "*.api.example.com", false),
            ("*.example.com", "api.example.com", true),
            ("*.example.com", "example.com", false),
            ("*.example.com", "*.example.com", true),
            ("*.example.com", "*.cdn.example.com", true),
            ("*.cdn.example.com", "*.example.com", false),
            ("*.example.com", "*.evilexample.com", false),
            ("*.example.com", "*.example.com:8443", false),
        ] {
            assert_eq!(pattern(wide).covers(&pattern(narrow)), covered, "{wide} {narrow}");
        }
    }
}
