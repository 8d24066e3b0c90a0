//! `remit call`: one call of one tool, by the agents' door.

use std::io::Read;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use clap::Args;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::output::{Output, error_value, printable};
use super::{Context, figures, prompt, recalled, spent};
use crate::asks::{self, Asked};
use crate::call::{CallRequest, Content, Contents, Failure, Host, Reply};
use crate::client::{Confirmation, Unconfirmed, Wants};
use crate::error::{Error, ErrorKind, Result};
use crate::policy::{Identity, OPERATOR};
use crate::registry::ToolName;

/// As much input as an agent could send; the schema check of the call is stricter.
const MAX_ARGUMENT_BYTES: u64 = 16 * 1024 * 1024;

/// Call a tool
///
/// Goes the same way as an agent's call: same grants, same limits, same record. Ctrl-C cancels it. A tool that needs
/// the word of a person is tried out first, and you are shown what it would do.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  remit call acme/weather.get_forecast '{\"place\":\"Oslo\"}'
  remit call acme/weather.get_forecast @input.json --usage
  jq -n '{place:\"Oslo\"}' | remit call acme/weather.get_forecast -
  remit call acme/weather.add_place '{\"place\":\"Oslo\"}' --dry-run
  remit call acme/weather.remove_place '{\"place\":\"Oslo\"}' --yes

  remit call acme/weather.add_place '{\"place\":\"Oslo\"}' --as laptop")]
pub(super) struct CallArgs {
    /// `publisher/slug.tool`, or `mcp:server:tool`
    tool: ToolName,
    /// The input: a JSON object, `@FILE`, or `-` for stdin
    #[arg(default_value = "{}")]
    input: String,
    /// Show what the call spent, on stderr; `--json` always has it
    #[arg(long)]
    usage: bool,
    /// Change nothing: requests and changes of documents are shown, not sent or made
    #[arg(long)]
    dry_run: bool,
    /// Call as this principal, with what it may do, and nothing of yours
    #[arg(long = "as", value_name = "NAME")]
    principal: Option<String>,
    /// Agree to whatever it does, without a look at it
    #[arg(long, conflicts_with = "dry_run")]
    yes: bool,
    /// Agree to what an earlier call with the same input showed, by the token that it gave
    #[arg(long, value_name = "TOKEN", conflicts_with_all = ["dry_run", "yes"])]
    confirmation_token: Option<String>,
}

/// Runs it.
pub(super) fn run(args: CallArgs, context: &Context) -> Result<()> {
    let arguments = read_object(&args.input)?;
    let confirmation = match args.confirmation_token {
        Some(token) => Confirmation::Token(token),
        None if args.yes => Confirmation::Standing,
        None => Confirmation::Missing,
    };
    let app = context.open()?;
    let caller = match &args.principal {
        Some(name) => super::principal::known(&app, name)?,
        None => Identity::operator(OPERATOR),
    };
    if let Some(entry) = app.admin().installed()?.entries.get(&args.tool.capability) {
        recalled::warn(entry, context.output);
    }
    let plain = CallRequest::new(caller, args.tool, arguments);
    let request = CallRequest { dry_run: args.dry_run, confirmation, ..plain };
    let result = super::on_threads(async {
        let called = asking(&app.host()?, request, context.output).await;
        app.leave_upstreams().await;
        called
    });
    app.shutdown();
    match result? {
        Ok(reply) => answer(&reply, args.usage, context.output),
        Err(failure) => refuse(failure, args.usage, context.output),
    }
}

/// Calls it; when it needs the word of a person and one is there, asks for it and calls it again.
async fn asking(host: &Host, request: CallRequest, output: Output) -> Result<Result<Reply, Failure>> {
    let called = call(host, request.clone()).await;
    let Err(Failure { wants: Wants::Confirmation(unconfirmed), error, .. }) = &called else { return Ok(called) };
    if output.is_json() || !prompt::somebody_is_there() {
        return Ok(called);
    }
    output.aside(&planned(unconfirmed));
    if !prompt::confirm(&format!("{}. Do it?", error.message))? {
        return Err(Error::new(ErrorKind::Cancelled, "nothing was changed"));
    }
    let confirmation = Confirmation::Token(unconfirmed.token.clone());
    Ok(call(host, CallRequest { confirmation, ..request }).await)
}

/// What a call would do, for people.
fn planned(unconfirmed: &Unconfirmed) -> String {
    spent::plan_text(&unconfirmed.plan).unwrap_or_else(|| "it came to nothing that it would change\n".to_owned())
}

