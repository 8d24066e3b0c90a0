//! What was acknowledged is there, whatever happens to the process, the disk or the file: DB-01 to DB-16.
//!
//! Each id has a test that carries it in its name. Most are here, on the real program; those that only the
//! inside can show are beside the store, and the rules of documents are in `entities.rs`.

mod backups;
mod disk;
mod faults;
mod kept;
mod kills;
mod power;
mod versions;
mod writers;

use std::fs;
use std::path::{Path, PathBuf};

/// Where tests may be.
const FOLDERS: [&str; 2] = ["tests/suites", "host/src/store"];

#[test]
fn every_promise_has_a_test_of_its_name() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a workspace");
    let mut folders: Vec<PathBuf> = FOLDERS.iter().map(|folder| root.join(folder)).collect();
    let mut found: Vec<u8> = Vec::new();
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).expect("a text");
                found.extend(
                    text.match_indices("fn db").filter_map(|(at, _)| text[at + 5..].get(..2)?.parse::<u8>().ok()),
                );
            }
        }
    }
    let missing: Vec<u8> = (1..=16).filter(|id| !found.contains(id)).collect();
    assert_eq!(missing, [0_u8; 0], "promises without a test `dbNN_…`");
}
