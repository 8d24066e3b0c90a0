//! Which header fields a guest may send, and which of a response it sees. Pure.
//!
//! Framing, routing and coding are the host's; fields that claim who the client is, or that change the method
//! behind the host's back, are nobody's; credentials are secrets, unless sending its own is granted.

use http::HeaderName;

use super::Refusal;
use crate::secrets::contains_placeholder;

/// Header fields of one request. 64 is more than any documented API needs.
const FIELDS: usize = 64;

/// Bytes of all names and values together: what common servers accept.
pub const HEADER_BYTES: usize = 16 * 1024;

/// Set by the host, or not at all (RFC 9110, 7.6.1): how a message is framed, coded and routed.
const FRAMING: [&str; 12] = [
    "accept-encoding",
    "connection",
    "content-length",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "via",
];

/// What a proxy says of its client, and what makes a server see another method or path than was approved.
const DISGUISES: [&str; 10] = [
    "client-ip",
    "forwarded",
    "true-client-ip",
    "x-client-ip",
    "x-http-method",
    "x-http-method-override",
    "x-method-override",
    "x-original-url",
    "x-real-ip",
    "x-rewrite-url",
];

/// Families of both kinds.
const REFUSED_PREFIXES: [&str; 2] = ["proxy-", "x-forwarded-"];

/// What speaks for an account.
const CREDENTIALS: [&str; 2] = ["authorization", "cookie"];

/// Left out of every response: credentials, requests for credentials, and what was about the connection.
const HIDDEN: [&str; 14] = [
    "authentication-info",
    "authorization",
    "connection",
    "cookie",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authentication-info",
    "proxy-authorization",
    "proxy-connection",
    "set-cookie",
    "set-cookie2",
    "trailer",
    "transfer-encoding",
    "www-authenticate",
];

/// Checks the header fields of a guest, in the order that it wrote them.
pub(super) fn check(
    fields: &[(String, Vec<u8>)],
    own_credentials: bool,
) -> Result<Vec<(HeaderName, &[u8])>, Refusal> {
    let bytes: usize = fields.iter().map(|(name, value)| name.len() + value.len()).sum();
    if fields.len() > FIELDS || bytes > HEADER_BYTES {
        return Err(Refusal::RequestTooLarge);
    }
    let mut checked: Vec<(HeaderName, &[u8])> = Vec::with_capacity(fields.len());
    for (name, value) in fields {
        let name = read_name(name)?;
        if is_hosts_own(name.as_str()) {
            return Err(Refusal::HeaderNotAllowed(format!("`{name}` is set by the host, or not at all")));
        }
        if !is_field_value(value) {
            return Err(Refusal::HeaderInvalid(format!("the value of `{name}` is not visible ASCII")));
        }
        if checked.iter().any(|(other, _)| *other == name) {
            return Err(Refusal::HeaderInvalid(format!("`{name}` stands twice: join the values with a comma")));
        }
        if is_credential(name.as_str()) && !own_credentials && !is_secret(value) {
            return Err(Refusal::HeaderNotAllowed(format!("`{name}` takes a secret: `{{{{NAME}}}}`")));
        }
        checked.push((name, value));
    }
    Ok(checked)
}

/// Whether these bytes can be the value of a header field: visible ASCII, spaces and tabs.
#[must_use]
pub fn is_field_value(value: &[u8]) -> bool {
    value.iter().all(|byte| matches!(byte, b'\t' | 0x20..=0x7E))
}

/// Whether a credential comes from a secret: a cookie field must not bring one of the guest's own along.
fn is_secret(value: &[u8]) -> bool {
    value.split(|byte| *byte == b';').all(contains_placeholder)
}

/// Whether a field speaks for an account.
pub(super) fn is_credential(name: &str) -> bool {
    CREDENTIALS.iter().any(|credential| name.eq_ignore_ascii_case(credential))
}

/// Whether a guest sees this field of a response.
pub(super) fn is_shown(name: &HeaderName) -> bool {
    !HIDDEN.contains(&name.as_str())
}

fn read_name(name: &str) -> Result<HeaderName, Refusal> {
    if contains_placeholder(name.as_bytes()) {
        return Err(Refusal::SecretPlacement("a placeholder stands in the name of a header field".to_owned()));
    }
    HeaderName::from_bytes(name.as_bytes())
        .map_err(|_| Refusal::HeaderInvalid("a name is empty, or has letters that no name has".to_owned()))
}

