//! Secrets as people and guests meet them: a value goes in by stdin, lies encrypted, goes where it was approved
//! for one capability, and comes back to nobody.

use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use remit::call::{Failure, Reply};
use remit::policy::{Approval, Place};
use remit_upstream::{Answer, Seen};
use serde_json::{Value, json};

use crate::support::home::{built, program, remit, renamed};
use crate::support::world::{HOST, SECRET, World};

const OTHER_SECRET: &str = "pk_test_Qm5+tR/0vJz8yEw1Kd=";

fn hexadecimal(value: &str) -> String {
    value.bytes().map(|byte| format!("{byte:02x}")).collect()
}

fn percent(value: &str) -> String {
    value.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

fn escaped(value: &str) -> String {
    value.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect()
}

fn utf16(value: &str) -> Vec<u8> {
    value.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// The value in the spellings that a file or an answer could hold it in.
fn spellings(value: &str) -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("as it is", value.as_bytes().to_vec()),
        ("base64", STANDARD.encode(value).trim_end_matches('=').into()),
        ("base64url", URL_SAFE_NO_PAD.encode(value).into()),
        ("base64 after a name", STANDARD.encode(format!("user:{value}")).into()),
        ("hex", hexadecimal(value).into()),
        ("HEX", hexadecimal(value).to_uppercase().into()),
        ("percent", percent(value).into()),
        ("JSON", escaped(value).into()),
        ("UTF-16", utf16(value)),
    ]
}

fn holds(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// Every file below a folder, with what is in it.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
            if entry.is_dir() {
                folders.push(entry);
            } else {
                found.push((entry.display().to_string(), fs::read(&entry).expect("a file")));
            }
        }
    }
    found
}

fn authorization() -> [Place; 1] {
    [Place::Header("authorization".to_owned())]
}

fn approval(source: &str) -> Approval {
    Approval {
        secret: "API_KEY".to_owned(),
        source: source.to_owned(),
        host: HOST.to_owned(),
        port: 443,
        place: Place::Header("authorization".to_owned()),
        expires_at: None,
    }
}

/// Sends the secret where it is approved.
fn with_key() -> Value {
    json!({ "url": "https://api.example.com/", "headers": ["authorization: Bearer {{API_KEY}}"] })
}

fn message(result: Result<Reply, Failure>) -> String {
    result.map_or_else(|failure| failure.error.message, |reply| format!("an answer: {reply:?}"))
}

#[test]
fn a_value_is_seen_by_nobody_on_its_way_in() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let home = scratch.path().join("home");
    let mut child = Command::new(program())
        .args(["secret", "set", "API_KEY"])
        .env("REMIT_HOME", &home)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("remit starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(SECRET.as_bytes()).expect("it reads");
    // It waits for the end of its input, and anybody on this machine can look at it.
    let process = Path::new("/proc").join(child.id().to_string());
    for file in ["cmdline", "environ", "comm"] {
        let shown = fs::read(process.join(file)).expect("the process is there");
        assert!(!holds(&shown, SECRET.as_bytes()), "{file}");
    }
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{output:?}");
    assert!(!format!("{output:?}").contains(SECRET));

    let listed = remit(&home, &["secret", "list", "--json"], "");
    assert_eq!(listed.json()[0]["name"], "API_KEY", "{listed:?}");
    let refused = remit(&home, &["secret", "set", "API_KEY", OTHER_SECRET], "");
    assert_eq!(refused.exit, Some(2));
    assert!(!format!("{refused:?}").contains(OTHER_SECRET), "{refused:?}");
    for said in [listed, refused] {
        assert!(!format!("{said:?}").contains(SECRET), "{said:?}");
    }
}

