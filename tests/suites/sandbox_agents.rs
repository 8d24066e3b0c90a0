//! Files of the conversation as agents meet them over the wire: `remit serve` in both eras, with two principals, and
//! what each of them never gets to see.

use remit::admin::Allowance;
use remit::manifest::NamespaceName;
use remit::policy::Grant;
use serde_json::{Value, json};

use crate::support::client::Client;
use crate::support::door::{Door, initialize, serve};
use crate::support::home::{Home, built, remit, renamed};

const ADDRESS: &str = "remit://sandbox/test/scribe/cat.txt";

/// A home with `test/scribe` and `test/mail`, which may keep files, and a door with two principals.
struct Scene {
    home: Home,
    door: Door,
    ann: String,
    bob: String,
}

/// An agent: who it is, and where it is.
#[derive(Clone)]
struct Agent<'a> {
    door: &'a Door,
    fields: Vec<String>,
    /// A modern one names its conversation, or does not.
    meta: Option<Value>,
    path: &'static str,
}

fn sandbox() -> Vec<Grant> {
    vec![Grant { namespace: NamespaceName::Sandbox, entry: None }]
}

fn http() -> Grant {
    Grant { namespace: NamespaceName::Http, entry: None }
}

impl Scene {
    fn new() -> Self {
        let home = Home::new();
        let mut granted = sandbox();
        granted.push(http());
        home.install_with(built("scribe"), &granted);
        let mail = renamed(&built("scribe"), |manifest| manifest["slug"] = json!("mail"));
        home.install_with(mail, &granted);
        let add = |name: &str| {
            let new = home.app.admin().add_principal(name, Allowance::default(), None).expect("a principal");
            format!("Authorization: Bearer {}", *new.token)
        };
        let (ann, bob) = (add("ann"), add("bob"));
        let door = Door::of(&mut serve("127.0.0.1:0", home.path()));
        Self { home, door, ann, bob }
    }

    fn modern(&self, token: &str, conversation: Option<&str>) -> Agent<'_> {
        let meta = match conversation {
            Some(name) => json!({ "remit/conversation": name }),
            None => json!({}),
        };
        Agent { door: &self.door, fields: vec![token.to_owned()], meta: Some(meta), path: "/mcp" }
    }

    fn legacy(&self, token: &str) -> Agent<'_> {
        let begun = self.door.send("POST", "/mcp", &[token], &initialize().to_string());
        let mut agent = Agent { door: &self.door, fields: vec![token.to_owned()], meta: None, path: "/mcp" };
        agent.fields.push(begun.session());
        agent.fields.push("MCP-Protocol-Version: 2025-11-25".to_owned());
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string();
        let fields: Vec<&str> = agent.fields.iter().map(String::as_str).collect();
        assert_eq!(self.door.send("POST", "/mcp", &fields, &ready).status, 202);
        agent
    }
}

impl Agent<'_> {
    fn ask(&self, method: &str, params: &Value) -> Value {
        let fields: Vec<&str> = self.fields.iter().map(String::as_str).collect();
        match &self.meta {
            Some(meta) => {
                let mut params = params.clone();
                params["_meta"] = meta.clone();
                self.door.ask_at(self.path, &fields, method, &params).json()
            }
            None => {
                let body = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
                self.door.send("POST", self.path, &fields, &body.to_string()).json()
            }
        }
    }

    fn write(&self, name: &str, text: &str) -> Value {
        let arguments = json!({ "name": name, "text": text });
        let tool = if self.path == "/mcp" { "scribe__write" } else { "write" };
        self.ask("tools/call", &json!({ "name": tool, "arguments": arguments }))
    }

    /// The text at an address, or the code of the error.
    fn read(&self, uri: &str) -> String {
        let answered = self.ask("resources/read", &json!({ "uri": uri }));
        let contents = &answered["result"]["contents"][0];
        let text = contents["text"].as_str().or(contents["blob"].as_str());
        text.map_or_else(|| answered["error"]["code"].to_string(), str::to_owned)
    }

    /// The files that are listed.
    fn files(&self) -> Vec<String> {
        let listed = self.ask("resources/list", &json!({}));
        let all = listed["result"]["resources"].as_array().unwrap_or_else(|| panic!("{listed}"));
        let uris =
            all.iter().filter_map(|one| one["uri"].as_str()).filter(|uri| uri.starts_with("remit://sandbox/"));
        uris.map(str::to_owned).collect()
    }
}

