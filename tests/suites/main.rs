//! One test binary: what users see, and what attackers try, on the real rooms and the real program.

#![expect(clippy::disallowed_methods, reason = "tests start the program, and some measure how long it takes")]
#![expect(clippy::expect_used, clippy::unwrap_used, reason = "what goes wrong in a test ends it")]

mod access_tokens;
mod adopt;
mod ask;
mod asks;
mod attacks;
mod bad_input;
mod budgets;
mod cli;
mod compact;
mod confirm;
mod confirm_door;
mod digest;
mod doctor;
mod documents;
mod durability;
mod embeddings;
mod entities;
mod github;
mod http;
mod httpbin;
mod images;
mod inbox;
mod languages;
mod listing;
mod loops;
mod loops_agents;
mod loops_deliver;
mod loops_namespace;
mod loops_processes;
mod mcp_attacks;
mod mcp_conversations;
mod mcp_http;
mod mcp_stdio;
mod notes;
mod oauth;
mod path;
mod principals;
mod processes;
mod programs;
mod progress;
mod python;
mod releases;
mod retrieval;
mod review;
mod review_release;
mod rotation;
mod sandbox;
mod sandbox_agents;
mod sandbox_files;
mod scaffold;
mod secrets;
mod telemetry;
mod text;
mod tidy;
mod transcript;
mod upstreams;
mod versions;

#[path = "../support/mod.rs"]
mod support;
