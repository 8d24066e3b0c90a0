//! The rows of principals, tokens, roles and flags.

use std::collections::{BTreeMap, HashMap};

use rusqlite::{Connection, ErrorCode};

use super::Store;
use super::failure::damaged;
use crate::error::{Error, ErrorKind, Result};
use crate::policy::{Directory, Flag, Principal};
use crate::tokens::{StoredToken, TokenHash};

/// A token that is to be kept.
#[derive(Clone, Debug)]
pub(crate) struct TokenRow {
    pub(crate) hash: TokenHash,
    pub(crate) id: String,
    pub(crate) expires_at: Option<i64>,
}

impl Store {
    /// Adds a principal with what it may do, and its first token, in one step.
    pub(crate) fn add_principal(
        &self,
        name: &str,
        roles: Vec<String>,
        permissions: Vec<String>,
        token: TokenRow,
    ) -> Result<()> {
        let (name, now) = (name.to_owned(), self.now_ms());
        self.write(move |connection| {
            let added = connection
                .prepare_cached(
                    "INSERT INTO principals (name, created_at) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
                )?
                .execute((&name, now))?;
            if added == 0 {
                return Err(Error::new(ErrorKind::Usage, format!("there is a principal `{name}` already"))
                    .hint(format!("remit principal token {name}")));
            }
            allow(connection, &name, &roles, &permissions)?;
            insert_token(connection, &name, &token, now)
        })
    }

    /// Adds a token of a principal.
    pub(crate) fn add_token(&self, principal: &str, token: TokenRow) -> Result<()> {
        let (principal, now) = (principal.to_owned(), self.now_ms());
        self.write(move |connection| insert_token(connection, &principal, &token, now))
    }

    /// Gives a principal roles and permissions.
    pub(crate) fn allow(&self, principal: &str, roles: Vec<String>, permissions: Vec<String>) -> Result<()> {
        let principal = principal.to_owned();
        self.write(move |connection| allow(connection, &principal, &roles, &permissions))
    }

    /// Takes roles and permissions from a principal, and tokens by their ids. Gives how many it had.
    pub(crate) fn disallow(
        &self,
        principal: &str,
        roles: Vec<String>,
        permissions: Vec<String>,
        tokens: Vec<String>,
    ) -> Result<usize> {
        let principal = principal.to_owned();
        self.write(move |connection| {
            let statements = [
                ("DELETE FROM principal_roles WHERE principal = ?1 AND role = ?2", roles),
                ("DELETE FROM principal_permissions WHERE principal = ?1 AND permission = ?2", permissions),
                ("DELETE FROM tokens WHERE principal = ?1 AND id = ?2", tokens),
            ];
            let mut removed = 0;
            for (statement, words) in statements {
                let mut delete = connection.prepare_cached(statement)?;
                for word in words {
                    removed += delete.execute((&principal, word))?;
                }
            }
            Ok(removed)
        })
    }

    /// Removes a principal with its tokens and all that it may do. Gives whether there was one.
    pub(crate) fn remove_principal(&self, name: &str) -> Result<bool> {
        let name = name.to_owned();
        self.write(move |connection| {
            Ok(connection.prepare_cached("DELETE FROM principals WHERE name = ?1")?.execute([name])? > 0)
        })
    }

    /// Makes these the permissions of a role, whatever it had. None removes it.
    pub(crate) fn set_role(&self, role: &str, permissions: Vec<String>) -> Result<()> {
        let role = role.to_owned();
        self.write(move |connection| {
            connection.prepare_cached("DELETE FROM role_permissions WHERE role = ?1")?.execute([&role])?;
            let mut insert = connection.prepare_cached(
                "INSERT INTO role_permissions (role, permission) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
            )?;
            permissions.iter().try_for_each(|permission| Ok(insert.execute((&role, permission)).map(drop)?))
        })
    }

