//! Permissions as words: `domain:action`, and for those who get them also `domain:*`.
//!
//! A tool asks for one action; only a person gives a whole domain, and nobody gives everything at once.

use crate::manifest::{check_name, check_permission};

/// All actions of a domain.
const ANY: &str = "*";

/// What is wrong with a permission that a person gives.
pub fn check_given_permission(text: &str) -> Option<String> {
    match text.split_once(':') {
        Some((domain, ANY)) => check_name(domain).map(|problem| format!("the domain: {problem}")),
        _ => check_permission(text),
    }
}

/// Whether who was given `given` has `asked`. What is no permission covers nothing.
pub(super) fn covers(given: &str, asked: &str) -> bool {
    let (Some((domain, action)), Some((asked_domain, _))) = (given.split_once(':'), asked.split_once(':')) else {
        return false;
    };
    given == asked || domain == asked_domain && action == ANY && check_permission(asked).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permission_is_a_domain_and_an_action() {
        for good in ["notes:write", "a:b", "open-meteo:read-all"] {
            assert_eq!(check_permission(good), None, "{good}");
            assert_eq!(check_given_permission(good), None, "{good}");
        }
        assert_eq!(check_given_permission("notes:*"), None);
        let bad = [
            "",
            ":",
            "notes",
            "notes:",
            ":write",
            "Notes:write",
            "notes:Write",
            "notes:write:all",
            "notes write",
            "notes: write",
            "notes:write ",
            "nötes:write",
            "notes:wri\u{200b}te",
            "*:write",
            "*:*",
            "*",
            "notes:**",
            "notes:w*",
            "notes:write\n",
        ];
        for bad in bad {
            assert!(check_permission(bad).is_some(), "{bad:?}");
            assert!(check_given_permission(bad).is_some(), "{bad:?}");
        }
        assert!(check_permission("notes:*").is_some(), "no tool asks for a whole domain");
    }

    #[test]
    fn a_domain_covers_its_actions_and_no_other() {
        let cases = [
            ("notes:write", "notes:write", true),
            ("notes:*", "notes:write", true),
            ("notes:write", "notes:read", false),
            ("notes:*", "notes-old:write", false),
            ("note:*", "notes:write", false),
            ("*:*", "notes:write", false),
            ("*", "notes:write", false),
            ("notes:*", "notes:", false),
            ("notes", "notes:write", false),
            ("", "", false),
        ];
        for (given, asked, expected) in cases {
            assert_eq!(covers(given, asked), expected, "{given} {asked}");
        }
    }
}
