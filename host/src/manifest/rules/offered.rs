//! What manifest v1 can say and this version of remit does not do yet.
//!
//! A manifest that names one of these is refused, never half obeyed. A later version deletes rows.

use super::super::{Manifest, Runtime};
use super::Problems;

const RUNTIMES: &[Runtime] =
    &[Runtime::Codemode, Runtime::RenderTemplate, Runtime::Openapi, Runtime::Mcp, Runtime::Builtin];

pub(super) fn check(manifest: &Manifest, problems: &mut Problems) {
    if RUNTIMES.contains(&manifest.runtime) {
        let word = word(manifest.runtime);
        problems.add("runtime", format!("remove it: this version of remit does not offer the runtime `{word}`"));
    }
}

/// A runtime's word in a manifest.
pub(super) fn word(runtime: Runtime) -> String {
    match serde_json::to_value(runtime) {
        Ok(serde_json::Value::String(word)) => word,
        _ => format!("{runtime:?}"),
    }
}
