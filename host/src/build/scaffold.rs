//! Starts a project: the language's files with names put in, and beside them the SDK's sources, or the contract as
//! WIT, so that a project builds wherever the language's tools do.
//!
//! All files are compiled into this program; the list of the SDK's is made by `host/build.rs`.

use std::path::{Path, PathBuf};

use super::Language;
use crate::error::{Error, ErrorKind, Result};
use crate::manifest;

include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// Where the SDK goes inside a project.
const SDK_FOLDER: &str = "vendor/remit-sdk";

/// The contract in the SDK, as other languages need it.
const CONTRACT: &str = "wit/";

/// Where the contract goes in a project of another language: where their tools look for packages that a world uses.
const CONTRACT_FOLDER: &str = "wit/deps/remit-capability";

/// The schema of `capability.json`, beside the SDK or the contract, so that editors find it.
const SCHEMA_FILE: &str = "capability.schema.json";

/// Makes the folder `name` in `parent`, whole or not at all.
pub fn scaffold(parent: &Path, language: Language, publisher: &str, name: &str) -> Result<PathBuf> {
    check("name", name)?;
    check("publisher", publisher)?;
    let folder = parent.join(name);
    refuse_occupied(&folder)?;
    let failed = |error: std::io::Error| Error::file(&folder, &error);
    let draft = tempfile::Builder::new()
        .prefix(".remit-new-")
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .tempdir_in(parent)
        .map_err(failed)?;
    for (path, text) in language.files() {
        write(&draft.path().join(path), &fill(text, publisher, name)).map_err(failed)?;
    }
    let schema = format!("{:#}\n", manifest::json_schema());
    if language == Language::Rust {
        for (path, text) in SDK {
            write(&draft.path().join(SDK_FOLDER).join(path), text).map_err(failed)?;
        }
        write(&draft.path().join(SDK_FOLDER).join(SCHEMA_FILE), &schema).map_err(failed)?;
    } else {
        let contract = SDK.iter().filter_map(|(path, text)| Some((path.strip_prefix(CONTRACT)?, text)));
        for (path, text) in contract {
            write(&draft.path().join(CONTRACT_FOLDER).join(path), text).map_err(failed)?;
        }
        write(&draft.path().join(CONTRACT).join(SCHEMA_FILE), &schema).map_err(failed)?;
    }
    std::fs::rename(draft.path(), &folder).map_err(failed)?;
    Ok(folder)
}

fn check(what: &str, name: &str) -> Result<()> {
    match manifest::check_name(name) {
        None => Ok(()),
        Some(fix) => {
            let name = manifest::visible(name, 80);
            Err(Error::new(ErrorKind::Usage, format!("`{name}` cannot be the {what} of a capability: {fix}")))
        }
    }
}

/// An empty folder may be taken; anything else is somebody's work.
fn refuse_occupied(folder: &Path) -> Result<()> {
    let is_free = match std::fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    };
    if is_free {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Usage, format!("`{}` exists already", folder.display()))
        .hint("choose another name, or remove it first"))
}

/// Puts names into a file of the template.
fn fill(text: &str, publisher: &str, name: &str) -> String {
    text.replace("{{publisher}}", publisher).replace("{{name}}", name).replace("{{title}}", &title(name))
}

/// `open-meteo` as people write it: `Open meteo`.
pub(super) fn title(name: &str) -> String {
    let words = name.replace('-', " ");
    let mut characters = words.chars();
    characters.next().map(|first| first.to_uppercase().chain(characters).collect()).unwrap_or_default()
}

fn write(path: &Path, text: &str) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(path, text)
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum as _;

    use super::*;

    #[test]
    fn a_project_has_names_put_in_and_the_sdk_beside_it() {
        let parent = tempfile::tempdir().unwrap();
        let folder = scaffold(parent.path(), Language::Rust, "acme", "open-meteo").unwrap();
        let manifest = std::fs::read_to_string(folder.join("capability.json")).unwrap();
        let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
        assert_eq!(manifest["publisher"], "acme");
        assert_eq!(manifest["slug"], "open-meteo");
        for file in ["Cargo.toml", ".gitignore", "vendor/remit-sdk/src/lib.rs", "vendor/remit-sdk/Cargo.toml"] {
            assert!(folder.join(file).exists(), "{file}");
        }
        assert!(folder.join("vendor/remit-sdk").join(SCHEMA_FILE).exists());
        let left: Vec<_> = std::fs::read_dir(parent.path()).unwrap().collect();
        assert_eq!(left.len(), 1, "nothing but the project is left: {left:?}");
    }

    #[test]
    fn every_language_is_complete() {
        for language in Language::value_variants() {
            let parent = tempfile::tempdir().unwrap();
            let folder = scaffold(parent.path(), *language, "acme", "open-meteo").unwrap();
            for (path, text) in language.files() {
                assert!(folder.join(path).exists(), "{path}");
                let text = fill(text, "acme", "open-meteo");
                assert!(!text.contains("{{"), "{path}: {text}");
            }
            let manifest = std::fs::read_to_string(folder.join("capability.json")).unwrap();
            let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
            let schema = folder.join(manifest["$schema"].as_str().unwrap());
            assert!(schema.exists(), "{schema:?}");
            let has_contract = folder.join(CONTRACT_FOLDER).join("tools.wit").exists();
            assert_eq!(has_contract, *language != Language::Rust, "Rust has it in its SDK");
        }
    }

    #[test]
    fn nobodys_work_is_written_over() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("weather");
        std::fs::create_dir(&folder).unwrap();
        assert!(scaffold(parent.path(), Language::Rust, "acme", "weather").is_ok(), "an empty folder is free");
        let error = scaffold(parent.path(), Language::Rust, "acme", "weather").unwrap_err();
        assert!(error.message.ends_with("weather` exists already"));
        std::fs::write(parent.path().join("file"), "").unwrap();
        assert!(scaffold(parent.path(), Language::Rust, "acme", "file").is_err());
    }

    #[test]
    fn bad_names_are_refused() {
        let parent = tempfile::tempdir().unwrap();
        for (publisher, name) in [("acme", "../x"), ("acme", "Weather"), ("a b", "weather"), ("acme", "")] {
            assert_eq!(scaffold(parent.path(), Language::Js, publisher, name).unwrap_err().kind, ErrorKind::Usage);
        }
        assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 0);
    }
}
