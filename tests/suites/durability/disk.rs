//! A disk that tells what it was asked to do, and fails when a test wants it to: `disk.c` in the program under
//! test, and here what it told.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use tempfile::TempDir;

/// Bytes of an event's head.
const HEAD: usize = 18;

/// Kills the program instead of failing its operation.
pub(super) const KILL: i32 = -1;

/// The disk of one program.
pub(super) struct Disk {
    folder: TempDir,
}

/// A file that the disk tells about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum File {
    Database,
    Log,
}

impl File {
    pub(super) const ALL: [Self; 2] = [Self::Database, Self::Log];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Database => "remit.db",
            Self::Log => "remit.db-wal",
        }
    }
}

/// What was done, in order.
#[derive(Clone, Debug)]
pub(super) enum Event {
    Wrote(File, u64, Vec<u8>),
    Truncated(File, u64),
    Synced(File),
    /// Bytes on stdout.
    Answered(Vec<u8>),
}

/// When and how an operation fails.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fault {
    /// The how many-th operation from now on.
    pub(super) at: i32,
    /// The error's number, or [`KILL`].
    pub(super) error: i32,
    /// All that follow fail, too, until the fault is cleared.
    pub(super) is_lasting: bool,
}

impl Disk {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a scratch folder");
        std::fs::write(folder.path().join("journal"), b"").expect("room");
        let disk = Self { folder };
        disk.clear();
        disk
    }

    /// The environment of a program that writes to it.
    pub(super) fn environment(&self) -> Vec<(&'static str, OsString)> {
        vec![
            ("LD_PRELOAD", library().into()),
            ("DISK_JOURNAL", self.folder.path().join("journal").into()),
            ("DISK_FAULT", self.folder.path().join("fault").into()),
        ]
    }

    pub(super) fn set(&self, fault: Fault) {
        let numbers = [fault.at, fault.error, i32::from(fault.is_lasting), 0];
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
        std::fs::write(self.folder.path().join("fault"), bytes).expect("room");
    }

    /// Ends the fault, and says how many operations it hit.
    pub(super) fn clear(&self) -> i32 {
        let fired = std::fs::read(self.folder.path().join("fault"))
            .map_or(0, |bytes| i32::from_ne_bytes(bytes[12..16].try_into().expect("four bytes")));
        self.set(Fault { at: 0, error: 0, is_lasting: false });
        fired
    }

    /// Everything that was done so far.
    pub(super) fn events(&self) -> Vec<Event> {
        let bytes = std::fs::read(self.folder.path().join("journal")).expect("the journal");
        let mut rest = bytes.as_slice();
        let mut events = Vec::new();
        while rest.len() >= HEAD {
            let (head, tail) = rest.split_at(HEAD);
            let number = |at: usize| u64::from_ne_bytes(head[at..at + 8].try_into().expect("eight bytes"));
            let (offset, length) = (number(2), usize::try_from(number(10)).expect("a length"));
            // A program that was killed has not told all of its last event.
            let Some(content) = tail.get(..length) else { break };
            let file = if head[1] == b'd' { File::Database } else { File::Log };
            events.push(match head[0] {
                b'w' => Event::Wrote(file, offset, content.to_vec()),
                b't' => Event::Truncated(file, offset),
                b's' => Event::Synced(file),
                b'a' => Event::Answered(content.to_vec()),
                other => panic!("no such event: {other}"),
            });
            rest = &tail[length..];
        }
        events
    }
}

/// The library, compiled once for all tests of this run.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_folder, path) = LIBRARY.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let path = folder.path().join("disk.so");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/suites/durability/disk.c");
        let compiled = Command::new("cc").args(["-shared", "-fPIC", "-O1", "-o"]).arg(&path).arg(source).status();
        assert!(compiled.expect("a C compiler, as the database needs one").success());
        (folder, path)
    });
    path
}
