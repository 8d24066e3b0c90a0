//! What is new in a list, and what is gone. Pure.
//!
//! Two items are the same when both have a `key` and it is equal, or else when they are equal as JSON. What was
//! reported once under a key is not news when the rest of it changes.

use std::collections::BTreeSet;

use serde_json::Value;

/// What two lists differ in.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Difference {
    /// There was no earlier list.
    pub is_first: bool,
    /// Items that are new, in their order, each once.
    pub added: Vec<Value>,
    /// Items that are gone, in the order of the earlier list.
    pub removed: Vec<Value>,
}

impl Difference {
    /// Whether there is nothing to report.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty()
    }
}

/// What `items` has that `last` had not, and the other way round.
pub(super) fn difference(last: Option<&[Value]>, items: &[Value]) -> Difference {
    let earlier = last.unwrap_or_default();
    Difference { is_first: last.is_none(), added: without(items, earlier), removed: without(earlier, items) }
}

fn without(items: &[Value], others: &[Value]) -> Vec<Value> {
    let mut known: BTreeSet<String> = others.iter().map(identity).collect();
    items.iter().filter(|item| known.insert(identity(item))).cloned().collect()
}

/// A text that is the same for two items that are the same. The letter keeps a key from being taken for a whole
/// item. Members in another order, or written otherwise, do not make another item.
fn identity(item: &Value) -> String {
    match item.get("key") {
        Some(key) if !key.is_null() => format!("k{}", canonical(key)),
        _ => format!("w{}", canonical(item)),
    }
}

fn canonical(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(name, _)| name.as_str());
            let written = members.iter().map(|(name, value)| format!("{}:{}", quoted(name), canonical(value)));
            format!("{{{}}}", written.collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(",")),
        other => other.to_string(),
    }
}

fn quoted(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Earlier list, list, what is new, what is gone.
    type Case = (Option<Value>, Value, Value, Value);

    #[test]
    fn a_table_of_differences() {
        let cases: Vec<Case> = vec![
            // The first list is new as a whole, and an empty one is nothing.
            (None, json!([]), json!([]), json!([])),
            (None, json!([1, 2]), json!([1, 2]), json!([])),
            (Some(json!([])), json!([1]), json!([1]), json!([])),
            // Without keys the whole item counts, in whatever order and spelling.
            (Some(json!([1, 2, 3])), json!([3, 2, 1]), json!([]), json!([])),
            (Some(json!([{ "a": 1, "b": [1] }])), json!([{ "b": [1], "a": 1 }]), json!([]), json!([])),
            (Some(json!([{ "a": 1 }])), json!([{ "a": 2 }]), json!([{ "a": 2 }]), json!([{ "a": 1 }])),
            (Some(json!([[1, 2]])), json!([[2, 1]]), json!([[2, 1]]), json!([[1, 2]])),
            (Some(json!(["1"])), json!([1]), json!([1]), json!(["1"])),
            (Some(json!([null])), json!([null, false]), json!([false]), json!([])),
            // With a key, only the key.
            (Some(json!([{ "key": 1, "n": 1 }])), json!([{ "key": 1, "n": 2 }]), json!([]), json!([])),
            (Some(json!([{ "key": 1 }])), json!([{ "key": "1" }]), json!([{ "key": "1" }]), json!([{ "key": 1 }])),
            (
                Some(json!([{ "key": { "a": 1, "b": 2 } }])),
                json!([{ "key": { "b": 2, "a": 1 }, "x": 0 }]),
                json!([]),
                json!([]),
            ),
            // A key is not taken for an item, nor an item without one for another.
            (Some(json!([1])), json!([{ "key": 1 }]), json!([{ "key": 1 }]), json!([1])),
            (
                Some(json!([{ "key": null, "n": 1 }])),
                json!([{ "key": null, "n": 2 }]),
                json!([{ "key": null, "n": 2 }]),
                json!([{ "key": null, "n": 1 }]),
            ),
            // Quotes in a name cannot make one item look like another.
            (
                Some(json!([{ "a": 1, "b": 2 }])),
                json!([{ "a\":1,\"b": 2 }]),
                json!([{ "a\":1,\"b": 2 }]),
                json!([{ "a": 1, "b": 2 }]),
            ),
            // Each once, the first of them, in order.
            (None, json!([3, 1, 3, 2]), json!([3, 1, 2]), json!([])),
            (None, json!([{ "key": 1, "n": 1 }, { "key": 1, "n": 2 }]), json!([{ "key": 1, "n": 1 }]), json!([])),
            (Some(json!([1, 1, 2])), json!([3]), json!([3]), json!([1, 2])),
        ];
        let list = |value: &Value| value.as_array().cloned().unwrap();
        for (last, items, added, removed) in cases {
            let last = last.as_ref().map(list);
            let found = difference(last.as_deref(), &list(&items));
            let expected = Difference { is_first: last.is_none(), added: list(&added), removed: list(&removed) };
            assert_eq!(found, expected, "{last:?} {items}");
            assert_eq!(found.is_nothing(), expected.added.is_empty() && expected.removed.is_empty());
        }
    }
}
