//! References inside a schema: they stay in the document, point at something, form no cycle, and following
//! all of them gives a schema of bounded size.
//!
//! Without the last two a few hundred bytes of schema keep a validator busy for longer than anybody waits:
//! a chain of definitions, each of which names the next one twice, doubles at every step, and a cycle
//! doubles with the depth of the input.

use serde_json::Value;

/// Schemas that one schema may stand for. Checking one costs well under a microsecond.
const MAX_EXPANDED: usize = 4096;

/// References that lead to references. Each takes a frame of the stack.
const MAX_FOLLOWED: usize = 32;

/// What is wrong with the references of `document`.
pub(super) fn check(document: &Value) -> Option<String> {
    let mut budget = MAX_EXPANDED;
    expand(document, document, &mut vec!["#"], &mut budget).err()
}

/// Keywords whose value is a map of schemas: its names are the author's, and no keywords.
const MAPS: &[&str] = &["properties", "patternProperties", "dependentSchemas", "dependencies"];

/// Keywords that cost nothing: plain data, and definitions until something refers to them.
const FREE: &[&str] = &["$defs", "definitions", "const", "default", "enum", "examples"];

/// Walks what `schema` stands for, and takes each schema on the way from `budget`.
fn expand<'a>(
    schema: &'a Value,
    document: &'a Value,
    followed: &mut Vec<&'a str>,
    budget: &mut usize,
) -> Result<(), String> {
    match schema {
        Value::Object(members) => {
            *budget = budget.checked_sub(1).ok_or_else(|| {
                format!("simplify it: with its references it stands for more than {MAX_EXPANDED} schemas")
            })?;
            if let Some(reference) = members.get("$ref") {
                follow(reference, document, followed, budget)?;
            }
            for (keyword, value) in members.iter().filter(|(keyword, _)| !FREE.contains(&keyword.as_str())) {
                match value {
                    Value::Object(schemas) if MAPS.contains(&keyword.as_str()) => {
                        schemas.values().try_for_each(|schema| expand(schema, document, followed, budget))?;
                    }
                    value => expand(value, document, followed, budget)?,
                }
            }
            Ok(())
        }
        Value::Array(values) => values.iter().try_for_each(|value| expand(value, document, followed, budget)),
        _ => Ok(()),
    }
}

fn follow<'a>(
    reference: &'a Value,
    document: &'a Value,
    followed: &mut Vec<&'a str>,
    budget: &mut usize,
) -> Result<(), String> {
    let reference = reference.as_str().ok_or("write each `$ref` as text")?;
    let shown = super::visible(reference, 64);
    let Some(pointer) = reference.strip_prefix('#') else {
        return Err(format!("refer to `#/$defs/NAME` instead of `{shown}`: nothing is fetched"));
    };
    if followed.contains(&reference) {
        return Err(format!("remove the cycle at `{shown}`: a schema that contains itself has no bounded cost"));
    }
    if followed.len() >= MAX_FOLLOWED {
        return Err(format!("follow at most {MAX_FOLLOWED} references in a row"));
    }
    let target = document.pointer(pointer).ok_or_else(|| format!("define `{shown}`: nothing is there"))?;
    followed.push(reference);
    expand(target, document, followed, budget)?;
    followed.pop();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Definitions `d0` … `dN`, each of which names the next one `times` times.
    fn chain(links: usize, times: usize) -> Value {
        let mut definitions = serde_json::Map::new();
        for link in 0..links {
            let next = json!({ "$ref": format!("#/$defs/d{}", link + 1) });
            definitions.insert(format!("d{link}"), json!({ "allOf": vec![next; times] }));
        }
        definitions.insert(format!("d{links}"), json!({ "type": "string" }));
        json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/d0" } }, "$defs": definitions })
    }

    #[test]
    fn references_stay_in_the_document_and_end() {
        let with = |reference: Value| {
            json!({
                "properties": { "a": { "$ref": reference } },
                "$defs": { "leaf": { "type": "string" }, "own": { "items": { "$ref": "#/$defs/own" } } },
            })
        };
        assert_eq!(check(&with(json!("#/$defs/leaf"))), None);
        let cases = [
            (
                json!("https://example.com/x.json"),
                "refer to `#/$defs/NAME` instead of `https://example.com/x.json`: nothing is fetched",
            ),
            (json!("other.json#/a"), "refer to `#/$defs/NAME` instead of `other.json#/a`: nothing is fetched"),
            (json!(""), "refer to `#/$defs/NAME` instead of ``: nothing is fetched"),
            (json!(1), "write each `$ref` as text"),
            (json!("#/$defs/none"), "define `#/$defs/none`: nothing is there"),
            (json!("#"), "remove the cycle at `#`: a schema that contains itself has no bounded cost"),
            (
                json!("#/$defs/own"),
                "remove the cycle at `#/$defs/own`: a schema that contains itself has no bounded cost",
            ),
            (
                json!("#/properties/a"),
                "remove the cycle at `#/properties/a`: a schema that contains itself has no bounded cost",
            ),
        ];
        for (reference, expected) in cases {
            assert_eq!(check(&with(reference)).as_deref(), Some(expected));
        }
    }

    #[test]
    fn a_property_may_be_named_as_a_keyword() {
        let with =
            |schema: Value| json!({ "properties": { "definitions": schema, "default": { "type": "string" } } });
        assert_eq!(check(&with(json!({ "type": "string" }))), None);
        assert!(check(&with(json!({ "anyOf": [{ "$ref": "#" }, { "$ref": "#" }] }))).is_some());
    }

    #[test]
    fn what_doubles_at_each_step_is_refused() {
        assert_eq!(check(&chain(30, 1)), None);
        assert_eq!(check(&chain(40, 1)).as_deref(), Some("follow at most 32 references in a row"));
        assert_eq!(check(&chain(8, 2)), None);
        assert_eq!(
            check(&chain(30, 2)).as_deref(),
            Some("simplify it: with its references it stands for more than 4096 schemas")
        );
    }
}
