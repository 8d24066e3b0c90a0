//! What breaks callers, as tables: pairs of schemas, of tools and of version numbers.

use serde_json::{Value, json};

use super::*;

fn manifest(version: &str, tools: &Value) -> Manifest {
    serde_json::from_value(json!({
        "publisher": "acme", "slug": "weather", "version": version, "title": "W", "description": "W.", "tools": tools,
    }))
    .expect("a manifest")
}

fn tool(changes: &Value) -> Value {
    let mut tool = json!({
        "name": "look", "description": "L.", "inputSchema": { "type": "object", "additionalProperties": false },
    });
    let members = changes.as_object().expect("members").clone();
    tool.as_object_mut().expect("a tool").extend(members);
    tool
}

/// The breaches between two tools, as `pointer rule`.
fn between(before: &Value, after: &Value) -> Vec<String> {
    let manifest = |changes| manifest("1.0.0", &json!([tool(changes)]));
    let found = breaches(&manifest(before), &manifest(after));
    found.iter().map(|breach| format!("{} {}", breach.pointer, breach.rule.as_str())).collect()
}

/// An object with the property `a` alone.
fn object(a: &Value) -> Value {
    json!({ "type": "object", "properties": { "a": a }, "additionalProperties": false })
}

/// What a change of the property `a` breaks as an input and as an output.
fn both_ways(old: &Value, new: &Value) -> (Vec<String>, Vec<String>) {
    let side = |side: &str| between(&json!({ side: object(old) }), &json!({ side: object(new) }));
    let plain = |found: Vec<String>, side: &str| -> Vec<String> {
        found.iter().map(|line| line.replacen(&format!("/{side}/properties/a"), "", 1)).collect()
    };
    (plain(side("inputSchema"), "inputSchema"), plain(side("outputSchema"), "outputSchema"))
}

