//! The whole door on a loopback port, with a small handler behind it.

#![expect(clippy::disallowed_methods, reason = "these tests are the clients that connect")]

use std::sync::Mutex;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ListToolsResult, PaginatedRequestParams,
};
use rmcp::model::{ServerCapabilities, ServerConfig};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::super::Surface;
use super::behind::Behind;
use super::*;
use crate::policy::Identity;

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// Lists nothing, and each call waits until it is cancelled.
#[derive(Clone, Default)]
struct Waits(Arc<Mutex<Vec<oneshot::Sender<()>>>>);

impl ServerHandler for Waits {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::default())
    }

    async fn call_tool(
        &self,
        _request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let waiting = self.0.lock().unwrap().pop();
        context.ct.cancelled().await;
        if let Some(waiting) = waiting {
            let _ = waiting.send(());
        }
        Ok(CallToolResult::success(Vec::new()).into())
    }
}

impl Behind for Waits {
    type Handler = Self;

    fn at(&self, _surface: Surface) -> Self {
        self.clone()
    }

    fn is_there(&self, surface: &Surface) -> bool {
        matches!(surface, Surface::Joint)
    }
}

struct Running {
    address: SocketAddr,
    handler: Waits,
    shutdown: CancellationToken,
}

struct Answer {
    status: u16,
    head: String,
    body: String,
}

/// A door's `http`, and the principals whose stored tokens are `rmt_` and their name.
fn known(auth: Auth, stored: &Arc<Mutex<Vec<&'static str>>>) -> Known {
    let stored = Arc::clone(stored);
    let whose = move |shown: &[u8]| {
        let name = shown.strip_prefix(b"rmt_").unwrap_or_default();
        let stored = stored.lock().unwrap();
        Ok(stored.iter().find(|stored| stored.as_bytes() == name).map(|name| Identity::stored(*name)))
    };
    Known { auth, stored: Arc::new(whose), issuers: None }
}

async fn open(auth: Auth, config: ServeConfig) -> Running {
    open_for(auth, config, &Arc::default()).await
}

async fn open_for(auth: Auth, config: ServeConfig, stored: &Arc<Mutex<Vec<&'static str>>>) -> Running {
    let handler = Waits::default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let shutdown = CancellationToken::new();
    let door = Door::check(address, known(auth, stored), &config, 100).unwrap();
    let way = Arc::new(Way::new(door, handler.clone(), shutdown.clone()));
    let until = shutdown.clone();
    tokio::spawn(async move { accept(listener, way, &TaskTracker::new(), &until).await });
    Running { address, handler, shutdown }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.shutdown.cancel();
    }
}

impl Running {
    /// Sends raw bytes and reads until the server closes the connection.
    async fn send(&self, request: &str) -> Answer {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        // A server that refuses early may close before it has read everything.
        let _ = stream.write_all(request.as_bytes()).await;
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes).await;
        let text = String::from_utf8(bytes).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_default();
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        Answer { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
    }

    async fn post(&self, fields: &[&str], body: &Value) -> Answer {
        self.send(&request("POST", fields, &body.to_string())).await
    }
}

fn request(method: &str, fields: &[&str], body: &str) -> String {
    let mut head = format!("{method} /mcp HTTP/1.1\r\n");
    let defaults = [
        "Host: localhost",
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
        "Connection: close",
    ];
    let name = |field: &str| field.split_once(':').unwrap().0.to_ascii_lowercase();
    for default in defaults {
        if !fields.iter().any(|field| name(field) == name(default)) {
            head.push_str(&format!("{default}\r\n"));
        }
    }
    for field in fields {
        head.push_str(&format!("{field}\r\n"));
    }
    format!("{head}Content-Length: {}\r\n\r\n{body}", body.len())
}

fn initialize() -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" },
    } })
}

fn modern(method: &str, params: &Value) -> (Vec<String>, Value) {
    let mut params = params.clone();
    let mut fields = vec!["MCP-Protocol-Version: 2026-07-28".to_owned(), format!("Mcp-Method: {method}")];
    if let Some(name) = params.get("name").and_then(Value::as_str) {
        fields.push(format!("Mcp-Name: {name}"));
    }
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
    });
    (fields, json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }))
}

async fn post_modern(door: &Running, method: &str, params: &Value) -> Answer {
    let (fields, body) = modern(method, params);
    door.post(&fields.iter().map(String::as_str).collect::<Vec<_>>(), &body).await
}

fn session(answer: &Answer) -> String {
    let field = answer.head.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap();
    format!("Mcp-Session-Id: {field}")
}

