//! What a dry run would have changed: seen by its own call, written nowhere. Pure.

use std::collections::BTreeMap;
use std::ops::Bound;

use super::document::{Action, Change, Document, Made, Page, Refusal};
use super::rules::{PAGE_BYTES, Sums, decide};
use crate::audit::ChangeRecord;
use crate::config::EntitiesConfig;

/// The changes of one dry run over what is stored.
#[derive(Debug, Default)]
pub(super) struct Overlay {
    /// By entity and key; `None` for what was removed.
    documents: BTreeMap<(String, String), Option<Document>>,
    /// Sums and the last version, once something was changed.
    state: Option<(Sums, u64)>,
    plan: Vec<ChangeRecord>,
}

impl Overlay {
    /// What this call sees under a key, if it changed it.
    pub(super) fn get(&self, entity: &str, key: &str) -> Option<&Option<Document>> {
        if self.documents.is_empty() {
            return None;
        }
        self.documents.get(&(entity.to_owned(), key.to_owned()))
    }

    /// Sums and the last version, once something was changed; before that they are as they are stored.
    pub(super) fn state(&self) -> Option<(Sums, u64)> {
        self.state
    }

    /// The changes that would have been made.
    pub(super) fn plan(&self) -> &[ChangeRecord] {
        &self.plan
    }

    /// Makes changes as the store would. `present` is what this call sees for each of them; the versions that are
    /// given are those that the store would give now.
    pub(super) fn apply(
        &mut self,
        changes: Vec<Change>,
        present: &[Option<Document>],
        (sums, mut version): (Sums, u64),
        now_ms: i64,
        limits: &EntitiesConfig,
    ) -> Result<Vec<Made>, Refusal> {
        let known: Vec<_> = present.iter().map(|document| document.as_ref().map(Document::present)).collect();
        let sums = decide(&changes, &known, sums, limits)?;
        let mut made = Vec::with_capacity(changes.len());
        for (change, present) in changes.into_iter().zip(&known) {
            if change.action == Action::Delete && present.is_none() {
                made.push(Made::Nothing);
                continue;
            }
            version += 1;
            self.plan.push(ChangeRecord::of(&change, version));
            let Change { entity, key, action, .. } = change;
            let document = match action {
                Action::Put(value) => Some(Document { key: key.clone(), value, version, changed_at: now_ms }),
                Action::Delete => None,
            };
            made.push(if document.is_some() { Made::Put(version) } else { Made::Removed(version) });
            self.documents.insert((entity, key), document);
        }
        self.state = Some((sums, version));
        Ok(made)
    }

    /// A page of what is stored, as this call sees it. `after` is the key before its first one.
    pub(super) fn merge(&self, entity: &str, prefix: &str, after: Option<&str>, page: Page, limit: usize) -> Page {
        if self.documents.is_empty() {
            return page;
        }
        let from = match after {
            Some(after) => Bound::Excluded((entity.to_owned(), after.to_owned())),
            None => Bound::Included((entity.to_owned(), prefix.to_owned())),
        };
        let is_here = |key: &str| key.starts_with(prefix) && page.next.as_deref().is_none_or(|last| key <= last);
        let mut seen: BTreeMap<String, Document> =
            page.documents.into_iter().map(|document| (document.key.clone(), document)).collect();
        let ours = self.documents.range((from, Bound::Unbounded));
        for ((_, key), document) in ours.take_while(|((ours, _), _)| ours == entity) {
            match document {
                _ if !is_here(key) => {}
                Some(document) => drop(seen.insert(key.clone(), document.clone())),
                None => drop(seen.remove(key)),
            }
        }
        capped(seen.into_values(), page.next, limit)
    }
}

/// As many documents as a page holds; `next` is where the following one begins if all of them fit.
fn capped(documents: impl Iterator<Item = Document>, next: Option<String>, limit: usize) -> Page {
    let mut page = Page { documents: Vec::new(), next };
    let mut bytes = 0;
    for document in documents {
        bytes += document.size();
        let is_full = page.documents.len() == limit || bytes > PAGE_BYTES as u64;
        if let Some(last) = page.documents.last().filter(|_| is_full) {
            page.next = Some(last.key.clone());
            return page;
        }
        page.documents.push(document);
    }
    page
}

