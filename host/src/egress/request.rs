//! What a guest wrote, and the check of all that can be decided about it without I/O: header fields, sizes, and
//! where its placeholders stand.

use std::str::FromStr;
use std::time::Duration;

use http::HeaderName;
use percent_encoding::percent_decode_str;

use super::{Refusal, Target, headers};
use crate::config::HttpConfig;
use crate::policy::{HttpGrant, Place, SecretUse};
use crate::secrets::{Destination, Text, contains_placeholder, place_body, place_header};

/// Placeholders of one request. More would be a way to make a small request large.
const PLACEHOLDERS: usize = 8;

/// The methods that can be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// `GET`.
    Get,
    /// `HEAD`.
    Head,
    /// `POST`.
    Post,
    /// `PUT`.
    Put,
    /// `PATCH`.
    Patch,
    /// `DELETE`.
    Delete,
}

impl Method {
    /// As it is sent.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }

    /// Whether it changes nothing (RFC 9110, 9.2.1), so that a dry run sends it.
    #[must_use]
    pub fn is_safe(self) -> bool {
        matches!(self, Self::Get | Self::Head)
    }
}

impl FromStr for Method {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Self, Refusal> {
        let all = [Self::Get, Self::Head, Self::Post, Self::Put, Self::Patch, Self::Delete];
        let found = all.into_iter().find(|method| method.as_str() == text);
        found.ok_or_else(|| Refusal::HeaderInvalid("the method is not one that is sent".to_owned()))
    }
}

/// What a guest wrote: placeholders are not replaced in it, ever.
#[derive(Clone, Debug)]
pub struct Template {
    /// The method.
    pub method: Method,
    /// An absolute URL.
    pub url: String,
    /// Header fields, in order.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body.
    pub body: Option<Vec<u8>>,
    /// Time for the whole request, redirects included.
    pub timeout: Option<Duration>,
}

/// A request about which everything that needs no I/O is decided. Only [`check`] makes one.
#[derive(Debug)]
pub struct Checked<'t> {
    target: Target,
    method: Method,
    fields: Vec<(HeaderName, Text<'t>)>,
    body: Option<Text<'t>>,
}

/// The parts of a [`Checked`] request.
pub(crate) type Parts<'t> = (Target, Method, Vec<(HeaderName, Text<'t>)>, Option<Text<'t>>);

impl<'t> Checked<'t> {
    /// Where it goes.
    #[must_use]
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// The names of its placeholders, each once.
    #[must_use]
    pub fn secrets(&self) -> Vec<String> {
        let texts = self.fields.iter().map(|(_, text)| text).chain(&self.body);
        let mut names: Vec<_> = texts.flat_map(Text::names).map(str::to_owned).collect();
        names.sort();
        names.dedup();
        names
    }

    /// Its placeholders, each once, with the names that their values are stored under.
    pub(super) fn placeholders(&self) -> std::collections::BTreeSet<(String, String)> {
        let texts = self.fields.iter().map(|(_, text)| text).chain(&self.body);
        texts.flat_map(Text::placeholders).map(|(name, source)| (name.to_owned(), source.to_owned())).collect()
    }

    /// Its placeholders, each with the place where it stands.
    pub(super) fn placed(&self) -> Vec<(Place, &str)> {
        let mut placed = Vec::new();
        for (name, text) in &self.fields {
            let place = Place::Header(name.as_str().to_owned());
            placed.extend(text.names().map(|secret| (place.clone(), secret)));
        }
        placed.extend(self.body.iter().flat_map(Text::names).map(|secret| (Place::Body, secret)));
        placed
    }

    pub(crate) fn into_parts(self) -> Parts<'t> {
        (self.target, self.method, self.fields, self.body)
    }
}

/// Where a target is, as far as secrets are concerned.
pub(super) fn destination(target: &Target) -> Destination<'_> {
    Destination { host: target.host(), port: target.port() }
}

