//! Where a registry is, as settings say it.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::egress::is_registry;

/// A place of a registry. Each kind is one way to carry the same documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// `dir:` and an absolute path.
    Directory(PathBuf),
    /// A `remit` host that serves one: `https://`, or `http://` on this machine.
    Http(String),
}

/// The text is no place of a registry.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no place of a registry")]
pub struct InvalidLocation(String);

impl FromStr for Location {
    type Err = InvalidLocation;

    fn from_str(text: &str) -> Result<Self, InvalidLocation> {
        let invalid = || InvalidLocation(text.to_owned());
        if let Some(path) = text.strip_prefix("dir:") {
            let path = Path::new(path);
            return if path.is_absolute() { Ok(Self::Directory(path.to_owned())) } else { Err(invalid()) };
        }
        if is_registry(text) { Ok(Self::Http(text.to_owned())) } else { Err(invalid()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registry_is_a_folder_or_behind_tls_or_of_this_machine() {
        for good in ["dir:/srv/registry", "https://registry.example.com", "http://127.0.0.1:7071", "http://[::1]:1/r/"]
        {
            assert!(good.parse::<Location>().is_ok(), "{good}");
        }
        let bad = [
            "",
            "dir:",
            "dir:registry",
            "dir:../registry",
            "/srv/registry",
            "file:///srv/registry",
            "http://registry.example.com",
            "http://192.0.2.1:7071",
            "http://localhost.evil.example",
            "https://192.0.2.1",
            "https://user:password@registry.example.com",
            "https://registry.example.com?token=x",
            "oci://registry.example.com",
        ];
        for bad in bad {
            assert!(bad.parse::<Location>().is_err(), "{bad}");
        }
    }
}
