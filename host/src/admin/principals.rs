//! What people do with principals, tokens, roles and flags. Part of the people's door: no agent comes here.

use std::collections::{BTreeMap, BTreeSet};

use super::Admin;
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::check_name;
use crate::policy::{DOORS, Flag, Principal, check_given_permission};
use crate::store::{TokenRow, no_principal};
use crate::tokens::{NewToken, StoredToken};

/// One principal as people see it.
#[derive(Clone, Debug)]
pub struct KnownPrincipal {
    /// Its name.
    pub name: String,
    /// What is stored of it.
    pub stored: Principal,
    /// Its tokens with the time of last use, to some minutes, the oldest first.
    pub tokens: Vec<(StoredToken, Option<i64>)>,
}

/// What a principal is given, or what is taken from it.
#[derive(Clone, Debug, Default)]
pub struct Allowance {
    /// Roles.
    pub roles: Vec<String>,
    /// Permissions: `domain:action`, or `domain:*`.
    pub permissions: Vec<String>,
}

impl Admin {
    /// All principals, by name.
    pub fn principals(&self) -> Result<Vec<KnownPrincipal>> {
        let snapshot = self.catalog.current()?;
        let uses = self.store.token_uses()?;
        let mut tokens: BTreeMap<&str, Vec<(StoredToken, Option<i64>)>> = BTreeMap::new();
        for token in snapshot.tokens.values() {
            tokens.entry(&token.principal).or_default().push((token.clone(), uses.get(&token.id).copied()));
        }
        let known = snapshot.directory.principals.iter().map(|(name, stored)| {
            let mut tokens = tokens.remove(name.as_str()).unwrap_or_default();
            tokens.sort_by(|(one, _), (other, _)| (one.created_at, &one.id).cmp(&(other.created_at, &other.id)));
            KnownPrincipal { name: name.clone(), stored: stored.clone(), tokens }
        });
        Ok(known.collect())
    }

    /// One principal.
    pub fn principal(&self, name: &str) -> Result<KnownPrincipal> {
        self.principals()?.into_iter().find(|known| known.name == name).ok_or_else(|| no_principal(name))
    }

    /// Adds a principal with its first token, which has an end or none.
    pub fn add_principal(&self, name: &str, allowed: Allowance, expires_at: Option<i64>) -> Result<NewToken> {
        if DOORS.contains(&name) {
            let message = format!("`{name}` is a door's own principal, and is there already");
            return Err(usage(message).hint(format!("remit principal allow {name} --role ROLE")));
        }
        named("a principal's name", name)?;
        check(&allowed)?;
        let token = NewToken::draw()?;
        self.store.add_principal(name, allowed.roles, allowed.permissions, row(&token, expires_at))?;
        Ok(token)
    }

    /// Adds a token of a principal, which has an end or none.
    pub fn add_token(&self, name: &str, expires_at: Option<i64>) -> Result<NewToken> {
        if DOORS.contains(&name) {
            let message = format!("`{name}` is a door's own principal, which is known without a token");
            return Err(usage(message).hint("remit principal add NAME"));
        }
        self.principal(name)?;
        let token = NewToken::draw()?;
        self.store.add_token(name, row(&token, expires_at))?;
        Ok(token)
    }

    /// Gives a principal roles and permissions, from its next call on.
    pub fn allow_principal(&self, name: &str, allowed: Allowance) -> Result<()> {
        check(&allowed)?;
        self.principal(name)?;
        self.store.allow(name, allowed.roles, allowed.permissions)
    }

    /// Takes roles, permissions and tokens from a principal, from its next call on. Gives how many it had.
    pub fn disallow_principal(&self, name: &str, taken: Allowance, tokens: Vec<String>) -> Result<usize> {
        self.principal(name)?;
        self.store.disallow(name, taken.roles, taken.permissions, tokens)
    }

    /// Removes a principal with all its tokens. What it made and what is recorded of it stays; its loops do not
    /// run any more.
    pub fn remove_principal(&self, name: &str) -> Result<()> {
        if DOORS.contains(&name) {
            let message = format!("`{name}` is a door's own principal: it can have nothing, but not be gone");
            return Err(usage(message).hint(format!("remit principal revoke {name} --role ROLE")));
        }
        if self.store.remove_principal(name)? { Ok(()) } else { Err(no_principal(name)) }
    }

    /// Roles with their permissions, and roles that somebody has and that have none.
    pub fn roles(&self) -> Result<BTreeMap<String, BTreeSet<String>>> {
        let directory = &self.catalog.current()?.directory;
        let mut roles = directory.roles.clone();
        for role in directory.principals.values().flat_map(|principal| &principal.roles) {
            roles.entry(role.clone()).or_default();
        }
        Ok(roles)
    }

    /// Makes these the permissions of a role.
    pub fn set_role(&self, role: &str, permissions: Vec<String>) -> Result<()> {
        named("a role's name", role)?;
        check(&Allowance { roles: Vec::new(), permissions: permissions.clone() })?;
        self.store.set_role(role, permissions)
    }

    /// Takes a role's permissions away. Who has the role keeps it.
    pub fn remove_role(&self, role: &str) -> Result<()> {
        if !self.catalog.current()?.directory.roles.contains_key(role) {
            return Err(usage(format!("the role `{role}` has no permissions")).hint("remit role list"));
        }
        self.store.set_role(role, Vec::new())
    }

    /// All flags, by name.
    pub fn flags(&self) -> Result<BTreeMap<String, Flag>> {
        Ok(self.catalog.current()?.directory.flags.clone())
    }

    /// Sets a flag for everyone, or for so many of a hundred principals; its exceptions stay.
    pub fn set_flag(&self, flag: &str, on: bool, percent: Option<u8>) -> Result<()> {
        named("a flag's name", flag)?;
        if percent.is_some_and(|percent| percent > 100) {
            return Err(usage("a percentage is between 0 and 100".to_owned()));
        }
        self.store.set_flag(flag, on, percent)
    }

    /// Sets a flag for one principal, whatever it is for the others.
    pub fn set_flag_for(&self, flag: &str, principal: &str, on: bool) -> Result<()> {
        named("a flag's name", flag)?;
        self.principal(principal)?;
        self.store.set_flag_for(flag, principal, on)
    }

    /// Removes a flag with its exceptions: it is off.
    pub fn remove_flag(&self, flag: &str) -> Result<()> {
        if self.store.remove_flag(flag)? {
            return Ok(());
        }
        Err(usage(format!("there is no flag `{flag}`")).hint("remit flag list"))
    }
}

fn row(token: &NewToken, expires_at: Option<i64>) -> TokenRow {
    TokenRow { hash: token.hash(), id: token.id.clone(), expires_at }
}

fn check(allowed: &Allowance) -> Result<()> {
    for role in &allowed.roles {
        named("a role's name", role)?;
    }
    for permission in &allowed.permissions {
        if let Some(problem) = check_given_permission(permission) {
            return Err(usage(format!("`{permission}` is no permission: {problem}"))
                .hint("write `domain:action`, or `domain:*` for all of a domain"));
        }
    }
    Ok(())
}

fn named(what: &str, name: &str) -> Result<()> {
    match check_name(name) {
        None => Ok(()),
        Some(problem) => Err(usage(format!("`{name}` cannot be {what}: {problem}"))),
    }
}

fn usage(message: String) -> Error {
    Error::new(ErrorKind::Usage, message)
}