/// Whether a header field of this name, in lower case, is refused whoever wrote it.
#[must_use]
pub fn is_hosts_own(name: &str) -> bool {
    FRAMING.contains(&name)
        || DISGUISES.contains(&name)
        || REFUSED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    fn kind(fields: &[(&str, &str)], own_credentials: bool) -> Option<ErrorKind> {
        let fields: Vec<_> =
            fields.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec())).collect();
        check(&fields, own_credentials).err().map(|refusal| refusal.kind())
    }

    #[test]
    fn ordinary_fields_pass_in_order() {
        let fields = vec![("X-B".to_owned(), b"1".to_vec()), ("accept".to_owned(), b"a, b\t;q=1".to_vec())];
        let checked = check(&fields, false).unwrap();
        let shown: Vec<_> = checked.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(shown, ["x-b", "accept"]);
    }

    #[test]
    fn fields_that_are_not_the_guests_are_refused() {
        use ErrorKind::{
            HttpHeaderInvalid as Invalid, HttpHeaderNotAllowed as NotAllowed, SecretPlacement as Placement,
        };
        for (name, value, expected) in [
            ("Host", "evil.test", NotAllowed),
            ("Content-Length", "5", NotAllowed),
            ("Transfer-Encoding", "chunked", NotAllowed),
            ("Connection", "x", NotAllowed),
            ("TE", "x", NotAllowed),
            ("Upgrade", "websocket", NotAllowed),
            ("Expect", "100-continue", NotAllowed),
            ("Accept-Encoding", "gzip", NotAllowed),
            ("Proxy-Authorization", "x", NotAllowed),
            ("Proxy-Anything", "x", NotAllowed),
            ("X-Forwarded-For", "127.0.0.1", NotAllowed),
            ("Forwarded", "for=127.0.0.1", NotAllowed),
            ("X-HTTP-Method-Override", "DELETE", NotAllowed),
            ("Authorization", "Bearer literal", NotAllowed),
            ("Cookie", "a=b", NotAllowed),
            ("Cookie", "a=b; k={{KEY}}", NotAllowed),
            ("", "x", Invalid),
            (" host", "x", Invalid),
            ("x-a:", "x", Invalid),
            (":authority", "x", Invalid),
            ("X-A\r\nHost", "x", Invalid),
            ("X-A", "1\r\nHost: evil.test", Invalid),
            ("X-A", "1\0", Invalid),
            ("X-A", "café", Invalid),
            ("{{KEY}}", "x", Placement),
            ("X-{{KEY}}", "x", Placement),
        ] {
            assert_eq!(kind(&[(name, value)], false), Some(expected), "{name}: {value}");
        }
    }

    #[test]
    fn a_field_stands_once() {
        assert_eq!(kind(&[("X-Key", "{{KEY}}"), ("x-key", "other")], false), Some(ErrorKind::HttpHeaderInvalid));
        assert_eq!(kind(&[("accept", "a"), ("Accept", "b")], false), Some(ErrorKind::HttpHeaderInvalid));
    }

    #[test]
    fn credentials_are_secrets_unless_sending_its_own_is_granted() {
        assert_eq!(kind(&[("Authorization", "Bearer {{KEY}}")], false), None);
        assert_eq!(kind(&[("Cookie", "a={{A}}; b={{B}}")], false), None);
        assert_eq!(kind(&[("Authorization", "Bearer literal")], true), None);
        assert_eq!(kind(&[("Cookie", "a=b")], true), None);
        assert_eq!(kind(&[("Proxy-Authorization", "x")], true), Some(ErrorKind::HttpHeaderNotAllowed));
    }

    #[test]
    fn number_and_size_are_bounded() {
        let names: Vec<_> = (0..=FIELDS).map(|number| format!("x-{number}")).collect();
        let many: Vec<_> = names.iter().map(|name| (name.as_str(), "1")).collect();
        assert_eq!(kind(&many, false), Some(ErrorKind::HttpRequestTooLarge));
        assert_eq!(kind(&many[1..], false), None);
        let long = "a".repeat(HEADER_BYTES - 1);
        assert_eq!(kind(&[("x", &long)], false), None);
        assert_eq!(kind(&[("xy", &long)], false), Some(ErrorKind::HttpRequestTooLarge));
    }
}
