//! What is asked, counted, bounded and refused.

use std::path::Path;
use std::time::Duration;

use serde_json::json;

use super::*;
use crate::clock::Clock;
use crate::policy::Place;

struct World {
    store: Arc<Store>,
    clock: Arc<Clock>,
    asks: Asks,
    capability: Capability,
}

impl World {
    fn open(home: &Path) -> Self {
        let clock = Arc::new(Clock::manual(Duration::from_secs(1_700_000_000)));
        let store = Store::open(home, clock.clone()).unwrap();
        let capability = capability("1.0.0", b"1");
        store.put_install(&capability, &[]).unwrap();
        Self { asks: Asks::new(store.clone()), store, clock, capability }
    }

    fn ask(&self, needs: &[Need]) -> Vec<Asked> {
        self.ask_as(&self.capability, needs)
    }

    fn ask_as(&self, capability: &Capability, needs: &[Need]) -> Vec<Asked> {
        let asker = Asker { capability, principal: "stdio", tool: "fetch", call: "c1" };
        let asked = self.asks.ask(&asker, needs);
        self.store.flush().unwrap();
        asked
    }

    fn rows(&self) -> Vec<Ask> {
        self.store.asks().unwrap()
    }
}

fn capability(version: &str, bytes: &[u8]) -> Capability {
    let manifest = json!({
        "publisher": "acme", "slug": "weather", "version": version, "title": "T", "description": "D.",
    });
    Capability {
        name: "acme/weather".parse().unwrap(),
        digest: Digest::of(bytes),
        manifest: serde_json::from_value(manifest).unwrap(),
        installed_at: 0,
        size: 1,
    }
}

fn host(host: &str) -> Wish {
    Wish::Host { host: host.to_owned(), port: 443 }
}

fn need(wishes: Vec<Wish>) -> Need {
    Need { kind: ErrorKind::HttpHostNotAllowed, why: "it may not".to_owned(), wishes }
}

#[test]
fn a_wish_is_asked_for_once_and_counted() {
    let home = tempfile::tempdir().unwrap();
    let world = World::open(home.path());
    let first = world.ask(&[need(vec![host("a.example")])]);
    world.clock.advance(Duration::from_secs(60));
    // By another process of the home, too.
    let elsewhere = World::open(home.path());
    assert_eq!(elsewhere.ask(&[need(vec![host("a.example")])]), first);
    assert_eq!(
        world.ask(&[need(vec![host("a.example")]), need(vec![host("a.example"), host("b.example")])])[0],
        first[0]
    );

    let rows = world.rows();
    let row = rows.iter().find(|ask| ask.id == first[0].ids[0]).unwrap();
    assert_eq!((row.times, &row.wish, row.refused_at), (3, &host("a.example"), None));
    assert_eq!((row.first_at, row.last_at), (1_700_000_000_000, 1_700_000_060_000));
    assert_eq!((row.principal.as_str(), row.tool.as_str(), row.call.as_str()), ("stdio", "fetch", "c1"));
    assert_eq!(rows.len(), 2);
}

#[test]
fn every_wish_is_read_as_it_was_written() {
    let home = tempfile::tempdir().unwrap();
    let world = World::open(home.path());
    let secret =
        |place| Wish::Secret { secret: "KEY".to_owned(), host: "a.example".to_owned(), port: 8443, place };
    let wishes = [
        host("a.example"),
        Wish::OwnCredentials,
        secret(Place::Body),
        secret(Place::Header("x-key".to_owned())),
        Wish::Value { secret: "KEY".to_owned(), source: "WORK_KEY".to_owned() },
    ];
    let asked = world.ask(&[need(wishes.to_vec())]);
    for (wish, id) in wishes.iter().zip(&asked[0].ids) {
        assert_eq!(world.rows().iter().find(|ask| ask.id == *id).map(|ask| &ask.wish), Some(wish));
    }
}

