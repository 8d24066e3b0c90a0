//! Files in a store of their own: whole, in parts, each in its drawer alone, and gone when their time is over.

use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;

use super::*;
use crate::audit::{self, Record, Usage};
use crate::clock::Clock;
use crate::manifest::NamespaceName;
use crate::policy::Grant;
use crate::store::tests::capability;

const HOUR: i64 = 60 * 60 * 1000;
const QUOTA: Quota =
    Quota { files: 10, bytes: 3 * PIECE, file_bytes: 2 * PIECE + 100, principal_bytes: 8 * PIECE };

struct Scene {
    store: Arc<Store>,
    clock: Arc<Clock>,
    folder: TempDir,
    threads: tokio::runtime::Runtime,
}

fn owner(slug: &str) -> CapabilityName {
    format!("acme/{slug}").parse().unwrap()
}

fn name(text: &str) -> FileName {
    text.parse().unwrap()
}

fn drawer(principal: &str, conversation: &Conversation, slug: &str) -> Drawer {
    Drawer { room: Room::of(principal, conversation, HOUR), owner: owner(slug) }
}

fn own(principal: &str) -> Drawer {
    drawer(principal, &Conversation::Own, "images")
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(Clock::manual(Duration::from_secs(1_700_000_000)));
        let store = Store::open(folder.path(), Arc::clone(&clock)).unwrap();
        let threads = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let scene = Self { store, clock, folder, threads };
        scene.install("images");
        scene.install("mail");
        scene
    }

    fn install(&self, slug: &str) {
        let grants = [Grant { namespace: NamespaceName::Sandbox, entry: None }];
        self.store.put_install(&capability(slug, "1.0.0", slug.as_bytes()), &grants).unwrap();
    }

    fn by(&self, owner: &CapabilityName) -> WrittenBy {
        let id = audit::id::new(self.clock.now_ms()).unwrap();
        let record = Record {
            id: id.clone(),
            started_at: self.clock.now_ms(),
            principal: "a".to_owned(),
            capability: "acme/images".to_owned(),
            tool: "make".to_owned(),
            digest: None,
            dry_run: false,
            outcome: audit::RUNNING.to_owned(),
            detail: None,
            usage: Usage::default(),
            requests: Vec::new(),
            changes: Vec::new(),
            files: Vec::new(),
            log: Vec::new(),
        };
        self.threads.block_on(self.store.begin_call(record, None, None)).unwrap();
        WrittenBy { call: id, position: 0, run: None, digest: Digest::of(owner.slug.as_bytes()) }
    }

    fn write(&self, drawer: &Drawer, file: &str, bytes: Vec<u8>) -> Result<Result<(File, bool), Refusal>> {
        let by = self.by(&drawer.owner);
        self.threads.block_on(self.store.write_file(drawer.clone(), by, name(file), bytes, QUOTA))
    }

    fn put(&self, drawer: &Drawer, file: &str, bytes: &[u8]) -> bool {
        self.write(drawer, file, bytes.to_vec()).unwrap().unwrap().1
    }

    fn part(&self, drawer: &Drawer, file: &str, offset: u64, length: u64) -> Option<Vec<u8>> {
        self.store.read_file(drawer, &name(file), offset, length).unwrap()
    }

    fn names(&self, drawer: &Drawer) -> Vec<String> {
        self.store.files(drawer).unwrap().iter().map(|file| file.name.to_string()).collect()
    }

    fn pieces(&self) -> i64 {
        self.store
            .look(|connection| Ok(connection.query_row("SELECT count(*) FROM file_pieces", [], |row| row.get(0))?))
            .unwrap()
    }
}