#[test]
fn values_of_an_input_only_widen_and_of_an_output_only_narrow() {
    let string = json!({ "type": "string" });
    let small = json!({ "type": "object", "properties": { "b": string }, "required": ["b"], "additionalProperties": false });
    let open = json!({ "type": "object", "properties": { "b": string } });
    let tagged = |tags: &[&str]| -> Value {
        let one = |tag: &&str| {
            json!({
                "type": "object", "properties": { "kind": { "const": tag } }, "required": ["kind"],
                "additionalProperties": false,
            })
        };
        json!({ "oneOf": tags.iter().map(one).collect::<Vec<_>>() })
    };
    // Old, new, what it breaks as an input, what it breaks as an output.
    let cases: Vec<(Value, Value, &[&str], &[&str])> = vec![
        (string.clone(), string.clone(), &[], &[]),
        (
            string.clone(),
            json!({ "type": "string", "description": "D.", "title": "T", "examples": ["x"] }),
            &[],
            &[],
        ),
        (string.clone(), json!({ "type": "integer" }), &["/type type"], &["/type type"]),
        (string.clone(), json!({ "type": ["string", "null"] }), &[], &["/type type"]),
        (json!({ "type": ["string", "null"] }), string.clone(), &["/type type"], &[]),
        (json!({ "type": "integer" }), json!({ "type": "number" }), &[], &["/type type"]),
        (json!({ "type": "number" }), json!({ "type": "integer" }), &["/type type"], &[]),
        (string.clone(), json!({}), &[], &["/type type"]),
        (json!({}), string.clone(), &["/type type"], &[]),
        (json!({ "enum": ["x", "y"] }), json!({ "enum": ["y", "x"] }), &[], &[]),
        (json!({ "enum": ["x"] }), json!({ "enum": ["x", "y"] }), &[], &["/enum values"]),
        (json!({ "enum": ["x", "y"] }), json!({ "enum": ["x"] }), &["/enum values"], &[]),
        (json!({ "enum": ["x", "y"] }), json!({ "const": "x" }), &["/const values"], &[]),
        (json!({ "type": "string", "enum": ["x"] }), string.clone(), &[], &["/enum values"]),
        (string.clone(), json!({ "type": "string", "enum": ["x"] }), &["/enum values"], &[]),
        (json!({ "enum": ["x"] }), json!({ "enum": ["x", null] }), &[], &["/type type"]),
        (
            json!({ "type": "string", "maxLength": 5 }),
            json!({ "type": "string", "maxLength": 6 }),
            &[],
            &["/maxLength bound"],
        ),
        (
            json!({ "type": "string", "maxLength": 6 }),
            json!({ "type": "string", "maxLength": 5 }),
            &["/maxLength bound"],
            &[],
        ),
        (string.clone(), json!({ "type": "string", "maxLength": 5 }), &["/maxLength bound"], &[]),
        (json!({ "type": "string", "maxLength": 5 }), string.clone(), &[], &["/maxLength bound"]),
        (string.clone(), json!({ "type": "string", "minLength": 1 }), &["/minLength bound"], &[]),
        (string.clone(), json!({ "type": "string", "minLength": 0 }), &[], &[]),
        (
            json!({ "type": "integer", "minimum": 1 }),
            json!({ "type": "integer", "minimum": 0 }),
            &[],
            &["/minimum bound"],
        ),
        (json!({ "type": "integer", "maximum": 9 }), json!({ "type": "integer" }), &[], &["/maximum bound"]),
        (
            json!({ "type": "integer" }),
            json!({ "type": "integer", "exclusiveMinimum": 0 }),
            &["/exclusiveMinimum bound"],
            &[],
        ),
        (string.clone(), json!({ "type": "string", "pattern": "^a" }), &["/pattern condition"], &[]),
        (json!({ "type": "string", "pattern": "^a" }), string.clone(), &[], &["/pattern condition"]),
        (
            json!({ "type": "string", "pattern": "^a" }),
            json!({ "type": "string", "pattern": "^b" }),
            &["/pattern condition"],
            &["/pattern condition"],
        ),
        (string.clone(), json!({ "type": "string", "format": "date" }), &["/format condition"], &[]),
        (
            json!({ "type": "integer" }),
            json!({ "type": "integer", "multipleOf": 2 }),
            &["/multipleOf condition"],
            &[],
        ),
        (
            json!({ "type": "array", "items": string }),
            json!({ "type": "array", "items": { "type": "integer" } }),
            &["/items/type type"],
            &["/items/type type"],
        ),
        (json!({ "type": "array", "items": string }), json!({ "type": "array" }), &[], &["/items/type type"]),
        (
            json!({ "type": "array", "items": string }),
            json!({ "type": "array", "items": string, "uniqueItems": true }),
            &["/uniqueItems condition"],
            &[],
        ),
        (
            json!({ "type": "array", "items": string }),
            json!({ "type": "array", "items": string, "prefixItems": [string] }),
            &["/prefixItems not-comparable"],
            &["/prefixItems not-comparable"],
        ),
        (
            json!({ "type": "array", "items": string, "maxItems": 3 }),
            json!({ "type": "array", "items": string, "maxItems": 4 }),
            &[],
            &["/maxItems bound"],
        ),
        // Objects inside.
        (
            small.clone(),
            json!({ "type": "object", "properties": { "b": string, "c": string }, "required": ["b"], "additionalProperties": false }),
            &[],
            &[],
        ),
        (
            small.clone(),
            json!({ "type": "object", "properties": { "b": string, "c": string }, "required": ["b", "c"], "additionalProperties": false }),
            &["/required required"],
            &[],
        ),
        (
            small.clone(),
            json!({ "type": "object", "properties": { "b": string }, "additionalProperties": false }),
            &[],
            &["/required required"],
        ),
        (
            small.clone(),
            json!({ "type": "object", "properties": {}, "additionalProperties": false }),
            &["/properties/b property"],
            &["/properties/b property"],
        ),
        (
            small.clone(),
            json!({ "type": "object", "properties": { "d": string }, "required": ["d"], "additionalProperties": false }),
            &["/properties/b property", "/required required"],
            &["/properties/b property"],
        ),
        (open.clone(), json!({ "type": "object" }), &[], &["/properties/b property"]),
        (
            open.clone(),
            json!({ "type": "object", "properties": { "b": string, "c": string } }),
            &["/properties/c/type type"],
            &[],
        ),
        // Alternatives.
        (string.clone(), json!({ "anyOf": [string, { "type": "null" }] }), &[], &["/type type"]),
        (json!({ "anyOf": [string, { "type": "null" }] }), string.clone(), &["/type type"], &[]),
        (
            json!({ "anyOf": [string, { "type": "null" }] }),
            json!({ "anyOf": [{ "type": "null" }, string] }),
            &[],
            &[],
        ),
        (json!({ "anyOf": [string, { "type": "null" }] }), json!({ "type": ["null", "string"] }), &[], &[]),
        (
            json!({ "anyOf": [string, { "type": "null" }], "default": null }),
            json!({ "anyOf": [string, { "type": "null" }, { "type": "integer" }], "default": null }),
            &[],
            &["/anyOf/2 type", "/type type"],
        ),
        (tagged(&["x"]), tagged(&["x", "y"]), &[], &["/oneOf/1 type"]),
        (tagged(&["x", "y"]), tagged(&["x"]), &["/oneOf/1 type"], &[]),
        (tagged(&["x", "y"]), tagged(&["y", "x"]), &[], &[]),
        // Two that can both fit are not one of them.
        (
            json!({ "oneOf": [string, { "type": "null" }] }),
            json!({ "oneOf": [string, { "type": "string", "minLength": 2 }, { "type": "null" }] }),
            &["/oneOf not-comparable"],
            &[],
        ),
        (json!({ "not": string }), json!({ "not": { "type": "null" } }), &["/not condition"], &["/not condition"]),
        (json!({ "allOf": [string] }), json!({ "allOf": [{ "type": "string", "title": "T" }] }), &[], &[]),
    ];
    for (old, new, input, output) in &cases {
        let (as_input, as_output) = both_ways(old, new);
        assert_eq!(as_input, *input, "input: {old} -> {new}");
        assert_eq!(as_output, *output, "output: {old} -> {new}");
    }
    assert!(cases.len() > 50);
}

