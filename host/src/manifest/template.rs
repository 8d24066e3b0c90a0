//! URI templates (RFC 6570) of level 1: fixed text and simple variables, as in `note:{id}`.
//!
//! A variable stands for one or more characters that a simple expansion gives: letters, digits, `-`, `.`, `_`, `~`
//! and percent-encoded ones, so never for a `/`. Whether an address has the form is found in time linear in its
//! length: no pattern is compiled, and nothing is tried twice.

use super::visible;

/// Characters of a wrong part that are repeated.
const SHOWN: usize = 40;

/// The form of addresses of a family of documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// What stands before the first variable.
    start: String,
    /// Each variable, and the text that follows it. Only the last text can be empty.
    variables: Vec<(String, String)>,
}

impl Template {
    /// Reads a template. The error says what to change.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = text.split('{');
        let start = parts.next().unwrap_or_default().to_owned();
        if start.contains('}') {
            return Err("write `}` only at the end of a variable".to_owned());
        }
        let mut variables: Vec<(String, String)> = Vec::new();
        for part in parts {
            let Some((name, rest)) = part.split_once('}') else {
                return Err("close each variable with `}`".to_owned());
            };
            check_variable(name)?;
            if rest.contains('}') {
                return Err("write `}` only at the end of a variable".to_owned());
            }
            if variables.last().is_some_and(|(_, before)| before.is_empty()) {
                return Err(format!("put some text before `{{{name}}}`: two variables in a row cannot be told apart"));
            }
            if variables.iter().any(|(known, _)| known == name) {
                return Err(format!("use the variable `{name}` once"));
            }
            variables.push((name.to_owned(), rest.to_owned()));
        }
        if variables.is_empty() {
            return Err("use a variable, as in `note:{id}`; an address without one belongs into `resources`".to_owned());
        }
        Ok(Self { start, variables })
    }

    /// The names of its variables, in order.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.variables.iter().map(|(name, _)| name.as_str())
    }

    /// Whether an address has this form.
    ///
    /// Taking the first place where a variable's following text stands is enough: a later one makes the variable
    /// longer by what is between, and leaves less for the rest.
    #[must_use]
    pub fn matches(&self, uri: &str) -> bool {
        let Some(mut rest) = uri.strip_prefix(self.start.as_str()) else { return false };
        let Some(((_, end), between)) = self.variables.split_last() else { return false };
        for (_, text) in between {
            let Some(first) = rest.chars().next() else { return false };
            // A variable stands for one character at least.
            let from = first.len_utf8();
            let Some(at) = rest[from..].find(text.as_str()).map(|at| at + from) else { return false };
            if !rest[..at].bytes().all(is_of_variable) {
                return false;
            }
            rest = &rest[at + text.len()..];
        }
        rest.strip_suffix(end.as_str()).is_some_and(|last| !last.is_empty() && last.bytes().all(is_of_variable))
    }
}

fn is_of_variable(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~%".contains(&byte)
}

fn check_variable(name: &str) -> Result<(), String> {
    let fits = |character: char| character.is_ascii_alphanumeric() || character == '_';
    if name.starts_with(|first: char| first.is_ascii_alphabetic()) && name.chars().all(fits) {
        return Ok(());
    }
    let shown = visible(name, SHOWN);
    Err(format!("write a simple variable instead of `{{{shown}}}`: letters, digits and underscores, a letter first"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_a_form_are_known() {
        let cases = [
            ("note:{id}", "note:1", true),
            ("note:{id}", "note:a-b_c.d~e%20f", true),
            ("note:{id}", "note:", false),
            ("note:{id}", "note", false),
            ("note:{id}", "Note:1", false),
            ("note:{id}", "xnote:1", false),
            ("note:{id}", "note:a/b", false),
            ("note:{id}", "note:a?b", false),
            ("note:{id}", "note:a b", false),
            ("note:{id}", "note:ä", false),
            ("note:{id}", "note:a\n", false),
            ("test://t/{id}/data", "test://t/123/data", true),
            ("test://t/{id}/data", "test://t//data", false),
            ("test://t/{id}/data", "test://t/1/data/", false),
            ("test://t/{id}/data", "test://t/1/2/data", false),
            ("test://t/{id}/data", "test://t/1/data/data", false),
            ("a:{x}-{y}", "a:1-2", true),
            ("a:{x}-{y}", "a:1-2-3", true),
            ("a:{x}-{y}", "a:-1", false),
            ("a:{x}-{y}", "a:--1", true),
            ("a:{x}-{y}", "a:1-", false),
            ("a:{x}/b{y}/z", "a:q/bb/z", true),
            ("a:{x}/b{y}/z", "a:q/b/z", false),
            ("a:{x}ab{y}ab", "a:abababab", true),
            ("a:{x}ab{y}ab", "a:abab", false),
        ];
        for (form, uri, expected) in cases {
            assert_eq!(Template::parse(form).unwrap().matches(uri), expected, "{form} {uri:?}");
        }
    }

    #[test]
    fn only_simple_variables_are_read() {
        let bad = [
            "note:1", "note:{id", "note:id}", "note:{}", "note:{+path}", "note:{#a}", "note:{?q}", "note:{a,b}",
            "note:{a*}", "note:{a:3}", "note:{a}{b}", "note:{a}/{a}", "note:{{a}}", "note:{1}", "note:{a b}", "{a}}",
        ];
        for form in bad {
            assert!(Template::parse(form).is_err(), "{form}");
        }
        let template = Template::parse("note:{year}/{id_2}").unwrap();
        assert_eq!(template.variables().collect::<Vec<_>>(), ["year", "id_2"]);
    }

    /// CVE-2026-0621: a template that becomes a pattern can be made to take time exponential in the address.
    #[test]
    fn a_hostile_address_takes_linear_time() {
        let template = Template::parse(&format!("a:{}", (0..30).map(|n| format!("{{v{n}}}-")).collect::<String>()));
        let template = template.unwrap();
        let begun = crate::clock::monotonic();
        for tail in ["!", "", "-"] {
            let uri = format!("a:{}{tail}", "-".repeat(1_000_000));
            assert_eq!(template.matches(&uri), tail != "!");
        }
        assert!(begun.elapsed() < std::time::Duration::from_secs(2), "{:?}", begun.elapsed());
    }
}