#[test]
fn a_file_is_read_in_parts_as_it_was_written() {
    let scene = Scene::new();
    let whole: Vec<u8> = (0..2 * PIECE + 77).map(|number| u8::try_from(number % 251).unwrap()).collect();
    assert!(scene.put(&own("a"), "big.bin", &whole));
    assert!(scene.put(&own("a"), "empty", b""));
    for (offset, length) in [
        (0, u64::MAX),
        (0, 1),
        (PIECE - 1, 2),
        (PIECE, PIECE),
        (2 * PIECE, 1000),
        (3, 2 * PIECE),
        (2 * PIECE + 76, 9),
    ] {
        let from = usize::try_from(offset).unwrap();
        let until = usize::try_from(offset.saturating_add(length)).unwrap().min(whole.len());
        assert_eq!(
            scene.part(&own("a"), "big.bin", offset, length).unwrap(),
            whole[from..until],
            "{offset} {length}"
        );
    }
    for (offset, length) in [(2 * PIECE + 77, 1), (u64::MAX, u64::MAX), (0, 0)] {
        assert_eq!(scene.part(&own("a"), "big.bin", offset, length), Some(Vec::new()), "{offset} {length}");
    }
    assert_eq!(scene.part(&own("a"), "empty", 0, 9), Some(Vec::new()));
    assert_eq!(scene.part(&own("a"), "none", 0, 9), None);
    // A shorter one in its place leaves nothing of it.
    assert!(!scene.put(&own("a"), "big.bin", b"cat"));
    assert_eq!(scene.part(&own("a"), "big.bin", 0, u64::MAX).unwrap(), b"cat");
    assert_eq!(scene.pieces(), 1);
}

#[test]
fn db_15_a_drawer_shows_its_own_files_alone() {
    let scene = Scene::new();
    let named = Conversation::Named("x".to_owned());
    let drawers = [
        own("a"),
        own("b"),
        drawer("a", &named, "images"),
        drawer("b", &named, "images"),
        drawer("a", &Conversation::Session("x".to_owned()), "images"),
        drawer("a", &Conversation::Own, "mail"),
    ];
    for (number, drawer) in drawers.iter().enumerate() {
        assert!(scene.put(drawer, "cat.png", number.to_string().as_bytes()), "{drawer:?}");
        assert!(scene.put(drawer, &format!("only-{number}"), b""), "{drawer:?}");
    }
    for (number, drawer) in drawers.iter().enumerate() {
        assert_eq!(scene.part(drawer, "cat.png", 0, 9).unwrap(), number.to_string().as_bytes());
        assert_eq!(scene.names(drawer), ["cat.png".to_owned(), format!("only-{number}")]);
    }
    let by = scene.by(&owner("images"));
    let gone = scene.threads.block_on(scene.store.delete_file(drawers[0].clone(), by, name("cat.png")));
    assert_eq!(gone.unwrap(), Ok(true));
    assert_eq!(scene.part(&drawers[0], "cat.png", 0, 9), None);
    assert!(drawers[1..].iter().all(|drawer| scene.part(drawer, "cat.png", 0, 9).is_some()));
    // Both capabilities of the conversation, and nobody else's.
    let all = scene.store.files_of_all(&drawers[0].room).unwrap();
    let seen: Vec<_> = all.iter().map(File::address).collect();
    assert_eq!(
        seen,
        [
            "remit://sandbox/acme/images/only-0",
            "remit://sandbox/acme/mail/cat.png",
            "remit://sandbox/acme/mail/only-5"
        ]
    );
}

#[test]
fn db_12_quotas_hold_inside_the_transaction() {
    let scene = Scene::new();
    let refused = |drawer: &Drawer, file: &str, bytes: u64| {
        let bytes = vec![0; usize::try_from(bytes).unwrap()];
        scene.write(drawer, file, bytes).unwrap().err()
    };
    assert!(matches!(refused(&own("a"), "a", 2 * PIECE + 101), Some(Refusal::Quota(_))));
    assert_eq!(refused(&own("a"), "a", 2 * PIECE), None);
    assert!(matches!(refused(&own("a"), "b", PIECE + 1), Some(Refusal::Quota(_))));
    assert_eq!(refused(&own("a"), "A", 1), Some(Refusal::Collision("a".to_owned())));
    assert_eq!(refused(&own("a"), "a/b", 1), Some(Refusal::Collision("a".to_owned())));
    assert_eq!(scene.names(&own("a")), ["a"]);
    assert_eq!(scene.store.file_sums(&own("a").room).unwrap(), Sums { files: 1, bytes: 2 * PIECE });
    // A principal cannot get more by more conversations.
    let room = |number: u32| drawer("a", &Conversation::Named(number.to_string()), "images");
    let full = (0..20).find(|number| refused(&room(*number), "a", 2 * PIECE).is_some());
    assert_eq!(full, Some(2), "3 files of 2 pieces are there, and 8 pieces may be");
    // Nor without end by empty files.
    let empty = (100..5_000).find(|number| refused(&room(*number), "a", 0).is_some());
    assert!(empty.is_some());
    assert_eq!(refused(&own("b"), "a", 2 * PIECE), None, "another principal has its own");
}

