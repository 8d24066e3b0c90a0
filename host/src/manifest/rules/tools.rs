//! The tools of a manifest: how they are called, what they say of themselves, and that what they say does
//! not contradict itself.

use std::collections::BTreeSet;

use super::super::{Manifest, Runtime, Tool};
use super::names::MAX_NAME;
use super::offered::word;
use super::text::{line, paragraphs};
use super::{MAX_DESCRIPTION, MAX_TITLE, Problems, names, schemas, words};

/// Agents choose badly among more, and a capability that has more is several.
const MAX_TOOLS: usize = 128;

/// Characters of a function's name with its interface, package and version.
const MAX_EXPORT: usize = 256;

pub(super) fn check(manifest: &Manifest, problems: &mut Problems) {
    if manifest.tools.is_empty() {
        problems.add("tools", "offer at least one tool");
    }
    if manifest.tools.len() > MAX_TOOLS {
        problems.add("tools", format!("offer at most {MAX_TOOLS} tools"));
    }
    let mut seen = BTreeSet::new();
    for (index, tool) in manifest.tools.iter().enumerate() {
        let field = format!("tools[{index}]");
        if !seen.insert(&tool.name) {
            problems.add(format!("{field}.name"), format!("choose another name: `{}` is used twice", tool.name));
        }
        name(manifest, tool, &field, problems);
        texts(tool, &field, problems);
        behaviour(manifest, tool, &field, problems);
        export(tool, &format!("{field}.run.export"), problems);
        callers(tool, &field, problems);
        schemas::input(&tool.input_schema, &format!("{field}.inputSchema"), problems);
        if let Some(schema) = &tool.output_schema {
            schemas::output(schema, &format!("{field}.outputSchema"), problems);
        }
    }
}

/// Over MCP a tool is `<slug>__<tool>`, and clients take 64 characters.
fn name(manifest: &Manifest, tool: &Tool, field: &str, problems: &mut Problems) {
    problems.add_some(format!("{field}.name"), names::tool(&tool.name));
    let exposed = manifest.slug.len() + "__".len() + tool.name.len();
    if exposed > MAX_NAME {
        let fix = format!("shorten it by {}: with the slug it may have {MAX_NAME} characters", exposed - MAX_NAME);
        problems.add(format!("{field}.name"), fix);
    }
}

fn texts(tool: &Tool, field: &str, problems: &mut Problems) {
    if let Some(title) = &tool.title {
        problems.add_some(format!("{field}.title"), line(title, MAX_TITLE));
    }
    problems.add_some(format!("{field}.description"), paragraphs(&tool.description, MAX_DESCRIPTION));
    words(&tool.tags, &format!("{field}.tags"), problems);
    words(&tool.keywords, &format!("{field}.keywords"), problems);
}

/// Who may call it: what a person can give under the same name.
fn callers(tool: &Tool, field: &str, problems: &mut Problems) {
    if let Some(role) = &tool.required_role {
        problems.add_some(format!("{field}.requiredRole"), names::check_name(role));
    }
    if let Some(permission) = &tool.required_permission {
        problems.add_some(format!("{field}.requiredPermission"), names::check_permission(permission));
    }
    if let Some(flag) = &tool.feature_flag {
        problems.add_some(format!("{field}.featureFlag"), names::check_name(flag));
    }
}

/// Whether the component has it is compared in `component/`.
fn export(tool: &Tool, field: &str, problems: &mut Problems) {
    let Some(export) = &tool.run.export else { return };
    if tool.run.kind != Runtime::Component {
        problems.add(field, "remove it: only a component has exports");
    }
    if export.is_empty() || export.len() > MAX_EXPORT || !export.bytes().all(|byte| byte.is_ascii_graphic()) {
        let fix = "write the name of a function, such as `greet` or `acme:weather/forecast@1.0.0#get`";
        problems.add(field, format!("{fix}, of at most {MAX_EXPORT} characters"));
    }
}

fn behaviour(manifest: &Manifest, tool: &Tool, field: &str, problems: &mut Problems) {
    if tool.read_only && tool.destructive == Some(true) {
        problems.add(format!("{field}.destructive"), "remove it: a tool that is `readOnly` destroys nothing");
    }
    if tool.run.kind != manifest.runtime {
        let fix = format!("write \"{}\", as `runtime` says", word(manifest.runtime));
        problems.add(format!("{field}.run.kind"), fix);
    }
}