#[tokio::test]
async fn both_eras_are_answered() {
    let door = open(Auth::LoopbackWithoutToken, ServeConfig::default()).await;
    let begun = door.post(&[], &initialize()).await;
    assert_eq!(begun.status, 200);
    assert!(begun.body.contains("\"protocolVersion\":\"2025-06-18\""), "{}", begun.body);
    assert!(begun.head.contains("x-accel-buffering: no"), "{}", begun.head);
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
    let listed = door.post(&[&session(&begun)], &list).await;
    assert_eq!(listed.status, 200);
    assert!(listed.body.contains("\"tools\":[]"), "{}", listed.body);

    let discovered = post_modern(&door, "server/discover", &json!({})).await;
    assert_eq!(discovered.status, 200);
    let listed = post_modern(&door, "tools/list", &json!({})).await;
    let result = serde_json::from_str::<Value>(&listed.body).unwrap()["result"].clone();
    assert_eq!(
        (&result["tools"], &result["ttlMs"], &result["cacheScope"]),
        (&json!([]), &json!(0), &json!("private"))
    );
}

#[tokio::test]
async fn foreign_hosts_and_origins_are_refused() {
    let config = ServeConfig {
        hosts: vec!["remit.example.com".to_owned()],
        origins: vec!["https://app.example.com".to_owned()],
        ..ServeConfig::default()
    };
    let door = open(Auth::LoopbackWithoutToken, config).await;
    let cases: [(&[&str], u16); 29] = [
        (&["Host: localhost"], 200),
        (&["Host: localhost:9999"], 200),
        (&["Host: LOCALHOST"], 200),
        (&["Host: 127.0.0.1:80"], 200),
        (&["Host: [::1]"], 200),
        (&["Host: [::1]:8080"], 200),
        (&["Host: remit.example.com"], 200),
        (&["Host: evil.example"], 403),
        (&["Host: localhost.evil.example"], 403),
        (&["Host: evil.example:80"], 403),
        (&["Host: 127.0.0.2"], 403),
        (&["Host: [::2]"], 403),
        (&["Host: 0.0.0.0"], 403),
        (&["Host: sub.remit.example.com"], 403),
        (&["Host: localhost@evil.example"], 403),
        (&["Origin: http://localhost"], 200),
        (&["Origin: http://localhost:5173"], 200),
        (&["Origin: https://127.0.0.1:1"], 200),
        (&["Origin: http://[::1]:3000"], 200),
        (&["Origin: https://app.example.com"], 200),
        (&["Origin: https://app.example.com:443"], 200),
        (&["Origin: https://app.example.com:8443"], 403),
        (&["Origin: http://app.example.com"], 403),
        (&["Origin: null"], 403),
        (&["Origin: https://evil.example"], 403),
        (&["Origin: http://localhost.evil.example"], 403),
        (&["Origin: http://localhost@evil.example"], 403),
        (&["Origin: file://"], 403),
        (&["Host: evil.example", "Origin: http://localhost"], 403),
    ];
    for (fields, expected) in cases {
        assert_eq!(door.post(fields, &initialize()).await.status, expected, "{fields:?}");
    }
}

#[tokio::test]
async fn without_the_token_nothing_is_answered() {
    let door = open(Auth::Bearer(Token::new(TOKEN).unwrap()), ServeConfig::default()).await;
    let none = door.post(&[], &initialize()).await;
    assert_eq!(none.status, 401);
    assert!(none.head.contains("\r\nwww-authenticate: bearer realm=\"remit\"\r\n"), "{}", none.head);
    let wrong = door.post(&["Authorization: Bearer wrong"], &initialize()).await;
    assert_eq!(wrong.status, 401);
    assert!(wrong.head.contains("error=\"invalid_token\""), "{}", wrong.head);
    for method in ["GET", "DELETE", "OPTIONS", "PUT"] {
        assert_eq!(door.send(&request(method, &[], "")).await.status, 401, "{method}");
    }
    let right = format!("Authorization: Bearer {TOKEN}");
    assert_eq!(door.post(&[&right], &initialize()).await.status, 200);
    let in_query =
        request("POST", &[], &initialize().to_string()).replace("/mcp", &format!("/mcp?access_token={TOKEN}"));
    assert_eq!(door.send(&in_query).await.status, 401);
}

