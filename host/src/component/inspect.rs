//! The static gate: everything that must hold before a component is installed, and what it says about
//! itself. It is run at build, at publish and again at install.

use std::collections::BTreeSet;

use super::functions::IN_INTERFACE;
use super::imports::{COMPLETIONS, PROMPTS, RESOURCES, TOOLS, check_imports};
use super::scan::{Scan, scan};
use super::section::read_manifest;
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::{self, Manifest, NamespaceName, Tool};
use crate::registry::Digest;
use crate::typed;

/// What a component says, once everything that can be checked without running it holds.
#[derive(Debug)]
pub struct Report {
    /// SHA-256 of the file.
    pub digest: Digest,
    /// Bytes of the file.
    pub size: u64,
    /// The embedded manifest. Its rules hold.
    pub manifest: Manifest,
    /// The interfaces it imports, such as `remit:capability/http@0.1.0`.
    pub imports: Vec<String>,
    /// The interfaces it exports.
    pub exports: Vec<String>,
    /// The namespaces that it imports; each is declared, or always there.
    pub namespaces: BTreeSet<NamespaceName>,
    /// Custom sections by name, with their bytes, nested modules included.
    pub custom_sections: Vec<(String, u64)>,
    /// What is allowed and still worth a look.
    pub warnings: Vec<String>,
}

/// Checks `bytes` and says what they are.
pub fn inspect(bytes: &[u8]) -> Result<Report> {
    let scan = scan(bytes)?;
    require_something(&scan)?;
    let manifest = read_manifest(bytes).map_err(|error| or_adopt(error, &scan))?;
    manifest::verify(&manifest)?;
    require_tools(&scan, &manifest)?;
    require_declared(&scan, &manifest)?;
    let namespaces = check_imports(&scan.imports, &manifest.uses)?;
    let warnings = warnings(&scan, &manifest, &namespaces);
    Ok(Report {
        digest: scan.digest,
        size: scan.size,
        imports: scan.imports.into_iter().map(|import| import.name).collect(),
        exports: scan.exports,
        custom_sections: scan.custom_sections,
        manifest,
        namespaces,
        warnings,
    })
}

fn require_something(scan: &Scan) -> Result<()> {
    if scan.exports_tools || !scan.functions.is_empty() { Ok(()) } else { Err(no_tools()) }
}

/// A component without a manifest may be one that was made for another host.
fn or_adopt(error: Error, scan: &Scan) -> Error {
    if scan.exports_tools || error.kind != ErrorKind::ManifestMissing {
        return error;
    }
    error.hint("remit adopt FILE.wasm makes a capability of a component with typed functions")
}

/// Each tool is there: the function that it names, of types that can be called with what its schema lets in, or the
/// contract's own.
fn require_tools(scan: &Scan, manifest: &Manifest) -> Result<()> {
    for tool in &manifest.tools {
        match &tool.run.export {
            None if scan.exports_tools => {}
            None => return Err(no_tools()),
            Some(export) => require_function(scan, tool, export)?,
        }
    }
    Ok(())
}

fn require_function(scan: &Scan, tool: &Tool, export: &str) -> Result<()> {
    let refused = |message: String| Err(Error::new(ErrorKind::ComponentInvalid, message));
    let Some(function) = scan.functions.iter().find(|function| function.export == export) else {
        let message =
            format!("the tool `{}` runs `{export}`, and the component exports no such function", tool.name);
        let known: Vec<_> = scan.functions.iter().map(|function| function.export.as_str()).collect();
        return refused(message).map_err(|error: Error| error.hint(format!("it exports: {}", known.join(", "))));
    };
    let problem = match &function.signature {
        Ok(signature) => typed::mismatch(&tool.input_schema, signature),
        Err(unfit) => Some(unfit.to_string()),
    };
    match problem {
        None => Ok(()),
        Some(problem) => refused(format!("the tool `{}` cannot run `{export}`: {problem}", tool.name)),
    }
}

fn no_tools() -> Error {
    let message = format!("the component does not export `{TOOLS}`, so it has nothing to call");
    Error::new(ErrorKind::ComponentInvalid, message)
        .hint("build it with the remit SDK, or against the world `remit:capability/capability@0.1.0`")
}

/// What a manifest declares must be there to be asked for. Exporting more does no harm: the host never calls it.
fn require_declared(scan: &Scan, manifest: &Manifest) -> Result<()> {
    let has_documents = !manifest.resources.is_empty() || !manifest.resource_templates.is_empty();
    let (what, export) = if has_documents && !scan.exports_resources {
        ("documents", RESOURCES)
    } else if !manifest.prompts.is_empty() && !scan.exports_prompts {
        ("prompts", PROMPTS)
    } else {
        return Ok(());
    };
    let message = format!("its manifest declares {what}, and the component does not export `{export}`");
    Err(Error::new(ErrorKind::ComponentInvalid, message).hint(format!(
        "export it, as the world `remit:capability/capability-with-documents@0.1.0` says, or take the {what} out \
         of capability.json"
    )))
}

fn warnings(scan: &Scan, manifest: &Manifest, imported: &BTreeSet<NamespaceName>) -> Vec<String> {
    let unused = manifest
        .uses
        .iter()
        .filter(|namespace| !namespace.is_always_there() && !imported.contains(namespace))
        .map(|namespace| format!("`uses` names `{}`, and the component does not import it", namespace.as_str()));
    let unknown = scan
        .exports
        .iter()
        .filter(|export| ![TOOLS, RESOURCES, PROMPTS, COMPLETIONS].contains(&export.as_str()))
        .filter(|export| !runs(manifest, export))
        .map(|export| format!("it exports `{export}`, which this version of remit does not call"));
    unused.chain(unknown).collect()
}

/// Whether a tool runs this function, or one of this interface.
fn runs(manifest: &Manifest, export: &str) -> bool {
    let mut names = manifest.tools.iter().filter_map(|tool| tool.run.export.as_deref());
    names.any(|name| name == export || name.split_once(IN_INTERFACE).is_some_and(|(outer, _)| outer == export))
}
