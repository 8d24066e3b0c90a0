//! Documents at the store: versions, scopes, ranges, quotas, history, and what a crash or a full disk leaves.

use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::audit::{self, Query, Record, Usage};
use crate::clock::Clock;
use crate::manifest::NamespaceName;
use crate::namespaces::entities::document::Expected;
use crate::policy::Grant;
use crate::store::tests::capability;

struct Home {
    store: Arc<Store>,
    folder: tempfile::TempDir,
    limits: EntitiesConfig,
}

impl Home {
    fn new() -> Self {
        Self::with_limits(EntitiesConfig::default())
    }

    fn with_limits(limits: EntitiesConfig) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(Clock::manual(Duration::from_secs(1_700_000_000)));
        let home = Self { store: Store::open(folder.path(), clock).unwrap(), folder, limits };
        for slug in ["notes", "other"] {
            home.install(slug);
        }
        home
    }

    fn install(&self, slug: &str) {
        let entry =
            |entry: Option<&str>| Grant { namespace: NamespaceName::Entities, entry: entry.map(str::to_owned) };
        let grants = [entry(None), entry(Some("notes")), entry(Some("tags"))];
        self.store.put_install(&capability(slug, "1.0.0", slug.as_bytes()), &grants).unwrap();
    }

    /// The record of a call that runs.
    async fn begin(&self) -> String {
        let ended = record(&audit::id::new(self.store.now_ms()).unwrap());
        let record = Record { outcome: audit::RUNNING.to_owned(), ..ended };
        let id = record.id.clone();
        self.store.begin_call(record, None, None).await.unwrap();
        id
    }

    async fn change_in(&self, scope: &Scope, changes: Vec<Change>) -> Result<Result<Vec<Made>, Refusal>> {
        let call = self.begin().await;
        let digest = Digest::of(scope.name.slug.as_bytes());
        let by = ChangedBy { call, position: 0, run: None, digest };
        self.store.change_documents(scope.clone(), by, changes, self.limits).await
    }

    async fn change(&self, changes: Vec<Change>) -> Result<Vec<Made>, Refusal> {
        self.change_in(&notes(), changes).await.unwrap()
    }

    fn list(&self, scope: &Scope, prefix: &str) -> Vec<String> {
        let page = self.store.documents(scope, "notes", prefix, None, 1_000, usize::MAX).unwrap();
        page.documents.into_iter().map(|document| document.key).collect()
    }

    fn history(&self, key: &str) -> Vec<(u64, Option<String>)> {
        let old = self.store.old_documents(&notes(), "notes", key).unwrap();
        old.into_iter().map(|old| (old.version, old.value)).collect()
    }

    /// Sums as they are stored, and as they are.
    fn sums(&self) -> (Sums, Sums) {
        let all = self.store.all_documents(&notes()).unwrap();
        let bytes = all.iter().map(|(_, document)| document.size()).sum();
        let counted = Sums { documents: all.len() as u64, bytes };
        (self.store.sums(&notes()).unwrap().0, counted)
    }

    fn old_bytes(&self) -> (u64, u64) {
        self.store
            .look(|connection| {
                let stored = connection.query_row("SELECT sum(old_bytes) FROM holdings", [], |row| read_count(row, 0))?;
                let counted = connection.query_row(
                    "SELECT coalesce(sum(length(key) + coalesce(octet_length(value), 0) + 128), 0) FROM old_documents",
                    [],
                    |row| read_count(row, 0),
                )?;
                Ok((stored, counted))
            })
            .unwrap()
    }
}

/// A record that has ended.
fn record(id: &str) -> Record {
    Record {
        id: id.to_owned(),
        parent: None,
        started_at: 0,
        principal: "test".to_owned(),
        capability: "acme/notes".to_owned(),
        tool: "put".to_owned(),
        digest: None,
        dry_run: false,
        outcome: audit::OK.to_owned(),
        detail: None,
        usage: Usage::default(),
        requests: Vec::new(),
        changes: Vec::new(),
        files: Vec::new(),
        log: Vec::new(),
    }
}

