//! The data directory: made for its owner alone, on a disk whose locks can be trusted.

use std::fs::{DirBuilder, Metadata};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;

use crate::error::{Error, ErrorKind, Result};

/// Types of file systems (`statfs(2)`) that keep locks and shared memory on another machine, if at all.
/// SQLite's WAL needs both on this one.
const NETWORK_FILE_SYSTEMS: [u32; 4] = [
    0x6969,      // NFS
    0x517b,      // SMB
    0xff53_4d42, // CIFS
    0xfe53_4d42, // SMB 2
];

/// Makes the directory, or checks the one that is there.
pub(super) fn prepare(home: &Path) -> Result<()> {
    let metadata = DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(home)
        .and_then(|()| std::fs::metadata(home))
        .map_err(|error| Error::file(home, &error))?;
    if others_can_write(&metadata) {
        return Err(Error::new(
            ErrorKind::Store,
            format!("others can write to the data directory `{}`", home.display()),
        )
        .hint(format!("chmod 700 '{}'", home.display())));
    }
    let file_system = rustix::fs::statfs(home).map_err(|error| Error::file(home, &error.into()))?.f_type;
    // The width and sign of this field differ by platform; the numbers themselves have 32 bits.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "magic numbers have 32 bits")]
    let file_system = file_system as u32;
    if NETWORK_FILE_SYSTEMS.contains(&file_system) {
        return Err(Error::new(
            ErrorKind::Store,
            format!("the data directory `{}` is on a network file system", home.display()),
        )
        .hint("choose a local directory with `--home` or `REMIT_HOME`"));
    }
    Ok(())
}

/// Whoever can write to the directory can replace the files in it, whatever their own modes.
fn others_can_write(metadata: &Metadata) -> bool {
    metadata.permissions().mode() & 0o022 != 0
}
