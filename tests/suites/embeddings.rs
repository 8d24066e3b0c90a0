//! What searches find by meaning, and what an endpoint that is slow, dead, broken or hostile can do to them: nothing
//! but leave them with words.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use remit::app::Embeddings;
use remit::clock::Clock;
use remit::policy::Identity;
use remit_upstream::{Answer, Gate, Upstream};
use serde_json::{Value, json};

use crate::support::home::{Home, built, program, remit, renamed};
use crate::support::outside::{Lookup, Outside};

/// How long what happens beside the test may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// The value of the endpoint's key.
const KEY: &str = "emb_live_7Yq3pV9wXcT2nLrC";

/// The name of the endpoint on another machine.
const HOST: &str = "embed.example.com";

/// What an endpoint does with a request: the number of the request, and the texts.
type Behaviour = dyn Fn(usize, &[String]) -> Reply + Send + Sync;

enum Reply {
    /// The vectors of the texts.
    Vectors,
    /// This status with this body, and header fields.
    Raw(u16, &'static str, String),
    /// The vectors once the gate is open.
    Behind(Gate),
    /// A body without end.
    Endless,
}

/// An endpoint on this machine.
struct Endpoint {
    address: SocketAddr,
    heard: Arc<Mutex<Vec<Heard>>>,
    /// Bytes of endless bodies that somebody took.
    taken: Arc<AtomicU64>,
}

#[derive(Clone)]
struct Heard {
    head: String,
    texts: Vec<String>,
}

/// What a text means: what is broken, the weather, writing, airships, and anything.
fn meaning(text: &str) -> [f32; 5] {
    let text = text.to_lowercase();
    let has = |words: &[&str]| f32::from(u8::from(words.iter().any(|word| text.contains(word))));
    [
        has(&["defect", "malfunction"]) * 9.0,
        has(&["gale", "meteorology"]) * 9.0,
        has(&["memo", "jotting"]) * 9.0,
        has(&["zeppelin"]) * 9.0,
        1.0,
    ]
}

fn vectors(texts: &[String]) -> String {
    let data = texts.iter().enumerate().map(|(at, text)| json!({ "index": at, "embedding": meaning(text) }));
    json!({ "object": "list", "data": data.collect::<Vec<_>>(), "model": "m" }).to_string()
}

impl Endpoint {
    fn start(behaviour: impl Fn(usize, &[String]) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (heard, taken) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicU64::new(0)));
        let (log, bytes, behaviour): (_, _, Arc<Behaviour>) =
            (Arc::clone(&heard), Arc::clone(&taken), Arc::new(behaviour));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (log, bytes, behaviour) = (Arc::clone(&log), Arc::clone(&bytes), Arc::clone(&behaviour));
                std::thread::spawn(move || answer(stream, &log, &bytes, &*behaviour));
            }
        });
        Self { address, heard, taken }
    }

    fn well() -> Self {
        Self::start(|_, _| Reply::Vectors)
    }

    fn settings(&self, more: &str) -> String {
        let address = self.address;
        format!(
            "[search.embeddings]\nendpoint = \"http://{address}/v1/embeddings\"\nmodel = \"m\"\nwait-ms = 5000\n{more}"
        )
    }

    fn heard(&self) -> Vec<Heard> {
        self.heard.lock().unwrap().clone()
    }

    /// Texts that it was asked about, each as often as it was.
    fn texts(&self) -> Vec<String> {
        let mut texts: Vec<String> = self.heard().into_iter().flat_map(|heard| heard.texts).collect();
        texts.sort();
        texts
    }
}

