//! Several processes write, and another writes the log back to the database all the time.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde_json::json;

use super::kept::{Kept, check_whole, notes, put};

/// How long they write: some hundred commits and checkpoints of each.
const TIME: Duration = Duration::from_secs(3);

#[test]
fn db06_two_writers_and_a_checkpointer_lose_nothing() {
    let kept = Kept::new();
    let is_over = AtomicBool::new(false);
    let (written, checkpoints) = std::thread::scope(|scope| {
        let checkpointing = scope.spawn(|| {
            let connection = Connection::open(kept.home().join("remit.db")).expect("the database opens");
            connection.busy_timeout(Duration::from_secs(5)).expect("a setting");
            let mut checkpoints = 0;
            while !is_over.load(Ordering::Relaxed) {
                let modes = ["PASSIVE", "FULL", "RESTART", "TRUNCATE"];
                let checkpoint = format!("PRAGMA wal_checkpoint({})", modes[checkpoints % modes.len()]);
                connection.query_row(&checkpoint, [], |_| Ok(())).expect("a checkpoint, or that others are busy");
                checkpoints += 1;
            }
            checkpoints
        });
        let writing: Vec<_> = (0..2)
            .map(|writer| {
                let mut client = kept.client(Vec::new());
                scope.spawn(move || {
                    let end = Instant::now() + TIME;
                    let mut written = BTreeMap::new();
                    let mut counted = 0;
                    for number in 0.. {
                        let key = format!("{writer}/{}", number % 50);
                        put(&mut client, &key, number).expect("the server lives").expect("it is written");
                        written.insert(key, number);
                        let count = client.try_call("keeper__count", &json!({ "key": "both", "times": 1 }));
                        count.expect("the server lives").expect("it is counted");
                        counted += 1;
                        if Instant::now() > end {
                            break;
                        }
                    }
                    (written, counted)
                })
            })
            .collect();
        let written: Vec<_> = writing.into_iter().map(|writing| writing.join().expect("it ends")).collect();
        is_over.store(true, Ordering::Relaxed);
        (written, checkpointing.join().expect("it ends"))
    });
    let counted: u64 = written.iter().map(|(_, counted)| counted).sum();
    let expected: BTreeMap<String, u64> = written.into_iter().flat_map(|(written, _)| written).collect();
    assert_eq!(notes(&kept.home()), expected);
    let both = kept.remit(&["entities", "get", "test/keeper", "counters", "both"]);
    assert_eq!(both.stdout.trim(), counted.to_string(), "{both:?}");
    check_whole(&kept.home());
    assert!(counted > 20 && checkpoints > 20, "{counted} counted, {checkpoints} checkpoints");
}