#[test]
fn no_file_holds_a_value() {
    let world = World::echo().granted().with_secret(HOST, &authorization());
    // Everything that writes: a set, a change, a call with an answer, one that fails, a removal.
    world.home.app.admin().set_secret("OTHER_KEY", OTHER_SECRET.as_bytes()).expect("a good secret");
    assert!(world.fetch(&with_key()).is_ok());
    let complaint = json!({ "message": "it said:", "url": "https://api.example.com/", "headers": ["authorization: Bearer {{API_KEY}}"] });
    assert!(world.home.call("test/probe.complain", &complaint).is_err());
    world.home.app.admin().remove_secret("OTHER_KEY").expect("it was there");
    assert_eq!(world.home.records().len(), 2);
    let files = files(world.home.path());
    for name in ["remit.db", "remit.db-wal", "key", "seal"] {
        assert!(files.iter().any(|(file, _)| file.ends_with(name)), "`{name}` is searched too");
    }
    for value in [SECRET, OTHER_SECRET] {
        for (spelling, bytes) in spellings(value) {
            let found: Vec<_> =
                files.iter().filter(|(_, text)| holds(text, &bytes)).map(|(file, _)| file).collect();
            assert!(found.is_empty(), "{spelling}: {found:?}");
        }
    }
    for name in ["key", "seal", "remit.db"] {
        let mode = fs::metadata(world.home.path().join(name)).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o077, 0, "{name} is private");
    }
}

#[test]
fn a_key_file_that_is_not_as_it_was_opens_nothing_and_loses_nothing() {
    let world = World::echo().granted().with_secret(HOST, &authorization());
    let home = world.home.path();
    let key = home.join("key");
    let sound = fs::read(&key).expect("the key");
    let put = |bytes: &[u8], mode: u32| {
        fs::write(&key, bytes).expect("room");
        fs::set_permissions(&key, Permissions::from_mode(mode)).expect("ours");
    };
    let other: Vec<u8> = sound.iter().map(|byte| byte ^ 0x5a).collect();
    let arguments = with_key().to_string();
    let damages: [(&str, &dyn Fn()); 5] = [
        ("missing", &|| fs::remove_file(&key).expect("it is there")),
        ("another", &|| put(&other, 0o600)),
        ("cut short", &|| put(&sound[..16], 0o600)),
        ("the group can read it", &|| put(&sound, 0o640)),
        ("empty", &|| put(&[], 0o600)),
    ];
    for (damage, cause) in damages {
        cause();
        let set = remit(home, &["secret", "set", "NEW_KEY", "--json"], OTHER_SECRET);
        assert_eq!((set.exit, set.code().as_str()), (Some(2), "secret/key"), "{damage}: {set:?}");
        let called = remit(home, &["call", "test/probe.fetch", &arguments, "--json"], "");
        assert_eq!(called.exit, Some(1), "{damage}: {called:?}");
        let record = &world.home.records()[0];
        assert_eq!(record.requests[0].outcome, "secret/key", "{damage}: {record:?}");
        assert!(
            called.stderr.contains("`key` in the data directory") || called.stderr.contains("chmod 600"),
            "{damage}: a person is told the remedy: {called:?}"
        );
        for said in [&set, &called] {
            assert!(!format!("{said:?}").contains(SECRET) && !format!("{said:?}").contains(OTHER_SECRET));
        }
        let names = remit(home, &["secret", "list", "--json"], "").json();
        assert_eq!(names.as_array().map(Vec::len), Some(1), "{damage}: what is stored stays");
        put(&sound, 0o600);
    }
    assert_eq!(world.upstream.seen().len(), 0, "nothing was sent meanwhile");
    let called = remit(home, &["call", "test/probe.fetch", &arguments], "");
    assert_eq!(called.exit, Some(0), "with its key the value opens again: {called:?}");
    assert_eq!(world.upstream.seen()[0].header("authorization"), Some(format!("Bearer {SECRET}").as_str()));
}

#[test]
fn a_name_is_shared_and_an_approval_is_not() {
    let world = World::echo().granted().with_secret(HOST, &authorization());
    world.home.install(renamed(&built("probe"), |manifest| manifest["slug"] = json!("other-probe")));
    let other = || world.home.call("test/other-probe.fetch", &with_key());
    assert!(message(other()).contains("SecretNotAvailable"), "approved for `test/probe` only");
    assert_eq!(world.upstream.seen().len(), 0);
    // The same placeholder may stand for another value there.
    let admin = world.home.app.admin();
    admin.set_secret("WORK_KEY", OTHER_SECRET.as_bytes()).expect("a good secret");
    admin.approve(&"test/other-probe".parse().expect("a name"), &[approval("WORK_KEY")]).expect("declared");
    let answers = [world.fetch(&with_key()), other()].map(|answer| format!("{:?}", answer.expect("an answer")));
    let sent: Vec<_> = world
        .upstream
        .seen()
        .iter()
        .map(|seen| seen.header("authorization").unwrap_or_default().to_owned())
        .collect();
    assert_eq!(sent, [format!("Bearer {SECRET}"), format!("Bearer {OTHER_SECRET}")]);
    for answer in answers {
        assert!(answer.contains("Bearer [redacted:API_KEY]"), "{answer}");
    }
    // An approval belongs to the bytes it was given for.
    let next = renamed(&built("probe"), |manifest| manifest["version"] = json!("1.0.1"));
    world.home.install(next);
    assert!(message(world.fetch(&with_key())).contains("SecretNotAvailable"), "approved for 1.0.0 only");
}

