//! What refused calls asked for: listed, shown and decided by its id.

use serde_json::{Value, json};

use super::super::{Context, describe, figures, prompt};
use super::confirm;
use crate::admin::Admin;
use crate::asks::{Ask, AskId};
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::Manifest;
use crate::policy::{Gift, OWN_CREDENTIALS, Wish, authority};
use crate::registry::Entry;

/// Digits of a digest that tell versions apart for a reader.
const SHORT_DIGEST: usize = "sha256:".len() + 12;

/// What was said beside the id.
pub(super) struct Choice {
    /// The name that the value is stored under.
    pub(super) from: Option<String>,
    /// The end of an approval, in milliseconds since 1970.
    pub(super) expires_at: Option<i64>,
    /// Ask no question.
    pub(super) yes: bool,
}

/// Lists what is asked; `all` lists what was refused as well.
pub(super) fn list(all: bool, context: &Context) -> Result<()> {
    let output = context.output;
    let app = context.open()?;
    let (open, refused): (Vec<Ask>, Vec<Ask>) =
        app.admin().asks()?.into_iter().partition(|ask| ask.refused_at.is_none());
    let shown: Vec<&Ask> = open.iter().chain(refused.iter().filter(|_| all)).collect();
    if output.is_json() {
        return output.value(&shown.iter().map(|ask| value(ask)).collect());
    }
    if shown.is_empty() {
        output.note("nothing is asked for");
    } else {
        let rows: Vec<_> = shown
            .iter()
            .map(|ask| {
                let refused = if ask.refused_at.is_some() { "refused" } else { "" };
                vec![
                    ask.id.to_string(),
                    ask.name.to_string(),
                    wish_text(&ask.wish),
                    figures::count(ask.times),
                    figures::local_time(ask.last_at),
                    format!("{}, {}", ask.principal, ask.tool),
                    refused.to_owned(),
                ]
            })
            .collect();
        output.table(&["ID", "CAPABILITY", "ASKS TO", "TIMES", "LAST", "BY", ""], &rows)?;
    }
    if !all && !refused.is_empty() {
        output.note(&format!(
            "\nhint: {} was refused: remit approve --all",
            figures::plural(refused.len(), "more ask")
        ));
    }
    Ok(())
}

/// Shows one ask, puts the question, and gives what it asks for.
pub(super) fn decide(id: AskId, choice: &Choice, context: &Context) -> Result<()> {
    let output = context.output;
    let app = context.open()?;
    let admin = app.admin();
    let ask = admin.find_ask(id)?;
    let entry = admin.find(&ask.name)?;
    refuse_what_means_nothing(&ask.wish, choice)?;
    output.note(&ask_text(&ask, &entry, choice));
    if let Wish::Value { source, .. } = &ask.wish {
        store_value(source, admin)?;
    } else {
        confirm("allow this?", choice.yes)?;
        admin.allow(&ask, choice.from.as_deref(), choice.expires_at)?;
    }
    if output.is_json() {
        let mut value = value(&ask);
        value["decision"] = json!("allowed");
        value["expiresAt"] = json!(choice.expires_at.map(figures::utc_time));
        return output.value(&value);
    }
    output.note(&format!("allowed: {} may {}", ask.name, wish_text(&ask.wish)));
    if let Gift::Approval(approval) = ask.wish.gift(&entry.approvals) {
        let source = choice.from.as_deref().unwrap_or(&approval.source);
        if !admin.secrets()?.iter().any(|stored| stored.name == source) {
            output.note(&format!("\nhint: no value is stored yet: remit secret set {source}"));
        }
    }
    Ok(())
}

/// Closes an ask and gives nothing.
pub(super) fn refuse(id: AskId, context: &Context) -> Result<()> {
    let output = context.output;
    let app = context.open()?;
    let ask = app.admin().find_ask(id)?;
    app.admin().refuse(id)?;
    if output.is_json() {
        let mut value = value(&ask);
        value["decision"] = json!("refused");
        return output.value(&value);
    }
    output.note(&format!("refused: {} may not {}", ask.name, wish_text(&ask.wish)));
    Ok(())
}

