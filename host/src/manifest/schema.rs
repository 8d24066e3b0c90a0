//! The JSON Schema of `capability.json`, made from the types, so that editors complete and check it.

use serde_json::{Value, json};

use super::Manifest;

/// The schema. In `capability.json` a tool needs its name only: what the source says of it is filled in
/// when it is built.
#[must_use]
pub fn json_schema() -> Value {
    let mut schema = schemars::schema_for!(Manifest).to_value();
    if let Some(tool) = schema.pointer_mut("/$defs/Tool") {
        tool["required"] = json!(["name"]);
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Set `UPDATE=1` to write the file anew.
    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "the program never reads this variable, only whoever runs the test"
    )]
    fn the_reference_is_current() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference/capability.schema.json");
        let current = format!("{:#}\n", json_schema());
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(path, &current).unwrap();
        }
        let written = std::fs::read_to_string(path).unwrap_or_default();
        assert!(written == current, "{path} is out of date: run this test with UPDATE=1");
    }

    #[test]
    fn it_takes_a_good_manifest_and_no_bad_one() {
        let validator = jsonschema::validator_for(&json_schema()).unwrap();
        let good = json!({
            "$schema": "x", "publisher": "acme", "slug": "weather", "version": "1.0.0",
            "title": "Weather", "description": "Forecasts.", "uses": ["http"],
            "http": { "allow": ["api.example.com"] }, "tools": [{ "name": "get", "expose": true }],
        });
        assert!(validator.is_valid(&good));
        for (field, bad) in
            [("tilte", json!("x")), ("uses", json!(["htpp"])), ("http", json!({})), ("tools", json!([{}]))]
        {
            let mut manifest = good.clone();
            manifest[field] = bad;
            assert!(!validator.is_valid(&manifest), "{field}");
        }
    }
}
