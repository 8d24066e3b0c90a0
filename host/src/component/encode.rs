//! Makes a component of a core module that a compiler made: the module says by its `component-type`
//! section which world it was built against.

use wasmparser::Validator;
use wit_component::ComponentEncoder;

use super::file::check_size;
use super::kind::{Kind, kind};
use super::limits::FEATURES;
use super::scan::invalid;
use crate::error::{Error, ErrorKind, Result};

/// The module that WASI programs import from. `wasm32-unknown-unknown` knows nothing of it.
const WASI_MODULE: &str = "wasi_snapshot_preview1";

/// Makes a component of `module`.
pub fn encode(module: &[u8]) -> Result<Vec<u8>> {
    check_size(module.len())?;
    if kind(module)? == Kind::Component {
        return Err(Error::new(ErrorKind::ComponentInvalid, "the file is a component already"));
    }
    // The encoder trusts its input; a damaged module is refused here, with the place of the damage.
    Validator::new_with_features(FEATURES).validate_all(module).map_err(|error| invalid(&error))?;
    ComponentEncoder::default()
        // What comes out is checked by the gate that every component passes.
        .validate(false)
        .module(module)
        .and_then(|mut encoder| encoder.encode())
        .map_err(|error| not_encodable(&format!("{error:#}")))
}

fn not_encodable(reason: &str) -> Error {
    let error = Error::new(ErrorKind::ComponentInvalid, "the module cannot be made a component").detail(reason);
    if reason.contains(WASI_MODULE) {
        return Error { message: format!("{}: it was built for WASI", error.message), ..error }
            .hint("build it for the target `wasm32-unknown-unknown`");
    }
    error.hint("build it with the remit SDK, or with wit-bindgen and the files in wit/")
}
