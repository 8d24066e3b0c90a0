//! The report: everything that a component's bytes say, in one value.
//!
//! It is made of the bytes alone, never of what somebody says about them, and it is made also of a file that the gate
//! refuses, as long as that is a component with a manifest: then it says why. Text of the publisher's is shown with
//! what is hidden in it made visible.

use semver::Version;
use serde::Serialize;

use super::bytes::{self, Producer, Sizes};
use super::hidden::{self, Hidden};
use super::lookalikes::{self, Lookalike};
use super::shadows::{self, Shadow, Twin};
use super::strings::{self, Strings};
use crate::component;
use crate::error::Result;
use crate::manifest::Manifest;
use crate::policy::{Grant, HostPattern, asks};
use crate::registry::CapabilityName;

/// What a reviewer is told of a component.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// `publisher/slug`.
    pub name: String,
    /// Its version.
    pub version: Version,
    /// SHA-256 of the file: what a decision is about.
    pub digest: String,
    /// Bytes of the file.
    pub size: u64,
    /// What its parts take.
    pub sizes: Sizes,
    /// Why the gate refuses it, when it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<Refused>,
    /// What the gate lets pass and is worth a look.
    pub warnings: Vec<String>,
    /// Interfaces that it imports.
    pub imports: Vec<String>,
    /// Interfaces that it exports.
    pub exports: Vec<String>,
    /// Tools that say they made it. Anybody can write anything there.
    pub producers: Vec<Producer>,
    /// What it asks to be granted.
    pub asks: Vec<Ask>,
    /// Text in its data.
    pub strings: Strings,
    /// Characters of its manifest that do not show.
    pub hidden: Vec<Hidden>,
    /// Words of its manifest that tell a model about other tools, or what to do first.
    pub shadows: Vec<Shadow>,
    /// Tools that others have under the same name. None takes the place of another.
    pub twins: Vec<Twin>,
    /// Names that are easily taken for its own.
    pub lookalikes: Vec<Lookalike>,
    /// The manifest, whole.
    pub manifest: Manifest,
}

/// Why the gate refuses it.
#[derive(Clone, Debug, Serialize)]
pub struct Refused {
    /// The stable code.
    pub code: &'static str,
    /// The sentence.
    pub message: String,
}

/// One thing that it asks to be granted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ask {
    /// The namespace.
    pub namespace: &'static str,
    /// What of it; missing for the namespace itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
}

/// What else is known under a name: what a newcomer is compared with.
#[derive(Clone, Debug)]
pub struct Neighbour {
    /// Its name.
    pub name: CapabilityName,
    /// Its tools.
    pub tools: Vec<String>,
}

/// How much a finding should worry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weight {
    /// Read it.
    Look,
    /// It is how attacks look.
    Danger,
}

/// One thing that a reviewer should not miss.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How much it should worry.
    pub weight: Weight,
    /// What it is, as a sentence.
    pub what: String,
}

impl Report {
    /// Reads a component's bytes. An error when they are no component, or carry no manifest that can be read.
    pub fn of(bytes: &[u8], neighbours: &[Neighbour]) -> Result<Self> {
        let scan = component::scan(bytes)?;
        let manifest = component::read_manifest(bytes)?;
        let (refused, warnings) = match component::inspect(bytes) {
            Ok(report) => (None, report.warnings),
            Err(error) => (Some(Refused { code: error.kind.code(), message: error.message }), Vec::new()),
        };
        let walked = bytes::walk(bytes)?;
        let texts = hidden::texts(&manifest);
        let mut strings = strings::find(&walked.data, &allowed(&manifest));
        strings.instructions.splice(..0, shadows::instructions(&texts));
        Ok(Self {
            name: format!("{}/{}", manifest.publisher, manifest.slug),
            version: manifest.version.clone(),
            digest: scan.digest.to_string(),
            size: scan.size,
            sizes: walked.sizes,
            refused,
            warnings,
            imports: scan.imports.into_iter().map(|import| import.name).collect(),
            exports: scan.exports,
            producers: walked.producers,
            asks: asks(&manifest).into_iter().map(Ask::from).collect(),
            strings,
            hidden: hidden::find(&texts),
            shadows: shadows::find(&manifest, &texts, neighbours),
            twins: shadows::twins(&manifest, neighbours),
            lookalikes: lookalikes::find(&manifest, neighbours),
            manifest,
        })
    }

    /// What a reviewer should not miss, the worst first.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        let danger = |what: String| Finding { weight: Weight::Danger, what };
        let look = |what: String| Finding { weight: Weight::Look, what };
        let mut found = Vec::new();
        if let Some(refused) = &self.refused {
            found.push(danger(format!("it cannot be installed: {}", refused.message.replace("\n ", ";"))));
        }
        found.extend(self.hidden.iter().map(|hidden| danger(hidden.to_string())));
        found.extend(self.lookalikes.iter().map(|known| danger(known.to_string())));
        found.extend(self.shadows.iter().map(|shadow| danger(shadow.to_string())));
        found.extend(self.strings.instructions.iter().map(|text| danger(text.to_string())));
        found.extend(self.strings.hosts.iter().filter(|host| !host.is_asked).map(|host| {
            let place = if host.is_url { "a URL in its bytes names" } else { "its bytes name" };
            look(format!("{place} `{}`, which it does not ask for", host.name))
        }));
        found.extend(self.twins.iter().map(|twin| look(twin.to_string())));
        found.extend(self.warnings.iter().cloned().map(look));
        found.sort_by_key(|finding| std::cmp::Reverse(finding.weight));
        found
    }
}

impl From<Grant> for Ask {
    fn from(grant: Grant) -> Self {
        Self { namespace: grant.namespace.as_str(), entry: grant.entry }
    }
}

fn allowed(manifest: &Manifest) -> Vec<HostPattern> {
    manifest.http.iter().flat_map(|http| &http.allow).filter_map(|entry| entry.parse().ok()).collect()
}
