//! The tools against an upstream that answers as the public API description says.

use remit_sdk::http::{Method, Request, Response};
use remit_sdk::serde_json::{self, Value, json};
use remit_sdk::{Context, Failure, testing};

use crate::github::{self, Capability as GitHub};

fn user(login: &str) -> Value {
    json!({ "login": login, "id": 1, "type": "User", "site_admin": false })
}

fn issue(number: u64, comments: u64) -> Value {
    json!({
        "id": 1, "node_id": "I_1", "number": number, "title": "It fails", "state": "open", "state_reason": null,
        "url": format!("https://api.github.com/repos/acme/app/issues/{number}"),
        "repository_url": "https://api.github.com/repos/acme/app",
        "html_url": format!("https://github.com/acme/app/issues/{number}"),
        "user": user("ann"), "assignee": null, "assignees": [user("bob")],
        "labels": [{ "id": 2, "name": "bug", "color": "f00", "default": true }, "plain", { "id": 3 }],
        "milestone": { "id": 4, "title": "1.0", "number": 1 }, "locked": false, "comments": comments,
        "created_at": "2026-01-02T03:04:05Z", "updated_at": "2026-01-03T03:04:05Z", "closed_at": null,
        "author_association": "MEMBER", "body": "é".repeat(300), "score": 1.0,
    })
}

fn comment(author: Option<&str>, body: &str) -> Value {
    json!({
        "id": 9, "node_id": "C_9", "url": "https://api.github.com/repos/acme/app/issues/comments/9",
        "html_url": "https://github.com/acme/app/issues/7#issuecomment-9",
        "issue_url": "https://api.github.com/repos/acme/app/issues/7",
        "user": author.map(user), "created_at": "2026-01-02T03:04:05Z", "updated_at": "2026-01-02T03:04:05Z",
        "author_association": "NONE", "body": body,
    })
}

/// Answers each request by its method and URL, and checks what every request has to carry.
fn upstream(answer: impl Fn(&Method, &str, Option<Value>) -> Response + 'static) {
    testing::http(move |request: &Request| {
        for (name, value) in [
            ("accept", "application/vnd.github+json"),
            ("authorization", "Bearer {{GITHUB_TOKEN}}"),
            ("x-github-api-version", "2022-11-28"),
        ] {
            assert!(request.headers.contains(&(name.to_owned(), value.to_owned())), "{name} of {request:?}");
        }
        let path = request.url.strip_prefix("https://api.github.com").expect("it goes to GitHub");
        let body = request.body.as_ref().map(|body| serde_json::from_slice(body).expect("bodies are JSON"));
        Ok(answer(&request.method, path, body))
    });
}

fn call(tool: &str, input: &Value) -> Result<Value, Failure> {
    let reply = testing::call::<GitHub>(tool, input)?;
    Ok(serde_json::from_str(&reply.structured.expect("answers are structured")).expect("they are JSON"))
}

#[test]
fn tools_say_what_they_do() {
    let tools = testing::tools::<GitHub>();
    let said: Vec<_> = tools
        .as_array()
        .expect("tools are a list")
        .iter()
        .map(|tool| (tool["name"].as_str(), tool["readOnly"].as_bool(), tool["destructive"].as_bool()))
        .collect();
    assert_eq!(
        said,
        [
            (Some("search_issues"), Some(true), None),
            (Some("read_issue"), Some(true), None),
            (Some("create_issue"), None, Some(false)),
        ]
    );
}

#[test]
fn a_search() {
    upstream(|method, path, _| {
        assert_eq!(*method, Method::Get);
        assert_eq!(path, "/search/issues?q=repo%3Aacme%2Fapp%20fails&per_page=20&page=1");
        let found = json!({ "total_count": 41, "incomplete_results": false, "items": [issue(7, 2)] });
        testing::json(200, &found)
    });
    let found = call("search_issues", &json!({ "query": "repo:acme/app fails" }));
    let expected = json!({
        "total": 41,
        "incomplete": false,
        "issues": [{
            "repository": "acme/app",
            "number": 7,
            "title": "It fails",
            "state": "open",
            "pull_request": false,
            "author": "ann",
            "labels": ["bug", "plain"],
            "comments": 2,
            "created_at": "2026-01-02T03:04:05Z",
            "updated_at": "2026-01-03T03:04:05Z",
            "url": "https://github.com/acme/app/issues/7",
            "excerpt": format!("{}… [60 more characters]", "é".repeat(240)),
        }],
        "next_page": 2,
    });
    assert_eq!(found, Ok(expected));
}

#[test]
fn an_ordered_search_at_its_end() {
    upstream(|_, path, _| {
        assert_eq!(path, "/search/issues?q=a&per_page=100&page=10&sort=updated&order=asc");
        testing::json(200, &json!({ "total_count": 5000, "incomplete_results": true, "items": [] }))
    });
    let input = json!({ "query": "a", "sort": "updated", "order": "asc", "per_page": 100, "page": 10 });
    assert_eq!(call("search_issues", &input), Ok(json!({ "total": 5000, "incomplete": true, "issues": [] })));
}

