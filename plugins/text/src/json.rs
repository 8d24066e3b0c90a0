//! JSON as it is written: queries and layout work on the text itself, so that no number is rounded and no
//! string is spelled differently.

mod path;
mod tree;

use remit_sdk::Failure;

use tree::Node;

/// How to lay JSON out.
#[remit_sdk::data]
#[serde(rename_all = "lowercase")]
#[derive(Clone, Copy)]
pub enum Style {
    /// A line for each value, indented by two spaces.
    Pretty,
    /// Without white space.
    Compact,
}

/// What a query found.
#[remit_sdk::data]
#[derive(Debug, PartialEq)]
pub struct Found {
    /// The values, in order.
    values: Vec<Value>,
    /// Whether there are more than were asked for.
    more: bool,
}

/// A value and its place.
#[remit_sdk::data]
#[derive(Debug, PartialEq)]
pub struct Value {
    /// Where it is, as a JSON Pointer.
    pointer: String,
    /// The value, as JSON.
    json: String,
}

/// Finds the values at a path.
pub fn query(json: &str, path: &str, limit: u16) -> Result<Found, Failure> {
    let steps = path::parse(path).map_err(Failure::InvalidInput)?;
    let root = read(json)?;
    let found = path::follow(&root, &steps);
    let limit = usize::from(limit);
    let values = found
        .iter()
        .take(limit)
        .map(|(pointer, node)| Value { pointer: pointer.clone(), json: tree::write(node, Style::Compact) });
    Ok(Found { values: values.collect(), more: found.len() > limit })
}

/// Lays a document out.
pub fn format(json: &str, style: Style, sort_keys: bool) -> Result<String, Failure> {
    let mut root = read(json)?;
    if sort_keys {
        tree::sort(&mut root);
    }
    Ok(tree::write(&root, style))
}

fn read(json: &str) -> Result<Node<'_>, Failure> {
    tree::parse(json).map_err(Failure::InvalidInput)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORE: &str = r#"{
        "books": [ { "title": "A", "price": 8.950 }, { "title": "B\u0020", "price": 12345678901234567890123 } ],
        "odd key": { "a/b": [ [1], [2, 3] ], "~": null }, "": "empty"
    }"#;

    #[test]
    fn queries() {
        let check = |path, expected: &[(&str, &str)]| {
            let values = expected
                .iter()
                .map(|(pointer, json)| Value { pointer: (*pointer).to_owned(), json: (*json).to_owned() })
                .collect();
            assert_eq!(query(STORE, path, 100), Ok(Found { values, more: false }), "{path}");
        };
        check("books[0].title", &[("/books/0/title", "\"A\"")]);
        check("$.books[1].title", &[("/books/1/title", "\"B\\u0020\"")]);
        check("books[*].price", &[("/books/0/price", "8.950"), ("/books/1/price", "12345678901234567890123")]);
        check("books[-1].price", &[("/books/1/price", "12345678901234567890123")]);
        check("books[-3]", &[]);
        check("books[2]", &[]);
        check(
            "[\"odd key\"][\"a/b\"][*][*]",
            &[("/odd key/a~1b/0/0", "1"), ("/odd key/a~1b/1/0", "2"), ("/odd key/a~1b/1/1", "3")],
        );
        check("/odd key/a~1b/1", &[("/odd key/a~1b/1", "[2,3]")]);
        check("/odd key/~0", &[("/odd key/~0", "null")]);
        check("/", &[("/", "\"empty\"")]);
        check("/books/-1", &[]);
        check("/books/00", &[]);
        check("['odd key'].missing", &[]);
        check("books.title", &[]);
    }

    #[test]
    fn the_whole_document() {
        for path in ["", "$"] {
            let found = query("[ 1 ]", path, 1);
            let values = vec![Value { pointer: String::new(), json: "[1]".to_owned() }];
            assert_eq!(found, Ok(Found { values, more: false }));
        }
    }

    #[test]
    fn limits() {
        let found = query("[1,2,3]", "[*]", 2).expect("it is valid");
        assert_eq!((found.values.len(), found.more), (2, true));
    }

    #[test]
    fn layouts() {
        let check = |json, style, sort, expected| assert_eq!(format(json, style, sort).as_deref(), Ok(expected));
        check(
            r#"{"b":[1,{}],"a":[]}"#,
            Style::Pretty,
            false,
            "{\n  \"b\": [\n    1,\n    {}\n  ],\n  \"a\": []\n}",
        );
        check(
            r#" { "b" : [ 1e2 , 1.0 ] , "a" : "x, y" } "#,
            Style::Compact,
            true,
            r#"{"a":"x, y","b":[1e2,1.0]}"#,
        );
        check(r#"{"\u0062":1,"a":{"d":1,"c":2}}"#, Style::Compact, true, r#"{"a":{"c":2,"d":1},"\u0062":1}"#);
        check(r#""a\"]""#, Style::Pretty, false, r#""a\"]""#);
        check("-0.0", Style::Compact, false, "-0.0");
    }

    #[test]
    fn bad_documents_are_the_callers() {
        let deep = "[".repeat(500) + &"]".repeat(500);
        for json in ["", "{", "[1,]", "{\"a\":1}}", "01", "'a'", "\"\n\"", "nul", &deep, "{\"\\ud800\":1}"] {
            let formatted = format(json, Style::Pretty, true);
            assert!(matches!(formatted, Err(Failure::InvalidInput(_))), "{json}: {formatted:?}");
        }
    }

    #[test]
    fn bad_paths_are_the_callers() {
        for path in
            ["a..b", "a.", "[", "[x]", "[\"a]", "[1", "a]", "[1.5]", "/a~2", "[99999999999999999999]", "$x"]
        {
            assert!(matches!(query("{}", path, 1), Err(Failure::InvalidInput(_))), "{path}");
        }
    }
}
