//! A lock from text that anybody may have edited. What is not exactly as it should be is refused, with its line.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::Deserialize;
use toml::Spanned;

use super::{FORM, Lock, Locked, unspell};
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::check_name;
use crate::policy::{Approval, Grant, HTTPS_PORT};
use crate::registry::{CapabilityName, Digest, Origin, read_version};

/// Where an entry stands: the line, counted from 1. It is no part of what is decided, so all are equal.
#[derive(Clone, Copy, Debug, Default)]
pub struct Position(pub usize);

impl PartialEq for Position {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Position {}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct File {
    version: Spanned<u32>,
    #[serde(default)]
    capability: Vec<Spanned<Entry>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Entry {
    name: Spanned<String>,
    version: Spanned<String>,
    component_digest: Option<Spanned<String>>,
    tools_digest: Option<Spanned<String>>,
    grants_digest: Option<Spanned<String>>,
    granted: Vec<Spanned<String>>,
    approved: Vec<Spanned<Row>>,
    registry: Option<String>,
    publisher_key: Option<String>,
    reviewer: Option<String>,
    reviewed_at: Option<Spanned<String>>,
    engine: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Row {
    secret: String,
    stored_as: Option<String>,
    host: String,
    place: String,
    until: Option<String>,
}

/// What is being read, for the lines of its mistakes.
struct Text<'a> {
    file: &'a str,
    text: &'a str,
}

/// Reads the text of a lock; `file` is what it is called in errors.
pub fn read(file: &str, text: &str) -> Result<Lock> {
    let of = Text { file, text };
    let parsed: File = toml::from_str(text).map_err(|error| {
        let line = of.line(error.span().map_or(0, |span| span.start));
        of.wrong(ErrorKind::LockInvalid, line, error.message())
    })?;
    if *parsed.version.get_ref() != FORM {
        let what = format!("`version` is {}, and this program reads {FORM}", parsed.version.get_ref());
        return Err(of.invalid(&parsed.version, &what));
    }
    let mut known = BTreeSet::new();
    let mut entries = Vec::new();
    for entry in parsed.capability {
        let locked = of.entry(&entry)?;
        if !known.insert(locked.name.clone()) {
            return Err(of.invalid(&entry.get_ref().name, &format!("`{}` is there twice", locked.name)));
        }
        entries.push(locked);
    }
    entries.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(Lock { entries })
}

impl Text<'_> {
    fn entry(&self, spanned: &Spanned<Entry>) -> Result<Locked> {
        let entry = spanned.get_ref();
        let name = self.name(&entry.name)?;
        let version = read_version(entry.version.get_ref()).map_err(|error| {
            let refused = self.wrong(error.kind, self.line_of(&entry.version), &error.message);
            Error { hint: error.hint, ..refused }
        })?;
        let digest = |key: &str, digest: &Option<Spanned<String>>| match digest {
            Some(digest) => self.digest(key, digest),
            None => {
                let what = format!("`{name}` has no `{key}`: a version alone is no pin");
                Err(self.wrong(ErrorKind::LockUnpinned, self.line_of(&entry.name), &what))
            }
        };
        let component = digest("component-digest", &entry.component_digest)?;
        let tools = digest("tools-digest", &entry.tools_digest)?;
        let grants = digest("grants-digest", &entry.grants_digest)?;
        let mut granted = Vec::new();
        for word in &entry.granted {
            match unspell(word.get_ref()) {
                Some(grant) if granted.contains(&grant) => return Err(self.twice(word, word.get_ref())),
                Some(grant) => granted.push(grant),
                None => return Err(self.invalid(word, &format!("`{}` is no grant", word.get_ref()))),
            }
        }
        let mut approved: Vec<Approval> = Vec::new();
        for row in &entry.approved {
            let approval = self.approval(row)?;
            let same = |known: &Approval| {
                (&known.secret, &known.host, known.port, &known.place)
                    == (&approval.secret, &approval.host, approval.port, &approval.place)
            };
            if approved.iter().any(same) {
                return Err(self.twice(row, &format!("the approval of `{}`", approval.secret)));
            }
            approved.push(approval);
        }
        let is_alone = |grant: &Grant| !granted.contains(&Grant { entry: None, ..grant.clone() });
        if let Some(grant) = granted.iter().find(|grant| is_alone(grant)) {
            let namespace = grant.namespace.as_str();
            let what = format!("`{name}` is granted an entry of `{namespace}`, and not `{namespace}` itself");
            return Err(self.invalid(&entry.name, &what));
        }
        let (origin, engine) = (self.origin(entry)?, entry.engine.clone());
        let position = Position(self.line_of(&entry.name));
        let locked =
            Locked { name, version, component, tools, grants, granted, approved, origin, engine, position };
        Ok(locked.in_order())
    }

