//! What manifest v1 can say and this version of remit does not do yet.
//!
//! A manifest that names one of these is refused, never half obeyed: a role that nobody
//! checks would be a promise broken in silence. A later version deletes rows.

use super::super::{Manifest, NamespaceName, Runtime};
use super::Problems;

const NAMESPACES: &[NamespaceName] = &[NamespaceName::Sandbox];

const RUNTIMES: &[Runtime] =
    &[Runtime::Codemode, Runtime::RenderTemplate, Runtime::Openapi, Runtime::Mcp, Runtime::Builtin];

/// Fields of a tool that restrict who may call it.
type ToolField = (&'static str, fn(&super::super::Tool) -> bool);

const TOOL_FIELDS: &[ToolField] = &[
    ("requiredRole", |tool| tool.required_role.is_some()),
    ("requiredPermission", |tool| tool.required_permission.is_some()),
    ("featureFlag", |tool| tool.feature_flag.is_some()),
];

pub(super) fn check(manifest: &Manifest, problems: &mut Problems) {
    if RUNTIMES.contains(&manifest.runtime) {
        problems.add("runtime", not_offered("runtime", &word(manifest.runtime)));
    }
    for (index, namespace) in manifest.uses.iter().enumerate() {
        if NAMESPACES.contains(namespace) {
            problems.add(format!("uses[{index}]"), not_offered("namespace", namespace.as_str()));
        }
    }
    for (index, tool) in manifest.tools.iter().enumerate() {
        for (field, is_present) in TOOL_FIELDS {
            if is_present(tool) {
                problems.add(format!("tools[{index}].{field}"), not_offered("field", field));
            }
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
