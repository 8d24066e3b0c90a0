//! The world as the tests script it: names, addresses, and a TLS server that answers with raw bytes.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls_pki_types::PrivateKeyDer;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_rustls::TlsAcceptor;

use super::super::{BoxFuture, Dialer, Resolver, Socket, Stream};

type Authority = CertifiedIssuer<'static, KeyPair>;

static AUTHORITY: LazyLock<Authority> = LazyLock::new(|| {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
});

/// The authority that signs every server of the tests.
pub(in crate::egress) fn authority() -> &'static Authority {
    &AUTHORITY
}

/// A resolver that follows a script and counts.
#[derive(Clone)]
pub(super) struct FakeResolver {
    names: BTreeMap<String, Vec<IpAddr>>,
    /// Names whose look-up never ends.
    pub(super) hangs: bool,
    calls: Arc<Mutex<Vec<String>>>,
}

impl FakeResolver {
    pub(super) fn new(names: &[(&str, &[&str])]) -> Self {
        let addresses = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
        let names = names.iter().map(|(name, texts)| ((*name).to_owned(), addresses(texts))).collect();
        Self { names, hangs: false, calls: Arc::default() }
    }

    pub(super) fn calls(&self) -> Vec<String> {
        self.calls.lock().unwrap().clone()
    }
}

impl Resolver for FakeResolver {
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        self.calls.lock().unwrap().push(name.to_owned());
        Box::pin(async move {
            if self.hangs {
                std::future::pending::<()>().await;
            }
            self.names.get(name).cloned().ok_or_else(|| io::Error::other("no such name at ns1.corp.example"))
        })
    }
}

/// What one connection does.
#[derive(Clone)]
pub(super) enum Reply {
    /// Reads a request, answers with these bytes, and closes.
    Bytes(Vec<u8>),
    /// Reads a request, answers with the first bytes, and then with the second once a second without end.
    Drip(Vec<u8>, Vec<u8>),
    /// Reads a request, answers with the first bytes, and then floods with zeroes.
    Flood(Vec<u8>),
    /// Shows a certificate for this name, or an expired one.
    Certificate { name: &'static str, expired: bool },
    /// Speaks no TLS.
    Garbage,
    /// Refuses the connection.
    Refused,
    /// Swallows packets.
    Silent,
    /// Connects to somewhere else than asked.
    Elsewhere(SocketAddr),
}

impl Reply {
    pub(super) fn text(head_and_body: &str) -> Self {
        Self::Bytes(head_and_body.as_bytes().to_vec())
    }

    /// 200 with this body.
    pub(super) fn ok(body: &str) -> Self {
        Self::text(&format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len()))
    }

    /// A redirect.
    pub(super) fn redirect(status: u16, location: &str) -> Self {
        Self::text(&format!("HTTP/1.1 {status} Moved\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n"))
    }
}

/// A dialer that follows a script, counts, and keeps what its servers read.
#[derive(Clone, Default)]
pub(super) struct FakeDialer {
    replies: Arc<Mutex<VecDeque<Reply>>>,
    /// The address at this end of every connection.
    pub(super) local: Option<SocketAddr>,
    calls: Arc<Mutex<Vec<SocketAddr>>>,
    requests: Arc<Mutex<Vec<String>>>,
}

impl FakeDialer {
    pub(super) fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self { replies: Arc::new(Mutex::new(replies.into_iter().collect())), ..Self::default() }
    }

    pub(super) fn calls(&self) -> Vec<SocketAddr> {
        self.calls.lock().unwrap().clone()
    }

    pub(super) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

impl Dialer for FakeDialer {
    fn connect(&self, address: SocketAddr) -> BoxFuture<'_, io::Result<Socket>> {
        self.calls.lock().unwrap().push(address);
        let reply = self.replies.lock().unwrap().pop_front().expect("one reply for each connection");
        Box::pin(async move {
            let mut peer = address;
            match &reply {
                Reply::Refused => return Err(io::Error::other("refused by 10.9.8.7")),
                Reply::Silent => std::future::pending().await,
                Reply::Elsewhere(other) => peer = *other,
                _ => {}
            }
            // Small, so that a flood is held back by a reader that stops.
            let (near, far) = tokio::io::duplex(16 * 1024);
            tokio::spawn(serve(far, reply, Arc::clone(&self.requests)));
            let local = self.local.unwrap_or_else(|| "10.0.0.1:50000".parse().unwrap());
            Ok(Socket { stream: Box::new(near) as Box<dyn Stream>, peer, local })
        })
    }
}

async fn serve(
    mut far: tokio::io::DuplexStream,
    reply: Reply,
    requests: Arc<Mutex<Vec<String>>>,
) -> io::Result<()> {
    if matches!(reply, Reply::Garbage) {
        far.write_all(b"220 mail.example.com ESMTP\r\n").await?;
        return far.shutdown().await;
    }
    let (name, expired) = match reply {
        Reply::Certificate { name, expired } => (Some(name), expired),
        _ => (None, false),
    };
    let mut stream = TlsAcceptor::from(server_config(name, expired)).accept(far).await?;
    let request = read_request(&mut stream).await?;
    requests.lock().unwrap().push(request);
    match reply {
        Reply::Bytes(bytes) => stream.write_all(&bytes).await?,
        Reply::Drip(first, then) => {
            stream.write_all(&first).await?;
            loop {
                stream.write_all(&then).await?;
                stream.flush().await?;
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
        Reply::Flood(first) => {
            stream.write_all(&first).await?;
            loop {
                stream.write_all(&[0; 8192]).await?;
            }
        }
        _ => stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await?,
    }
    stream.shutdown().await
}

fn server_config(name: Option<&str>, expired: bool) -> Arc<ServerConfig> {
    let names = name.map_or(vec!["api.example.com", "b.example.com"], |name| vec![name]);
    let mut params = CertificateParams::new(names.into_iter().map(str::to_owned).collect::<Vec<_>>()).unwrap();
    if expired {
        params.not_after = rcgen::date_time_ymd(2001, 1, 1);
    }
    let key = KeyPair::generate().unwrap();
    let certificate = params.signed_by(&key, authority()).unwrap();
    let mut config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], PrivateKeyDer::try_from(key.serialize_der()).unwrap())
        .unwrap();
    // A server that would rather speak HTTP/2 and still has to speak HTTP/1.1.
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Arc::new(config)
}

/// A head, and as much of a body as it declares.
async fn read_request(stream: &mut (impl tokio::io::AsyncRead + Unpin)) -> io::Result<String> {
    let mut request = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&request).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let length: usize = length.map_or(0, |length| length.parse().unwrap());
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
