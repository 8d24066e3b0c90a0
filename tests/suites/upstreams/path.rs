//! The way of a call of an upstream's tool: the same as of any other, and what is different about it.

use remit::call::CallRequest;
use remit::error::ErrorKind;
use remit::upstreams::Reach;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::loops_processes::wait_until;
use crate::support::client::Client;
use crate::support::home::{Home, outcome, program, remit, request};
use crate::support::server::{Server, add, tool};

#[test]
fn a_call_goes_the_way_of_every_call() {
    let home = Home::new();
    let server = Server::new(
        &json!([{
            "name": "lights.set", "description": "Sets a light.",
            "inputSchema": { "type": "object", "properties": { "on": { "type": "boolean" } }, "required": ["on"] },
        }]),
        "text done",
    );
    server.add(&home, "house");
    assert_eq!(outcome(&home.call("mcp:house:lights.set", &json!({ "on": true }))), "done");
    assert!(server.heard().contains("\"name\":\"lights.set\",\"arguments\":{\"on\":true}"), "{}", server.heard());
    let record = &home.records()[0];
    assert_eq!((record.capability.as_str(), record.tool.as_str()), ("mcp/house", "lights.set"));
    let requests: Vec<_> = record
        .requests
        .iter()
        .map(|one| (one.method.as_str(), one.authority.as_str(), one.outcome.as_str()))
        .collect();
    assert_eq!(requests, [("tools/call", "mcp:house", "sent")]);
    assert_eq!(record.usage.requests, 1);

    // Not valid under the pinned schema: nothing is sent.
    let before = server.count("tools/call");
    let refused = home.call("mcp:house:lights.set", &json!({ "on": "yes" })).unwrap_err();
    assert_eq!(refused.error.kind, ErrorKind::InvalidInput);
    assert!(refused.input_schema.is_some());
    assert_eq!(outcome(&home.call("mcp:house:other", &json!({}))), "call/unknown-tool");
    assert_eq!(server.count("tools/call"), before);
}

#[test]
fn a_dry_run_sends_nothing_and_says_what_it_would() {
    let home = Home::new();
    let mut reads = tool("read");
    reads["annotations"] = json!({ "readOnlyHint": true });
    reads["outputSchema"] = json!({ "type": "object", "required": ["n"] });
    let server = Server::new(&json!([tool("write"), reads]), "text done");
    server.add(&home, "house");
    let before = server.heard();
    for name in ["write", "read"] {
        let host = home.host();
        let request = CallRequest { dry_run: true, ..request(&format!("mcp:house:{name}"), &json!({})) };
        let reply = home.threads.block_on(host.call(request, CancellationToken::new())).unwrap();
        let planned: Vec<_> = reply
            .plan
            .requests
            .iter()
            .map(|one| format!("{} {}{}", one.method, one.authority, one.path))
            .collect();
        assert_eq!(planned, [format!("tools/call mcp:house/{name}")]);
        assert_eq!(reply.usage.requests, 0);
    }
    assert_eq!(server.heard(), before, "not even a connection");
}

#[test]
fn agents_see_the_pin_under_a_safe_name_and_without_reaching_the_server() {
    let home = Home::new();
    let server = Server::new(
        &json!([tool("lights.set"), tool("lights/set"), tool("Get"), tool("get"), tool("plain")]),
        "text done",
    );
    server.add(&home, "house");
    // What is called here destroys nothing, whatever is assumed of it.
    let ended = remit(home.path(), &["restrict", "mcp/house", "--confirm", "never"], "");
    assert_eq!(ended.exit, Some(0), "{ended:?}");
    server.switch("hang", true);
    let before = server.heard();
    let mut client = Client::start(home.path());
    let names = client.tools();
    assert_eq!(names.len(), 5, "{names:?}");
    assert!(names.contains(&"mcp_house__plain".to_owned()), "{names:?}");
    for name in &names {
        assert!(
            name.len() <= 64 && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte)),
            "{name}"
        );
    }
    let mut folded: Vec<_> = names.iter().map(|name| name.to_lowercase()).collect();
    folded.dedup();
    assert_eq!(folded.len(), 5, "unique without case, too: {names:?}");
    assert_eq!(server.heard(), before, "lists come from the pin");
    server.switch("hang", false);
    server.call("text \"$(printf %s \"$line\" | grep -c lights/set)\"");
    let slashed: Vec<_> = names.iter().filter(|name| name.contains("lights_set")).cloned().collect();
    let answers: Vec<_> = slashed.iter().map(|name| client.try_call(name, &json!({})).unwrap().unwrap()).collect();
    let mut sorted = answers.clone();
    sorted.sort();
    assert_eq!(sorted, ["0", "1"], "each means its own tool");
}

