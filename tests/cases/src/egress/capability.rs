//! The capability of a case: a component whose manifest declares the case's allow-list, read back through the
//! gate that build and install use, and what policy then grants it.

use std::sync::Arc;

use remit::component::inspect;
use remit::config::Config;
use remit::egress::is_hosts_own;
use remit::error::Error;
use remit::manifest::Manifest;
use remit::policy::{Approval, Grant, Granted, HTTPS_PORT, HostPattern, Place, asks, decide};
use remit::registry::{Capability, Digest};
use remit_guests::Guest;
use serde_json::{Value, json};
use url::Url;

use super::case::{Case, fields};

/// The capability's name.
pub(super) const NAME: &str = "test/case";

/// The secret that is there although a request names none, so that reading it would be seen.
const UNUSED: &str = "KEY";

/// A capability, and everything that a person decided about it.
pub(super) struct Installed {
    capability: Arc<Capability>,
    grants: Vec<Grant>,
    approvals: Vec<Approval>,
}

impl Installed {
    /// Builds the component and passes it through the gate. An error is what a publisher would get.
    pub(super) fn of(case: &Case) -> Result<Result<Self, Error>, String> {
        let approvals = approvals(case)?;
        let manifest = manifest(case, &approvals);
        let report = match inspect(&Guest::done().with_manifest(&manifest)) {
            Ok(report) => report,
            Err(error) => return Ok(Err(error)),
        };
        let mut grants = asks(&report.manifest);
        if case.allow_list.is_empty() {
            grants.retain(|grant| grant.entry.is_none());
        }
        let capability = Capability {
            name: NAME.parse().map_err(|why| format!("{why}"))?,
            digest: report.digest,
            manifest: report.manifest,
            installed_at: 0,
            size: report.size,
        };
        Ok(Ok(Self { capability: Arc::new(capability), grants, approvals }))
    }

    /// What it may do.
    pub(super) fn granted(&self) -> Granted {
        decide(&self.capability, &self.grants, &self.approvals, &Config::default())
    }

    /// What it may do once every host was taken back.
    pub(super) fn revoked(&self) -> Granted {
        let namespace = |grant: &&Grant| grant.entry.is_none();
        let grants: Vec<_> = self.grants.iter().filter(namespace).cloned().collect();
        decide(&self.capability, &grants, &self.approvals, &Config::default())
    }

    /// The names of its secrets, each with the authority that it is approved for.
    pub(super) fn secrets(&self) -> Vec<(String, String)> {
        let mut secrets: Vec<_> = self
            .approvals
            .iter()
            .map(|Approval { secret, host, port, .. }| {
                let authority = if *port == HTTPS_PORT { host.clone() } else { format!("{host}:{port}") };
                (secret.clone(), authority)
            })
            .collect();
        secrets.dedup();
        secrets
    }
}

/// Whether policy would grant every entry of a case's list, were its manifest not checked.
pub(super) fn grants_all(case: &Case) -> bool {
    let Ok(manifest) = serde_json::from_value::<Manifest>(manifest(case, &[])) else { return false };
    let grants = asks(&manifest);
    let (name, digest) = (NAME.parse().expect("a name"), Digest::of(b""));
    let capability = Arc::new(Capability { name, digest, manifest, installed_at: 0, size: 0 });
    let granted = decide(&capability, &grants, &[], &Config::default());
    granted.http().is_some_and(|http| http.allow.len() >= case.allow_list.len())
}

/// The manifest. An empty allow-list is a grant of nothing, so the host is declared then and not granted.
fn manifest(case: &Case, approvals: &[Approval]) -> Value {
    let mut manifest = remit_guests::manifest("case");
    let allow = match case.allow_list.as_slice() {
        [] => vec![start(case).map_or_else(|| "declared.example.com".to_owned(), |(host, _)| host)],
        entries => entries.to_vec(),
    };
    manifest["uses"] = json!(["http"]);
    manifest["http"] = json!({ "allow": allow });
    let mut secrets: Vec<Value> = Vec::new();
    for approval in approvals {
        let host = format!("{}:{}", approval.host, approval.port);
        match secrets.iter_mut().find(|secret| secret["name"] == json!(approval.secret)) {
            Some(secret) => secret["in"].as_array_mut().expect("places").push(json!(approval.place.to_string())),
            None => secrets.push(json!({
                "name": approval.secret, "description": "A secret of the case.",
                "hosts": [host], "in": [approval.place.to_string()],
            })),
        }
    }
    if !secrets.is_empty() {
        manifest["secrets"] = json!(secrets);
    }
    manifest
}

/// Every placeholder is approved where it stands, at the host that is asked first and at no other.
fn approvals(case: &Case) -> Result<Vec<Approval>, String> {
    let Some((host, port)) = secret_host(case) else { return Ok(Vec::new()) };
    let mut uses: Vec<(String, Place)> = Vec::new();
    for (name, value) in fields(&case.request.headers)? {
        let name = name.to_ascii_lowercase();
        let is_token = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if is_token && !is_hosts_own(&name) {
            uses.extend(placeholders(&value).map(|secret| (secret.to_owned(), Place::Header(name.clone()))));
        }
    }
    let body = case.request.body.as_deref().unwrap_or_default();
    uses.extend(placeholders(body).map(|secret| (secret.to_owned(), Place::Body)));
    if uses.is_empty() {
        uses.push((UNUSED.to_owned(), Place::Header("authorization".to_owned())));
    }
    let mut approvals: Vec<Approval> = Vec::new();
    for (secret, place) in uses {
        let approval = Approval { source: secret.clone(), secret, host: host.clone(), port, place };
        if !approvals.contains(&approval) {
            approvals.push(approval);
        }
    }
    Ok(approvals)
}

/// The names in `{{NAME}}`.
fn placeholders(text: &str) -> impl Iterator<Item = &str> {
    text.split("{{").skip(1).filter_map(|rest| rest.split_once("}}")).map(|(name, _)| name)
}

/// The host that is asked first, if its URL has one.
fn start(case: &Case) -> Option<(String, u16)> {
    let url = Url::parse(&case.url_or_host).ok()?;
    Some((url.domain()?.to_owned(), url.port_or_known_default()?))
}

/// A host that a secret may be declared for: the one that is asked first, or another of the list.
fn secret_host(case: &Case) -> Option<(String, u16)> {
    let patterns: Vec<HostPattern> = case.allow_list.iter().filter_map(|entry| entry.parse().ok()).collect();
    let asked = start(case).filter(|(host, port)| {
        host.parse::<HostPattern>().is_ok() && patterns.iter().any(|pattern| pattern.matches(host, *port))
    });
    let other = || {
        patterns.iter().map(|pattern| {
            let front = if pattern.is_wildcard() { "other." } else { "" };
            (format!("{front}{}", pattern.name()), pattern.port())
        })
    };
    asked.or_else(|| other().next())
}
