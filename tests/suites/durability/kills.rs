//! The program is killed: at random while it serves, and before each single operation on the disk.

use std::collections::BTreeMap;
use std::sync::mpsc;
use std::time::Duration;

use serde_json::json;

use super::disk::{Disk, Fault, KILL};
use super::kept::{Kept, check_whole, kill, notes, put};

const KILLS: u64 = 200;

/// Keys that are written over and over, so that documents are replaced as well as added.
const KEYS: u64 = 300;

#[test]
fn db01_two_hundred_kills_take_nothing_that_was_acknowledged() {
    let kept = Kept::new();
    let mut acknowledged: BTreeMap<String, u64> = BTreeMap::new();
    let mut value = 0;
    for round in 0..KILLS {
        let mut client = kept.client(Vec::new());
        let process = client.id();
        let (tell, told) = mpsc::channel();
        let last = std::thread::scope(|scope| {
            let calling = scope.spawn(move || {
                loop {
                    value += 1;
                    let key = format!("k{}", value % KEYS);
                    match put(&mut client, &key, value) {
                        Some(answer) => {
                            answer.expect("nothing stands against it");
                            let _ = tell.send((key, value));
                        }
                        None => return (key, value),
                    }
                }
            });
            acknowledged.extend(told.recv());
            // Any moment between two answers is as good as another; this only makes it a different one each time.
            std::thread::sleep(Duration::from_micros(round * 7_919 % 12_000));
            kill(process);
            calling.join().expect("the client ends with the server")
        });
        acknowledged.extend(told.try_iter());
        value = last.1;
        let there = notes(&kept.home());
        for (key, value) in &acknowledged {
            // The one that was on its way may have come, and nothing else.
            let is_there = there.get(key) == Some(value) || (last.0 == *key && there.get(key) == Some(&last.1));
            assert!(is_there, "kill {round}: {key} is {:?}, acknowledged was {value}", there.get(key));
        }
        assert!(there.len() <= acknowledged.len() + 1, "kill {round}");
        acknowledged = there;
        check_whole(&kept.home());
    }
    assert!(value > 2 * KILLS, "the kills came among many writes: {value}");
}

#[test]
fn db11_a_change_its_record_and_its_sums_are_all_there_or_none() {
    let kept = Kept::new();
    let transact = |value: i32| {
        json!({ "wishes": [
            { "entity": "notes", "key": "a", "value": value.to_string() },
            { "entity": "notes", "key": "b", "value": value.to_string() },
        ] })
    };
    let mut before = 0;
    let mut kills = 0;
    for at in 1.. {
        let disk = Disk::new();
        let mut client = kept.client(disk.environment());
        disk.set(Fault { at, error: KILL, is_lasting: false });
        let answer = client.try_call("keeper__transact", &transact(at));
        let fired = disk.clear();
        drop(client);
        assert_eq!(answer.is_none(), fired > 0, "operation {at}: {answer:?}");
        check_whole(&kept.home());
        let there = notes(&kept.home());
        let (a, b) = (there.get("a").copied().unwrap_or_default(), there.get("b").copied().unwrap_or_default());
        assert_eq!(a, b, "operation {at}");
        let asked = u64::try_from(at).expect("a number");
        if answer.is_some() {
            assert_eq!(a, asked);
            break;
        }
        assert!(a == before || a == asked, "operation {at}: {a}");
        before = a;
        kills += 1;
    }
    // Before, between and after the three commits of a call: its beginning, its change, its end.
    assert!(kills >= 6, "{kills}");
}
