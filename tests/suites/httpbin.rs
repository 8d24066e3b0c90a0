//! An upstream from the outside: `httpbin`, which echoes what it gets in many ways, behind TLS. What a guest sees of
//! it, whole, as a snapshot: redactions, and refusals where the rules say so.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use remit::policy::Place;
use serde_json::{Value, json};

use crate::support::home::program;
use crate::support::world::{HOST, SECRET, World, approval, authorization};

/// A user name and a password as base64: what httpbin takes for `user` and `passw0rd-of-httpbin`.
const BASIC: &str = "dXNlcjpwYXNzdzByZC1vZi1odHRwYmlu";

/// The server, until it is dropped.
struct Httpbin {
    child: Child,
    address: SocketAddr,
}

impl Httpbin {
    fn start() -> Self {
        let python = std::env::var_os("REMIT_TEST_PYTHON")
            .map_or_else(|| program().with_file_name("../python/bin/python"), PathBuf::from);
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/clients/httpbin_server.py");
        let mut child = Command::new(&python)
            .arg(script)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("`{}`: {error}; `cargo xtask test` makes it", python.display()));
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("a port");
        let port = line.trim().parse().unwrap_or_else(|_| panic!("no port: `{line}`"));
        Self { child, address: SocketAddr::from(([127, 0, 0, 1], port)) }
    }
}

