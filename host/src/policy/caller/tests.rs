//! Who may call what, as tables: each line that says yes has one that says no beside it.

use serde_json::{Value, json};

use super::super::directory::{Flag, Principal};
use super::*;

fn tool(more: &Value) -> Tool {
    let mut tool = json!({ "name": "run", "description": "D.", "inputSchema": {}, "expose": true });
    for (key, value) in more.as_object().unwrap() {
        tool[key] = value.clone();
    }
    serde_json::from_value(tool).unwrap()
}

/// `ada` is an admin and may `notes:read`; `bob` has nothing; admins may do everything with `mail`.
fn directory() -> Directory {
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
    let principal = |roles: &[&str], permissions: &[&str]| Principal {
        created_at: 1,
        roles: words(roles),
        permissions: words(permissions),
    };
    let principals = [
        ("ada", principal(&["admin"], &["notes:read"])),
        ("bob", principal(&[], &[])),
        ("cli", principal(&["admin"], &[])),
        ("http", principal(&["admin"], &[])),
    ];
    Directory {
        principals: principals.map(|(name, principal)| (name.to_owned(), principal)).into(),
        roles: [("admin".to_owned(), words(&["mail:*"]))].into(),
        flags: [(
            "beta".to_owned(),
            Flag { on: false, percent: None, exceptions: [("ada".to_owned(), true)].into() },
        )]
        .into(),
    }
}

fn token(name: &str, permissions: &[&str]) -> Identity {
    let permissions = permissions.iter().map(|&permission| permission.to_owned()).collect();
    Identity { principal: name.to_owned(), authority: Authority::Token(permissions) }
}

#[test]
fn a_caller_has_what_is_stored_and_what_its_token_carries() {
    let (ada, bob) = (Identity::stored("ada"), Identity::stored("bob"));
    let cases = [
        (json!({}), &bob, true),
        (json!({ "requiredRole": "admin" }), &ada, true),
        (json!({ "requiredRole": "admin" }), &bob, false),
        (json!({ "requiredRole": "adm" }), &ada, false),
        (json!({ "requiredPermission": "notes:read" }), &ada, true),
        (json!({ "requiredPermission": "notes:write" }), &ada, false),
        (json!({ "requiredPermission": "mail:send" }), &ada, true),
        (json!({ "requiredPermission": "mail:send" }), &bob, false),
        (json!({ "requiredPermission": "notes:write" }), &token("ada", &["notes:write"]), true),
        (json!({ "requiredPermission": "notes:read" }), &token("ada", &[]), true),
        (json!({ "requiredPermission": "notes:write" }), &token("eve@issuer", &["notes:write"]), true),
        (json!({ "requiredPermission": "notes:write" }), &token("eve@issuer", &["notes:read"]), false),
        (json!({ "requiredRole": "admin" }), &token("eve@issuer", &["admin", "admin:*"]), false),
        (json!({}), &token("eve@issuer", &[]), true),
        (json!({ "requiredRole": "admin" }), &Identity::stored("http"), true),
        (json!({ "requiredRole": "admin" }), &token("http", &[]), false),
        (json!({ "featureFlag": "beta" }), &ada, true),
        (json!({ "featureFlag": "beta" }), &bob, false),
        (json!({ "featureFlag": "unheard-of" }), &ada, false),
        (json!({ "requiredRole": "admin", "requiredPermission": "mail:send", "featureFlag": "beta" }), &ada, true),
        (json!({ "requiredRole": "admin", "requiredPermission": "notes:write" }), &ada, false),
        // Somebody who is not stored may call nothing, not even what is for everyone.
        (json!({}), &Identity::stored("eve"), false),
        (json!({}), &Identity::stored(""), false),
        (json!({}), &Identity::stored("Ada"), false),
        (json!({}), &Identity::stored("cli"), false),
        // What somebody made has what they have.
        (json!({ "requiredRole": "admin" }), &Identity::made_by("ada", "loop:a/b/c"), true),
        (json!({ "requiredRole": "admin" }), &Identity::made_by("bob", "loop:a/b/c"), false),
        (json!({}), &Identity::made_by("eve", "loop:a/b/c"), false),
        (json!({ "requiredRole": "admin" }), &Identity::made_by("bob", "ada"), false),
        (
            json!({ "requiredRole": "x", "requiredPermission": "x:y", "featureFlag": "x" }),
            &Identity::operator("bob"),
            true,
        ),
        (json!({ "requiredRole": "x" }), &Identity::made_by("cli", "loop:a/b/c"), true),
    ];
    let directory = directory();
    for (asks, identity, expected) in cases {
        let (caller, tool) = (Caller::of(identity, &directory), tool(&asks));
        assert_eq!(may_call(&caller, &tool, &[]).is_ok(), expected, "{identity:?} {asks}");
        assert_eq!(caller.may(&tool, &[]), expected, "{identity:?} {asks}");
    }
}

