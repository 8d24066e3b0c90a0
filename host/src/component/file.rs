//! Reads a component's file: only a regular file, and never more of it than a component may have.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::limits::MAX_COMPONENT_BYTES;
use crate::error::{Error, ErrorKind, Result, reason};

/// The bytes of the file at `path`.
///
/// The bytes are read once: what is checked, hashed and compiled is this buffer, whatever happens to the
/// file meanwhile.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    // A directory or a pipe opens on some systems and fails or blocks later: ask first.
    let metadata = std::fs::metadata(path).map_err(|error| unreadable(path, &error))?;
    if !metadata.is_file() {
        return Err(Error::new(ErrorKind::NotComponent, format!("`{}` is not a file", path.display())));
    }
    let file = File::open(path).map_err(|error| unreadable(path, &error))?;
    let mut bytes = Vec::new();
    file.take(MAX_COMPONENT_BYTES + 1).read_to_end(&mut bytes).map_err(|error| unreadable(path, &error))?;
    check_size(bytes.len())?;
    Ok(bytes)
}

/// Refuses more bytes than a component may have.
pub(super) fn check_size(size: usize) -> Result<()> {
    if size as u64 <= MAX_COMPONENT_BYTES {
        return Ok(());
    }
    let message = format!("the file is larger than {} MiB", MAX_COMPONENT_BYTES / (1024 * 1024));
    Err(Error::new(ErrorKind::ComponentTooLarge, message))
}

fn unreadable(path: &Path, error: &std::io::Error) -> Error {
    let kind = error.kind();
    Error::new(ErrorKind::Usage, format!("cannot read `{}`: {}", path.display(), reason(kind))).detail(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_of_a_sane_size_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let code = |path: &Path| read(path).unwrap_err().kind.code();
        assert_eq!(code(folder.path()), "component/not-a-component");
        assert_eq!(code(&folder.path().join("missing.wasm")), "host/usage");

        let large = folder.path().join("large.wasm");
        File::create(&large).unwrap().set_len(MAX_COMPONENT_BYTES + 1).unwrap();
        assert_eq!(code(&large), "component/too-large");

        File::options().write(true).open(&large).unwrap().set_len(MAX_COMPONENT_BYTES).unwrap();
        assert_eq!(read(&large).unwrap().len() as u64, MAX_COMPONENT_BYTES);
    }
}
