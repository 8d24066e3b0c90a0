//! What a dry run would have done to loops, and what they would be then.

use std::collections::BTreeMap;

use crate::scheduler::Loop;

/// One thing that a dry run did not do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopChange {
    /// The loop.
    pub name: String,
    /// `create`, `update`, `pause`, `resume`, `delete` or `run`.
    pub action: &'static str,
    /// When it would fire next, in milliseconds since 1970.
    pub next_at: Option<i64>,
}

/// Loops as this call alone sees them.
#[derive(Default)]
pub(super) struct Overlay {
    /// By name; `None` is one that would be gone.
    loops: BTreeMap<String, Option<Loop>>,
    plan: Vec<LoopChange>,
}

impl Overlay {
    pub(super) fn plan(&self) -> &[LoopChange] {
        &self.plan
    }

    /// What the call made of the loop of this name, if anything.
    pub(super) fn get(&self, name: &str) -> Option<&Option<Loop>> {
        self.loops.get(name)
    }

    /// Loops that are there with those of the call, by name.
    pub(super) fn merge(&self, there: Vec<Loop>) -> Vec<Loop> {
        let mut by_name: BTreeMap<String, Option<Loop>> =
            there.into_iter().map(|found| (found.definition.name.clone(), Some(found))).collect();
        by_name.extend(self.loops.clone());
        by_name.into_values().flatten().collect()
    }

    pub(super) fn put(&mut self, action: &'static str, changed: &Loop) {
        let name = changed.definition.name.clone();
        self.plan.push(LoopChange { name: name.clone(), action, next_at: changed.next_at });
        self.loops.insert(name, Some(changed.clone()));
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.plan.push(LoopChange { name: name.to_owned(), action: "delete", next_at: None });
        self.loops.insert(name.to_owned(), None);
    }

    pub(super) fn run(&mut self, name: &str) {
        self.plan.push(LoopChange { name: name.to_owned(), action: "run", next_at: None });
    }
}