async fn call(host: &Host, request: CallRequest) -> Result<Reply, Failure> {
    let cancel = CancellationToken::new();
    let call = host.call(request, cancel.clone());
    tokio::pin!(call);
    tokio::select! {
        result = &mut call => result,
        _ = tokio::signal::ctrl_c() => {
            cancel.cancel();
            call.await
        }
    }
}

fn answer(reply: &Reply, show_usage: bool, output: Output) -> Result<()> {
    if output.is_json() {
        output.value(&json!({
            "call": reply.call_id,
            "structured": reply.structured,
            "content": reply.content.iter().map(content_value).collect::<Vec<_>>(),
            "plan": spent::plan_value(&reply.plan),
            "approvalIds": ids(&reply.asked),
            "usage": spent::usage_value(&reply.usage),
        }))?;
    } else {
        // At a terminal, what a guest wrote must not act on it. A pipe gets it as it is.
        let text = answer_text(reply);
        output.text(&if output.is_terminal() { printable(&text) } else { text })?;
        if let Some(plan) = spent::plan_text(&reply.plan) {
            output.aside(&plan);
        }
        let ids = ids(&reply.asked);
        if !ids.is_empty() {
            let ways: Vec<String> = ids.iter().map(|id| format!("remit approve {id}")).collect();
            output.note(&format!("it could not send all its requests\n\nhint: {}", ways.join("\n      ")));
        }
        if show_usage {
            output.aside(&spent::usage_text(&reply.usage));
        }
    }
    Ok(())
}

fn refuse(failure: Failure, show_usage: bool, output: Output) -> Result<()> {
    let unconfirmed = match &failure.wants {
        Wants::Confirmation(unconfirmed) => Some(unconfirmed),
        _ => None,
    };
    if output.is_json() {
        let mut value = error_value(&failure.error);
        if let Some(Unconfirmed { plan, token, expires_at }) = unconfirmed {
            value["plan"] = spent::plan_value(plan);
            value["confirmationToken"] = json!(token);
            value["expiresAt"] = json!(figures::utc_time(*expires_at));
        }
        value["call"] = json!(failure.call_id);
        value["approvalIds"] = json!(ids(&failure.asked));
        value["usage"] = spent::usage_value(&failure.usage);
        if let Some(schema) = failure.input_schema {
            value["inputSchema"] = Value::Object(schema);
        }
        output.value(&value)?;
    } else {
        if let Some(unconfirmed) = unconfirmed {
            output.aside(&planned(unconfirmed));
        }
        if show_usage {
            output.aside(&spent::usage_text(&failure.usage));
        }
    }
    let hint = match unconfirmed {
        Some(Unconfirmed { token, expires_at, .. }) => format!(
            "to agree, call it again with `--confirmation-token {token}`, until {}",
            figures::local_time(*expires_at)
        ),
        None => failure.error.hint.clone().unwrap_or_else(|| format!("remit audit {}", failure.call_id)),
    };
    Err(failure.error.hint(hint))
}

fn ids(asked: &[Asked]) -> Vec<String> {
    asks::ids(asked).iter().map(ToString::to_string).collect()
}

/// The answer for people: the structured value if there is one, and all content that says more than it.
fn answer_text(reply: &Reply) -> String {
    let mut parts: Vec<String> = reply.structured.iter().map(|value| format!("{value:#}")).collect();
    let says_more = |content: &&Content| match (content, &reply.structured) {
        (Content::Text(text), Some(value)) => serde_json::from_str::<Value>(text).ok().as_ref() != Some(value),
        _ => true,
    };
    parts.extend(reply.content.iter().filter(says_more).map(content_text));
    parts.join("\n")
}

fn content_text(content: &Content) -> String {
    let bytes = |bytes: &[u8]| figures::size(bytes.len() as u64);
    match content {
        Content::Text(text) => text.clone(),
        Content::Image(data, mime_type) => format!("[image, {mime_type}, {}]", bytes(data)),
        Content::Audio(data, mime_type) => format!("[audio, {mime_type}, {}]", bytes(data)),
        Content::Resource { contents: Contents::Text(text), .. } => text.clone(),
        Content::Resource { uri, mime_type, contents: Contents::Blob(data) } => {
            format!("[{uri}, {}, {}]", mime_type.as_deref().unwrap_or("bytes"), bytes(data))
        }
        Content::Link { uri, name, .. } => format!("[{name}: {uri}]"),
    }
}

