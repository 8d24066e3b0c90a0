//! What the operator's tools are told of calls, and what they never are: a collector and a reader of the page get
//! everything that leaves, and it is searched.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use remit::call::CallRequest;
use remit::policy::Identity;
use remit::telemetry::{Parent, Service};
use remit_upstream::Answer;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::client::Client;
use crate::support::home::{Home, built, program, remit, request};
use crate::support::world::{HOST, SECRET, World, authorization};

/// In everything that must not be told.
const CANARY: &str = "canary";

/// The caller's span of a test.
const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";

/// How long a message may take to come: far beyond the second between two.
const PATIENCE: Duration = Duration::from_secs(30);

/// A collector of OpenTelemetry on this machine.
struct Collector {
    address: SocketAddr,
    messages: Receiver<(String, Vec<u8>)>,
}

impl Collector {
    /// Takes messages and answers with this status.
    fn answering(status: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (send, messages) = channel();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // One that is broken off is none.
                let _ = take(stream, status, &send);
            }
        });
        Self { address, messages }
    }

    fn settings(&self) -> String {
        format!("[telemetry]\notlp = \"http://{}\"\nprometheus = \"127.0.0.1:0\"\n", self.address)
    }

    /// The spans of the first calls that are told.
    fn spans(&self) -> Vec<Span> {
        loop {
            let (path, body) = self.messages.recv_timeout(PATIENCE).expect("a message");
            if path == "/v1/traces" {
                return spans(&body);
            }
        }
    }
}