    /// Sets a flag for all, and keeps its exceptions.
    pub(crate) fn set_flag(&self, flag: &str, on: bool, percent: Option<u8>) -> Result<()> {
        let flag = flag.to_owned();
        self.write(move |connection| {
            connection
                .prepare_cached(
                    "INSERT INTO flags (name, is_on, percent) VALUES (?1, ?2, ?3)
                     ON CONFLICT DO UPDATE SET is_on = ?2, percent = ?3",
                )?
                .execute((&flag, on, percent))?;
            Ok(())
        })
    }

    /// Sets a flag for one principal. A flag that was not there is off for all others.
    pub(crate) fn set_flag_for(&self, flag: &str, principal: &str, on: bool) -> Result<()> {
        let (flag, principal) = (flag.to_owned(), principal.to_owned());
        self.write(move |connection| {
            connection
                .prepare_cached("INSERT INTO flags (name, is_on) VALUES (?1, 0) ON CONFLICT DO NOTHING")?
                .execute([&flag])?;
            connection
                .prepare_cached(
                    "INSERT INTO flag_exceptions (flag, principal, is_on) VALUES (?1, ?2, ?3)
                     ON CONFLICT DO UPDATE SET is_on = ?3",
                )?
                .execute((&flag, &principal, on))
                .map(drop)
                .map_err(|error| unknown_principal(&principal, error))
        })
    }

    /// Removes a flag with its exceptions. Gives whether there was one.
    pub(crate) fn remove_flag(&self, flag: &str) -> Result<bool> {
        let flag = flag.to_owned();
        self.write(move |connection| {
            Ok(connection.prepare_cached("DELETE FROM flags WHERE name = ?1")?.execute([flag])? > 0)
        })
    }

    /// Notes that a token is used now. It is on disk soon; nobody waits for it.
    pub(crate) fn note_token_use(&self, id: String) {
        let now = self.now_ms();
        self.write_later(
            move |connection| {
                connection
                    .prepare_cached(
                        "INSERT INTO token_uses (id, used_at) SELECT id, ?2 FROM tokens WHERE id = ?1
                         ON CONFLICT DO UPDATE SET used_at = max(used_at, ?2)",
                    )?
                    .execute((id, now))?;
                Ok(())
            },
            |result| {
                if let Err(error) = result {
                    tracing::warn!("when a token was last used could not be noted: {error}");
                }
            },
        );
    }

    /// When each token was last used, by its id, to some minutes.
    pub(crate) fn token_uses(&self) -> Result<BTreeMap<String, i64>> {
        self.look(|connection| {
            let mut statement = connection.prepare_cached("SELECT id, used_at FROM token_uses")?;
            let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }
}

/// Principals, roles and flags as they are.
pub(super) fn read_directory(connection: &Connection) -> Result<Directory> {
    let mut directory = Directory::default();
    let mut statement = connection.prepare_cached("SELECT name, created_at FROM principals")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        directory.principals.insert(row.get(0)?, Principal { created_at: row.get(1)?, ..Principal::default() });
    }
    for (principal, role) in pairs(connection, "SELECT principal, role FROM principal_roles")? {
        directory.principals.entry(principal).or_default().roles.insert(role);
    }
    for (principal, permission) in pairs(connection, "SELECT principal, permission FROM principal_permissions")? {
        directory.principals.entry(principal).or_default().permissions.insert(permission);
    }
    for (role, permission) in pairs(connection, "SELECT role, permission FROM role_permissions")? {
        directory.roles.entry(role).or_default().insert(permission);
    }
    let mut statement = connection.prepare_cached("SELECT name, is_on, percent FROM flags")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let flag = Flag { on: row.get(1)?, percent: row.get(2)?, exceptions: BTreeMap::new() };
        directory.flags.insert(row.get(0)?, flag);
    }
    let mut statement = connection.prepare_cached("SELECT flag, principal, is_on FROM flag_exceptions")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        directory.flags.entry(row.get(0)?).or_default().exceptions.insert(row.get(1)?, row.get(2)?);
    }
    Ok(directory)
}

