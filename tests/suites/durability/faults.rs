//! The disk refuses, at every single operation of a call: full, failing, read-only.

use rustix::io::Errno;
use serde_json::json;

use super::disk::{Disk, Fault};
use super::kept::{Kept, check_whole, notes, put};

#[test]
fn db04_an_operation_that_fails_is_told_and_survived() {
    let kept = Kept::new();
    let disk = Disk::new();
    let mut client = kept.client(disk.environment());
    let mut value = 0;
    for error in [Errno::NOSPC, Errno::IO, Errno::ROFS] {
        for is_lasting in [false, true] {
            let mut told = 0;
            for at in 1.. {
                value += 1;
                disk.set(Fault { at, error: error.raw_os_error(), is_lasting });
                let answer = put(&mut client, "a", value).expect("the process lives");
                let fired = disk.clear();
                let context = format!("{error:?} at operation {at}, lasting: {is_lasting}: {answer:?}");
                match &answer {
                    // An operation after the last commit belongs to nobody who waits.
                    Ok(_) => assert_eq!(notes(&kept.home()).get("a"), Some(&value), "{context}"),
                    // The guest is told of its change, and the caller of the rest.
                    Err(text) => {
                        let is_told = text.starts_with("host/store: ") || text.ends_with("Error::Unavailable");
                        assert!(fired > 0 && is_told, "{context}");
                        told += 1;
                    }
                }
                let next = put(&mut client, "b", value).expect("the process lives");
                assert!(next.is_ok(), "{context}, and then {next:?}");
                check_whole(&kept.home());
                if fired == 0 {
                    break;
                }
            }
            assert!(told >= 5, "{error:?}, lasting: {is_lasting}: told {told} times");
        }
    }
    let seen =
        client.try_call("keeper__get", &json!({ "entity": "notes", "key": "b" })).expect("the process lives");
    assert!(seen.expect("it is there").ends_with(&format!(" {value}")));
}