fn answer(stream: TcpStream, log: &Mutex<Vec<Heard>>, taken: &AtomicU64, behaviour: &Behaviour) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        if line.trim_end().is_empty() {
            break;
        }
        if let Some(rest) = line.to_ascii_lowercase().strip_prefix("content-length: ") {
            length = rest.trim().parse().ok()?;
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    let texts: Vec<String> = serde_json::from_value(message["input"].clone()).unwrap_or_default();
    let number = {
        let mut log = log.lock().unwrap();
        log.push(Heard { head, texts: texts.clone() });
        log.len()
    };
    let mut stream = reader.into_inner();
    let (status, fields, body) = match behaviour(number, &texts) {
        Reply::Vectors => (200, "", vectors(&texts)),
        Reply::Raw(status, fields, body) => (status, fields, body),
        Reply::Behind(gate) => {
            let threads = tokio::runtime::Builder::new_current_thread().build().ok()?;
            threads.block_on(gate.passed());
            (200, "", vectors(&texts))
        }
        Reply::Endless => {
            stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").ok()?;
            loop {
                stream.write_all(b"400\r\n").ok()?;
                stream.write_all(&[b' '; 0x400]).ok()?;
                stream.write_all(b"\r\n").ok()?;
                taken.fetch_add(0x400, Ordering::Relaxed);
            }
        }
    };
    let length = body.len();
    write!(stream, "HTTP/1.1 {status} Whatever\r\n{fields}content-length: {length}\r\n\r\n{body}").ok()
}

/// A capability whose one tool is described so.
fn tool(slug: &str, description: &str) -> Vec<u8> {
    renamed(&built("echo"), |manifest| {
        manifest["slug"] = json!(slug);
        manifest["title"] = json!(format!("The {slug}"));
        manifest["tools"].as_array_mut().expect("tools").truncate(1);
        manifest["tools"][0]["description"] = json!(description);
    })
}

fn start(home: &Home) -> Embeddings {
    home.threads.block_on(async { home.app.start_embeddings() }).expect("embeddings start")
}

fn stop(home: &Home, embeddings: Embeddings) {
    home.threads.block_on(embeddings.stop());
}

/// What this caller finds: ids, each with why.
fn found_by(home: &Home, caller: &Identity, question: &str) -> Vec<(String, String)> {
    let host = home.host();
    let found = home.threads.block_on(host.search(caller, question, 8)).expect("an answer");
    found.into_iter().map(|found| (found.id, found.why.join(", "))).collect()
}

fn found(home: &Home, question: &str) -> Vec<(String, String)> {
    found_by(home, &Identity::operator("test"), question)
}

fn is_tool(found: &[(String, String)], slug: &str) -> bool {
    found.iter().any(|(id, _)| id.starts_with(&format!("tool:test/{slug}.")))
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        std::thread::yield_now();
    }
}

/// Whether all texts have vectors.
fn is_whole(home: &Home) -> bool {
    let (known, texts) = counted(home);
    known == texts
}

fn counted(home: &Home) -> (usize, usize) {
    let state = home.threads.block_on(home.app.look_at_embeddings()).expect("a state").expect("a source");
    (state.known, state.texts)
}

#[test]
fn meaning_finds_what_no_word_does_and_says_so() {
    let endpoint = Endpoint::well();
    let home = Home::with_settings(&endpoint.settings(""));
    home.install(tool("tracker", "Files a defect."));
    home.install(tool("sky", "Meteorology for a place."));
    assert_eq!(found(&home, "malfunction"), [], "words alone");
    let embeddings = start(&home);
    until("found by meaning", || is_tool(&found(&home, "malfunction"), "tracker"));
    let by_meaning = found(&home, "malfunction");
    assert!(!is_tool(&by_meaning, "sky"), "{by_meaning:?}");
    let (_, why) = by_meaning.iter().find(|(id, _)| id.starts_with("tool:")).unwrap();
    assert_eq!(why, "meaning");
    let (id, why) = &found(&home, "file a defect")[0];
    assert!(id.starts_with("tool:test/tracker.") && why.contains("defect") && why.ends_with("meaning"), "{why}");
    assert_eq!(found(&home, "zeppelin").len(), 0, "what is like nothing here finds nothing");
    // What is installed later is learnt as well.
    home.install(tool("pad", "Keeps a memo."));
    until("the new one is found", || is_tool(&found(&home, "jotting"), "pad"));
    stop(&home, embeddings);
}

