//! Programs of agents: what one can call, and what becomes of its calls.
//!
//! An engine is a component that runs a program and imports `bindings`. It decides nothing: what is bound is what its
//! caller may call at this moment, each call goes the path of every call, and it is the host that counts, stops and
//! remembers. How a program begins and ends is in `call/program.rs`.

mod calls;
mod granted;
mod host;
mod names;
mod paused;
mod value;

use std::sync::Arc;

pub(crate) use self::calls::{Call, Calling, Calls, Past};
pub(crate) use self::granted::Namespaces;
pub(crate) use self::host::link;
pub(crate) use self::names::Names;
pub use self::names::Spelling;
pub(crate) use self::paused::{Pause, Paused};

use crate::error::{Error, ErrorKind};
use crate::registry::CapabilityName;

/// What a person does so that programs can be run.
const HOW_TO_INSTALL: &str = "build `plugins/engines/codemode` and install it: remit install codemode.wasm";

/// What a guest that runs programs can call for the one that it runs.
pub(crate) enum Bindings {
    /// It is no engine.
    Nothing,
    /// The tools of its caller.
    Tools(Arc<Calls>),
    /// What is granted to the capability whose program it runs.
    Namespaces(Namespaces),
}

/// Nothing runs programs here.
pub(crate) fn missing() -> Error {
    Error::new(ErrorKind::NoEngine, "programs cannot be run here: no engine is installed").hint(HOW_TO_INSTALL)
}

/// The engine of this host.
pub(crate) fn official() -> CapabilityName {
    CapabilityName { publisher: "remit".to_owned(), slug: "codemode".to_owned() }
}