#[cfg(test)]
mod tests {
    use super::super::document::Expected;
    use super::*;

    fn change(key: &str, value: Option<&str>) -> Change {
        let action = value.map_or(Action::Delete, |value| Action::Put(value.to_owned()));
        Change { entity: "notes".to_owned(), key: key.to_owned(), expected: Expected::Any, action }
    }

    fn document(key: &str, value: &str) -> Document {
        Document { key: key.to_owned(), value: value.to_owned(), version: 1, changed_at: 0 }
    }

    /// An overlay over stored `a`, `c`, `e`, in which `b` is new, `c` is gone and `e` has another value.
    fn overlay() -> Overlay {
        let mut overlay = Overlay::default();
        let changes = vec![change("b", Some("2")), change("c", None), change("e", Some("5")), change("x", None)];
        let present = [None, Some(document("c", "1")), Some(document("e", "1")), None];
        let sums = Sums { documents: 3, bytes: 6 };
        let made = overlay.apply(changes, &present, (sums, 9), 7, &EntitiesConfig::default()).unwrap();
        assert_eq!(made, [Made::Put(10), Made::Removed(11), Made::Put(12), Made::Nothing]);
        overlay
    }

    fn seen(page: &Page) -> (Vec<String>, Option<&str>) {
        let documents = page.documents.iter().map(|document| format!("{}={}", document.key, document.value));
        (documents.collect(), page.next.as_deref())
    }

    #[test]
    fn a_dry_run_sees_its_own_changes() {
        let overlay = overlay();
        assert_eq!(overlay.state(), Some((Sums { documents: 3, bytes: 6 }, 12)));
        assert_eq!(overlay.get("notes", "b").unwrap().as_ref().unwrap().value, "2");
        assert_eq!(overlay.get("notes", "c"), Some(&None));
        assert_eq!(overlay.get("notes", "a"), None);
        assert_eq!(overlay.get("tags", "b"), None);
        let plan: Vec<_> =
            overlay.plan().iter().map(|change| (change.key.as_str(), change.action.as_str())).collect();
        assert_eq!(plan, [("b", "put"), ("c", "delete"), ("e", "put")]);
    }

    #[test]
    fn a_list_is_merged_key_by_key() {
        let overlay = overlay();
        let stored = |keys: &[&str], next: Option<&str>| Page {
            documents: keys.iter().map(|key| document(key, "1")).collect(),
            next: next.map(str::to_owned),
        };
        let all = overlay.merge("notes", "", None, stored(&["a", "c", "e"], None), 9);
        assert_eq!(seen(&all), (["a=1", "b=2", "e=5"].map(str::to_owned).to_vec(), None));
        // A page of the store ends at `c`: what is new beyond it belongs to the next one.
        let first = overlay.merge("notes", "", None, stored(&["a", "c"], Some("c")), 9);
        assert_eq!(seen(&first), (["a=1", "b=2"].map(str::to_owned).to_vec(), Some("c")));
        let second = overlay.merge("notes", "", Some("c"), stored(&["e"], None), 9);
        assert_eq!(seen(&second), (vec!["e=5".to_owned()], None));
        // A page that becomes too long, and one of which nothing is left.
        let short = overlay.merge("notes", "", None, stored(&["a", "c", "e"], None), 1);
        assert_eq!(seen(&short), (vec!["a=1".to_owned()], Some("a")));
        let empty = overlay.merge("notes", "c", None, stored(&["c"], Some("c")), 9);
        assert_eq!(seen(&empty), (vec![], Some("c")));
        let elsewhere = overlay.merge("tags", "", None, stored(&["a"], None), 9);
        assert_eq!(seen(&elsewhere), (vec!["a=1".to_owned()], None));
    }

    #[test]
    fn what_the_store_would_refuse_changes_nothing() {
        let mut overlay = overlay();
        let limits = EntitiesConfig { documents: 3, ..EntitiesConfig::default() };
        let state = overlay.state().unwrap();
        let refused = overlay.apply(vec![change("n", Some("1"))], &[None], state, 7, &limits);
        assert!(matches!(refused, Err(Refusal::Quota(_))), "{refused:?}");
        assert_eq!((overlay.state(), overlay.plan().len()), (Some(state), 3));
        assert_eq!(overlay.get("notes", "n"), None);
    }
}