#[test]
fn what_a_caller_may_not_use_is_not_found_by_meaning() {
    let endpoint = Endpoint::well();
    let home = Home::with_settings(&endpoint.settings(""));
    let secret = renamed(&tool("tracker", "Files a defect."), |manifest| {
        manifest["tools"][0]["requiredRole"] = json!("boss");
    });
    home.install(secret);
    home.install(tool("sky", "Meteorology for a place."));
    assert_eq!(remit(home.path(), &["principal", "add", "bob"], "").exit, Some(0));
    let bob = Identity::stored("bob");
    let embeddings = start(&home);
    until("the operator finds it", || is_tool(&found(&home, "malfunction"), "tracker"));
    for question in ["malfunction", "a defect", "tracker malfunction", "gale malfunction"] {
        let found = found_by(&home, &bob, question);
        assert!(!format!("{found:?}").contains("tracker"), "{question}: {found:?}");
    }
    assert!(is_tool(&found_by(&home, &bob, "gale"), "sky"), "what is bob's is found by meaning");
    stop(&home, embeddings);
}

#[test]
fn no_text_is_asked_about_twice_whatever_happens_in_between() {
    const BATCH: usize = 4;
    let broken = Arc::new(AtomicU64::new(0));
    let flag = Arc::clone(&broken);
    let endpoint = Endpoint::start(move |number, _| match number {
        // In the middle, once.
        3 => {
            flag.fetch_add(1, Ordering::Relaxed);
            Reply::Raw(500, "", String::new())
        }
        _ => Reply::Vectors,
    });
    let settings = endpoint.settings("batch = 4\n");
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("remit.toml"), &settings).unwrap();
    let path = folder.path().to_owned();
    let home = Home::open(folder);
    for number in 0..12 {
        home.install(tool(&format!("tool-{number}"), &format!("Does thing {number} with a defect.")));
    }
    let embeddings = start(&home);
    until("the endpoint failed", || broken.load(Ordering::Relaxed) > 0);
    // The process ends in the pause after the failure.
    stop(&home, embeddings);
    drop(home.host());
    let asked_before = endpoint.texts().len();
    assert!(asked_before <= 3 * BATCH, "{asked_before}");

    let left = tempfile::tempdir().unwrap();
    copy(&path, left.path());
    drop(home);
    let home = Home::open(left);
    let embeddings = start(&home);
    until("all is known", || is_whole(&home));
    stop(&home, embeddings);
    let texts: Vec<String> = endpoint.texts().into_iter().filter(|text| text != "weather").collect();
    let mut once = texts.clone();
    once.dedup();
    assert!(once.len() > 24, "{}", once.len());
    assert!(texts.len() - once.len() <= BATCH, "no more than the batch that failed: {texts:?}");
    let requests = endpoint.heard().len();

    // Nothing is new: nothing is asked, and everything is there.
    let embeddings = start(&home);
    until("found from what was kept", || found(&home, "malfunction").len() > 3);
    stop(&home, embeddings);
    let further: Vec<String> = endpoint.heard().into_iter().skip(requests).flat_map(|heard| heard.texts).collect();
    assert!(further.iter().all(|text| text == "malfunction" || text == "weather"), "{further:?}");
}

fn copy(from: &std::path::Path, to: &std::path::Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            std::fs::create_dir(&target).unwrap();
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), &target).unwrap();
        }
    }
}

