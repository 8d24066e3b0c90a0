//! The text capability: what each tool takes and gives. How it is done is in the other files, one for
//! each kind of work. It uses no namespace.

mod encoding;
mod json;
mod lines;
mod patterns;
mod words;

/// The tools.
#[remit_sdk::capability]
pub mod text {
    use remit_sdk::Failure;

    use crate::encoding::{self, Encoding};
    use crate::json::{self, Found, Style};
    use crate::lines::{self, Change, Difference};
    use crate::patterns::{self, Matches, Replaced};
    use crate::words::{self, Case, Count, Shortened};

    /// Repeats a message, unchanged.
    #[tool(read_only, idempotent)]
    pub fn echo(
        /// What to repeat.
        message: String,
    ) -> String {
        message
    }

    /// Counts bytes (as UTF-8), characters, words and lines of a text.
    #[tool(read_only, idempotent, keywords("length", "size", "wc"))]
    pub fn count(
        /// The text to measure.
        text: &str,
    ) -> Count {
        words::count(text)
    }

    /// Compares two texts line by line and gives a unified diff.
    #[tool(read_only, idempotent, keywords("compare", "patch", "changes"))]
    pub fn diff(
        /// The old text.
        before: &str,
        /// The new text.
        after: &str,
        /// How many unchanged lines to show around each change.
        #[schema(max = 100, default = 3)]
        context_lines: u8,
    ) -> Difference {
        lines::diff(before, after, context_lines)
    }

    /// Sorts, reverses, trims lines, or drops repeated or empty ones. Steps are applied in the order given.
    #[tool(read_only, idempotent, keywords("sort", "unique", "deduplicate"))]
    pub fn change_lines(
        /// The text whose lines to change.
        text: &str,
        /// What to do, in order.
        #[schema(min_items = 1, max_items = 10)]
        steps: &[Change],
    ) -> String {
        lines::change(text, steps)
    }

    /// Replaces all occurrences of a string or a regular expression, and says how many there were.
    #[tool(read_only, idempotent, keywords("substitute", "regex"))]
    pub fn replace(
        /// The text to search.
        text: &str,
        /// What to find: a string, taken literally unless `regex` is true.
        #[schema(min_length = 1, max_length = 2000)]
        find: &str,
        /// What to put in its place. With `regex`, `$1` and `${name}` stand for groups, and `$$` for `$`.
        replacement: &str,
        /// Whether `find` is a regular expression.
        #[schema(default = false)]
        regex: bool,
    ) -> Result<Replaced, Failure> {
        patterns::replace(text, find, replacement, regex)
    }

    /// Finds the matches of a regular expression, with their groups and where they are.
    #[tool(read_only, idempotent, keywords("regex", "match", "search", "grep"))]
    pub fn extract(
        /// The text to search.
        text: &str,
        /// A regular expression, as in Perl but without look-around and back-references. `(?i)` at its start
        /// ignores case, `(?m)` lets `^` and `$` match at each line.
        #[schema(min_length = 1, max_length = 2000)]
        pattern: &str,
        /// How many matches to give at most.
        #[schema(min = 1, max = 1000, default = 100)]
        limit: u16,
    ) -> Result<Matches, Failure> {
        patterns::extract(text, pattern, limit)
    }

    /// Picks values out of a JSON document by path. Values are given exactly as they are written.
    #[tool(read_only, idempotent, keywords("jq", "jsonpath", "pointer", "select"))]
    pub fn json_query(
        /// The JSON document.
        json: &str,
        /// A path such as `items[0].name`, `items[*].id` (each), `items[-1]` (the last) or `["odd key"].x`;
        /// or a JSON Pointer such as `/items/0/name`. Empty means the whole document.
        #[schema(max_length = 2000)]
        path: &str,
        /// How many values to give at most.
        #[schema(min = 1, max = 1000, default = 100)]
        limit: u16,
    ) -> Result<Found, Failure> {
        json::query(json, path, limit)
    }

