//! Which words of a task mean the same: a small table of what people say and what tools are called.
//!
//! Words of one trade belong into the `keywords` of a capability, not here.

/// Words for what is to be done; those of a row are looked for together.
const VERBS: &[&[&str]] = &[
    &["create", "add", "new", "make", "open", "start", "register", "write", "generate", "build", "publish", "put"],
    &["create", "add", "set", "give", "grant", "assign", "store", "save", "share"],
    &["delete", "remove", "destroy", "drop", "erase", "clear", "discard", "revoke", "kick"],
    &["list", "show", "get", "find", "see", "read", "fetch", "view", "retrieve", "display", "details"],
    &["check", "get", "whether", "verify", "has"],
    &["search", "find", "look", "query", "seek"],
    &[
        "update",
        "edit",
        "change",
        "modify",
        "set",
        "rename",
        "replace",
        "adjust",
        "configure",
        "customize",
        "close",
    ],
    &["cancel", "stop", "abort", "halt", "kill", "end"],
    &["enable", "activate", "allow"],
    &["disable", "deactivate", "forbid"],
    &["upload", "attach", "add"],
    &["download", "export"],
    &["send", "notify", "submit"],
    &["rerun", "retry", "again", "redeliver", "rerequest"],
    &["trigger", "run", "launch", "dispatch", "execute"],
    &["reply", "answer", "respond"],
    &["approve", "accept", "review"],
    &["convert", "render", "transform"],
];

/// The same for other words.
const NOUNS: &[&[&str]] = &[
    &["access", "permissions"],
    &["assign", "assignee", "assignees"],
    &["cost", "billing", "spend", "usage"],
    &["history", "events", "log", "timeline"],
    &["latest", "newest", "recent", "last"],
    &["limit", "restrict", "quota"],
    &["login", "authenticated"],
    &["person", "people", "member", "collaborator", "somebody", "someone"],
    &["person", "people", "user", "account", "somebody", "someone", "profile"],
    &["picture", "image", "photo"],
];

/// Words of questions that no tool has in its name, and what such a question asks for.
const ASKED: &[(&[&str], &[&str])] = &[
    (&["which", "what", "whose", "where", "when", "how"], &["list", "get", "check"]),
    (&["who"], &["list", "get", "check", "member", "user"]),
    (&["i", "me", "my", "mine", "our", "us"], &["authenticated", "own", "current"]),
];

/// Two words that are one.
const PAIRS: &[(&str, &str, &str)] = &[
    ("bring", "back", "restore"),
    ("get", "rid", "delete"),
    ("log", "in", "login"),
    ("logged", "in", "login"),
    ("look", "up", "get"),
    ("re", "run", "rerun"),
    ("run", "again", "rerun"),
    ("set", "up", "create"),
    ("shut", "down", "stop"),
    ("sign", "in", "login"),
    ("switch", "off", "disable"),
    ("switch", "on", "enable"),
    ("turn", "off", "disable"),
    ("turn", "on", "enable"),
];

/// What people write short, and what it stands for.
const SHORT: &[(&str, &[&str])] = &[
    ("app", &["application"]),
    ("apps", &["applications"]),
    ("auth", &["authentication"]),
    ("config", &["configuration"]),
    ("db", &["database"]),
    ("docs", &["documentation"]),
    ("env", &["environment"]),
    ("info", &["information"]),
    ("org", &["organization"]),
    ("orgs", &["organizations"]),
    ("perms", &["permissions"]),
    ("pr", &["pull", "request"]),
    ("prs", &["pull", "requests"]),
    ("ref", &["reference"]),
    ("refs", &["references"]),
    ("repo", &["repository"]),
    ("repos", &["repositories"]),
    ("unassign", &["remove", "assignee"]),
];

/// Other words for a word that is written like this, each once.
pub(super) fn others(word: &str) -> Vec<&'static str> {
    let mut others = Vec::new();
    for row in VERBS.iter().chain(NOUNS).filter(|row| row.contains(&word)) {
        others.extend(row.iter().copied().filter(|other| *other != word));
    }
    others.sort_unstable();
    others.dedup();
    others
}

/// Whether a word says what is to be done.
pub(super) fn is_verb(word: &str) -> bool {
    VERBS.iter().any(|row| row.contains(&word))
}

/// The word that two words are together.
pub(super) fn pair(first: &str, second: &str) -> Option<&'static str> {
    PAIRS.iter().find(|pair| (pair.0, pair.1) == (first, second)).map(|pair| pair.2)
}

/// What is looked for in the place of a word of a question.
pub(super) fn asked(word: &str) -> Option<&'static [&'static str]> {
    ASKED.iter().find(|(words, _)| words.contains(&word)).map(|(_, asked)| *asked)
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
        assert_eq!(others("weather"), [""; 0]);
        assert_eq!(long("pr"), Some(&["pull", "request"][..]));
    }
}
