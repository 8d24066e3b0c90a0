//! How large and how strange a component may be before anything compiles it.
//!
//! Compiling is the one step that the sandbox does not bound, so these limits are what stands between a
//! hostile file and the compiler. They are counted over all nested modules together. Each leaves room over
//! what the largest real guests hold, which are interpreters: a Python component (18 MB, by componentize-py
//! 0.25) and a JavaScript one (12 MB, by componentize-js 0.23), both measured.

use wasmparser::WasmFeatures;

/// 32 MiB: Python guests are 18 MB, and a file twice that size takes the better part of a minute to compile on
/// a small machine.
pub const MAX_COMPONENT_BYTES: u64 = 32 * 1024 * 1024;

/// Components inside components, the outer one included. Python guests have three levels.
pub(super) const MAX_NESTING: u64 = 4;

/// A Python guest links 38 modules, most of them shared libraries.
pub(super) const MAX_CORE_MODULES: u64 = 64;

/// A Python guest makes 111.
pub(super) const MAX_INSTANCES: u64 = 512;

/// Python and JavaScript guests hold 13,000.
pub(super) const MAX_FUNCTIONS: u64 = 50_000;

/// Compile time grows faster than linearly with one function's size. The main loop of the Python interpreter
/// is 427 KB.
pub(super) const MAX_FUNCTION_BYTES: u64 = 2 * 1024 * 1024;

/// Locals cost the compiler memory and take only a few bytes in the file. Interpreters hold 52,000.
pub(super) const MAX_LOCALS: u64 = 500_000;

/// Blocks inside blocks. Large `switch` statements become one block a case, some thousand at most.
pub(super) const MAX_BLOCK_DEPTH: u32 = 10_000;

/// Snapshots of an initialised heap are cut into many data segments: JavaScript guests hold 10,000.
pub(super) const MAX_SEGMENTS: u64 = 100_000;

/// Initial table elements. JavaScript guests take 7,700; each costs the host 8 bytes at start.
pub(super) const MAX_TABLE_ELEMENTS: u64 = 100_000;

/// Custom sections are never compiled. Python guests carry 390 KB of names.
pub(super) const MAX_CUSTOM_BYTES: u64 = 1024 * 1024;

/// More custom sections than any toolchain writes for the modules allowed above.
pub(super) const MAX_CUSTOM_SECTIONS: u64 = 1_000;

/// Imports and exports of the outer component. The contract has a dozen interfaces.
pub(super) const MAX_OUTER_NAMES: u64 = 256;

/// The embedded manifest: a hundred tools with schemas, and room.
pub(super) const MAX_MANIFEST_BYTES: usize = 512 * 1024;

/// What guests may use: what `wasm32-unknown-unknown` emits, and SIMD and constant expressions for the
/// interpreters. Everything that is not listed is off, first of all threads, shared memory, garbage
/// collection, exceptions, 64-bit and several memories, tail calls, stack switching, and the asynchronous
/// component model: each is code of the engine that no capability needs and an attacker may.
pub const FEATURES: WasmFeatures = WasmFeatures::MUTABLE_GLOBAL
    .union(WasmFeatures::SATURATING_FLOAT_TO_INT)
    .union(WasmFeatures::SIGN_EXTENSION)
    .union(WasmFeatures::REFERENCE_TYPES)
    .union(WasmFeatures::MULTI_VALUE)
    .union(WasmFeatures::BULK_MEMORY)
    .union(WasmFeatures::SIMD)
    .union(WasmFeatures::EXTENDED_CONST)
    .union(WasmFeatures::FLOATS)
    .union(WasmFeatures::COMPONENT_MODEL);
