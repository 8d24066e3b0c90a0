//! The committed cases pass, all of them; and the runner can fail: what is changed in a case is noticed, and what
//! it does not know is never passed over.

#![expect(clippy::expect_used, reason = "what goes wrong in a test ends it")]

use std::path::Path;

use remit_cases::egress::{Failed, run};
use serde_json::{Value, json};

fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_remit-cases"))
}

fn committed() -> Vec<Value> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/egress.json");
    serde_json::from_str(&std::fs::read_to_string(file).expect("the cases")).expect("JSON")
}

fn failed(cases: &[Value]) -> Vec<Failed> {
    run(&json!(cases).to_string(), program()).expect("a list of cases").failed
}

/// An allowed request, with these changes.
fn case(changes: &Value) -> Value {
    let mut case = json!({
        "id": "X-01", "group": "any", "url_or_host": "https://api.example.com/", "allow_list": ["api.example.com"],
        "resolves_to": ["93.184.215.14"], "verdict": "allow", "error_kind": null,
    });
    for (name, value) in changes.as_object().expect("changes") {
        case[name] = value.clone();
    }
    case
}

fn denied(kind: &str, changes: &Value) -> Value {
    let mut case = case(changes);
    case["verdict"] = json!("deny");
    case["error_kind"] = json!(kind);
    case
}

#[test]
fn every_committed_case_passes() {
    let report = run(&json!(committed()).to_string(), program()).expect("a list of cases");
    let failed: Vec<_> = report.failed.iter().map(Failed::to_string).collect();
    assert_eq!((report.passed, failed), (261, Vec::new()));
}

/// Turns every case around: then not one may pass, whatever it is about.
#[test]
fn a_case_with_the_opposite_verdict_fails() {
    let mut cases = committed();
    for case in &mut cases {
        let is_allowed = case["verdict"] == "allow";
        case["verdict"] = json!(if is_allowed { "deny" } else { "allow" });
        case["error_kind"] = if is_allowed { json!("host_not_allowed") } else { Value::Null };
    }
    let failed = failed(&cases);
    assert_eq!(failed.len(), cases.len());
    assert!(failed.iter().all(|failed| !failed.found.contains("cannot be played")), "{failed:?}");
}

/// Changes the kind of every denied case, but of those whose kind is not compared.
#[test]
fn a_case_with_another_kind_fails() {
    let mut cases = committed();
    cases.retain(|case| case["verdict"] == "deny" && case["upstream"]["h2"].is_null());
    for case in &mut cases {
        case["error_kind"] = json!(if case["error_kind"] == "timeout" { "dns_failed" } else { "timeout" });
    }
    assert_eq!(failed(&cases).len(), cases.len());
}

#[test]
fn what_is_not_known_is_a_failure_with_its_reason() {
    for (changes, reason) in [
        (json!({ "asserts_nothing": true }), "unknown field `asserts_nothing`"),
        (json!({ "upstream": { "quic": "anything" } }), "unknown field `quic`"),
        (json!({ "request": { "trailers": {} } }), "unknown field `trailers`"),
        (json!({ "request": { "headers": { "x-a": 1 } } }), "the header field `x-a` has the value 1"),
        (json!({ "upstream": { "raw": "the server sings" } }), "`upstream.raw` says what is not known"),
        (json!({ "upstream": { "tls": "a lovely certificate" } }), "`upstream.tls` says what is not known"),
        (json!({ "upstream": { "raw": "one byte per second", "h2": "a" } }), "more than one of"),
        (json!({ "steps": "the resolver sings" }), "`steps` says what is not known"),
        (json!({ "steps": "resolver sleeps past the limit" }), "`resolves_to` says"),
        (json!({ "environment": { "weather": "rain" } }), "`environment.weather` is not known"),
        (json!({ "environment": { "grant": "given" } }), "`environment.grant` says what is not known"),
        (json!({ "environment": { "wasi": "nothing" } }), "`environment.wasi` says what is not known"),
        (json!({ "resolves_to": ["not an address"] }), "`resolves_to` must be a list of addresses"),
        (json!({ "verdict": "perhaps" }), "unknown variant `perhaps`"),
        (json!({ "error_kind": "timeout" }), "it is allowed and has an `error_kind`"),
        (json!({ "verdict": "deny" }), "it is denied and has no `error_kind`"),
        (json!({ "verdict": "deny", "error_kind": "bad_luck" }), "`error_kind` is not known: `bad_luck`"),
    ] {
        let failed = failed(&[case(&changes)]);
        assert!(failed.len() == 1 && failed[0].found.contains(reason), "{changes}: {failed:?}");
    }
    assert!(run("{}", program()).is_err() && run("[]", program()).is_err() && run("", program()).is_err());
}

