//! Why there is no answer: one variant for each case that a guest can tell apart, and a few that it cannot.
//!
//! The words are ours: no text of a resolver, a TLS library, a server or an operating system is passed on. What
//! only the operator should know (the address, the fix) is kept apart from the words.

use std::net::IpAddr;

use crate::error::{Error, ErrorKind};
use crate::manifest::Manifest;
use crate::policy::HostPattern;
use crate::registry::Capability;
use crate::secrets::Unplaced;

/// Why a request has no answer.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The URL is not one, or two parsers could read it differently.
    #[error("the URL cannot be used: {0}")]
    InvalidUrl(String),
    /// Only `https:` is sent.
    #[error("only `https:` URLs are sent")]
    SchemeNotAllowed,
    /// The URL has a user name or password.
    #[error("a URL must not carry a user name or password")]
    UserinfoNotAllowed,
    /// The host is an address.
    #[error("a host must be a name, not an address")]
    IpLiteralNotAllowed,
    /// The host is not declared, or not granted.
    #[error("the capability may not reach `{0}`")]
    HostNotAllowed(String),
    /// What is granted now cannot be told: the capability was replaced or removed, or the store cannot be read.
    #[error("what is granted to the capability cannot be told any more")]
    Undecided(Error),
    /// The host is granted, but not at this port.
    #[error("the capability may not reach this host at port {0}")]
    PortNotAllowed(u16),
    /// A header field or the method is malformed, or a field stands twice.
    #[error("header fields: {0}")]
    HeaderInvalid(String),
    /// The host sets this header field itself, or a secret must be used for it.
    #[error("header fields: {0}")]
    HeaderNotAllowed(String),
    /// The request is larger than allowed.
    #[error("the request is larger than allowed")]
    RequestTooLarge,
    /// The secret is not set, or its use is not approved: one answer for both.
    #[error("the secret `{0}` is not available here")]
    SecretNotAvailable(String),
    /// The value has ended. Only a person is told more than of one that is not available.
    #[error("the secret `{name}` is not available here")]
    SecretExpired {
        /// The placeholder's name.
        name: String,
        /// The name of the stored value.
        stored: String,
    },
    /// The connection behind the secret has no token that is good, and none could be got. For the guest the same
    /// as [`Refusal::SecretNotAvailable`].
    #[error("the secret `{name}` is not available here")]
    NotRenewed {
        /// The placeholder's name.
        name: String,
        /// Why, and what a person can do.
        hint: String,
    },
    /// A placeholder stands where none may stand.
    #[error("secrets: {0}")]
    SecretPlacement(String),
    /// The vault could not be opened.
    #[error("the stored secrets cannot be read")]
    Vault(Error),
    /// The name resolves to this address, which is not public.
    #[error("the host's address is not public")]
    PrivateAddress(IpAddr),
    /// The name could not be resolved, or to too many addresses.
    #[error("the host's name could not be resolved")]
    DnsFailed,
    /// Too many requests: again after this many milliseconds.
    #[error("too many requests: try again in {0} ms")]
    RateLimited(u32),
    /// No address could be connected to.
    #[error("no connection could be made")]
    ConnectFailed,
    /// The server has no valid certificate for the name.
    #[error("the TLS handshake failed: no valid certificate for the name")]
    TlsFailed,
    /// The request ran out of time.
    #[error("the request ran out of time")]
    Timeout,
    /// A redirect that is not followed.
    #[error("the redirect was not followed: {0}")]
    RedirectRefused(String),
    /// The response is larger than allowed.
    #[error("the response is larger than allowed")]
    ResponseTooLarge,
    /// The response breaks HTTP, or is coded in a way that cannot be searched for secrets.
    #[error("the response cannot be used: {0}")]
    ResponseInvalid(String),
    /// The call has sent all the requests that it may send. The guest is stopped.
    #[error("the call has sent all {0} requests that it may send")]
    Budget(u32),
}

