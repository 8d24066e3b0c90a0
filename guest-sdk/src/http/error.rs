//! Why there is no response, in words for the agent.

use std::fmt;

use super::wit;

/// Why there is no response.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The URL is not one, or two parsers could read it differently.
    InvalidUrl(String),
    /// Not `https:`.
    SchemeNotAllowed,
    /// The URL holds a user or a password.
    UserinfoNotAllowed,
    /// The URL's host is an address.
    IpLiteralNotAllowed,
    /// The host is not declared, or not granted.
    HostNotAllowed(String),
    /// The host's port is not declared, or not granted.
    PortNotAllowed(u16),
    /// A header field is malformed, or repeated where it must not be.
    HeaderInvalid(String),
    /// The host sets this header field itself, or a secret must be used for it.
    HeaderNotAllowed(String),
    /// The body or the header is over the limit.
    RequestTooLarge,
    /// The secret is not set, or its use is not approved.
    SecretNotAvailable(String),
    /// A placeholder stands where none may stand.
    SecretPlacement(String),
    /// The name resolves to an address that is not public.
    PrivateAddress,
    /// The name does not resolve.
    DnsFailed,
    /// Too many requests: try again after this many milliseconds.
    RateLimited(u32),
    /// No connection.
    ConnectFailed,
    /// No secure connection.
    TlsFailed,
    /// The time was over.
    Timeout,
    /// A redirect led where a request may not go.
    RedirectRefused(String),
    /// The response is over the limit.
    ResponseTooLarge,
    /// What came back is no HTTP response.
    ResponseInvalid(String),
    /// JSON that does not fit the type. It comes from this SDK, not from the host.
    Json(String),
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidUrl(why) => write!(formatter, "the URL is invalid: {why}"),
            Self::SchemeNotAllowed => formatter.write_str("only `https:` URLs can be requested"),
            Self::UserinfoNotAllowed => formatter.write_str("the URL must not hold a user or a password"),
            Self::IpLiteralNotAllowed => formatter.write_str("the URL must name its host, not an address"),
            Self::HostNotAllowed(host) => write!(formatter, "requests to `{host}` are not allowed"),
            Self::PortNotAllowed(port) => write!(formatter, "requests to port {port} are not allowed"),
            Self::HeaderInvalid(name) => write!(formatter, "the header field `{name}` is invalid"),
            Self::HeaderNotAllowed(name) => write!(formatter, "the header field `{name}` must not be set"),
            Self::RequestTooLarge => formatter.write_str("the request is too large"),
            Self::SecretNotAvailable(name) => {
                write!(formatter, "the secret `{name}` is not available: a person has to set and approve it")
            }
            Self::SecretPlacement(place) => write!(formatter, "a secret must not stand in {place}"),
            Self::PrivateAddress => formatter.write_str("the host's address is not public"),
            Self::DnsFailed => formatter.write_str("the host's name does not resolve"),
            Self::RateLimited(wait) => write!(formatter, "too many requests: try again in {wait} ms"),
            Self::ConnectFailed => formatter.write_str("the host cannot be reached"),
            Self::TlsFailed => formatter.write_str("no secure connection to the host"),
            Self::Timeout => formatter.write_str("the host did not answer in time"),
            Self::RedirectRefused(why) => write!(formatter, "a redirect was refused: {why}"),
            Self::ResponseTooLarge => formatter.write_str("the response is too large: ask for less"),
            Self::ResponseInvalid(why) => write!(formatter, "the response is invalid: {why}"),
            Self::Json(why) => write!(formatter, "the JSON is not what was expected: {why}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<wit::Error> for Error {
    fn from(error: wit::Error) -> Self {
        match error {
            wit::Error::InvalidUrl(why) => Self::InvalidUrl(why),
            wit::Error::SchemeNotAllowed => Self::SchemeNotAllowed,
            wit::Error::UserinfoNotAllowed => Self::UserinfoNotAllowed,
            wit::Error::IpLiteralNotAllowed => Self::IpLiteralNotAllowed,
            wit::Error::HostNotAllowed(host) => Self::HostNotAllowed(host),
            wit::Error::PortNotAllowed(port) => Self::PortNotAllowed(port),
            wit::Error::HeaderInvalid(name) => Self::HeaderInvalid(name),
            wit::Error::HeaderNotAllowed(name) => Self::HeaderNotAllowed(name),
            wit::Error::RequestTooLarge => Self::RequestTooLarge,
            wit::Error::SecretNotAvailable(name) => Self::SecretNotAvailable(name),
            wit::Error::SecretPlacement(place) => Self::SecretPlacement(place),
            wit::Error::PrivateAddress => Self::PrivateAddress,
            wit::Error::DnsFailed => Self::DnsFailed,
            wit::Error::RateLimited(wait) => Self::RateLimited(wait),
            wit::Error::ConnectFailed => Self::ConnectFailed,
            wit::Error::TlsFailed => Self::TlsFailed,
            wit::Error::Timeout => Self::Timeout,
            wit::Error::RedirectRefused(why) => Self::RedirectRefused(why),
            wit::Error::ResponseTooLarge => Self::ResponseTooLarge,
            wit::Error::ResponseInvalid(why) => Self::ResponseInvalid(why),
        }
    }
}
