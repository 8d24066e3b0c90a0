//! The grammar of a placeholder: `{{NAME}}`, where the name is an upper-case letter followed by at most 63
//! upper-case letters, digits and underscores. Anything else in braces is ordinary text. Where a
//! placeholder may stand is not decided here.
//!
//! Text that happens to be one, such as a template in an issue's body, is taken for one and refused unless it
//! is approved there: guessing would let whoever writes that text have a secret sent. In JSON it can be sent
//! literally with one brace escaped: `\u007b{NAME}}`.

/// The longest name: room for any environment variable that a service documents.
const NAME_MAX: usize = 64;

/// One placeholder of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Placeholder<'t> {
    /// Where its first brace is.
    pub(super) start: usize,
    /// Where the text after its last brace begins.
    pub(super) end: usize,
    /// The name between the braces.
    pub(super) name: &'t str,
}

/// A placeholder stands inside other braces, so that it is unclear which of the two is meant.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Nested;

/// Finds the placeholders of `text`, in order, in one pass.
pub(super) fn find(text: &[u8]) -> Result<Vec<Placeholder<'_>>, Nested> {
    let mut found = Vec::new();
    // Whether a `{{` that begins no placeholder waits for its `}}`.
    let mut open = false;
    let mut at = 0;
    while at + 1 < text.len() {
        match &text[at..at + 2] {
            b"{{" => match name_at(&text[at + 2..]) {
                Some(_) if open => return Err(Nested),
                Some(name) => {
                    let end = at + 2 + name.len() + 2;
                    found.push(Placeholder { start: at, end, name });
                    at = end;
                }
                None => {
                    open = true;
                    at += 1;
                }
            },
            b"}}" => {
                open = false;
                at += 2;
            }
            _ => at += 1,
        }
    }
    Ok(found)
}

/// Whether `text` holds a placeholder, nested ones included.
pub(crate) fn contains_placeholder(text: &[u8]) -> bool {
    find(text).map_or(true, |found| !found.is_empty())
}

/// The name at the start of `text`, when `}}` follows it.
fn name_at(text: &[u8]) -> Option<&str> {
    let length = text
        .iter()
        .take(NAME_MAX + 1)
        .take_while(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || **byte == b'_')
        .count();
    let fits = (1..=NAME_MAX).contains(&length) && text[0].is_ascii_uppercase();
    let closed = text[length..].starts_with(b"}}");
    if fits && closed { std::str::from_utf8(&text[..length]).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_by_the_exact_grammar() {
        let longest = "A".repeat(64);
        let whole = format!("{{{{{longest}}}}}");
        let too_long = format!("{{{{A{longest}}}}}");
        for (text, names) in [
            ("", vec![]),
            ("{{", vec![]),
            ("{{KEY}}", vec!["KEY"]),
            ("Bearer {{API_KEY2}}", vec!["API_KEY2"]),
            ("{{A}}{{B}}", vec!["A", "B"]),
            ("{{A}}:{{A}}", vec!["A", "A"]),
            (&whole, vec![longest.as_str()]),
            (&too_long, vec![]),
            ("{{key}}", vec![]),
            ("{{Key}}", vec![]),
            ("{{ KEY }}", vec![]),
            ("{{}}", vec![]),
            ("{{_KEY}}", vec![]),
            ("{{1KEY}}", vec![]),
            ("{KEY}", vec![]),
            ("{{KEY}", vec![]),
            ("{{KÉY}}", vec![]),
            ("{{ mustache }} {{KEY}}", vec!["KEY"]),
            (r#"{"a":{"b":"{{KEY}}"}}"#, vec!["KEY"]),
        ] {
            let found: Vec<_> = find(text.as_bytes()).unwrap().into_iter().map(|one| one.name).collect();
            assert_eq!(found, names, "{text}");
        }
    }

    #[test]
    fn a_placeholder_inside_other_braces_is_refused() {
        for text in ["{{A{{B}}}}", "{{ {{A}} }}", "{{{A}}}", "{{a {{KEY}}"] {
            assert_eq!(find(text.as_bytes()), Err(Nested), "{text}");
        }
    }
}
