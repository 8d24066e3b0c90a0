//! The main job on one screen: from source, through install and grants, to an agent's calls.

use std::path::Path;
use std::process::{Command, Stdio};

use remit_upstream::{Upstream, github};
use serde_json::{Value, json};

use crate::mcp::Client;
use crate::shell::{Failed, Result, program, say};
use crate::wasm::{self, Built};

/// Runs it in a scratch home that is gone afterwards.
pub(crate) fn run() -> Result<()> {
    let Built { remit, capabilities } = wasm::build()?;
    let scratch = tempfile::tempdir()?;
    let home = scratch.path().join("home");
    let upstream = Upstream::start(&["api.github.com"], github::server());
    settings(&home, &upstream)?;

    say("\n── An installer decides ────────────────────────────────────────────────");
    let at_home = |arguments: &[&str]| {
        let mut command = program(&remit);
        command.args(arguments).env("REMIT_HOME", &home);
        command
    };
    let file = |slug: &str| capabilities.join(format!("{slug}.wasm")).display().to_string();
    shown(&mut at_home(&["install", &file("text"), "--yes", "--quiet"]))?;
    shown(&mut at_home(&["install", &file("github"), "--grant", "http"]))?;
    with_input(&mut at_home(&["secret", "set", "GITHUB_TOKEN"]), github::TOKEN)?;
    shown(&mut at_home(&["approve", "remit/github", "GITHUB_TOKEN", "--yes"]))?;
    shown(&mut at_home(&["list"]))?;

    say("\n── An agent calls over MCP ─────────────────────────────────────────────");
    let mut agent = Client::start(&remit, &home)?;
    let tools = agent.request("tools/list", &json!({}))?;
    let count = tools["tools"].as_array().map_or(0, Vec::len);
    say(&format!("tools/list: {count} tools"));
    let mut answers = String::new();
    for (tool, arguments) in [
        ("text__count", json!({ "text": "Ångström" })),
        ("github__search_issues", json!({ "query": "greeting" })),
        ("github__read_issue", json!({ "owner": "octo", "repo": "hello", "number": 1 })),
        ("github__create_issue", json!({ "owner": "octo", "repo": "hello", "title": "Say it in Swedish" })),
        ("github__read_issue", json!({ "owner": "octo", "repo": "hello", "number": "one" })),
    ] {
        let result = agent.request("tools/call", &json!({ "name": tool, "arguments": arguments }))?;
        answers.push_str(&result.to_string());
        say(&format!("{tool} {arguments}\n  → {}", brief(&result)));
    }
    agent.leave()?;

    say("\n── What is known afterwards ────────────────────────────────────────────");
    shown(&mut at_home(&["audit"]))?;
    let arrived = upstream
        .seen()
        .iter()
        .any(|seen| seen.header("authorization") == Some(&format!("Bearer {}", github::TOKEN)));
    let leaked = answers.contains(github::TOKEN);
    say(&format!("\nthe upstream got the token: {arrived}; the agent saw it: {leaked}"));
    if !arrived || leaked {
        return Err(Failed("the secret is not where it belongs".to_owned()));
    }
    Ok(())
}

/// The operator's settings: where `api.github.com` is for this demo, and who vouches for it.
fn settings(home: &Path, upstream: &Upstream) -> Result<()> {
    std::fs::create_dir_all(home)?;
    let authority = home.join("upstream.pem");
    std::fs::write(&authority, upstream.authority_pem())?;
    std::fs::write(home.join("remit.toml"), upstream.settings("remit/github", "api.github.com", &authority))?;
    Ok(())
}

fn shown(command: &mut Command) -> Result<()> {
    crate::shell::run(command)
}

fn with_input(command: &mut Command, input: &str) -> Result<()> {
    use std::io::Write;

    say("+ remit secret set GITHUB_TOKEN  (the value comes from a pipe)");
    let mut child = command.stdin(Stdio::piped()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.as_bytes())?;
    }
    let status = child.wait()?;
    if status.success() { Ok(()) } else { Err(Failed(format!("`remit secret set` failed: {status}"))) }
}

/// The first line of a result, cut where a screen ends.
fn brief(result: &Value) -> String {
    let text = result["content"][0]["text"].as_str().unwrap_or_default().replace('\n', " ");
    let cut: String = text.chars().take(150).collect();
    let error = if result["isError"] == true { "error: " } else { "" };
    let more = if cut.len() < text.len() { "…" } else { "" };
    format!("{error}{cut}{more}")
}
