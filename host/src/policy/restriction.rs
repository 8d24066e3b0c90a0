//! What an installer asks beyond what a publisher asks: of whom a tool is, and when a person has to agree. Pure.
//!
//! Decides which restriction stands for a tool. Who has the role, the permission or the flag is decided
//! elsewhere, and so is what becomes of a call that needs a person's word.

use crate::manifest::{Tool, check_name, check_permission};

/// A restriction of one tool of a capability, or of all. It narrows; it never gives what the manifest or a grant
/// does not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restriction {
    /// The tool; `None` for all of the capability.
    pub tool: Option<String>,
    /// Agents neither see nor call it.
    pub hidden: bool,
    /// The role that a caller needs.
    pub role: Option<String>,
    /// The permission that a caller needs, as `domain:action`.
    pub permission: Option<String>,
    /// The flag that has to be on for the caller.
    pub flag: Option<String>,
    /// When a person has to agree; `None` for what stands for the capability, or else [`Confirm::Destructive`].
    pub confirm: Option<Confirm>,
}

/// Which calls need a person's word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Confirm {
    /// None.
    Never,
    /// Calls of destructive tools.
    #[default]
    Destructive,
    /// Calls of every tool that is not read-only.
    Writes,
}

impl Confirm {
    /// All, the loosest first.
    pub const ALL: &[Self] = &[Self::Never, Self::Destructive, Self::Writes];

    /// The one word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Destructive => "destructive",
            Self::Writes => "writes",
        }
    }

    /// The one of this word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|confirm| confirm.as_str() == word)
    }
}

/// The restrictions that stand for a tool: its own and the one of its capability. A caller meets all of them.
pub fn of_tool<'a>(tool: &'a str, restrictions: &'a [Restriction]) -> impl Iterator<Item = &'a Restriction> {
    restrictions.iter().filter(move |restriction| restriction.tool.as_deref().is_none_or(|of| of == tool))
}

/// Whether agents neither see nor call a tool.
#[must_use]
pub(super) fn is_hidden(tool: &str, restrictions: &[Restriction]) -> bool {
    of_tool(tool, restrictions).any(|restriction| restriction.hidden)
}

/// When calls of a tool need a person's word: what is said for the tool, else for its capability, else the default.
#[must_use]
pub fn confirm(tool: &str, restrictions: &[Restriction]) -> Confirm {
    let said_for = |of: Option<&str>| {
        restrictions.iter().filter(|said| said.tool.as_deref() == of).find_map(|said| said.confirm)
    };
    said_for(Some(tool)).or_else(|| said_for(None)).unwrap_or_default()
}

/// Whether calls of a tool need a person's word.
#[must_use]
pub fn needs_word(tool: &Tool, restrictions: &[Restriction]) -> bool {
    match confirm(&tool.name, restrictions) {
        Confirm::Never => false,
        Confirm::Destructive => tool.is_destructive(),
        Confirm::Writes => !tool.read_only,
    }
}

/// What is wrong with the words of a restriction: they are what principals can have, or nobody would ever meet them.
#[must_use]
pub fn check_restriction(restriction: &Restriction) -> Option<String> {
    let Restriction { role, flag, permission, .. } = restriction;
    let wrong = |what: &str, word: &Option<String>, check: fn(&str) -> Option<String>| {
        let word = word.as_ref()?;
        check(word).map(|problem| format!("`{word}` is no {what}: {problem}"))
    };
    wrong("role", role, check_name)
        .or_else(|| wrong("flag", flag, check_name))
        .or_else(|| wrong("permission", permission, check_permission))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(tool: Option<&str>, confirm: Option<Confirm>) -> Restriction {
        Restriction { tool: tool.map(str::to_owned), confirm, ..Restriction::default() }
    }

    #[test]
    fn what_is_said_for_a_tool_stands_before_what_is_said_for_all() {
        use Confirm::{Destructive, Never, Writes};
        let cases = [
            (vec![], Destructive),
            (vec![said(None, None)], Destructive),
            (vec![said(None, Some(Writes))], Writes),
            (vec![said(None, Some(Never))], Never),
            (vec![said(Some("put"), Some(Never)), said(None, Some(Writes))], Never),
            (vec![said(None, Some(Never)), said(Some("put"), Some(Writes))], Writes),
            (vec![said(Some("put"), None), said(None, Some(Writes))], Writes),
            (vec![said(Some("other"), Some(Never)), said(None, Some(Writes))], Writes),
            (vec![said(Some("other"), Some(Never))], Destructive),
        ];
        for (restrictions, expected) in cases {
            assert_eq!(confirm("put", &restrictions), expected, "{restrictions:?}");
        }
    }

    #[test]
    fn a_word_is_needed_by_what_the_tool_says_of_itself() {
        let tool = |changes: serde_json::Value| -> Tool {
            let mut tool = json!({ "name": "put", "description": "d", "inputSchema": {} });
            tool.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
            serde_json::from_value(tool).unwrap()
        };
        // Never, destructive, writes.
        let cases = [
            (json!({}), [false, true, true]),
            (json!({ "destructive": true }), [false, true, true]),
            (json!({ "destructive": false }), [false, false, true]),
            (json!({ "readOnly": true }), [false, false, false]),
        ];
        for (changes, expected) in cases {
            let tool = tool(changes);
            let needs = Confirm::ALL.iter().map(|&confirm| needs_word(&tool, &[said(None, Some(confirm))]));
            assert_eq!(needs.collect::<Vec<_>>(), expected, "{tool:?}");
        }
    }

    #[test]
    fn what_is_hidden_for_all_is_hidden_for_each() {
        let hidden = |tool: Option<&str>| Restriction { hidden: true, ..said(tool, None) };
        assert!(is_hidden("put", &[hidden(None), said(Some("put"), None)]));
        assert!(is_hidden("put", &[said(None, None), hidden(Some("put"))]));
        assert!(!is_hidden("put", &[hidden(Some("puts")), said(None, None)]));
        assert_eq!(of_tool("put", &[hidden(None), hidden(Some("put")), hidden(Some("get"))]).count(), 2);
    }

    #[test]
    fn words_are_plain() {
        let role = |role: &str| Restriction { role: Some(role.to_owned()), ..Restriction::default() };
        let flag = |flag: &str| Restriction { flag: Some(flag.to_owned()), ..Restriction::default() };
        let permission = |text: &str| Restriction { permission: Some(text.to_owned()), ..Restriction::default() };
        for good in [role("admin"), flag("new-ui"), permission("notes:delete"), Restriction::default()] {
            assert_eq!(check_restriction(&good), None, "{good:?}");
        }
        let long = "a".repeat(65);
        for bad in ["", "Admin", "a b", "a:b", "ä", "a\n", &long] {
            assert!(check_restriction(&role(bad)).is_some_and(|said| said.contains("is no role")), "{bad}");
            assert!(check_restriction(&flag(bad)).is_some_and(|said| said.contains("is no flag")), "{bad}");
        }
        for bad in ["", "notes", ":", "notes:", ":delete", "a:b:c", "notes: delete", "*"] {
            assert!(check_restriction(&permission(bad)).is_some(), "{bad}");
        }
    }

    #[test]
    fn every_confirm_has_its_word() {
        for confirm in Confirm::ALL {
            assert_eq!(Confirm::from_word(confirm.as_str()), Some(*confirm));
        }
        assert_eq!(Confirm::from_word("always"), None);
    }
}
