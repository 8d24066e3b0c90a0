//! Snapshots follow every process and are whole.

use std::time::Duration;

use super::*;
use crate::clock::Clock;
use crate::manifest::NamespaceName;

fn open(home: &std::path::Path) -> (Arc<Store>, Catalog) {
    let clock = Arc::new(Clock::manual(Duration::from_secs(1_700_000_000)));
    let store = Store::open(home, clock).unwrap();
    (Arc::clone(&store), Catalog::new(store))
}

fn capability(slug: &str, version: &str) -> Capability {
    let manifest = serde_json::json!({
        "publisher": "acme", "slug": slug, "version": version, "title": "T", "description": "D.",
    });
    Capability {
        name: CapabilityName { publisher: "acme".to_owned(), slug: slug.to_owned() },
        digest: Digest::of(format!("{slug}@{version}").as_bytes()),
        manifest: serde_json::from_value(manifest).unwrap(),
        installed_at: 0,
        size: 9,
    }
}

#[test]
fn nothing_is_read_again_while_nothing_changes() {
    let home = tempfile::tempdir().unwrap();
    let (store, catalog) = open(home.path());
    assert!(catalog.current().unwrap().entries.is_empty());
    store.put_install(&capability("one", "1.0.0"), &[]).unwrap();
    let first = catalog.current().unwrap();
    assert!(Arc::ptr_eq(&first, &catalog.current().unwrap()));
    let capability = &first.entries[&capability("one", "1.0.0").name].capability;
    assert_eq!((capability.installed_at, capability.size), (1_700_000_000_000, 9));
}

#[test]
fn what_did_not_change_is_shared() {
    let home = tempfile::tempdir().unwrap();
    let (store, catalog) = open(home.path());
    let (_, elsewhere) = open(home.path());
    let (one, two) = (capability("one", "1.0.0"), capability("two", "1.0.0"));
    store.put_install(&one, &[]).unwrap();
    store.put_install(&two, &[]).unwrap();
    let before = catalog.current().unwrap();
    let grant = Grant { namespace: NamespaceName::Http, entry: None };
    store.add_grants(&two.name, &two.digest, std::slice::from_ref(&grant)).unwrap();
    let after = catalog.current().unwrap();
    assert!(before.generation < after.generation);
    let entries = |name| (&before.entries[name], &after.entries[name]);
    let (old, new) = entries(&one.name);
    assert!(Arc::ptr_eq(old, new));
    let (old, new) = entries(&two.name);
    assert!(!Arc::ptr_eq(old, new) && Arc::ptr_eq(&old.capability, &new.capability));
    assert!(Arc::ptr_eq(&old.schemas, &new.schemas));
    assert_eq!((old.grants.as_slice(), new.grants.as_slice()), ([].as_slice(), [grant].as_slice()));

    store.put_install(&capability("two", "1.1.0"), &[]).unwrap();
    store.remove_install(&one.name).unwrap();
    for catalog in [&catalog, &elsewhere] {
        let last = catalog.current().unwrap();
        assert_eq!(last.entries.len(), 1);
        let entry = &last.entries[&two.name];
        assert_eq!(entry.capability.manifest.version.to_string(), "1.1.0");
        assert!(entry.grants.is_empty());
    }
}

#[test]
fn an_unreadable_install_is_left_out_and_can_be_replaced() {
    let home = tempfile::tempdir().unwrap();
    let (store, catalog) = open(home.path());
    let (one, two) = (capability("one", "1.0.0"), capability("two", "1.0.0"));
    store.put_install(&one, &[]).unwrap();
    store.put_install(&two, &[]).unwrap();
    store.set_manifest_text(&one.name, r#"{ "from": "the future" }"#).unwrap();
    assert_eq!(catalog.current().unwrap().entries.keys().collect::<Vec<_>>(), [&two.name]);
    store.put_install(&capability("one", "1.1.0"), &[]).unwrap();
    assert_eq!(catalog.current().unwrap().entries.len(), 2);
}
