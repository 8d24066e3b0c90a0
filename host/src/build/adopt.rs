//! Makes a capability of a component that was made for another host: its manifest is written from the types of the
//! functions that it exports.
//!
//! It is granted nothing, because it asks for nothing: a component that imports anything is refused. So its tools
//! can change nothing either, and the manifest says so.

use std::collections::BTreeMap;
use std::path::Path;

use semver::Version;

use super::Built;
use crate::component::{self, Function, IN_INTERFACE, Scan};
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::{self, Manifest, Run, Runtime, Tool};
use crate::typed::{self, Signature};

/// Characters of a function's types that an agent is shown: beyond, the schemas say more.
const MAX_SHOWN_TYPES: usize = 400;

/// Interfaces that toolchains leave behind for themselves: componentize-py runs its `init` while it builds.
const LEFT_BEHIND: &[&str] = &["exports"];

/// How an adopted capability is called.
#[derive(Clone, Debug)]
pub struct Adoption {
    /// Who answers for it.
    pub publisher: String,
    /// Its name; made of the file's when there is none.
    pub slug: Option<String>,
}

/// A capability, and what of the component is no tool of it.
#[derive(Debug)]
pub struct Adopted {
    /// The capability.
    pub built: Built,
    /// The functions that cannot be tools, each with the reason.
    pub left_out: Vec<String>,
}

/// Makes a capability of the component, or of the core module, in `file`.
pub fn adopt(file: &Path, adoption: &Adoption) -> Result<Adopted> {
    let bytes = component::read(file)?;
    let bytes = if component::is_component(&bytes)? { bytes } else { component::encode(&bytes)? };
    let scan = component::scan(&bytes)?;
    refuse_ours(&bytes, &scan, file)?;
    component::check_imports(&scan.imports, &[]).map_err(|error| not_alone(&error))?;
    let slug = adoption.slug.clone().map_or_else(|| slug_of(file), Ok)?;
    let candidates = scan.functions.iter().filter(|function| !is_left_behind(&function.export));
    let (mut functions, mut left_out) = (Vec::new(), Vec::new());
    for Function { export, signature } in candidates {
        match signature {
            Ok(signature) => functions.push((export.as_str(), signature)),
            Err(unfit) => left_out.push(format!("`{export}`: {unfit}")),
        }
    }
    if functions.is_empty() {
        return Err(nothing_to_call(&left_out));
    }
    let manifest = manifest_of(&adoption.publisher, &slug, tools(&functions, &slug)?);
    manifest::verify(&manifest)?;
    let component = component::embed(&component::strip(&bytes, false)?, &manifest)?;
    let report = component::inspect(&component)?;
    let path = file.with_file_name(format!("{slug}.capability.wasm"));
    Ok(Adopted { built: Built { bytes: component, report, path }, left_out })
}

fn is_left_behind(export: &str) -> bool {
    export.split_once(IN_INTERFACE).is_some_and(|(interface, _)| LEFT_BEHIND.contains(&interface))
}

/// What has a manifest is a capability already, and what follows the contract says in its source what it can do.
fn refuse_ours(bytes: &[u8], scan: &Scan, file: &Path) -> Result<()> {
    let file = file.display();
    if !component::custom_sections(bytes, component::MANIFEST_SECTION)?.is_empty() {
        let message = format!("`{file}` carries a manifest, so it is a capability already");
        return Err(Error::new(ErrorKind::Usage, message).hint(format!("remit install {file}")));
    }
    if scan.exports_tools {
        let message = format!("`{file}` follows the contract of capabilities, so it needs its own manifest");
        let hint = format!("remit build {file} --manifest capability.json");
        return Err(Error::new(ErrorKind::Usage, message).hint(hint));
    }
    Ok(())
}

/// The names of its imports stand in the message.
fn not_alone(error: &Error) -> Error {
    let hint = "a component is adopted when it imports nothing: leave out what it calls, and switch WASI off where it \
                is made\n  componentize-js … --disable stdio random clocks http fetch-event\n  \
                componentize-py … componentize … --stub-wasi\n  clang --target=wasm32 … or rustc --target \
                wasm32-unknown-unknown …";
    Error::new(error.kind, &error.message).hint(hint)
}

fn nothing_to_call(left_out: &[String]) -> Error {
    if left_out.is_empty() {
        let message = "the component exports no function, so it has nothing to call";
        return Error::new(ErrorKind::ComponentInvalid, message);
    }
    let message = format!("no function of the component can be a tool\n  {}", left_out.join("\n  "));
    Error::new(ErrorKind::ComponentInvalid, message)
}