#[test]
fn a_server_of_the_newer_era_is_called_too() {
    let upstream = Home::new();
    let offer = upstream.app.admin().offer_builtin(&"remit/loops".parse().unwrap()).unwrap().unwrap();
    let asks = offer.asks.clone();
    upstream.app.admin().install(offer, &asks).unwrap();
    let home = Home::new();
    let path = upstream.path().to_str().unwrap().to_owned();
    let reach = Reach::Command {
        program: program().canonicalize().unwrap().to_str().unwrap().to_owned(),
        arguments: ["serve", "--tools", "direct"].map(str::to_owned).to_vec(),
        environment: vec![("REMIT_HOME".to_owned(), path)],
    };
    add(&home, "other", &reach);
    let known = home.app.admin().upstream("other").unwrap();
    let names: Vec<_> = known.entry.capability.manifest.tools.iter().map(|tool| tool.name.clone()).collect();
    let list = names.iter().find(|name| name.ends_with("__list_loops")).unwrap_or_else(|| panic!("{names:?}"));
    let reply = home.call(&format!("mcp:other:{list}"), &json!({})).unwrap();
    assert!(reply.structured.is_some(), "{reply:?}");
}

#[test]
fn the_connection_is_kept_and_ends_with_its_program() {
    let home = Home::new();
    let server = Server::new(&json!([tool("say")]), "text $$");
    server.add(&home, "house");
    let first = outcome(&home.call("mcp:house:say", &json!({})));
    assert_eq!(outcome(&home.call("mcp:house:say", &json!({}))), first, "one process");
    let is_alive = || std::path::Path::new("/proc").join(&first).exists();
    assert!(is_alive());
    home.threads.block_on(home.app.leave_upstreams());
    wait_until(|| !is_alive(), || "it lives on".to_owned());
}

#[test]
fn what_a_program_started_ends_with_it_however_it_resists() {
    let home = Home::new();
    let server = Server::new(&json!([tool("say")]), "trap '' TERM; sleep 3600 & text $!");
    server.add(&home, "house");
    let child = outcome(&home.call("mcp:house:say", &json!({})));
    let is_alive = || std::path::Path::new("/proc").join(&child).join("exe").exists();
    assert!(is_alive(), "{child}");
    home.threads.block_on(home.app.leave_upstreams());
    wait_until(|| !is_alive(), || "it lives on".to_owned());
}

#[test]
fn a_connection_that_nobody_uses_ends() {
    let home = Home::with_settings("[upstream.house]\nidle-s = 1\n");
    let server = Server::new(&json!([tool("say")]), "text $$");
    server.add(&home, "house");
    let first = outcome(&home.call("mcp:house:say", &json!({})));
    wait_until(|| !std::path::Path::new("/proc").join(&first).exists(), || "it lives on".to_owned());
    let second = outcome(&home.call("mcp:house:say", &json!({})));
    assert_ne!(first, second, "and is made again for the next call");
}

#[test]
fn a_cancelled_call_is_told_to_the_server() {
    let home = Home::new();
    let server = Server::new(&json!([tool("say")]), ": it never answers");
    server.add(&home, "house");
    let host = home.host();
    let cancel = CancellationToken::new();
    let call = home.threads.spawn({
        let (host, cancel) = (host.clone(), cancel.clone());
        async move { host.call(request("mcp:house:say", &json!({})), cancel).await }
    });
    wait_until(|| server.count("tools/call") == 1, || server.heard());
    assert_eq!(server.count("notifications/cancelled"), 0);
    cancel.cancel();
    let failure = home.threads.block_on(call).unwrap().unwrap_err();
    assert_eq!(failure.error.kind, ErrorKind::Cancelled);
    wait_until(|| server.count("notifications/cancelled") == 1, || server.heard());
}

