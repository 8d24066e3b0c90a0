//! `plugins/github` by the path of a call, whole answers; and the upstream that plays GitHub, held against the
//! public description of its API.

use std::sync::OnceLock;

use remit::call::{Failure, Reply};
use remit::policy::{Approval, Place};
use remit_upstream::{Seen, Upstream, github};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::home::{Home, built, outcome, request};

const HOST: &str = "api.github.com";

struct GitHub {
    home: Home,
    upstream: Upstream,
}

impl GitHub {
    fn with_token(token: &str) -> Self {
        let upstream = Upstream::start(&[HOST], github::server());
        let folder = tempfile::tempdir().expect("a scratch folder");
        let authority = folder.path().join("upstream.pem");
        std::fs::write(&authority, upstream.authority_pem()).expect("room");
        let settings = upstream.settings("remit/github", HOST, &authority);
        std::fs::write(folder.path().join("remit.toml"), settings).expect("room");
        let home = Home::open(folder);
        home.install(built("github"));
        let admin = home.app.admin();
        admin.set_secret("GITHUB_TOKEN", token.as_bytes()).expect("a good secret");
        let approval = Approval {
            secret: "GITHUB_TOKEN".to_owned(),
            source: "GITHUB_TOKEN".to_owned(),
            host: HOST.to_owned(),
            port: 443,
            place: Place::Header("authorization".to_owned()),
            expires_at: None,
        };
        admin.approve(&"remit/github".parse().expect("a name"), &[approval]).expect("within the manifest");
        Self { home, upstream }
    }

    fn call(&self, tool: &str, arguments: &Value) -> Result<Reply, Failure> {
        self.home.call(&format!("remit/github.{tool}"), arguments)
    }

    /// What was asked of the API, without the body.
    fn asked(&self) -> Vec<String> {
        self.upstream.seen().iter().map(|seen| format!("{} {}", seen.method, seen.path)).collect()
    }
}

fn comment(id: u32, body: &str) -> Value {
    json!({
        "author": "octocat",
        "created_at": "2026-11-01T10:00:00Z",
        "updated_at": "2026-11-01T10:00:00Z",
        "url": format!("https://github.com/octo/hello/issues/1#issuecomment-{id}"),
        "body": body,
    })
}

