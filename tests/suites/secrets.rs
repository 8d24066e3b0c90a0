//! Secrets as people meet them: a key file that must be as it was, values that are set again and removed. What
//! attackers try is in `attacks/`.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use remit::call::{Failure, Reply};
use serde_json::{Value, json};

use crate::support::home::remit;
use crate::support::world::{HOST, SECRET, World, authorization};

const OTHER_SECRET: &str = "pk_test_Qm5+tR/0vJz8yEw1Kd=";

/// Sends the secret where it is approved.
fn with_key() -> Value {
    json!({ "url": "https://api.example.com/", "headers": ["authorization: Bearer {{API_KEY}}"] })
}

fn message(result: Result<Reply, Failure>) -> String {
    result.map_or_else(|failure| failure.error.message, |reply| format!("an answer: {reply:?}"))
}

#[test]
fn a_key_file_that_is_not_as_it_was_opens_nothing_and_loses_nothing() {
    let world = World::echo().granted().with_secret(HOST, &[authorization()]);
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
fn a_new_value_and_a_removed_one_hold_on_the_next_call() {
    let world = World::echo().granted().with_secret(HOST, &[authorization()]);
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

#[test]
fn what_holds_or_opens_values_is_private() {
    let world = World::echo().granted().with_secret(HOST, &[authorization()]);
    assert!(world.fetch(&with_key()).is_ok());
    for name in ["key", "seal", "remit.db", "remit.db-wal"] {
        let mode = fs::metadata(world.home.path().join(name)).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o077, 0, "{name} is private");
    }
}