/// All tokens, by their hashes.
pub(super) fn read_tokens(connection: &Connection) -> Result<HashMap<TokenHash, StoredToken>> {
    let mut statement =
        connection.prepare_cached("SELECT hash, id, principal, created_at, expires_at FROM tokens")?;
    let mut rows = statement.query([])?;
    let mut tokens = HashMap::new();
    while let Some(row) = rows.next()? {
        let hash = row.get_ref(0)?.as_blob().ok().and_then(|bytes| bytes.try_into().ok());
        let hash = TokenHash(hash.ok_or_else(|| damaged("a hash in `tokens`"))?);
        let token = StoredToken {
            id: row.get(1)?,
            principal: row.get(2)?,
            created_at: row.get(3)?,
            expires_at: row.get(4)?,
        };
        tokens.insert(hash, token);
    }
    Ok(tokens)
}

fn pairs(connection: &Connection, query: &str) -> Result<Vec<(String, String)>> {
    let mut statement = connection.prepare_cached(query)?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn allow(connection: &Connection, principal: &str, roles: &[String], permissions: &[String]) -> Result<()> {
    let mut insert = connection
        .prepare_cached("INSERT INTO principal_roles (principal, role) VALUES (?1, ?2) ON CONFLICT DO NOTHING")?;
    for role in roles {
        insert.execute((principal, role)).map_err(|error| unknown_principal(principal, error))?;
    }
    let mut insert = connection.prepare_cached(
        "INSERT INTO principal_permissions (principal, permission) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
    )?;
    for permission in permissions {
        insert.execute((principal, permission)).map_err(|error| unknown_principal(principal, error))?;
    }
    Ok(())
}

fn insert_token(connection: &Connection, principal: &str, token: &TokenRow, now: i64) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO tokens (hash, id, principal, created_at, expires_at) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute((token.hash.0.as_slice(), &token.id, principal, now, token.expires_at))
        .map(drop)
        .map_err(|error| unknown_principal(principal, error))
}

/// Somebody removed the principal a moment ago: then the row has nothing to belong to.
fn unknown_principal(name: &str, error: rusqlite::Error) -> Error {
    if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) {
        return no_principal(name);
    }
    error.into()
}

