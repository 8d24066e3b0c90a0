//! Who makes a request, and whether they may make it.
//!
//! Decided at each call from what is stored then: nothing of it is kept in a session or a token. Lists are
//! filtered by the same question, as a convenience; the answer that counts is [`Permitted`]. Pure.

use super::directory::Directory;
use super::permission::covers;
use super::restriction::{Restriction, is_hidden, of_tool};
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::Tool;

/// The principals of the doors: the command line, standard input and output, HTTP. They are always there and have
/// no tokens.
pub const DOORS: [&str; 3] = [OPERATOR, STDIO, HTTP];

/// The person at the command line: what they make is theirs, and no role is asked of it.
pub const OPERATOR: &str = "cli";

/// Who a client on standard input and output is when nothing else was said.
pub const STDIO: &str = "stdio";

/// Who shows the home's own token over HTTP.
pub const HTTP: &str = "http";

/// Who makes a request, as the door that it came in by established it. What a principal may call is decided at
/// each call, from what is stored then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The principal's name, as it is recorded: `cli`, `stdio`, `http`, or one that a person added.
    pub principal: String,
    /// What stands behind it.
    pub authority: Authority,
}

/// What stands behind a principal's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Authority {
    /// The person who runs this host. No role, permission or flag is asked of them.
    Operator,
    /// What is stored for the principal.
    Stored,
    /// What is stored for the principal, and these permissions, which an access token carries.
    Token(Vec<String>),
    /// What is stored for this other principal, who made what now calls.
    Owner(String),
}

impl Identity {
    /// The person who runs this host.
    #[must_use]
    pub fn operator(name: impl Into<String>) -> Self {
        Self { principal: name.into(), authority: Authority::Operator }
    }

    /// A principal that has what is stored for it.
    #[must_use]
    pub fn stored(name: impl Into<String>) -> Self {
        Self { principal: name.into(), authority: Authority::Stored }
    }

    /// What `owner` made, recorded under a name of its own.
    #[must_use]
    pub fn made_by(owner: &str, name: impl Into<String>) -> Self {
        if owner == OPERATOR {
            return Self::operator(name);
        }
        Self { principal: name.into(), authority: Authority::Owner(owner.to_owned()) }
    }

    /// Whose is what this call makes, such as a loop.
    #[must_use]
    pub fn owner(&self) -> String {
        match &self.authority {
            Authority::Operator => OPERATOR.to_owned(),
            Authority::Owner(owner) => owner.clone(),
            // A foreign issuer chose this name: it must not become a door's.
            Authority::Token(_) if DOORS.contains(&self.principal.as_str()) => format!("token:{}", self.principal),
            Authority::Stored | Authority::Token(_) => self.principal.clone(),
        }
    }
}

/// A principal with what it has at one moment.
pub struct Caller<'a> {
    /// Whose roles and flags count.
    name: &'a str,
    standing: Standing<'a>,
    directory: &'a Directory,
}

enum Standing<'a> {
    Operator,
    /// Nobody that is stored, and no token vouches for it.
    Unknown,
    Known {
        permissions: Vec<&'a str>,
        is_stored: bool,
    },
}

/// The proof that a caller may make a call. Only this file makes one, and the next step of the path takes it.
#[derive(Debug)]
pub struct Permitted(());