#[test]
fn every_tool_answers_as_written() {
    let github = GitHub::with_token(github::TOKEN);
    let greeting = json!({
        "repository": "octo/hello", "number": 1, "title": "Greeting is too quiet", "state": "open",
        "pull_request": false, "author": "octocat", "labels": ["bug"], "comments": 2,
        "created_at": "2026-11-01T09:00:00Z", "updated_at": "2026-11-03T09:00:00Z",
        "url": "https://github.com/octo/hello/issues/1", "excerpt": "Please shout.",
    });
    let issue = |comments: Value| {
        json!({
            "number": 1, "title": "Greeting is too quiet", "state": "open", "pull_request": false,
            "locked": false, "author": "octocat", "assignees": [], "labels": ["bug"],
            "created_at": "2026-11-01T09:00:00Z", "updated_at": "2026-11-03T09:00:00Z",
            "url": "https://github.com/octo/hello/issues/1", "body": "Please shout.", "comments_total": 2,
            "comments": comments,
        })
    };
    let farewell = json!({
        "number": 2, "title": "Add a farewell", "state": "closed", "pull_request": false, "locked": false,
        "author": "octocat", "assignees": [], "labels": ["enhancement"], "created_at": "2026-11-01T09:00:00Z",
        "updated_at": "2026-11-03T09:00:00Z", "closed_at": "2026-11-02T09:00:00Z",
        "url": "https://github.com/octo/hello/issues/2", "body": "Every hello needs a goodbye.",
        "comments_total": 0, "comments": [],
    });
    let place = |more: Value| {
        let mut arguments = json!({ "owner": "octo", "repo": "hello" });
        let fields = more.as_object().expect("an object").clone();
        arguments.as_object_mut().expect("an object").extend(fields);
        arguments
    };
    let cases = [
        (
            "search_issues",
            json!({ "query": "greeting repo:octo/hello" }),
            json!({ "total": 1, "incomplete": false, "issues": [greeting] }).to_string(),
        ),
        (
            "search_issues",
            json!({ "query": "nothing", "sort": "created", "order": "asc", "per_page": 1 }),
            json!({ "total": 0, "incomplete": false, "issues": [] }).to_string(),
        ),
        ("search_issues", json!({ "query": "" }), "call/invalid-input".to_owned()),
        ("search_issues", json!({ "query": "a", "sort": "stars" }), "call/invalid-input".to_owned()),
        (
            "read_issue",
            place(json!({ "number": 1 })),
            issue(json!([comment(1, "I can't hear it either."), comment(2, "Louder!")])).to_string(),
        ),
        ("read_issue", place(json!({ "number": 1, "comments_per_page": 0 })), issue(json!([])).to_string()),
        ("read_issue", place(json!({ "number": 2 })), farewell.to_string()),
        ("read_issue", place(json!({ "number": 404 })), "capability/not-found".to_owned()),
        ("read_issue", place(json!({ "number": 0 })), "call/invalid-input".to_owned()),
        (
            "read_issue",
            json!({ "owner": "octo/..", "repo": "hello", "number": 1 }),
            "call/invalid-input".to_owned(),
        ),
        ("read_issue", json!({ "owner": "octo", "repo": "..", "number": 1 }), "call/invalid-input".to_owned()),
        (
            "read_issue",
            json!({ "owner": "octo", "repo": "other", "number": 1 }),
            "capability/not-found".to_owned(),
        ),
        (
            "create_issue",
            place(json!({ "title": "Hello, again", "body": "Twice.", "labels": ["bug"] })),
            json!({ "created": true, "number": 3, "url": "https://github.com/octo/hello/issues/3" }).to_string(),
        ),
        (
            "create_issue",
            place(json!({ "title": "Mine", "assignees": ["octocat"] })),
            json!({
                "created": true, "number": 4, "url": "https://github.com/octo/hello/issues/4",
                "assignees_dropped": ["octocat"],
            })
            .to_string(),
        ),
        ("create_issue", place(json!({ "title": "" })), "call/invalid-input".to_owned()),
    ];
    let mut wrong = Vec::new();
    for (tool, arguments, expected) in cases {
        let result = github.call(tool, &arguments);
        if outcome(&result) != expected {
            wrong.push(format!("{tool} {arguments}: {}", outcome(&result)));
        }
        assert!(!format!("{result:?}").contains(github::TOKEN));
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert_eq!(
        github.asked(),
        [
            "GET /search/issues?q=greeting%20repo%3Aocto%2Fhello&per_page=20&page=1",
            "GET /search/issues?q=nothing&per_page=1&page=1&sort=created&order=asc",
            "GET /repos/octo/hello/issues/1",
            "GET /repos/octo/hello/issues/1/comments?per_page=30&page=1",
            "GET /repos/octo/hello/issues/1",
            "GET /repos/octo/hello/issues/2",
            "GET /repos/octo/hello/issues/404",
            "GET /repos/octo/other/issues/1",
            "POST /repos/octo/hello/issues",
            "POST /repos/octo/hello/issues",
        ]
    );
    assert!(!format!("{:?}", github.home.records()).contains(github::TOKEN));
}

#[test]
fn a_dry_run_creates_nothing() {
    let github = GitHub::with_token(github::TOKEN);
    let arguments = json!({ "owner": "octo", "repo": "hello", "title": "Hello" });
    let mut call = request("remit/github.create_issue", &arguments);
    call.dry_run = true;
    let host = github.home.host();
    let reply = github.home.threads.block_on(host.call(call, CancellationToken::new())).expect("a plan");
    assert_eq!(reply.structured, Some(json!({ "created": false })));
    let plan: Vec<String> =
        reply.plan.requests.iter().map(|request| format!("{} {}", request.method, request.path)).collect();
    assert_eq!(plan, ["POST /repos/octo/hello/issues"]);
    assert_eq!(github.asked(), [""; 0]);
}

#[test]
fn a_token_that_is_not_accepted_is_said_and_not_shown() {
    let wrong = "ghp_0000aaaa1111bbbb2222cccc3333dddd4444";
    let github = GitHub::with_token(wrong);
    let failure = github.call("search_issues", &json!({ "query": "x" })).expect_err("it is not accepted");
    assert_eq!(failure.error.kind.code(), "capability/failed");
    assert!(failure.error.message.starts_with("GitHub does not accept the token"), "{}", failure.error.message);
    assert!(!format!("{failure:?}").contains(wrong));
}

/// The public description, with what OpenAPI 3.0 says in its own way said as JSON Schema does.
fn description() -> &'static Value {
    static DESCRIPTION: OnceLock<Value> = OnceLock::new();
    DESCRIPTION.get_or_init(|| {
        let file = std::env::var_os("REMIT_TEST_GITHUB_DESCRIPTION").expect(
            "`REMIT_TEST_GITHUB_DESCRIPTION` names the file of the API's description; `cargo xtask test` sets it",
        );
        let text = std::fs::read_to_string(&file).expect("the description can be read");
        let mut description: Value = serde_json::from_str(&text).expect("the description is JSON");
        as_json_schema(&mut description);
        description
    })
}

