//! Whether whoever calls a capability can go on as before with another version of it.
//!
//! Names, inputs, outputs and annotations are contracts: within a major version a publisher only adds. By semantic
//! versioning that line is the minor version while the major one is 0, and the patch while both are. Pure. What a new
//! version asks of an installer is another question (`difference.rs`), and what its words promise nobody can compare.

mod alternatives;
mod inlined;
mod same;
mod schema;

pub(super) use schema::escaped;
use semver::Version;
use serde::Serialize;

use crate::error::{Error, ErrorKind, Result};
use crate::manifest::{Manifest, Prompt, Tool};

/// As many breaches as a message lists; the report has all.
const MAX_LISTED: usize = 12;

/// Schemas that are compared, of all tools together. Alternatives inside alternatives multiply, and a publisher wrote
/// them. It leaves room for a thousand tools that all changed.
const MAX_COMPARED: usize = 100_000;

/// One way in which a version breaks what callers rely on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Breach {
    /// The tool, when it is one's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// A JSON pointer into the tool, references followed: `/inputSchema/properties/place`. Without a tool, into the
    /// manifest.
    pub pointer: String,
    /// The rule that is broken.
    pub rule: Rule,
    /// What changed, as a sentence without its subject.
    pub message: String,
}

/// The rules of compatibility, by their words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// Tools, prompts, documents and arguments stay.
    Removed,
    /// A tool that is published stays so.
    Unpublished,
    /// Who could call still can.
    CallerRestricted,
    /// An annotation promises no less.
    Annotation,
    /// What could be left out still can; what was always there still is.
    Required,
    /// A property stays.
    Property,
    /// A value keeps its type: inputs take no fewer, outputs give no more.
    Type,
    /// Inputs take no fewer of the listed values, outputs give no others.
    Values,
    /// Inputs take no narrower range, outputs give no wider one.
    Bound,
    /// A pattern, format or other condition stays.
    Condition,
    /// What is left out means the same.
    Default,
    /// A change that cannot be judged is none to make.
    NotComparable,
}

impl Rule {
    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Removed => "removed",
            Self::Unpublished => "unpublished",
            Self::CallerRestricted => "caller-restricted",
            Self::Annotation => "annotation",
            Self::Required => "required",
            Self::Property => "property",
            Self::Type => "type",
            Self::Values => "values",
            Self::Bound => "bound",
            Self::Condition => "condition",
            Self::Default => "default",
            Self::NotComparable => "not-comparable",
        }
    }
}

impl std::fmt::Display for Breach {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { tool, pointer, rule, message } = self;
        let tool = tool.iter().map(|tool| format!("`{tool}`"));
        let pointer = Some(pointer).filter(|pointer| !pointer.is_empty());
        let pointer = pointer.map(|pointer| format!("`{}`", crate::manifest::visible(pointer, 200)));
        let place: Vec<String> = tool.chain(pointer).collect();
        write!(formatter, "{}: {message} [{}]", place.join(" "), rule.as_str())
    }
}

/// The published version that a new one has to be compatible with: the highest one below it that is no pre-release.
#[must_use]
pub fn predecessor<'a>(published: impl IntoIterator<Item = &'a Version>, new: &Version) -> Option<&'a Version> {
    published.into_iter().filter(|version| *version < new && version.pre.is_empty()).max()
}

/// Whether a version may break what another one promised.
#[must_use]
pub fn may_break(before: &Version, after: &Version) -> bool {
    let line = |version: &Version| match (version.major, version.minor, version.patch) {
        (0, 0, patch) => (0, 0, patch),
        (0, minor, _) => (0, minor, 0),
        (major, ..) => (major, 0, 0),
    };
    !before.pre.is_empty() || line(before) != line(after)
}

/// Everything that a later version breaks, whatever their numbers.
#[must_use]
pub fn breaches(before: &Manifest, after: &Manifest) -> Vec<Breach> {
    let (mut found, mut left) = (Vec::new(), MAX_COMPARED);
    for old in &before.tools {
        match after.tools.iter().find(|new| new.name == old.name) {
            Some(new) => {
                tool(old, new, &mut found);
                found.extend(schema::input(old, new, &mut left));
                found.extend(schema::output(old, new, &mut left));
            }
            None => {
                let message = "the tool is gone".to_owned();
                let tool = Some(old.name.clone());
                found.push(Breach { tool, pointer: String::new(), rule: Rule::Removed, message });
            }
        }
    }
    for old in &before.prompts {
        prompt(old, after.prompts.iter().find(|new| new.name == old.name), &mut found);
    }
    let addresses = |manifest: &Manifest| -> Vec<(&str, String)> {
        let documents = manifest.resources.iter().map(|resource| ("resources", resource.uri.clone()));
        let families = manifest.resource_templates.iter();
        documents.chain(families.map(|family| ("resourceTemplates", family.uri_template.clone()))).collect()
    };
    let kept = addresses(after);
    for (list, address) in addresses(before).into_iter().filter(|address| !kept.contains(address)) {
        found.push(of_manifest(&[list], Rule::Removed, format!("the address `{address}` is gone")));
    }
    found
}