#[test]
fn an_installer_asks_for_more_and_never_for_less() {
    let role = |tool: Option<&str>| Restriction {
        tool: tool.map(str::to_owned),
        role: Some("admin".to_owned()),
        ..Restriction::default()
    };
    let permission = Restriction { permission: Some("notes:write".to_owned()), ..Restriction::default() };
    let flag = Restriction { flag: Some("beta".to_owned()), ..Restriction::default() };
    let open = Restriction::default();
    let cases = [
        (json!({}), vec![role(None)], true, false),
        (json!({}), vec![role(Some("run"))], true, false),
        (json!({}), vec![role(Some("walk"))], true, true),
        (json!({}), vec![permission], false, false),
        (json!({}), vec![flag], true, false),
        (json!({}), vec![role(None), Restriction { role: Some("boss".to_owned()), ..open.clone() }], false, false),
        (json!({ "requiredRole": "admin" }), vec![open.clone()], true, false),
        (json!({ "requiredRole": "boss" }), vec![role(None)], false, false),
        (json!({}), vec![Restriction { hidden: true, ..open }], true, true),
    ];
    let directory = directory();
    for (asks, restrictions, ada, bob) in cases {
        for (name, expected) in [("ada", ada), ("bob", bob)] {
            let identity = Identity::stored(name);
            let caller = Caller::of(&identity, &directory);
            let answer = may_call(&caller, &tool(&asks), &restrictions);
            assert_eq!(answer.is_ok(), expected, "{name} {asks} {restrictions:?}");
        }
    }
}

#[test]
fn what_is_no_tool_is_held_to_what_the_capability_is() {
    let directory = directory();
    let (ada, bob) = (Identity::stored("ada"), Identity::stored("bob"));
    let role = Restriction { role: Some("admin".to_owned()), ..Restriction::default() };
    let of_a_tool = Restriction { tool: Some("run".to_owned()), ..role.clone() };
    for (identity, restriction, expected) in [
        (&ada, &role, true),
        (&bob, &role, false),
        (&bob, &of_a_tool, true),
        (&Identity::stored("eve"), &of_a_tool, false),
    ] {
        let answer = may_use(&Caller::of(identity, &directory), std::slice::from_ref(restriction));
        assert_eq!(answer.is_ok(), expected, "{identity:?} {restriction:?}");
    }
}

#[test]
fn a_tool_is_published_when_both_say_so() {
    let hidden = |tool: Option<&str>| {
        vec![Restriction { tool: tool.map(str::to_owned), hidden: true, ..Restriction::default() }]
    };
    let cases = [
        (true, vec![], true),
        (false, vec![], false),
        (true, hidden(None), false),
        (true, hidden(Some("run")), false),
        (true, hidden(Some("walk")), true),
        (false, hidden(Some("walk")), false),
    ];
    for (expose, restrictions, expected) in cases {
        assert_eq!(is_published(&tool(&json!({ "expose": expose })), &restrictions), expected, "{restrictions:?}");
    }
}

#[test]
fn the_sentence_names_nothing_and_the_hint_the_command() {
    let directory = directory();
    let bob = Identity::stored("bob");
    let refused = |identity: &Identity, asks: Value| {
        may_call(&Caller::of(identity, &directory), &tool(&asks), &[]).unwrap_err()
    };
    let cases = [
        (json!({ "requiredRole": "admin" }), "remit principal allow bob --role admin"),
        (json!({ "requiredPermission": "mail:send" }), "remit principal allow bob --permission mail:send"),
        (json!({ "featureFlag": "beta" }), "remit flag set beta --on --principal bob"),
    ];
    for (asks, hint) in cases {
        let error = refused(&bob, asks);
        assert_eq!(error.kind, ErrorKind::NotAllowed);
        assert_eq!(error.message, "the caller may not use this; only a person can allow it");
        assert_eq!(error.hint.as_deref(), Some(hint));
        assert!(error.detail.is_some_and(|detail| detail.contains("`bob`")));
    }
    let unknown = refused(&Identity::stored("eve"), json!({}));
    assert_eq!(unknown.hint.as_deref(), Some("remit principal add eve"));
}

#[test]
fn what_somebody_makes_is_theirs_and_no_foreign_name_becomes_a_doors() {
    let cases = [
        (Identity::operator("test"), "cli"),
        (Identity::stored("ada"), "ada"),
        (Identity::stored("http"), "http"),
        (token("ada", &[]), "ada"),
        (token("cli", &[]), "token:cli"),
        (token("http", &[]), "token:http"),
        (Identity::made_by("ada", "loop:a/b/c"), "ada"),
        (Identity::made_by("cli", "loop:a/b/c"), "cli"),
    ];
    for (identity, owner) in cases {
        assert_eq!(identity.owner(), owner, "{identity:?}");
    }
}
