//! Attacks on where a secret may stand: other hosts, ports, fields, parts of a request, and values that try to
//! get out of the place they were put in.

use remit::policy::Place;
use remit_guests::Guest;
use serde_json::{Value, json};

use super::{field, keyed, post, refused, told, with_key};
use crate::support::home::{outcome, remit};
use crate::support::world::{HOST, SECRET, World, approval, authorization};

const NOT_AVAILABLE: (&str, &str) = ("SecretNotAvailable", "secret/not-available");
const MISPLACED: (&str, &str) = ("SecretPlacement", "secret/placement");
const INVALID: (&str, &str) = ("HeaderInvalid", "http/header-invalid");

fn refused_as(world: &World, arguments: &Value, (words, code): (&str, &str)) {
    refused(world, arguments, words, code);
}

/// Asserts that the secret still goes where it is approved.
fn twin(world: &World) {
    let before = world.upstream.seen().len();
    assert!(world.fetch(&with_key()).is_ok());
    let seen = world.upstream.seen();
    assert_eq!(seen.len(), before + 1);
    assert_eq!(seen[before].header("authorization"), Some(format!("Bearer {SECRET}").as_str()));
}

/// A world whose secret, with this value, may stand in the body.
fn in_body(value: &str) -> World {
    let world = World::echo().granted().with_secret(HOST, &[Place::Body, authorization()]);
    world.set("API_KEY", value);
    world
}

fn last_body(world: &World) -> Vec<u8> {
    world.upstream.seen().last().expect("it arrived").body.clone()
}

#[test]
fn s01_a_host_that_is_granted_but_not_approved_gets_no_secret() {
    let world = keyed();
    for host in ["files.cdn.example.com", "deep.files.cdn.example.com"] {
        let elsewhere = json!({ "url": format!("https://{host}/"), "headers": ["authorization: {{API_KEY}}"] });
        refused_as(&world, &elsewhere, NOT_AVAILABLE);
    }
    assert!(
        world.fetch(&json!({ "url": "https://files.cdn.example.com/" })).is_ok(),
        "without it the host is reached"
    );
    twin(&world);
}

#[test]
fn s02_another_port_is_another_place() {
    let world = keyed();
    let other =
        json!({ "url": "https://api.example.com:8443/", "headers": ["authorization: Bearer {{API_KEY}}"] });
    refused_as(&world, &other, NOT_AVAILABLE);
    twin(&world);

    let world =
        World::echo().granted_as(|manifest| manifest["secrets"][0]["hosts"] = json!(["api.example.com:8443"]));
    world.set("API_KEY", SECRET);
    world.approve("test/probe", &[approval("API_KEY", HOST, 8443, &authorization())]);
    refused_as(&world, &with_key(), NOT_AVAILABLE);
    assert!(world.fetch(&other).is_ok());
    assert_eq!(world.upstream.seen()[0].header("host"), Some("api.example.com:8443"));
}

#[test]
fn s03_an_approval_is_for_exact_names() {
    let world = World::echo().granted().with_secret(HOST, &[authorization()]);
    let name = "test/probe".parse().expect("a name");
    for host in ["*.cdn.example.com", "*.example.com", "*", "files.cdn.example.com"] {
        let wish = approval("API_KEY", host, 443, &authorization());
        let error = world.home.app.admin().approve(&name, &[wish]).expect_err("not declared for the secret");
        assert_eq!(error.kind.code(), "call/not-allowed", "{host}");
        let said = remit(world.home.path(), &["approve", "test/probe", "API_KEY", "--host", host, "--yes"], "");
        assert_ne!(said.exit, Some(0), "{host}: {said:?}");
    }
    let child = json!({ "url": "https://files.cdn.example.com/", "headers": ["authorization: {{API_KEY}}"] });
    refused_as(&world, &child, NOT_AVAILABLE);
    twin(&world);
}

