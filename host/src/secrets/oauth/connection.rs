//! A connection as it is sealed in the vault, and what its tokens mean at a moment. Pure: the time is an argument.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::super::SecretKind;
use super::super::value::{check_name, check_value};
use crate::audit::id;
use crate::egress::{Endpoint, is_field_value};
use crate::error::{Error, ErrorKind, Result};

/// How long before its end an access token is renewed, so that it does not end on its way. A token that lives
/// shorter than twice this is renewed at half its life.
const MARGIN: Duration = Duration::from_secs(60);

/// How long a refresh token that was replaced is searched for, and an access token that has no end.
const OVERLAP: Duration = Duration::from_secs(24 * 60 * 60);

/// Earlier tokens that are searched for. An honest server replaces tokens a few times an hour.
const EARLIER: usize = 8;

/// An access token that an upstream refuses at this age was not refused for its age: another one would fare no
/// better, and asking for one on each refusal would let an upstream drive the token endpoint.
const YOUNG: Duration = Duration::from_secs(60);

/// Room for a connection with tokens of common sizes, so that writing it out leaves no copies behind.
const USUAL_SIZE: usize = 16 * 1024;

/// How tokens are got (RFC 6749, 1.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GrantType {
    /// A person allowed it in a browser; a refresh token carries that on.
    AuthorizationCode,
    /// The client speaks for itself.
    ClientCredentials,
}

/// Where a client secret stands in a token request (RFC 6749, 2.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientAuth {
    /// In the `authorization` field.
    Basic,
    /// In the body.
    Body,
}

/// What a person says of a connection: everything but the tokens.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Settings {
    /// How tokens are got.
    pub grant: GrantType,
    /// Where tokens are got: the only place that this connection's secrets are sent to by the host itself.
    pub token_url: String,
    /// Where a person allows it, for [`GrantType::AuthorizationCode`].
    pub auth_url: Option<String>,
    /// The name of this client at the authorization server.
    pub client_id: String,
    /// Its secret; a public client has none.
    pub client_secret: Option<Zeroizing<String>>,
    /// Where the secret stands.
    pub auth: ClientAuth,
    /// What is asked for, in order.
    pub scopes: Vec<String>,
    /// The API that the tokens are for, as some servers want it named.
    pub audience: Option<String>,
    /// The same as RFC 8707 has it.
    pub resource: Option<String>,
    /// Who the authorization server says it is (RFC 9207), where that is not the origin of `auth_url`.
    pub issuer: Option<String>,
    /// The loopback port that the browser comes back to; `None` takes any that is free (RFC 8252).
    pub port: Option<u16>,
}

/// Tokens as a server gave them, after they were checked.
pub(super) struct Tokens {
    pub(super) access: Zeroizing<String>,
    /// How long the access token lives, when the server says so.
    pub(super) lifetime: Option<Duration>,
    pub(super) refresh: Option<Zeroizing<String>>,
}

/// A connection: settings and tokens. It is serialized to be sealed, and for nothing else.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Connection {
    /// Tells it from the one that stood under the same name before: a renewal must not overwrite its successor.
    id: String,
    settings: Settings,
    access: Access,
    refresh: Option<Zeroizing<String>>,
    earlier: Vec<Earlier>,
}

/// The access token. Times are in milliseconds since 1970.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Access {
    token: Zeroizing<String>,
    obtained_at: i64,
    /// From then on it is due to be renewed; never when the server did not say how long it lives.
    renew_at: Option<i64>,
    ends_at: Option<i64>,
}

/// A token that nothing sends any more.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Earlier {
    token: Zeroizing<String>,
    /// Until then it is searched for.
    until: i64,
}

/// One state of a connection's tokens: which access token it is, and how long it is good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Validity {
    /// The connection.
    id: String,
    obtained_at: i64,
    renew_at: Option<i64>,
    ends_at: Option<i64>,
}

impl Validity {
    /// Whether another access token is to be got before the next use.
    pub(crate) fn is_due(&self, now: i64) -> bool {
        self.renew_at.is_some_and(|at| at <= now)
    }

    /// Whether the access token is no good any more.
    pub(crate) fn has_ended(&self, now: i64) -> bool {
        self.ends_at.is_some_and(|at| at <= now)
    }
}

impl Settings {
    /// Refuses settings that cannot work under this name, or that would send secrets where nobody checks them.
    pub fn check(&self, name: &str) -> Result<()> {
        check_name(name)?;
        let refused = |what: &str, why: &dyn std::fmt::Display| {
            Error::new(ErrorKind::Usage, format!("the {what} endpoint cannot be used: {why}"))
        };
        Endpoint::new(&self.token_url).map_err(|why| refused("token", &why))?;
        match (self.grant, &self.auth_url) {
            (GrantType::AuthorizationCode, Some(url)) => {
                Endpoint::new(url).map(drop).map_err(|why| refused("authorization", &why))?;
            }
            (GrantType::AuthorizationCode, None) => {
                return Err(Error::new(ErrorKind::Usage, "nobody can allow it without an authorization endpoint")
                    .hint("pass `--auth-url URL`, or `--client-credentials` where no person is involved"));
            }
            (GrantType::ClientCredentials, _) if self.client_secret.is_none() => {
                return Err(Error::new(ErrorKind::Usage, "client credentials need a client secret")
                    .hint("pass `--client-secret`; it is typed unseen, or piped"));
            }
            (GrantType::ClientCredentials, _) => {}
        }
        if let Some(secret) = &self.client_secret {
            check_value(SecretKind::Value, secret.as_bytes())?;
        }
        Ok(())
    }
}