#[test]
fn inputs_are_added_to_and_nothing_is_asked_that_was_not() {
    let string = json!({ "type": "string" });
    let input = |properties: Value, required: Value| {
        json!({ "inputSchema": {
            "type": "object", "properties": properties, "required": required, "additionalProperties": false,
        } })
    };
    let old = input(json!({ "place": string, "unit": { "type": "string", "default": "C" } }), json!(["place"]));
    let cases: Vec<(Value, &[&str])> = vec![
        (
            input(
                json!({ "place": string, "unit": { "type": "string", "default": "C" }, "days": string }),
                json!(["place"]),
            ),
            &[],
        ),
        (input(json!({ "place": string, "unit": { "type": "string", "default": "C" } }), json!([])), &[]),
        (
            input(
                json!({ "place": string, "unit": { "type": "string", "default": "C" } }),
                json!(["place", "unit"]),
            ),
            &["/inputSchema/required required"],
        ),
        (
            input(json!({ "place": string, "unit": { "type": "string", "default": "F" } }), json!(["place"])),
            &["/inputSchema/properties/unit/default default"],
        ),
        (
            input(json!({ "place": string, "unit": string }), json!(["place"])),
            &["/inputSchema/properties/unit/default default"],
        ),
        (input(json!({ "place": string }), json!(["place"])), &["/inputSchema/properties/unit property"]),
        (
            input(json!({ "Place": string, "unit": { "type": "string", "default": "C" } }), json!(["Place"])),
            &["/inputSchema/properties/place property", "/inputSchema/required required"],
        ),
    ];
    for (new, expected) in cases {
        assert_eq!(between(&old, &new), expected, "{new}");
    }
    // A default counts wherever it stands.
    let inside = |keyword: &str, default: &str| {
        let part = json!({
            "type": "object", "properties": { "unit": { "type": "string", "default": default } },
            "additionalProperties": false,
        });
        json!({ "inputSchema": object(&json!({ keyword: [part, { "type": "null" }] })) })
    };
    for (keyword, expected) in [("anyOf", "anyOf/0 type"), ("oneOf", "oneOf/0 type"), ("allOf", "allOf condition")]
    {
        assert_eq!(between(&inside(keyword, "C"), &inside(keyword, "C")), [""; 0]);
        assert_eq!(
            between(&inside(keyword, "C"), &inside(keyword, "F")),
            [format!("/inputSchema/properties/a/{expected}")]
        );
    }
}

#[test]
fn properties_may_be_called_as_keywords_are() {
    // What looks like a word about a schema is a property here.
    for name in ["title", "description", "default", "examples"] {
        let with = |asked: &str| json!({ "inputSchema": object(&json!({ "allOf": [{ "dependentRequired": { name: [asked] } }] })) });
        assert_eq!(between(&with("x"), &with("x")), [""; 0]);
        assert_eq!(between(&with("x"), &with("y")), ["/inputSchema/properties/a/allOf condition"], "{name}");
        let with =
            |kind: &str| json!({ "outputSchema": object(&json!({ "properties": { name: { "type": kind } } })) });
        assert_eq!(
            between(&with("string"), &with("integer")),
            [format!("/outputSchema/properties/a/properties/{name}/type type")]
        );
    }
}

