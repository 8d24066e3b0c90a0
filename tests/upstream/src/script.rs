//! A server that follows a script, over any stream: each connection does one thing, and most do what no server
//! should. It writes raw bytes, so nothing corrects it, and it notes what clients said.
//!
//! It does not connect to anything: whoever uses it brings the stream, a pipe in memory or a socket.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::server::{Acceptor, ClientHello};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::Notify;
use tokio_rustls::LazyConfigAcceptor;

/// Zeroes are written in pieces of this many bytes.
const PIECE: usize = 8 * 1024;

/// Between two drops of [`Reply::Drip`].
const DRIP: Duration = Duration::from_secs(1);

type Authority = CertifiedIssuer<'static, KeyPair>;

static AUTHORITY: LazyLock<Authority> = LazyLock::new(new_authority);
static FOREIGN_AUTHORITY: LazyLock<Authority> = LazyLock::new(new_authority);

/// The authority that signs for every scripted server of this process.
#[must_use]
pub fn authority() -> CertificateDer<'static> {
    AUTHORITY.der().clone()
}

/// The same, as PEM.
#[must_use]
pub fn authority_pem() -> String {
    AUTHORITY.pem()
}

/// The authority behind [`Certificate::Foreign`], as PEM.
#[must_use]
pub fn foreign_authority_pem() -> String {
    FOREIGN_AUTHORITY.pem()
}

/// What one connection does.
#[derive(Clone, Debug)]
pub enum Reply {
    /// Reads a request, answers with these bytes, and closes.
    Bytes(Vec<u8>),
    /// Reads a request, and answers with these bytes once it gets the word.
    Held(Arc<Notify>, Vec<u8>),
    /// Reads a request, answers with the first bytes, and then with the second once a second without end.
    Drip(Vec<u8>, Vec<u8>),
    /// Reads a request, answers with the bytes, then with so many zeroes, and closes.
    Zeroes(Vec<u8>, u64),
    /// Shows this certificate.
    Certificate(Certificate),
    /// Speaks HTTP/2 and nothing else.
    Http2,
    /// Speaks no TLS: says these bytes.
    Plain(Vec<u8>),
    /// Refuses the connection. For whoever connects: [`serve`] does nothing.
    Refused,
    /// Swallows packets. For whoever connects, too.
    Silent,
    /// The connection leads somewhere else than asked. For whoever connects, too.
    Elsewhere(SocketAddr),
}

impl Reply {
    /// These bytes, as text.
    #[must_use]
    pub fn text(head_and_body: &str) -> Self {
        Self::Bytes(head_and_body.as_bytes().to_vec())
    }

    /// 200 with this body.
    #[must_use]
    pub fn ok(body: &str) -> Self {
        Self::text(&format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len()))
    }

    /// A redirect.
    #[must_use]
    pub fn redirect(status: u16, location: &str) -> Self {
        Self::text(&format!("HTTP/1.1 {status} Moved\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n"))
    }

    /// 200 with a body that does not end.
    #[must_use]
    pub fn flood(head: Vec<u8>) -> Self {
        Self::Zeroes(head, u64::MAX)
    }

    /// A server of another protocol.
    #[must_use]
    pub fn garbage() -> Self {
        Self::Plain(b"220 mail.example.com ESMTP\r\n".to_vec())
    }
}

/// The certificate that a server shows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Certificate {
    /// For the name that the client asks for.
    Asked,
    /// For this name.
    Named(String),
    /// For the name asked, until 2001.
    Expired,
    /// For the name asked, from 2999.
    NotYetValid,
    /// For the name asked, by an authority that nobody believes.
    Foreign,
}

/// What clients said, in order. Clones are one log.
#[derive(Clone, Debug, Default)]
pub struct Log(Arc<Mutex<Heard>>);

#[derive(Debug, Default)]
struct Heard {
    hellos: Vec<Hello>,
    requests: Vec<String>,
}

/// How a client began to speak TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The name that it asked for.
    pub name: Option<String>,
    /// The protocols that it offered.
    pub protocols: Vec<String>,
}

impl Log {
    /// One for each connection that came as far as TLS.
    #[must_use]
    pub fn hellos(&self) -> Vec<Hello> {
        self.write(|heard| heard.hellos.clone())
    }

    /// The requests that were read whole.
    #[must_use]
    pub fn requests(&self) -> Vec<String> {
        self.write(|heard| heard.requests.clone())
    }

