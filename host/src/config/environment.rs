//! The environment variables: all of them, and what each means.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::error::{Error, ErrorKind, Result};

/// One environment variable of the reference.
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub meaning: &'static str,
}

/// Every variable that the program reads.
pub const ENVIRONMENT: &[Variable] = &[
    Variable { name: HOME_DIRECTORY, meaning: "The data directory, unless `--home` is given." },
    Variable {
        name: TOKEN,
        meaning: "The token that clients of `remit serve --http` must send, unless a token option is given. At \
                  least 32 visible ASCII characters.",
    },
    Variable {
        name: LOG,
        meaning: "What is logged to stderr, as `level` or `target=level,…`: `error`, `warn`, `info`, `debug`, \
                  `trace`. Libraries that see requests in clear text never log below `warn`.",
    },
    Variable {
        name: XDG_DATA_HOME,
        meaning: "Holds the default data directory, `remit`. Default: `~/.local/share`.",
    },
    Variable {
        name: USER_HOME,
        meaning: "The user's own directory, where `XDG_DATA_HOME` is not set. Passed on to the program of \
                  `[loops.deliver]` and to upstream MCP servers.",
    },
    Variable { name: PATH, meaning: "Where programs are found that the operator names. Passed on to them." },
    Variable { name: LANGUAGE, meaning: "Passed on to programs that the operator names." },
    Variable { name: BACKTRACE, meaning: "With `1`, a bug in the program prints a backtrace. It may quote data." },
];

const HOME_DIRECTORY: &str = "REMIT_HOME";
const TOKEN: &str = "REMIT_TOKEN";
const LOG: &str = "REMIT_LOG";
const XDG_DATA_HOME: &str = "XDG_DATA_HOME";
const USER_HOME: &str = "HOME";
const PATH: &str = "PATH";
const LANGUAGE: &str = "LANG";
const BACKTRACE: &str = "RUST_BACKTRACE";

/// The data directory: what the command line says, or else the environment.
pub fn home(flag: Option<&Path>) -> Result<PathBuf> {
    choose_home(flag, read)
}

/// What to log, when the environment says so.
#[must_use]
pub fn log_filter() -> Option<String> {
    read(LOG).and_then(|filter| filter.into_string().ok())
}

/// The token of the HTTP door, when the environment holds one.
pub fn token() -> Result<Option<String>> {
    let Some(token) = read(TOKEN) else { return Ok(None) };
    let token = token.into_string();
    token.map(Some).map_err(|_| Error::new(ErrorKind::Config, format!("`{TOKEN}` is not text")))
}

/// What a program that the operator named gets of this environment: nothing that could hold a secret.
#[must_use]
pub fn of_programs() -> Vec<(&'static str, OsString)> {
    [PATH, USER_HOME, LANGUAGE].into_iter().filter_map(|name| Some((name, read(name)?))).collect()
}

/// The absolute path of a program that the operator names: a path as it is from here, or a name that is found in
/// `PATH` now.
#[must_use]
pub fn find_program(name: &str) -> Option<String> {
    let is_program = |path: &Path| path.metadata().is_ok_and(|file| file.is_file());
    let found = if name.contains('/') {
        std::path::absolute(name).ok().filter(|path| is_program(path))
    } else {
        let folders = read(PATH).unwrap_or_default();
        let mut paths = std::env::split_paths(&folders).map(|folder| folder.join(name));
        paths.find(|path| path.is_absolute() && is_program(path))
    };
    found.and_then(|path| path.into_os_string().into_string().ok())
}

/// Whether a panic prints a backtrace.
#[must_use]
pub fn backtrace_wanted() -> bool {
    read(BACKTRACE).is_some_and(|value| value != "0")
}

/// Whether the test of the reference writes the pages instead of comparing them.
#[cfg(test)]
pub(crate) fn reference_is_to_be_written() -> bool {
    read("UPDATE_REFERENCE").is_some()
}

/// An empty variable is as good as none.
#[expect(clippy::disallowed_methods, reason = "this is the one gate for the environment")]
fn read(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

fn choose_home(flag: Option<&Path>, read: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf> {
    // The base directory specification says that a relative path there is to be ignored.
    let absolute = |name| read(name).map(PathBuf::from).filter(|path| path.is_absolute());
    if let Some(home) = flag {
        Ok(home.to_owned())
    } else if let Some(home) = read(HOME_DIRECTORY) {
        Ok(PathBuf::from(home))
    } else if let Some(data) = absolute(XDG_DATA_HOME) {
        Ok(data.join("remit"))
    } else if let Some(user) = absolute(USER_HOME) {
        Ok(user.join(".local").join("share").join("remit"))
    } else {
        Err(Error::new(
            ErrorKind::Config,
            "no data directory: none of `REMIT_HOME`, `XDG_DATA_HOME` and `HOME` is set",
        )
        .hint("remit --home DIR …"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_home_is_the_nearest_that_somebody_named() {
        type Variables<'a> = &'a [(&'a str, &'a str)];
        let cases: &[(Option<&str>, Variables<'_>, Option<&str>)] = &[
            (Some("here"), &[("REMIT_HOME", "/r"), ("HOME", "/h")], Some("here")),
            (None, &[("REMIT_HOME", "r"), ("XDG_DATA_HOME", "/x"), ("HOME", "/h")], Some("r")),
            (None, &[("XDG_DATA_HOME", "/x"), ("HOME", "/h")], Some("/x/remit")),
            (None, &[("XDG_DATA_HOME", "x"), ("HOME", "/h")], Some("/h/.local/share/remit")),
            (None, &[("HOME", "h")], None),
            (None, &[], None),
        ];
        for (flag, variables, expected) in cases {
            let read = |name: &str| {
                variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
            };
            let home = choose_home(flag.map(Path::new), read).ok();
            assert_eq!(home.as_deref(), expected.map(Path::new), "{variables:?}");
        }
    }
}
