//! What clients are told about this door: which address tokens are for, which issuers make them, which scopes there
//! are (RFC 9728), and what was missing in a request (RFC 6750).

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use serde_json::json;

use super::Refusal;
use crate::config::ServeConfig;
use crate::error::ErrorKind;

/// Where metadata is; the path of an endpoint follows.
const METADATA: &str = "/.well-known/oauth-protected-resource";

/// The joint endpoint.
const JOINT: &str = "/mcp";

/// When who was told that keys cannot be had should try again: so often the issuer is asked.
const RETRY_SECONDS: &str = "60";

/// What this door is to a client that wants a token for it.
#[derive(Debug)]
pub(in super::super) struct Resource {
    url: String,
    issuers: Vec<String>,
    required_scope: Option<String>,
    scopes: Vec<String>,
}

impl Resource {
    /// The door at `url`.
    pub(super) fn new(url: &str, config: &ServeConfig) -> Self {
        let mapped = config.issuer.iter().flat_map(|issuer| issuer.permissions.keys());
        let mut scopes: Vec<String> = mapped.chain(&config.required_scope).cloned().collect();
        scopes.sort();
        scopes.dedup();
        Self {
            url: url.to_owned(),
            issuers: config.issuer.iter().map(|issuer| issuer.issuer.clone()).collect(),
            required_scope: config.required_scope.clone(),
            scopes,
        }
    }

    /// The scope without which no token opens.
    pub(super) fn required_scope(&self) -> Option<&str> {
        self.required_scope.as_deref()
    }

    /// What a token for the endpoint at `path` may be made out to: that endpoint, or the whole door. A client that
    /// writes the door's address as a URL gives it a path.
    pub(super) fn audiences(&self, path: &str) -> [String; 3] {
        [format!("{}{path}", self.url), self.url.clone(), format!("{}/", self.url)]
    }

    /// The metadata of the endpoint at `path`, or with an empty path of the door. `None` where no endpoint can be.
    fn metadata(&self, path: &str) -> Option<String> {
        if !path.is_empty() && !is_endpoint(path) {
            return None;
        }
        let document = json!({
            "resource": format!("{}{path}", self.url),
            "authorization_servers": self.issuers,
            "scopes_supported": self.scopes,
            "bearer_methods_supported": ["header"],
            "resource_name": "Remit",
        });
        Some(document.to_string())
    }

    /// `WWW-Authenticate` for a request to `path`, with the error when a token was shown.
    fn challenge(&self, path: &str, error: Option<&str>) -> HeaderValue {
        let path = if is_endpoint(path) { path } else { "" };
        let mut challenge = "Bearer realm=\"remit\"".to_owned();
        if let Some(error) = error {
            challenge.push_str(&format!(", error=\"{error}\""));
        }
        let scopes = self.required_scope.as_ref().map_or(&self.scopes[..], std::slice::from_ref);
        if !scopes.is_empty() {
            challenge.push_str(&format!(", scope=\"{}\"", scopes.join(" ")));
        }
        challenge.push_str(&format!(", resource_metadata=\"{}{METADATA}{path}\"", self.url));
        // All parts were checked when the settings were read.
        HeaderValue::from_str(&challenge).unwrap_or_else(|_| HeaderValue::from_static("Bearer realm=\"remit\""))
    }

    /// The answer to a request to `path` that shows no token.
    pub(in super::super) fn no_token(&self, path: &str) -> Response {
        refused(StatusCode::UNAUTHORIZED, ErrorKind::Unauthorized, self.challenge(path, None))
    }

    /// The answer to a request to `path` whose token was refused.
    pub(in super::super) fn refusal(&self, path: &str, refusal: Refusal) -> Response {
        match refusal {
            Refusal::Invalid(_) => {
                let challenge = self.challenge(path, Some("invalid_token"));
                refused(StatusCode::UNAUTHORIZED, ErrorKind::Unauthorized, challenge)
            }
            Refusal::InsufficientScope => {
                let challenge = self.challenge(path, Some("insufficient_scope"));
                refused(StatusCode::FORBIDDEN, ErrorKind::NotAllowed, challenge)
            }
            Refusal::Unavailable => {
                let message = "host/busy: the authorization server cannot be asked for its keys; try again";
                (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, RETRY_SECONDS)], message).into_response()
            }
        }
    }
}

