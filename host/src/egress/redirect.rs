//! What is left of a request when the server sends it elsewhere. Pure. The new URL is not judged here: it starts
//! again at [`approve`](fn@super::approve).
//!
//! The next request is made from the template, in which placeholders are not replaced. What belongs to the
//! host that was asked first does not travel: literal credentials are dropped, and a field with a secret is
//! kept only where that secret is approved for the new host.

use http::{HeaderValue, StatusCode};

use super::approve::split_scheme;
use super::request::destination;
use super::{Method, Refusal, Target, Template, headers};
use crate::policy::SecretUse;
use crate::secrets::{contains_placeholder, is_approved_header};

/// Turns `template`, which was sent to `from`, into what the redirect asks for (Fetch standard, "HTTP-redirect
/// fetch"): a POST after 301 and 302, and everything but HEAD after 303, becomes a GET without a body.
pub(super) fn follow(
    template: &mut Template,
    from: &Target,
    status: StatusCode,
    location: &HeaderValue,
) -> Result<(), Refusal> {
    template.url = next_url(from, location.as_bytes())?;
    let becomes_get = match status.as_u16() {
        301 | 302 => template.method == Method::Post,
        303 => template.method != Method::Head,
        _ => false,
    };
    if becomes_get {
        template.method = Method::Get;
        template.body = None;
        template.headers.retain(|(name, _)| !name.to_ascii_lowercase().starts_with("content-"));
    }
    Ok(())
}

/// Drops from `template` what may not go to `target` after it went to another origin.
pub(super) fn cross(template: &mut Template, target: &Target, secrets: &[SecretUse]) {
    template.headers.retain(|(name, value)| {
        if contains_placeholder(value) {
            is_approved_header(name, value, secrets, destination(target))
        } else {
            !headers::is_credential(name)
        }
    });
}

/// The absolute URL of a `Location`. An absolute one is taken as it is written, so that nothing is repaired
/// before it is judged.
fn next_url(from: &Target, location: &[u8]) -> Result<String, Refusal> {
    let unreadable = || Refusal::InvalidUrl("the `Location` of a redirect cannot be read".to_owned());
    let text = std::str::from_utf8(location).map_err(|_| unreadable())?;
    if !text.bytes().all(|byte| (0x21..=0x7E).contains(&byte)) || text.contains('\\') {
        return Err(unreadable());
    }
    if split_scheme(text).is_some() {
        return Ok(text.to_owned());
    }
    if text.starts_with("//") {
        return Ok(format!("https:{text}"));
    }
    from.url().join(text).map(String::from).map_err(|_| unreadable())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::egress::approve;
    use crate::policy::{Approval, HostPattern, Place};

    fn allow() -> Vec<HostPattern> {
        ["api.example.com", "b.example.com", "api.example.com:8443"].map(|entry| entry.parse().unwrap()).to_vec()
    }

    fn template(method: Method) -> Template {
        let field = |name: &str, value: &str| (name.to_owned(), value.as_bytes().to_vec());
        Template {
            method,
            url: "https://api.example.com/a/start?q=1".to_owned(),
            headers: vec![
                field("Authorization", "Bearer literal"),
                field("Content-Type", "text/plain"),
                field("X-Key", "{{KEY}}"),
                field("X-Both", "{{BOTH}}"),
                field("Accept", "*/*"),
            ],
            body: Some(b"body".to_vec()),
            timeout: None,
        }
    }

    fn secrets() -> Vec<SecretUse> {
        let one = |name: &str, field: &str, hosts: &[&str]| SecretUse {
            name: name.to_owned(),
            approvals: hosts
                .iter()
                .map(|host| Approval {
                    secret: name.to_owned(),
                    source: name.to_owned(),
                    host: (*host).to_owned(),
                    port: 443,
                    place: Place::Header(field.to_owned()),
                    expires_at: None,
                })
                .collect(),
        };
        vec![
            one("KEY", "x-key", &["api.example.com"]),
            one("BOTH", "x-both", &["api.example.com", "b.example.com"]),
        ]
    }

    #[test]
    fn method_and_body_follow_the_status() {
        use Method::{Delete, Get, Head, Post, Put};
        for (status, method, then, body) in [
            (301, Post, Get, false),
            (302, Post, Get, false),
            (303, Post, Get, false),
            (307, Post, Post, true),
            (308, Post, Post, true),
            (302, Put, Put, true),
            (303, Put, Get, false),
            (303, Delete, Get, false),
            (303, Head, Head, true),
            (302, Get, Get, true),
            (308, Delete, Delete, true),
        ] {
            let mut template = template(method);
            let from = approve(&template.url, &allow()).unwrap();
            let status = StatusCode::from_u16(status).unwrap();
            follow(&mut template, &from, status, &HeaderValue::from_static("/next")).unwrap();
            assert_eq!((template.method, template.body.is_some()), (then, body), "{status} {method:?}");
            let typed = template.headers.iter().any(|(name, _)| name == "Content-Type");
            assert_eq!(typed, body, "{status} {method:?}");
        }
    }

    #[test]
    fn a_location_is_made_absolute_and_nothing_else() {
        for (location, expected) in [
            ("https://b.example.com/x", Some("https://b.example.com/x")),
            ("//b.example.com/x", Some("https://b.example.com/x")),
            ("/x?y=2", Some("https://api.example.com/x?y=2")),
            ("x", Some("https://api.example.com/a/x")),
            ("?q=2", Some("https://api.example.com/a/start?q=2")),
            ("", Some("https://api.example.com/a/start?q=1")),
            ("x:y", Some("x:y")),
            ("https:x", Some("https:x")),
            ("javascript:alert(1)", Some("javascript:alert(1)")),
            ("https://user@b.example.com/", Some("https://user@b.example.com/")),
            ("\\\\b.example.com\\x", None),
            ("/a b", None),
            ("https://api.example.com/\tx", None),
            ("/ü", None),
        ] {
            let from = approve("https://api.example.com/a/start?q=1", &allow()).unwrap();
            assert_eq!(next_url(&from, location.as_bytes()).ok().as_deref(), expected, "{location}");
        }
        let from = approve("https://api.example.com/", &allow()).unwrap();
        assert!(next_url(&from, b"https://api.example.com/\r\nX: y").is_err());
        assert!(next_url(&from, b"/\xFF").is_err());
    }

    #[test]
    fn another_origin_gets_no_credentials_but_approved_secrets() {
        for (url, kept) in [
            ("https://b.example.com/", vec!["Content-Type", "X-Both", "Accept"]),
            ("https://api.example.com:8443/", vec!["Content-Type", "Accept"]),
        ] {
            let mut template = template(Method::Get);
            cross(&mut template, &approve(url, &allow()).unwrap(), &secrets());
            let names: Vec<_> = template.headers.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(names, kept, "{url}");
        }
    }
}
