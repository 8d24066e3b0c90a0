//! What a capability asks for.
//!
//! `types.rs` is the shape, `schema.rs` its JSON Schema, `parse.rs` reads it, and `rules/` holds what types
//! cannot say. Reading and writing the manifest inside a component is `component/section.rs`; what an
//! installer makes of it is `policy/`.

mod codemode;
mod digests;
mod hidden;
mod parse;
mod rules;
mod schema;
mod template;
mod types;

pub use codemode::{PROGRAM, is_run_tool, run_tool};
pub use digests::{grants_digest, tools_digest};
pub use hidden::is_hidden;
pub use parse::{from_value, parse, parse_value};
pub(crate) use rules::MAX_NAME;
pub use rules::{
    Problem, check, check_entity, check_name, check_permission, check_prompt, check_tool, declares_document,
    verify, visible,
};
pub use schema::json_schema;
pub use template::Template;
pub use types::{
    Http, Limits, Loop, Manifest, NamespaceName, Prompt, PromptArgument, Resource, ResourceTemplate, Run, Runtime,
    Sandbox, ScheduleType, Secret, Tool,
};