fn notes() -> Scope {
    Scope::of(&capability("notes", "1.0.0", b"").name)
}

fn put(key: &str, value: &str, expected: Expected) -> Change {
    Change { entity: "notes".to_owned(), key: key.to_owned(), expected, action: Action::Put(value.to_owned()) }
}

fn delete(key: &str) -> Change {
    Change { action: Action::Delete, ..put(key, "", Expected::Any) }
}

#[tokio::test]
async fn a_document_is_what_was_put() {
    let home = Home::new();
    assert_eq!(home.store.document(&notes(), "notes", "a").unwrap(), None);
    assert_eq!(home.change(vec![put("a", "{\"x\":1}", Expected::Absent)]).await, Ok(vec![Made::Put(1)]));
    let document = home.store.document(&notes(), "notes", "a").unwrap().unwrap();
    assert_eq!((document.value.as_str(), document.version), ("{\"x\":1}", 1));
    assert_eq!(document.changed_at, 1_700_000_000_000);
    assert_eq!(home.store.document(&notes(), "tags", "a").unwrap(), None, "another entity");
    assert_eq!(home.change(vec![delete("a")]).await, Ok(vec![Made::Removed(2)]));
    assert_eq!(home.change(vec![delete("a")]).await, Ok(vec![Made::Nothing]));
    // A version never comes back, not even with a key that was removed.
    assert_eq!(home.change(vec![put("a", "1", Expected::Absent)]).await, Ok(vec![Made::Put(3)]));
    assert_eq!(home.change(vec![put("b", "1", Expected::Any)]).await, Ok(vec![Made::Put(4)]));
}

#[tokio::test]
async fn a_statement_is_prepared_once_whatever_is_bound_to_it() {
    let home = Home::new();
    home.change(vec![put("a", "1", Expected::Any), put("b", "1", Expected::Any)]).await.unwrap();
    for key in ["a", "b", "c", "a"] {
        home.store.document(&notes(), "notes", key).unwrap();
    }
    let prepared_again = home.store.look(|connection| {
        Ok(connection.prepare_cached(DOCUMENT)?.get_status(rusqlite::StatementStatus::RePrepare))
    });
    assert_eq!(prepared_again.unwrap(), 0);
}

#[tokio::test]
async fn removing_nothing_leaves_no_trace() {
    let home = Home::new();
    assert_eq!(home.change(vec![delete("a"), delete("b")]).await, Ok(vec![Made::Nothing, Made::Nothing]));
    assert_eq!(home.store.holdings().unwrap(), []);
    assert_eq!(home.history("a"), []);
}

#[tokio::test]
async fn strange_keys_are_keys_and_nothing_else() {
    let home = Home::new();
    let keys =
        ["'; DROP TABLE documents; --", "a%", "a_", "a*", "a[b]", "ab", "a\u{ffff}", "\u{10ffff}", "ä", "%"];
    for key in keys {
        home.change(vec![put(key, "1", Expected::Absent)]).await.unwrap();
    }
    let mut sorted = keys;
    sorted.sort_unstable();
    assert_eq!(home.list(&notes(), ""), sorted, "in the order of their bytes");
    for (prefix, expected) in [
        ("a", &["a%", "a*", "a[b]", "a_", "ab", "a\u{ffff}"][..]),
        ("a%", &["a%"]),
        ("a_", &["a_"]),
        ("a*", &["a*"]),
        ("a[", &["a[b]"]),
        ("a\u{ffff}", &["a\u{ffff}"]),
        ("\u{10ffff}", &["\u{10ffff}"]),
        ("%", &["%"]),
        ("_", &[]),
        ("'", &["'; DROP TABLE documents; --"]),
        ("' OR 1=1 --", &[]),
    ] {
        assert_eq!(home.list(&notes(), prefix), expected, "{prefix:?}");
    }
    for key in keys {
        assert!(home.store.document(&notes(), "notes", key).unwrap().is_some(), "{key}");
    }
}