#[test]
fn a_server_gets_what_was_written_down_and_nothing_else() {
    let home = Home::new();
    home.app.admin().set_secret("HOUSE", b"tok_5f8Zq2pV7wXcT4").unwrap();
    let server =
        Server::new(&json!([tool("say")]), "env >\"$folder/env\"; ls /proc/$$/fd >\"$folder/fds\"; text ok");
    add(&home, "house", &server.reach(&[("TOKEN", "{{HOUSE}}"), ("PLAIN", "x")]));
    assert_eq!(outcome(&home.call("mcp:house:say", &json!({}))), "ok");
    let environment = std::fs::read_to_string(server.file("env")).unwrap();
    let mut names: Vec<_> =
        environment.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    names.sort_unstable();
    names.retain(|name| !["PATH", "HOME", "LANG", "PWD", "OLDPWD", "SHLVL", "_"].contains(name));
    assert_eq!(names, ["PLAIN", "TOKEN"]);
    assert!(environment.contains("TOKEN=tok_5f8Zq2pV7wXcT4\n"));
    // Three pipes, and what the shell itself opens from 10 on.
    let descriptors = std::fs::read_to_string(server.file("fds")).unwrap();
    let low: Vec<_> = descriptors.lines().filter(|number| number.len() == 1).collect();
    assert!(low.iter().all(|number| ["0", "1", "2", "3"].contains(number)), "{descriptors}");
    // Nowhere else.
    for command in [
        &["mcp", "list", "--json"][..],
        &["mcp", "show", "house", "--json"],
        &["mcp", "show", "house"],
        &["audit", "--json"],
    ] {
        let ended = remit(home.path(), command, "");
        assert_eq!(ended.exit, Some(0), "{ended:?}");
        assert!(!ended.stdout.contains("tok_5f8") && !ended.stderr.contains("tok_5f8"), "{ended:?}");
    }
}

#[test]
fn a_new_value_of_a_secret_counts_for_the_next_call() {
    let home = Home::new();
    let set = |value: &str| home.app.admin().set_secret("HOUSE", value.as_bytes()).unwrap();
    set("tok_5f8Zq2pV7wXcT4");
    let server = Server::new(&json!([tool("say")]), "printf %s \"$TOKEN\" >\"$folder/token\"; text ok");
    add(&home, "house", &server.reach(&[("TOKEN", "{{HOUSE}}")]));
    let got = || {
        assert_eq!(outcome(&home.call("mcp:house:say", &json!({}))), "ok");
        std::fs::read_to_string(server.file("token")).unwrap()
    };
    assert_eq!(got(), "tok_5f8Zq2pV7wXcT4");
    set("new_5f8Zq2pV7wXcT4");
    assert_eq!(got(), "new_5f8Zq2pV7wXcT4");
    home.app.admin().remove_secret("HOUSE").unwrap();
    assert_eq!(outcome(&home.call("mcp:house:say", &json!({}))), "secret/unset");
}

#[test]
fn what_is_removed_is_gone() {
    let home = Home::new();
    let server = Server::new(&json!([tool("say")]), "text ok");
    server.add(&home, "house");
    assert_eq!(outcome(&home.call("mcp:house:say", &json!({}))), "ok");
    home.app.admin().remove_upstream("house").unwrap();
    assert_eq!(outcome(&home.call("mcp:house:say", &json!({}))), "call/unknown-tool");
    assert!(home.app.admin().upstreams().unwrap().is_empty());
    server.add(&home, "house");
    home.app.admin().uninstall(&"mcp/house".parse().unwrap()).unwrap();
    assert!(home.app.admin().upstreams().unwrap().is_empty(), "by the common command, too");
}

#[test]
fn nobody_publishes_as_an_upstream() {
    let fields = |publisher: &str| -> Vec<String> {
        let manifest = serde_json::from_value(json!({
            "publisher": publisher, "slug": "house", "version": "1.0.0", "title": "T", "description": "D.",
            "tools": [{ "name": "say", "description": "D.", "inputSchema": { "type": "object", "additionalProperties": false } }],
        }));
        remit::manifest::check(&manifest.unwrap()).into_iter().map(|problem| problem.field).collect()
    };
    assert_eq!(fields("acme"), [""; 0]);
    assert_eq!(fields("mcp"), ["publisher"]);
}