/// `nullable: true` is an alternative in JSON Schema.
fn as_json_schema(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(as_json_schema),
        Value::Object(fields) => {
            fields.values_mut().for_each(as_json_schema);
            if fields.remove("nullable") == Some(Value::Bool(true)) {
                let rest = Value::Object(std::mem::take(fields));
                *value = json!({ "anyOf": [rest, { "type": "null" }] });
            }
        }
        _ => {}
    }
}

/// What of `answer` is not as the operation's response is described.
fn deviations(operation: &str, status: u16, answer: &Value) -> Vec<String> {
    let description = description();
    let operation = description.pointer(operation).expect("the operation is described");
    let mut response = &operation["responses"][status.to_string().as_str()];
    if let Some(shared) = response["$ref"].as_str() {
        response = description.pointer(&shared[1..]).expect("the shared response is described");
    }
    let mut schema = response["content"]["application/json"]["schema"].clone();
    assert!(schema.is_object(), "{status} is described");
    schema["components"] = json!({ "schemas": description["components"]["schemas"] });
    let validator = jsonschema::options()
        .with_draft(jsonschema::Draft::Draft202012)
        .should_validate_formats(true)
        .offline()
        .build(&schema)
        .expect("the description is a schema");
    validator.iter_errors(answer).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

#[test]
fn the_upstream_answers_as_the_public_description_says() {
    const SEARCH: &str = "/paths/~1search~1issues/get";
    const ISSUE: &str = "/paths/~1repos~1{owner}~1{repo}~1issues~1{issue_number}/get";
    const COMMENTS: &str = "/paths/~1repos~1{owner}~1{repo}~1issues~1{issue_number}~1comments/get";
    const CREATE: &str = "/paths/~1repos~1{owner}~1{repo}~1issues/post";
    let cases = [
        (SEARCH, "GET", "/search/issues?q=greeting", "", 200),
        (SEARCH, "GET", "/search/issues?q=nothing", "", 200),
        (SEARCH, "GET", "/search/issues?q=", "", 422),
        (ISSUE, "GET", "/repos/octo/hello/issues/1", "", 200),
        (ISSUE, "GET", "/repos/octo/hello/issues/2", "", 200),
        (ISSUE, "GET", "/repos/octo/hello/issues/404", "", 404),
        (COMMENTS, "GET", "/repos/octo/hello/issues/1/comments", "", 200),
        (COMMENTS, "GET", "/repos/octo/hello/issues/2/comments", "", 200),
        (COMMENTS, "GET", "/repos/octo/hello/issues/404/comments", "", 404),
        (CREATE, "POST", "/repos/octo/hello/issues", r#"{"title":"New","body":null,"labels":["bug"]}"#, 201),
        (CREATE, "POST", "/repos/octo/other/issues", r#"{"title":"New"}"#, 404),
        (CREATE, "POST", "/repos/octo/hello/issues", "{}", 422),
        (CREATE, "POST", "/repos/octo/hello/issues", "{", 400),
    ];
    let server = github::server();
    let ask = |method: &str, path: &str, body: &str, token: &str| {
        let headers = [("authorization", format!("Bearer {token}")), ("user-agent", "test".to_owned())];
        server(&Seen {
            method: method.to_owned(),
            path: path.to_owned(),
            headers: headers.map(|(name, value)| (name.to_owned(), value)).to_vec(),
            body: body.as_bytes().to_vec(),
        })
    };
    let mut wrong = Vec::new();
    for (operation, method, path, body, status) in cases {
        let answer = ask(method, path, body, github::TOKEN);
        assert_eq!(answer.status, status, "{method} {path}");
        let body: Value = serde_json::from_slice(&answer.body).expect("JSON");
        let deviations = deviations(operation, status, &body);
        wrong.extend(deviations.iter().map(|deviation| format!("{method} {path} {status}{deviation}")));
    }
    let refused = ask("GET", "/search/issues?q=x", "", "wrong");
    let body: Value = serde_json::from_slice(&refused.body).expect("JSON");
    wrong.extend(deviations(SEARCH, refused.status, &body));
    assert_eq!(wrong, Vec::<String>::new());
    // The comparison itself is not blind.
    assert_ne!(deviations(ISSUE, 200, &json!({ "number": "1" })), [""; 0]);
}