#[test]
fn s04_no_part_of_a_url_takes_a_secret() {
    let world = keyed();
    for part in [
        "{{API_KEY}}",
        "a/{{API_KEY}}/b",
        "?key={{API_KEY}}",
        "?{{API_KEY}}=1",
        "#{{API_KEY}}",
        "%7B%7BAPI_KEY%7D%7D",
        "%7b%7bAPI_KEY%7d%7d",
        "?key={%7BAPI_KEY%7D}",
        "?key=%7B%7BAPI%5FKEY%7D%7D",
    ] {
        refused_as(&world, &json!({ "url": format!("https://api.example.com/{part}") }), MISPLACED);
    }
    for (url, words, code) in [
        ("https://{{API_KEY}}@api.example.com/", "UserinfoNotAllowed", "http/userinfo-not-allowed"),
        ("https://user:{{API_KEY}}@api.example.com/", "UserinfoNotAllowed", "http/userinfo-not-allowed"),
        ("https://{{API_KEY}}.cdn.example.com/", "InvalidUrl", "http/invalid-url"),
        ("https://api.example.com:{{API_KEY}}/", "InvalidUrl", "http/invalid-url"),
        ("{{API_KEY}}://api.example.com/", "InvalidUrl", "http/invalid-url"),
    ] {
        refused(&world, &json!({ "url": url }), words, code);
    }
    // What no decoder reads as a placeholder in one step is a path like any other.
    assert!(world.fetch(&json!({ "url": "https://api.example.com/%257B%257BAPI_KEY%257D%257D" })).is_ok());
    assert_eq!(world.upstream.seen()[0].path, "/%257B%257BAPI_KEY%257D%257D");
    twin(&world);
}

#[test]
fn s05_neither_a_fields_name_nor_a_method_takes_a_secret() {
    let world = keyed();
    for header in ["{{API_KEY}}: 1", "x-{{API_KEY}}: 1", "authorization{{API_KEY}}: 1"] {
        let named = json!({ "url": "https://api.example.com/", "headers": [header] });
        refused_as(&world, &named, MISPLACED);
    }
    twin(&world);
    // A method is a number of a short list: no text of the guest's is one. See S-49 for the numbers.
    let contract = include_str!("../../../wit/http.wit");
    let request = contract.split("record request {").nth(1).and_then(|rest| rest.split('}').next());
    assert!(request.expect("a request").contains("method: method,"));
}

#[test]
fn s06_a_field_that_is_not_approved_gets_no_secret() {
    let world = keyed();
    // The second one is declared, but nobody approved it.
    for header in ["x-debug: {{API_KEY}}", "x-api-key: {{API_KEY}}", "user-agent: {{API_KEY}}"] {
        let misplaced = json!({ "url": "https://api.example.com/", "headers": [header] });
        refused_as(&world, &misplaced, MISPLACED);
    }
    refused_as(&world, &post(HOST, &[], "{{API_KEY}}"), MISPLACED);
    world.approve("test/probe", &[approval("API_KEY", HOST, 443, &field("x-api-key"))]);
    let placed = json!({ "url": "https://api.example.com/", "headers": ["X-Api-Key: {{API_KEY}}"] });
    assert!(world.fetch(&placed).is_ok());
    assert_eq!(world.upstream.seen()[0].header("x-api-key"), Some(SECRET));
}

#[test]
fn s07_placeholders_do_not_nest() {
    let world = World::echo().granted().with_secret(HOST, &[Place::Body, field("x-api-key"), authorization()]);
    for text in ["{{A{{API_KEY}}}}", "{{ {{API_KEY}} }}", "{{API_{{API_KEY}}", "{{{API_KEY}}}"] {
        refused_as(&world, &post(HOST, &[], text), MISPLACED);
        let header = json!({ "url": "https://api.example.com/", "headers": [format!("x-api-key: {text}")] });
        refused_as(&world, &header, MISPLACED);
    }
    for text in ["{{api_key}}", "{{ API_KEY }}", "{API_KEY}", "{{API_KEY", "{{API-KEY}}", "{{}}"] {
        assert!(world.fetch(&post(HOST, &[], text)).is_ok(), "{text}");
        assert_eq!(last_body(&world), text.as_bytes(), "other text in braces is sent as it is");
    }
    twin(&world);
}

