//! The words of a text, as they are compared: lower case, parts of identifiers apart, without their endings; and which
//! words mean the same when something is to be done.

use std::sync::LazyLock;

use rust_stemmers::{Algorithm, Stemmer};

/// Characters of a word that is kept: more is no word.
const MAX_WORD: usize = 40;

/// What says nothing of a task.
const STOP: &[&str] = &[
    "a", "an", "and", "any", "are", "as", "at", "be", "by", "can", "do", "does", "for", "from", "has", "have",
    "how", "i", "if", "in", "into", "is", "it", "its", "me", "need", "of", "on", "or", "our", "please", "so",
    "some", "that", "the", "their", "them", "there", "these", "this", "those", "to", "up", "us", "want", "was",
    "we", "what", "when", "where", "which", "who", "whose", "will", "with", "would", "you", "your",
];

/// What people write short, and what they mean.
const SHORT: &[&[&str]] = &[
    &["repo", "repository"],
    &["org", "organization", "organisation"],
    &["pr", "pull"],
    &["env", "environment"],
    &["config", "configuration"],
    &["doc", "documentation"],
    &["auth", "authentication"],
    &["app", "application"],
    &["db", "database"],
    &["my", "mine", "own", "authenticated"],
];

/// Words that mean the same in a task. A word may stand in several rows.
const SAME: &[&[&str]] = &[
    &["create", "add", "new", "make", "open", "register", "insert", "write", "save", "post", "submit"],
    &["add", "give", "grant", "invite", "put", "append"],
    &["delete", "remove", "destroy", "drop", "erase", "clear", "revoke", "unset", "take"],
    &["list", "show", "all", "enumerate", "browse", "find", "which"],
    &[
        "get",
        "read",
        "show",
        "view",
        "fetch",
        "see",
        "look",
        "retrieve",
        "check",
        "display",
        "detail",
        "information",
    ],
    &["update", "edit", "change", "modify", "set", "rename", "replace", "adjust", "close"],
    &["search", "find", "query", "lookup", "look"],
    &["send", "post", "submit", "publish", "deliver"],
    &["stop", "cancel", "abort", "halt"],
    &["run", "execute", "trigger", "dispatch", "start", "launch"],
    &["disable", "deactivate"],
    &["enable", "activate"],
    &["again", "rerun", "repeat", "retry"],
    &["download", "export", "fetch"],
    &["upload", "import"],
    &["setting", "preference", "configuration"],
    &["user", "person", "people", "account", "member"],
    &["picture", "image", "photo"],
    &["mail", "email", "message"],
    &["directory", "folder"],
    &["comment", "reply", "remark"],
    &["unassign", "remove"],
    &["limit", "restrict", "restriction", "quota"],
];

static STEMMER: LazyLock<Stemmer> = LazyLock::new(|| Stemmer::create(Algorithm::English));

/// The words of a text, in order.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut last = ' ';
    for character in text.chars() {
        // `getIssue` and `HTTPServer2` fall into their parts; `snake_case` by its line.
        let begins_part = character.is_uppercase() && (last.is_lowercase() || last.is_ascii_digit());
        if !character.is_alphanumeric() || begins_part {
            end(&mut word, &mut words);
        }
        if character.is_alphanumeric() {
            word.extend(character.to_lowercase());
        }
        last = character;
    }
    end(&mut word, &mut words);
    words
}

fn end(word: &mut String, words: &mut Vec<String>) {
    if !word.is_empty() && word.chars().count() <= MAX_WORD {
        words.push(std::mem::take(word));
    }
    word.clear();
}

/// The words of a query that say something. When none does, all.
pub(super) fn asked(query: &str) -> Vec<String> {
    let all = words(query);
    let telling: Vec<String> = all.iter().filter(|word| !STOP.contains(&word.as_str())).cloned().collect();
    let mut asked = if telling.is_empty() { all } else { telling };
    let mut seen = std::collections::BTreeSet::new();
    asked.retain(|word| seen.insert(stem(word)));
    asked
}

