//! What is believed of a release, by whose keys, and what is as if nobody had said it.

use super::*;
use crate::signing::SigningKey;

const BYTES: &[u8] = b"a component";

fn key() -> SigningKey {
    SigningKey::create(tempfile::tempdir().expect("a folder").path()).expect("a key")
}

/// A publisher, a reviewer and somebody else, and what is known of the first two.
struct People {
    ann: SigningKey,
    ben: SigningKey,
    eve: SigningKey,
    owners: Owners,
}

impl People {
    fn new() -> Self {
        let (ann, ben, eve) = (key(), key(), key());
        let known = |key: &SigningKey, owner: &str, publishers: &[&str], reviewer| KnownKey {
            key: key.public(),
            owner: owner.to_owned(),
            publishers: publishers.iter().map(|&name| name.to_owned()).collect(),
            reviewer,
            revoked_at: None,
        };
        let keys = vec![known(&ann, "ann", &["acme"], false), known(&ben, "ben", &[], true)];
        Self { ann, ben, eve, owners: Owners { keys } }
    }

    fn verify(&self, release: &Release) -> Result<Verified> {
        verify(&wanted(), release, &self.owners)
    }

    fn installable(&self, release: &Release) -> std::result::Result<(), ErrorKind> {
        self.verify(release).and_then(Verified::installable).map(drop).map_err(|error| error.kind)
    }
}

fn wanted() -> Exact {
    "acme/weather@1.0.0".parse().expect("a release")
}

fn statement() -> Statement {
    Statement {
        publisher: "acme".to_owned(),
        slug: "weather".to_owned(),
        version: Version::new(1, 0, 0),
        component_sha256: Digest::of(BYTES),
        tools_sha256: Digest::of(b"tools"),
        grants_sha256: Digest::of(b"grants"),
        signed_at: 100,
    }
}

fn decision(approved: bool) -> Decision {
    Decision {
        release: wanted().to_string(),
        component_sha256: Digest::of(BYTES),
        approved,
        reason: (!approved).then(|| "it asks too much".to_owned()),
        signed_at: 200,
    }
}

fn withdrawal(kind: WithdrawalKind) -> Withdrawal {
    Withdrawal { release: wanted().to_string(), kind, reason: "it leaks".to_owned(), signed_at: 300 }
}

fn signed<T: super::super::Document>(document: T, key: &SigningKey) -> Signed<T> {
    Signed::new(document, key).expect("signed")
}

fn release(statement: Signed<Statement>, decision: Option<Signed<Decision>>) -> Release {
    Release { statement, decision, withdrawals: Vec::new() }
}

#[test]
fn an_approved_release_is_installable_and_says_who() {
    let people = People::new();
    let release = release(signed(statement(), &people.ann), Some(signed(decision(true), &people.ben)));
    let verified = people.verify(&release).and_then(Verified::installable).expect("approved");
    assert_eq!(verified.signed_by, (people.ann.public(), "ann".to_owned()));
    assert_eq!(verified.approved, Some(("ben".to_owned(), 200)));
    verified.check_bytes(BYTES).expect("the bytes");
    assert_eq!(verified.check_bytes(b"a component!").expect_err("others").kind, ErrorKind::DigestMismatch);
    let said = |version: Version, tools: &[u8], grants: &[u8]| {
        verified.check_manifest(&version, Digest::of(tools), Digest::of(grants)).map_err(|error| error.kind)
    };
    assert_eq!(said(Version::new(1, 0, 0), b"tools", b"grants"), Ok(()));
    assert_eq!(said(Version::new(1, 0, 1), b"tools", b"grants"), Err(ErrorKind::DigestMismatch));
    assert_eq!(said(Version::new(1, 0, 0), b"tool", b"grants"), Err(ErrorKind::DigestMismatch));
    assert_eq!(said(Version::new(1, 0, 0), b"tools", b"more"), Err(ErrorKind::DigestMismatch));
}

#[test]
fn c_23_a_statement_counts_by_a_key_of_its_publisher_that_counted_then() {
    let mut people = People::new();
    let of = |key: &SigningKey| release(signed(statement(), key), None);
    assert_eq!(people.verify(&of(&people.eve)).expect_err("unknown").kind, ErrorKind::KeyUnknown);
    assert_eq!(people.verify(&of(&people.ben)).expect_err("of others").kind, ErrorKind::KeyNotAllowed);
    let other = Statement { publisher: "remit".to_owned(), ..statement() };
    let other = release(signed(other, &people.ann), None);
    let of_remit = "remit/weather@1.0.0".parse().expect("a release");
    let refused = verify(&of_remit, &other, &people.owners).expect_err("ann is not remit");
    assert_eq!(refused.kind, ErrorKind::KeyNotAllowed);

    let by_ann = of(&people.ann);
    people.owners.revoke(people.ann.public(), 101).expect("revoked");
    people.verify(&by_ann).expect("signed before");
    people.owners.revoke(people.ann.public(), 100).expect("revoked earlier");
    assert_eq!(people.verify(&by_ann).expect_err("signed after").kind, ErrorKind::KeyRevoked);
}