impl Drop for Httpbin {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Fields that differ from one day, or one machine, to the next.
const VARYING: [&str; 2] = ["date: ", "server: "];

/// A request and what its guest saw of it.
fn seen(world: &World, request: &Value) -> String {
    let mut text =
        format!("{} {}\n", request["method"].as_str().unwrap_or("GET"), request["url"].as_str().expect("text"));
    for header in request["headers"].as_array().into_iter().flatten() {
        let _ = writeln!(text, "{}", header.as_str().expect("text"));
    }
    if let Some(body) = request["body"].as_str() {
        let _ = writeln!(text, "\n{}", body.replace("\r\n", "\n"));
    }
    // The length of this program's own name would change with its version.
    let mut named = request.clone();
    named["headers"].as_array_mut().expect("a list").push(json!("user-agent: probe"));
    let result = world.fetch(&named);
    let told = format!("{result:?} {:?}", world.home.records()[0]);
    assert!(!told.contains(SECRET) && !told.contains(BASIC), "{request}: {told}");
    match result {
        Err(failure) => {
            let _ = writeln!(text, "-> {}", failure.error.message);
        }
        Ok(reply) => {
            let seen = reply.structured.expect("structured");
            let _ = writeln!(text, "-> {}", seen["status"]);
            for header in
                seen["headers"].as_array().expect("fields").iter().map(|header| header.as_str().expect("text"))
            {
                if !VARYING.iter().any(|varying| header.starts_with(varying)) {
                    let _ = writeln!(text, "{header}");
                }
            }
            let _ = writeln!(text, "\n{}", seen["body"].as_str().expect("text").trim_end());
        }
    }
    text
}

#[test]
fn a_guest_sees_only_redactions_of_httpbins_echoes() {
    let httpbin = Httpbin::start();
    let world = World::in_front_of(httpbin.address).granted_as(|manifest| {
        let mut basic = manifest["secrets"][0].clone();
        basic["name"] = json!("BASIC");
        manifest["secrets"].as_array_mut().expect("a list").push(basic);
    });
    world.set("API_KEY", SECRET);
    world.set("BASIC", BASIC);
    let places = [authorization(), Place::Header("x-api-key".to_owned()), Place::Body];
    world.approve("test/probe", &places.map(|place| approval("API_KEY", HOST, 443, &place)));
    world.approve("test/probe", &[approval("BASIC", HOST, 443, &authorization())]);

    let bearer = ["authorization: Bearer {{API_KEY}}"];
    let get = |path: &str, headers: &[&str]| json!({ "url": format!("https://{HOST}{path}"), "headers": headers });
    let send = |method: &str, path: &str, content_type: &str, body: &str| {
        let headers = [format!("content-type: {content_type}")];
        json!({ "method": method, "url": format!("https://{HOST}{path}"), "headers": headers, "body": body })
    };
    let multipart = "--b\r\nContent-Disposition: form-data; name=\"key\"\r\n\r\n{{API_KEY}}\r\n\
                     --b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"f.txt\"\r\n\r\n{{API_KEY}}\r\n--b--\r\n";
    let requests = [
        // Headers that come back.
        get("/headers", &bearer),
        get("/headers", &["x-api-key: {{API_KEY}}"]),
        get("/anything?q=1", &["authorization: Bearer {{API_KEY}}", "x-api-key: {{API_KEY}}", "x-note: plain"]),
        get("/bearer", &bearer),
        get("/basic-auth/user/passw0rd-of-httpbin", &["authorization: Basic {{BASIC}}"]),
        get("/basic-auth/user/another", &["authorization: Basic {{BASIC}}"]),
        // Bodies that come back.
        send("POST", "/post", "application/json", r#"{"key":"{{API_KEY}}","n":1}"#),
        send("POST", "/post", "application/x-www-form-urlencoded", "key={{API_KEY}}&n=1"),
        send("POST", "/post", "multipart/form-data; boundary=b", multipart),
        send("POST", "/post", "text/plain", "the key is {{API_KEY}}."),
        send("PUT", "/put", "application/json", r#"{"key":"{{API_KEY}}"}"#),
        send("PATCH", "/patch", "application/json", r#"{"key":"{{API_KEY}}"}"#),
        send("DELETE", "/delete", "application/json", r#"{"key":"{{API_KEY}}"}"#),
        // Other ways to answer.
        get("/stream/2", &bearer),
        get("/drip?numbytes=5&duration=0&delay=0", &bearer),
        get("/status/204", &bearer),
        get("/status/418", &bearer),
        get("/status/500", &bearer),
        get("/response-headers?X-Echo=1&Set-Cookie=a%3Db&WWW-Authenticate=Basic", &bearer),
        get("/base64/e3tBUElfS0VZfX0=", &bearer),
        get("/cookies/set?session=1", &bearer),
        get("/gzip", &bearer),
        get("/deflate", &bearer),
        get("/brotli", &bearer),
        // Elsewhere.
        get("/relative-redirect/2", &bearer),
        get("/redirect/9", &bearer),
        get("/redirect-to?url=https%3A%2F%2Fapi.example.com%2Fheaders", &bearer),
        get("/redirect-to?url=https%3A%2F%2Ffiles.cdn.example.com%2Fheaders", &bearer),
        get("/redirect-to?url=https%3A%2F%2Fother.example.com%2Fheaders", &bearer),
        get("/redirect-to?url=http%3A%2F%2Fapi.example.com%2Fheaders", &bearer),
        send(
            "POST",
            "/redirect-to?status_code=307&url=https%3A%2F%2Fapi.example.com%2Fpost",
            "text/plain",
            "{{API_KEY}}",
        ),
        send(
            "POST",
            "/redirect-to?status_code=307&url=https%3A%2F%2Ffiles.cdn.example.com%2Fpost",
            "text/plain",
            "{{API_KEY}}",
        ),
        // What is not approved.
        json!({ "url": "https://files.cdn.example.com/headers", "headers": bearer }),
        get("/headers", &["cookie: session={{API_KEY}}"]),
        get("/headers", &["x-other: {{API_KEY}}"]),
        get("/headers", &["authorization: Bearer {{UNKNOWN}}"]),
        get("/anything/{{API_KEY}}", &[]),
        get("/base64/%7B%7BAPI_KEY%7D%7D", &[]),
    ];
    let told: Vec<_> = requests.iter().map(|request| seen(&world, request)).collect();
    let told = told.join("\n----\n\n");
    insta::assert_snapshot!(told);
}