/// There is no such resource, in either era.
fn is_unknown(code: &str) -> bool {
    code == "-32002" || code == "-32602"
}

#[test]
fn an_agent_lists_and_reads_what_a_tool_wrote_in_its_conversation() {
    let scene = Scene::new();
    for agent in
        [scene.modern(&scene.ann, Some("chat-1")), scene.modern(&scene.ann, None), scene.legacy(&scene.ann)]
    {
        assert_eq!(agent.files(), Vec::<String>::new());
        let written = agent.write("cat.txt", "meow");
        let link = &written["result"]["content"][1];
        assert_eq!(
            (&link["type"], &link["uri"], &link["mimeType"]),
            (&json!("resource_link"), &json!(ADDRESS), &json!("text/plain"))
        );
        assert_eq!(agent.files(), [ADDRESS]);
        assert_eq!(agent.read(ADDRESS), "meow");
        assert_eq!(agent.read(&format!("{ADDRESS}?offset=1&length=2")), "eo");
        agent.write("cat.png", "meow");
        assert_eq!(agent.read("remit://sandbox/test/scribe/cat.png"), "bWVvdw==", "bytes");
        for nothing in [
            "remit://sandbox/test/scribe/dog.txt",
            "remit://sandbox/test/scribe/CAT.txt",
            "remit://sandbox/test/mail/cat.txt",
            "remit://sandbox/test/scribe/../scribe/cat.txt",
            "remit://sandbox/test/scribe/",
            "remit://sandbox/",
            "remit://sandbox/test/scribe/cat.txt?offset=-1&length=2",
            "remit://sandbox/test/scribe/cat.txt?x",
        ] {
            assert!(is_unknown(&agent.read(nothing)), "{nothing}: {}", agent.read(nothing));
        }
    }
    let templates = scene.modern(&scene.ann, None).ask("resources/templates/list", &json!({}));
    assert!(templates.to_string().contains("remit://sandbox/{publisher}/{slug}/{+name}"), "{templates}");
}

#[test]
fn db_15_nobody_reads_the_files_of_another_conversation_or_another_principal() {
    let scene = Scene::new();
    let agents = [
        scene.modern(&scene.ann, Some("chat-1")),
        scene.modern(&scene.ann, Some("chat-2")),
        scene.modern(&scene.ann, None),
        scene.legacy(&scene.ann),
        scene.legacy(&scene.ann),
        scene.modern(&scene.bob, Some("chat-1")),
        scene.modern(&scene.bob, None),
        scene.legacy(&scene.bob),
    ];
    for (number, agent) in agents.iter().enumerate() {
        let written = agent.write(&format!("own-{number}.txt"), &number.to_string());
        assert_eq!(written["result"]["isError"], json!(false), "{written}");
    }
    for (number, agent) in agents.iter().enumerate() {
        let own = format!("remit://sandbox/test/scribe/own-{number}.txt");
        assert_eq!(agent.files(), std::slice::from_ref(&own), "{number}");
        assert_eq!(agent.read(&own), number.to_string());
        for other in (0..agents.len()).filter(|other| *other != number) {
            let code = agent.read(&format!("remit://sandbox/test/scribe/own-{other}.txt"));
            assert!(is_unknown(&code), "{number} reads {other}: {code}");
        }
    }
    // A session's id says nothing in the place of a name, nor a name in that of a session.
    let session = agents[3].fields[1].trim_start_matches("Mcp-Session-Id: ").to_owned();
    assert_eq!(scene.modern(&scene.ann, Some(&session)).files(), Vec::<String>::new());
    let mut modern = scene.modern(&scene.ann, None);
    modern.fields.push(agents[3].fields[1].clone());
    assert!(!modern.files().contains(&"remit://sandbox/test/scribe/own-3.txt".to_owned()));
    // A name that is none is a mistake, and no conversation that others may be in.
    for bad in [json!(""), json!(7), json!("a b"), json!("\u{202e}"), json!("x".repeat(129))] {
        let mut agent = scene.modern(&scene.ann, None);
        agent.meta = Some(json!({ "remit/conversation": bad }));
        assert_eq!(agent.ask("resources/list", &json!({}))["error"]["code"], -32602, "{bad}");
        assert_eq!(agent.write("x.txt", "1")["error"]["code"], -32602, "{bad}");
    }
}