    /// Checks a JSON document and lays it out again. Numbers and strings stay exactly as they are written.
    #[tool(read_only, idempotent, keywords("pretty", "minify", "validate", "indent"))]
    pub fn json_format(
        /// The JSON document.
        json: &str,
        /// How to lay it out.
        #[schema(default = "pretty")]
        style: Style,
        /// Whether to put the keys of each object in order.
        #[schema(default = false)]
        sort_keys: bool,
    ) -> Result<String, Failure> {
        json::format(json, style, sort_keys)
    }

    /// Encodes a text (as UTF-8) in base64, hexadecimal or percent-encoding.
    #[tool(read_only, idempotent, keywords("base64", "hex", "url", "percent"))]
    pub fn encode(
        /// The text to encode.
        text: &str,
        /// The encoding.
        encoding: Encoding,
    ) -> String {
        encoding::encode(text, encoding)
    }

    /// Decodes base64, hexadecimal or percent-encoding to text.
    #[tool(read_only, idempotent, keywords("base64", "hex", "url", "percent"))]
    pub fn decode(
        /// What to decode. White space around it is ignored.
        encoded: &str,
        /// The encoding.
        encoding: Encoding,
    ) -> Result<String, Failure> {
        encoding::decode(encoded, encoding)
    }

    /// Gives the SHA-256 digest of a text (as UTF-8), in hexadecimal.
    #[tool(read_only, idempotent, keywords("sha256", "digest", "checksum"))]
    pub fn hash(
        /// The text to hash.
        text: &str,
    ) -> String {
        encoding::sha256(text)
    }

    /// Writes a name or a title in another case, or as a slug for a URL.
    #[tool(read_only, idempotent, keywords("slugify", "camel", "snake", "kebab", "rename"))]
    pub fn convert_case(
        /// The name or title.
        #[schema(max_length = 10000)]
        text: &str,
        /// The case.
        to: Case,
    ) -> String {
        words::convert_case(text, to)
    }

    /// Shortens a text to a number of characters, at the end of a word where there is one.
    #[tool(read_only, idempotent, keywords("shorten", "ellipsis", "cut"))]
    pub fn truncate(
        /// The text to shorten.
        text: &str,
        /// How many characters to keep, the mark included.
        #[schema(min = 1)]
        max_characters: u32,
        /// What to put where it was cut.
        #[schema(max_length = 100, default = "…")]
        mark: &str,
    ) -> Shortened {
        words::truncate(text, max_characters, mark)
    }
}

#[cfg(test)]
mod tests {
    use super::text::Capability as Text;
    use remit_sdk::serde_json::json;
    use remit_sdk::{Failure, Reply, testing};

    #[test]
    fn every_tool_only_reads_and_describes_all_it_takes() {
        let tools = testing::tools::<Text>();
        let tools = tools.as_array().expect("tools are a list");
        assert_eq!(tools.len(), 13);
        for tool in tools {
            assert_eq!(tool["readOnly"], true, "{tool}");
            assert_eq!(tool["idempotent"], true, "{tool}");
            let properties = tool["inputSchema"]["properties"].as_object().expect("inputs are objects");
            for (name, property) in properties {
                assert!(property["description"].is_string(), "{name} of {tool}");
            }
        }
    }

    #[test]
    fn calls_as_the_host_makes_them() {
        let check = |tool, input, expected: &str| {
            assert_eq!(testing::call::<Text>(tool, &input), Ok(Reply::new().text(expected)));
        };
        check("echo", json!({ "message": "hi" }), "hi");
        check("json_format", json!({ "json": "[1, 2]", "style": "compact" }), "[1,2]");
        check("json_format", json!({ "json": "[1]" }), "[\n  1\n]");
        check("encode", json!({ "text": "hi", "encoding": "base64" }), "aGk=");
        check("convert_case", json!({ "text": "Hello, world", "to": "kebab" }), "hello-world");
        check("change_lines", json!({ "text": "b\na", "steps": ["sort"] }), "a\nb");

        let reply = testing::call::<Text>("truncate", &json!({ "text": "one two", "max_characters": 5 }));
        assert_eq!(reply.expect("it is cut").structured.as_deref(), Some(r#"{"text":"one…","characters_cut":4}"#));
        let reply = testing::call::<Text>("extract", &json!({ "text": "", "pattern": "(" }));
        assert!(matches!(reply, Err(Failure::InvalidInput(_))));
    }
}
