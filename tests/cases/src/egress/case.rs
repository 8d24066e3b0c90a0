//! The form of one case, as it is written. A field that is not listed here is refused, and so is a value of
//! another type: see the top of [`super`] for what each means.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

/// One case.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Case {
    #[serde(rename = "id")]
    _id: String,
    pub(super) group: String,
    pub(super) url_or_host: String,
    pub(super) allow_list: Vec<String>,
    pub(super) resolves_to: Option<ResolvesTo>,
    pub(super) verdict: Verdict,
    pub(super) error_kind: Option<String>,
    #[serde(default)]
    pub(super) request: Request,
    /// One [`Upstream`], or a list of them, one a connection.
    pub(super) upstream: Option<Value>,
    #[serde(default)]
    pub(super) environment: Map<String, Value>,
    pub(super) steps: Option<String>,
    pub(super) assert_next_hop_headers: Option<Vec<String>>,
    pub(super) assert_guest_headers_absent: Option<Vec<String>>,

    // Notes for readers, and what other parsers make of the URL.
    #[serde(rename = "why", default)]
    _why: IgnoredAny,
    #[serde(rename = "core", default)]
    _core: IgnoredAny,
    #[serde(rename = "decision", default)]
    _decision: IgnoredAny,
    #[serde(rename = "alt_verdict", default)]
    _alt_verdict: IgnoredAny,
    #[serde(rename = "parses_as", default)]
    _parses_as: IgnoredAny,
    #[serde(rename = "http_uri", default)]
    _http_uri: IgnoredAny,
}

/// What must be decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Verdict {
    Allow,
    Deny,
}

/// What DNS answers: the same for every name, or by name.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "`resolves_to` must be a list of addresses, or one for each name")]
pub(super) enum ResolvesTo {
    Every(Vec<IpAddr>),
    ByName(BTreeMap<String, Vec<IpAddr>>),
}

/// What the guest sends.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Request {
    pub(super) method: Option<String>,
    #[serde(default)]
    pub(super) headers: Map<String, Value>,
    pub(super) body: Option<String>,
    /// A body of so many bytes.
    pub(super) body_bytes: Option<usize>,
}

/// What one connection does.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Upstream {
    pub(super) status: Option<u16>,
    pub(super) location: Option<String>,
    /// So many such redirects in a row before an answer.
    pub(super) hops: Option<usize>,
    #[serde(default)]
    pub(super) headers: Map<String, Value>,
    /// Further header fields, so many.
    pub(super) headers_count: Option<usize>,
    /// A further header field of so many bytes.
    pub(super) header_bytes: Option<usize>,
    pub(super) body: Option<String>,
    /// A body of so many bytes, without a declared length.
    pub(super) body_bytes: Option<u64>,
    /// A coded body: its size on the wire, and what it would become.
    pub(super) bomb: Option<String>,
    /// What is wrong with the bytes, in words.
    pub(super) raw: Option<String>,
    /// What is wrong with TLS, in words.
    pub(super) tls: Option<String>,
    /// What a server of HTTP/2 would do, in words.
    pub(super) h2: Option<String>,
}

/// What the connections of a case do, in order.
pub(super) fn upstreams(case: &Case) -> Result<Vec<Upstream>, String> {
    let one = |value: &Value| Upstream::deserialize(value).map_err(|error| format!("`upstream`: {error}"));
    match &case.upstream {
        None => Ok(vec![Upstream::default()]),
        Some(Value::Array(each)) => each.iter().map(one).collect(),
        Some(value) => Ok(vec![one(value)?]),
    }
}

/// Header fields of a case: a name with one value, or with several.
pub(super) fn fields(headers: &Map<String, Value>) -> Result<Vec<(String, String)>, String> {
    let mut fields = Vec::new();
    for (name, value) in headers {
        match value {
            Value::String(value) => fields.push((name.clone(), value.clone())),
            Value::Array(values) if values.iter().all(Value::is_string) => {
                fields
                    .extend(values.iter().filter_map(Value::as_str).map(|value| (name.clone(), value.to_owned())));
            }
            other => return Err(format!("the header field `{name}` has the value {other}, which is no text")),
        }
    }
    Ok(fields)
}