#[test]
fn references_are_followed_before_anything_is_compared() {
    let with = |definition: Value, name: &str| {
        json!({ "inputSchema": {
            "type": "object", "additionalProperties": false,
            "properties": { name: { "$ref": "#/$defs/Place" } }, "$defs": { "Place": definition },
        } })
    };
    let (string, integer) = (json!({ "type": "string" }), json!({ "type": "integer" }));
    assert_eq!(between(&with(string.clone(), "a"), &json!({ "inputSchema": object(&string) })), [""; 0]);
    // Under any name: these are properties and no keywords.
    for name in ["a", "default", "enum", "const", "examples", "$ref", "description"] {
        assert_eq!(
            between(&with(string.clone(), name), &with(integer.clone(), name)),
            [format!("/inputSchema/properties/{name}/type type")]
        );
    }
    // What leads nowhere, or round and round, is equal only to itself.
    let around = |more: &str| {
        json!({ "inputSchema": {
            "type": "object", "properties": { "a": { "$ref": "#/$defs/A" } },
            "$defs": { "A": { "type": "object", "properties": { more: { "$ref": "#/$defs/A" } } } },
        } })
    };
    assert_eq!(between(&around("b"), &around("b")), [""; 0]);
    assert_eq!(between(&around("b"), &around("c")), ["/inputSchema not-comparable"]);
    let nowhere =
        |name: &str| json!({ "inputSchema": { "type": "object", "properties": { "a": { "$ref": name } } } });
    assert_eq!(between(&nowhere("#/$defs/x"), &nowhere("#/$defs/y")), ["/inputSchema not-comparable"]);
}

#[test]
fn comparing_ends_whatever_a_publisher_wrote() {
    // Alternatives inside alternatives, each list in another order: pairs of pairs of pairs.
    let nested = |levels: usize, is_reversed: bool| {
        let mut schema = json!({ "type": "string" });
        for level in 0..levels {
            let mut each: Vec<Value> = (0..3)
                .map(|index| {
                    let kind = json!({ "const": format!("p{level}_{index}") });
                    let properties = json!({ "inner": schema, "kind": kind });
                    json!({ "type": "object", "properties": properties, "required": ["kind"] })
                })
                .collect();
            if is_reversed {
                each.reverse();
            }
            schema = json!({ "anyOf": each });
        }
        json!({ "inputSchema": object(&schema) })
    };
    assert_eq!(between(&nested(2, false), &nested(2, true)), [""; 0]);
    let found = between(&nested(6, false), &nested(6, true));
    assert!(found.iter().any(|line| line == "/inputSchema not-comparable"), "{found:?}");
}

#[test]
fn tools_keep_what_they_promised() {
    let plain = json!({ "readOnly": true, "idempotent": true, "openWorld": false, "expose": true });
    let cases: Vec<(Value, &[&str])> = vec![
        (
            json!({ "readOnly": true, "idempotent": true, "openWorld": false, "expose": true, "title": "T", "description": "D." }),
            &[],
        ),
        (
            json!({ "readOnly": false, "destructive": false, "idempotent": true, "openWorld": false, "expose": true }),
            &["/readOnly annotation"],
        ),
        (
            json!({ "readOnly": false, "idempotent": true, "openWorld": false, "expose": true }),
            &["/readOnly annotation", "/destructive annotation"],
        ),
        (json!({ "readOnly": true, "openWorld": false, "expose": true }), &["/idempotent annotation"]),
        (json!({ "readOnly": true, "idempotent": true, "expose": true }), &["/openWorld annotation"]),
        (json!({ "readOnly": true, "idempotent": true, "openWorld": false }), &["/expose unpublished"]),
        (
            json!({ "readOnly": true, "idempotent": true, "openWorld": false, "expose": true, "requiredRole": "admin" }),
            &["/requiredRole caller-restricted"],
        ),
    ];
    for (new, expected) in cases {
        assert_eq!(between(&plain, &new), expected, "{new}");
    }
    // More promised is no breach, nor is less asked of callers.
    let restricted = json!({ "requiredRole": "admin", "requiredPermission": "a:b", "featureFlag": "x" });
    assert_eq!(between(&restricted, &plain), [""; 0]);
    // An answer that was described stays so.
    let described = json!({ "outputSchema": { "type": "object" } });
    assert_eq!(between(&described, &json!({})), ["/outputSchema removed"]);
    assert_eq!(between(&json!({}), &described), [""; 0]);
}

