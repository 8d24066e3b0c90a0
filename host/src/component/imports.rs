//! Whether a component imports only what its manifest declares: the imports are the permissions it asks
//! for, so one that is not declared is refused by name, and one that no host offers too.

use std::collections::BTreeSet;

use super::scan::Import;
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::NamespaceName;
use crate::namespaces;

/// The interface that every capability exports.
pub const TOOLS: &str = "remit:capability/tools@0.1.0";

/// The interface that a capability with documents exports.
pub const RESOURCES: &str = "remit:capability/resources@0.1.0";

/// The interface that a capability with prompts exports.
pub const PROMPTS: &str = "remit:capability/prompts@0.1.0";

/// The interface that a capability exports which proposes values.
pub const COMPLETIONS: &str = "remit:capability/completions@0.1.0";

/// The interface that an engine exports, in the place of tools.
pub const PROGRAM: &str = "remit:capability/program@0.1.0";

/// The interface that an engine imports, and nothing else may.
pub const BINDINGS: &str = "remit:capability/bindings@0.1.0";

/// How many refused imports a message lists. A component for another host may have dozens.
const MAX_LISTED: usize = 8;

/// Gives the namespaces that are imported, or names each import that is not in `declared`. Some are always there;
/// an import of types alone asks for nothing.
pub fn check_imports(imports: &[Import], declared: &[NamespaceName]) -> Result<BTreeSet<NamespaceName>> {
    let mut imported = BTreeSet::new();
    let mut refused = Vec::new();
    for import in imports {
        match namespaces::of_interface(&import.name) {
            Some(namespace) if namespace.is_always_there() || declared.contains(&namespace) => {
                imported.insert(namespace);
            }
            _ if import.types_only => {}
            known => refused.push(reason(&import.name, known)),
        }
    }
    if refused.is_empty() { Ok(imported) } else { Err(not_declared(&refused)) }
}

/// Why one import is refused, and what to do.
fn reason(import: &str, known: Option<NamespaceName>) -> (String, String) {
    if let Some(namespace) = known {
        let namespace = namespace.as_str();
        return (
            format!("imports `{import}`, and its manifest does not declare `{namespace}`"),
            format!("add \"{namespace}\" to `uses` in capability.json, with what it needs"),
        );
    }
    let sentence = format!("imports `{import}`, which this version of remit does not offer");
    let fix = match import.split_once(':') {
        Some(("remit", _)) => "build it with the SDK of this version of remit",
        Some(("wasi", _)) => "build it for `wasm32-unknown-unknown`, or switch WASI off in its toolchain",
        _ => "build it against the world `remit:capability/capability@0.1.0` only",
    };
    (sentence, fix.to_owned())
}

fn not_declared(refused: &[(String, String)]) -> Error {
    let mut sentences: Vec<_> = refused.iter().take(MAX_LISTED).map(|(sentence, _)| sentence.as_str()).collect();
    let more = format!("{} more", refused.len().saturating_sub(MAX_LISTED));
    if refused.len() > MAX_LISTED {
        sentences.push(&more);
    }
    let fixes: BTreeSet<_> = refused.iter().map(|(_, fix)| fix.as_str()).collect();
    Error::new(ErrorKind::ImportNotDeclared, format!("the component {}", sentences.join("\nand ")))
        .hint(fixes.into_iter().collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn import(name: &str) -> Import {
        Import { name: name.to_owned(), types_only: false }
    }

    #[test]
    fn only_what_is_declared_may_be_imported() {
        let http = import("remit:capability/http@0.1.0");
        let log = import("remit:capability/log@0.1.0");
        let types = Import { name: "remit:capability/loops@0.1.0".to_owned(), types_only: true };
        let imported = |imports: &[Import], declared: &[NamespaceName]| {
            check_imports(imports, declared).map(|set| set.into_iter().collect::<Vec<_>>())
        };
        assert_eq!(imported(&[], &[]).unwrap(), []);
        assert_eq!(imported(&[], &[NamespaceName::Http]).unwrap(), []);
        assert_eq!(imported(&[log, types], &[]).unwrap(), [NamespaceName::Log]);
        assert_eq!(imported(std::slice::from_ref(&http), &[NamespaceName::Http]).unwrap(), [NamespaceName::Http]);

        let refused = [
            (
                "remit:capability/http@0.1.0",
                "the component imports `remit:capability/http@0.1.0`, and its manifest does not declare `http`",
                "add \"http\" to `uses` in capability.json, with what it needs",
            ),
            (
                "remit:capability/http@0.2.0",
                "the component imports `remit:capability/http@0.2.0`, which this version of remit does not offer",
                "build it with the SDK of this version of remit",
            ),
            (
                "rem1t:capability/http@0.1.0",
                "the component imports `rem1t:capability/http@0.1.0`, which this version of remit does not offer",
                "build it against the world `remit:capability/capability@0.1.0` only",
            ),
            (
                "wasi:cli/environment@0.2.6",
                "the component imports `wasi:cli/environment@0.2.6`, which this version of remit does not offer",
                "build it for `wasm32-unknown-unknown`, or switch WASI off in its toolchain",
            ),
        ];
        for (name, message, hint) in refused {
            let error = check_imports(&[import(name)], &[]).unwrap_err();
            assert_eq!(error.kind, ErrorKind::ImportNotDeclared);
            assert_eq!(error.message, message);
            assert_eq!(error.hint.as_deref(), Some(hint));
        }
    }

    #[test]
    fn a_long_list_is_cut() {
        let imports: Vec<_> = (0..30).map(|index| import(&format!("wasi:io/i{index}@0.2.0"))).collect();
        let error = check_imports(&imports, &[]).unwrap_err();
        assert_eq!(error.message.lines().count(), MAX_LISTED + 1);
        assert!(error.message.ends_with("\nand 22 more"));
    }
}