    fn write<T>(&self, write: impl FnOnce(&mut Heard) -> T) -> T {
        write(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Plays one connection to its end, or to that of its client.
///
/// # Errors
/// When the client goes away, or refuses what it is shown.
pub async fn serve(mut stream: impl AsyncRead + AsyncWrite + Unpin, reply: Reply, log: Log) -> io::Result<()> {
    let certificate = match &reply {
        Reply::Refused | Reply::Silent => return Ok(()),
        Reply::Plain(bytes) => {
            stream.write_all(bytes).await?;
            return stream.shutdown().await;
        }
        Reply::Certificate(certificate) => certificate.clone(),
        _ => Certificate::Asked,
    };
    let start = LazyConfigAcceptor::new(Acceptor::default(), stream).await?;
    let hello = read_hello(&start.client_hello());
    let config = server_config(certificate, hello.name.clone(), matches!(reply, Reply::Http2));
    log.write(|heard| heard.hellos.push(hello));
    let mut stream = start.into_stream(config).await?;
    let request = read_request(&mut stream).await?;
    log.write(|heard| heard.requests.push(request));
    answer(&mut stream, reply).await?;
    stream.shutdown().await
}

async fn answer(stream: &mut (impl AsyncWrite + Unpin), reply: Reply) -> io::Result<()> {
    match reply {
        Reply::Bytes(bytes) => stream.write_all(&bytes).await,
        Reply::Held(word, bytes) => {
            word.notified().await;
            stream.write_all(&bytes).await
        }
        Reply::Drip(first, then) => {
            stream.write_all(&first).await?;
            loop {
                stream.write_all(&then).await?;
                stream.flush().await?;
                tokio::time::sleep(DRIP).await;
            }
        }
        Reply::Zeroes(first, mut count) => {
            stream.write_all(&first).await?;
            while count > 0 {
                let piece = usize::try_from(count).unwrap_or(PIECE).min(PIECE);
                stream.write_all(&[0; PIECE][..piece]).await?;
                count -= piece as u64;
            }
            Ok(())
        }
        _ => stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await,
    }
}

fn read_hello(hello: &ClientHello<'_>) -> Hello {
    let protocols = hello.alpn().into_iter().flatten();
    Hello {
        name: hello.server_name().map(str::to_owned),
        protocols: protocols.map(|protocol| String::from_utf8_lossy(protocol).into_owned()).collect(),
    }
}

fn new_authority() -> Authority {
    let mut params = CertificateParams::new(Vec::new()).expect("parameters");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("an authority")
}

/// What decides how a server is set up.
type Setup = (Certificate, Option<String>, bool);

/// One for each setup: keys take long to make.
static CONFIGS: LazyLock<Mutex<HashMap<Setup, Arc<ServerConfig>>>> = LazyLock::new(Mutex::default);

fn server_config(certificate: Certificate, asked: Option<String>, http2_only: bool) -> Arc<ServerConfig> {
    let mut configs = CONFIGS.lock().unwrap_or_else(PoisonError::into_inner);
    let setup = (certificate, asked, http2_only);
    Arc::clone(configs.entry(setup.clone()).or_insert_with(|| new_config(setup)))
}

fn new_config((certificate, asked, http2_only): Setup) -> Arc<ServerConfig> {
    let name = match &certificate {
        Certificate::Named(name) => Some(name.clone()),
        _ => asked,
    };
    let mut params = CertificateParams::new(name.into_iter().collect::<Vec<_>>()).expect("a name");
    match certificate {
        Certificate::Expired => params.not_after = rcgen::date_time_ymd(2001, 1, 1),
        Certificate::NotYetValid => params.not_before = rcgen::date_time_ymd(2999, 1, 1),
        _ => {}
    }
    let authority = if certificate == Certificate::Foreign { &FOREIGN_AUTHORITY } else { &AUTHORITY };
    let key = KeyPair::generate().expect("a key");
    let shown = params.signed_by(&key, &**authority).expect("a certificate");
    let mut config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("protocol versions")
        .with_no_client_auth()
        .with_single_cert(vec![shown.der().clone()], PrivatePkcs8KeyDer::from(key.serialize_der()).into())
        .expect("a server configuration");
    // A server that would rather speak HTTP/2 and mostly still has to speak HTTP/1.1.
    config.alpn_protocols =
        if http2_only { vec![b"h2".to_vec()] } else { vec![b"h2".to_vec(), b"http/1.1".to_vec()] };
    Arc::new(config)
}

/// A head, and as much of a body as it declares.
async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<String> {
    let mut request = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&request).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let length: usize = length.map_or(0, |length| length.parse().expect("a length"));
            if body.len() >= length {
                return Ok(text);
            }
        }
        let mut chunk = [0; 4096];
        let count = stream.read(&mut chunk).await?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        request.extend_from_slice(&chunk[..count]);
    }
}
