//! What a component's bytes say, without running them: is it one, within which limits, what does it
//! import, which manifest does it carry.
//!
//! Everything here reads bytes that a stranger wrote, so nothing here trusts a size, an order or a name,
//! and nothing runs or compiles guest code. What a component may do with what it imports is not decided
//! here (`policy/`).

mod encode;
mod file;
mod functions;
mod imports;
mod inspect;
mod kind;
mod limits;
mod scan;
mod section;
mod strip;

pub use encode::encode;
pub use file::read;
pub use functions::{Function, IN_INTERFACE};
pub use imports::{BINDINGS, COMPLETIONS, PROGRAM, PROMPTS, RESOURCES, TOOLS, check_imports};
pub use inspect::{Report, inspect};
pub use kind::is_component;
pub use limits::{FEATURES, MAX_COMPONENT_BYTES};
pub use scan::{Import, Scan, scan};
pub use section::{
    MANIFEST_SECTION, PROMPTS_SECTION, RESOURCES_SECTION, TEMPLATES_SECTION, TOOLS_SECTION, agrees,
    custom_sections, embed, read_manifest,
};
pub use strip::strip;

#[cfg(test)]
mod tests;
