//! A server in words and as JSON. Everything that it wrote is shown as its own, with hidden characters made visible.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use serde_json::{Value, json};

use super::super::describe::indented;
use super::super::figures::utc_time;
use super::super::output::printable;
use super::super::{Context, prompt};
use crate::admin::{KnownUpstream, UpstreamOffer};
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::is_hidden;
use crate::store::Upstream;
use crate::upstreams::{Definitions, LeftOut, Reach};

const REMOVED: Style = AnsiColor::Red.on_default();
const ADDED: Style = AnsiColor::Green.on_default();

/// Where it is, what it gets, and every tool with all that is said of it.
pub(super) fn offer(offer: &UpstreamOffer, reach: &Reach) -> Result<String> {
    let mut text = format!("MCP server {}\n{}", offer.capability.name.slug, indented(&place(reach)?));
    if matches!(reach, Reach::Command { .. }) {
        text.push_str("  it runs with your rights, and is not in a sandbox\n");
    }
    text.push_str("\ntools, in its own words\n");
    for (name, definition) in offer.definitions.tools() {
        if offer.capability.manifest.tools.iter().any(|tool| tool.name == name) {
            let _ = writeln!(text, "  {} ({})", visible(name), effect(definition));
            text.push_str(&quoted(definition));
        }
    }
    text.push_str(&left_out(&offer.left_out));
    Ok(text)
}

/// How the server is reached, and which secrets it gets. Values of secrets are not known here.
pub(super) fn place(reach: &Reach) -> Result<Vec<Vec<String>>> {
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let what = match reach {
        Reach::Command { .. } => "program",
        Reach::Url { .. } => "address",
    };
    let mut rows = vec![row(what, reach.place())];
    rows.extend(reach.values().iter().map(|(name, value)| row("gets", format!("{name}: {}", shown(value)))));
    let secrets = reach.secrets()?;
    if !secrets.is_empty() {
        rows.push(row("secrets", secrets.join(", ")));
    }
    Ok(rows)
}

/// A value that the operator wrote. One without a placeholder may be a secret that was typed, and is not repeated.
fn shown(value: &str) -> String {
    match crate::secrets::placeholders(value) {
        Ok(names) if !names.is_empty() => {
            names.iter().map(|name| format!("{{{{{name}}}}}")).collect::<Vec<_>>().join(" ")
        }
        _ => "(not shown)".to_owned(),
    }
}

/// What would change: lines that begin with `-` are accepted, those with `+` are said now.
pub(super) fn difference(pinned: &Definitions, held: &Definitions) -> String {
    let difference = pinned.difference(held);
    let mut text = String::new();
    let names = difference.removed.iter().chain(&difference.changed).chain(&difference.added);
    for name in names {
        let _ = writeln!(text, "{}", visible(name));
        for (definitions, mark, style) in [(pinned, '-', REMOVED), (held, '+', ADDED)] {
            if let Some(definition) = definitions.tool(name) {
                let other = if mark == '-' { held.tool(name) } else { pinned.tool(name) };
                for (key, value) in definition.as_object().into_iter().flatten() {
                    if other.and_then(|other| other.get(key)) != Some(value) {
                        let _ = writeln!(text, "{style}  {mark} {}: {}{style:#}", visible(key), words(value));
                    }
                }
            }
        }
    }
    text
}

/// Whether a person says yes. Nobody is there to ask when a program runs this.
pub(super) fn is_accepted(question: &str, context: &Context) -> Result<bool> {
    if context.output.is_json() || !prompt::somebody_is_there() {
        return Err(Error::new(ErrorKind::Usage, "nobody is there to be asked")
            .hint("look at what is shown, then say `--yes`"));
    }
    prompt::confirm(question)
}

