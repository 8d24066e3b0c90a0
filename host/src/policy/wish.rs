//! What a refused request needed, in the terms in which people give it.
//!
//! A wish is always for one thing, within what the manifest declares: one host and port, one secret at one host
//! in one place. Whether it is worth asking for, and who is asked, is not decided here.

use super::declared::{OWN_CREDENTIALS, check_approval, check_grant};
use super::{Approval, Grant, Granted, HTTPS_PORT, Place};
use crate::error::Result;
use crate::manifest::{Manifest, NamespaceName};

/// One thing that a person can give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// To send requests to this host.
    Host {
        /// Exact name.
        host: String,
        /// Port at that host.
        port: u16,
    },
    /// To send credentials of the guest's own.
    OwnCredentials,
    /// To put a secret into requests to a host, in a place.
    Secret {
        /// The name inside the capability.
        secret: String,
        /// Exact name.
        host: String,
        /// Port at that host.
        port: u16,
        /// Where in the request.
        place: Place,
    },
    /// A value for a secret that is approved.
    Value {
        /// The name inside the capability.
        secret: String,
        /// The name that the value is to be stored under.
        source: String,
    },
}

/// What fulfils a wish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gift {
    /// These grants.
    Grants(Vec<Grant>),
    /// This approval.
    Approval(Approval),
    /// A stored value of this name.
    Value(String),
}

impl Wish {
    /// What fulfils it. An approval is for the stored value that earlier ones of that secret were for, and has no
    /// end.
    #[must_use]
    pub fn gift(&self, approvals: &[Approval]) -> Gift {
        match self {
            Self::Host { host, port } => grants(authority(host, *port)),
            Self::OwnCredentials => grants(OWN_CREDENTIALS.to_owned()),
            Self::Secret { secret, host, port, place } => Gift::Approval(Approval {
                secret: secret.clone(),
                source: self.source(secret, approvals),
                host: host.clone(),
                port: *port,
                place: place.clone(),
                expires_at: None,
            }),
            Self::Value { source, .. } => Gift::Value(source.clone()),
        }
    }

    /// Checks that a manifest declares it.
    pub fn check(&self, manifest: &Manifest) -> Result<()> {
        match self.gift(&[]) {
            Gift::Grants(grants) => grants.iter().try_for_each(|grant| check_grant(manifest, grant)),
            Gift::Approval(approval) => check_approval(manifest, &approval),
            // Whoever approved its use was held to the manifest.
            Gift::Value(_) => Ok(()),
        }
    }

    /// Whether `granted` holds it. A stored value is not policy's: that wish is never fulfilled here.
    #[must_use]
    pub fn is_granted(&self, granted: &Granted) -> bool {
        match self {
            Self::Host { host, port } => {
                granted.http().is_some_and(|http| http.allow.iter().any(|entry| entry.matches(host, *port)))
            }
            Self::OwnCredentials => granted.http().is_some_and(|http| http.own_credentials),
            Self::Secret { .. } => {
                granted.secrets().iter().flat_map(|secret| &secret.approvals).any(|approval| self.is_for(approval))
            }
            Self::Value { .. } => false,
        }
    }

    /// The stored value that the secret stands for already, here or at another destination; else its own name.
    fn source(&self, secret: &str, approvals: &[Approval]) -> String {
        let of_secret = || approvals.iter().filter(|approval| approval.secret == secret);
        let known = of_secret().find(|approval| self.is_for(approval)).or_else(|| of_secret().next());
        known.map_or_else(|| secret.to_owned(), |approval| approval.source.clone())
    }

    fn is_for(&self, approval: &Approval) -> bool {
        matches!(self, Self::Secret { secret, host, port, place } if *secret == approval.secret
            && *host == approval.host && *port == approval.port && *place == approval.place)
    }
}

fn grants(entry: String) -> Gift {
    let grant = |entry| Grant { namespace: NamespaceName::Http, entry };
    Gift::Grants(vec![grant(None), grant(Some(entry))])
}