#[test]
fn names_stay_and_arguments_of_prompts_too() {
    let old = || manifest("1.0.0", &json!([tool(&json!({})), tool(&json!({ "name": "add" }))]));
    let new = manifest("1.1.0", &json!([tool(&json!({ "name": "add" })), tool(&json!({ "name": "watch" }))]));
    let lines: Vec<_> = breaches(&old(), &new).iter().map(ToString::to_string).collect();
    assert_eq!(lines, ["`look`: the tool is gone [removed]"]);
    assert_eq!(breaches(&new, &new), []);

    let with = |documents: Value| -> Manifest {
        let mut manifest = serde_json::to_value(old()).expect("a manifest");
        manifest.as_object_mut().expect("an object").extend(documents.as_object().expect("members").clone());
        serde_json::from_value(manifest).expect("a manifest")
    };
    let argument =
        |name: &str, is_required: bool| json!({ "name": name, "description": "A.", "required": is_required });
    let before = with(json!({
        "resources": [{ "uri": "note:all", "name": "all", "description": "A." }],
        "resourceTemplates": [{ "uriTemplate": "note:{id}", "name": "one", "description": "O." }],
        "prompts": [{ "name": "sum_up", "description": "S.", "arguments": [argument("a", false), argument("b", true)] }],
    }));
    let after = with(json!({
        "prompts": [{ "name": "sum_up", "description": "S.", "arguments": [argument("a", true), argument("c", true)] }],
    }));
    let lines: Vec<_> = breaches(&before, &after).iter().map(ToString::to_string).collect();
    assert_eq!(
        lines,
        [
            "`/prompts/sum_up/arguments/b`: the argument is gone [removed]",
            "`/prompts/sum_up/arguments/a`: it has to be given, and could be left out [required]",
            "`/prompts/sum_up/arguments/c`: it has to be given, and could be left out [required]",
            "`/resources`: the address `note:all` is gone [removed]",
            "`/resourceTemplates`: the address `note:{id}` is gone [removed]",
        ]
    );
    assert_eq!(breaches(&after, &with(json!({}))).len(), 1);
}

#[test]
fn a_new_major_version_may_break_and_no_other() {
    let cases = [
        ("1.0.0", "1.0.1", false),
        ("1.0.0", "1.9.0", false),
        ("1.0.0", "2.0.0", true),
        ("1.0.0", "2.0.0-rc.1", true),
        ("1.0.0", "1.1.0-rc.1", false),
        ("1.1.0-rc.1", "1.1.0", true),
        ("0.1.0", "0.1.1", false),
        ("0.1.0", "0.2.0", true),
        ("0.9.0", "1.0.0", true),
        ("0.0.1", "0.0.2", true),
        ("0.0.1", "0.1.0", true),
    ];
    for (before, after, expected) in cases {
        let version = |text: &str| text.parse::<Version>().expect("a version");
        assert_eq!(may_break(&version(before), &version(after)), expected, "{before} -> {after}");
        let old = manifest(before, &json!([tool(&json!({}))]));
        let result = verify(&old, &manifest(after, &json!([])));
        assert_eq!(result.is_ok(), expected, "{before} -> {after}");
        if let Err(error) = result {
            assert_eq!(error.kind, ErrorKind::BreakingChange);
            assert!(error.message.contains("the tool is gone [removed]"), "{}", error.message);
        }
    }
    let hint = |before: &str, after: &str| {
        verify(&manifest(before, &json!([tool(&json!({}))])), &manifest(after, &json!([])))
            .expect_err("refused")
            .hint
    };
    assert!(hint("0.1.4", "0.1.5").is_some_and(|hint| hint.ends_with("publish it as 0.2.0")));
    assert!(hint("1.2.3", "1.2.4").is_some_and(|hint| hint.ends_with("publish it as 2.0.0")));
}

#[test]
fn a_version_is_compared_with_the_highest_below_it() {
    let versions: Vec<Version> = ["1.0.0", "2.0.0", "1.2.0", "1.3.0-rc.1", "0.9.0"]
        .iter()
        .map(|text| text.parse().expect("a version"))
        .collect();
    let cases = [("1.2.1", Some("1.2.0")), ("1.3.0", Some("1.2.0")), ("2.1.0", Some("2.0.0")), ("0.1.0", None)];
    for (new, expected) in cases {
        let found = predecessor(&versions, &new.parse().expect("a version")).map(ToString::to_string);
        assert_eq!(found.as_deref(), expected, "{new}");
    }
}
