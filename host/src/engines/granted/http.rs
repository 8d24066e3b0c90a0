//! `remit.http.request({ method, url, headers, body, json, timeoutMs, save })`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Context, Outcome, Row, read, sandbox};
use crate::egress::{Answer, Refusal};
use crate::error::{Error, ErrorKind};
use crate::namespaces::http::{Unsaved, exchange, keep};
use crate::runtime::http::{Header, Method, Request as Wire, Saving};

pub(super) const FUNCTIONS: &[Row] = &[("request", request)];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Request {
    #[serde(default)]
    method: Option<String>,
    url: String,
    #[serde(default)]
    headers: Map<String, Value>,
    /// The body as text.
    #[serde(default)]
    body: Option<String>,
    /// The body as JSON, with its media type.
    #[serde(default)]
    json: Option<Value>,
    #[serde(default)]
    timeout_ms: Option<u32>,
    /// Where the body goes, if it is not to come back.
    #[serde(default)]
    save: Option<Save>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Save {
    to: String,
    #[serde(default)]
    base64_field: Option<String>,
}

fn request(store: Context<'_>, input: Value) -> wasmtime::Result<Outcome> {
    let read = read(input).and_then(|mut request: Request| {
        let saving = request.save.take();
        Ok((wire(request)?, saving))
    });
    let (request, saving) = match read {
        Ok(read) => read,
        Err(error) => return Ok(Err(error)),
    };
    let Some(Save { to, base64_field }) = saving else {
        return Ok(exchange(store, request)?
            .map(|answer| answered(answer.into_inner()))
            .map_err(|refusal| refused(&refusal)));
    };
    let saved = keep(store, request, &Saving { to, base64_field })?;
    Ok(saved
        .map(|saved| match saved.file {
            None => answered(saved.answer),
            Some(file) => {
                let (status, headers) = (saved.answer.status, fields(saved.answer.headers));
                json!({ "status": status, "headers": headers, "file": sandbox::described(&file) })
            }
        })
        .map_err(|unsaved| match unsaved {
            Unsaved::Request(refusal) => refused(&refusal),
            Unsaved::File(refusal) => sandbox::refused(refusal),
        }))
}

/// The words are those that any guest could be told.
fn refused(refusal: &Refusal) -> Error {
    Error::new(refusal.kind(), refusal.to_string())
}

fn wire(request: Request) -> Result<Wire, Error> {
    let invalid = |what: String| Error::new(ErrorKind::InvalidInput, what);
    let method = match request.method.as_deref().unwrap_or("GET").to_ascii_uppercase().as_str() {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "PATCH" => Method::Patch,
        "DELETE" => Method::Delete,
        other => return Err(invalid(format!("`{other}` is no method that is sent"))),
    };
    let mut headers = Vec::new();
    for (name, value) in request.headers {
        let Value::String(value) = value else { return Err(invalid(format!("the header `{name}` is no text"))) };
        headers.push(Header { name, value: value.into_bytes() });
    }
    let body = match (request.body, request.json) {
        (Some(_), Some(_)) => return Err(invalid("a request has a `body` or `json`, not both".to_owned())),
        (Some(text), None) => Some(text.into_bytes()),
        (None, Some(value)) => {
            if !headers.iter().any(|header| header.name.eq_ignore_ascii_case("content-type")) {
                headers.push(Header { name: "content-type".to_owned(), value: b"application/json".to_vec() });
            }
            Some(value.to_string().into_bytes())
        }
        (None, None) => None,
    };
    Ok(Wire { method, url: request.url, headers, body, timeout_ms: request.timeout_ms })
}

/// The body as text where it is text, else in base64.
fn answered(answer: Answer) -> Value {
    let (status, headers) = (answer.status, fields(answer.headers));
    match String::from_utf8(answer.body) {
        Ok(body) => json!({ "status": status, "headers": headers, "body": body }),
        Err(bytes) => {
            json!({ "status": status, "headers": headers, "bodyBase64": STANDARD.encode(bytes.as_bytes()) })
        }
    }
}

/// Header fields by their names in lower case.
fn fields(fields: Vec<(String, Vec<u8>)>) -> Map<String, Value> {
    let mut headers: Map<String, Value> = Map::new();
    for (name, value) in fields {
        let value = String::from_utf8_lossy(&value).into_owned();
        let name = name.to_ascii_lowercase();
        let whole = match headers.get(&name).and_then(Value::as_str) {
            Some(known) => format!("{known}, {value}"),
            None => value,
        };
        headers.insert(name, Value::String(whole));
    }
    headers
}