/// Checks header fields, sizes and placeholders of a request to an approved target.
pub(super) fn check<'t>(
    target: Target,
    template: &'t Template,
    grant: &HttpGrant,
    secrets: &[SecretUse],
    limits: &HttpConfig,
) -> Result<Checked<'t>, Refusal> {
    refuse_placeholder_in_url(&template.url)?;
    let fields = headers::check(&template.headers, grant.own_credentials)?;
    if template.body.as_ref().is_some_and(|body| body.len() > limits.request_bytes) {
        return Err(Refusal::RequestTooLarge);
    }
    let content_type = fields.iter().find(|(name, _)| name == http::header::CONTENT_TYPE).map(|(_, value)| *value);
    let destination = destination(&target);
    let body = match &template.body {
        Some(body) => Some(place_body(body, content_type, secrets, destination)?),
        None => None,
    };
    let fields = fields
        .into_iter()
        .map(|(name, value)| {
            let text = place_header(&name, value, secrets, destination)?;
            Ok((name, text))
        })
        .collect::<Result<Vec<_>, Refusal>>()?;
    let uses: usize = fields.iter().map(|(_, text)| text).chain(&body).map(|text| text.names().count()).sum();
    if uses > PLACEHOLDERS {
        return Err(Refusal::SecretPlacement(format!(
            "more than {PLACEHOLDERS} placeholders stand in one request"
        )));
    }
    Ok(Checked { target, method: template.method, fields, body })
}

/// URLs are written to logs, histories and `Referer` fields, so no secret goes into one.
fn refuse_placeholder_in_url(url: &str) -> Result<(), Refusal> {
    let decoded: Vec<u8> = percent_decode_str(url).collect();
    if contains_placeholder(url.as_bytes()) || contains_placeholder(&decoded) {
        return Err(Refusal::SecretPlacement("a placeholder stands in the URL".to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::egress::approve;
    use crate::error::ErrorKind;
    use crate::policy::Approval;

    fn checked(template: &Template) -> Result<Vec<String>, ErrorKind> {
        let grant = HttpGrant { allow: vec!["api.example.com".parse().unwrap()], own_credentials: false };
        let approval = |place| Approval {
            secret: "KEY".to_owned(),
            source: "KEY".to_owned(),
            host: "api.example.com".to_owned(),
            port: 443,
            place,
            expires_at: None,
        };
        let secrets = [SecretUse {
            name: "KEY".to_owned(),
            approvals: vec![approval(Place::Header("authorization".to_owned())), approval(Place::Body)],
        }];
        let limits = HttpConfig { request_bytes: 1000, ..HttpConfig::default() };
        let target = approve(&template.url, &grant.allow).map_err(|refusal| refusal.kind())?;
        let checked = check(target, template, &grant, &secrets, &limits).map_err(|refusal| refusal.kind())?;
        Ok(checked.secrets())
    }

    fn template(url: &str, headers: &[(&str, &str)], body: Option<&str>) -> Template {
        Template {
            method: Method::Post,
            url: url.to_owned(),
            headers: headers.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec())).collect(),
            body: body.map(|body| body.as_bytes().to_vec()),
            timeout: None,
        }
    }

    #[test]
    fn placeholders_stand_in_header_values_and_bodies_only() {
        let url = "https://api.example.com/";
        let both = template(url, &[("Authorization", "Bearer {{KEY}}")], Some("k={{KEY}}"));
        assert_eq!(checked(&both), Ok(vec!["KEY".to_owned()]));
        for url in [
            "https://api.example.com/{{KEY}}",
            "https://api.example.com/?key={{KEY}}",
            "https://api.example.com/#{{KEY}}",
            "https://api.example.com/%7B%7BKEY%7D%7D",
            "https://api.example.com/%7b{KEY}%7d",
            "https://api.example.com/{{UNKNOWN}}",
        ] {
            assert_eq!(checked(&template(url, &[], None)), Err(ErrorKind::SecretPlacement), "{url}");
        }
        assert_eq!(checked(&template("https://api.example.com/{id}", &[], None)), Ok(vec![]));
    }

    #[test]
    fn size_and_number_are_bounded() {
        let url = "https://api.example.com/";
        assert_eq!(checked(&template(url, &[], Some(&"a".repeat(1000)))), Ok(vec![]));
        assert_eq!(checked(&template(url, &[], Some(&"a".repeat(1001)))), Err(ErrorKind::HttpRequestTooLarge));
        assert!(checked(&template(url, &[], Some(&"{{KEY}}".repeat(8)))).is_ok());
        assert_eq!(checked(&template(url, &[], Some(&"{{KEY}}".repeat(9)))), Err(ErrorKind::SecretPlacement));
    }

    #[test]
    fn only_listed_methods_are_read() {
        assert_eq!("PATCH".parse::<Method>().unwrap(), Method::Patch);
        for text in ["CONNECT", "TRACE", "get", "", "GET / HTTP/1.1\r\nHost: evil.test\r\n\r\nGET"] {
            assert_eq!(text.parse::<Method>().unwrap_err().kind(), ErrorKind::HttpHeaderInvalid, "{text}");
        }
    }
}
