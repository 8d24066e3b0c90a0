//! How a function with types of its own is called with JSON: what its values look like there, in a schema and in an
//! answer.
//!
//! Components that were made for another host export functions with records, lists and variants, not one function
//! that takes text. `shape.rs` is what is known of such a type, whoever read it out of the component: the gate,
//! which has bytes only, and the runtime, which has compiled code. Everything else here is decided on shapes, so
//! that the schema that agents see and the values that guests get cannot disagree. Nothing here calls a guest.

mod arguments;
mod misfit;
mod outcome;
mod schema;
mod shape;

pub use arguments::arguments;
pub use misfit::{Misfit, Side};
pub use outcome::{Said, outcome};
pub use schema::{input_schema, mismatch, output_schema};
pub use shape::{Integer, Room, Shape, Signature, Unfit};

#[cfg(test)]
mod tests;
