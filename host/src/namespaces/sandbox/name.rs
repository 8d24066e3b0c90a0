//! What a file may be called. Pure.
//!
//! The grammar is closed, so that a name means the same to a store, a file system, a URL and an eye: nothing in it
//! has to be escaped, folded or normalised, and none leads out of a folder. Bytes of a file never lie at a path made
//! of its name; a person's export is the one place where a name becomes a path, and it reads the name anew.

use std::fmt;
use std::str::FromStr;

use crate::registry::CapabilityName;

/// Bytes of a name: with a folder of a person's own before it, it fits the paths of every system.
pub(crate) const NAME_BYTES: usize = 200;

/// Parts of a name. Deeper than this nobody looks.
const PARTS: usize = 8;

/// Before the addresses of files.
pub(crate) const ADDRESS: &str = "remit://sandbox/";

/// Names that some systems give to devices, with any ending.
const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "conin$", "conout$"];

/// The name of a file. Only [`FileName::from_str`] makes one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileName(String);

/// Why a text is no name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a file's name {0}")]
pub struct InvalidName(String);

impl FileName {
    /// As it was given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What a system that ignores case takes it for.
    #[must_use]
    pub fn folded(&self) -> String {
        self.0.to_ascii_lowercase()
    }

    /// Whether both could not be files of one folder on every system: they differ in case alone, or one is a folder
    /// of the other.
    #[must_use]
    pub fn collides(&self, other: &Self) -> bool {
        let (one, two) = (self.folded(), other.folded());
        let is_folder =
            |folder: &str, file: &str| file.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
        (one == two && self != other) || is_folder(&one, &two) || is_folder(&two, &one)
    }

    /// The media type that its ending says. Nobody's word and nobody's bytes are asked.
    #[must_use]
    pub fn media_type(&self) -> &'static str {
        let ending = self.0.rsplit_once('.').map_or("", |(_, ending)| ending).to_ascii_lowercase();
        match ending.as_str() {
            "txt" | "log" => "text/plain",
            "md" => "text/markdown",
            "csv" => "text/csv",
            "html" | "htm" => "text/html",
            "css" => "text/css",
            "js" | "mjs" => "text/javascript",
            "xml" => "application/xml",
            "json" => "application/json",
            "jsonl" => "application/jsonl",
            "yaml" | "yml" => "application/yaml",
            "svg" => "image/svg+xml",
            "png" => "image/png",
            "jpg" | "jpeg" => "image/jpeg",
            "gif" => "image/gif",
            "webp" => "image/webp",
            "avif" => "image/avif",
            "mp3" => "audio/mpeg",
            "wav" => "audio/wav",
            "ogg" => "audio/ogg",
            "mp4" => "video/mp4",
            "webm" => "video/webm",
            "pdf" => "application/pdf",
            "zip" => "application/zip",
            "gz" => "application/gzip",
            "wasm" => "application/wasm",
            _ => "application/octet-stream",
        }
    }

    /// The address of the file of this name that `owner` keeps.
    #[must_use]
    pub fn address(&self, owner: &CapabilityName) -> String {
        format!("{ADDRESS}{owner}/{self}")
    }
}

impl FromStr for FileName {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let refused = |why: &str| Err(InvalidName(why.to_owned()));
        if text.is_empty() {
            return refused("is not empty");
        }
        if text.len() > NAME_BYTES {
            return refused(&format!("has at most {NAME_BYTES} bytes, not {}", text.len()));
        }
        if !text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-/".contains(&byte)) {
            return refused("has letters and digits of ASCII, `.`, `-`, `_`, and `/` between its parts");
        }
        if text.split('/').count() > PARTS {
            return refused(&format!("has at most {PARTS} parts"));
        }
        for part in text.split('/') {
            if !part.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '_') {
                return refused("has parts that begin with a letter, a digit or `_`");
            }
            if part.ends_with('.') {
                return refused("has parts that do not end with `.`");
            }
            if is_device(part) {
                return refused("has no part that some systems take for a device");
            }
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for FileName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The owner and the name that an address says. Whether there is such a file is another question.
#[must_use]
pub(crate) fn of_address(address: &str) -> Option<(CapabilityName, FileName)> {
    let rest = address.strip_prefix(ADDRESS)?;
    let (publisher, rest) = rest.split_once('/')?;
    let (slug, name) = rest.split_once('/')?;
    let is_plain = [publisher, slug].iter().all(|part| crate::manifest::check_name(part).is_none());
    let owner = is_plain.then(|| format!("{publisher}/{slug}").parse().ok())??;
    Some((owner, name.parse().ok()?))
}