#[test]
fn what_is_revoked_hidden_or_removed_shows_no_files() {
    let scene = Scene::new();
    let agent = scene.modern(&scene.ann, None);
    agent.write("cat.txt", "meow");
    let name = "test/scribe".parse().expect("a name");
    let admin = scene.home.app.admin();
    let is_there = || {
        let (files, read) = (agent.files(), agent.read(ADDRESS));
        assert_eq!(files.is_empty(), is_unknown(&read), "{files:?} {read}");
        !files.is_empty()
    };
    assert!(is_there());
    admin.revoke(&name, &sandbox()).expect("granted");
    assert!(!is_there());
    admin.grant(&name, &sandbox()).expect("declared");
    assert!(is_there());
    let restrict = |arguments: &[&str]| {
        let all = [&["restrict", "test/scribe"], arguments].concat();
        let done = remit(scene.home.path(), &all, "");
        assert_eq!(done.exit, Some(0), "{done:?}");
    };
    restrict(&["--role", "editor"]);
    assert!(!is_there());
    restrict(&["--clear"]);
    assert!(is_there());
    let gone = remit(scene.home.path(), &["uninstall", "test/scribe", "--purge"], "");
    assert_eq!(gone.exit, Some(0), "{gone:?}");
    assert!(!is_there());
    let listed = remit(scene.home.path(), &["sandbox", "list", "--json"], "").json();
    assert_eq!(listed, json!([]), "a purge takes files along");
}

#[test]
fn who_gets_the_name_of_a_principal_gets_none_of_its_files() {
    let mut scene = Scene::new();
    scene.modern(&scene.ann, None).write("cat.txt", "meow");
    scene.modern(&scene.bob, None).write("cat.txt", "purr");
    let admin = scene.home.app.admin();
    admin.remove_principal("ann").expect("there");
    let new = admin.add_principal("ann", Allowance::default(), None).expect("a principal");
    scene.ann = format!("Authorization: Bearer {}", *new.token);
    assert_eq!(scene.modern(&scene.ann, None).files(), Vec::<String>::new());
    assert!(is_unknown(&scene.modern(&scene.ann, None).read(ADDRESS)));
    assert_eq!(scene.modern(&scene.bob, None).read(ADDRESS), "purr", "the others keep theirs");
}

#[test]
fn an_endpoint_of_one_capability_shows_its_files_alone() {
    let scene = Scene::new();
    let joint = scene.modern(&scene.ann, Some("chat-1"));
    joint.write("cat.txt", "meow");
    joint.ask("tools/call", &json!({ "name": "mail__write", "arguments": { "name": "mail.txt", "text": "1" } }));
    assert_eq!(joint.files(), ["remit://sandbox/test/mail/mail.txt", ADDRESS]);
    let mut one = scene.modern(&scene.ann, Some("chat-1"));
    one.path = "/mcp/test/mail";
    assert_eq!(one.files(), ["remit://sandbox/test/mail/mail.txt"]);
    assert!(is_unknown(&one.read(ADDRESS)));
    assert_eq!(one.read("remit://sandbox/test/mail/mail.txt"), "1");
}