    fn name(&self, name: &Spanned<String>) -> Result<CapabilityName> {
        let read: Option<CapabilityName> = name.get_ref().parse().ok();
        read.filter(|name| check_name(&name.publisher).is_none() && check_name(&name.slug).is_none())
            .ok_or_else(|| self.invalid(name, &format!("`{}` is no `publisher/slug`", name.get_ref())))
    }

    fn digest(&self, key: &str, digest: &Spanned<String>) -> Result<Digest> {
        digest.get_ref().parse().map_err(|error| {
            let what = format!("`{key}` is `{}`: {error}", digest.get_ref());
            self.wrong(ErrorKind::LockDigest, self.line_of(digest), &what)
        })
    }

    fn approval(&self, row: &Spanned<Row>) -> Result<Approval> {
        let Row { secret, stored_as, host, place, until } = row.get_ref();
        let (name, port) = match host.split_once(':') {
            Some((name, port)) => (name, port.parse().ok().filter(|port| *port != 0)),
            None => (host.as_str(), Some(HTTPS_PORT)),
        };
        let port = port.ok_or_else(|| self.invalid(row, &format!("`{host}` has no port that is one")))?;
        let place = place.parse().map_err(|error| self.invalid(row, &format!("`{place}`: {error}")))?;
        let expires_at = until
            .as_ref()
            .map(|until| match until.parse::<Timestamp>() {
                Ok(end) => Ok(end.as_millisecond()),
                Err(_) => Err(self.invalid(row, &format!("`{until}` is no time"))),
            })
            .transpose()?;
        let source = stored_as.clone().unwrap_or_else(|| secret.clone());
        Ok(Approval { secret: secret.clone(), source, host: name.to_owned(), port, place, expires_at })
    }

    /// All of it, or nothing.
    fn origin(&self, entry: &Entry) -> Result<Option<Origin>> {
        let Entry { registry, publisher_key, reviewer, reviewed_at, .. } = entry;
        match (registry, publisher_key, reviewer, reviewed_at) {
            (None, None, None, None) => Ok(None),
            (Some(registry), Some(key), Some(reviewer), Some(at)) => match at.get_ref().parse::<Timestamp>() {
                Ok(time) => Ok(Some(Origin {
                    registry: registry.clone(),
                    key: key.clone(),
                    reviewer: reviewer.clone(),
                    reviewed_at: time.as_millisecond(),
                })),
                Err(_) => Err(self.invalid(at, &format!("`{}` is no time", at.get_ref()))),
            },
            _ => Err(self.invalid(
                &entry.name,
                "`registry`, `publisher-key`, `reviewer` and `reviewed-at` belong together: write all or none",
            )),
        }
    }

    fn twice<T>(&self, at: &Spanned<T>, what: &str) -> Error {
        self.invalid(at, &format!("{what} is there twice"))
    }

    fn invalid<T>(&self, at: &Spanned<T>, what: &str) -> Error {
        self.wrong(ErrorKind::LockInvalid, self.line_of(at), what)
    }

    fn wrong(&self, kind: ErrorKind, line: usize, what: &str) -> Error {
        Error::new(kind, format!("`{}` line {line}: {what}", self.file))
            .hint("remit lock writes the file anew from what is installed")
    }

    fn line_of<T>(&self, at: &Spanned<T>) -> usize {
        self.line(at.span().start)
    }

    fn line(&self, offset: usize) -> usize {
        let before = self.text.as_bytes().get(..offset).unwrap_or_default();
        before.iter().filter(|byte| **byte == b'\n').count() + 1
    }
}
