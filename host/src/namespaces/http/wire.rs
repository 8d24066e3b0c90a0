//! The contract's types and those of `egress`, one for one.

use std::time::Duration;

use crate::egress::{Answer, Method, Refusal, Template};
use crate::namespaces::sandbox::File;
use crate::runtime::http;
use crate::secrets::Redacted;

/// Bytes of a request that crossed from the guest.
pub(super) fn size(request: &http::Request) -> usize {
    let headers: usize = request.headers.iter().map(|header| header.name.len() + header.value.len()).sum();
    request.url.len() + headers + request.body.as_ref().map_or(0, Vec::len)
}

pub(super) fn template(request: http::Request) -> Template {
    Template {
        method: match request.method {
            http::Method::Get => Method::Get,
            http::Method::Head => Method::Head,
            http::Method::Post => Method::Post,
            http::Method::Put => Method::Put,
            http::Method::Patch => Method::Patch,
            http::Method::Delete => Method::Delete,
        },
        url: request.url,
        headers: request.headers.into_iter().map(|header| (header.name, header.value)).collect(),
        body: request.body,
        timeout: request.timeout_ms.map(|milliseconds| Duration::from_millis(milliseconds.into())),
    }
}

/// Only a redacted answer gets to a guest.
pub(super) fn response(answer: Redacted<Answer>) -> http::Response {
    let answer = answer.into_inner();
    let header = |(name, value)| http::Header { name, value };
    http::Response {
        status: answer.status,
        headers: answer.headers.into_iter().map(header).collect(),
        body: answer.body,
    }
}

/// What came back, with the file in the place of its body.
pub(super) fn saved(response: http::Response, file: Option<&File>) -> http::Saved {
    let file = file.map(|file| http::SavedFile {
        name: file.name.to_string(),
        uri: file.address(),
        bytes: file.bytes,
        media_type: file.name.media_type().to_owned(),
    });
    http::Saved { status: response.status, headers: response.headers, file, body: response.body }
}

pub(super) fn error(refusal: &Refusal) -> http::Error {
    match refusal {
        Refusal::InvalidUrl(why) => http::Error::InvalidUrl(why.clone()),
        Refusal::SchemeNotAllowed => http::Error::SchemeNotAllowed,
        Refusal::UserinfoNotAllowed => http::Error::UserinfoNotAllowed,
        Refusal::IpLiteralNotAllowed => http::Error::IpLiteralNotAllowed,
        Refusal::HostNotAllowed(host) => http::Error::HostNotAllowed(host.clone()),
        // Why it cannot be told is not the guest's business.
        Refusal::Undecided(_) => http::Error::HostNotAllowed(String::new()),
        Refusal::PortNotAllowed(port) => http::Error::PortNotAllowed(*port),
        Refusal::HeaderInvalid(why) => http::Error::HeaderInvalid(why.clone()),
        Refusal::HeaderNotAllowed(why) => http::Error::HeaderNotAllowed(why.clone()),
        // The guest is stopped before it could read of a spent budget; for it, both are a request too many.
        Refusal::RequestTooLarge | Refusal::Budget(_) => http::Error::RequestTooLarge,
        Refusal::SecretNotAvailable(name)
        | Refusal::SecretExpired { name, .. }
        | Refusal::NotRenewed { name, .. } => http::Error::SecretNotAvailable(name.clone()),
        // Whether the vault is broken is not the guest's business.
        Refusal::Vault(_) => http::Error::SecretNotAvailable(String::new()),
        Refusal::SecretPlacement(why) => http::Error::SecretPlacement(why.clone()),
        Refusal::PrivateAddress(_) => http::Error::PrivateAddress,
        Refusal::DnsFailed => http::Error::DnsFailed,
        Refusal::RateLimited(milliseconds) => http::Error::RateLimited(*milliseconds),
        Refusal::ConnectFailed => http::Error::ConnectFailed,
        Refusal::TlsFailed => http::Error::TlsFailed,
        Refusal::Timeout => http::Error::Timeout,
        Refusal::RedirectRefused(why) => http::Error::RedirectRefused(why.clone()),
        Refusal::ResponseTooLarge => http::Error::ResponseTooLarge,
        Refusal::ResponseInvalid(why) => http::Error::ResponseInvalid(why.clone()),
    }
}
