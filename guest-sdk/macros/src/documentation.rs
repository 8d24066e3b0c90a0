//! Doc comments as descriptions, and JSON text. It does not know where a description goes.

use syn::{Attribute, Expr, ExprLit, Lit, Meta};

/// The description in a doc comment: its paragraphs up to the first heading, each on one line.
pub fn description(attributes: &[Attribute]) -> Option<String> {
    let text: Vec<String> = attributes.iter().filter_map(doc_text).collect();
    let mut description = String::new();
    let mut paragraph_ended = false;
    for line in text.join("\n").lines().map(str::trim) {
        if line.starts_with('#') {
            break;
        }
        if line.is_empty() {
            paragraph_ended = !description.is_empty();
            continue;
        }
        if paragraph_ended {
            description.push_str("\n\n");
        } else if !description.is_empty() {
            description.push(if starts_item(line) { '\n' } else { ' ' });
        }
        description.push_str(line);
        paragraph_ended = false;
    }
    (!description.is_empty()).then_some(description)
}

/// Whether a line of Markdown must not flow into the one before.
fn starts_item(line: &str) -> bool {
    ["- ", "* ", "|"].iter().any(|mark| line.starts_with(mark))
}

fn doc_text(attribute: &Attribute) -> Option<String> {
    let Meta::NameValue(meta) = &attribute.meta else { return None };
    let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = &meta.value else { return None };
    meta.path.is_ident("doc").then(|| text.value())
}

/// A string as JSON text.
pub fn json_string(text: &str) -> String {
    let mut json = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => json.push_str("\\\""),
            '\\' => json.push_str("\\\\"),
            '\n' => json.push_str("\\n"),
            control if control < ' ' => json.push_str(&format!("\\u{:04x}", u32::from(control))),
            other => json.push(other),
        }
    }
    json.push('"');
    json
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn::parse_quote;

    #[test]
    fn descriptions() {
        let check = |attributes: Vec<Attribute>, expected: Option<&str>| {
            assert_eq!(description(&attributes).as_deref(), expected);
        };
        check(vec![], None);
        check(vec![parse_quote!(#[doc = " "])], None);
        check(vec![parse_quote!(#[doc = " One"]), parse_quote!(#[doc = " line."])], Some("One line."));
        check(
            vec![parse_quote!(#[doc = " First.\n\n Second\n more.\n - item\n\n # Errors\n\n None."])],
            Some("First.\n\nSecond more.\n- item"),
        );
        check(vec![parse_quote!(#[serde(default)]), parse_quote!(#[doc(hidden)])], None);
    }

    #[test]
    fn json_strings() {
        assert_eq!(json_string("a\"b\\c\nd\u{1}é"), r#""a\"b\\c\nd\u0001é""#);
    }
}
