//! The decision of policy, and the receipt it gives.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::budget::budget;
use super::declared::{OWN_CREDENTIALS, check_approval, declared_hosts};
use super::{Budget, HostPattern, LoopsGrant, SandboxGrant, loops, sandbox};
use crate::config::Config;
use crate::manifest::{Manifest, NamespaceName, Secret};
use crate::registry::Capability;

/// One row of what the installer allowed an installed digest.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Grant {
    /// The namespace.
    pub namespace: NamespaceName,
    /// What of it: for `http` a host pattern, or `ownCredentials`; for `entities` a name; for `loops`
    /// `max=NUMBER` or `every=INTERVAL`; for `sandbox` `files=NUMBER`, `bytes=NUMBER` or `others`. `None` is the namespace itself.
    pub entry: Option<String>,
}

/// An admin's word that one secret may go to one host, in one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    /// The name inside the capability: `{{NAME}}`.
    pub secret: String,
    /// The name of the stored value; often the same.
    pub source: String,
    /// Exact host name: approvals know no wildcards.
    pub host: String,
    /// Port at that host.
    pub port: u16,
    /// Where in the request it may stand.
    pub place: Place,
    /// When the word ends, in milliseconds since 1970. `None`: when it is taken back.
    pub expires_at: Option<i64>,
}

impl Approval {
    /// Whether it counts for nothing any more.
    #[must_use]
    pub fn is_over(&self, now_ms: i64) -> bool {
        self.expires_at.is_some_and(|end| end <= now_ms)
    }
}

/// Where in a request a secret may stand.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// In the value of this header field; the name is in lower case.
    Header(String),
    /// In the body.
    Body,
}

/// The text is not such a place.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("a place is `header:NAME`, in lower case, or `body`")]
pub struct InvalidPlace;

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header(name) => write!(formatter, "header:{name}"),
            Self::Body => formatter.write_str("body"),
        }
    }
}

impl FromStr for Place {
    type Err = InvalidPlace;

    fn from_str(text: &str) -> Result<Self, InvalidPlace> {
        match text.strip_prefix("header:") {
            Some(name) if !name.is_empty() && !name.contains(|letter: char| letter.is_ascii_uppercase()) => {
                Ok(Self::Header(name.to_owned()))
            }
            None if text == "body" => Ok(Self::Body),
            _ => Err(InvalidPlace),
        }
    }
}

/// What one call may do: declared and granted. Only [`decide`] makes one.
#[derive(Clone, Debug)]
pub struct Granted {
    capability: Arc<Capability>,
    namespaces: BTreeSet<NamespaceName>,
    http: Option<HttpGrant>,
    loops: Option<LoopsGrant>,
    entities: Option<EntitiesGrant>,
    sandbox: Option<SandboxGrant>,
    secrets: Vec<SecretUse>,
    budget: Budget,
}

/// What the `http` namespace may do for one capability. By default: nothing.
#[derive(Clone, Debug, Default)]
pub struct HttpGrant {
    /// Hosts that are both declared and granted.
    pub allow: Vec<HostPattern>,
    /// Whether literal credentials of the guest's own may be sent.
    pub own_credentials: bool,
}

/// What the `entities` namespace may do for one capability.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntitiesGrant {
    /// Entities that are both declared and granted.
    pub names: Vec<String>,
}

/// One secret of the manifest with all its approvals. One without approvals is unusable.
#[derive(Clone, Debug)]
pub struct SecretUse {
    /// The name inside the capability.
    pub name: String,
    /// Where it may go.
    pub approvals: Vec<Approval>,
}

impl Granted {
    /// The capability this is about.
    #[must_use]
    pub fn capability(&self) -> &Arc<Capability> {
        &self.capability
    }

    /// The namespaces that exist for it.
    #[must_use]
    pub fn namespaces(&self) -> &BTreeSet<NamespaceName> {
        &self.namespaces
    }

    /// What `http` may do, when it is granted.
    #[must_use]
    pub fn http(&self) -> Option<&HttpGrant> {
        self.http.as_ref()
    }