#[tokio::test]
async fn a_session_is_of_one_principal_and_ends_for_it_with_its_token() {
    let stored = Arc::new(Mutex::new(vec!["ada", "bob"]));
    let door = open_for(Auth::Bearer(Token::new(TOKEN).unwrap()), ServeConfig::default(), &stored).await;
    let (ada, bob) = ("Authorization: Bearer rmt_ada", "Authorization: Bearer rmt_bob");
    let begun = door.post(&[ada], &initialize()).await;
    assert_eq!(begun.status, 200);
    let session = session(&begun);
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
    assert_eq!(door.post(&[ada, &session], &list).await.status, 200);

    let own = format!("Authorization: Bearer {TOKEN}");
    for other in [bob, own.as_str()] {
        assert_eq!(door.post(&[other, &session], &list).await.status, 404, "{other}");
        assert_eq!(door.send(&request("GET", &[other, &session], "")).await.status, 404, "{other}");
        assert_eq!(door.send(&request("DELETE", &[other, &session], "")).await.status, 404, "{other}");
    }
    assert_eq!(door.post(&[&session], &list).await.status, 401);
    assert_eq!(door.post(&[ada, bob, &session], &list).await.status, 401);
    assert_eq!(door.post(&[ada, &session], &list).await.status, 200, "nobody else could end it");

    // A stream of news ends with the token, too.
    let mut news = TcpStream::connect(door.address).await.unwrap();
    let open = request("GET", &[ada, &session, "Accept: text/event-stream"], "");
    news.write_all(open.as_bytes()).await.unwrap();
    let mut first = [0; 15];
    news.read_exact(&mut first).await.unwrap();
    assert_eq!(&first, b"HTTP/1.1 200 OK");
    stored.lock().unwrap().retain(|name| *name != "ada");
    let mut rest = Vec::new();
    news.read_to_end(&mut rest).await.unwrap();
    assert!(rest.ends_with(b"0\r\n\r\n"), "{}", String::from_utf8_lossy(&rest));
    assert_eq!(door.post(&[ada, &session], &list).await.status, 401);
    assert_eq!(door.send(&request("GET", &[ada, &session], "")).await.status, 401);
    assert_eq!(door.post(&[bob, &session], &list).await.status, 404);
    assert_eq!(door.post(&[bob], &initialize()).await.status, 200);
}

#[tokio::test]
async fn other_paths_are_not_there() {
    let door = open(Auth::Bearer(Token::new(TOKEN).unwrap()), ServeConfig::default()).await;
    let paths = [
        "/",
        "/mcp/",
        "/mcp/direct/",
        "/.well-known/oauth-protected-resource",
        "/.well-known/openid-configuration/mcp",
    ];
    for path in paths {
        let answer = door.send(&request("GET", &[], "").replace("/mcp", path)).await;
        assert_eq!((answer.status, answer.body.as_str()), (404, ""), "{path}");
    }
}

#[tokio::test]
async fn large_and_foreign_bodies_are_refused() {
    let door = open(Auth::LoopbackWithoutToken, ServeConfig { body_bytes: 1000, ..ServeConfig::default() }).await;
    let fits = format!("{}{}", initialize(), " ".repeat(1000 - initialize().to_string().len()));
    assert_eq!(door.send(&request("POST", &[], &fits)).await.status, 200);
    assert_eq!(door.send(&request("POST", &[], &format!("{fits} "))).await.status, 413);
    assert_eq!(door.send(&request("POST", &[], "").replace("Length: 0", "Length: 99999999999")).await.status, 413);
    let chunks = format!("{:x}\r\n{}\r\n", 600, " ".repeat(600)).repeat(2);
    let chunked = request("POST", &[], "").replace("Content-Length: 0", "Transfer-Encoding: chunked");
    assert_eq!(door.send(&format!("{chunked}{chunks}0\r\n\r\n")).await.status, 413);
    let cases = [
        ("Content-Type: text/plain", 415),
        ("Content-Type: application/x-www-form-urlencoded", 415),
        ("Content-Type: application/jsonx", 415),
        ("Content-Type: application/json; charset=utf-8", 200),
        ("Accept: */*", 406),
        ("Accept: application/json", 406),
    ];
    for (field, expected) in cases {
        assert_eq!(door.post(&[field], &initialize()).await.status, expected, "{field}");
    }
}

#[tokio::test]
async fn sessions_are_bounded_and_end() {
    let door = open(Auth::LoopbackWithoutToken, ServeConfig { sessions: 2, ..ServeConfig::default() }).await;
    let first = door.post(&[], &initialize()).await;
    let second = door.post(&[], &initialize()).await;
    assert_ne!(session(&first), session(&second));
    let full = door.post(&[], &initialize()).await;
    assert_eq!(full.status, 503);
    assert!(full.head.contains("\r\nretry-after: 30\r\n"), "{}", full.head);
    assert_eq!(post_modern(&door, "tools/list", &json!({})).await.status, 200, "modern clients need no session");

    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
    assert_eq!(door.post(&["Mcp-Session-Id: made-up"], &list).await.status, 404);
    assert_eq!(door.send(&request("GET", &["Mcp-Session-Id: made-up"], "")).await.status, 404);
    assert_eq!(door.send(&request("DELETE", &["Mcp-Session-Id: made-up"], "")).await.status, 404);
    assert_eq!(door.post(&[], &list).await.status, 400);
    assert_eq!(door.send(&request("DELETE", &[&session(&first)], "")).await.status, 202);
    assert_eq!(door.post(&[&session(&first)], &list).await.status, 404);
    assert_eq!(door.post(&[], &initialize()).await.status, 200);
}

