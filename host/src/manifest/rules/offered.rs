//! What manifest v1 can say and this version of remit does not do yet.
//!
//! A manifest that names one of these is refused, never half obeyed. A later version deletes rows.

use super::super::{Manifest, NamespaceName, Runtime};
use super::Problems;

const NAMESPACES: &[NamespaceName] = &[NamespaceName::Sandbox];

const RUNTIMES: &[Runtime] = &[Runtime::RenderTemplate, Runtime::Openapi, Runtime::Mcp, Runtime::Builtin];

pub(super) fn check(manifest: &Manifest, problems: &mut Problems) {
    if RUNTIMES.contains(&manifest.runtime) {
        problems.add("runtime", not_offered("runtime", &word(manifest.runtime)));
    }
    for (index, namespace) in manifest.uses.iter().enumerate() {
        if NAMESPACES.contains(namespace) {
            problems.add(format!("uses[{index}]"), not_offered("namespace", namespace.as_str()));
        }
    }
}

fn not_offered(what: &str, name: &str) -> String {
    format!("remove it: this version of remit does not offer the {what} `{name}`")
}

/// A runtime's word in a manifest.
pub(super) fn word(runtime: Runtime) -> String {
    match serde_json::to_value(runtime) {
        Ok(serde_json::Value::String(word)) => word,
        _ => format!("{runtime:?}"),
    }
}
