//! Addresses of documents: what URIs and URI templates of a capability may look like.
//!
//! An address is shown to people and agents, and handed back by them, so it has one spelling: visible ASCII, the
//! scheme in lower case. Schemes that mean something to clients are not a capability's to use.

use super::super::Template;
use super::super::types::Manifest;

/// Characters of an address.
pub(super) const MAX_URI: usize = 512;

/// Schemes that a client would follow itself, run, or take for this host's own.
const RESERVED: &[&str] = &["remit", "http", "https", "file", "data", "javascript", "ui"];

/// What is wrong with the address of a document.
pub(crate) fn uri(uri: &str) -> Option<String> {
    if uri.len() > MAX_URI {
        return Some(format!("shorten it to {MAX_URI} characters"));
    }
    let Some((scheme, rest)) = uri.split_once(':') else {
        return Some("begin with a scheme, as in `note:1`".to_owned());
    };
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"+-.".contains(&byte);
    if !scheme.starts_with(|first: char| first.is_ascii_lowercase()) || !scheme.bytes().all(fits) {
        return Some("begin with a scheme in lower case, as in `note:1`".to_owned());
    }
    if RESERVED.contains(&scheme) {
        return Some(format!("choose another scheme: `{scheme}` is reserved"));
    }
    if rest.is_empty() {
        return Some("write something after the scheme".to_owned());
    }
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=%".contains(&byte);
    (!rest.bytes().all(fits)).then(|| "percent-encode what no URI has: spaces, quotes, other letters".to_owned())
}

/// What is wrong with the form of addresses.
pub(super) fn template(text: &str) -> Option<String> {
    let template = match Template::parse(text) {
        Ok(template) => template,
        Err(fix) => return Some(fix),
    };
    if text.find('{') < text.find(':') {
        return Some("write the scheme as it is, without a variable".to_owned());
    }
    // Judged as one of its addresses, with the names in the place of the values.
    let mut example = text.to_owned();
    for name in template.variables() {
        example = example.replace(&format!("{{{name}}}"), name);
    }
    uri(&example)
}

/// Whether a manifest declares the document at an address, by itself or by a template.
#[must_use]
pub fn declares_document(manifest: &Manifest, uri: &str) -> bool {
    manifest.resources.iter().any(|resource| resource.uri == uri)
        || manifest
            .resource_templates
            .iter()
            .filter_map(|template| Template::parse(&template.uri_template).ok())
            .any(|template| template.matches(uri))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_one_spelling_and_a_scheme_of_their_own() {
        for good in ["note:1", "test://static-text", "x-y+z.1:a?b=c#d", "n:%C3%A4"] {
            assert_eq!(uri(good), None, "{good}");
        }
        let long = format!("n:{}", "a".repeat(MAX_URI));
        let bad = [
            "", "note", ":a", "note:", "Note:1", "1n:a", "no te:1", "note:a b", "note:\u{202e}a", "note:ä",
            "note:a\n", "note:<a>", "note:{id}", "remit://a/b/c", "http://a.example/", "https://a.example/",
            "file:///etc/passwd", "data:text/html,a", "javascript:alert(1)", &long,
        ];
        for bad in bad {
            assert!(uri(bad).is_some(), "{bad}");
        }
    }

    #[test]
    fn a_form_is_judged_as_its_addresses_are() {
        for good in ["note:{id}", "test://template/{id}/data"] {
            assert_eq!(template(good), None, "{good}");
        }
        for bad in ["{scheme}:a", "{a}", "https://a.example/{id}", "file:///{path}", "note:{+path}", "note:\u{200b}{a}"] {
            assert!(template(bad).is_some(), "{bad}");
        }
    }
}
