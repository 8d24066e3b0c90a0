//! Programs of agents, on the real engine: what they can do, and what they cannot.

mod calls;
mod confirm;
mod files;
mod hostile;
mod language;
mod without_code;