impl Refusal {
    /// The stable kind.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::InvalidUrl(_) => ErrorKind::HttpInvalidUrl,
            Self::SchemeNotAllowed => ErrorKind::HttpSchemeNotAllowed,
            Self::UserinfoNotAllowed => ErrorKind::HttpUserinfoNotAllowed,
            Self::IpLiteralNotAllowed => ErrorKind::HttpIpLiteralNotAllowed,
            Self::HostNotAllowed(_) => ErrorKind::HttpHostNotAllowed,
            Self::PortNotAllowed(_) => ErrorKind::HttpPortNotAllowed,
            Self::Undecided(error) | Self::Vault(error) => error.kind,
            Self::HeaderInvalid(_) => ErrorKind::HttpHeaderInvalid,
            Self::HeaderNotAllowed(_) => ErrorKind::HttpHeaderNotAllowed,
            Self::RequestTooLarge => ErrorKind::HttpRequestTooLarge,
            Self::SecretNotAvailable(_) | Self::SecretExpired { .. } | Self::NotRenewed { .. } => {
                ErrorKind::SecretNotAvailable
            }
            Self::SecretPlacement(_) => ErrorKind::SecretPlacement,
            Self::PrivateAddress(_) => ErrorKind::HttpPrivateAddress,
            Self::DnsFailed => ErrorKind::HttpDnsFailed,
            Self::RateLimited(_) => ErrorKind::HttpRateLimited,
            Self::ConnectFailed => ErrorKind::HttpConnectFailed,
            Self::TlsFailed => ErrorKind::HttpTlsFailed,
            Self::Timeout => ErrorKind::HttpTimeout,
            Self::RedirectRefused(_) => ErrorKind::HttpRedirectRefused,
            Self::ResponseTooLarge => ErrorKind::HttpResponseTooLarge,
            Self::ResponseInvalid(_) => ErrorKind::HttpResponseInvalid,
            Self::Budget(_) => ErrorKind::Egress,
        }
    }

    /// What a person can do so that the request to `authority` is sent: a command or a line of `remit.toml`.
    #[must_use]
    pub fn hint(&self, capability: &Capability, authority: &str) -> Option<String> {
        let Capability { name: capability, manifest, .. } = capability;
        match self {
            Self::HostNotAllowed(_) | Self::PortNotAllowed(_) if declares(manifest, authority) => {
                Some(format!("remit grant {capability} http {authority}"))
            }
            Self::HostNotAllowed(_) | Self::PortNotAllowed(_) => Some(format!(
                "`{capability}` does not declare {authority}, so it cannot be granted: only its publisher can \
                 add it to `http.allow`"
            )),
            Self::SecretNotAvailable(name) if !manifest.secrets.iter().any(|secret| secret.name == *name) => {
                Some(format!(
                    "`{capability}` does not declare `{name}`, so it cannot be approved: only its publisher can add \
                     it to `secrets`"
                ))
            }
            Self::SecretNotAvailable(name) => Some(format!(
                "check that `{name}` is stored (`remit secret list`) and approved for {authority} \
                 (`remit show {capability}`)"
            )),
            Self::SecretExpired { stored, .. } => {
                Some(format!("the value of `{stored}` has expired: remit secret set {stored}"))
            }
            Self::PrivateAddress(address) => Some(format!(
                "if `{capability}` may reach {address}, add it to `http.private` in \
                 `[capability.\"{capability}\"]` of `remit.toml`"
            )),
            Self::TlsFailed => Some(format!(
                "if {authority} uses a certificate authority of your own, add its PEM file to `http.ca` in \
                 `[capability.\"{capability}\"]` of `remit.toml`"
            )),
            Self::NotRenewed { hint, .. } => Some(hint.clone()),
            Self::Undecided(error) | Self::Vault(error) => error.hint.clone(),
            _ => None,
        }
    }
}

/// Whether a grant could cover `authority`.
fn declares(manifest: &Manifest, authority: &str) -> bool {
    let Ok(asked) = authority.parse::<HostPattern>() else { return false };
    let declared = manifest.http.iter().flat_map(|http| &http.allow);
    declared.filter_map(|entry| entry.parse::<HostPattern>().ok()).any(|declared| declared.covers(&asked))
}

impl From<Unplaced> for Refusal {
    fn from(unplaced: Unplaced) -> Self {
        match unplaced {
            Unplaced::NotAvailable(name) => Self::SecretNotAvailable(name),
            Unplaced::Expired { name, stored } => Self::SecretExpired { name, stored },
            Unplaced::Misplaced(why) => Self::SecretPlacement(why),
            Unplaced::Field(name) => {
                Self::HeaderInvalid(format!("the value of the secret in `{name}` is not valid in a header field"))
            }
            Unplaced::TooLarge => Self::RequestTooLarge,
        }
    }
}