#[test]
fn s08_a_value_is_not_searched_for_placeholders() {
    let world = World::echo().granted_as(|manifest| {
        let mut other = manifest["secrets"][0].clone();
        other["name"] = json!("OTHER_KEY");
        manifest["secrets"].as_array_mut().expect("a list").push(other);
    });
    let value = "before-{{OTHER_KEY}}-after";
    world.set("API_KEY", value);
    world.set("OTHER_KEY", SECRET);
    for secret in ["API_KEY", "OTHER_KEY"] {
        world.approve(
            "test/probe",
            &[authorization(), Place::Body].map(|place| approval(secret, HOST, 443, &place)),
        );
    }
    let both = post(HOST, &["authorization: {{API_KEY}}"], "{{API_KEY}} {{OTHER_KEY}}");
    assert!(world.fetch(&both).is_ok());
    let seen = &world.upstream.seen()[0];
    assert_eq!(seen.header("authorization"), Some(value));
    assert_eq!(String::from_utf8_lossy(&seen.body), format!("{value} {SECRET}"));
}

#[test]
fn s09_a_value_that_could_end_a_header_field_is_refused() {
    let world = keyed();
    for value in ["line-one\r\nHost: evil.test", "line-one\nX: 1", "nul\0in-the-middle", "return\rin-the-middle"] {
        let said = remit(world.home.path(), &["secret", "set", "API_KEY", "--json"], value);
        assert_eq!((said.exit, said.code().as_str()), (Some(2), "secret/invalid"), "{said:?}");
    }
    twin(&world);
    // Letters that no field may hold can be stored, for bodies.
    world.set("API_KEY", "caf\u{e9}-caf\u{e9}-0123456789");
    let result = world.fetch(&with_key());
    assert!(result.is_err() && told(&result).starts_with(INVALID.0), "{result:?}");
    assert_eq!(world.home.records()[0].requests[0].outcome, INVALID.1);
    assert_eq!((world.outside.counts().1, world.upstream.seen().len()), (1, 1), "only the twin was sent");
}