/// `host`, or `host:port` where that is not 443.
#[must_use]
pub fn authority(host: &str, port: u16) -> String {
    if port == HTTPS_PORT { host.to_owned() } else { format!("{host}:{port}") }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::config::Config;
    use crate::policy::decide;
    use crate::registry::{Capability, Digest};

    fn capability() -> Arc<Capability> {
        let manifest = json!({
            "publisher": "acme", "slug": "weather", "version": "1.0.0", "title": "W", "description": "W.",
            "uses": ["http"],
            "http": { "allow": ["api.example.com", "*.cdn.example.com:8443"], "ownCredentials": true },
            "secrets": [{ "name": "API_KEY", "description": "K.", "hosts": ["api.example.com"],
                          "in": ["body", "header:authorization"] }],
        });
        Arc::new(Capability {
            name: "acme/weather".parse().unwrap(),
            digest: Digest::of(b"weather"),
            manifest: serde_json::from_value(manifest).unwrap(),
            installed_at: 0,
            size: 0,
        })
    }

    fn host(host: &str, port: u16) -> Wish {
        Wish::Host { host: host.to_owned(), port }
    }

    fn secret(name: &str, host: &str, port: u16, place: &str) -> Wish {
        let (secret, host) = (name.to_owned(), host.to_owned());
        Wish::Secret { secret, host, port, place: place.parse().unwrap() }
    }

    fn given(wish: &Wish) -> Granted {
        let (grants, approvals) = match wish.gift(&[]) {
            Gift::Grants(grants) => (grants, Vec::new()),
            Gift::Approval(approval) => (Vec::new(), vec![approval]),
            Gift::Value(_) => (Vec::new(), Vec::new()),
        };
        decide(&capability(), &grants, &approvals, 0, &Config::default())
    }

    #[test]
    fn what_is_declared_can_be_wished_for_and_is_fulfilled_by_its_gift_alone() {
        let declared = [
            host("api.example.com", 443),
            host("a.cdn.example.com", 8443),
            Wish::OwnCredentials,
            secret("API_KEY", "api.example.com", 443, "body"),
            secret("API_KEY", "api.example.com", 443, "header:authorization"),
        ];
        for wish in &declared {
            assert!(wish.check(&capability().manifest).is_ok(), "{wish:?}");
            for other in &declared {
                assert_eq!(other.is_granted(&given(wish)), wish == other, "{wish:?} gives {other:?}");
            }
        }
        for beyond in [
            host("api.example.com", 8443),
            host("a.cdn.example.com", 443),
            host("cdn.example.com", 8443),
            host("evil.example", 443),
            secret("OTHER", "api.example.com", 443, "body"),
            secret("API_KEY", "api.example.com", 8443, "body"),
            secret("API_KEY", "a.cdn.example.com", 8443, "body"),
            secret("API_KEY", "api.example.com", 443, "header:x-debug"),
        ] {
            assert!(beyond.check(&capability().manifest).is_err(), "{beyond:?}");
            assert!(!beyond.is_granted(&given(&beyond)), "{beyond:?}");
        }
    }

    #[test]
    fn an_approval_is_for_the_value_that_the_secret_stood_for() {
        let approval = |source: &str, place: &str| Approval {
            secret: "API_KEY".to_owned(),
            source: source.to_owned(),
            host: "api.example.com".to_owned(),
            port: 443,
            place: place.parse().unwrap(),
            expires_at: Some(1),
        };
        let wish = secret("API_KEY", "api.example.com", 443, "body");
        let other = Approval { secret: "OTHER".to_owned(), ..approval("OTHER_KEY", "body") };
        let there = approval("TEST_KEY", "header:authorization");
        let here = approval("WORK_KEY", "body");
        for (approvals, source) in [
            (vec![], "API_KEY"),
            (vec![other.clone()], "API_KEY"),
            (vec![other.clone(), there.clone()], "TEST_KEY"),
            (vec![other, there, here], "WORK_KEY"),
        ] {
            let Gift::Approval(given) = wish.gift(&approvals) else { panic!("a secret is approved") };
            assert_eq!((given.source.as_str(), given.expires_at), (source, None));
        }
    }
}