#[tokio::test]
async fn a_session_that_stands_idle_ends() {
    let door = open(Auth::LoopbackWithoutToken, ServeConfig { sessions: 1, ..ServeConfig::default() }).await;
    let begun = session(&door.post(&[], &initialize()).await);
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
    let pass = async |time: Duration| {
        // The clock of the runtime stands still meanwhile, and no connection is open that it could end.
        tokio::time::pause();
        tokio::time::advance(time).await;
        tokio::time::resume();
    };
    pass(Duration::from_secs(29 * 60)).await;
    assert_eq!(door.post(&[&begun], &list).await.status, 200);
    pass(Duration::from_secs(29 * 60)).await;
    assert_eq!(door.post(&[&begun], &list).await.status, 200, "it did not stand idle for so long");
    pass(Duration::from_secs(31 * 60)).await;
    // The session's own task ends it, once it is its turn.
    while door.post(&[&begun], &list).await.status != 404 {
        tokio::task::yield_now().await;
    }
    assert_eq!(door.post(&[], &initialize()).await.status, 200, "and its place is free");
}

#[tokio::test]
async fn a_client_that_asks_too_often_has_to_wait() {
    let door =
        open(Auth::LoopbackWithoutToken, ServeConfig { requests_per_second: 1, ..ServeConfig::default() }).await;
    let other = request("GET", &[], "").replace("/mcp", "/other");
    let mut refused = door.send(&other).await;
    assert_eq!(refused.status, 404);
    // A slow machine earns a request now and then; in the end one comes too soon.
    while refused.status == 404 {
        refused = door.send(&other).await;
    }
    assert_eq!(refused.status, 429);
    assert!(refused.head.contains("\r\nretry-after: 1\r\n"), "{}", refused.head);
}

#[tokio::test]
async fn a_client_that_hangs_up_cancels_its_call() {
    let door = open(Auth::LoopbackWithoutToken, ServeConfig::default()).await;
    let (sender, cancelled) = oneshot::channel();
    door.handler.0.lock().unwrap().push(sender);
    let (fields, body) = modern("tools/call", &json!({ "name": "wait" }));
    let call = request("POST", &fields.iter().map(String::as_str).collect::<Vec<_>>(), &body.to_string());
    let mut stream = TcpStream::connect(door.address).await.unwrap();
    stream.write_all(call.as_bytes()).await.unwrap();
    // Hang up only once the handler has taken the call.
    while !door.handler.0.lock().unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    drop(stream);
    cancelled.await.unwrap();
}

#[tokio::test]
async fn a_closed_door_ends_connections() {
    let door = open(Auth::LoopbackWithoutToken, ServeConfig::default()).await;
    let mut idle = TcpStream::connect(door.address).await.unwrap();
    let begun = request("POST", &["Connection: keep-alive"], &initialize().to_string());
    idle.write_all(begun.as_bytes()).await.unwrap();
    let mut first = [0];
    idle.read_exact(&mut first).await.unwrap();
    door.shutdown.cancel();
    let mut rest = Vec::new();
    idle.read_to_end(&mut rest).await.unwrap();
    assert!(TcpStream::connect(door.address).await.is_err());
}

#[test]
fn wrong_settings_are_found_before_anything_listens() {
    let address: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let base = ServeConfig::default;
    let check =
        |address, config: &_| Door::check(address, known(Auth::LoopbackWithoutToken, &Arc::default()), config, 1);
    let cases = [
        ("0.0.0.0:0".parse().unwrap(), base()),
        (address, ServeConfig { requests_per_second: 0, ..base() }),
        (address, ServeConfig { body_bytes: 0, ..base() }),
        (address, ServeConfig { hosts: vec!["*".to_owned()], ..base() }),
        (address, ServeConfig { origins: vec!["null".to_owned()], ..base() }),
    ];
    for (address, config) in cases {
        let error = check(address, &config).err().unwrap();
        assert_eq!(error.kind, ErrorKind::Config, "{config:?}");
    }
    assert!(check(address, &base()).is_ok());
}
