//! What a component's file says, in words and as JSON: the same after a build and on inspection. Pure.

use std::path::Path;

use serde_json::{Value, json};

use super::{describe, figures};
use crate::component::{Report, Scan};
use crate::error::Error;

/// The whole report in words.
pub(super) fn text(file: &Path, report: &Report) -> String {
    let manifest = &report.manifest;
    let mut rows = vec![
        row("file", &file.display().to_string()),
        row("size", &format!("{} ({} bytes)", figures::size(report.size), figures::count(report.size))),
        row("digest", &report.digest.to_string()),
    ];
    rows.extend(listed("imports", &report.imports));
    rows.extend(listed("exports", &report.exports));
    let mut parts = vec![
        format!(
            "{}/{} {}\n  {}: {}\n{}",
            manifest.publisher,
            manifest.slug,
            manifest.version,
            describe::one_line(&manifest.title),
            describe::one_line(&manifest.description),
            describe::indented(&rows)
        ),
        describe::asks(manifest, &|_| String::new()),
        describe::tools(manifest),
    ];
    parts.extend(describe::documents(manifest));
    parts.extend(describe::loops(manifest));
    parts.extend(describe::prompt(manifest));
    parts.join("\n")
}

/// What it imports and exports.
pub(super) fn interfaces(imports: &[String], exports: &[String]) -> String {
    let rows: Vec<_> = [listed("imports", imports), listed("exports", exports)].concat();
    format!("interfaces\n{}", describe::indented(&rows))
}

/// The whole report for programs.
pub(super) fn value(file: &Path, report: &Report) -> Value {
    let manifest = &report.manifest;
    json!({
        "valid": true,
        "file": file,
        "name": format!("{}/{}", manifest.publisher, manifest.slug),
        "version": manifest.version,
        "size": report.size,
        "digest": report.digest.to_string(),
        "imports": report.imports,
        "exports": report.exports,
        "namespaces": report.namespaces,
        "tools": manifest.tools.iter().map(|tool| &tool.name).collect::<Vec<_>>(),
        "resources": manifest.resources.iter().map(|resource| &resource.uri).collect::<Vec<_>>(),
        "resourceTemplates":
            manifest.resource_templates.iter().map(|template| &template.uri_template).collect::<Vec<_>>(),
        "prompts": manifest.prompts.iter().map(|prompt| &prompt.name).collect::<Vec<_>>(),
        "customSections": sections(&report.custom_sections),
        "warnings": report.warnings,
        "manifest": manifest,
    })
}

/// What can be said of a component that is no valid capability.
pub(super) fn partial_text(file: &Path, scan: &Scan) -> String {
    let imports: Vec<_> = scan.imports.iter().map(|import| import.name.clone()).collect();
    let mut rows = vec![
        row("size", &format!("{} ({} bytes)", figures::size(scan.size), figures::count(scan.size))),
        row("digest", &scan.digest.to_string()),
    ];
    rows.extend(listed("imports", &imports));
    rows.extend(listed("exports", &scan.exports));
    format!("{}\n{}", file.display(), describe::indented(&rows))
}

/// The same for programs. `scan` is missing when the file is no component.
pub(super) fn partial_value(file: &Path, scan: Option<&Scan>, error: &Error) -> Value {
    let mut value = json!({
        "valid": false,
        "file": file,
        "reason": { "code": error.kind.code(), "message": error.message },
    });
    if let Some(scan) = scan {
        value["size"] = json!(scan.size);
        value["digest"] = json!(scan.digest.to_string());
        value["imports"] = scan.imports.iter().map(|import| json!(import.name)).collect();
        value["exports"] = json!(scan.exports);
        value["customSections"] = sections(&scan.custom_sections);
    }
    value
}

fn sections(sections: &[(String, u64)]) -> Value {
    sections.iter().map(|(name, bytes)| json!({ "name": name, "bytes": bytes })).collect()
}

fn row(name: &str, text: &str) -> Vec<String> {
    vec![name.to_owned(), text.to_owned()]
}

/// One row for each item, the first with the name.
fn listed(name: &str, items: &[String]) -> Vec<Vec<String>> {
    if items.is_empty() {
        return vec![row(name, "nothing")];
    }
    items.iter().enumerate().map(|(index, item)| row(if index == 0 { name } else { "" }, item)).collect()
}
