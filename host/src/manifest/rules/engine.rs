//! The manifest of an engine: a name, and what a program may spend. An engine acts for whoever wrote the program, with
//! all that is bound for them, so the host runs one only, and that one asks for nothing of its own.
//!
//! And that of a capability without code, whose one tool runs a program in the engine.

use super::super::{Manifest, Runtime, is_run_tool};
use super::Problems;

/// The publisher and the slug of the engine that the host runs.
const NAME: (&str, &str) = ("remit", "codemode");

pub(super) fn check(manifest: &Manifest, problems: &mut Problems) {
    match manifest.runtime {
        Runtime::Engine => engine(manifest, problems),
        Runtime::Codemode => codemode(manifest, problems),
        _ => {}
    }
}

/// Nothing answers for what is not derived.
fn codemode(manifest: &Manifest, problems: &mut Problems) {
    if !matches!(manifest.tools.as_slice(), [tool] if is_run_tool(tool)) {
        problems.add("tools", "leave them out: the one tool, `run`, is derived when the capability is built");
    }
    let sections = [
        ("resources", manifest.resources.is_empty()),
        ("resourceTemplates", manifest.resource_templates.is_empty()),
        ("prompts", manifest.prompts.is_empty()),
    ];
    for (field, is_empty) in sections {
        if !is_empty {
            problems.add(field, "remove it: a capability without code has none");
        }
    }
}

fn engine(manifest: &Manifest, problems: &mut Problems) {
    if (manifest.publisher.as_str(), manifest.slug.as_str()) != NAME {
        let fix = format!("choose another: the engine of this host is `{}/{}`", NAME.0, NAME.1);
        problems.add("runtime", fix);
    }
    let sections = [
        ("uses", manifest.uses.is_empty()),
        ("http", manifest.http.is_none()),
        ("secrets", manifest.secrets.is_empty()),
        ("tools", manifest.tools.is_empty()),
        ("resources", manifest.resources.is_empty()),
        ("resourceTemplates", manifest.resource_templates.is_empty()),
        ("prompts", manifest.prompts.is_empty()),
        ("loops", manifest.loops.is_empty()),
        ("entities", manifest.entities.is_empty()),
    ];
    for (field, is_empty) in sections {
        if !is_empty {
            problems.add(field, "remove it: an engine has nothing of its own");
        }
    }
}
