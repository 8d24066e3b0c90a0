//! The way to the operator's collector of telemetry: of this machine in plain HTTP, or elsewhere as the host's own
//! requests go.
//!
//! What is sent is decided in `telemetry/`. A collector on another machine is judged as every address is: `https:`,
//! a name, and the operator's exceptions in `[telemetry.http]`. One message is one connection; only the status of
//! its answer is read.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HOST, USER_AGENT};
use http::{HeaderValue, Request, StatusCode};
use http_body_util::Full;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::time::timeout;
use url::{Host, Url};

use super::exchange::{AGENT, beside};
use super::{Dialer, Outside, Own};
use crate::error::{Error, ErrorKind, Result};

/// How long one message may take. It delays nothing but the next one.
const TIME: Duration = Duration::from_secs(5);

/// What messages are.
const PROTOBUF: HeaderValue = HeaderValue::from_static("application/x-protobuf");

/// A collector that messages are sent to.
pub struct Collector {
    base: String,
    way: Way,
}

enum Way {
    Here { address: SocketAddr, host: String, dialer: Arc<dyn Dialer> },
    There(Box<Own>),
}

/// Why a message was not taken.
#[derive(Debug, thiserror::Error)]
pub enum Unsent {
    /// Nobody answered.
    #[error("no answer: {0}")]
    Unreached(String),
    /// The answer was no.
    #[error("it answers with status {0}")]
    Refused(u16),
}

/// Where a collector or a registry is.
pub(super) enum Place {
    Here(SocketAddr),
    There,
}

/// Whether messages may be sent to this URL.
#[must_use]
pub fn is_collector(url: &str) -> bool {
    read(url).is_some()
}

impl Collector {
    /// The collector at `url`.
    pub fn configured(url: &str, own: Own, outside: &Outside) -> Result<Self> {
        let (url, place) = read(url).ok_or_else(|| {
            Error::new(ErrorKind::Config, format!("`telemetry.otlp`: `{url}` is no place for a collector"))
        })?;
        let way = match place {
            Place::There => Way::There(Box::new(own)),
            Place::Here(address) => {
                Way::Here { address, host: url.authority().to_owned(), dialer: outside.dialer.clone() }
            }
        };
        Ok(Self { base: url.as_str().trim_end_matches('/').to_owned(), way })
    }

    /// Sends one message to `path` below the collector's URL.
    pub async fn send(&self, path: &str, message: Vec<u8>) -> Result<(), Unsent> {
        let status = timeout(TIME, self.status(path, message))
            .await
            .map_err(|_| Unsent::Unreached("it took too long".to_owned()))??;
        if status.is_success() { Ok(()) } else { Err(Unsent::Refused(status.as_u16())) }
    }

    async fn status(&self, path: &str, message: Vec<u8>) -> Result<StatusCode, Unsent> {
        let url = format!("{}{path}", self.base);
        let request = |uri: &str| Request::post(uri).header(CONTENT_TYPE, PROTOBUF);
        let unreached = |why: &dyn std::fmt::Display| Unsent::Unreached(why.to_string());
        match &self.way {
            Way::There(own) => {
                let request = request(&url).body(message).map_err(|why| unreached(&why))?;
                let answer = own.export(&url, request).await.map_err(|why| unreached(&why))?;
                Ok(answer.status())
            }
            Way::Here { address, host, dialer } => {
                let path = Url::parse(&url).map_err(|why| unreached(&why))?.path().to_owned();
                let request = request(&path)
                    .header(HOST, host)
                    .header(USER_AGENT, AGENT)
                    // A message without content has a length, too.
                    .header(CONTENT_LENGTH, message.len())
                    .body(Full::new(Bytes::from(message)))
                    .map_err(|why| unreached(&why))?;
                let socket = dialer.connect(*address).await.map_err(|why| unreached(&why.kind()))?;
                let connected = http1::handshake(TokioIo::new(socket.stream)).await;
                let (mut sender, connection) = connected.map_err(|_| unreached(&"it speaks no HTTP"))?;
                let answer = beside(connection, sender.send_request(request)).await;
                Ok(answer.map_err(|_| unreached(&"it speaks no HTTP"))?.status())
            }
        }
    }
}

/// Reads the URL of a collector. In plain HTTP only this machine is one: what is sent says what a home does.
pub(super) fn read(text: &str) -> Option<(Url, Place)> {
    let url = Url::parse(text).ok()?;
    let is_plain =
        url.username().is_empty() && url.password().is_none() && url.query().is_none() && url.fragment().is_none();
    if !is_plain {
        return None;
    }
    let ip = match (url.scheme(), url.host()?) {
        ("https", Host::Domain(_)) => return Some((url, Place::There)),
        ("http", Host::Domain("localhost")) => IpAddr::V4(Ipv4Addr::LOCALHOST),
        ("http", Host::Ipv4(ip)) => IpAddr::V4(ip),
        ("http", Host::Ipv6(ip)) => IpAddr::V6(ip),
        _ => return None,
    };
    let address = SocketAddr::new(ip, url.port_or_known_default()?);
    ip.is_loopback().then_some((url, Place::Here(address)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collector_is_here_or_behind_tls() {
        for url in [
            "http://127.0.0.1:4318",
            "http://localhost:4318/",
            "http://[::1]:4318/otlp",
            "https://otel.example.com",
            "https://otel.example.com:4318/otlp/",
        ] {
            assert!(is_collector(url), "{url}");
        }
        for url in [
            "",
            "127.0.0.1:4318",
            "http://otel.example.com:4318",
            "http://192.0.2.1:4318",
            "http://169.254.169.254/",
            "http://localhost.evil.example:4318",
            "https://192.0.2.1:4318",
            "https://user:password@otel.example.com",
            "https://otel.example.com?key=value",
            "grpc://127.0.0.1:4317",
            "unix:///run/otel.sock",
        ] {
            assert!(!is_collector(url), "{url}");
        }
    }
}
