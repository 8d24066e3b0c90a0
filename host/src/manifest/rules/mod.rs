//! The rules of a manifest that its types cannot say. They are checked at build, at publish and again at
//! install, all at once, and each problem names its field and the fix.
//!
//! Pure: what a component's bytes say beside the manifest (its imports, its exports) is compared with it
//! in `component/`.

mod access;
mod addresses;
mod documents;
mod loops;
mod names;
mod offered;
mod references;
mod schemas;
mod text;
mod tools;

use std::collections::BTreeSet;

pub use addresses::declares_document;
pub(crate) use names::MAX_NAME;
pub use names::{check_entity, check_name, check_permission, tool as check_tool};
pub use text::visible;

use super::{Limits, Manifest};
use crate::error::{Error, ErrorKind, Result};
use crate::registry::UPSTREAM;

/// A title stands in lists and menus.
const MAX_TITLE: usize = 100;
/// Descriptions are read by agents on every search: what is longer belongs into `prompt`.
const MAX_DESCRIPTION: usize = 1024;
/// Guidance stays in an agent's context as long as the capability is installed.
const MAX_PROMPT: usize = 4096;
/// Words for search: more of them make search worse.
const MAX_KEYWORDS: usize = 32;
const MAX_KEYWORD: usize = 64;

/// One broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The field, as `tools[0].name`.
    pub field: String,
    /// The fix, and why where that is not plain.
    pub message: String,
}

/// All broken rules of a manifest.
#[must_use]
pub fn check(manifest: &Manifest) -> Vec<Problem> {
    let mut problems = Problems::default();
    identity(manifest, &mut problems);
    offered::check(manifest, &mut problems);
    access::check(manifest, &mut problems);
    tools::check(manifest, &mut problems);
    documents::check(manifest, &mut problems);
    loops::check(manifest, &mut problems);
    if let Some(limits) = &manifest.limits {
        check_limits(limits, &mut problems);
    }
    problems.0
}

/// Refuses a manifest that breaks a rule, with all of them in the message.
pub fn verify(manifest: &Manifest) -> Result<()> {
    let problems = check(manifest);
    let lines: Vec<_> =
        problems.iter().map(|problem| format!("`{}`: {}", problem.field, problem.message)).collect();
    match lines.as_slice() {
        [] => Ok(()),
        [line] => Err(Error::new(ErrorKind::ManifestInvalid, line)),
        lines => {
            let message = format!("the manifest breaks {} rules\n  {}", lines.len(), lines.join("\n  "));
            Err(Error::new(ErrorKind::ManifestInvalid, message))
        }
    }
}

/// What is wrong with a prompt that a loop gives to agents.
#[must_use]
pub fn check_prompt(prompt: &str) -> Option<String> {
    text::paragraphs(prompt, MAX_PROMPT)
}

/// What is found wrong, in the order in which it is found.
#[derive(Default)]
struct Problems(Vec<Problem>);

impl Problems {
    fn add(&mut self, field: impl Into<String>, message: impl Into<String>) {
        self.0.push(Problem { field: field.into(), message: message.into() });
    }

    fn add_some(&mut self, field: impl Into<String>, message: Option<String>) {
        if let Some(message) = message {
            self.add(field, message);
        }
    }
}

fn identity(manifest: &Manifest, problems: &mut Problems) {
    problems.add_some("publisher", check_name(&manifest.publisher));
    if manifest.publisher == UPSTREAM {
        problems.add("publisher", "choose another name: upstream MCP servers are called so");
    }
    problems.add_some("slug", check_name(&manifest.slug));
    if !manifest.version.build.is_empty() {
        // Two versions that differ in build metadata alone are one version to semver.
        problems.add("version", format!("leave out the build metadata `+{}`", manifest.version.build));
    }
    problems.add_some("title", text::line(&manifest.title, MAX_TITLE));
    problems.add_some("description", text::paragraphs(&manifest.description, MAX_DESCRIPTION));
    if let Some(prompt) = &manifest.prompt {
        problems.add_some("prompt", text::paragraphs(prompt, MAX_PROMPT));
    }
    if let Some(domain) = &manifest.domain {
        problems.add_some("domain", check_name(domain));
    }
    words(&manifest.keywords, "keywords", problems);
}

/// Words that help search.
fn words(words: &[String], field: &str, problems: &mut Problems) {
    if words.len() > MAX_KEYWORDS {
        problems.add(field, format!("list at most {MAX_KEYWORDS} words"));
    }
    let mut seen = BTreeSet::new();
    for (index, word) in words.iter().enumerate() {
        problems.add_some(format!("{field}[{index}]"), text::line(word, MAX_KEYWORD));
        if !seen.insert(word) {
            problems.add(format!("{field}[{index}]"), "remove it: it is listed twice");
        }
    }
}

/// A limit of nothing would stop every call.
fn check_limits(limits: &Limits, problems: &mut Problems) {
    let zeros = [
        ("limits.fuel", limits.fuel == Some(0)),
        ("limits.memoryMiB", limits.memory_mib == Some(0)),
        ("limits.timeMs", limits.time_ms == Some(0)),
    ];
    for (field, is_zero) in zeros {
        if is_zero {
            problems.add(field, "ask for more than 0, or leave it out");
        }
    }
}

#[cfg(test)]
mod tests;