/// The shapes that MCP gives content, so that scripts know only one.
fn content_value(content: &Content) -> Value {
    let base64 = |bytes: &[u8]| BASE64_STANDARD.encode(bytes);
    match content {
        Content::Text(text) => json!({ "type": "text", "text": text }),
        Content::Image(data, mime_type) => json!({ "type": "image", "data": base64(data), "mimeType": mime_type }),
        Content::Audio(data, mime_type) => json!({ "type": "audio", "data": base64(data), "mimeType": mime_type }),
        Content::Resource { uri, mime_type, contents } => {
            let mut resource = json!({ "uri": uri, "mimeType": mime_type });
            match contents {
                Contents::Text(text) => resource["text"] = json!(text),
                Contents::Blob(data) => resource["blob"] = json!(base64(data)),
            }
            json!({ "type": "resource", "resource": resource })
        }
        Content::Link { uri, name, description, mime_type } => json!({
            "type": "resource_link", "uri": uri, "name": name, "description": description, "mimeType": mime_type,
        }),
    }
}

fn read_object(input: &str) -> Result<Map<String, Value>> {
    let text = match input.strip_prefix('@') {
        Some(path) => read_file(path)?,
        None if input == "-" => read_all(std::io::stdin().lock(), "stdin")?,
        None => input.to_owned(),
    };
    parse_object(&text)
}

fn read_file(path: &str) -> Result<String> {
    let path = std::path::Path::new(path);
    let file = std::fs::File::open(path)
        .map_err(|error| Error { kind: ErrorKind::Usage, ..Error::file(path, &error) })?;
    read_all(file, &path.display().to_string())
}

fn read_all(reader: impl Read, name: &str) -> Result<String> {
    let mut text = String::new();
    let read = reader.take(MAX_ARGUMENT_BYTES + 1).read_to_string(&mut text);
    let read = read.map_err(|error| {
        Error::new(ErrorKind::InvalidInput, format!("the input in `{name}` cannot be read: {}", error.kind()))
    })?;
    if read as u64 > MAX_ARGUMENT_BYTES {
        return Err(Error::new(ErrorKind::InvalidInput, format!("the input in `{name}` is larger than 16 MiB")));
    }
    Ok(text)
}

fn parse_object(text: &str) -> Result<Map<String, Value>> {
    let invalid = |message: String| {
        Error::new(ErrorKind::InvalidInput, message).hint("write an object, for example '{\"place\":\"Oslo\"}'")
    };
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(other) => Err(invalid(format!("the input must be a JSON object, and is {}", kind(&other)))),
        Err(error) => Err(invalid(format!("the input is no JSON: {error}"))),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::Usage;
    use crate::call::Plan;

    #[test]
    fn only_an_object_is_an_input() {
        let cases = [
            ("{}", None),
            (" {\"a\": [1]} ", None),
            ("null", Some("the input must be a JSON object, and is null")),
            ("true", Some("the input must be a JSON object, and is a boolean")),
            ("12", Some("the input must be a JSON object, and is a number")),
            ("\"{}\"", Some("the input must be a JSON object, and is a string")),
            ("[{}]", Some("the input must be a JSON object, and is an array")),
            ("", Some("the input is no JSON: EOF while parsing a value at line 1 column 0")),
            ("{place: 1}", Some("the input is no JSON: key must be a string at line 1 column 2")),
            ("{} {}", Some("the input is no JSON: trailing characters at line 1 column 4")),
        ];
        for (text, expected) in cases {
            let error = parse_object(text).err();
            assert_eq!(error.as_ref().map(|error| error.message.as_str()), expected, "{text:?}");
            assert!(error.is_none_or(|error| error.kind == ErrorKind::InvalidInput));
        }
    }

    fn reply(structured: Option<Value>, content: Vec<Content>) -> Reply {
        Reply {
            call_id: "1".to_owned(),
            structured,
            content,
            plan: Plan::default(),
            asked: Vec::new(),
            usage: Usage::default(),
        }
    }

    #[test]
    fn an_answer_is_shown_once() {
        let text = |text: &str| Content::Text(text.to_owned());
        let value = json!({ "a": 1 });
        let cases = [
            (None, vec![text("hello"), text("again")], "hello\nagain"),
            (Some(value.clone()), vec![], "{\n  \"a\": 1\n}"),
            (Some(value.clone()), vec![text("{\"a\":1}")], "{\n  \"a\": 1\n}"),
            (Some(value), vec![text("one a")], "{\n  \"a\": 1\n}\none a"),
            (None, vec![Content::Image(vec![0; 2048], "image/png".to_owned())], "[image, image/png, 2.0 KiB]"),
            (None, vec![], ""),
        ];
        for (structured, content, expected) in cases {
            assert_eq!(answer_text(&reply(structured, content)), expected);
        }
    }
}
