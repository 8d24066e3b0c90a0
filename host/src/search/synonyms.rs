//! Which words of a task mean the same: a small table of what people say and what tools are called.
//!
//! Words of one trade belong into the `keywords` of a capability, not here.

/// Words that are looked for together.
const SAME: &[&[&str]] = &[
    &["create", "add", "new", "make", "open", "start", "register", "write", "generate", "build"],
    &["delete", "remove", "destroy", "drop", "erase", "clear", "discard", "revoke"],
    &["list", "show", "get", "find", "see", "read", "fetch", "view", "retrieve", "display", "look"],
    &["check", "get", "is", "whether", "verify"],
    &["update", "edit", "change", "modify", "set", "rename", "replace", "adjust", "configure", "customize"],
    &["cancel", "stop", "abort", "halt", "kill", "end"],
    &["enable", "activate", "allow", "on"],
    &["disable", "deactivate", "off", "forbid"],
    &["upload", "attach"],
    &["download", "export"],
    &["send", "notify"],
    &["repeat", "rerun", "retry", "again", "redeliver"],
    &["trigger", "run", "launch", "dispatch", "execute"],
    &["picture", "image", "photo"],
    &["person", "people", "user", "account", "somebody", "someone"],
    &["person", "people", "member", "somebody", "someone"],
    &["my", "mine", "own", "authenticated", "me"],
];

/// What people write short, and what it stands for.
const SHORT: &[(&str, &[&str])] = &[
    ("app", &["application"]),
    ("auth", &["authentication"]),
    ("config", &["configuration"]),
    ("db", &["database"]),
    ("docs", &["documentation"]),
    ("env", &["environment"]),
    ("info", &["information"]),
    ("org", &["organization"]),
    ("perms", &["permissions"]),
    ("pr", &["pull", "request"]),
    ("prs", &["pull", "requests"]),
    ("repo", &["repository"]),
    ("repos", &["repositories"]),
];

/// Other words for a word that is written like this, each once.
pub(super) fn others(word: &str) -> Vec<&'static str> {
    let mut others = Vec::new();
    for row in SAME.iter().filter(|row| row.contains(&word)) {
        others.extend(row.iter().copied().filter(|other| *other != word));
    }
    others.extend(long(word).filter(|words| words.len() == 1).into_iter().flatten());
    others.sort_unstable();
    others.dedup();
    others
}

/// The words that a short form stands for.
pub(super) fn long(word: &str) -> Option<&'static [&'static str]> {
    SHORT.iter().find(|(short, _)| *short == word).map(|(_, long)| *long)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_read_in_both_directions() {
        assert!(others("new").contains(&"create") && others("create").contains(&"new"));
        assert!(!others("new").contains(&"new") && !others("new").contains(&"delete"));
        assert_eq!(others("repo"), ["repository"]);
        assert_eq!(others("weather"), [""; 0]);
        assert_eq!(long("pr"), Some(&["pull", "request"][..]));
    }
}
