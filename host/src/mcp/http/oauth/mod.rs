//! The HTTP door as an OAuth 2.1 resource server: access tokens of configured issuers say who calls.
//!
//! A token is believed when an issuer of `remit.toml` signed it, for this door, for now. Nothing of it goes on from
//! here but the principal's name and its permissions. How a client gets a token is between it and the issuer; what a
//! principal may call is decided at each call.
//!
//! | file | what it decides |
//! |---|---|
//! | `token` | what a token says, once its signature holds |
//! | `object` | which JSON has one meaning |
//! | `keyset` | which published keys are used, and for what |
//! | `rules` | whether what it says is for this door and for now, and whom it names |
//! | `discovery` | where an issuer's keys are |
//! | `keys` | when keys are fetched, and how long they count |
//! | `resource` | what clients are told about this door |

mod discovery;
mod keys;
mod keyset;
mod object;
mod resource;
mod rules;
mod token;

use std::sync::Arc;

use self::keys::Keys;
pub(super) use self::resource::{Resource, routes};
use self::rules::Rules;
use self::token::Presented;
use crate::clock::Clock;
use crate::config::ServeConfig;
use crate::egress::Own;
use crate::policy::Identity;

/// The issuers whose access tokens are taken. Cheap to clone; all clones share the issuers' keys.
#[derive(Clone)]
pub struct Issuers {
    issuers: Arc<[Issuer]>,
    resource: Arc<Resource>,
    clock: Arc<Clock>,
}

struct Issuer {
    rules: Rules,
    keys: Arc<Keys>,
}

/// Whom a token names, and until when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Whom.
    pub identity: Identity,
    ends_at_ms: i64,
}

/// Why a token does not open the door. The words are ours, for the operator's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It is none that this door takes.
    #[error("the token is not valid: {0}")]
    Invalid(&'static str),
    /// It is valid, and lacks the scope that the door demands.
    #[error("the token lacks the scope that `serve.required-scope` demands")]
    InsufficientScope,
    /// Nobody can say: its issuer's keys cannot be had.
    #[error("no keys of the token's issuer are known")]
    Unavailable,
}

impl Issuers {
    /// The issuers of `config`, asked by `own`. `None` when there are none, or no address that tokens could be for.
    #[must_use]
    pub fn configured(config: &ServeConfig, own: Own, clock: Arc<Clock>) -> Option<Self> {
        let url = config.url.as_ref().filter(|_| !config.issuer.is_empty())?;
        let own = Arc::new(own);
        let issuer = |settings| {
            let keys = Arc::new(Keys::new(settings, Arc::clone(&own), Arc::clone(&clock)));
            Issuer { rules: Rules::new(settings), keys }
        };
        let issuers = config.issuer.iter().map(issuer).collect();
        Some(Self { issuers, resource: Arc::new(Resource::new(url, config)), clock })
    }

    /// Whom this token names, at the endpoint at `path`. Waits a moment for keys that are not known yet.
    pub async fn verify(&self, token: &str, path: &str) -> Result<Verified, Refusal> {
        let presented = Presented::read(token).map_err(Refusal::Invalid)?;
        let named = self.issuers.iter().find(|issuer| Some(issuer.rules.issuer()) == presented.issuer());
        let issuer = named.ok_or(Refusal::Invalid("its issuer is not configured"))?;
        let signed = issuer.keys.check(presented).await?;
        let audiences = self.resource.audiences(path);
        let accepted = issuer.rules.accept(&signed, &audiences, self.clock.now_ms()).map_err(Refusal::Invalid)?;
        match self.resource.required_scope() {
            Some(scope) if !accepted.scopes.iter().any(|has| has == scope) => Err(Refusal::InsufficientScope),
            _ => Ok(Verified { identity: accepted.identity, ends_at_ms: accepted.ends_at_ms }),
        }
    }

    /// Whether what `verified` says has ended since: a stream that its token opened should end too.
    #[must_use]
    pub fn has_ended(&self, verified: &Verified) -> bool {
        self.clock.now_ms() >= verified.ends_at_ms
    }

    /// What clients are told about this door.
    pub(super) fn resource(&self) -> &Arc<Resource> {
        &self.resource
    }
}

impl std::fmt::Debug for Issuers {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_list().entries(self.issuers.iter().map(|issuer| issuer.rules.issuer())).finish()
    }
}

#[cfg(test)]
mod tests;
