//! Who is answered over HTTP, and what becomes of a download from a server that breaks off or lies.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};

use axum::extract::Request;
use axum::response::{IntoResponse as _, Response};
use http::header::{CONTENT_RANGE, RANGE};
use http::StatusCode;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::{World, client};
use crate::component::MAX_COMPONENT_BYTES;
use crate::error::ErrorKind;
use crate::mcp::{Answers, Auth, Token, serve_answers};
use crate::registry::Digest;

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// The status of a request that was written by hand.
#[expect(clippy::disallowed_methods, reason = "this test is the client that connects")]
async fn status(address: SocketAddr, request: &str, fields: &str) -> String {
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let text = format!("{request} HTTP/1.1\r\n{fields}Connection: close\r\n\r\n");
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    String::from_utf8_lossy(&answer).split(' ').nth(1).unwrap_or_default().to_owned()
}

#[tokio::test]
async fn no_page_of_a_site_and_nobody_without_the_token_is_answered() {
    let world = World::new();
    let bytes = world.publish("1.0.0");
    let open = world.served(Auth::LoopbackWithoutToken).await;
    let list = "GET /v1/releases";
    assert_eq!(status(open, list, "Host: localhost:1\r\n").await, "200");
    for fields in
        ["Host: evil.example\r\n", "Host: localhost\r\nOrigin: http://localhost\r\n", "Host: a@localhost\r\n"]
    {
        assert_eq!(status(open, list, fields).await, "403", "{fields}");
    }
    for path in ["/", "/v1", "/v1/releases/acme", "/v1/releases/../../x/1.0.0", "/v1/components/../registry.toml"] {
        assert_ne!(status(open, &format!("GET {path}"), "Host: localhost\r\n").await, "200", "{path}");
    }
    assert_eq!(status(open, "PUT /v1/releases/acme/weather/1.0.1", "Host: localhost\r\nContent-Length: 0\r\n").await, "400");

    let guarded = world.served(Auth::Bearer(Token::new(TOKEN).unwrap())).await;
    assert_eq!(status(guarded, list, "Host: registry.example\r\n").await, "401");
    let without = world.client(guarded, None);
    assert_eq!(without.list().await.unwrap_err().kind, ErrorKind::Unauthorized);
    assert_eq!(without.bytes(&Digest::of(&bytes), &mut |_, _| {}).await.unwrap_err().kind, ErrorKind::Unauthorized);
    let wrong = world.client(guarded, Some("0123456789abcdef0123456789abcdeF"));
    assert_eq!(wrong.list().await.unwrap_err().kind, ErrorKind::Unauthorized);
    assert_eq!(world.client(guarded, Some(TOKEN)).list().await.unwrap().len(), 1);
}

/// A server of one component that serves it as it likes.
#[derive(Clone)]
struct Hostile {
    bytes: Arc<Vec<u8>>,
    /// After so many pieces it breaks.
    pieces: Arc<Mutex<usize>>,
    /// Of how many bytes it says that it has.
    all: u64,
    /// Where each piece began that it was asked for.
    asked: Arc<Mutex<Vec<usize>>>,
}

impl Answers for Hostile {
    async fn answer(&self, _client: IpAddr, request: Request) -> Response {
        let field = request.headers()[RANGE].to_str().unwrap();
        let first: usize = field.trim_start_matches("bytes=").split('-').next().unwrap().parse().unwrap();
        self.asked.lock().unwrap().push(first);
        {
            let mut pieces = self.pieces.lock().unwrap();
            if *pieces == 0 {
                return StatusCode::BAD_GATEWAY.into_response();
            }
            *pieces -= 1;
        }
        let last = (first + 1024 * 1024).min(self.bytes.len());
        let range = format!("bytes {first}-{}/{}", last - 1, self.all);
        let part = self.bytes[first..last].to_vec();
        (StatusCode::PARTIAL_CONTENT, [(CONTENT_RANGE, range)], part).into_response()
    }
}

impl Hostile {
    fn new(bytes: Vec<u8>) -> Self {
        let all = bytes.len() as u64;
        Self { bytes: Arc::new(bytes), pieces: Arc::new(Mutex::new(usize::MAX)), all, asked: Arc::default() }
    }

    async fn served(&self) -> SocketAddr {
        let (ready, listening) = oneshot::channel();
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        tokio::spawn(serve_answers(address, self.clone(), ready, CancellationToken::new()));
        listening.await.unwrap()
    }
}

fn three_pieces() -> Vec<u8> {
    (0..2_500_000_u32).map(|at| (at % 251) as u8).collect()
}

#[tokio::test]
async fn c_05_a_download_that_broke_off_goes_on_where_it_was() {
    let home = tempfile::tempdir().unwrap();
    let bytes = three_pieces();
    let (server, digest) = (Hostile::new(bytes.clone()), Digest::of(&bytes));
    let registry = client(server.served().await, None, home.path());
    *server.pieces.lock().unwrap() = 1;
    let error = registry.bytes(&digest, &mut |_, _| {}).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::RegistryUnreached);
    assert!(!home.path().join("components").exists(), "nothing that an installed component would be read from");

    *server.pieces.lock().unwrap() = usize::MAX;
    server.asked.lock().unwrap().clear();
    let mut told = Vec::new();
    let came = registry.bytes(&digest, &mut |done, all| told.push((done, all))).await.unwrap();
    assert!(came == bytes);
    assert_eq!(*server.asked.lock().unwrap(), [1024 * 1024, 2 * 1024 * 1024], "the first piece was not fetched again");
    assert_eq!(told, [(2 * 1024 * 1024, 2_500_000), (2_500_000, 2_500_000)]);
    assert_eq!(std::fs::read_dir(home.path().join("downloads")).unwrap().count(), 0);
}

#[tokio::test]
async fn c_04_other_bytes_are_refused_and_not_kept() {
    let home = tempfile::tempdir().unwrap();
    let bytes = three_pieces();
    let digest = Digest::of(&bytes);
    let mut flipped = bytes.clone();
    flipped[2_000_000] ^= 1;
    let registry = client(Hostile::new(flipped).served().await, None, home.path());
    let error = registry.bytes(&digest, &mut |_, _| {}).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::DigestMismatch);
    assert_eq!(std::fs::read_dir(home.path().join("downloads")).unwrap().count(), 0);

    // What lies there from before is wrong: it is fetched again from the beginning.
    let path = home.path().join("downloads").join(format!("{}.part", digest.hex()));
    std::fs::write(&path, vec![7; 1024 * 1024]).unwrap();
    let honest = client(Hostile::new(bytes.clone()).served().await, None, home.path());
    assert!(honest.bytes(&digest, &mut |_, _| {}).await.unwrap() == bytes);
}

#[tokio::test]
async fn c_31_more_bytes_than_a_component_may_have_are_not_read() {
    let home = tempfile::tempdir().unwrap();
    let server = Hostile { all: MAX_COMPONENT_BYTES + 1, ..Hostile::new(three_pieces()) };
    let registry = client(server.served().await, None, home.path());
    let error = registry.bytes(&Digest::of(b"any"), &mut |_, _| {}).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::ComponentTooLarge);
    assert_eq!(server.asked.lock().unwrap().len(), 1);
}
