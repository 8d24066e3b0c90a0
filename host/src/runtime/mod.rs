//! How a guest runs, and when it stops.
//!
//! One engine for the process; compiled code cached by digest; a fresh store and instance for each call, on a fiber
//! that moves to a thread of its own when it takes long; fuel, memory, time and host calls bounded from the start.
//! What a guest can reach is not decided here: `State` holds what `policy` granted and `namespaces` link it.

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
mod turn;

pub use admission::Admission;
pub use bindings::{
    ask, bindings as bound, completions, entities, http, listing, log, loops, program, progress, prompts,
    resources, sandbox, tools,
};
pub use budget::{Lease, Stop, charge, charge_many, spend};
pub use cache::CompiledCache;
pub use compile::{Compiler, WORKER_COMMAND, compile_worker};
pub use engine::Engine;
pub use function::FunctionCall;
pub use instance::{Finished, GuestCall, Moments, Runtime, Spent};
pub use loader::Loader;
pub use operation::{Operation, Outcome, Said};
pub use state::State;
pub(crate) use turn::link_waiting;
