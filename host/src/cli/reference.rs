//! The reference under `docs/reference/`, made from the code it describes.

use std::fmt::Write as _;

use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::config::{Config, ENVIRONMENT};
use crate::error::ErrorKind;

const GENERATED: &str =
    "<!-- Made from the code by `UPDATE_REFERENCE=1 cargo test -p remit reference`; not edited. -->";

/// Every command with its help.
#[must_use]
pub fn cli_reference() -> String {
    let mut text = format!("# Command line\n\n{GENERATED}\n");
    let mut root = super::command();
    root.build();
    describe_command(&root, &mut text);
    text
}

/// Every kind of error: its code, who is to blame, the exit code.
#[must_use]
pub fn errors_reference() -> String {
    let mut text = format!(
        "# Errors\n\n{GENERATED}\n\n\
         Every error has a stable code `room/reason`. Codes are only ever added. Blame says who has to change \
         something: the `caller`, the `capability`'s author, the `operator`, or this `host`.\n\n\
         | code | meaning | blame | exit code |\n|---|---|---|---|\n"
    );
    for kind in ErrorKind::ALL {
        let (code, blame) = (kind.code(), kind.blame().as_str());
        let _ = writeln!(text, "| `{code}` | {} | {blame} | {} |", kind.meaning(), kind.exit_code());
    }
    text
}

/// Every key of `remit.toml` and every environment variable.
#[must_use]
pub fn config_reference() -> String {
    let mut text = format!(
        "# Configuration\n\n{GENERATED}\n\n\
         `remit.toml` in the data directory. Every key has a default, and an unknown key is an error.\n"
    );
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let schema = settings.into_generator().into_root_schema_for::<Config>();
    describe_section("", schema.as_value(), &mut text);
    text.push_str("\n## Environment\n\n| variable | meaning |\n|---|---|\n");
    for variable in ENVIRONMENT {
        let _ = writeln!(text, "| `{}` | {} |", variable.name, variable.meaning);
    }
    text
}

fn describe_command(command: &clap::Command, text: &mut String) {
    if command.is_hide_set() || command.get_name() == "help" {
        return;
    }
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
    let is_root = !name.contains(' ');
    let hide_global =
        |argument: clap::Arg| if argument.is_global_set() && !is_root { argument.hide(true) } else { argument };
    let help = command.clone().term_width(100).mut_args(hide_global).render_long_help().to_string();
    let help: Vec<&str> = help.lines().map(str::trim_end).collect();
    let _ = write!(text, "\n## `{name}`\n\n```text\n{}\n```\n", help.join("\n").trim_end());
    for subcommand in command.get_subcommands() {
        describe_command(subcommand, text);
    }
}

fn describe_section(path: &str, schema: &Value, text: &mut String) {
    let Some(properties) = schema["properties"].as_object() else { return };
    let (sections, keys): (Vec<_>, Vec<_>) = properties.iter().partition(|(_, property)| is_section(property));
    if !keys.is_empty() {
        let description = schema["description"].as_str().unwrap_or_default();
        let heading = if path.ends_with(']') { path.to_owned() } else { format!("[{path}]") };
        let _ = write!(text, "\n## `{heading}`\n\n{description}\n\n| key | meaning | default |\n|---|---|---|\n");
    }
    for (key, property) in keys {
        let description = property["description"].as_str().unwrap_or_default().replace('\n', " ");
        let default = match &property["default"] {
            Value::Null => "–".to_owned(),
            default => format!("`{default}`"),
        };
        let _ = writeln!(text, "| `{key}` | {description} | {default} |");
    }
    for (key, section) in sections {
        let path = path.trim_matches(['[', ']']);
        let inner = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        if section["items"].get("properties").is_some() {
            describe_section(&format!("[[{inner}]]"), &section["items"], text);
            continue;
        }
        match &section["additionalProperties"] {
            value if value.get("properties").is_some() => {
                let name = if key == "capability" { "publisher/slug" } else { "NAME" };
                describe_section(&format!("{inner}.\"{name}\""), value, text);
            }
            _ => describe_section(&inner, section, text),
        }
    }
}

fn is_section(property: &Value) -> bool {
    [property, &property["additionalProperties"], &property["items"]]
        .iter()
        .any(|schema| schema.get("properties").is_some())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn committed_reference_is_current() -> Result<(), Box<dyn std::error::Error>> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference");
        let pages =
            [("cli.md", cli_reference()), ("errors.md", errors_reference()), ("config.md", config_reference())];
        for (name, page) in pages {
            let file = folder.join(name);
            if crate::config::reference_is_to_be_written() {
                std::fs::create_dir_all(&folder)?;
                std::fs::write(&file, &page)?;
            }
            let committed = std::fs::read_to_string(&file).unwrap_or_default();
            assert!(committed == page, "{name} is out of date: UPDATE_REFERENCE=1 cargo test -p remit reference");
        }
        Ok(())
    }

    #[test]
    fn codes_are_unique_and_well_formed() {
        let mut codes: Vec<&str> = ErrorKind::ALL.iter().map(|kind| kind.code()).collect();
        let is_well_formed = |code: &str| {
            code.split_once('/').is_some_and(|(room, reason)| {
                let is_word = |word: &str| {
                    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-')
                };
                is_word(room) && is_word(reason)
            })
        };
        assert!(codes.iter().all(|code| is_well_formed(code)));
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), ErrorKind::ALL.len());
    }
}
