//! How a server is reached: a program with its arguments and environment, or an address with header fields.
//!
//! Written by the operator alone. Secrets stand in it as placeholders, and only where nobody else reads them: in
//! values of the environment and of header fields, never in arguments, which every user of the machine can list.

use std::path::Path;

use serde::{Deserialize, Serialize};
use url::Url;

use crate::egress::Endpoint;
use crate::error::{Error, ErrorKind, Result};
use crate::secrets::placeholders;

/// Variables or header fields of one server.
const MAX_VALUES: usize = 32;

/// Header fields that the transport writes itself.
const OF_TRANSPORT: [&str; 6] =
    ["accept", "content-type", "last-event-id", "mcp-method", "mcp-protocol-version", "mcp-session-id"];

/// How one server is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Reach {
    /// A program that speaks on its standard input and output.
    Command {
        /// Its absolute path: what is found under a name can change.
        program: String,
        /// Its arguments.
        arguments: Vec<String>,
        /// Variables of its environment, with placeholders.
        environment: Vec<(String, String)>,
    },
    /// An address that speaks Streamable HTTP.
    Url {
        /// `https://`, a host and a path.
        url: String,
        /// Header fields, in lower case, with placeholders.
        headers: Vec<(String, String)>,
    },
}

impl Reach {
    /// Checks all that can be checked without reaching it.
    pub fn check(&self) -> Result<()> {
        let pairs = match self {
            Self::Command { program, arguments, environment } => {
                if !Path::new(program).is_absolute() {
                    return Err(usage(format!("`{program}` is no absolute path")));
                }
                for argument in std::iter::once(program).chain(arguments) {
                    if argument.contains('\0') {
                        return Err(usage("an argument holds a NUL"));
                    }
                    if !placeholders(argument)?.is_empty() {
                        return Err(usage(
                            "a placeholder stands in an argument, which every user of this machine can read",
                        )
                        .hint("pass it as `--env KEY={{NAME}}`"));
                    }
                }
                for (name, value) in environment {
                    if !is_variable(name) || value.contains('\0') {
                        return Err(usage(format!("`{name}` is no variable of an environment")));
                    }
                }
                environment
            }
            Self::Url { url, headers } => {
                Endpoint::new(url).map_err(|refusal| usage(refusal.to_string()))?;
                if !placeholders(url)?.is_empty() {
                    return Err(usage("a placeholder stands in the URL, which is written to logs")
                        .hint("pass it as `--header 'Authorization: Bearer {{NAME}}'`"));
                }
                for (name, value) in headers {
                    check_header(name, value)?;
                }
                headers
            }
        };
        if pairs.len() > MAX_VALUES {
            return Err(usage(format!("at most {MAX_VALUES} values can be given")));
        }
        let mut names: Vec<&str> = pairs.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(usage(format!("`{}` is given twice", twice[0])));
        }
        self.secrets().map(drop)
    }

    /// The names of the secrets that it gets, each once.
    pub fn secrets(&self) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for (_, value) in self.values() {
            names.extend(placeholders(value)?);
        }
        names.sort();
        names.dedup();
        Ok(names)
    }

    /// The values in which placeholders may stand, with their names.
    #[must_use]
    pub fn values(&self) -> &[(String, String)] {
        match self {
            Self::Command { environment, .. } => environment,
            Self::Url { headers, .. } => headers,
        }
    }

    /// Where it is, in one line: the program with its arguments, or the address. No values.
    #[must_use]
    pub fn place(&self) -> String {
        match self {
            Self::Command { program, arguments, .. } => {
                std::iter::once(program).chain(arguments).map(String::as_str).collect::<Vec<_>>().join(" ")
            }
            Self::Url { url, .. } => url.clone(),
        }
    }

    /// Its host and port, when it has an address.
    #[must_use]
    pub fn authority(&self) -> Option<String> {
        match self {
            Self::Command { .. } => None,
            Self::Url { url, .. } => {
                let url = Url::parse(url).ok()?;
                Some(format!("{}:{}", url.host_str()?, url.port_or_known_default()?))
            }
        }
    }

    /// As it is stored.
    pub(crate) fn to_text(&self) -> Result<String> {
        serde_json::to_string(self).map_err(|error| Error::internal("a way to a server is JSON").detail(error))
    }

    /// From what is stored. Nothing when another version of this program wrote it.
    pub(crate) fn from_text(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

fn check_header(name: &str, value: &str) -> Result<()> {
    let is_name = http::HeaderName::from_bytes(name.as_bytes()).is_ok() && name == name.to_ascii_lowercase();
    if !is_name || !crate::egress::is_field_value(value.as_bytes()) {
        return Err(usage(format!("`{name}` is no header field, or its value is not visible ASCII")));
    }
    if OF_TRANSPORT.contains(&name) || name.starts_with("mcp-param-") {
        return Err(usage(format!("`{name}` is set by this program")));
    }
    Ok(())
}

fn is_variable(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn usage(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::Usage, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(program: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Reach {
        Reach::Command {
            program: program.to_owned(),
            arguments: arguments.iter().map(|text| (*text).to_owned()).collect(),
            environment: pairs(environment),
        }
    }

    fn url(url: &str, headers: &[(&str, &str)]) -> Reach {
        Reach::Url { url: url.to_owned(), headers: pairs(headers) }
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn secrets_stand_in_values_and_nowhere_else() {
        let good =
            command("/bin/server", &["--port", "1"], &[("TOKEN", "{{B}}"), ("PLAIN", "x"), ("T2", "{{A}}{{B}}")]);
        good.check().unwrap();
        assert_eq!(good.secrets().unwrap(), ["A", "B"]);
        assert_eq!(good.place(), "/bin/server --port 1", "no values");
        url("https://mcp.example.com/mcp", &[("authorization", "Bearer {{TOKEN}}")]).check().unwrap();
        for bad in [
            command("/bin/server", &["--token={{TOKEN}}"], &[]),
            command("/bin/{{TOKEN}}", &[], &[]),
            url("https://mcp.example.com/{{TOKEN}}", &[]),
            url("https://mcp.example.com/?key={{TOKEN}}", &[]),
        ] {
            assert_eq!(bad.check().unwrap_err().kind, ErrorKind::Usage, "{bad:?}");
        }
    }

    #[test]
    fn what_cannot_be_reached_safely_is_refused() {
        for bad in [
            command("server", &[], &[]),
            command("./server", &[], &[]),
            command("/bin/server", &["a\0b"], &[]),
            command("/bin/server", &[], &[("2A", "x")]),
            command("/bin/server", &[], &[("A=B", "x")]),
            command("/bin/server", &[], &[("A", "x"), ("A", "y")]),
            command("/bin/server", &[], &[("A", "{{X {{Y}}}}")]),
            url("http://mcp.example.com/", &[]),
            url("https://127.0.0.1/", &[]),
            url("https://user@mcp.example.com/", &[]),
            url("https://mcp.example.com/", &[("Authorization", "x")]),
            url("https://mcp.example.com/", &[("mcp-session-id", "x")]),
            url("https://mcp.example.com/", &[("x", "a\r\nb: c")]),
            url("https://mcp.example.com/", &[("x y", "a")]),
        ] {
            assert_eq!(bad.check().unwrap_err().kind, ErrorKind::Usage, "{bad:?}");
        }
    }

    #[test]
    fn it_is_read_as_it_was_written() {
        for reach in [command("/bin/server", &["a"], &[("A", "b")]), url("https://a.example/", &[("x", "y")])] {
            assert_eq!(Reach::from_text(&reach.to_text().unwrap()), Some(reach));
        }
        assert_eq!(Reach::from_text("{\"other\":{}}"), None);
    }
}