/// `Word Count_2.wasm` is `word-count-2`.
fn slug_of(file: &Path) -> Result<String> {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy().to_lowercase();
    let words: Vec<_> =
        stem.split(|character: char| !character.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let slug = words.join("-");
    match manifest::check_name(&slug) {
        None => Ok(slug),
        Some(_) => {
            let message = format!("the name of `{}` makes none for a capability", file.display());
            Err(Error::new(ErrorKind::Usage, message).hint("say what it is called: --slug NAME"))
        }
    }
}

fn manifest_of(publisher: &str, slug: &str, tools: Vec<Tool>) -> Manifest {
    Manifest {
        schema: None,
        publisher: publisher.to_owned(),
        slug: slug.to_owned(),
        version: Version::new(0, 1, 0),
        title: super::scaffold::title(slug),
        description: "Made of a component for another host, from the types of its functions.".to_owned(),
        keywords: Vec::new(),
        domain: None,
        runtime: Runtime::Component,
        uses: Vec::new(),
        http: None,
        secrets: Vec::new(),
        tools,
        resources: Vec::new(),
        resource_templates: Vec::new(),
        prompts: Vec::new(),
        prompt: None,
        loops: Vec::new(),
        entities: Vec::new(),
        entity_formats: std::collections::BTreeMap::new(),
        sandbox: None,
        limits: None,
    }
}

fn tools(functions: &[(&str, &Signature)], slug: &str) -> Result<Vec<Tool>> {
    let exports: Vec<_> = functions.iter().map(|(export, _)| *export).collect();
    let names = names(&exports, slug)?;
    Ok(functions.iter().zip(names).map(|((export, signature), name)| tool(export, signature, name)).collect())
}

/// A function without imports reads what it is given and nothing else.
fn tool(export: &str, signature: &Signature, name: String) -> Tool {
    let types = signature.to_string();
    let description = if types.chars().count() <= MAX_SHOWN_TYPES {
        format!("The function `{export}` of the component: `{types}`")
    } else {
        format!("The function `{export}` of the component")
    };
    Tool {
        name,
        title: None,
        description,
        tags: Vec::new(),
        keywords: Vec::new(),
        input_schema: typed::input_schema(signature),
        output_schema: Some(typed::output_schema(signature)),
        read_only: true,
        destructive: None,
        idempotent: true,
        open_world: Some(false),
        expose: true,
        required_role: None,
        required_permission: None,
        feature_flag: None,
        run: Run { kind: Runtime::Component, export: Some(export.to_owned()) },
    }
}

/// Tools are called as the functions are, with `_` for `-`. Where that is taken, or means something else to those
/// who call tools, the interface's name, or the capability's, stands before it.
fn names(exports: &[&str], slug: &str) -> Result<Vec<String>> {
    let short: Vec<_> =
        exports.iter().map(|export| word(export.rsplit(IN_INTERFACE).next().unwrap_or(export))).collect();
    let mut uses = BTreeMap::<&str, usize>::new();
    for name in &short {
        *uses.entry(name).or_default() += 1;
    }
    let name = |(export, short): (&&str, &String)| {
        let is_free = uses.get(short.as_str()) == Some(&1) && manifest::check_tool(short).is_none();
        let before = interface(export).map_or_else(|| word(slug), word);
        if is_free { short.clone() } else { format!("{before}_{short}") }
    };
    let names: Vec<_> = exports.iter().zip(&short).map(name).collect();
    let mut taken = BTreeMap::new();
    for (export, name) in exports.iter().zip(&names) {
        if let Some(other) = taken.insert(name, export) {
            let message = format!("`{other}` and `{export}` would both be the tool `{name}`");
            return Err(Error::new(ErrorKind::ComponentInvalid, message).hint(
                "write a manifest with names of your own: remit build FILE.wasm --manifest capability.json",
            ));
        }
    }
    Ok(names)
}

/// `forecast` of `acme:weather/forecast@1.0.0#get`.
fn interface(export: &str) -> Option<&str> {
    let (interface, _) = export.split_once(IN_INTERFACE)?;
    let name = interface.rsplit('/').next()?;
    name.split('@').next()
}

fn word(name: &str) -> String {
    name.to_lowercase().replace('-', "_")
}

/// The manifest's text, for whoever writes better descriptions into it.
pub fn manifest_text(manifest: &Manifest) -> Result<String> {
    serde_json::to_string_pretty(manifest)
        .map(|text| format!("{text}\n"))
        .map_err(|error| Error::internal("a manifest could not be written as JSON").detail(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_named_as_the_functions_are() {
        let named = |exports: &[&str]| names(exports, "my-words").map_err(|error| error.message);
        let names = |exports: &[&str]| named(exports).unwrap();
        assert_eq!(names(&["get-word", "a:b/c@1.0.0#count"]), ["get_word", "count"]);
        assert_eq!(
            names(&["a:b/first@1.0.0#get", "a:c/second#get", "other"]),
            ["first_get", "second_get", "other"]
        );
        assert_eq!(names(&["get", "a:b/first#get"]), ["my_words_get", "first_get"]);
        assert_eq!(
            names(&["search", "a:b/first#then", "get-HTTP"]),
            ["my_words_search", "first_then", "get_http"]
        );
        assert_eq!(
            named(&["a:b/first@1.0.0#get", "a:b/first@2.0.0#get"]),
            Err("`a:b/first@1.0.0#get` and `a:b/first@2.0.0#get` would both be the tool `first_get`".to_owned())
        );
        assert_eq!(
            named(&["first-get", "a:b/first#get", "get"]),
            Err("`first-get` and `a:b/first#get` would both be the tool `first_get`".to_owned())
        );
    }

    #[test]
    fn a_file_gives_its_name() {
        let slug = |file: &str| slug_of(Path::new(file)).map_err(|error| error.message);
        assert_eq!(slug("/a/Word Count_2.wasm"), Ok("word-count-2".to_owned()));
        assert_eq!(slug("2.wasm"), Err("the name of `2.wasm` makes none for a capability".to_owned()));
        assert!(slug("---.wasm").is_err());
    }
}