#[test]
fn a_change_counts_while_its_bytes_are_granted() {
    let scene = Scene::new();
    assert!(scene.put(&own("a"), "a", b"1"));
    let grant = [Grant { namespace: NamespaceName::Sandbox, entry: None }];
    scene.store.remove_grants(&owner("images"), &grant).unwrap();
    assert_eq!(scene.write(&own("a"), "b", b"1".to_vec()).unwrap().err(), Some(Refusal::NotAvailable));
    let by = scene.by(&owner("images"));
    let deleted = scene.threads.block_on(scene.store.delete_file(own("a"), by, name("a"))).unwrap();
    assert_eq!(deleted, Err(Refusal::NotAvailable));
    assert_eq!(scene.names(&own("a")), ["a"]);
}

#[test]
fn files_go_when_their_time_is_over() {
    let scene = Scene::new();
    assert!(scene.put(&own("a"), "a", b"1"));
    assert!(scene.put(&own("b"), "a", b"1"));
    scene.clock.advance(Duration::from_secs(59 * 60));
    assert!(scene.put(&own("b"), "b", b"1"));
    scene.clock.advance(Duration::from_secs(60));
    // Not to be seen from then on, whether it was removed yet or not.
    assert_eq!(scene.names(&own("a")), Vec::<String>::new());
    assert_eq!(scene.part(&own("a"), "a", 0, 1), None);
    assert_eq!(scene.store.file_sums(&own("a").room).unwrap(), Sums::default());
    assert_eq!(scene.names(&own("b")), ["a", "b"], "the last change counts");
    assert_eq!(scene.pieces(), 3);
    assert!(scene.put(&own("a"), "c", b"1"));
    assert_eq!((scene.names(&own("a")), scene.pieces()), (vec!["c".to_owned()], 3), "the old one is gone");
    scene.clock.advance(Duration::from_secs(3 * 60 * 60));
    scene.store.remove_old_files(HOUR).unwrap();
    assert_eq!(scene.pieces(), 0);
}

#[test]
fn db_04_a_full_disk_leaves_what_was_there() {
    let scene = Scene::new();
    assert!(scene.put(&own("a"), "a", b"cat"));
    scene.store.limit_pages(1).unwrap();
    let large = vec![7; usize::try_from(2 * PIECE).unwrap()];
    let full = scene.write(&own("a"), "b", large.clone());
    assert!(full.is_err(), "{full:?}");
    let replaced = scene.write(&own("a"), "a", large.clone());
    assert!(replaced.is_err(), "{replaced:?}");
    assert_eq!(scene.part(&own("a"), "a", 0, 9).unwrap(), b"cat");
    scene.store.limit_pages(1_000_000).unwrap();
    assert!(scene.put(&own("a"), "b", &large));
    drop(scene.store);
    let again = Store::open(scene.folder.path(), scene.clock).unwrap();
    assert_eq!(again.read_file(&own("a"), &name("b"), 0, u64::MAX).unwrap(), Some(large));
}

#[test]
fn what_was_done_is_recorded_by_name() {
    let scene = Scene::new();
    let by = scene.by(&owner("images"));
    let id = by.call.clone();
    let write = |by: WrittenBy, file: &str| {
        scene.threads.block_on(scene.store.write_file(own("a"), by, name(file), b"secret bytes".to_vec(), QUOTA))
    };
    write(by, "a").unwrap().unwrap();
    let again = WrittenBy { call: id.clone(), position: 1, run: None, digest: Digest::of(b"images") };
    write(again, "A").unwrap().unwrap_err();
    let again = WrittenBy { call: id.clone(), position: 1, run: None, digest: Digest::of(b"images") };
    scene.threads.block_on(scene.store.delete_file(own("a"), again, name("a"))).unwrap().unwrap();
    let query = audit::Query { id: Some(id), limit: 1, ..audit::Query::default() };
    let records = scene.store.records(&query).unwrap();
    assert_eq!(records[0].files, [FileRecord::written(&name("a"), 12), FileRecord::deleted(&name("a"))]);
    assert!(!format!("{records:?}").contains("secret bytes"));
}