#[test]
fn a_dead_or_slow_endpoint_leaves_words() {
    let gate = Gate::closed();
    let held = gate.clone();
    let slow = Endpoint::start(move |_, texts| match texts {
        [one] if one == "malfunction of the sky" => Reply::Behind(held.clone()),
        _ => Reply::Vectors,
    });
    let home = Home::with_settings(&slow.settings("").replace("wait-ms = 5000", "wait-ms = 20"));
    home.install(tool("tracker", "Files a defect."));
    home.install(tool("sky", "Meteorology for a place."));
    let embeddings = start(&home);
    until("all is known", || is_whole(&home));
    // The gate is closed: that there is an answer at all says that nobody waited for it.
    let by_words = found(&home, "malfunction of the sky");
    assert!(is_tool(&by_words, "sky") && !is_tool(&by_words, "tracker"), "{by_words:?}");
    gate.open();
    until("the late answer is kept", || is_tool(&found(&home, "malfunction of the sky"), "tracker"));
    let asked = slow.texts().iter().filter(|text| *text == "malfunction of the sky").count();
    assert!(asked <= 4, "no more than are asked at once: {asked}");
    stop(&home, embeddings);

    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let settings = format!(
        "[search.embeddings]\nendpoint = \"http://{nobody}/v1/embeddings\"\nmodel = \"m\"\nwait-ms = 5000\n"
    );
    let home = Home::with_settings(&settings);
    home.install(tool("sky", "Meteorology for a place."));
    let embeddings = start(&home);
    assert!(is_tool(&found(&home, "sky"), "sky"));
    let ended = remit(home.path(), &["doctor", "--json"], "");
    let finding = finding(&ended.json());
    assert_eq!(finding["state"], "warn");
    assert!(finding["what"].as_str().unwrap().contains("nobody listens there"), "{finding}");
    stop(&home, embeddings);
}

fn finding(findings: &Value) -> Value {
    let findings = findings.as_array().expect("findings");
    findings.iter().find(|finding| finding["check"] == "embeddings").expect("one of embeddings").clone()
}