/// A server for programs.
pub(super) fn value(known: &KnownUpstream) -> Result<Value> {
    let capability = &known.entry.capability;
    let tools = capability.manifest.tools.iter().map(|tool| {
        let is_changed =
            known.held.as_ref().is_some_and(|held| held.tool(&tool.name) != known.pinned.tool(&tool.name));
        json!({
            "name": tool.name, "tool": format!("mcp:{}:{}", capability.name.slug, tool.name),
            "readOnly": tool.read_only, "definition": known.pinned.tool(&tool.name), "changed": is_changed,
        })
    });
    let mut value = row_value(&known.upstream)?;
    value["digest"] = json!(capability.digest.to_string());
    value["tools"] = tools.collect();
    if let Some(held) = &known.held {
        let difference = known.pinned.difference(held);
        value["difference"] =
            json!({ "added": difference.added, "removed": difference.removed, "changed": difference.changed });
    }
    Ok(value)
}

/// One row of the list for programs.
pub(super) fn row_value(upstream: &Upstream) -> Result<Value> {
    Ok(json!({
        "name": upstream.name,
        "place": upstream.reach.place(),
        "secrets": upstream.reach.secrets()?,
        "addedAt": utc_time(upstream.added_at),
        "heldSince": upstream.held.as_ref().map(|held| utc_time(held.at)),
    }))
}

/// The commands that follow.
pub(super) fn next(known: &KnownUpstream) -> String {
    let name = &known.upstream.name;
    let call = known.entry.capability.manifest.tools.first();
    let call = call.map_or(String::new(), |tool| format!("\n  remit call mcp:{name}:{} '{{…}}'", tool.name));
    format!("\nnext:\n  remit mcp show {name}{call}")
}

/// Tools that cannot be called, and why.
pub(super) fn left_out(tools: &[LeftOut]) -> String {
    if tools.is_empty() {
        return String::new();
    }
    let rows: Vec<_> = tools.iter().map(|tool| vec![visible(&tool.tool), visible(&tool.why)]).collect();
    format!("\nleft out\n{}", indented(&rows))
}

fn quoted(definition: &Value) -> String {
    let mut text = String::new();
    for (key, value) in definition.as_object().into_iter().flatten() {
        let _ = writeln!(text, "    {}: {}", visible(key), words(value));
    }
    text
}

fn words(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    visible(&text).replace('\n', "\n      ")
}

fn effect(definition: &Value) -> &'static str {
    match definition["annotations"]["readOnlyHint"].as_bool() {
        Some(true) => "says that it only reads",
        _ => "may change or destroy",
    }
}

/// Text with all that does not show made visible.
fn visible(text: &str) -> String {
    let hidden = |character: char| character != '\n' && is_hidden(character);
    let text: String = text
        .chars()
        .map(
            |character| {
                if hidden(character) { character.escape_unicode().to_string() } else { character.to_string() }
            },
        )
        .collect();
    printable(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_show_is_shown() {
        assert_eq!(
            visible("a\u{1b}[31m\u{e0041}\u{200b}\u{ad}b\nc"),
            "a\\u{1b}[31m\\u{e0041}\\u{200b}\\u{ad}b\nc"
        );
    }

    #[test]
    fn what_was_typed_in_clear_is_not_repeated() {
        assert_eq!(shown("Bearer {{TOKEN}}"), "{{TOKEN}}");
        assert_eq!(shown("sk_live_8Zq2pV7wXcT4nLrB"), "(not shown)");
        assert_eq!(shown("sk_live_8Zq2pV7wXcT4nLrB {{A}}"), "{{A}}");
    }

    #[test]
    fn a_difference_shows_both_sides_of_what_differs_and_nothing_else() {
        let of = |text: &str| Definitions::read(text.as_bytes()).unwrap();
        let pinned = of(r#"{"a":{"description":"A.","title":"T"},"b":{"description":"B."}}"#);
        let held = of(r#"{"a":{"description":"A. And mail it.","title":"T"},"c":{"description":"C."}}"#);
        let text = difference(&pinned, &held);
        let plain = anstream::adapter::strip_str(&text).to_string();
        assert_eq!(
            plain,
            "b\n  - description: B.\na\n  - description: A.\n  + description: A. And mail it.\nc\n  + description: C.\n"
        );
        assert!(text.contains("\u{1b}[31m") && text.contains("\u{1b}[32m"));
    }
}
