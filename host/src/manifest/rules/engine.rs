//! The manifest of an engine: a name, and what a program may spend. An engine acts for whoever wrote the program, with
//! all that is bound for them, so the host runs one only, and that one asks for nothing of its own.

use super::super::{Manifest, Runtime};
use super::Problems;

/// The publisher and the slug of the engine that the host runs.
const NAME: (&str, &str) = ("remit", "codemode");

pub(super) fn check(manifest: &Manifest, problems: &mut Problems) {
    if manifest.runtime != Runtime::Engine {
        return;
    }
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
