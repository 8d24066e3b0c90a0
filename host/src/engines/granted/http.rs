//! `remit.http.request({ method, url, headers, body, json, timeoutMs })`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Context, Outcome, Row, read};
use crate::egress::Answer;
use crate::error::{Error, ErrorKind};
use crate::namespaces::http::exchange;
use crate::runtime::http::{Header, Method, Request as Wire};

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
}

fn request(store: Context<'_>, input: Value) -> wasmtime::Result<Outcome> {
    let request = match read(input).and_then(wire) {
        Ok(request) => request,
        Err(error) => return Ok(Err(error)),
    };
    let sent = exchange(store, request)?;
    // The words are those that any guest could be told.
    Ok(sent
        .map(|answer| answered(answer.into_inner()))
        .map_err(|refusal| Error::new(refusal.kind(), refusal.to_string())))
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

/// The body as text where it is text, else in base64; the fields by their names in lower case.
fn answered(answer: Answer) -> Value {
    let mut headers: Map<String, Value> = Map::new();
    for (name, value) in answer.headers {
        let value = String::from_utf8_lossy(&value).into_owned();
        let name = name.to_ascii_lowercase();
        let whole = match headers.get(&name).and_then(Value::as_str) {
            Some(known) => format!("{known}, {value}"),
            None => value,
        };
        headers.insert(name, Value::String(whole));
    }
    let status = answer.status;
    match String::from_utf8(answer.body) {
        Ok(body) => json!({ "status": status, "headers": headers, "body": body }),
        Err(bytes) => {
            json!({ "status": status, "headers": headers, "bodyBase64": STANDARD.encode(bytes.as_bytes()) })
        }
    }
}
