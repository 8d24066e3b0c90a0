//! `remit.sandbox.write`, `read`, `find`, `list` and `delete`, with files as text or in base64.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Context, Outcome, Row, read};
use crate::error::{Error, ErrorKind};
use crate::namespaces::sandbox::{File, Refusal, host};
use crate::runtime::sandbox as wire;

pub(super) const FUNCTIONS: &[Row] =
    &[("delete", delete), ("find", find), ("list", list), ("read", read_part), ("write", write)];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Write {
    name: String,
    /// The file as text.
    #[serde(default)]
    text: Option<String>,
    /// The file in base64.
    #[serde(default)]
    base64: Option<String>,
}

/// A part of a file: from `offset` on, up to `length` bytes.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Part {
    file: String,
    #[serde(default)]
    offset: u64,
    #[serde(default = "all")]
    length: u32,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Named {
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Which {
    file: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct List {
    #[serde(default)]
    prefix: String,
}

/// As much as the namespace gives at once.
fn all() -> u32 {
    u32::MAX
}

fn write(store: Context<'_>, input: Value) -> wasmtime::Result<Outcome> {
    let file = read(input).and_then(|Write { name, text, base64 }| match (text, base64) {
        (Some(text), None) => Ok((name, text.into_bytes())),
        (None, Some(coded)) => match STANDARD.decode(coded.as_bytes()) {
            Ok(bytes) => Ok((name, bytes)),
            Err(_) => Err(Error::new(ErrorKind::InvalidInput, "`base64` is not base64")),
        },
        _ => Err(Error::new(ErrorKind::InvalidInput, "a file has `text` or `base64`, one of them")),
    });
    let (name, bytes) = match file {
        Ok(file) => file,
        Err(error) => return Ok(Err(error)),
    };
    let (written,) = host::write(store, (name, bytes))?;
    Ok(written.map(shown).map_err(thrown))
}

/// Text where the part is text, else base64.
fn read_part(store: Context<'_>, input: Value) -> wasmtime::Result<Outcome> {
    let Part { file, offset, length } = match read(input) {
        Ok(part) => part,
        Err(error) => return Ok(Err(error)),
    };
    let (part,) = host::read(store, (file, offset, length))?;
    let shown = |bytes: Vec<u8>| match String::from_utf8(bytes) {
        Ok(text) => json!({ "text": text }),
        Err(bytes) => json!({ "base64": STANDARD.encode(bytes.as_bytes()) }),
    };
    Ok(part.map(shown).map_err(thrown))
}

fn find(store: Context<'_>, input: Value) -> wasmtime::Result<Outcome> {
    let Which { file } = match read(input) {
        Ok(which) => which,
        Err(error) => return Ok(Err(error)),
    };
    let (found,) = host::find(store, (file,))?;
    Ok(found.map(|found| found.map_or(Value::Null, shown)).map_err(thrown))
}

fn list(store: Context<'_>, input: Value) -> wasmtime::Result<Outcome> {
    let List { prefix } = match read(input) {
        Ok(list) => list,
        Err(error) => return Ok(Err(error)),
    };
    let (files,) = host::list(store, (prefix,))?;
    Ok(files.map(|files| json!({ "files": files.into_iter().map(shown).collect::<Value>() })).map_err(thrown))
}

fn delete(store: Context<'_>, input: Value) -> wasmtime::Result<Outcome> {
    let Named { name } = match read(input) {
        Ok(named) => named,
        Err(error) => return Ok(Err(error)),
    };
    let (was_there,) = host::delete(store, (name,))?;
    Ok(was_there.map(Value::from).map_err(thrown))
}

/// A file that was written by a request.
pub(super) fn described(file: &File) -> Value {
    let media_type = file.name.media_type();
    json!({ "name": file.name.to_string(), "uri": file.address(), "bytes": file.bytes, "mediaType": media_type })
}

fn shown(file: wire::File) -> Value {
    let wire::File { name, uri, bytes, media_type, written_at } = file;
    json!({ "name": name, "uri": uri, "bytes": bytes, "mediaType": media_type, "writtenAt": written_at })
}

/// Why a request's answer became no file.
pub(super) fn refused(refusal: Refusal) -> Error {
    thrown(host::wire_error(refusal))
}

fn thrown(error: wire::Error) -> Error {
    let (kind, message) = match error {
        wire::Error::InvalidName(why) => (ErrorKind::SandboxInvalid, why),
        wire::Error::NotFound(file) => (ErrorKind::SandboxNotFound, format!("there is no file `{file}`")),
        wire::Error::Collision(file) => (ErrorKind::SandboxInvalid, format!("the file `{file}` is in the way")),
        wire::Error::Quota(why) => (ErrorKind::SandboxQuota, why),
        wire::Error::ReadOnly => (ErrorKind::NotAllowed, "the tool is declared to change nothing".to_owned()),
        wire::Error::NotAvailable => (ErrorKind::NotAllowed, "the capability may not keep files".to_owned()),
        wire::Error::Unavailable => (ErrorKind::Store, "files cannot be read or written now".to_owned()),
    };
    Error::new(kind, message)
}