/// One thing that is asked of a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Need<'a> {
    Role(&'a str),
    Permission(&'a str),
    Flag(&'a str),
}

impl<'a> Caller<'a> {
    /// Whoever `identity` is, with what `directory` holds for them.
    #[must_use]
    pub fn of(identity: &'a Identity, directory: &'a Directory) -> Self {
        let (name, carried): (&str, Option<&[String]>) = match &identity.authority {
            Authority::Operator => return Self { name: OPERATOR, standing: Standing::Operator, directory },
            Authority::Stored => (&identity.principal, None),
            Authority::Token(carried) => (&identity.principal, Some(carried)),
            Authority::Owner(owner) => (owner, None),
        };
        // Nobody comes in as the person at the command line but that person, who is an operator. And the name in
        // a token is a foreign issuer's choice: it means no door's principal.
        let is_open = if carried.is_some() { !DOORS.contains(&name) } else { name != OPERATOR };
        let stored = directory.principals.get(name).filter(|_| is_open);
        let standing = match (stored, carried) {
            (None, None) => Standing::Unknown,
            (None, Some(carried)) => {
                Standing::Known { permissions: carried.iter().map(String::as_str).collect(), is_stored: false }
            }
            (Some(stored), carried) => {
                let of_roles = stored.roles.iter().filter_map(|role| directory.roles.get(role)).flatten();
                let all = stored.permissions.iter().chain(of_roles).chain(carried.into_iter().flatten());
                Standing::Known { permissions: all.map(String::as_str).collect(), is_stored: true }
            }
        };
        Self { name, standing, directory }
    }

    /// Whether a call of `tool` would be permitted now: for lists. It proves nothing.
    #[must_use]
    pub fn may(&self, tool: &Tool, restrictions: &[Restriction]) -> bool {
        self.lacks(tool_needs(tool, restrictions)).is_none()
    }

    /// Whether what of a capability is no tool could be used now: for lists. It proves nothing.
    #[must_use]
    pub fn may_use(&self, restrictions: &[Restriction]) -> bool {
        may_use(self, restrictions).is_ok()
    }

    fn lacks<'n>(&self, needs: impl Iterator<Item = Need<'n>>) -> Option<Lack<'n>> {
        match &self.standing {
            Standing::Operator => None,
            Standing::Unknown => Some(Lack::Everything),
            Standing::Known { permissions, is_stored } => {
                needs.into_iter().find(|need| !self.has(*need, permissions, *is_stored)).map(Lack::One)
            }
        }
    }

    fn has(&self, need: Need<'_>, permissions: &[&str], is_stored: bool) -> bool {
        match need {
            Need::Role(role) => {
                is_stored && self.directory.principals.get(self.name).is_some_and(|own| own.roles.contains(role))
            }
            Need::Permission(asked) => permissions.iter().any(|given| covers(given, asked)),
            Need::Flag(flag) => self.directory.is_on(flag, self.name),
        }
    }

    fn refused(&self, lack: Lack<'_>) -> Error {
        let name = self.name;
        let (detail, hint) = match lack {
            Lack::Everything => {
                (format!("`{name}` is no principal of this host"), format!("remit principal add {name}"))
            }
            Lack::One(Need::Role(role)) => (
                format!("`{name}` lacks the role `{role}`"),
                format!("remit principal allow {name} --role {role}"),
            ),
            Lack::One(Need::Permission(permission)) => (
                format!("`{name}` lacks the permission `{permission}`"),
                format!("remit principal allow {name} --permission {permission}"),
            ),
            Lack::One(Need::Flag(flag)) => (
                format!("the flag `{flag}` is off for `{name}`"),
                format!("remit flag set {flag} --on --principal {name}"),
            ),
        };
        // What is lacking is for the operator: an agent that knew it could ask for it by name.
        Error::new(ErrorKind::NotAllowed, "the caller may not use this; only a person can allow it")
            .detail(detail)
            .hint(hint)
    }
}

#[derive(Clone, Copy)]
enum Lack<'a> {
    Everything,
    One(Need<'a>),
}

/// Whether `caller` may call `tool` now: it has what the publisher asks and what the installer asks.
pub fn may_call(caller: &Caller<'_>, tool: &Tool, restrictions: &[Restriction]) -> Result<Permitted> {
    match caller.lacks(tool_needs(tool, restrictions)) {
        None => Ok(Permitted(())),
        Some(lack) => Err(caller.refused(lack)),
    }
}

/// Whether `caller` may use what of a capability is no tool: a document or a prompt. What the installer asks for
/// the whole capability counts.
pub fn may_use(caller: &Caller<'_>, restrictions: &[Restriction]) -> Result<Permitted> {
    match caller.lacks(needs_of(restrictions.iter().filter(|restriction| restriction.tool.is_none()))) {
        None => Ok(Permitted(())),
        Some(lack) => Err(caller.refused(lack)),
    }
}

/// Whether agents may see and call a tool at all: its publisher exposes it, and its installer does not hide it.
#[must_use]
pub fn is_published(tool: &Tool, restrictions: &[Restriction]) -> bool {
    tool.expose && !is_hidden(&tool.name, restrictions)
}

/// Whether agents may see and use what of a capability is no tool: its installer does not hide the whole.
#[must_use]
pub fn is_shown(restrictions: &[Restriction]) -> bool {
    !restrictions.iter().any(|restriction| restriction.hidden && restriction.tool.is_none())
}

fn tool_needs<'n>(tool: &'n Tool, restrictions: &'n [Restriction]) -> impl Iterator<Item = Need<'n>> {
    let role = tool.required_role.as_deref().map(Need::Role);
    let permission = tool.required_permission.as_deref().map(Need::Permission);
    let flag = tool.feature_flag.as_deref().map(Need::Flag);
    let own = [role, permission, flag].into_iter().flatten();
    own.chain(needs_of(of_tool(&tool.name, restrictions)))
}

fn needs_of<'n>(restrictions: impl Iterator<Item = &'n Restriction>) -> impl Iterator<Item = Need<'n>> {
    restrictions.flat_map(|Restriction { role, permission, flag, .. }| {
        let role = role.as_deref().map(Need::Role);
        let permission = permission.as_deref().map(Need::Permission);
        [role, permission, flag.as_deref().map(Need::Flag)].into_iter().flatten()
    })
}

#[cfg(test)]
mod tests;
