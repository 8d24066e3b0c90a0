//! How a connection is made: placeholders are filled, the program is started or the address is asked, and both ends
//! agree on an era.
//!
//! Decides how long that may take. Whether to connect at all, and again, is decided in `pool.rs`.

use std::collections::BTreeMap;
use std::error::Error as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use rmcp::model::ProtocolVersion;
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt as _, RoleClient, RunningService,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;

use super::connection::{Connection, Listener, Lost};
use super::process::Process;
use super::web::Web;
use super::{Definitions, Reach};
use crate::config::UpstreamConfig;
use crate::egress::Own;
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::visible;
use crate::secrets::{Filled, Redactor, Vault};

/// Bytes of one message of a program: what the largest answer has, in base64 and more than twice.
const LINE_BYTES: usize = 16 * 1024 * 1024;
/// Characters of a library's words that go to the log.
const DETAIL: usize = 1_000;

/// Makes connections for one home.
pub(crate) struct Connector {
    vault: Arc<Vault>,
    own: Arc<Own>,
    home: PathBuf,
    settings: BTreeMap<String, UpstreamConfig>,
}

impl Connector {
    pub(crate) fn new(
        vault: Arc<Vault>,
        own: Arc<Own>,
        home: PathBuf,
        settings: BTreeMap<String, UpstreamConfig>,
    ) -> Self {
        Self { vault, own, home, settings }
    }

    /// What the operator set for this server.
    pub(super) fn settings(&self, name: &str) -> UpstreamConfig {
        self.settings.get(name).cloned().unwrap_or_default()
    }

    /// The values that the server gets now.
    pub(super) fn fill(&self, reach: &Reach) -> Result<Filled> {
        let texts: Vec<&str> = reach.values().iter().map(|(_, value)| value.as_str()).collect();
        self.vault.fill(&texts)
    }

    /// Connects once, looks at the tools, and ends the connection: for people who decide about a server.
    pub(crate) async fn look(&self, name: &str, reach: &Reach) -> Result<Definitions> {
        let limit = Duration::from_millis(self.settings(name).connect_ms);
        let filled = self.fill(reach)?;
        let connection = self.connect(name, reach, filled).await?;
        let listed = tokio::time::timeout(limit, connection.definitions()).await;
        connection.close().await;
        match listed {
            Ok(Ok(definitions)) => Ok(Arc::unwrap_or_clone(definitions)),
            Ok(Err(Lost::Gone(error) | Lost::Said(error))) => Err(error),
            Err(_) => Err(too_late(name, limit)),
        }
    }

    /// Connects, within the operator's limit.
    pub(super) async fn connect(&self, name: &str, reach: &Reach, filled: Filled) -> Result<Connection> {
        let limit = Duration::from_millis(self.settings(name).connect_ms);
        match tokio::time::timeout(limit, self.try_connect(name, reach, filled)).await {
            Ok(connected) => connected,
            Err(_) => Err(too_late(name, limit)),
        }
    }

    async fn try_connect(&self, name: &str, reach: &Reach, filled: Filled) -> Result<Connection> {
        let pairs = reach.values().iter().zip(&filled.texts);
        match reach {
            Reach::Command { program, arguments, .. } => {
                let redactor = Arc::clone(&filled.redactor);
                let environment = pairs.map(|((key, _), value)| (key.clone(), value.to_string()));
                let started = Process::start(name, (program, arguments), environment, &self.home, redactor);
                let (process, (stdout, stdin)) = started.map_err(|error| {
                    Error::new(ErrorKind::McpUnreachable, format!("the MCP server `{name}` cannot be started"))
                        .detail(format!("`{program}`: {error}"))
                        .hint(format!("look whether `{program}` is there: remit mcp show {name}"))
                })?;
                let transport =
                    AsyncRwTransport::<RoleClient, _, _>::new(stdout, stdin).with_max_line_length(LINE_BYTES);
                let (listener, changes) = Listener::new();
                let service = listener.serve_with_lifecycle(transport, both_eras()).await;
                let service = service.map_err(|error| refused(name, &error, &filled.redactor))?;
                Ok(Connection::new(service, Some(process), filled, changes))
            }
            Reach::Url { url, .. } => {
                let headers = pairs.map(|((key, _), value)| header(key, value)).collect::<Result<_>>()?;
                let limit = Duration::from_millis(self.settings(name).call_ms);
                let web = Web::new(Arc::clone(&self.own), name, headers, limit);
                let (service, changes) = self.over_web(name, url, web, &filled.redactor).await?;
                Ok(Connection::new(service, None, filled, changes))
            }
        }
    }

    async fn over_web(
        &self,
        name: &str,
        url: &str,
        web: Web,
        redactor: &Redactor,
    ) -> Result<(RunningService<RoleClient, Listener>, Arc<std::sync::atomic::AtomicU64>)> {
        let config = StreamableHttpClientTransportConfig::with_uri(url);
        let transport = StreamableHttpClientTransport::with_client(web.clone(), config);
        let (listener, changes) = Listener::new();
        let service = listener.serve_with_lifecycle(transport, both_eras()).await;
        let service = service.map_err(|error| {
            let unreached = web.unreached();
            let hint = unreached.as_ref().and_then(|why| why.hint.clone());
            let error = match unreached {
                Some(why) => {
                    Error::new(ErrorKind::McpUnreachable, format!("the MCP server `{name}` cannot be reached"))
                        .detail(why)
                }
                None => refused(name, &error, redactor),
            };
            Error { hint: hint.or(error.hint.clone()), ..error }
        })?;
        Ok((service, changes))
    }
}

/// The newer era first; a server that does not know it is greeted as of old.
fn both_eras() -> ClientLifecycleMode {
    ClientLifecycleMode::Auto { preferred_versions: vec![ProtocolVersion::LATEST], legacy_version: None }
}

fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue)> {
    let invalid =
        || Error::new(ErrorKind::SecretInvalid, format!("the value of `{name}` cannot be a header field's"));
    let mut filled = HeaderValue::from_str(value).map_err(|_| invalid())?;
    filled.set_sensitive(true);
    Ok((HeaderName::from_bytes(name.as_bytes()).map_err(|_| invalid())?, filled))
}

fn too_late(name: &str, limit: Duration) -> Error {
    let limit = limit.as_millis();
    Error::new(ErrorKind::McpUnreachable, format!("the MCP server `{name}` did not answer within {limit} ms"))
        .hint(format!("if it needs longer to start, raise `connect-ms` in `[upstream.{name}]` of `remit.toml`"))
}

fn refused(name: &str, error: &ClientInitializeError, redactor: &Redactor) -> Error {
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        words.push_str(": ");
        words.push_str(&cause.to_string());
        source = cause.source();
    }
    let detail = visible(&redactor.redact_text(&words), DETAIL);
    Error::new(ErrorKind::McpUnreachable, format!("the MCP server `{name}` does not speak MCP, or ended"))
        .detail(detail)
        .hint("with `--verbose` its own words are shown")
}