#[test]
fn a_statement_about_something_else_is_refused() {
    let people = People::new();
    for statement in [
        Statement { slug: "whether".to_owned(), ..statement() },
        Statement { slug: "../weather".to_owned(), ..statement() },
        Statement { version: Version::new(1, 0, 1), ..statement() },
    ] {
        let refused = people.verify(&release(signed(statement, &people.ann), None)).expect_err("not wanted");
        assert_eq!(refused.kind, ErrorKind::SignatureInvalid);
    }
}

#[test]
fn c_20_only_a_second_person_who_reviews_approves() {
    let mut people = People::new();
    let by = |people: &People, key: &SigningKey| {
        people.installable(&release(signed(statement(), &people.ann), Some(signed(decision(true), key))))
    };
    assert_eq!(by(&people, &people.ben), Ok(()));
    assert_eq!(by(&people, &people.eve), Err(ErrorKind::NotReviewed), "unknown");
    assert_eq!(by(&people, &people.ann), Err(ErrorKind::NotReviewed), "no reviewer");
    let ann = KnownKey { reviewer: true, ..people.owners.find(people.ann.public()).expect("ann").clone() };
    people.owners.trust(ann.clone()).expect("ann reviews too");
    assert_eq!(by(&people, &people.ann), Err(ErrorKind::NotReviewed), "her own");
    // Nor with a second key: two keys of one owner are one voice.
    // However the owner is written.
    for owner in ["ann", "Ann", " ann "] {
        let another = KnownKey { key: people.eve.public(), owner: owner.to_owned(), ..ann.clone() };
        people.owners.keys.retain(|known| known.key != another.key);
        people.owners.trust(another).expect("another key of ann's");
        assert_eq!(by(&people, &people.eve), Err(ErrorKind::NotReviewed), "her own by another key: {owner:?}");
    }
    people.owners.revoke(people.ben.public(), 200).expect("revoked");
    assert_eq!(by(&people, &people.ben), Err(ErrorKind::NotReviewed), "a reviewer no more");
}

#[test]
fn c_21_a_decision_is_about_bytes() {
    let people = People::new();
    let about = |decision: Decision| {
        people.installable(&release(signed(statement(), &people.ann), Some(signed(decision, &people.ben))))
    };
    let other_bytes = Decision { component_sha256: Digest::of(b"others"), ..decision(true) };
    assert_eq!(about(other_bytes), Err(ErrorKind::NotReviewed));
    let other_release = Decision { release: "acme/weather@1.0.1".to_owned(), ..decision(true) };
    assert_eq!(about(other_release), Err(ErrorKind::NotReviewed));
    assert_eq!(about(decision(false)), Err(ErrorKind::NotReviewed));
    assert_eq!(people.installable(&release(signed(statement(), &people.ann), None)), Err(ErrorKind::NotReviewed));
}

#[test]
fn the_gravest_withdrawal_counts_and_only_of_who_may() {
    let people = People::new();
    let approved = release(signed(statement(), &people.ann), Some(signed(decision(true), &people.ben)));
    let with =
        |withdrawals: Vec<Signed<Withdrawal>>| people.installable(&Release { withdrawals, ..approved.clone() });
    let (yank, revoke) = (withdrawal(WithdrawalKind::Yank), withdrawal(WithdrawalKind::Revoke));
    assert_eq!(with(vec![signed(yank.clone(), &people.ann)]), Err(ErrorKind::Yanked));
    assert_eq!(with(vec![signed(withdrawal(WithdrawalKind::Remove), &people.ann)]), Err(ErrorKind::Yanked));
    assert_eq!(
        with(vec![signed(revoke.clone(), &people.ben), signed(yank.clone(), &people.ann)]),
        Err(ErrorKind::Revoked)
    );
    assert_eq!(
        with(vec![signed(yank, &people.ann), signed(revoke.clone(), &people.ben)]),
        Err(ErrorKind::Revoked)
    );
    assert_eq!(with(vec![signed(revoke.clone(), &people.eve)]), Ok(()), "anybody could say so");
    let other = Withdrawal { release: "acme/weather@2.0.0".to_owned(), ..revoke };
    assert_eq!(with(vec![signed(other, &people.ann)]), Ok(()), "of another version");
}
