//! The contract in Rust: types and the typed export, generated from `wit/`.
//!
//! One module per version of the contract. Each export is looked for by itself: all but `tools` are optional. The
//! imports are linked by hand in `namespaces/`, because each host call has to be charged to the store it came from.

wasmtime::component::bindgen!({
    path: "../wit",
    world: "capability-with-documents",
    additional_derives: [PartialEq],
    exports: { default: async },
});

/// The contract of an engine.
mod engine {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "engine",
        additional_derives: [Clone, PartialEq],
        exports: { default: async },
    });
}

pub use engine::exports::remit::capability::program;
pub use engine::remit::capability::bindings;
pub use exports::remit::capability::{completions, prompts, resources, tools};
pub use remit::capability::{ask, entities, http, listing, log, loops, progress, sandbox};