/// Wrong in what happens beside the verdict.
#[test]
fn a_wrong_assertion_fails() {
    let crosses = json!({
        "url_or_host": "https://api.example.com/", "allow_list": ["api.example.com", "b.example.com"],
        "upstream": { "status": 302, "location": "https://b.example.com/" },
        "request": { "headers": { "x-api-key": "{{KEY}}", "x-plain": "1" } },
        "assert_next_hop_headers": ["x-plain", "x-api-key"],
    });
    let seen =
        json!({ "upstream": { "headers": { "x-shown": "1" } }, "assert_guest_headers_absent": ["x-shown"] });
    let no_hop = json!({ "assert_next_hop_headers": [] });
    for (changes, reason) in [
        (crosses, r#"the next hop got the fields ["x-plain"]"#),
        (seen, "the guest sees `x-shown`"),
        (no_hop, "there was no next hop"),
    ] {
        let failed = failed(&[case(&changes)]);
        assert!(failed.len() == 1 && failed[0].found.contains(reason), "{changes}: {failed:?}");
    }
}

/// Forms beside those in the committed file, with what must be decided.
#[test]
fn other_words_for_the_same_things_are_understood() {
    let end = "https://api.example.com/end";
    let cases = [
        denied(
            "redirect_refused",
            &json!({ "upstream": { "status": 302, "location": "https://api.example.com/" } }),
        ),
        denied("redirect_refused", &json!({ "upstream": { "status": 302, "location": end, "hops": 4 } })),
        case(&json!({ "upstream": { "status": 302, "location": end, "hops": 3 } })),
        case(&json!({ "upstream": [{ "status": 307, "location": "/a" }, { "status": 308, "location": "/b" }] })),
        denied(
            "private_address",
            &json!({
                "allow_list": ["api.example.com", "b.example.com"],
                "resolves_to": { "api.example.com": ["93.184.215.14"], "b.example.com": ["10.0.0.5"] },
                "upstream": { "status": 302, "location": "https://b.example.com/" },
            }),
        ),
        denied(
            "invalid_url",
            &json!({ "upstream": { "status": 302, "location": "https://api.example.com/\u{0}x" } }),
        ),
        denied(
            "response_invalid",
            &json!({ "upstream": { "raw": "Content-Length: 5 + Transfer-Encoding: chunked" } }),
        ),
        denied(
            "response_invalid",
            &json!({ "upstream": { "raw": "connection closed before the body is complete" } }),
        ),
        denied("response_invalid", &json!({ "upstream": { "raw": "folded header line" } })),
        denied("response_invalid", &json!({ "upstream": { "raw": "NUL in a header value" } })),
        denied("response_invalid", &json!({ "upstream": { "raw": "head of 100 KiB" } })),
        denied("response_invalid", &json!({ "upstream": { "header_bytes": 100_000 } })),
        denied("response_invalid", &json!({ "upstream": { "raw": "HTTP/1.1 200 OK\r\nbroken\r\n\r\n" } })),
        denied(
            "response_invalid",
            &json!({ "upstream": { "headers": { "content-encoding": "br" }, "body": "x" } }),
        ),
        denied("response_too_large", &json!({ "upstream": { "body_bytes": 5_242_881 } })),
        case(&json!({ "upstream": { "body_bytes": 5_242_880 } })),
        denied("timeout", &json!({ "upstream": { "raw": "the server never answers" } })),
        denied("tls_failed", &json!({ "upstream": { "tls": "self-signed" } })),
        denied("tls_failed", &json!({ "upstream": { "tls": "not yet valid" } })),
        denied("tls_failed", &json!({ "upstream": { "tls": "TLS 1.1 only" } })),
        denied("tls_failed", &json!({ "upstream": { "tls": "plain HTTP on 443" } })),
        denied("tls_failed", &json!({ "upstream": { "h2": "GOAWAY" } })),
        denied("dns_failed", &json!({ "resolves_to": [], "steps": "SERVFAIL" })),
        case(&json!({ "steps": "first look-up answers 93.184.215.14, second look-up 127.0.0.1" })),
        denied("rate_limited", &json!({ "environment": { "concurrency": "500 at once" } })),
        denied("import_not_allowed", &json!({ "environment": { "wasi": "imports wasi:filesystem/types@0.2.0" } })),
        case(
            &json!({ "environment": { "ALL_PROXY": "socks5://127.0.0.1:1080", "https_proxy": "127.0.0.1:3128" } }),
        ),
        case(&json!({ "environment": { "SSL_CERT_DIR": "/tmp/certs" } })),
        denied("header_invalid", &json!({ "request": { "headers": { "x-a": ["1", "2"] } } })),
        denied("secret_placement", &json!({ "url_or_host": "https://api.example.com/?k={{KEY}}" })),
    ];
    let failed: Vec<_> = failed(&cases).iter().map(Failed::to_string).collect();
    assert_eq!(failed, Vec::<String>::new());
}
