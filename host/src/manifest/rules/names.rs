//! Names: what publishers, capabilities, tools, entities, permissions and secrets may be called.
//!
//! A name stands in addresses, file names, environment and code, and people compare names by eye, so the
//! alphabet is small.

/// The longest name: MCP clients take tool names up to 64 characters, and DNS labels have 63.
pub(crate) const MAX_NAME: usize = 64;

/// Windows opens a device instead of a file of such a name.
const DEVICES: &[&str] = &["con", "prn", "aux", "nul"];
/// Windows devices that come in numbers.
const NUMBERED_DEVICES: &[&str] = &["com", "lpt"];

/// Tool names that mean something else where tools are listed or called by program.
const RESERVED_TOOLS: &[&str] = &[
    // The agents' door itself.
    "search",
    "execute",
    "call_tool",
    "call_read_tool",
    "remit",
    "help",
    // In a program, `remit.<slug>` is an object, and these would change what kind of object.
    "then",
    "constructor",
    "prototype",
];

/// What is wrong with the name of a publisher or a capability.
pub fn check_name(name: &str) -> Option<String> {
    let fits = |character: char| matches!(character, 'a'..='z' | '0'..='9' | '-');
    if name.is_empty() {
        return Some("write a name: it is empty".to_owned());
    }
    if name.len() > MAX_NAME {
        return Some(format!("shorten it to {MAX_NAME} characters"));
    }
    if !name.chars().all(fits) {
        return Some("use lower-case letters a-z, digits and hyphens only".to_owned());
    }
    if !name.starts_with(|first: char| first.is_ascii_lowercase()) {
        return Some("begin with a letter".to_owned());
    }
    if name.ends_with('-') || name.contains("--") {
        return Some("put each hyphen between two words".to_owned());
    }
    is_device(name).then(|| "choose another name: Windows reserves this one for a device".to_owned())
}

fn is_device(name: &str) -> bool {
    let is_numbered = |device: &str| {
        name.strip_prefix(device).is_some_and(|rest| rest.len() == 1 && rest.as_bytes()[0].is_ascii_digit())
    };
    DEVICES.contains(&name) || NUMBERED_DEVICES.iter().any(|device| is_numbered(device))
}

/// What is wrong with the name of a tool.
pub fn tool(name: &str) -> Option<String> {
    let fits = |character: char| matches!(character, 'a'..='z' | '0'..='9' | '_');
    if !name.starts_with(|first: char| first.is_ascii_lowercase()) || !name.chars().all(fits) {
        return Some("use lower-case letters a-z, digits and underscores, a letter first".to_owned());
    }
    RESERVED_TOOLS.contains(&name).then(|| format!("choose another name: `{name}` is reserved"))
}

/// What is wrong with the name of a prompt.
pub(super) fn prompt(name: &str) -> Option<String> {
    let fits = |character: char| matches!(character, 'a'..='z' | '0'..='9' | '_');
    let is_good = name.starts_with(|first: char| first.is_ascii_lowercase()) && name.chars().all(fits);
    (!is_good).then(|| "use lower-case letters a-z, digits and underscores, a letter first".to_owned())
}

/// What is wrong with the name of a prompt's argument.
pub(super) fn argument(name: &str) -> Option<String> {
    let fits = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let is_good = name.len() <= MAX_NAME
        && name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.chars().all(fits);
    (!is_good).then(|| format!("use letters, digits and underscores, a letter first, at most {MAX_NAME}"))
}

/// What is wrong with the name of a resource or a resource template.
pub(super) fn document(name: &str) -> Option<String> {
    let fits = |character: char| character.is_ascii_alphanumeric() || matches!(character, '.' | '-' | '_');
    let is_good = !name.is_empty() && name.len() <= MAX_NAME && name.chars().all(fits);
    (!is_good).then(|| format!("use letters, digits, `.`, `-` and `_`, at most {MAX_NAME}"))
}

/// What is wrong with the name of an entity.
pub fn check_entity(name: &str) -> Option<String> {
    let fits = |character: char| matches!(character, 'a'..='z' | '0'..='9' | '_');
    let is_good = name.len() <= MAX_NAME
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.chars().all(fits);
    (!is_good)
        .then(|| format!("use lower-case letters a-z, digits and underscores, a letter first, at most {MAX_NAME}"))
}

/// What is wrong with a permission that a tool asks for.
pub fn check_permission(text: &str) -> Option<String> {
    let Some((domain, action)) = text.split_once(':') else {
        return Some("write `domain:action`, such as `notes:write`".to_owned());
    };
    check_name(domain)
        .map(|problem| format!("the domain: {problem}"))
        .or_else(|| check_name(action).map(|problem| format!("the action: {problem}")))
}

/// What is wrong with the name of a secret.
pub(super) fn secret(name: &str) -> Option<String> {
    let fits = |character: char| matches!(character, 'A'..='Z' | '0'..='9' | '_');
    let is_good = name.len() <= MAX_NAME
        && name.starts_with(|first: char| first.is_ascii_uppercase())
        && name.chars().all(fits);
    (!is_good)
        .then(|| format!("use upper-case letters A-Z, digits and underscores, a letter first, at most {MAX_NAME}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain() {
        for good in ["a", "weather", "open-meteo", "llama-3", "co", "com", "com10", "console", &"a".repeat(64)] {
            assert_eq!(check_name(good), None, "{good}");
        }
        let long = "a".repeat(65);
        let bad = [
            "",
            "CON",
            "con",
            "nul",
            "com1",
            "lpt9",
            "..",
            "a/b",
            "a.b",
            "-x",
            "x-",
            "a--b",
            "3d",
            "Weather",
            "wetter_bericht",
            "wétter",
            "а",
            "a b",
            "a\u{200b}b",
            &long,
        ];
        for bad in bad {
            assert!(check_name(bad).is_some(), "{bad}");
        }
    }

    #[test]
    fn entities_are_named_as_fields_are() {
        let long = "a".repeat(65);
        for good in ["a", "notes", "digest_state", "v2", "a__b", "search", &long[1..]] {
            assert_eq!(check_entity(good), None, "{good}");
        }
        for bad in ["", "_a", "2a", "Notes", "my-notes", "a.b", "a b", "ä", "a/b", "a\0", "*", &long] {
            assert!(check_entity(bad).is_some(), "{bad}");
        }
    }

    #[test]
    fn tools_and_secrets_have_their_own_alphabets() {
        for good in ["a", "get_forecast", "v2", "a__b"] {
            assert_eq!(tool(good), None, "{good}");
        }
        for bad in ["", "_a", "2a", "getForecast", "get-forecast", "search", "call_tool", "then", "a.b", "ä"] {
            assert!(tool(bad).is_some(), "{bad}");
        }
        let long = "A".repeat(64);
        for good in ["A", "API_KEY", "K2", &long] {
            assert_eq!(secret(good), None, "{good}");
        }
        let long = "A".repeat(65);
        for bad in ["", "_A", "2A", "api_key", "API-KEY", "API KEY", "{{A}}", &long] {
            assert!(secret(bad).is_some(), "{bad}");
        }
    }
}