#[test]
fn an_issue_with_comments() {
    upstream(|_, path, _| match path {
        "/repos/acme/app/issues/7" => testing::json(200, &issue(7, 5)),
        "/repos/acme/app/issues/7/comments?per_page=2&page=2" => {
            testing::json(200, &json!([comment(Some("cat"), "yes"), comment(None, &"x".repeat(101))]))
        }
        other => panic!("{other}"),
    });
    let input = json!({
        "owner": "acme", "repo": "app", "number": 7,
        "comments_per_page": 2, "comments_page": 2, "max_characters": 100,
    });
    let comment = |author: Option<&str>, body: String| {
        let mut comment = json!({
            "created_at": "2026-01-02T03:04:05Z",
            "updated_at": "2026-01-02T03:04:05Z",
            "url": "https://github.com/acme/app/issues/7#issuecomment-9",
            "body": body,
        });
        if let Some(author) = author {
            comment["author"] = json!(author);
        }
        comment
    };
    let expected = json!({
        "number": 7,
        "title": "It fails",
        "state": "open",
        "pull_request": false,
        "locked": false,
        "author": "ann",
        "assignees": ["bob"],
        "labels": ["bug", "plain"],
        "milestone": "1.0",
        "created_at": "2026-01-02T03:04:05Z",
        "updated_at": "2026-01-03T03:04:05Z",
        "url": "https://github.com/acme/app/issues/7",
        "body": format!("{}… [200 more characters]", "é".repeat(100)),
        "comments_total": 5,
        "comments": [
            comment(Some("cat"), "yes".to_owned()),
            comment(None, format!("{}… [1 more characters]", "x".repeat(100))),
        ],
        "next_comments_page": 3,
    });
    assert_eq!(call("read_issue", &input), Ok(expected));
}

#[test]
fn comments_that_are_not_there_are_not_asked_for() {
    let check = |comments, input: Value| {
        upstream(move |_, path, _| {
            assert_eq!(path, "/repos/acme/app/issues/7");
            testing::json(200, &issue(7, comments))
        });
        let read = call("read_issue", &input).expect("it is read");
        assert_eq!(read["comments"], json!([]));
        assert_eq!(read.get("next_comments_page"), None);
    };
    check(0, json!({ "owner": "acme", "repo": "app", "number": 7 }));
    check(5, json!({ "owner": "acme", "repo": "app", "number": 7, "comments_per_page": 0 }));
    check(30, json!({ "owner": "acme", "repo": "app", "number": 7, "comments_page": 2 }));
}

#[test]
fn a_new_issue() {
    upstream(|method, path, body| {
        assert_eq!((*method, path), (Method::Post, "/repos/acme/app/issues"));
        assert_eq!(
            body,
            Some(
                json!({ "title": "It fails", "body": "Now.", "labels": ["BUG", "urgent"], "assignees": ["bob"] })
            )
        );
        testing::json(201, &issue(8, 0))
    });
    let input = json!({
        "owner": "acme", "repo": "app", "title": "It fails", "body": "Now.",
        "labels": ["BUG", "urgent"], "assignees": ["bob"],
    });
    let expected = json!({
        "created": true, "number": 8, "url": "https://github.com/acme/app/issues/8", "labels_dropped": ["urgent"],
    });
    assert_eq!(call("create_issue", &input), Ok(expected));
}

#[test]
fn a_dry_run_sends_its_request_for_the_plan_and_creates_nothing() {
    upstream(|_, _, body| {
        assert_eq!(body, Some(json!({ "title": "It fails" })));
        Response { status: 202, headers: vec![], body: vec![] }
    });
    let context = Context { dry_run: true, ..testing::context() };
    let created = github::create_issue("acme", "app", "It fails", None, None, None, &context);
    assert_eq!(created.map(|created| serde_json::json!(created)), Ok(json!({ "created": false })));
}

#[test]
fn refusals_name_what_was_asked_for() {
    upstream(|_, _, _| testing::json(404, &json!({ "message": "Not Found", "status": "404" })));
    let check = |tool, input: Value, expected: &str| {
        assert_eq!(call(tool, &input), Err(Failure::NotFound(expected.to_owned())));
    };
    check(
        "read_issue",
        json!({ "owner": "acme", "repo": "app", "number": 7 }),
        "there is no issue 7 of `acme/app`, or the token may not see it",
    );
    check(
        "create_issue",
        json!({ "owner": "acme", "repo": "app", "title": "t" }),
        "there is no repository `acme/app`, or the token may not see it",
    );
}

#[test]
fn names_cannot_change_the_path() {
    upstream(|_, path, _| {
        assert_eq!(path, "/repos/a%2Fb/c%3Fd/issues/1");
        testing::json(410, &json!({}))
    });
    let read = call("read_issue", &json!({ "owner": "a/b", "repo": "c?d", "number": 1 }));
    assert!(matches!(read, Err(Failure::NotFound(_))));
}

#[test]
fn what_is_no_issue_is_a_failure() {
    upstream(|_, _, _| testing::json(200, &json!({ "total_count": "many" })));
    assert!(matches!(call("search_issues", &json!({ "query": "a" })), Err(Failure::Failed(_))));
}