impl Tokens {
    /// Refuses tokens that could not be sent, or not be kept out of answers.
    pub(super) fn check(&self) -> Result<(), &'static str> {
        for token in self.refresh.iter().chain([&self.access]) {
            if !is_field_value(token.as_bytes()) {
                return Err("a token in it has letters that no header field holds");
            }
            if check_value(SecretKind::Value, token.as_bytes()).is_err() {
                return Err("a token in it is too short, too long or too common to be one");
            }
        }
        Ok(())
    }
}

impl Connection {
    /// A new connection with its first tokens.
    pub(super) fn new(settings: Settings, tokens: Tokens, now: i64) -> Result<Self> {
        Ok(Self {
            id: id::new(now)?,
            settings,
            access: Access::new(tokens.access, tokens.lifetime, now),
            refresh: tokens.refresh,
            earlier: Vec::new(),
        })
    }

    /// What a person said of it.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// When its access token ends, in milliseconds since 1970; `None` when the server did not say.
    #[must_use]
    pub fn ends_at(&self) -> Option<i64> {
        self.access.ends_at
    }

    /// Whether another access token can be got without a person.
    pub(super) fn can_renew(&self) -> bool {
        self.settings.grant == GrantType::ClientCredentials || self.refresh.is_some()
    }

    pub(super) fn refresh_token(&self) -> Option<&Zeroizing<String>> {
        self.refresh.as_ref()
    }

    pub(in crate::secrets) fn validity(&self) -> Validity {
        let Access { obtained_at, renew_at, ends_at, .. } = self.access;
        Validity { id: self.id.clone(), obtained_at, renew_at, ends_at }
    }

    /// Whether this is still the connection, with the tokens, that `validity` was read from.
    pub(super) fn is_same(&self, validity: &Validity) -> bool {
        self.id == validity.id && self.access.obtained_at == validity.obtained_at
    }

    /// Takes new tokens. A server that rotates sends a new refresh token; one that does not sends none, and the
    /// old one goes on (RFC 6749, 6).
    pub(super) fn accept(&mut self, tokens: Tokens, now: i64) {
        let old = std::mem::replace(&mut self.access, Access::new(tokens.access, tokens.lifetime, now));
        self.retire([old.token], old.ends_at.unwrap_or(now + millis(OVERLAP)));
        if let Some(refresh) = tokens.refresh {
            let old = self.refresh.replace(refresh);
            self.retire(old, now + millis(OVERLAP));
        }
        self.forget(now);
    }

    /// An upstream refused the access token though it seemed good. It is renewed before its next use, unless it is
    /// too young for that to help. Gives whether anything changed.
    pub(super) fn refused(&mut self, which: &Validity, now: i64) -> bool {
        let is_young = now - self.access.obtained_at < millis(YOUNG);
        if !self.is_same(which) || is_young {
            return false;
        }
        self.access.renew_at = Some(now);
        true
    }

    /// What opening it at this moment gives: each value, with whether it may be put into requests.
    pub(in crate::secrets) fn values(&self, now: i64) -> Vec<(Zeroizing<Vec<u8>>, bool)> {
        let bytes = |token: &Zeroizing<String>| Zeroizing::new(token.as_bytes().to_vec());
        let searched = self.refresh.iter().chain(&self.settings.client_secret);
        let searched = searched.chain(self.earlier.iter().filter(|one| one.until > now).map(|one| &one.token));
        let mut values = vec![(bytes(&self.access.token), !self.validity().has_ended(now))];
        values.extend(searched.map(|token| (bytes(token), false)));
        values
    }

    fn retire(&mut self, tokens: impl IntoIterator<Item = Zeroizing<String>>, until: i64) {
        self.earlier.extend(tokens.into_iter().map(|token| Earlier { token, until }));
    }

    /// Drops earlier tokens whose time is over, and the oldest when there are too many.
    fn forget(&mut self, now: i64) {
        self.earlier.retain(|one| one.until > now);
        let too_many = self.earlier.len().saturating_sub(EARLIER);
        self.earlier.drain(..too_many);
    }

    /// As it is sealed.
    pub(crate) fn write(&self) -> Result<Zeroizing<Vec<u8>>> {
        let mut text = Zeroizing::new(Vec::with_capacity(USUAL_SIZE));
        serde_json::to_writer(&mut *text, self).map_err(|_| Error::internal("a connection is JSON"))?;
        Ok(text)
    }

    /// `None` when these bytes are no connection. What the parser says of them is dropped: it could quote them.
    pub(crate) fn read(text: &[u8]) -> Option<Self> {
        serde_json::from_slice(text).ok()
    }
}

impl Access {
    fn new(token: Zeroizing<String>, lifetime: Option<Duration>, now: i64) -> Self {
        let ends_at = lifetime.map(|lifetime| now.saturating_add(millis(lifetime)));
        let renew_at = lifetime.zip(ends_at).map(|(lifetime, ends_at)| ends_at - millis(MARGIN.min(lifetime / 2)));
        Self { token, obtained_at: now, renew_at, ends_at }
    }
}

fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