fn refused(status: StatusCode, kind: ErrorKind, challenge: HeaderValue) -> Response {
    let text = format!("{}: {}", kind.code(), kind.meaning());
    (status, [(header::WWW_AUTHENTICATE, challenge)], text).into_response()
}

/// Whether there can be an endpoint at `path`. Whether its capability is installed is not told to strangers.
fn is_endpoint(path: &str) -> bool {
    match path.strip_prefix(JOINT) {
        Some("") => true,
        Some(rest) => {
            let parts = rest.strip_prefix('/').and_then(|name| name.split_once('/'));
            parts.is_some_and(|(publisher, slug)| is_word(publisher) && is_word(slug))
        }
        None => false,
    }
}

/// What publishers and capabilities may be called, which is also fit to stand in a header field.
fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'))
}

/// The metadata, which needs no token.
pub(in super::super) fn routes(resource: Arc<Resource>) -> Router {
    Router::new()
        .route(METADATA, get(metadata))
        .route(&format!("{METADATA}/{{*path}}"), get(metadata))
        .with_state(resource)
}

async fn metadata(State(resource): State<Arc<Resource>>, request: Request) -> Response {
    let path = request.uri().path().strip_prefix(METADATA).unwrap_or_default();
    match resource.metadata(path) {
        Some(document) => ([(CONTENT_TYPE, "application/json")], document).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::Value;

    use super::*;
    use crate::config::IssuerConfig;

    fn resource(required: Option<&str>, scopes: &[&str]) -> Resource {
        let permissions: BTreeMap<_, _> = scopes.iter().map(|&scope| (scope.to_owned(), Vec::new())).collect();
        let issuer = |name: &str| IssuerConfig {
            issuer: name.to_owned(),
            permissions: permissions.clone(),
            ..IssuerConfig::default()
        };
        let config = ServeConfig {
            required_scope: required.map(str::to_owned),
            issuer: vec![issuer("https://login.example.com"), issuer("https://other.example.com/t")],
            ..ServeConfig::default()
        };
        Resource::new("https://remit.example.com", &config)
    }

    #[test]
    fn each_endpoint_has_its_own_metadata() {
        let resource = resource(Some("mcp"), &["b", "a"]);
        for path in ["", "/mcp", "/mcp/acme/weather"] {
            let document: Value = serde_json::from_str(&resource.metadata(path).unwrap()).unwrap();
            assert_eq!(
                document,
                json!({
                    "resource": format!("https://remit.example.com{path}"),
                    "authorization_servers": ["https://login.example.com", "https://other.example.com/t"],
                    "scopes_supported": ["a", "b", "mcp"],
                    "bearer_methods_supported": ["header"],
                    "resource_name": "Remit",
                })
            );
        }
        for path in
            ["/", "/mcp/", "/mcpx", "/mcp/acme", "/mcp/acme/weather/x", "/mcp/../x", "/mcp/a\"/b", "/other"]
        {
            assert_eq!(resource.metadata(path), None, "{path}");
        }
    }

    #[test]
    fn challenges_say_where_to_read_more_and_what_to_ask_for() {
        let metadata = "resource_metadata=\"https://remit.example.com/.well-known/oauth-protected-resource";
        let cases = [
            (resource(None, &[]), "/mcp", None, format!("{metadata}/mcp\"")),
            (resource(None, &["b", "a"]), "/mcp", None, format!("scope=\"a b\", {metadata}/mcp\"")),
            (
                resource(Some("mcp"), &["a"]),
                "/mcp/acme/weather",
                Some("insufficient_scope"),
                format!("error=\"insufficient_scope\", scope=\"mcp\", {metadata}/mcp/acme/weather\""),
            ),
            (
                resource(None, &[]),
                "/mcp/\", x=\"",
                Some("invalid_token"),
                format!("error=\"invalid_token\", {metadata}\""),
            ),
        ];
        for (resource, path, error, expected) in cases {
            let challenge = resource.challenge(path, error);
            assert_eq!(challenge.to_str().unwrap(), format!("Bearer realm=\"remit\", {expected}"));
        }
    }

    #[test]
    fn a_token_is_for_its_endpoint_or_for_the_door() {
        let door = "https://remit.example.com";
        assert_eq!(
            resource(None, &[]).audiences("/mcp/acme/weather"),
            [format!("{door}/mcp/acme/weather"), door.to_owned(), format!("{door}/")]
        );
    }
}