#[test]
fn a_new_value_and_a_removed_one_hold_on_the_next_call() {
    let world = World::echo().granted().with_secret(HOST, &authorization());
    let home = world.home.path();
    let sent = || {
        let seen = world.upstream.seen();
        seen.last().and_then(|seen| seen.header("authorization")).unwrap_or_default().to_owned()
    };
    assert!(world.fetch(&with_key()).is_ok());
    assert_eq!(sent(), format!("Bearer {SECRET}"));
    // By another process, as people do it while a server runs.
    assert_eq!(remit(home, &["secret", "set", "API_KEY"], OTHER_SECRET).exit, Some(0));
    let answer = format!("{:?}", world.fetch(&with_key()).expect("an answer"));
    assert_eq!(sent(), format!("Bearer {OTHER_SECRET}"));
    assert!(!answer.contains(OTHER_SECRET), "{answer}");
    assert_eq!(remit(home, &["secret", "remove", "API_KEY"], "").exit, Some(0));
    assert!(message(world.fetch(&with_key())).contains("SecretNotAvailable"));
    assert_eq!(world.upstream.seen().len(), 2);
}

/// Answers with the key that it got, spelt as the path says, in the body and in header fields.
fn spell(seen: &Seen) -> Answer {
    let key = seen.header("authorization").and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default();
    let index: usize = seen.path.trim_start_matches('/').parse().unwrap_or_default();
    let (_, spelt) = spellings(key).swap_remove(index);
    let body = [b"before ", spelt.as_slice(), b" after"].concat();
    let answer = Answer::new(200, "text/plain", body);
    match String::from_utf8(spelt) {
        Ok(spelt) if !spelt.contains('\0') => answer
            .header("x-echo", &spelt)
            .header("location", &format!("https://api.example.com/?key={spelt}"))
            .header("set-cookie", &format!("session={spelt}; Secure"))
            .header("www-authenticate", &format!("Bearer realm=\"{spelt}\"")),
        _ => answer,
    }
}

#[test]
fn a_value_that_comes_back_is_taken_out_wherever_it_is() {
    for value in [SECRET, OTHER_SECRET] {
        let world = World::new(spell).granted().with_secret(HOST, &authorization());
        world.home.app.admin().set_secret("API_KEY", value.as_bytes()).expect("a good secret");
        for (index, (spelling, bytes)) in spellings(value).into_iter().enumerate() {
            let url = format!("https://api.example.com/{index}");
            let headers = json!(["authorization: Bearer {{API_KEY}}"]);
            let clean = |where_: &str, text: &str| {
                // As bytes too: a guest reads an answer that is no text as well as it can.
                assert!(!holds(text.as_bytes(), &bytes), "{value} {spelling} in {where_}: {text}");
            };
            let reply = world.fetch(&json!({ "url": url, "headers": headers })).expect("an answer");
            let seen = reply.structured.clone().expect("structured");
            let body = seen["body"].as_str().expect("text");
            assert!(body.starts_with("before ") && body.ends_with(" after"), "{spelling}: {body}");
            assert!(body.contains("[redacted:API_KEY]"), "{spelling}: {body}");
            clean("the body", body);
            for header in seen["headers"].as_array().expect("headers") {
                clean("a header field", header.as_str().expect("text"));
            }
            clean("the reply", &format!("{reply:?}"));

            let complaint = json!({ "message": "it said:", "url": url, "headers": headers });
            let failure = world.home.call("test/probe.complain", &complaint).expect_err("it complains");
            assert!(failure.error.message.contains("[redacted:API_KEY]"), "{spelling}: {failure:?}");
            clean("an error", &failure.error.message);
            let record = &world.home.records()[0];
            assert_eq!(record.log.len(), 1);
            clean("the log", &record.log[0]);
            clean("the record", &format!("{record:?}"));
        }
    }
}
