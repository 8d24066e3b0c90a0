//! The token that clients of the HTTP door send: from a file, from the environment, or made on first use.
//!
//! A token is shown nowhere; people are told where it is kept. Whether it is long enough is decided in `mcp/`.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom, SystemRandom};
use zeroize::Zeroizing;

use crate::config;
use crate::error::{Error, ErrorKind, Result};

/// 256 bits cannot be guessed.
const RANDOM_BYTES: usize = 32;

/// Where the token of this run is from.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// This file.
    File(PathBuf),
    /// `REMIT_TOKEN`.
    Environment,
}

/// Finds the token: `file`, then the environment, then `token` in the home, which is made when it is missing.
pub(super) fn find(file: Option<&Path>, home: &Path) -> Result<(Zeroizing<String>, Origin)> {
    if let Some(file) = file {
        return Ok((read(file)?, Origin::File(file.to_owned())));
    }
    if let Some(token) = config::token()? {
        return Ok((Zeroizing::new(token), Origin::Environment));
    }
    let file = home.join("token");
    if !file.exists() {
        make(&file)?;
    }
    Ok((read(&file)?, Origin::File(file)))
}

fn read(file: &Path) -> Result<Zeroizing<String>> {
    let failed = |error: &std::io::Error| Error { kind: ErrorKind::Config, ..Error::file(file, error) };
    let mode = fs::metadata(file).map_err(|error| failed(&error))?.permissions().mode();
    let token = Zeroizing::new(fs::read_to_string(file).map_err(|error| failed(&error))?);
    if mode & 0o077 != 0 {
        return Err(Error::new(ErrorKind::Config, format!("`{}` can be read by others", file.display()))
            .hint(format!("chmod 600 {}", file.display())));
    }
    Ok(Zeroizing::new(token.trim_end_matches(['\r', '\n']).to_owned()))
}

/// Writes a new token under another name first, so that two processes that start at once agree on one.
fn make(file: &Path) -> Result<()> {
    let mut random = Zeroizing::new([0; RANDOM_BYTES]);
    SystemRandom::new().fill(&mut *random).map_err(|_| Error::internal("the system gives no random numbers"))?;
    let token = Zeroizing::new(BASE64_URL_SAFE_NO_PAD.encode(*random));
    let new = file.with_extension(format!("{}.new", std::process::id()));
    let written =
        fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new).and_then(|mut opened| {
            opened.write_all(token.as_bytes())?;
            opened.sync_all()?;
            fs::hard_link(&new, file)
        });
    let _ = fs::remove_file(&new);
    match written {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(Error::file(file, &error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type TestResult = std::result::Result<(), Box<dyn std::error::Error>>;

    #[test]
    fn a_token_is_made_once_and_kept_to_oneself() -> TestResult {
        let home = tempfile::tempdir()?;
        let file = home.path().join("token");
        make(&file)?;
        let first = read(&file)?;
        make(&file)?;
        assert_eq!(first, read(&file)?);
        assert_eq!(first.len(), 43);
        assert_eq!(fs::metadata(&file)?.permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(home.path())?.count(), 1);
        Ok(())
    }

    #[test]
    fn a_token_that_others_can_read_is_refused() -> TestResult {
        let home = tempfile::tempdir()?;
        let file = home.path().join("mine");
        let cases = [
            (0o600, "0123456789abcdef\n", true),
            (0o400, "0123456789abcdef", true),
            (0o640, "0123456789abcdef", false),
            (0o604, "0123456789abcdef", false),
        ];
        for (mode, text, is_good) in cases {
            fs::write(&file, text)?;
            fs::set_permissions(&file, fs::Permissions::from_mode(mode))?;
            assert_eq!(read(&file).is_ok_and(|token| *token == "0123456789abcdef"), is_good, "{mode:o} {text:?}");
            fs::remove_file(&file)?;
        }
        let missing = read(&home.path().join("none")).err().map(|error| error.kind);
        assert_eq!(missing, Some(ErrorKind::Config));
        Ok(())
    }
}