#[test]
fn the_caller_is_told_in_one_sentence() {
    let home = tempfile::tempdir().unwrap();
    let world = World::open(home.path());
    let sentence = |wishes| world.ask(&[need(wishes)]).remove(0).sentence;
    let ids = world.ask(&[need(vec![host("a.example"), host("b.example")])]).remove(0).ids;
    assert_eq!(
        sentence(vec![host("a.example")]),
        format!("http/host-not-allowed: it may not; a person can allow this with the approval id `{}`", ids[0])
    );
    assert_eq!(
        sentence(vec![host("a.example"), host("b.example")]),
        format!(
            "http/host-not-allowed: it may not; a person can allow this with the approval ids `{}` and `{}`",
            ids[0], ids[1]
        )
    );
    world.store.refuse_ask(ids[0]).unwrap();
    let refused = world.ask(&[need(vec![host("b.example"), host("a.example")])]).remove(0);
    assert_eq!(refused.sentence, "http/host-not-allowed: it may not; a person refused to allow this");
    assert!(refused.ids.is_empty());
}

#[test]
fn a_guest_that_asks_without_end_fills_nothing() {
    let home = tempfile::tempdir().unwrap();
    let world = World::open(home.path());
    let refused = world.ask(&[need(vec![host("refused.example")])]).remove(0).ids[0];
    world.store.refuse_ask(refused).unwrap();
    for number in 0..10_000 {
        if number % 100 == 0 {
            world.clock.advance(Duration::from_millis(1));
        }
        let call = format!("c{number}");
        let asker = Asker { capability: &world.capability, principal: "stdio", tool: "fetch", call: &call };
        let asked = world.asks.ask(&asker, &[need(vec![host(&format!("h{number}.example"))])]);
        assert_eq!(asked.len(), 1);
        // A queue that is never waited for is bounded by itself.
        if number % 1000 == 0 {
            world.store.flush().unwrap();
        }
    }
    world.store.flush().unwrap();
    let rows = world.rows();
    assert_eq!(rows.len(), 51, "fifty that are open, and the one that is refused");
    assert!(rows.iter().any(|ask| ask.wish == host("h9999.example")), "the newest are kept");
    assert!(rows.iter().any(|ask| ask.id == refused), "a flood does not wash a refusal away");

    let many: Vec<_> = (0..1000).map(|number| need(vec![host(&format!("n{number}.example"))])).collect();
    assert_eq!(world.ask(&many).len(), WISHES, "nor is the caller flooded");
}

#[test]
fn what_is_refused_stays_refused_for_these_bytes() {
    let home = tempfile::tempdir().unwrap();
    let world = World::open(home.path());
    let wish = || [need(vec![host("a.example")])];
    let old = world.ask(&wish()).remove(0).ids[0];
    world.store.refuse_ask(old).unwrap();
    for _ in 0..3 {
        assert!(world.ask(&wish())[0].ids.is_empty());
    }
    let rows = world.rows();
    assert_eq!((rows.len(), rows[0].times, rows[0].refused_at.is_some()), (1, 1, true));

    let next = capability("1.1.0", b"2");
    world.store.put_install(&next, &[]).unwrap();
    assert!(world.rows().is_empty(), "asks go with their digest");
    let new = world.ask_as(&next, &wish()).remove(0).ids[0];
    assert_ne!(new, old);
    // A call of the old bytes that still ran: its ask is for nothing that is installed.
    world.ask(&[need(vec![host("b.example")])]);
    assert_eq!(world.rows().iter().map(|ask| ask.id).collect::<Vec<_>>(), [new]);
}

#[test]
fn an_ask_that_cannot_be_kept_is_no_answer_and_no_failure() {
    let home = tempfile::tempdir().unwrap();
    let world = World::open(home.path());
    world.store.break_asks().unwrap();
    assert!(world.ask(&[need(vec![host("a.example")])]).is_empty());
}