#[test]
fn s10_a_value_cannot_add_a_field_to_a_json_body() {
    let value = r#"x","admin":true,"y":"\"#;
    let world = in_body(value);
    let request = post(HOST, &["content-type: application/json"], r#"{"key":"{{API_KEY}}","admin":false}"#);
    assert!(world.fetch(&request).is_ok());
    let arrived: Value = serde_json::from_slice(&last_body(&world)).expect("still JSON");
    assert_eq!(arrived, json!({ "key": value, "admin": false }));
    let bare = post(HOST, &["content-type: application/json"], r#"{"key":{{API_KEY}}}"#);
    refused_as(&world, &bare, MISPLACED);
}

#[test]
fn s11_a_value_cannot_add_a_pair_to_a_form() {
    let value = "x&admin=true;y=1 +%26";
    let world = in_body(value);
    let request = post(HOST, &["content-type: application/x-www-form-urlencoded"], "key={{API_KEY}}&admin=false");
    assert!(world.fetch(&request).is_ok());
    let body = last_body(&world);
    let pairs: Vec<_> = url::form_urlencoded::parse(&body).into_owned().collect();
    let expected = [("key", value), ("admin", "false")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(pairs, expected);
}

#[test]
fn s12_a_field_stands_once_secret_or_not() {
    let world = World::echo().granted().with_secret(HOST, &[authorization(), field("x-api-key")]);
    for headers in [
        ["x-api-key: mine", "x-api-key: {{API_KEY}}"],
        ["x-api-key: {{API_KEY}}", "X-Api-Key: mine"],
        ["authorization: {{API_KEY}}", "Authorization: {{API_KEY}}"],
    ] {
        refused_as(&world, &json!({ "url": "https://api.example.com/", "headers": headers }), INVALID);
    }
    let literal = json!({ "url": "https://api.example.com/", "headers": ["authorization: Bearer mine"] });
    refused(&world, &literal, "HeaderNotAllowed", "http/header-not-allowed");
    twin(&world);
}

#[test]
fn s13_placeholders_do_not_multiply() {
    let world =
        World::with_settings("[http]\nrequest-bytes = 32768\n", |_| remit_upstream::Answer::json(200, &json!({})))
            .granted()
            .with_secret(HOST, &[Place::Body, authorization()]);
    let uses = |times: usize| post(HOST, &[], &"{{API_KEY}}".repeat(times));
    for times in [9, 100, 2_500] {
        refused_as(&world, &uses(times), MISPLACED);
    }
    assert!(world.fetch(&uses(8)).is_ok());
    assert_eq!(last_body(&world), SECRET.repeat(8).as_bytes());
    refused(&world, &uses(10_000), "RequestTooLarge", "http/request-too-large");
    // Eight uses of a long value are still too much to send.
    world.set("API_KEY", &"0123456789abcdef".repeat(400));
    let result = world.fetch(&uses(8));
    assert!(result.is_err() && told(&result).starts_with("RequestTooLarge"), "{result:?}");
    assert!(world.fetch(&uses(5)).is_ok(), "that is less");
    assert_eq!(world.upstream.seen().len(), 2);
}

#[test]
fn s49_methods_that_a_proxy_would_answer_do_not_exist() {
    let contract = include_str!("../../../wit/http.wit");
    let methods =
        contract.split("enum method {").nth(1).and_then(|rest| rest.split('}').next()).expect("the list");
    let methods: Vec<_> = methods.split(',').map(str::trim).filter(|method| !method.is_empty()).collect();
    assert_eq!(methods, ["get", "head", "post", "put", "patch", "delete"], "neither TRACE nor CONNECT");

    let world = World::echo();
    let mut manifest = remit_guests::manifest("probe");
    manifest["uses"] = json!(["http"]);
    manifest["http"] = json!({ "allow": [HOST] });
    for method in [6, 7, 255] {
        let guest = Guest::sends(method, "https://api.example.com/");
        world.home.install(guest.with_manifest(&manifest));
        let result = world.home.call("test/probe.run", &json!({}));
        assert_eq!(outcome(&result), "capability/trap", "{method}");
        assert_eq!((world.outside.counts(), world.upstream.seen().len()), ((0, 0), 0), "{method}");
        world.home.app.admin().uninstall(&"test/probe".parse().expect("a name")).expect("it was there");
    }
    world.home.install(Guest::sends(5, "https://api.example.com/").with_manifest(&manifest));
    assert_eq!(outcome(&world.home.call("test/probe.run", &json!({}))), "done");
    assert_eq!(world.upstream.seen()[0].method, "DELETE");
}

#[test]
fn s50_a_file_in_a_multipart_body_is_data() {
    let world = in_body(SECRET);
    let parts = |file: &str| {
        format!(
            "--b\r\nContent-Disposition: form-data; name=\"key\"\r\n\r\n{{{{API_KEY}}}}\r\n\
             --b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"f.bin\"\r\n\
             Content-Type: application/octet-stream\r\n\r\n{file}\r\n\
             --b\r\nContent-Disposition: form-data; name=\"g\"\r\nContent-Type: image/png\r\n\r\n{{{{API_KEY}}}}\r\n--b--\r\n"
        )
    };
    let binary = "\u{0}\u{1}{{API_KEY}}{{{{API_KEY}}}}";
    let request = post(HOST, &["content-type: multipart/form-data; boundary=b"], &parts(binary));
    assert!(world.fetch(&request).is_ok());
    let expected = parts(binary).replacen("{{API_KEY}}", SECRET, 1);
    assert_eq!(String::from_utf8_lossy(&last_body(&world)), expected, "the text part alone is filled in");
    assert_eq!(world.home.records()[0].requests[0].secrets, ["API_KEY"]);
}
