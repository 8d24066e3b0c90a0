//! Puts values in the place of placeholders, in one pass: a value is never scanned again.
//!
//! It takes what `egress` approved (name, port, address, and every placeholder in its place) and returns
//! what `egress` dials, so a value can go nowhere else. What a header value, JSON string, form field or
//! multipart part can hold is checked once more with the value in it.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use bytes::Bytes;
use http::{HeaderName, HeaderValue};
use zeroize::Zeroizing;

use super::body::Unwritable;
use super::placement::Piece;
use super::{SecretSet, Text, Unplaced};
use crate::egress::{Approved, HEADER_BYTES, Method, Target, is_field_value};

/// One byte becomes at most six: `\u001f` in JSON. Percent-encoding needs three.
const LONGEST_ESCAPE: usize = 6;

/// A request with its secrets in it, and the addresses it may go to. Only [`substitute`] makes one.
pub struct Prepared {
    target: Target,
    addresses: Vec<SocketAddr>,
    method: Method,
    fields: Vec<(HeaderName, HeaderValue)>,
    body: Option<Bytes>,
    sources: BTreeSet<String>,
}

impl Prepared {
    /// Where it goes.
    #[must_use]
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// The addresses that were checked, in the order to try.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The names of the stored values that are in it.
    #[must_use]
    pub fn sources(&self) -> &BTreeSet<String> {
        &self.sources
    }

    /// What to send: method, header fields and body.
    #[must_use]
    pub fn into_parts(self) -> (Target, Method, Vec<(HeaderName, HeaderValue)>, Option<Bytes>) {
        (self.target, self.method, self.fields, self.body)
    }
}

/// Replaces every placeholder of an approved request.
pub fn substitute(approved: Approved<'_>, set: &SecretSet, body_limit: usize) -> Result<Prepared, Unplaced> {
    let (request, addresses) = approved.into_parts();
    let (target, method, fields, body) = request.into_parts();
    let sources =
        fields.iter().map(|(_, text)| text).chain(&body).flat_map(Text::sources).map(str::to_owned).collect();
    let mut header_bytes = 0;
    let fields = fields
        .into_iter()
        .map(|(name, text)| {
            let value = fill(&text, set)?;
            header_bytes += name.as_str().len() + value.len();
            let value = field_value(&name, &text, &value)?;
            Ok((name, value))
        })
        .collect::<Result<_, Unplaced>>()?;
    let body = body.map(|text| fill(&text, set)).transpose()?;
    if header_bytes > HEADER_BYTES || body.as_ref().is_some_and(|body| body.len() > body_limit) {
        return Err(Unplaced::TooLarge);
    }
    // The body keeps its clearing buffer; hyper's own copy on the wire is out of our hands.
    Ok(Prepared { target, addresses, method, fields, body: body.map(Bytes::from_owner), sources })
}

fn field_value(name: &HeaderName, text: &Text<'_>, value: &[u8]) -> Result<HeaderValue, Unplaced> {
    let invalid = || Unplaced::Field(name.as_str().to_owned());
    if !is_field_value(value) {
        return Err(invalid());
    }
    let mut field = HeaderValue::from_bytes(value).map_err(|_| invalid())?;
    field.set_sensitive(text.names().next().is_some());
    Ok(field)
}

fn fill(text: &Text<'_>, set: &SecretSet) -> Result<Zeroizing<Vec<u8>>, Unplaced> {
    // Room for every value at its longest, so that growing leaves no copy of a value behind.
    let room = text.pieces.iter().map(|piece| match piece {
        Piece::Literal(bytes) => bytes.len(),
        Piece::Secret { name, source } => set.get(name, source).map_or(0, <[u8]>::len) * LONGEST_ESCAPE,
    });
    let mut out = Zeroizing::new(Vec::with_capacity(room.sum()));
    for piece in &text.pieces {
        match piece {
            Piece::Literal(bytes) => out.extend_from_slice(bytes),
            Piece::Secret { name, source } => {
                let value = set.get(name, source).ok_or_else(|| match set.has_expired(name, source) {
                    true => Unplaced::Expired { name: (*name).to_owned(), stored: source.clone() },
                    false => Unplaced::NotAvailable((*name).to_owned()),
                })?;
                let written = text.kind.write(value, &mut out);
                written.map_err(|Unwritable(why)| Unplaced::Misplaced(format!("`{name}`: {why}")))?;
            }
        }
    }
    Ok(out)
}
