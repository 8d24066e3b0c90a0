//! Issues as the tools give them, made from what the API sends. What is long is cut, and says so.

pub mod upstream;

/// How much of an issue's text a search result holds, in characters.
const EXCERPT: u32 = 240;

/// What a search found.
#[remit_sdk::data]
#[derive(Debug, PartialEq)]
pub struct Found {
    /// How many issues match in all.
    pub total: u64,
    /// Whether GitHub ran out of time, and there may be more.
    pub incomplete: bool,
    /// This page of them.
    pub issues: Vec<Summary>,
    /// The next page, where there is one.
    pub next_page: Option<u32>,
}

/// An issue in a list.
#[remit_sdk::data]
#[derive(Debug, PartialEq)]
pub struct Summary {
    /// The repository, as `owner/name`.
    repository: String,
    /// Its number in the repository.
    number: u64,
    title: String,
    /// `open` or `closed`.
    state: String,
    /// Why it has this state, such as `completed` or `not_planned`.
    state_reason: Option<String>,
    /// Whether it is a pull request.
    pull_request: bool,
    /// The login of who wrote it.
    author: Option<String>,
    labels: Vec<String>,
    /// How many comments it has.
    comments: u64,
    created_at: String,
    updated_at: String,
    /// Its page for people.
    url: String,
    /// The start of its text.
    excerpt: Option<String>,
}

/// An issue with its comments.
#[remit_sdk::data]
#[derive(Debug, PartialEq)]
pub struct Issue {
    number: u64,
    title: String,
    /// `open` or `closed`.
    state: String,
    /// Why it has this state, such as `completed` or `not_planned`.
    state_reason: Option<String>,
    /// Whether it is a pull request.
    pull_request: bool,
    /// Whether only collaborators can comment.
    locked: bool,
    /// The login of who wrote it.
    author: Option<String>,
    /// The logins of those it is assigned to.
    assignees: Vec<String>,
    labels: Vec<String>,
    milestone: Option<String>,
    created_at: String,
    updated_at: String,
    closed_at: Option<String>,
    /// Its page for people.
    url: String,
    /// Its text, in Markdown.
    body: Option<String>,
    /// How many comments it has in all.
    comments_total: u64,
    /// This page of them, the oldest first.
    comments: Vec<Comment>,
    /// The next page of comments, where there is one.
    next_comments_page: Option<u32>,
}

/// A comment.
#[remit_sdk::data]
#[derive(Debug, PartialEq)]
pub struct Comment {
    /// The login of who wrote it.
    author: Option<String>,
    created_at: String,
    updated_at: String,
    /// Its address for people.
    url: String,
    /// Its text, in Markdown.
    body: String,
}

/// What became of a new issue.
#[remit_sdk::data]
#[derive(Debug, PartialEq)]
pub struct Created {
    /// Whether it exists now. False in a dry run.
    created: bool,
    /// Its number in the repository.
    number: Option<u64>,
    /// Its page for people.
    url: Option<String>,
    /// Labels that were asked for and are not set: the token may not, or they do not exist.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    labels_dropped: Vec<String>,
    /// Assignees that were asked for and are not set.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    assignees_dropped: Vec<String>,
}

/// The page after this one, if the items go on.
pub fn next_page(page: u32, per_page: u32, items: u64) -> Option<u32> {
    (u64::from(page) * u64::from(per_page) < items && per_page > 0).then_some(page + 1)
}

impl From<upstream::Issue> for Summary {
    fn from(issue: upstream::Issue) -> Self {
        Self {
            repository: repository(&issue.repository_url),
            number: issue.number,
            title: issue.title,
            state: issue.state,
            state_reason: issue.state_reason,
            pull_request: issue.pull_request.is_some(),
            author: login(issue.user),
            labels: labels(issue.labels),
            comments: issue.comments,
            created_at: issue.created_at,
            updated_at: issue.updated_at,
            url: issue.html_url,
            excerpt: issue.body.map(|body| cut(&body, EXCERPT)),
        }
    }
}

impl Issue {
    /// Puts an issue and a page of its comments together.
    pub fn new(
        issue: upstream::Issue,
        comments: Vec<Comment>,
        next_comments_page: Option<u32>,
        max_characters: u32,
    ) -> Self {
        Self {
            number: issue.number,
            title: issue.title,
            state: issue.state,
            state_reason: issue.state_reason,
            pull_request: issue.pull_request.is_some(),
            locked: issue.locked,
            author: login(issue.user),
            assignees: logins(issue.assignees),
            labels: labels(issue.labels),
            milestone: issue.milestone.map(|milestone| milestone.title),
            created_at: issue.created_at,
            updated_at: issue.updated_at,
            closed_at: issue.closed_at,
            url: issue.html_url,
            body: issue.body.map(|body| cut(&body, max_characters)),
            comments_total: issue.comments,
            comments,
            next_comments_page,
        }
    }
}

impl Comment {
    /// A comment whose text has at most so many characters.
    pub fn new(comment: upstream::Comment, max_characters: u32) -> Self {
        Self {
            author: login(comment.user),
            created_at: comment.created_at,
            updated_at: comment.updated_at,
            url: comment.html_url,
            body: cut(&comment.body.unwrap_or_default(), max_characters),
        }
    }
}

impl Created {
    /// What a dry run has to show.
    pub fn planned() -> Self {
        Self { created: false, number: None, url: None, labels_dropped: Vec::new(), assignees_dropped: Vec::new() }
    }

    /// The new issue, compared with what was asked for.
    pub fn new(issue: upstream::Issue, asked_labels: &[String], asked_assignees: &[String]) -> Self {
        Self {
            created: true,
            number: Some(issue.number),
            url: Some(issue.html_url),
            labels_dropped: missing(asked_labels, &labels(issue.labels)),
            assignees_dropped: missing(asked_assignees, &logins(issue.assignees)),
        }
    }
}

/// Names and logins are the same in any case.
fn missing(asked: &[String], present: &[String]) -> Vec<String> {
    let is_missing = |name: &&String| !present.iter().any(|other| other.to_lowercase() == name.to_lowercase());
    asked.iter().filter(is_missing).cloned().collect()
}

/// `owner/name`, from the address of a repository.
fn repository(url: &str) -> String {
    url.rsplit_once("/repos/").map_or(url, |(_, name)| name).to_owned()
}

/// Deleted users are missing.
fn login(user: Option<upstream::User>) -> Option<String> {
    user.map(|user| user.login)
}

fn logins(users: Option<Vec<upstream::User>>) -> Vec<String> {
    users.unwrap_or_default().into_iter().map(|user| user.login).collect()
}

fn labels(labels: Vec<upstream::Label>) -> Vec<String> {
    labels.into_iter().filter_map(upstream::Label::into_name).collect()
}

fn cut(text: &str, max_characters: u32) -> String {
    match text.char_indices().nth(max_characters as usize) {
        Some((end, _)) => format!("{}… [{} more characters]", &text[..end], text[end..].chars().count()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages() {
        let check = |page, per_page, items, expected| assert_eq!(next_page(page, per_page, items), expected);
        check(1, 20, 0, None);
        check(1, 20, 20, None);
        check(1, 20, 21, Some(2));
        check(50, 20, 1000, None);
        check(1, 0, 5, None);
    }

    #[test]
    fn cuts() {
        assert_eq!(cut("äöü", 3), "äöü");
        assert_eq!(cut("äöü", 2), "äö… [1 more characters]");
    }

    #[test]
    fn what_is_missing() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(missing(&names(&["Bug", "new"]), &names(&["bug"])), ["new"]);
    }
}