#[test]
fn a_wrong_answer_counts_for_nothing() {
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    other.set_nonblocking(true).unwrap();
    let elsewhere: &'static str =
        Box::leak(format!("location: http://{}/v1/embeddings\r\n", other.local_addr().unwrap()).into_boxed_str());
    let cases: Vec<(Box<Behaviour>, &str)> = vec![
        (
            Box::new(|_, _| Reply::Raw(200, "", r#"{"data":[]}"#.to_owned())),
            "its answer has 0 vectors for 1 texts",
        ),
        (
            Box::new(|_, _| Reply::Raw(200, "", r#"{"data":[{"embedding":[NaN,1]}]}"#.to_owned())),
            "its answer is no list of numbers for each text",
        ),
        (
            Box::new(|_, _| Reply::Raw(200, "", r#"{"data":[{"embedding":[0,0]}]}"#.to_owned())),
            "its answer has a vector without a direction",
        ),
        (Box::new(|_, _| Reply::Raw(200, "", "[".repeat(100_000))), "its answer is no list of numbers"),
        (
            Box::new(|_, _| Reply::Raw(200, "content-encoding: gzip\r\n", "\u{1f}".to_owned())),
            "no list of numbers",
        ),
        (Box::new(|_, _| Reply::Raw(401, "", format!("{KEY} <script>"))), "it answers with status 401"),
        (Box::new(move |_, _| Reply::Raw(307, elsewhere, String::new())), "it answers with status 307"),
        (Box::new(|_, _| Reply::Endless), "its answer is larger than `http.response-bytes`"),
    ];
    for (behaviour, expected) in cases {
        let endpoint = Endpoint::start(behaviour);
        let home = Home::with_settings(&endpoint.settings(""));
        home.install(tool("sky", "Meteorology for a place."));
        let embeddings = start(&home);
        until("it was asked", || !endpoint.heard().is_empty());
        let by_words = found(&home, "sky");
        assert!(is_tool(&by_words, "sky"), "{expected}: {by_words:?}");
        assert!(by_words.iter().all(|(_, why)| !why.contains("meaning")), "{expected}: {by_words:?}");
        stop(&home, embeddings);
        let state = home.threads.block_on(home.app.look_at_embeddings()).unwrap().unwrap();
        assert_eq!(state.known, 0, "{expected}");
        let why = state.reached.unwrap_err();
        assert!(why.contains(expected) && !why.contains("script"), "{expected}: {why}");
        assert!(endpoint.taken.load(Ordering::Relaxed) < 64 * 1024 * 1024, "a body without end is not read to it");
    }
    assert!(other.accept().is_err(), "nobody followed the redirect");
}

#[test]
fn another_dimension_is_another_model() {
    let endpoint = Endpoint::start(|_, texts| match texts {
        [one] if one == "weather" => {
            Reply::Raw(200, "", json!({ "data": [{ "embedding": [1.0, 2.0] }] }).to_string())
        }
        _ => Reply::Vectors,
    });
    let home = Home::with_settings(&endpoint.settings(""));
    home.install(tool("tracker", "Files a defect."));
    let embeddings = start(&home);
    until("all is known", || is_whole(&home));
    assert!(is_tool(&found(&home, "malfunction"), "tracker"));
    let why = home.threads.block_on(home.app.look_at_embeddings()).unwrap().unwrap().reached.unwrap_err();
    assert!(why.contains("it answers with 2 numbers a text, and with 5 before"), "{why}");
    stop(&home, embeddings);
}

#[test]
fn a_text_that_is_refused_keeps_no_other_from_its_vector() {
    let endpoint = Endpoint::start(|_, texts| {
        if texts.iter().any(|text| text.contains("unspeakable")) {
            Reply::Raw(400, "", String::new())
        } else {
            Reply::Vectors
        }
    });
    let home = Home::with_settings(&endpoint.settings("batch = 2\n"));
    home.install(tool("tracker", "Files a defect."));
    home.install(tool("bad", "An unspeakable thing."));
    let embeddings = start(&home);
    until("all but one are known", || {
        let (known, texts) = counted(&home);
        known + 1 == texts
    });
    assert!(is_tool(&found(&home, "malfunction"), "tracker"));
    stop(&home, embeddings);
}

#[test]
fn the_key_goes_to_the_endpoint_and_nowhere_else() {
    let refused = AtomicU64::new(0);
    let endpoint = Endpoint::start(move |_, texts| {
        let is_served = texts != ["weather"];
        if is_served && refused.fetch_add(1, Ordering::Relaxed) == 0 {
            // It says back what it got.
            return Reply::Raw(401, "www-authenticate: Bearer\r\n", format!("{{\"error\":\"{KEY} is wrong\"}}"));
        }
        Reply::Vectors
    });
    let home = Home::with_settings(&endpoint.settings("secret = \"EMBEDDINGS_KEY\"\n"));
    home.app.admin().set_secret("EMBEDDINGS_KEY", KEY.as_bytes()).expect("a good secret");
    home.install(tool("tracker", "Files a defect."));
    let mut served = Command::new(program())
        .arg("serve")
        .env("REMIT_HOME", home.path())
        .env("REMIT_LOG", "trace")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("remit serves");
    until("all is known", || {
        let known = served.try_wait().unwrap().is_none();
        assert!(known, "it went on serving");
        is_whole(&home)
    });
    drop(served.stdin.take());
    let output = served.wait_with_output().unwrap();
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(log.contains("it answers with status 401"), "{log}");
    assert!(!log.contains(KEY), "{log}");
    let expected = format!("authorization: Bearer {KEY}");
    let heard = endpoint.heard();
    assert!(heard.iter().all(|heard| heard.head.lines().any(|line| line.eq_ignore_ascii_case(&expected))));
    for file in ["remit.db", "remit.db-wal"] {
        let bytes = std::fs::read(home.path().join(file)).unwrap_or_default();
        assert!(!bytes.windows(KEY.len()).any(|window| window == KEY.as_bytes()), "{file}");
    }
    let sound = finding(&remit(home.path(), &["doctor", "--json"], "").json());
    assert_eq!(
        (&sound["state"], sound["what"].as_str().unwrap().ends_with("texts have vectors")),
        (&json!("ok"), true)
    );

    // Without a key nothing is sent at all.
    let sent = endpoint.heard().len();
    assert_eq!(remit(home.path(), &["secret", "remove", "EMBEDDINGS_KEY"], "").exit, Some(0));
    let why = home.threads.block_on(home.app.look_at_embeddings()).unwrap().unwrap().reached.unwrap_err();
    assert_eq!((why.as_str(), endpoint.heard().len()), ("the secret `EMBEDDINGS_KEY` is not set", sent));
}

#[test]
fn of_several_processes_one_asks() {
    let endpoint = Endpoint::well();
    let home = Home::with_settings(&endpoint.settings("batch = 2\n"));
    for number in 0..8 {
        home.install(tool(&format!("tool-{number}"), &format!("Does thing {number}.")));
    }
    let serve = || {
        let mut command = Command::new(program());
        command.arg("serve").env("REMIT_HOME", home.path()).stdin(Stdio::piped()).stdout(Stdio::null());
        command.stderr(Stdio::null()).spawn().expect("remit serves")
    };
    let served = [serve(), serve(), serve()];
    until("all is known", || is_whole(&home));
    for mut served in served {
        drop(served.stdin.take());
        served.wait().unwrap();
    }
    let mut texts = endpoint.texts();
    texts.retain(|text| text != "weather");
    let all = texts.len();
    texts.dedup();
    assert_eq!((texts.len(), all > 16), (all, true), "each text was asked about once");
}

#[test]
fn an_endpoint_elsewhere_is_reached_as_the_rules_for_addresses_say() {
    let upstream = Upstream::start(&[HOST], |seen| {
        let message: Value = serde_json::from_slice(&seen.body).unwrap();
        let texts: Vec<String> = serde_json::from_value(message["input"].clone()).unwrap();
        Answer::new(200, "application/json", vectors(&texts))
    });
    let folder = tempfile::tempdir().unwrap();
    let authority = folder.path().join("authority.pem");
    std::fs::write(&authority, upstream.authority_pem()).unwrap();
    let settings = format!(
        "[search.embeddings]\nendpoint = \"https://{HOST}/v1/embeddings\"\nmodel = \"m\"\nsecret = \"EMBEDDINGS_KEY\"\n\
         wait-ms = 5000\nhttp.ca = [{:?}]\n",
        authority.display().to_string()
    );
    std::fs::write(folder.path().join("remit.toml"), settings).unwrap();
    let outside = Outside::at(upstream.address());
    let home = Home::open_in(folder, outside.wired(), Arc::new(Clock::system()));
    home.app.admin().set_secret("EMBEDDINGS_KEY", KEY.as_bytes()).expect("a good secret");
    home.install(tool("tracker", "Files a defect."));
    let embeddings = start(&home);
    until("found by meaning", || is_tool(&found(&home, "malfunction"), "tracker"));
    stop(&home, embeddings);
    let seen = upstream.seen();
    assert!(seen.iter().all(|seen| seen.header("authorization") == Some(&format!("Bearer {KEY}"))));
    // The same name at an address of the network inside: nobody is dialled.
    outside.name(HOST, Lookup::Address("10.0.0.7".parse().unwrap()));
    let why = home.threads.block_on(home.app.look_at_embeddings()).unwrap().unwrap().reached.unwrap_err();
    assert!(why.contains("search.embeddings.http"), "{why}");
    assert_eq!(upstream.seen().len(), seen.len());
}

#[test]
fn a_model_in_a_folder_needs_nobody() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/model2vec/plain");
    let home = Home::with_settings(&format!("[search.embeddings]\nfolder = {folder:?}\n"));
    home.install(tool("tracker", "A fault, an issue."));
    home.install(tool("sky", "A storm, a hurricane."));
    assert!(!is_tool(&found(&home, "bugs"), "tracker"), "words alone");
    let embeddings = start(&home);
    until("found by meaning", || is_tool(&found(&home, "bugs"), "tracker"));
    let first = &found(&home, "bugs")[0].0;
    assert!(first.contains("tracker"), "{first}");
    stop(&home, embeddings);
    assert_eq!(finding(&remit(home.path(), &["doctor", "--json"], "").json())["state"], "ok");

    let home = Home::with_settings("[search.embeddings]\nfolder = \"nowhere\"\n");
    let error = home.threads.block_on(async { home.app.start_embeddings() }).err().expect("no model is there");
    assert_eq!(error.kind.code(), "host/config");
}
