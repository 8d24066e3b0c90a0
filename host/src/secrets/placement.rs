//! Where a placeholder may stand: the pure half of substitution. It needs the approvals and no value, so that
//! a request that uses a secret wrongly is refused before its name is resolved or the vault is opened.
//!
//! One answer for a secret that is unknown, not declared, not approved for the host, or (later) not set:
//! a guest learns nothing about what is stored here.

use http::HeaderName;

use super::body::{BodyKind, are_inside_json_strings};
use super::placeholder;
use crate::policy::{Approval, Place, SecretUse};

/// Where a request goes, as far as secrets are concerned.
#[derive(Clone, Copy, Debug)]
pub struct Destination<'a> {
    /// The host, in lower case.
    pub host: &'a str,
    /// The port.
    pub port: u16,
}

/// Why a placeholder cannot be replaced.
#[derive(Debug, PartialEq, Eq)]
pub enum Unplaced {
    /// Unknown, not approved for the host, or not set. Holds the placeholder's name.
    NotAvailable(String),
    /// Its value has ended. A guest hears the same as of one that is not available.
    Expired {
        /// The placeholder's name.
        name: String,
        /// The name of the stored value.
        stored: String,
    },
    /// It stands where it may not stand.
    Misplaced(String),
    /// With the value in it, this header field is not valid.
    Field(String),
    /// With the values in it, the request is too large.
    TooLarge,
}

/// A text of the guest whose placeholders are all approved for the place where it stands.
#[derive(Debug)]
pub struct Text<'t> {
    pub(super) pieces: Vec<Piece<'t>>,
    pub(super) kind: BodyKind,
}

#[derive(Debug)]
pub(super) enum Piece<'t> {
    /// The guest's own bytes.
    Literal(&'t [u8]),
    /// To be replaced by the value that is stored under `source`.
    Secret { name: &'t str, source: String },
}

impl Text<'_> {
    /// The names of its placeholders.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Secret { name, .. } => Some(*name),
            Piece::Literal(_) => None,
        })
    }

    /// The names of the stored values that take their places.
    pub(super) fn sources(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Secret { source, .. } => Some(source.as_str()),
            Piece::Literal(_) => None,
        })
    }

    /// Its placeholders, each with the name that its value is stored under.
    pub fn placeholders(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Secret { name, source } => Some((*name, source.as_str())),
            Piece::Literal(_) => None,
        })
    }
}

/// Approves the placeholders in the value of a header field.
pub(crate) fn place_header<'t>(
    name: &HeaderName,
    value: &'t [u8],
    secrets: &[SecretUse],
    destination: Destination<'_>,
) -> Result<Text<'t>, Unplaced> {
    let place = Place::Header(name.as_str().to_owned());
    let ranges = std::iter::once(0..value.len());
    Ok(Text { pieces: pieces(value, ranges, &place, secrets, destination)?, kind: BodyKind::Raw })
}

/// Approves the placeholders in a body of this `content-type`.
pub(crate) fn place_body<'t>(
    body: &'t [u8],
    content_type: Option<&[u8]>,
    secrets: &[SecretUse],
    destination: Destination<'_>,
) -> Result<Text<'t>, Unplaced> {
    let kind = BodyKind::of(content_type);
    let pieces = pieces(body, kind.ranges(body), &Place::Body, secrets, destination)?;
    if kind == BodyKind::Json {
        let mut at = 0;
        let starts = pieces.iter().filter_map(|piece| {
            let start = at;
            match piece {
                Piece::Literal(bytes) => at += bytes.len(),
                Piece::Secret { name, .. } => at += name.len() + "{{}}".len(),
            }
            matches!(piece, Piece::Secret { .. }).then_some(start)
        });
        if !are_inside_json_strings(body, starts) {
            return Err(Unplaced::Misplaced("in a JSON body a placeholder must stand inside a string".to_owned()));
        }
    }
    Ok(Text { pieces, kind })
}

/// Whether every placeholder in this value is approved in this field at this destination.
pub(crate) fn is_approved_header(
    name: &str,
    value: &[u8],
    secrets: &[SecretUse],
    destination: Destination<'_>,
) -> bool {
    let place = Place::Header(name.to_ascii_lowercase());
    placeholder::find(value)
        .is_ok_and(|found| found.iter().all(|one| approval(one.name, &place, secrets, destination).is_ok()))
}