#[tokio::test]
async fn pages_end_by_number_or_bytes_and_go_on_after_their_last_key() {
    let home = Home::new();
    home.change((0..9).map(|number| put(&format!("k{number}"), "1234567", Expected::Any)).collect())
        .await
        .unwrap();
    let all: Vec<String> = (0..9).map(|number| format!("k{number}")).collect();
    for (limit, bytes, pages) in
        [(1_000, 1_000, 1), (9, 1_000, 1), (4, 1_000, 3), (1, 1_000, 9), (1_000, 27, 3), (1_000, 1, 9)]
    {
        let (mut keys, mut after, mut seen) = (Vec::new(), None, 0);
        loop {
            let page = home.store.documents(&notes(), "notes", "k", after.as_deref(), limit, bytes).unwrap();
            seen += 1;
            keys.extend(page.documents.into_iter().map(|document| document.key));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!((keys, seen), (all.clone(), pages), "{limit} {bytes}");
    }
}

#[tokio::test]
async fn db15_neither_tenant_nor_capability_sees_anothers() {
    let home = Home::new();
    let name = |slug: &str| capability(slug, "1.0.0", b"").name;
    // As `other` could be called by another publisher, and as another tenant could install the same.
    let scopes = [
        Scope { tenant: "default", name: name("notes") },
        Scope { tenant: "default", name: name("other") },
        Scope { tenant: "b", name: name("notes") },
        Scope { tenant: "", name: name("notes") },
    ];
    for (number, scope) in scopes.iter().enumerate() {
        let changes = vec![
            put("same", &number.to_string(), Expected::Absent),
            put(&format!("own{number}"), "1", Expected::Absent),
        ];
        home.change_in(scope, changes).await.unwrap().unwrap();
    }
    for (number, scope) in scopes.iter().enumerate() {
        let own = format!("own{number}");
        for prefix in ["", "o", "own", "s"] {
            let expected: Vec<_> = [own.as_str(), "same"]
                .into_iter()
                .filter(|key| key.starts_with(prefix))
                .map(str::to_owned)
                .collect();
            assert_eq!(home.list(scope, prefix), expected, "{scope:?} {prefix}");
        }
        let page = home.store.documents(scope, "notes", "", Some("\0"), 9, 999).unwrap();
        assert_eq!(page.documents.len(), 2);
        let same = home.store.document(scope, "notes", "same").unwrap().unwrap();
        assert_eq!((same.value, same.version), (number.to_string(), 1));
        assert_eq!(home.store.all_documents(scope).unwrap().len(), 2);
        assert_eq!(home.store.sums(scope).unwrap().0.documents, 2);
        assert_eq!(home.store.entities(scope).unwrap().len(), 1);
        for other in (0..4).filter(|other| *other != number) {
            assert_eq!(home.store.document(scope, "notes", &format!("own{other}")).unwrap(), None);
        }
        // Not even a change that fits another's version.
        let conflict = home.change_in(scope, vec![put("own9", "1", Expected::Version(2))]).await.unwrap();
        assert!(matches!(conflict, Err(Refusal::Conflict { actual: None, .. })), "{conflict:?}");
    }
    home.store.purge(&name("notes"), record("purged")).unwrap();
    let left: Vec<_> = scopes.iter().map(|scope| home.list(scope, "").len()).collect();
    assert_eq!(left, [0, 2, 2, 2]);
}

#[tokio::test]
async fn db14_of_two_writers_one_wins() {
    let home = Home::new();
    let elsewhere = Store::open(home.folder.path(), Arc::new(Clock::system())).unwrap();
    home.change(vec![put("a", "0", Expected::Absent)]).await.unwrap();
    let change = |store: Arc<Store>, call: String, value: &str| {
        let by = ChangedBy { call, position: 0, run: None, digest: Digest::of(b"notes") };
        let changes = vec![put("a", value, Expected::Version(1))];
        let limits = home.limits;
        async move { store.change_documents(notes(), by, changes, limits).await.unwrap() }
    };
    let (one, other) = (home.begin().await, home.begin().await);
    let (one, other) = tokio::join!(change(Arc::clone(&home.store), one, "1"), change(elsewhere, other, "2"));
    let value = home.store.document(&notes(), "notes", "a").unwrap().unwrap().value;
    let lost = match (one, other) {
        (Ok(made), Err(lost)) | (Err(lost), Ok(made)) => {
            assert_eq!(made, [Made::Put(2)]);
            lost
        }
        both => panic!("one wins: {both:?}"),
    };
    assert_eq!(lost, Refusal::Conflict { entity: "notes".to_owned(), key: "a".to_owned(), actual: Some(2) });
    assert!(value == "1" || value == "2");
}

#[tokio::test]
async fn a_transaction_is_made_whole_or_not_at_all() {
    let home = Home::new();
    home.change(vec![put("a", "1", Expected::Absent), put("b", "1", Expected::Absent)]).await.unwrap();
    let before = home.store.all_documents(&notes()).unwrap();
    let calls = home.store.records(&Query { limit: 99, ..Query::default() }).unwrap();
    let refused = [
        vec![put("a", "2", Expected::Any), delete("b"), put("c", "1", Expected::Version(9))],
        vec![put("c", "1", Expected::Absent), put("a", "2", Expected::Absent)],
    ];
    for changes in refused {
        assert!(matches!(home.change(changes).await, Err(Refusal::Conflict { .. })));
        assert_eq!(home.store.all_documents(&notes()).unwrap(), before);
        assert_eq!(home.history("b"), []);
    }
    let made = home.change(vec![
        put("a", "2", Expected::Version(1)),
        delete("x"),
        delete("b"),
        put("c", "1", Expected::Absent),
    ]);
    assert_eq!(made.await, Ok(vec![Made::Put(3), Made::Nothing, Made::Removed(4), Made::Put(5)]));
    assert_eq!(home.list(&notes(), ""), ["a", "c"]);
    // Each change is a child of the call that made it, and refused ones are not.
    let records = home.store.records(&Query { limit: 99, ..Query::default() }).unwrap();
    assert_eq!(calls.len(), 1);
    let of = |entity: &str, key: &str, action: &str, version, bytes| ChangeRecord {
        entity: entity.to_owned(),
        key: key.to_owned(),
        action: action.to_owned(),
        version,
        bytes,
    };
    let mut children: Vec<_> =
        records.into_iter().map(|record| record.changes).filter(|changes| !changes.is_empty()).collect();
    children.sort_by_key(|changes| changes[0].version);
    assert_eq!(
        children,
        [
            vec![of("notes", "a", "put", 1, 1), of("notes", "b", "put", 2, 1)],
            vec![of("notes", "a", "put", 3, 1), of("notes", "b", "delete", 4, 0), of("notes", "c", "put", 5, 1)],
        ]
    );
}

#[tokio::test]
async fn what_cannot_be_recorded_is_not_changed() {
    let home = Home::new();
    let by = ChangedBy { call: "no such call".to_owned(), position: 0, run: None, digest: Digest::of(b"notes") };
    let changes = vec![put("a", "1", Expected::Any)];
    assert!(home.store.change_documents(notes(), by, changes, home.limits).await.is_err());
    assert_eq!(home.store.document(&notes(), "notes", "a").unwrap(), None);
    assert_eq!(home.sums(), (Sums::default(), Sums::default()));
}

#[tokio::test]
async fn a_change_counts_as_long_as_it_is_granted() {
    let home = Home::new();
    let name = notes().name;
    let entity = |entry: &str| Grant { namespace: NamespaceName::Entities, entry: Some(entry.to_owned()) };
    home.change(vec![put("a", "1", Expected::Any)]).await.unwrap();
    let refused = Err(Refusal::NotAvailable("notes".to_owned()));
    home.store.remove_grants(&name, &[entity("notes")]).unwrap();
    assert_eq!(home.change(vec![put("a", "2", Expected::Any)]).await, refused, "revoked");
    let tag = Change { entity: "tags".to_owned(), ..put("a", "2", Expected::Any) };
    assert!(home.change(vec![tag.clone()]).await.is_ok(), "granted still");
    assert_eq!(home.change(vec![tag, put("a", "2", Expected::Any)]).await, refused, "one of two");
    home.store.add_grants(&name, &Digest::of(b"notes"), &[entity("notes")]).unwrap();
    assert!(home.change(vec![put("a", "3", Expected::Any)]).await.is_ok());
    // A call ends on the version it began with, unless that is taken back, and unless the new one writes another form.
    home.store.put_install(&capability("notes", "1.1.0", b"new"), &[entity("notes")]).unwrap();
    assert!(home.change(vec![put("a", "4", Expected::Any)]).await.is_ok(), "upgraded");
    home.store.remove_grants(&name, &[entity("notes")]).unwrap();
    assert_eq!(home.change(vec![put("a", "5", Expected::Any)]).await, refused, "taken back after the upgrade");
    // A call of a capability that is gone.
    home.store.purge(&name, record("purged")).unwrap();
    assert_eq!(home.change(vec![put("a", "6", Expected::Any)]).await, refused, "purged");
    assert_eq!(home.list(&notes(), ""), [""; 0], "nothing rises again");
}

#[tokio::test]
async fn nobody_waits_for_a_change_so_it_is_not_made() {
    let home = Home::new();
    let (hold, held) = std::sync::mpsc::channel::<()>();
    let (started, has_started) = std::sync::mpsc::channel();
    home.store.write_later(
        move |_| {
            started.send(()).unwrap();
            // Ends when the test lets go.
            let _ = held.recv();
            Ok(())
        },
        |_| (),
    );
    let call = "c".to_owned();
    has_started.recv().unwrap();
    let by = ChangedBy { call, position: 0, run: None, digest: Digest::of(b"notes") };
    let change = home.store.change_documents(notes(), by, vec![put("a", "1", Expected::Any)], home.limits);
    let waited = tokio::time::timeout(Duration::from_millis(20), change).await;
    assert!(waited.is_err(), "the writer is busy");
    drop(hold);
    home.store.flush().unwrap();
    assert_eq!(home.store.document(&notes(), "notes", "a").unwrap(), None);
}

#[tokio::test]
async fn history_is_bounded_for_each_key() {
    let home = Home::with_limits(EntitiesConfig { history: 3, ..EntitiesConfig::default() });
    for number in 1..=6 {
        home.change(vec![put("a", &number.to_string(), Expected::Any)]).await.unwrap();
    }
    let value = |version: u64| (version, Some(version.to_string()));
    assert_eq!(home.history("a"), [value(5), value(4), value(3)]);
    home.change(vec![delete("a")]).await.unwrap();
    assert_eq!(home.history("a"), [(7, None), value(6), value(5)]);
    home.change(vec![put("a", "8", Expected::Any)]).await.unwrap();
    home.change(vec![put("a", "9", Expected::Any)]).await.unwrap();
    assert_eq!(home.history("a"), [value(8), (7, None), value(6)]);
    let (stored, counted) = home.old_bytes();
    assert_eq!(stored, counted);
    let (stored, counted) = home.sums();
    assert_eq!(stored, counted);

    let none = Home::with_limits(EntitiesConfig { history: 0, ..EntitiesConfig::default() });
    for number in 1..=3 {
        none.change(vec![put("a", &number.to_string(), Expected::Any)]).await.unwrap();
    }
    none.change(vec![delete("a")]).await.unwrap();
    assert_eq!((none.history("a"), none.old_bytes()), (vec![], (0, 0)));
}

#[tokio::test]
async fn history_of_removed_keys_does_not_grow_for_ever() {
    let home = Home::with_limits(EntitiesConfig { bytes: 4_000, ..EntitiesConfig::default() });
    for number in 0..60 {
        let key = format!("k{number}");
        home.change(vec![put(&key, "\"value\"", Expected::Any)]).await.unwrap();
        home.change(vec![delete(&key)]).await.unwrap();
    }
    let (stored, counted) = home.old_bytes();
    assert_eq!(stored, counted);
    assert!((3_000..=4_000).contains(&stored), "{stored}");
    assert_eq!(home.history("k0"), [], "the oldest went");
    assert_eq!(home.history("k59").len(), 2);
    assert_eq!(home.sums(), (Sums::default(), Sums::default()));
}

#[tokio::test]
async fn quotas_hold_inside_the_transaction() {
    let home = Home::with_limits(EntitiesConfig { documents: 3, bytes: 30, ..EntitiesConfig::default() });
    for key in ["a", "b", "c"] {
        home.change(vec![put(key, "1", Expected::Any)]).await.unwrap();
    }
    let quota = |result: Result<Vec<Made>, Refusal>| matches!(result, Err(Refusal::Quota(_)));
    assert!(quota(home.change(vec![put("d", "1", Expected::Any)]).await));
    assert!(quota(home.change(vec![put("a", "\"0123456789012345678901234567\"", Expected::Any)]).await));
    assert!(home.change(vec![delete("a"), put("d", "1", Expected::Any)]).await.is_ok());
    assert_eq!(home.list(&notes(), ""), ["b", "c", "d"]);
    let (stored, counted) = home.sums();
    assert_eq!(stored, counted);
}

#[tokio::test]
async fn a_full_disk_changes_nothing_and_is_survived() {
    let home = Home::with_limits(EntitiesConfig::default());
    home.change(vec![put("a", "1", Expected::Any)]).await.unwrap();
    home.store.limit_pages(1).unwrap();
    let large = format!("\"{}\"", "x".repeat(200_000));
    let call = home.begin().await;
    let by = || ChangedBy { call: call.clone(), position: 0, run: None, digest: Digest::of(b"notes") };
    let changes = || vec![put("a", "2", Expected::Any), put("b", &large, Expected::Any)];
    let error = home.store.change_documents(notes(), by(), changes(), home.limits).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Store);
    assert_eq!(home.store.document(&notes(), "notes", "a").unwrap().unwrap().value, "1");
    let (stored, counted) = home.sums();
    assert_eq!(stored, counted);
    home.store.limit_pages(1_000_000).unwrap();
    let made = home.store.change_documents(notes(), by(), changes(), home.limits).await.unwrap();
    assert_eq!(made, Ok(vec![Made::Put(2), Made::Put(3)]));
}

