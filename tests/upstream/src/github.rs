//! The part of GitHub's REST API that the `github` capability uses, with the fields of its public
//! description that matter to a client.

use std::sync::Mutex;

use serde_json::{Value, json};

use crate::{Answer, Seen};

/// The token it accepts.
pub const TOKEN: &str = "ghp_5dQ2vYx8LmK0tR7sWcJ3uNfB1aZe9XhG6oPi";

/// A GitHub with one repository, `octo/hello`.
///
/// # Panics
/// Its answers are built here; the handler does not panic on any request.
pub fn server() -> impl Fn(&Seen) -> Answer + Send + Sync + 'static {
    let issues = Mutex::new(vec![
        issue(1, "Greeting is too quiet", "Please shout.", "open", &["bug"]),
        issue(2, "Add a farewell", "Every hello needs a goodbye.", "closed", &["enhancement"]),
    ]);
    move |request| {
        if request.header("authorization") != Some(&format!("Bearer {TOKEN}")) {
            return problem(401, "Bad credentials");
        }
        if request.header("user-agent").is_none() {
            return problem(403, "Request forbidden by administrative rules.");
        }
        let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
        let segments: Vec<&str> = path.trim_matches('/').split('/').collect();
        let mut issues = issues.lock().expect("one request at a time");
        match (request.method.as_str(), segments.as_slice()) {
            ("GET", ["search", "issues"]) => search(&issues, query),
            ("GET", ["repos", "octo", "hello", "issues", number]) => match find(&issues, number) {
                Some(issue) => Answer::json(200, issue),
                None => problem(404, "Not Found"),
            },
            ("GET", ["repos", "octo", "hello", "issues", number, "comments"]) => match find(&issues, number) {
                Some(issue) if issue["number"] == 1 => {
                    Answer::json(200, &json!([comment(1, "I can't hear it either."), comment(2, "Louder!")]))
                }
                Some(_) => Answer::json(200, &json!([])),
                None => problem(404, "Not Found"),
            },
            ("POST", ["repos", "octo", "hello", "issues"]) => create(&mut issues, &request.body),
            _ => problem(404, "Not Found"),
        }
    }
}

fn problem(status: u16, message: &str) -> Answer {
    Answer::json(
        status,
        &json!({ "message": message, "documentation_url": "https://docs.github.com/rest", "status": status.to_string() }),
    )
}

fn find<'a>(issues: &'a [Value], number: &str) -> Option<&'a Value> {
    issues.iter().find(|issue| issue["number"].as_u64() == number.parse().ok())
}

fn search(issues: &[Value], query: &str) -> Answer {
    let query = query.split('&').find_map(|pair| pair.strip_prefix("q=")).unwrap_or_default();
    if query.is_empty() {
        return Answer::json(
            422,
            &json!({
                "message": "Validation Failed",
                "errors": [{ "resource": "Search", "field": "q", "code": "missing" }],
                "documentation_url": "https://docs.github.com/rest/search/search",
                "status": "422",
            }),
        );
    }
    let word = query.split(['+', '%', ' ']).next().unwrap_or_default().to_lowercase();
    let found: Vec<Value> = issues
        .iter()
        .filter(|issue| issue["title"].as_str().is_some_and(|title| title.to_lowercase().contains(&word)))
        .map(|issue| {
            let mut found = issue.clone();
            found["score"] = json!(1.0);
            found
        })
        .collect();
    Answer::json(
        200,
        &json!({
            "total_count": found.len(),
            "incomplete_results": false,
            "search_type": "lexical",
            "items": found,
        }),
    )
}

fn create(issues: &mut Vec<Value>, body: &[u8]) -> Answer {
    let Ok(body) = serde_json::from_slice::<Value>(body) else {
        return problem(400, "Problems parsing JSON");
    };
    let Some(title) = body["title"].as_str().filter(|title| !title.is_empty()) else {
        return Answer::json(
            422,
            &json!({
                "message": "Validation Failed",
                "errors": [{ "resource": "Issue", "field": "title", "code": "missing_field" }],
                "documentation_url": "https://docs.github.com/rest/issues/issues#create-an-issue",
                "status": "422",
            }),
        );
    };
    let labels: Vec<&str> = body["labels"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let number = issues.len() as u64 + 1;
    let created = issue(number, title, body["body"].as_str().unwrap_or_default(), "open", &labels);
    issues.push(created.clone());
    Answer::json(201, &created).header("location", created["url"].as_str().unwrap_or_default())
}

fn user() -> Value {
    json!({
        "login": "octocat",
        "id": 1,
        "node_id": "MDQ6VXNlcjE=",
        "avatar_url": "https://github.com/images/error/octocat_happy.gif",
        "gravatar_id": "",
        "url": "https://api.github.com/users/octocat",
        "html_url": "https://github.com/octocat",
        "followers_url": "https://api.github.com/users/octocat/followers",
        "following_url": "https://api.github.com/users/octocat/following{/other_user}",
        "gists_url": "https://api.github.com/users/octocat/gists{/gist_id}",
        "starred_url": "https://api.github.com/users/octocat/starred{/owner}{/repo}",
        "subscriptions_url": "https://api.github.com/users/octocat/subscriptions",
        "organizations_url": "https://api.github.com/users/octocat/orgs",
        "repos_url": "https://api.github.com/users/octocat/repos",
        "events_url": "https://api.github.com/users/octocat/events{/privacy}",
        "received_events_url": "https://api.github.com/users/octocat/received_events",
        "type": "User",
        "site_admin": false,
    })
}

fn issue(number: u64, title: &str, body: &str, state: &str, labels: &[&str]) -> Value {
    let url = format!("https://api.github.com/repos/octo/hello/issues/{number}");
    let labels: Vec<Value> = labels
        .iter()
        .enumerate()
        .map(|(id, name)| {
            json!({
                "id": id,
                "node_id": "MDU6TGFiZWwx",
                "url": format!("https://api.github.com/repos/octo/hello/labels/{name}"),
                "name": name,
                "description": null,
                "color": "f29513",
                "default": true,
            })
        })
        .collect();
    json!({
        "id": number,
        "node_id": "MDU6SXNzdWUx",
        "url": url,
        "repository_url": "https://api.github.com/repos/octo/hello",
        "labels_url": format!("{url}/labels{{/name}}"),
        "comments_url": format!("{url}/comments"),
        "events_url": format!("{url}/events"),
        "html_url": format!("https://github.com/octo/hello/issues/{number}"),
        "number": number,
        "state": state,
        "title": title,
        "body": body,
        "user": user(),
        "labels": labels,
        "assignee": null,
        "assignees": [],
        "milestone": null,
        "locked": false,
        "comments": if number == 1 { 2 } else { 0 },
        "closed_at": if state == "closed" { json!("2026-11-02T09:00:00Z") } else { Value::Null },
        "created_at": "2026-11-01T09:00:00Z",
        "updated_at": "2026-11-03T09:00:00Z",
        "author_association": "OWNER",
    })
}

fn comment(id: u64, body: &str) -> Value {
    json!({
        "id": id,
        "node_id": "MDEyOklzc3VlQ29tbWVudDE=",
        "url": format!("https://api.github.com/repos/octo/hello/issues/comments/{id}"),
        "html_url": format!("https://github.com/octo/hello/issues/1#issuecomment-{id}"),
        "issue_url": "https://api.github.com/repos/octo/hello/issues/1",
        "body": body,
        "user": user(),
        "created_at": "2026-11-01T10:00:00Z",
        "updated_at": "2026-11-01T10:00:00Z",
        "author_association": "MEMBER",
    })
}