/// Refuses a version that breaks what an earlier one promised, unless its number says that it may.
pub fn verify(before: &Manifest, after: &Manifest) -> Result<()> {
    if may_break(&before.version, &after.version) {
        return Ok(());
    }
    let found = breaches(before, after);
    if found.is_empty() {
        return Ok(());
    }
    let mut lines: Vec<String> = found.iter().take(MAX_LISTED).map(ToString::to_string).collect();
    if found.len() > MAX_LISTED {
        lines.push(format!("and {} more", found.len() - MAX_LISTED));
    }
    let (old, new) = (&before.version, &after.version);
    let message = format!("{new} breaks what {old} promised\n  {}", lines.join("\n  "));
    Err(Error::new(ErrorKind::BreakingChange, message).hint(format!(
        "keep what callers rely on and add beside it, or publish it as {}",
        breaking_successor(old)
    )))
}

/// The least version that may break what this one promised.
fn breaking_successor(version: &Version) -> Version {
    match (version.major, version.minor, version.patch) {
        (0, 0, patch) => Version::new(0, 0, patch + 1),
        (0, minor, _) => Version::new(0, minor + 1, 0),
        (major, ..) => Version::new(major + 1, 0, 0),
    }
}

fn tool(old: &Tool, new: &Tool, found: &mut Vec<Breach>) {
    let mut add = |pointer: &str, rule: Rule, message: &str| {
        let (tool, pointer, message) = (Some(old.name.clone()), pointer.to_owned(), message.to_owned());
        found.push(Breach { tool, pointer, rule, message });
    };
    if old.expose && !new.expose {
        add("/expose", Rule::Unpublished, "it is not published to agents any more");
    }
    if old.read_only && !new.read_only {
        add("/readOnly", Rule::Annotation, "it was promised to change nothing");
    }
    if !old.is_destructive() && new.is_destructive() {
        add("/destructive", Rule::Annotation, "it was promised to destroy nothing");
    }
    if old.idempotent && !new.idempotent {
        add("/idempotent", Rule::Annotation, "it was promised that calling it again changes nothing more");
    }
    if old.open_world == Some(false) && new.open_world != Some(false) {
        add("/openWorld", Rule::Annotation, "it was promised not to reach beyond its host");
    }
    let requirements = [
        ("/requiredRole", &old.required_role, &new.required_role),
        ("/requiredPermission", &old.required_permission, &new.required_permission),
        ("/featureFlag", &old.feature_flag, &new.feature_flag),
    ];
    for (pointer, old, new) in requirements {
        if new.is_some() && old != new {
            add(pointer, Rule::CallerRestricted, "it asks more of its callers");
        }
    }
}

fn prompt(old: &Prompt, new: Option<&Prompt>, found: &mut Vec<Breach>) {
    let Some(new) = new else {
        return found.push(of_manifest(&["prompts", &old.name], Rule::Removed, "the prompt is gone".to_owned()));
    };
    let argument = |prompt: &Prompt, name: &str| prompt.arguments.iter().find(|known| known.name == name).cloned();
    for known in &old.arguments {
        if argument(new, &known.name).is_none() {
            let message = "the argument is gone".to_owned();
            found.push(of_manifest(&["prompts", &old.name, "arguments", &known.name], Rule::Removed, message));
        }
    }
    for asked in new.arguments.iter().filter(|asked| asked.required) {
        if !argument(old, &asked.name).is_some_and(|known| known.required) {
            let message = "it has to be given, and could be left out".to_owned();
            found.push(of_manifest(&["prompts", &old.name, "arguments", &asked.name], Rule::Required, message));
        }
    }
}

fn of_manifest(path: &[&str], rule: Rule, message: String) -> Breach {
    let pointer = path.iter().map(|part| format!("/{}", schema::escaped(part))).collect();
    Breach { tool: None, pointer, rule, message }
}

#[cfg(test)]
mod tests;