#[test]
fn a_modern_client_hears_of_its_own_files_and_of_nobody_elses() {
    let scene = Scene::new();
    let address = |name: &str| format!("remit://sandbox/test/scribe/{name}.txt");
    let wanted = json!({
        "resourcesListChanged": true,
        "resourceSubscriptions": [address("a"), address("b"), "remit://sandbox/test/scribe/..", "remit://sandbox/no/body/x"],
    });
    let listen = |token: &str, conversation: &str| {
        let params = json!({ "_meta": { "remit/conversation": conversation }, "notifications": wanted });
        let mut next = scene.door.listen(&[token], &params);
        let accepted = next()["params"]["notifications"]["resourceSubscriptions"].clone();
        assert_eq!(accepted, json!([address("a"), address("b")]));
        next
    };
    let mut ann = listen(&scene.ann, "chat-1");
    let mut other = listen(&scene.ann, "chat-2");
    let mut bob = listen(&scene.bob, "chat-1");
    scene.modern(&scene.ann, Some("chat-1")).write("a.txt", "1");
    scene.modern(&scene.ann, Some("chat-2")).write("b.txt", "1");
    scene.modern(&scene.bob, Some("chat-1")).write("b.txt", "1");
    let two = |next: &mut dyn FnMut() -> Value| {
        [next(), next()].map(|message| {
            let method =
                message["method"].as_str().unwrap_or_default().trim_start_matches("notifications/").to_owned();
            format!("{method} {}", message["params"]["uri"].as_str().unwrap_or_default())
        })
    };
    let heard =
        |name: &str| ["resources/list_changed ".to_owned(), format!("resources/updated {}", address(name))];
    assert_eq!(two(&mut ann), heard("a"));
    // What comes first to these is of their own conversation: nothing came before it.
    assert_eq!(two(&mut other), heard("b"));
    assert_eq!(two(&mut bob), heard("b"));
}

#[test]
fn a_legacy_client_hears_of_files_on_its_connection() {
    let scene = Scene::new();
    let mut client = Client::start(scene.home.path());
    client.request("resources/subscribe", &json!({ "uri": ADDRESS })).expect("it can be listened to");
    let nothing = client.request("resources/subscribe", &json!({ "uri": "remit://sandbox/no/body/x" }));
    assert_eq!(nothing.expect_err("there is no such capability")["code"], -32002);
    // Another conversation of another process, with the same address.
    let mut other = Client::start(scene.home.path());
    let call = json!({ "name": "scribe__write", "arguments": { "name": "cat.txt", "text": "meow" } });
    other.request("tools/call", &call).expect("written");
    client.send(&json!({ "jsonrpc": "2.0", "id": 99, "method": "tools/call", "params": call }));
    let mut heard = Vec::new();
    while heard.len() < 3 {
        let message = client.receive();
        heard.push(message["method"].as_str().map_or_else(|| message["id"].to_string(), str::to_owned));
    }
    heard.sort();
    assert_eq!(heard, ["99", "notifications/resources/list_changed", "notifications/resources/updated"]);
    // The connection is the conversation.
    let read = client.request("resources/read", &json!({ "uri": ADDRESS })).expect("its own");
    assert_eq!(read["contents"][0]["text"], "meow");
    let mut third = Client::start(scene.home.path());
    assert_eq!(
        third.request("resources/read", &json!({ "uri": ADDRESS })).expect_err("not its own")["code"],
        -32002
    );
}

#[test]
fn a_file_that_is_too_large_is_read_in_parts() {
    let scene = Scene::new();
    let agent = scene.modern(&scene.ann, None);
    let arguments = json!({ "prefix": "big", "bytes": 5_000_000, "times": 1 });
    agent.ask("tools/call", &json!({ "name": "scribe__fill", "arguments": arguments }));
    let uri = "remit://sandbox/test/scribe/big0";
    let whole = agent.ask("resources/read", &json!({ "uri": uri }));
    assert_eq!((&whole["error"]["code"], &whole["error"]["data"]["bytes"]), (&json!(-32602), &json!(5_000_000)));
    assert_eq!(agent.read(&format!("{uri}?offset=4999998&length=1048576")), "eHg=");
    assert_eq!(agent.read(&format!("{uri}?offset=5000000&length=9")), "");
}
