//! The documents that a capability lets agents read: its side of `wit/resources.wit`. Functions marked `#[resource]`
//! make them; what they may return is decided here, and which function is for which address.

use crate::bindings::exports::remit::capability::resources;
pub use crate::bindings::exports::remit::capability::resources::Document;
use crate::{Capability, Contents, Context, Failure};

impl<T: Capability> resources::Guest for T {
    fn read(uri: String, context: Context) -> Result<Vec<Document>, Failure> {
        T::read(&uri, &context)
    }
}

/// What a function marked `#[resource]` can return: text, bytes, [`Contents`], documents of its own, or a `Result`
/// of one of them.
#[diagnostic::on_unimplemented(
    message = "a resource cannot be `{Self}`",
    label = "not the contents of a document",
    note = "return `String`, `Vec<u8>`, `Contents` or `Vec<Document>`, or a `Result` of one with an error such as `Failure`"
)]
pub trait Readable {
    /// The documents at this address.
    fn documents(self, uri: &str, mime_type: Option<&str>) -> Result<Vec<Document>, Failure>;
}

impl Readable for Contents {
    fn documents(self, uri: &str, mime_type: Option<&str>) -> Result<Vec<Document>, Failure> {
        Ok(vec![Document { uri: uri.to_owned(), mime_type: mime_type.map(str::to_owned), contents: self }])
    }
}

impl Readable for String {
    fn documents(self, uri: &str, mime_type: Option<&str>) -> Result<Vec<Document>, Failure> {
        Contents::Text(self).documents(uri, mime_type)
    }
}

impl Readable for &str {
    fn documents(self, uri: &str, mime_type: Option<&str>) -> Result<Vec<Document>, Failure> {
        self.to_owned().documents(uri, mime_type)
    }
}

impl Readable for Vec<u8> {
    fn documents(self, uri: &str, mime_type: Option<&str>) -> Result<Vec<Document>, Failure> {
        Contents::Blob(self).documents(uri, mime_type)
    }
}

impl Readable for Vec<Document> {
    fn documents(self, _uri: &str, _mime_type: Option<&str>) -> Result<Vec<Document>, Failure> {
        Ok(self)
    }
}

impl<T: Readable, E: Into<Failure>> Readable for Result<T, E> {
    fn documents(self, uri: &str, mime_type: Option<&str>) -> Result<Vec<Document>, Failure> {
        self.map_err(Into::into)?.documents(uri, mime_type)
    }
}

/// The values of a template's variables at an address, in the template's order. `texts` are what stands before,
/// between and behind them: one more than there are variables.
///
/// A value is at least one character and no `/`, and ends where the text behind it stands first; percent signs are
/// decoded.
pub(crate) fn variables(texts: &[&str], uri: &str) -> Option<Vec<String>> {
    let (first, rest) = texts.split_first()?;
    let mut left = uri.strip_prefix(first)?;
    let mut values = Vec::with_capacity(rest.len());
    for (index, text) in rest.iter().enumerate() {
        let is_last = index + 1 == rest.len();
        let from = left.chars().next()?.len_utf8();
        let end = if is_last { left.strip_suffix(text)?.len() } else { left[from..].find(text)? + from };
        let value = &left[..end];
        if value.is_empty() || value.contains('/') {
            return None;
        }
        values.push(decode(value)?);
        left = &left[end + text.len()..];
    }
    left.is_empty().then_some(values)
}

/// A value without percent signs (RFC 3986, 2.1). `None` where they do not stand for text.
fn decode(value: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let Some((first, others)) = rest.split_first() {
        if *first == b'%' {
            let [high, low, others @ ..] = others else { return None };
            let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
            bytes.push(digit(*high)? << 4 | digit(*low)?);
            rest = others;
        } else {
            bytes.push(*first);
            rest = others;
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_apart() {
        let check = |texts: &[&str], uri: &str, expected: Option<&[&str]>| {
            let found = variables(texts, uri);
            let found = found.as_ref().map(|values| values.iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(found.as_deref(), expected, "{uri}");
        };
        check(&["note:", ""], "note:7", Some(&["7"]));
        check(&["note:", ""], "note:a%2Fb%20%C3%A9", Some(&["a/b é"]));
        check(&["test://", "/data"], "test://7/data", Some(&["7"]));
        check(&["a:", "-", ""], "a:1-2-3", Some(&["1", "2-3"]));
        check(&["a:", "-", ""], "a:--1", Some(&["-", "1"]));
        check(&["a:", "-", ""], "a:-1", None);
        for uri in ["note:", "note:a/b", "notes:7", "note:%", "note:%f", "note:%ff", "note:%zz"] {
            check(&["note:", ""], uri, None);
        }
        for uri in ["test:///data", "test://7", "test://7/data/x", "test://a/b/data"] {
            check(&["test://", "/data"], uri, None);
        }
    }

    #[test]
    fn contents_get_the_address_and_the_media_type() {
        let document =
            |contents| Document { uri: "a:b".to_owned(), mime_type: Some("text/plain".to_owned()), contents };
        let text = "x".documents("a:b", Some("text/plain"));
        assert_eq!(text, Ok(vec![document(Contents::Text("x".to_owned()))]));
        let bytes = vec![1_u8].documents("a:b", Some("text/plain"));
        assert_eq!(bytes, Ok(vec![document(Contents::Blob(vec![1]))]));
        let own = vec![document(Contents::Blob(vec![2]))];
        assert_eq!(own.clone().documents("c:d", None), Ok(own));
        let failed: Result<String, &str> = Err("no");
        assert_eq!(failed.documents("a:b", None), Err(Failure::Failed("no".to_owned())));
    }
}