/// A grant has neither an end nor a stored value.
fn refuse_what_means_nothing(wish: &Wish, choice: &Choice) -> Result<()> {
    let is_approval = matches!(wish, Wish::Secret { .. });
    if !is_approval && (choice.expires_at.is_some() || choice.from.is_some()) {
        let message = "`--for`, `--until` and `--from` are for secrets that are approved, and this asks for none";
        return Err(Error::new(ErrorKind::Usage, message));
    }
    Ok(())
}

/// A value is a decision by itself: whoever types it says yes.
fn store_value(source: &str, admin: &Admin) -> Result<()> {
    if !prompt::somebody_is_there() {
        return Err(Error::new(ErrorKind::Usage, "nobody is at a terminal to type the value")
            .hint(format!("pipe it: … | remit secret set {source}")));
    }
    admin.set_secret(source, &prompt::secret(&format!("value of {source}"))?)
}

/// What is asked for, after "asks to" or "may".
fn wish_text(wish: &Wish) -> String {
    match wish {
        Wish::Host { host, port } => format!("send requests to {}", authority(host, *port)),
        Wish::OwnCredentials => "send credentials of its own".to_owned(),
        Wish::Secret { secret, host, port, place } => {
            format!("send `{secret}` to {} in {place}", authority(host, *port))
        }
        Wish::Value { secret, source } if secret == source => format!("use `{secret}`, which has no value"),
        Wish::Value { secret, source } => format!("use `{secret}`, stored as `{source}`, which has no value"),
    }
}

/// Everything to read before deciding.
fn ask_text(ask: &Ask, entry: &Entry, choice: &Choice) -> String {
    let row = |name: &str, text: String| vec![name.to_owned(), text];
    let manifest = &entry.capability.manifest;
    let mut rows = Vec::new();
    if matches!(ask.wish, Wish::OwnCredentials) {
        let grant =
            format!("`http` `{OWN_CREDENTIALS}`: `Authorization` and `Cookie` values that its code chooses");
        rows.push(row("means", grant));
    }
    rows.extend(description(&ask.wish, manifest).map(|text| row("secret", text)));
    if let Gift::Approval(approval) = ask.wish.gift(&entry.approvals) {
        let source = choice.from.clone().unwrap_or(approval.source);
        rows.push(row("value", format!("stored as {source}")));
        rows.push(row("ends", choice.expires_at.map_or("when you take it back".to_owned(), figures::local_time)));
    }
    let digest = ask.digest.to_string();
    rows.push(row("digest", format!("{}…", &digest[..SHORT_DIGEST])));
    rows.push(row("asked by", format!("{}, tool {}, call {}", ask.principal, ask.tool, ask.call)));
    let times = figures::plural(usize::try_from(ask.times).unwrap_or(usize::MAX), "time");
    let [first, last] = [ask.first_at, ask.last_at].map(figures::local_time);
    rows.push(row("asked", if ask.times == 1 { last } else { format!("{times}, from {first} to {last}") }));
    rows.extend(ask.refused_at.map(|at| row("refused", figures::local_time(at))));
    let version = &manifest.version;
    format!("{} {version} asks to {}\n{}", ask.name, wish_text(&ask.wish), describe::indented(&rows))
}

/// What the publisher says about the secret.
fn description(wish: &Wish, manifest: &Manifest) -> Option<String> {
    let (Wish::Secret { secret: name, .. } | Wish::Value { secret: name, .. }) = wish else { return None };
    let secret = manifest.secrets.iter().find(|secret| secret.name == *name)?;
    Some(describe::one_line(&secret.description))
}

fn value(ask: &Ask) -> Value {
    let wish = match &ask.wish {
        Wish::Host { host, port } => json!({ "kind": "host", "host": host, "port": port }),
        Wish::OwnCredentials => json!({ "kind": OWN_CREDENTIALS }),
        Wish::Secret { secret, host, port, place } => json!({
            "kind": "secret", "secret": secret, "host": host, "port": port, "place": place.to_string(),
        }),
        Wish::Value { secret, source } => json!({ "kind": "value", "secret": secret, "source": source }),
    };
    json!({
        "id": ask.id.to_string(),
        "name": ask.name.to_string(),
        "digest": ask.digest.to_string(),
        "wish": wish,
        "principal": ask.principal,
        "tool": ask.tool,
        "call": ask.call,
        "firstAt": figures::utc_time(ask.first_at),
        "lastAt": figures::utc_time(ask.last_at),
        "times": ask.times,
        "refusedAt": ask.refused_at.map(figures::utc_time),
    })
}
