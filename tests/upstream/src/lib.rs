//! A loopback TLS server that plays the internet.
//!
//! It has a certificate authority of its own, answers for any names it is given, and remembers what it
//! was asked. Tests and the demo point the host at it with the operator's `connect` and `ca` settings,
//! the same that self-hosted APIs need. `script` is the one that misbehaves.

#![expect(clippy::expect_used, reason = "an upstream that does not start is a broken test")]

pub mod github;
pub mod issuer;
pub mod oauth;
mod raw;
pub mod script;

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::PrivatePkcs8KeyDer;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, oneshot};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// A request as it arrived.
#[derive(Clone, Debug)]
pub struct Seen {
    /// `GET` and so on.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Header fields; names are in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Seen {
    /// The first header field of this name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_str())
    }
}

/// An answer to send.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// Header fields.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// Waits so long before it answers.
    pub delay: Duration,
    /// Waits until this is open.
    pub gate: Option<Gate>,
}

/// What answers wait for, until a test opens it for good.
#[derive(Clone, Debug)]
pub struct Gate(Arc<Semaphore>);

impl Gate {
    /// A gate that is closed.
    #[must_use]
    pub fn closed() -> Self {
        Self(Arc::new(Semaphore::new(0)))
    }

    /// Lets through all that wait, and all that come.
    pub fn open(&self) {
        self.0.close();
    }

    /// Waits until it is open.
    pub async fn passed(&self) {
        // A closed semaphore is an open gate.
        let _ = self.0.acquire().await;
    }
}

impl Answer {
    /// An answer with a body of a media type.
    #[must_use]
    pub fn new(status: u16, mime_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: vec![("content-type".to_owned(), mime_type.to_owned())],
            body: body.into(),
            delay: Duration::ZERO,
            gate: None,
        }
    }

    /// A JSON answer.
    #[must_use]
    pub fn json(status: u16, body: &serde_json::Value) -> Self {
        Self::new(status, "application/json; charset=utf-8", body.to_string())
    }

    /// Lets it wait until the gate is open.
    #[must_use]
    pub fn behind(mut self, gate: &Gate) -> Self {
        self.gate = Some(gate.clone());
        self
    }

    /// Adds a header field.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// A running server. It stops when this is dropped.
pub struct Upstream {
    address: SocketAddr,
    authority_pem: String,
    seen: Log,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Upstream {
    /// Starts a server for `names` on a free loopback port.
    ///
    /// # Panics
    /// When the loopback interface or the certificates cannot be used.
    #[must_use]
    pub fn start(names: &[&str], answer: impl Fn(&Seen) -> Answer + Send + Sync + 'static) -> Self {
        let answer: Arc<Handler> = Arc::new(answer);
        Self::serving(names, move |stream, seen| Box::pin(speak(stream, answer.clone(), seen)))
    }

    /// Starts a server that does `serve` on every connection.
    fn serving(
        names: &[&str],
        serve: impl Fn(TlsStream<TcpStream>, Log) -> Conversation + Send + Sync + 'static,
    ) -> Self {
        let (acceptor, authority_pem) = acceptor(names);
        let seen = Log::default();
        let (stop, stopped) = oneshot::channel();
        let (ready, address) = std::sync::mpsc::channel();
        let log = seen.clone();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime for the upstream");
            runtime.block_on(async move {
                let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a loopback port");
                ready.send(listener.local_addr().expect("an address")).expect("the starter waits");
                tokio::select! {
                    () = accept(listener, acceptor, serve, log) => {}
                    _ = stopped => {}
                }
            });
        });
        let address = address.recv().expect("the upstream listens");
        Self { address, authority_pem, seen, stop: Some(stop), thread: Some(thread) }
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The certificate of its authority, as PEM.
    #[must_use]
    pub fn authority_pem(&self) -> &str {
        &self.authority_pem
    }

    /// What it was asked so far.
    #[must_use]
    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The lines of `remit.toml` by which `capability` reaches this server as `name`, port 443, given the
    /// file that holds [`Self::authority_pem`].
    #[must_use]
    pub fn settings(&self, capability: &str, name: &str, authority_file: &std::path::Path) -> String {
        format!(
            "[capability.\"{capability}\".http]\nca = [{:?}]\nconnect = {{ \"{name}:443\" = \"{}\" }}\n",
            authority_file.display().to_string(),
            self.address
        )
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn acceptor(names: &[&str]) -> (TlsAcceptor, String) {
    let authority_key = KeyPair::generate().expect("a key");
    let mut authority = CertificateParams::new(Vec::new()).expect("parameters");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority_certificate = authority.self_signed(&authority_key).expect("a certificate");
    let issuer = Issuer::new(authority, authority_key);
    let key = KeyPair::generate().expect("a key");
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let certificate =
        CertificateParams::new(names).expect("names").signed_by(&key, &issuer).expect("a certificate");
    let config = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("protocol versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], PrivatePkcs8KeyDer::from(key.serialize_der()).into())
        .expect("a server configuration");
    (TlsAcceptor::from(Arc::new(config)), authority_certificate.pem())
}

type Handler = dyn Fn(&Seen) -> Answer + Send + Sync;

/// What arrived so far.
type Log = Arc<Mutex<Vec<Seen>>>;

/// What is done on one connection.
type Conversation = Pin<Box<dyn Future<Output = ()> + Send>>;

async fn accept(
    listener: TcpListener,
    acceptor: TlsAcceptor,
    serve: impl Fn(TlsStream<TcpStream>, Log) -> Conversation + Send + Sync + 'static,
    seen: Log,
) {
    let serve = Arc::new(serve);
    loop {
        let Ok((stream, _peer)) = listener.accept().await else { continue };
        let (acceptor, serve, seen) = (acceptor.clone(), serve.clone(), seen.clone());
        tokio::spawn(async move {
            let _ = stream.set_nodelay(true);
            let Ok(stream) = acceptor.accept(stream).await else { return };
            serve(stream, seen).await;
        });
    }
}

/// Speaks HTTP.
async fn speak(stream: TlsStream<TcpStream>, answer: Arc<Handler>, seen: Log) {
    let service = service_fn(move |request| serve(request, answer.clone(), seen.clone()));
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn serve(
    request: http::Request<hyper::body::Incoming>,
    answer: Arc<Handler>,
    seen: Log,
) -> Result<http::Response<Full<Bytes>>, hyper::Error> {
    let (parts, body) = request.into_parts();
    let arrived = Seen {
        method: parts.method.to_string(),
        path: parts.uri.path_and_query().map_or_else(String::new, ToString::to_string),
        headers: parts
            .headers
            .iter()
            .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
            .collect(),
        body: body.collect().await?.to_bytes().to_vec(),
    };
    let answer = answer(&arrived);
    seen.lock().unwrap_or_else(PoisonError::into_inner).push(arrived);
    tokio::time::sleep(answer.delay).await;
    if let Some(gate) = &answer.gate {
        gate.passed().await;
    }
    let mut response = http::Response::builder().status(answer.status);
    for (name, value) in &answer.headers {
        response = response.header(name, value);
    }
    Ok(response.body(Full::new(Bytes::from(answer.body))).expect("tests write valid answers"))
}