    /// What `loops` may do, when it is granted.
    #[must_use]
    pub fn loops(&self) -> Option<LoopsGrant> {
        self.loops
    }

    /// What `entities` may do, when it is granted.
    #[must_use]
    pub fn entities(&self) -> Option<&EntitiesGrant> {
        self.entities.as_ref()
    }

    /// What `sandbox` may do, when it is granted.
    #[must_use]
    pub fn sandbox(&self) -> Option<SandboxGrant> {
        self.sandbox
    }

    /// The secrets its manifest declares.
    #[must_use]
    pub fn secrets(&self) -> &[SecretUse] {
        &self.secrets
    }

    /// What a call may spend.
    #[must_use]
    pub fn budget(&self) -> Budget {
        self.budget
    }
}

/// Decides what a call of `capability` may do at `now_ms`, in milliseconds since 1970: what is declared and granted
/// and has not ended, under the operator's limits.
///
/// It cannot fail, only give less: what is granted or approved beyond the declaration counts for nothing.
#[must_use]
pub fn decide(
    capability: &Arc<Capability>,
    grants: &[Grant],
    approvals: &[Approval],
    now_ms: i64,
    config: &Config,
) -> Granted {
    let manifest = &capability.manifest;
    let mut namespaces: BTreeSet<_> =
        manifest.uses.iter().copied().filter(|&namespace| is_granted(namespace, grants)).collect();
    namespaces.extend(NamespaceName::ALL.iter().filter(|namespace| namespace.is_always_there()));
    Granted {
        http: namespaces.contains(&NamespaceName::Http).then(|| decide_http(manifest, grants)),
        loops: namespaces.contains(&NamespaceName::Loops).then(|| loops::decide(grants, &config.loops)),
        entities: namespaces.contains(&NamespaceName::Entities).then(|| decide_entities(manifest, grants)),
        sandbox: namespaces
            .contains(&NamespaceName::Sandbox)
            .then(|| sandbox::decide(manifest.sandbox.as_ref(), grants, &config.sandbox)),
        secrets: manifest
            .secrets
            .iter()
            .map(|secret| decide_secret(manifest, secret, approvals, now_ms))
            .collect(),
        budget: budget(manifest.limits, config),
        capability: Arc::clone(capability),
        namespaces,
    }
}

/// Whether a namespace is granted at all, with whatever entries. What every capability has always is.
#[must_use]
pub fn is_granted(namespace: NamespaceName, grants: &[Grant]) -> bool {
    namespace.is_always_there() || grants.contains(&Grant { namespace, entry: None })
}

fn decide_http(manifest: &Manifest, grants: &[Grant]) -> HttpGrant {
    let declared: Vec<_> = manifest.http.iter().flat_map(declared_hosts).collect();
    let entries = || {
        grants
            .iter()
            .filter(|grant| grant.namespace == NamespaceName::Http)
            .filter_map(|grant| grant.entry.as_deref())
    };
    let allow = entries()
        .filter_map(|entry| entry.parse().ok())
        .filter(|granted| declared.iter().any(|declared| declared.covers(granted)));
    HttpGrant {
        allow: allow.collect(),
        own_credentials: manifest.http.as_ref().is_some_and(|http| http.own_credentials)
            && entries().any(|entry| entry == OWN_CREDENTIALS),
    }
}

fn decide_entities(manifest: &Manifest, grants: &[Grant]) -> EntitiesGrant {
    let is_granted = |entity: &&String| {
        let entry = Some((*entity).clone());
        grants.contains(&Grant { namespace: NamespaceName::Entities, entry })
    };
    EntitiesGrant { names: manifest.entities.iter().filter(is_granted).cloned().collect() }
}

fn decide_secret(manifest: &Manifest, secret: &Secret, approvals: &[Approval], now_ms: i64) -> SecretUse {
    let counts = |approval: &&Approval| {
        approval.secret == secret.name && !approval.is_over(now_ms) && check_approval(manifest, approval).is_ok()
    };
    SecretUse { name: secret.name.clone(), approvals: approvals.iter().filter(counts).cloned().collect() }
}

#[cfg(test)]
mod tests;