/// Whether a word says nothing of a task.
pub(super) fn is_stop(word: &str) -> bool {
    STOP.contains(&word)
}

/// A word without its ending.
pub(super) fn stem(word: &str) -> String {
    STEMMER.stem(word).into_owned()
}

/// The stems of the words that this one is short for, or that are short for it.
pub(super) fn short(word: &str) -> Vec<String> {
    of_rows(SHORT, word)
}

/// The stems of the words that mean the same as this one.
pub(super) fn same(word: &str) -> Vec<String> {
    of_rows(SAME, word)
}

fn of_rows(rows: &[&[&str]], word: &str) -> Vec<String> {
    let own = stem(word);
    let rows = rows.iter().filter(|row| row.iter().any(|other| *other == word || stem(other) == own));
    let mut stems: Vec<String> = rows.flat_map(|row| row.iter().map(|other| stem(other))).collect();
    stems.sort();
    stems.dedup();
    stems.retain(|other| *other != own);
    stems
}

/// Whether two words differ by so few letters that one is the other mistyped: a letter more, less, another, or two
/// changed about.
pub(super) fn is_typo(one: &str, other: &str) -> bool {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let most = match one.len() {
        0..4 => return false,
        4..8 => 1,
        _ => 2,
    };
    one.len().abs_diff(other.len()) <= most && distance(&one, &other, most) <= most
}

/// The optimal string alignment distance; anything above `most` is some number above it.
fn distance(one: &[char], other: &[char], most: usize) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=other.len()).collect();
    for (row, letter) in one.iter().enumerate() {
        let mut now = vec![row + 1];
        for (column, theirs) in other.iter().enumerate() {
            let mut cost =
                (last[column] + usize::from(letter != theirs)).min(last[column + 1] + 1).min(now[column] + 1);
            if row > 0 && column > 0 && *letter == other[column - 1] && one[row - 1] == *theirs {
                cost = cost.min(before[column - 1] + 1);
            }
            now.push(cost);
        }
        if now.iter().all(|cost| *cost > most) {
            return most + 1;
        }
        before = std::mem::replace(&mut last, now);
    }
    last[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_fall_into_their_words() {
        for (text, expected) in [
            ("get_forecast", &["get", "forecast"][..]),
            ("getForecast", &["get", "forecast"]),
            ("actions/create-or-update-repo-secret", &["actions", "create", "or", "update", "repo", "secret"]),
            ("Ein Straßenname, größer", &["ein", "straßenname", "größer"]),
            ("v2 API", &["v2", "api"]),
            ("  ...  ", &[]),
        ] {
            assert_eq!(words(text), expected, "{text}");
        }
        assert_eq!(words(&"x".repeat(41)), Vec::<String>::new(), "no word is so long");
    }

    #[test]
    fn a_query_is_the_words_that_tell_something() {
        assert_eq!(
            asked("How do I list the open issues of my repository?"),
            ["list", "open", "issues", "my", "repository"]
        );
        assert_eq!(asked("who am i"), ["am"]);
        assert_eq!(asked("what is it"), ["what", "is", "it"], "better than nothing");
        assert_eq!(asked("issue issues"), ["issue"], "once is enough");
    }

    #[test]
    fn typos_are_near_and_other_words_are_not() {
        for (one, other) in
            [("issue", "isue"), ("issue", "issuee"), ("isseu", "issue"), ("repositroy", "repository")]
        {
            assert!(is_typo(one, other), "{one} {other}");
        }
        for (one, other) in
            [("tag", "tags"), ("issue", "tissues"), ("create", "delete"), ("", "x"), ("label", "level")]
        {
            assert!(!is_typo(one, other), "{one} {other}");
        }
    }

    #[test]
    fn words_that_mean_the_same_are_known_by_any_of_their_forms() {
        assert!(same("deleting").contains(&stem("remove")));
        assert!(short("repos").contains(&stem("repository")));
        assert!(!same("create").contains(&stem("create")));
        assert_eq!(same("weather"), Vec::<String>::new());
    }
}
