//! No attack is forgotten.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The last number of the table.
const LAST: usize = 50;
/// What cannot be prevented, and is documented instead.
const DOCUMENTED: usize = 29;

#[test]
fn every_attack_has_its_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a workspace");
    let mut tests: BTreeMap<usize, usize> = BTreeMap::new();
    for entry in fs::read_dir(root.join("tests/suites/attacks")).expect("the folder of attacks") {
        let text = fs::read_to_string(entry.expect("a file").path()).expect("a text");
        for part in text.split("#[test]\nfn s").skip(1) {
            let number = part.get(..2).and_then(|digits| digits.parse().ok()).expect("a number of two digits");
            assert_eq!(part.get(2..3), Some("_"), "s{number}");
            *tests.entry(number).or_default() += 1;
        }
    }
    let missing: Vec<_> =
        (1..=LAST).filter(|number| *number != DOCUMENTED && !tests.contains_key(number)).collect();
    assert_eq!(missing, Vec::<usize>::new(), "attacks without a test");
    assert!(tests.keys().all(|number| (1..=LAST).contains(number) && *number != DOCUMENTED), "{tests:?}");

    // The page of promises names attacks by their ids: each is one of these.
    let promises = fs::read_to_string(root.join("docs/security.md")).expect("the promises");
    let named = promises.split("S-").skip(1).filter_map(|rest| rest.get(..2)?.parse::<usize>().ok());
    let named: BTreeSet<_> = named.collect();
    assert!(named.contains(&DOCUMENTED), "what cannot be prevented is said");
    let unknown: Vec<_> =
        named.iter().filter(|number| **number != DOCUMENTED && !tests.contains_key(number)).collect();
    assert_eq!(unknown, Vec::<&usize>::new(), "promises without a test");
}