#[tokio::test]
async fn a_person_changes_with_a_record_of_their_own() {
    let home = Home::new();
    home.change(vec![put("a", "1", Expected::Any)]).await.unwrap();
    let made = home.store.change_documents_by_hand(
        notes(),
        record("by hand"),
        vec![put("a", "2", Expected::Version(1))],
        home.limits,
    );
    assert_eq!(made.unwrap(), Ok(vec![Made::Put(2)]));
    let of =
        |id: &str| home.store.records(&Query { id: Some(id.to_owned()), limit: 1, ..Query::default() }).unwrap();
    assert_eq!(of("by hand")[0].changes.len(), 1);
    let refused = home.store.change_documents_by_hand(
        notes(),
        record("refused"),
        vec![put("a", "3", Expected::Version(1))],
        home.limits,
    );
    assert!(matches!(refused.unwrap(), Err(Refusal::Conflict { .. })));
    assert!(of("refused").is_empty());
}

#[tokio::test]
async fn purging_removes_everything_once() {
    let home = Home::new();
    home.change(vec![put("a", "1", Expected::Any)]).await.unwrap();
    home.change(vec![put("a", "2", Expected::Any), put("b", "1", Expected::Any)]).await.unwrap();
    let name = notes().name;
    let (digests, removed, _) = home.store.purge(&name, record("purged")).unwrap();
    assert_eq!((digests, removed), (vec![Digest::of(b"notes")], Sums { documents: 2, bytes: 4 }));
    assert_eq!(home.store.holdings().unwrap(), []);
    assert_eq!((home.history("a"), home.list(&notes(), "")), (vec![], vec![]));
    let (digests, removed, _) = home.store.purge(&name, record("again")).unwrap();
    assert_eq!((digests, removed), (vec![], Sums::default()));
    let rows = home.store.look(|connection| {
        let count = |table: &str| {
            connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| read_count(row, 0))
        };
        Ok((count("documents")?, count("old_documents")?))
    });
    assert_eq!(rows.unwrap(), (0, 0));
}