/// There is no such principal.
pub(crate) fn no_principal(name: &str) -> Error {
    Error::new(ErrorKind::Usage, format!("there is no principal `{name}`"))
        .hint(format!("add it: remit principal add {name}"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::clock::Clock;

    fn open(home: &std::path::Path) -> Arc<Store> {
        Store::open(home, Arc::new(Clock::manual(Duration::from_secs(1_700_000_000)))).unwrap()
    }

    fn row(number: u8) -> TokenRow {
        TokenRow { hash: TokenHash([number; 32]), id: format!("tok-{number}"), expires_at: None }
    }

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|&word| word.to_owned()).collect()
    }

    fn tokens(store: &Store) -> Vec<String> {
        let tokens = store.read(read_tokens).unwrap();
        let mut ids: Vec<_> =
            tokens.into_values().map(|token| format!("{} {}", token.principal, token.id)).collect();
        ids.sort();
        ids
    }

    #[test]
    fn every_change_is_seen_by_the_next_call_and_a_use_is_none() {
        let home = tempfile::tempdir().unwrap();
        let (one, other) = (open(home.path()), open(home.path()));
        let none = Vec::new;
        let changes: [(&str, &dyn Fn()); 11] = [
            ("add", &|| one.add_principal("ada", words(&["admin"]), none(), row(1)).unwrap()),
            ("token", &|| one.add_token("ada", row(2)).unwrap()),
            ("allow", &|| one.allow("ada", none(), words(&["notes:*"])).unwrap()),
            ("role", &|| one.set_role("admin", words(&["mail:send"])).unwrap()),
            ("flag", &|| one.set_flag("beta", true, Some(20)).unwrap()),
            ("exception", &|| one.set_flag_for("beta", "ada", false).unwrap()),
            ("disallow", &|| assert_eq!(one.disallow("ada", words(&["admin"]), none(), none()).unwrap(), 1)),
            ("take a token", &|| assert_eq!(one.disallow("ada", none(), none(), words(&["tok-2"])).unwrap(), 1)),
            ("remove a flag", &|| assert!(one.remove_flag("beta").unwrap())),
            ("remove", &|| assert!(one.remove_principal("ada").unwrap())),
            ("remove again", &|| assert!(!one.remove_principal("ada").unwrap())),
        ];
        for (change, make) in changes {
            let before = other.generation().unwrap();
            make();
            assert_eq!(other.generation().unwrap() > before, change != "remove again", "{change}");
            if change == "token" {
                let before = other.generation().unwrap();
                one.note_token_use("tok-1".to_owned());
                one.note_token_use("tok-unknown".to_owned());
                one.flush().unwrap();
                assert_eq!(other.token_uses().unwrap(), [("tok-1".to_owned(), 1_700_000_000_000)].into());
                assert_eq!(other.generation().unwrap(), before, "a use is no change");
            }
        }
    }

    #[test]
    fn a_principal_takes_all_that_is_its_own_along() {
        let home = tempfile::tempdir().unwrap();
        let store = open(home.path());
        store.add_principal("ada", words(&["admin"]), words(&["notes:*"]), row(1)).unwrap();
        store.add_principal("bob", words(&["admin"]), Vec::new(), row(2)).unwrap();
        store.add_token("ada", row(3)).unwrap();
        store.set_flag_for("beta", "ada", true).unwrap();
        store.note_token_use("tok-1".to_owned());
        store.flush().unwrap();
        assert!(store.remove_principal("ada").unwrap());
        assert_eq!(tokens(&store), ["bob tok-2"]);
        assert!(store.token_uses().unwrap().is_empty());
        store.add_principal("ada", Vec::new(), Vec::new(), row(4)).unwrap();
        let directory = store.read(read_directory).unwrap();
        let ada = &directory.principals["ada"];
        assert!(ada.roles.is_empty() && ada.permissions.is_empty(), "a namesake inherits nothing: {ada:?}");
        assert!(!directory.is_on("beta", "ada"));
    }

    #[test]
    fn nothing_is_kept_of_what_does_not_belong_to_a_principal() {
        let home = tempfile::tempdir().unwrap();
        let store = open(home.path());
        let (none, admin) = (Vec::new(), words(&["admin"]));
        let refused = [
            store.add_token("eve", row(1)),
            store.allow("eve", admin.clone(), none.clone()),
            store.allow("eve", none.clone(), words(&["a:b"])),
            store.set_flag_for("beta", "eve", true),
        ];
        for result in refused {
            let error = result.unwrap_err();
            assert_eq!(error.kind, ErrorKind::Usage);
            assert_eq!(error.hint.as_deref(), Some("add it: remit principal add eve"));
        }
        let directory = store.read(read_directory).unwrap();
        assert!(!directory.principals.contains_key("eve"));
        assert!(directory.flags.is_empty(), "an exception that is refused leaves no flag behind");
        assert_eq!(store.disallow("http", admin.clone(), none.clone(), words(&["tok-1"])).unwrap(), 0);
        store.add_principal("ada", none.clone(), none.clone(), row(1)).unwrap();
        store.add_principal("bob", none.clone(), none.clone(), row(2)).unwrap();
        assert_eq!(store.disallow("bob", none.clone(), none.clone(), words(&["tok-1"])).unwrap(), 0);
        assert_eq!(tokens(&store), ["ada tok-1", "bob tok-2"], "nobody takes another one's token away");
        let again = store.add_principal("ada", admin, none, row(3)).unwrap_err();
        assert_eq!(again.message, "there is a principal `ada` already");
        assert_eq!(tokens(&store).len(), 2);
    }

    #[test]
    fn the_doors_have_principals_from_the_start() {
        let home = tempfile::tempdir().unwrap();
        let directory = open(home.path()).read(read_directory).unwrap();
        let names: Vec<_> = directory.principals.keys().map(String::as_str).collect();
        assert_eq!(names, ["cli", "http", "stdio"]);
    }
}
