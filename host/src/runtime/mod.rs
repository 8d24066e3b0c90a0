//! How a guest runs, and when it stops.
//!
//! One engine for the process; compiled code cached by digest; a fresh store and instance for each call,
//! on a thread of its own; fuel, memory, time and host calls bounded from the start. What a guest can
//! reach is not decided here: `State` holds what `policy` granted and `namespaces` link it.

mod admission;
mod bindings;
mod budget;
mod cache;
mod compile;
mod engine;
mod function;
mod instance;
mod loader;
mod operation;
mod state;
mod threads;
mod ticker;

pub use admission::Admission;
pub use bindings::{ask, completions, entities, http, listing, log, loops, progress, prompts, resources, tools};
pub use budget::{Lease, Stop, charge, charge_many};
pub use cache::CompiledCache;
pub use compile::{Compiler, WORKER_COMMAND, compile_worker};
pub use engine::Engine;
pub use function::FunctionCall;
pub use instance::{Finished, GuestCall, Moments, Runtime, Spent};
pub use loader::Loader;
pub use operation::{Operation, Outcome, Said};
pub use state::State;
