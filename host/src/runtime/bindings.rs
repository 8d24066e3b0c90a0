//! The contract in Rust: types and the typed export, generated from `wit/`.
//!
//! One module per version of the contract. The imports are linked by hand in `namespaces/`, because each
//! host call has to be charged to the store it came from.

wasmtime::component::bindgen!({
    path: "../wit",
    world: "capability",
});

pub use exports::remit::capability::tools;
pub use remit::capability::{entities, http, log, loops};
