//! The power fails: what was not synced may be gone, in any part. A killed process cannot show this, since what
//! it wrote stays with the kernel.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

use super::disk::{Disk, Event, File};
use super::kept::{Kept, check_whole, notes, put};

/// Bytes that a disk writes as one.
const SECTOR: usize = 512;

/// Enough for the log to be written back to the database several times.
const PUTS: u64 = 300;

/// Bytes of a frame's head in the log. Its second word is not 0 in the last frame of a transaction.
const FRAME_HEAD: usize = 24;

/// Stores documents, and gives what the disk was asked to do, with the key of each request by its id.
fn written(kept: &Kept) -> (Vec<Event>, BTreeMap<u64, String>) {
    let disk = Disk::new();
    let mut client = kept.client(disk.environment());
    let mut requests = BTreeMap::new();
    for number in 0..PUTS {
        let key = format!("k{number}");
        put(&mut client, &key, number).expect("the server lives").expect("nothing stands against it");
        requests.insert(client.last_id(), key);
    }
    drop(client);
    (disk.events(), requests)
}

/// The keys that were acknowledged by what came on stdout.
fn acknowledged(output: &[u8], requests: &BTreeMap<u64, String>) -> BTreeSet<String> {
    let lines = output.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
    let ids = lines.filter_map(|line| serde_json::from_slice::<Value>(line).expect("JSON")["id"].as_u64());
    ids.filter_map(|id| requests.get(&id).cloned()).collect()
}

#[test]
fn db02_each_commit_is_synced_before_it_is_acknowledged() {
    let kept = Kept::new();
    let (events, requests) = written(&kept);
    let (mut commits, mut syncs, mut unsynced) = (0, 0, 0);
    let mut output = Vec::new();
    for event in events {
        match event {
            Event::Wrote(File::Log, _, bytes) if bytes.len() == FRAME_HEAD && bytes[4..8] != [0; 4] => {
                commits += 1;
                unsynced += 1;
            }
            Event::Synced(File::Log) => {
                syncs += 1;
                unsynced = 0;
            }
            Event::Answered(bytes) => {
                assert_eq!(unsynced, 0, "answered with a commit that is not synced");
                output.extend(bytes);
            }
            _ => {}
        }
    }
    assert_eq!(acknowledged(&output, &requests).len() as u64, PUTS);
    assert!(commits >= PUTS && syncs >= commits, "{PUTS} answers, {commits} commits, {syncs} syncs");
}

#[test]
fn db03_power_loss_takes_nothing_that_was_acknowledged() {
    let kept = Kept::new();
    let before = std::fs::read(kept.home().join(File::Database.name())).expect("the database");
    let (events, requests) = written(&kept);
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    let mut platter = Platter::new(before.clone());
    let mut output = Vec::new();
    let (mut cuts, mut checkpoints) = (0, 0);
    for event in &events {
        platter.take(event);
        checkpoints += u32::from(matches!(event, Event::Synced(File::Database)));
        let is_answer = if let Event::Answered(bytes) = event {
            output.extend(bytes);
            true
        } else {
            false
        };
        if chance.one_in(if is_answer { 3 } else { 60 }) {
            cuts += 1;
            let folder = tempfile::tempdir().expect("a scratch folder");
            platter.fail(&mut chance, folder.path());
            let there: BTreeSet<String> = notes(folder.path()).into_keys().collect();
            let promised = acknowledged(&output, &requests);
            assert!(there.is_superset(&promised), "cut {cuts}: {:?} lost", promised.difference(&there));
            assert!(there.len() <= promised.len() + 1, "cut {cuts}");
            check_whole(folder.path());
        }
    }
    assert!(cuts > 100 && checkpoints > 1, "{cuts} cuts, {checkpoints} checkpoints");

    // On a disk that is never synced the same is lost: this test can fail.
    let mut platter = Platter::new(before);
    events.iter().filter(|event| !matches!(event, Event::Synced(_))).for_each(|event| platter.take(event));
    let folder = tempfile::tempdir().expect("a scratch folder");
    platter.pending.clear();
    platter.fail(&mut chance, folder.path());
    assert!(notes(folder.path()).is_empty());
}

/// What is on the disk for good, and what may be.
struct Platter {
    safe: BTreeMap<&'static str, Vec<u8>>,
    pending: Vec<(File, Change)>,
}

enum Change {
    Write(usize, Vec<u8>),
    Truncate(usize),
}

impl Platter {
    fn new(database: Vec<u8>) -> Self {
        let safe = BTreeMap::from([(File::Database.name(), database), (File::Log.name(), Vec::new())]);
        Self { safe, pending: Vec::new() }
    }

    fn take(&mut self, event: &Event) {
        let place = |offset: &u64| usize::try_from(*offset).expect("a small file");
        match event {
            Event::Wrote(file, offset, bytes) => {
                // Each sector comes to rest by itself.
                let mut at = place(offset);
                let mut rest = bytes.as_slice();
                while !rest.is_empty() {
                    let (sector, tail) = rest.split_at(rest.len().min(SECTOR - at % SECTOR));
                    self.pending.push((*file, Change::Write(at, sector.to_vec())));
                    at += sector.len();
                    rest = tail;
                }
            }
            Event::Truncated(file, length) => self.pending.push((*file, Change::Truncate(place(length)))),
            Event::Synced(file) => {
                let pending = std::mem::take(&mut self.pending);
                let (settled, pending) = pending.into_iter().partition(|(other, _)| other == file);
                self.pending = pending;
                settled.iter().for_each(|(file, change)| apply(self.safe.get_mut(file.name()), change));
            }
            Event::Answered(_) => {}
        }
    }

    /// Writes the files as they are found when the power is back.
    fn fail(&self, chance: &mut Chance, folder: &Path) {
        let mut found = self.safe.clone();
        for (file, change) in &self.pending {
            if chance.one_in(2) {
                apply(found.get_mut(file.name()), change);
            }
        }
        for file in File::ALL {
            std::fs::write(folder.join(file.name()), &found[file.name()]).expect("room");
        }
    }
}

fn apply(file: Option<&mut Vec<u8>>, change: &Change) {
    let file = file.expect("both files are there");
    match change {
        Change::Write(offset, bytes) => {
            let end = offset + bytes.len();
            if file.len() < end {
                file.resize(end, 0);
            }
            file[*offset..end].copy_from_slice(bytes);
        }
        Change::Truncate(length) => file.resize(*length, 0),
    }
}

/// Chance that is the same each time (xorshift).
struct Chance(u64);

impl Chance {
    fn one_in(&mut self, many: u64) -> bool {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.is_multiple_of(many)
    }
}