fn pieces<'t>(
    text: &'t [u8],
    ranges: impl IntoIterator<Item = std::ops::Range<usize>>,
    place: &Place,
    secrets: &[SecretUse],
    destination: Destination<'_>,
) -> Result<Vec<Piece<'t>>, Unplaced> {
    let mut pieces = Vec::new();
    let mut at = 0;
    for range in ranges {
        let found = placeholder::find(&text[range.clone()]).map_err(|placeholder::Nested| {
            Unplaced::Misplaced("a placeholder stands inside other braces".to_owned())
        })?;
        for one in found {
            let source = approval(one.name, place, secrets, destination)?.source.clone();
            pieces.push(Piece::Literal(&text[at..range.start + one.start]));
            pieces.push(Piece::Secret { name: one.name, source });
            at = range.start + one.end;
        }
    }
    pieces.push(Piece::Literal(&text[at..]));
    Ok(pieces)
}

/// The approval under which the placeholder `name` may stand in `place`.
fn approval<'s>(
    name: &str,
    place: &Place,
    secrets: &'s [SecretUse],
    destination: Destination<'_>,
) -> Result<&'s Approval, Unplaced> {
    let mut here = secrets
        .iter()
        .filter(|secret| secret.name == name)
        .flat_map(|secret| &secret.approvals)
        .filter(|approval| approval.host == destination.host && approval.port == destination.port)
        .peekable();
    if here.peek().is_none() {
        return Err(Unplaced::NotAvailable(name.to_owned()));
    }
    here.find(|approval| approval.place == *place).ok_or_else(|| {
        let place = match place {
            Place::Header(header) => format!("the header field `{header}`"),
            Place::Body => "the body".to_owned(),
        };
        Unplaced::Misplaced(format!("`{name}` is not approved for {place}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Destination<'_> = Destination { host: "api.example.com", port: 443 };

    fn approved(name: &str, host: &str, port: u16, place: Place) -> SecretUse {
        let (secret, source, host) = (name.to_owned(), name.to_owned(), host.to_owned());
        let approval = Approval { secret, source, host, port, place, expires_at: None };
        SecretUse { name: name.to_owned(), approvals: vec![approval] }
    }

    fn secrets() -> Vec<SecretUse> {
        vec![
            approved("KEY", "api.example.com", 443, Place::Header("authorization".to_owned())),
            approved("PASS", "api.example.com", 443, Place::Body),
            approved("OTHER", "other.example.com", 443, Place::Body),
            approved("PORT", "api.example.com", 8443, Place::Body),
            SecretUse { name: "UNAPPROVED".to_owned(), approvals: Vec::new() },
        ]
    }

    fn header(name: &'static str, value: &str) -> Result<Vec<String>, Unplaced> {
        let text = place_header(&HeaderName::from_static(name), value.as_bytes(), &secrets(), HERE)?;
        Ok(text.names().map(str::to_owned).collect())
    }

    fn body(content_type: &str, body: &str) -> Result<Vec<String>, Unplaced> {
        let text = place_body(body.as_bytes(), Some(content_type.as_bytes()), &secrets(), HERE)?;
        Ok(text.names().map(str::to_owned).collect())
    }

    #[test]
    fn a_secret_stands_only_where_it_is_approved() {
        assert_eq!(header("authorization", "Bearer {{KEY}}").unwrap(), ["KEY"]);
        assert_eq!(body("text/plain", "p={{PASS}}").unwrap(), ["PASS"]);
        assert!(matches!(header("x-debug", "{{KEY}}"), Err(Unplaced::Misplaced(_))));
        assert!(matches!(body("text/plain", "{{KEY}}"), Err(Unplaced::Misplaced(_))));
        assert!(matches!(header("authorization", "{{PASS}}"), Err(Unplaced::Misplaced(_))));
    }

    #[test]
    fn unknown_undeclared_and_unapproved_are_told_apart_by_nothing() {
        for name in ["UNKNOWN", "UNAPPROVED", "OTHER", "PORT"] {
            let expected = Err(Unplaced::NotAvailable(name.to_owned()));
            assert_eq!(body("text/plain", &format!("{{{{{name}}}}}")), expected);
        }
    }

    #[test]
    fn text_that_only_looks_like_a_placeholder_is_sent_as_it_is() {
        assert!(body("application/json", r#"{"template":"{{ user.name }} {{key}}"}"#).unwrap().is_empty());
    }

    #[test]
    fn a_json_body_takes_placeholders_inside_strings_only() {
        assert_eq!(body("application/json", r#"{"a":"{{PASS}}","b":"x {{PASS}}"}"#).unwrap(), ["PASS", "PASS"]);
        for text in [r#"{"a":{{PASS}}}"#, r#"{"a":"{{PASS}}","b":{{PASS}}}"#, r#"{"a":"\{{PASS}}"}"#] {
            assert!(matches!(body("application/json", text), Err(Unplaced::Misplaced(_))), "{text}");
        }
    }

    #[test]
    fn nested_braces_are_refused() {
        assert!(matches!(body("text/plain", "{{A{{PASS}}}}"), Err(Unplaced::Misplaced(_))));
    }
}
