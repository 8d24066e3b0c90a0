//! A release by its exact name, `publisher/slug@1.2.0`.
//!
//! Nothing here chooses: a range, a tag or a part of a version names many bytes, and is refused. Build metadata is no
//! part of a version's identity, so it cannot be used to name one.

use std::fmt;
use std::str::FromStr;

use semver::Version;

use super::CapabilityName;
use crate::error::{Error, ErrorKind, Result};

/// `publisher/slug@version`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Exact {
    /// The capability.
    pub name: CapabilityName,
    /// Its version.
    pub version: Version,
}

/// Whether a text is written as the name of a release is, with whatever after the `@`. A file that is called so is
/// written `./publisher/slug@…`, or ends in `.wasm`.
#[must_use]
pub fn is_release(text: &str) -> bool {
    let plain =
        |part: &str| !part.is_empty() && part.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'));
    text.split_once('@').is_some_and(|(name, version)| {
        name.split_once('/').is_some_and(|(publisher, slug)| plain(publisher) && plain(slug))
            && !version.ends_with(".wasm")
    })
}

/// Reads one exact version.
pub fn read_version(text: &str) -> Result<Version> {
    let refused = |why: &str| {
        Error::new(ErrorKind::VersionInexact, format!("`{text}` is no exact version: {why}"))
            .hint("name one, as 1.2.0: a pin is of bytes that somebody looked at")
    };
    let version = Version::parse(text).map_err(|_| match text {
        "" | "latest" | "*" => refused("it means whatever is newest"),
        _ => refused("ranges, parts and tags mean many"),
    })?;
    if version.build.is_empty() { Ok(version) } else { Err(refused("build metadata names no version")) }
}

impl FromStr for Exact {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let Some((name, version)) = text.split_once('@') else {
            return Err(Error::new(ErrorKind::VersionInexact, format!("`{text}` says no version"))
                .hint("write publisher/slug@1.2.0"));
        };
        let name = name.parse().map_err(|error| Error::new(ErrorKind::Usage, format!("`{name}`: {error}")))?;
        Ok(Self { name, version: read_version(version)? })
    }
}

impl fmt::Display for Exact {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}@{}", self.name, self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c_28_c_29_only_an_exact_version_is_one() {
        for good in ["acme/weather@1.2.0", "acme/weather@0.0.1", "acme/weather@1.0.0-rc.1"] {
            assert_eq!(good.parse::<Exact>().unwrap().to_string(), good);
        }
        let inexact = [
            "latest",
            "*",
            "",
            "^1",
            "^1.2.0",
            "~1.2.0",
            ">=1.0.0",
            "=1.2.0",
            "1",
            "1.2",
            "1.x",
            "1.2.*",
            "v1.2.0",
            "1.2.0, 1.3.0",
            "1.2.0 || 2.0.0",
            " 1.2.0",
            "1.2.0 ",
            "01.2.0",
            "1.0.0+a",
            "1.0.0+b",
        ];
        for version in inexact {
            let error = format!("acme/weather@{version}").parse::<Exact>().unwrap_err();
            assert_eq!(error.kind, ErrorKind::VersionInexact, "{version}");
        }
        assert_eq!("acme/weather".parse::<Exact>().unwrap_err().kind, ErrorKind::VersionInexact);
        assert_eq!("weather@1.0.0".parse::<Exact>().unwrap_err().kind, ErrorKind::Usage);
    }

    #[test]
    fn a_file_and_a_release_are_told_apart_by_how_they_are_written() {
        for release in ["acme/weather@1.2.0", "acme/weather@latest", "acme/weather@"] {
            assert!(is_release(release), "{release}");
        }
        for file in ["weather.wasm", "./acme/weather@1.2.0", "acme/weather", "Acme/weather@1", "acme/w@1.0.0.wasm"]
        {
            assert!(!is_release(file), "{file}");
        }
    }
}