fn is_device(part: &str) -> bool {
    let stem = part.split('.').next().unwrap_or(part).to_ascii_lowercase();
    let numbered = |word: &str| {
        stem.strip_prefix(word)
            .is_some_and(|rest| rest.len() == 1 && rest.bytes().all(|byte| byte.is_ascii_digit()))
    };
    DEVICES.contains(&stem.as_str()) || numbered("com") || numbered("lpt")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> FileName {
        text.parse().unwrap()
    }

    #[test]
    fn c_19_the_grammar_is_closed() {
        let (long, deep) = ("a".repeat(NAME_BYTES), ["a"; PARTS].join("/"));
        for good in
            ["a", "cat.png", "charts/rain-2026_01.svg", "_x", "0", "a.b.c", "a..b", "Con-1", "com10", &long, &deep]
        {
            assert_eq!(good.parse::<FileName>().map(|name| name.to_string()), Ok(good.to_owned()));
        }
        let (longer, deeper) = (format!("{long}a"), format!("{deep}/a"));
        for bad in [
            "",
            ".",
            "..",
            "...",
            "a/..",
            "../a",
            "a/../b",
            "a/./b",
            "/a",
            "a/",
            "a//b",
            "/",
            "//server/share/a",
            "C:/a",
            "C:a",
            "a:stream",
            "a\\b",
            "..\\a",
            "~/a",
            "a b",
            " a",
            "a ",
            "a.",
            "a/b.",
            ".a",
            "a/.b",
            "-a",
            "a\0b",
            "a\nb",
            "a\r",
            "a\u{7f}",
            "a\u{200b}b",
            "a\u{202e}gpj.exe",
            "\u{feff}a",
            "a\u{e0041}",
            "\u{430}",
            "e\u{301}",
            "\u{e9}",
            "\u{2024}\u{2024}/a",
            "a\u{2215}b",
            "a\u{ff0f}b",
            "%2e%2e/a",
            "a%00",
            "a?b",
            "a#b",
            "a*b",
            "a|b",
            "a\"b",
            "a'b",
            "a<b",
            "a;b",
            "a$b",
            "{{KEY}}",
            "con",
            "CON",
            "nul.txt",
            "a/NUL",
            "aux.tar.gz",
            "com1",
            "LPT9.png",
            "a/Prn/b",
            "CONIN$",
            &longer,
            &deeper,
        ] {
            assert!(bad.parse::<FileName>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn two_names_collide_where_some_system_would_mix_them_up() {
        for (one, other, collide) in [
            ("cat.png", "cat.png", false),
            ("cat.png", "Cat.png", true),
            ("a/cat.png", "A/cat.png", true),
            ("a", "a/b", true),
            ("A/b", "a", true),
            ("a/b", "a/c", false),
            ("a", "ab/c", false),
            ("a-b", "a_b", false),
        ] {
            assert_eq!(name(one).collides(&name(other)), collide, "{one} {other}");
            assert_eq!(name(other).collides(&name(one)), collide, "{other} {one}");
        }
    }

    #[test]
    fn an_address_comes_back_as_it_went_and_nothing_else_is_one() {
        let owner: CapabilityName = "acme/images".parse().unwrap();
        let address = name("a/cat.png").address(&owner);
        assert_eq!(address, "remit://sandbox/acme/images/a/cat.png");
        assert_eq!(of_address(&address), Some((owner, name("a/cat.png"))));
        for bad in [
            "remit://sandbox/acme/images/",
            "remit://sandbox/acme/images",
            "remit://sandbox/acme/note:1",
            "remit://sandbox/acme/note:a/b",
            "remit://sandbox/../images/cat.png",
            "remit://sandbox/acme/images/../cat.png",
            "remit://sandbox/acme/images/%2e%2e/cat.png",
            "remit://sandbox/ACME/images/cat.png",
            "remit://sandbox//images/cat.png",
            "REMIT://sandbox/acme/images/cat.png",
            "remit://acme/images/cat.png",
            "cat.png",
            "",
        ] {
            assert_eq!(of_address(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_ending_says_what_a_file_is() {
        for (file, expected) in [
            ("a/cat.PNG", "image/png"),
            ("notes.md", "text/markdown"),
            ("png", "application/octet-stream"),
            ("a.exe", "application/octet-stream"),
            ("a.tar.gz", "application/gzip"),
        ] {
            assert_eq!(name(file).media_type(), expected, "{file}");
        }
    }
}