/// Passes on the path and the body of one request, and then answers it with this status.
fn take(stream: TcpStream, status: u16, messages: &Sender<(String, Vec<u8>)>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let (mut path, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let line = line.trim_end().to_ascii_lowercase();
        if let Some(rest) = line.strip_prefix("post ") {
            path = rest.split(' ').next()?.to_owned();
        } else if let Some(rest) = line.strip_prefix("content-length: ") {
            length = rest.parse().ok()?;
        } else if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    // Nobody listens when the test is over.
    let _ = messages.send((path, body));
    let answer = format!("HTTP/1.1 {status} Whatever\r\ncontent-length: 0\r\n\r\n");
    reader.into_inner().write_all(answer.as_bytes()).ok()
}

fn spans(body: &[u8]) -> Vec<Span> {
    let message = ExportTraceServiceRequest::decode(body).expect("a message of spans");
    let scopes = message.resource_spans.into_iter().flat_map(|resource| resource.scope_spans);
    scopes.flat_map(|scope| scope.spans).collect()
}

/// What Prometheus reads.
fn page(address: SocketAddr) -> String {
    let mut stream = TcpStream::connect(address).expect("the page is there");
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert!(text.starts_with("HTTP/1.1 200 "), "{text}");
    text
}

fn start(home: &Home) -> Service {
    home.threads.block_on(home.app.telemetry()).expect("telemetry starts")
}

fn call(home: &Home, tool: &str, arguments: &Value) -> bool {
    let caller = Identity::operator("canary-principal");
    let call = CallRequest { caller, ..request(tool, arguments) };
    let call = CallRequest {
        client: remit::client::Client { parent: Parent::read(PARENT), ..Default::default() },
        ..call
    };
    let host = home.host();
    home.threads.block_on(host.call(call, CancellationToken::new())).is_ok()
}

/// An upstream that does not keep to itself what it got, and says what would break a page or a span.
fn hostile(seen: &remit_upstream::Seen) -> Answer {
    let body = format!("{seen:?} canary-answer {SECRET}\"}} 1\nremit_canary_total 1\n");
    Answer::new(418, "text/canary", body).header("x-canary", "canary-field")
}

#[test]
fn nothing_that_a_call_carries_is_told() {
    let collector = Collector::answering(200);
    let world = World::with_settings(&collector.settings(), hostile);
    let service = start(&world.home);
    let world = world.granted().with_secret(HOST, &[authorization()]);
    let fetch = |url: &str| {
        let headers = ["authorization: Bearer {{API_KEY}}", "x-canary: canary-header"];
        let arguments = json!({ "url": url, "method": "POST", "headers": headers, "body": "canary-body" });
        call(&world.home, "test/probe.fetch", &arguments)
    };
    assert!(fetch(&format!("https://{HOST}/canary-path?canary=query")));
    assert!(!fetch("https://canary-host.evil.example/"));
    assert!(!fetch("https://canary-label.cdn.example.com/"));
    assert!(!fetch("canary://user:canary@x"));
    assert!(!call(&world.home, "test/probe.complain", &json!({ "message": "canary-complaint" })));
    assert!(!call(&world.home, "test/probe.fetch", &json!({ "canary-argument": "canary-value" })));
    assert!(!call(&world.home, "test/probe.canary_tool", &json!({})));
    assert!(!call(&world.home, "canary/canary.canary", &json!({})));
    let page = page(service.page().expect("a page"));
    world.home.threads.block_on(service.stop());
    let mut told = page.clone();
    let mut all = Vec::new();
    while let Ok((path, body)) = collector.messages.try_recv() {
        if path == "/v1/traces" {
            all.extend(spans(&body));
        }
        // Words stand in a message as they are.
        told.push_str(&String::from_utf8_lossy(&body));
    }

    for word in [CANARY, SECRET, "API_KEY", "93.184.215.14", "evil", "text/canary"] {
        assert!(!told.to_lowercase().contains(&word.to_lowercase()), "`{word}` was told: {told}");
    }
    // The search would find what is there.
    let words = ["test/probe", "fetch", "unknown", HOST, "*.cdn.example.com", "call/invalid-input", "remit.fuel"];
    for word in words.into_iter().chain(["http/host-not-allowed", "remit_calls_total"]) {
        assert!(told.contains(word), "`{word}` is missing: {told}");
    }
    let calls = all.iter().filter(|span| span.name.starts_with("call ")).count();
    assert_eq!((calls, world.home.records().len()), (8, 8));
    for span in &all {
        assert_eq!(span.trace_id[..3], [0x0a, 0xf7, 0x65], "{span:?}");
        assert!(span.trace_state.is_empty() && span.events.is_empty() && span.links.is_empty());
        assert!(span.status.as_ref().is_none_or(|status| status.message.is_empty()));
    }
    // Nor is the caller's span told to others.
    let fields = world.upstream.seen().into_iter().flat_map(|seen| seen.headers);
    for (name, value) in fields {
        assert!(name != "traceparent" && !value.contains("0af7651916cd43dd"), "{name}: {value}");
    }
    assert!(
        page.contains(
            "remit_calls_total{capability=\"unknown\",tool=\"unknown\",outcome=\"call/unknown-tool\"} 2\n"
        )
    );
    assert!(page.contains("remit_calls_running{capability=\"test/probe\",tool=\"fetch\"} 0\n"), "{page}");
}

#[test]
fn a_call_is_shown_with_its_parts_in_the_span_of_its_caller() {
    let collector = Collector::answering(200);
    let world = World::with_settings(&collector.settings(), |_| Answer::json(200, &json!({}))).granted();
    let mut client = Client::start(world.home.path());
    let arguments = json!({ "url": format!("https://{HOST}/") });
    let meta = json!({ "traceparent": PARENT, "tracestate": "canary=1" });
    let params = json!({ "name": "probe__fetch", "arguments": arguments, "_meta": meta });
    let answer = client.request("tools/call", &params).expect("an answer");
    assert_eq!(answer["structuredContent"]["status"], 200, "{answer}");
    let spans = collector.spans();
    let names: Vec<&str> = spans.iter().map(|span| span.name.as_str()).collect();
    assert_eq!(names, ["call fetch", "queue", "load", "guest", "request GET"]);
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    assert!(spans.iter().all(|span| hex(&span.trace_id) == "0af7651916cd43dd8448eb211c80319c"));
    let [call, queue, load, guest, sent] = &spans[..] else { panic!("{names:?}") };
    assert_eq!(hex(&call.parent_span_id), "b7ad6b7169203331");
    for part in [queue, load, guest] {
        assert_eq!(part.parent_span_id, call.span_id);
        assert!(part.start_time_unix_nano >= call.start_time_unix_nano);
        assert!(part.end_time_unix_nano <= call.end_time_unix_nano, "{part:?} {call:?}");
    }
    assert_eq!(sent.parent_span_id, guest.span_id);
    assert!(sent.start_time_unix_nano >= guest.start_time_unix_nano);
    let keys: Vec<&str> = sent.attributes.iter().map(|attribute| attribute.key.as_str()).collect();
    assert_eq!(
        keys,
        [
            "http.request.method",
            "remit.outcome",
            "http.request.body.size",
            "http.response.body.size",
            "server.address",
            "http.response.status_code"
        ]
    );
}

/// Calls `text__echo` over HTTP with these fields and this `_meta` besides what a client of 2026 says.
fn call_over_http(address: &str, fields: &str, mut meta: Value) -> String {
    meta["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
    let params = json!({ "name": "text__echo", "arguments": { "message": "hi" }, "_meta": meta });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
         Mcp-Method: tools/call\r\nMcp-Name: text__echo\r\nContent-Length: {}\r\n{fields}\r\n",
        body.len()
    );
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn over_http_a_header_field_names_the_span_and_the_request_itself_wins() {
    let collector = Collector::answering(200);
    let home = Home::with_settings(&collector.settings());
    home.install(built("text"));
    let mut server = Command::new(program())
        .args(["serve", "--tools", "direct", "--http", "127.0.0.1:0", "--no-token"])
        .env("REMIT_HOME", home.path())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(server.stderr.take().unwrap()).lines();
    let address = lines.find_map(|line| {
        Some(line.unwrap().strip_prefix("listening on http://")?.strip_suffix("/mcp")?.to_owned())
    });
    let address = address.expect("the door opens");
    let field = format!("traceparent: {PARENT}\r\n");
    let other = PARENT.replace("b7ad6b7169203331", "00f067aa0ba902b7");
    for (meta, parent) in [(json!({}), 0xb7), (json!({ "traceparent": other }), 0x00)] {
        let answer = call_over_http(&address, &field, meta);
        assert!(answer.contains("\"hi\""), "{answer}");
        assert_eq!(collector.spans()[0].parent_span_id[0], parent);
    }
    server.kill().unwrap();
    server.wait().unwrap();
}

#[test]
fn the_doctor_asks_whether_the_collector_answers() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (kind, angry) = (Collector::answering(200), Collector::answering(503));
    for (address, state) in [(kind.address, "ok"), (angry.address, "warn"), (closed, "warn")] {
        let home = Home::with_settings(&format!("[telemetry]\notlp = \"http://{address}\"\n"));
        let findings = remit(home.path(), &["doctor", "--json"], "").json();
        let finding = findings.as_array().unwrap().iter().find(|finding| finding["check"] == "collector");
        assert_eq!(finding.unwrap()["state"], state, "{findings}");
    }
    let home = Home::new();
    let findings = remit(home.path(), &["doctor", "--json"], "").json();
    assert!(!findings.to_string().contains("collector"), "{findings}");
}

#[test]
fn a_caller_that_says_nonsense_gets_a_trace_of_its_own() {
    let collector = Collector::answering(200);
    let home = Home::with_settings(&collector.settings());
    home.install(built("text"));
    let mut client = Client::start(home.path());
    let params = json!({
        "name": "text__echo",
        "arguments": { "message": "hi" },
        "_meta": { "traceparent": "00-canary-canary-01" },
    });
    client.request("tools/call", &params).expect("an answer");
    let spans = collector.spans();
    assert!(spans[0].parent_span_id.is_empty());
    assert_eq!(spans[0].trace_id.len(), 16);
    assert!(spans.iter().all(|span| span.trace_id == spans[0].trace_id));
}

#[test]
fn without_settings_nobody_is_told() {
    let collector = Collector::answering(200);
    let home = Home::new();
    home.install(built("text"));
    let service = start(&home);
    assert!(call(&home, "remit/text.echo", &json!({ "message": "hi" })));
    assert_eq!(service.page(), None);
    home.threads.block_on(service.stop());
    assert!(collector.messages.try_recv().is_err());
}

#[test]
fn a_collector_that_is_away_or_angry_fails_no_call() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let angry = Collector::answering(500);
    for address in [closed, angry.address] {
        let settings = format!("[telemetry]\notlp = \"http://{address}\"\nprometheus = \"127.0.0.1:0\"\n");
        let home = Home::with_settings(&settings);
        home.install(built("text"));
        let service = start(&home);
        let at = service.page().expect("a page");
        assert!(call(&home, "remit/text.echo", &json!({ "message": "hi" })));
        // The exporter drops what it could not send within its next beats; the page tells.
        let dropped = "remit_telemetry_dropped_total 1\n";
        let begun = std::time::Instant::now();
        while !page(at).contains(dropped) {
            assert!(begun.elapsed() < PATIENCE, "{}", page(at));
            std::thread::yield_now();
        }
        assert!(call(&home, "remit/text.echo", &json!({ "message": "again" })));
        home.threads.block_on(service.stop());
    }
}

#[test]
fn the_page_of_a_taken_port_is_missing_and_agents_are_served() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let settings = format!("[telemetry]\nprometheus = \"{}\"\n", taken.local_addr().unwrap());
    let home = Home::with_settings(&settings);
    home.install(built("text"));
    let mut client = Client::start(home.path());
    assert_eq!(client.try_call("text__echo", &json!({ "message": "hi" })), Some(Ok("hi".to_owned())));
}
