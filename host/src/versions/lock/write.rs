//! A lock as text. One value a line, so that a difference reads as what was decided.

use std::fmt::Write as _;

use jiff::Timestamp;

use super::{FORM, Lock, Locked, spell};
use crate::policy::{Approval, authority};
use crate::registry::Origin;

const HEAD: &str = "\
# Which capabilities are installed, and what they may do. `remit lock` writes it, `remit sync --locked` follows it.
";

/// The text of a lock.
#[must_use]
pub fn write(lock: &Lock) -> String {
    let mut entries: Vec<&Locked> = lock.entries.iter().collect();
    entries.sort_by(|one, other| one.name.cmp(&other.name));
    let mut text = format!("{HEAD}version = {FORM}\n");
    for entry in entries {
        text.push_str("\n[[capability]]\n");
        for (key, value) in fields(entry) {
            let _ = writeln!(text, "{key} = {}", quoted(&value));
        }
        list(&mut text, "granted", entry.granted.iter().map(|grant| quoted(&spell(grant))).collect());
        list(&mut text, "approved", entry.approved.iter().map(approval).collect());
    }
    text
}

fn fields(entry: &Locked) -> Vec<(&'static str, String)> {
    let mut fields = vec![
        ("name", entry.name.to_string()),
        ("version", entry.version.to_string()),
        ("component-digest", entry.component.to_string()),
        ("tools-digest", entry.tools.to_string()),
        ("grants-digest", entry.grants.to_string()),
    ];
    if let Some(Origin { registry, key, reviewer, reviewed_at }) = &entry.origin {
        fields.extend([
            ("registry", registry.clone()),
            ("publisher-key", key.clone()),
            ("reviewer", reviewer.clone()),
            ("reviewed-at", time(*reviewed_at)),
        ]);
    }
    fields.push(("engine", entry.engine.clone()));
    fields
}

fn list(text: &mut String, key: &str, mut rows: Vec<String>) {
    rows.sort();
    if rows.is_empty() {
        let _ = writeln!(text, "{key} = []");
        return;
    }
    let rows: String = rows.into_iter().map(|row| format!("    {row},\n")).collect();
    let _ = writeln!(text, "{key} = [\n{rows}]");
}

/// One approval as an inline table.
pub(super) fn approval(approval: &Approval) -> String {
    let Approval { secret, source, host, port, place, expires_at } = approval;
    let mut fields = vec![("secret", secret.clone())];
    if source != secret {
        fields.push(("stored-as", source.clone()));
    }
    fields.extend([("host", authority(host, *port)), ("place", place.to_string())]);
    fields.extend(expires_at.map(|end| ("until", time(end))));
    let fields: Vec<_> = fields.iter().map(|(key, value)| format!("{key} = {}", quoted(value))).collect();
    format!("{{ {} }}", fields.join(", "))
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

fn time(milliseconds: i64) -> String {
    Timestamp::from_millisecond(milliseconds).unwrap_or(Timestamp::UNIX_EPOCH).to_string()
}
