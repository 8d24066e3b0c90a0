//! The rows of the keys that this home knows.

use rusqlite::Connection;

use super::Store;
use super::failure::damaged;
use crate::error::Result;
use crate::signing::{KnownKey, Owners};

impl Store {
    /// Every key that is known here, in the order of owners.
    pub(crate) fn owners(&self) -> Result<Owners> {
        self.look(read)
    }

    /// Changes what is known of keys, in one transaction: what the change is judged by is what is there then. What it
    /// refuses changes nothing.
    pub(crate) fn change_owners<T: Send + 'static>(
        &self,
        change: impl FnOnce(&mut Owners) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.write(move |connection| {
            let mut owners = read(connection)?;
            let changed = change(&mut owners)?;
            for known in &owners.keys {
                let publishers = serde_json::to_string(&known.publishers).map_err(|error| damaged(error.to_string()))?;
                connection
                    .prepare_cached(
                        "INSERT INTO keys (key, owner, publishers, reviewer, revoked_at) VALUES (?1, ?2, ?3, ?4, ?5)
                         ON CONFLICT DO UPDATE SET owner = ?2, publishers = ?3, reviewer = ?4, revoked_at = ?5",
                    )?
                    .execute((known.key.to_string(), &known.owner, publishers, known.reviewer, known.revoked_at))?;
            }
            Ok(changed)
        })
    }
}

fn read(connection: &Connection) -> Result<Owners> {
    let mut statement = connection
        .prepare_cached("SELECT key, owner, publishers, reviewer, revoked_at FROM keys ORDER BY owner, key")?;
    let mut rows = statement.query([])?;
    let mut keys = Vec::new();
    while let Some(row) = rows.next()? {
        let (key, publishers): (String, String) = (row.get(0)?, row.get(2)?);
        keys.push(KnownKey {
            key: key.parse().map_err(|_| damaged(format!("`{key}` is no key")))?,
            owner: row.get(1)?,
            publishers: serde_json::from_str(&publishers).map_err(|error| damaged(error.to_string()))?,
            reviewer: row.get(3)?,
            revoked_at: row.get(4)?,
        });
    }
    Ok(Owners { keys })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::clock::Clock;
    use crate::error::ErrorKind;
    use crate::signing::SigningKey;

    #[test]
    fn what_is_known_of_keys_is_kept_and_a_refused_change_changes_nothing() {
        let home = tempfile::tempdir().unwrap();
        let store = Store::open(home.path(), Arc::new(Clock::system())).unwrap();
        let key = SigningKey::create(home.path()).unwrap().public();
        let known = KnownKey {
            key,
            owner: "ann".to_owned(),
            publishers: vec!["acme".to_owned()],
            reviewer: true,
            revoked_at: None,
        };
        assert!(store.owners().unwrap().keys.is_empty());
        let trusted = known.clone();
        store.change_owners(move |owners| owners.trust(trusted)).unwrap();
        assert_eq!(store.owners().unwrap().keys, std::slice::from_ref(&known));

        let of_ben = KnownKey { owner: "ben".to_owned(), ..known.clone() };
        let refused = store.change_owners(move |owners| owners.trust(of_ben)).unwrap_err();
        assert_eq!(refused.kind, ErrorKind::KeyNotAllowed);
        assert_eq!(store.owners().unwrap().keys, std::slice::from_ref(&known));

        store.change_owners(move |owners| owners.revoke(key, 7)).unwrap();
        drop(store);
        let store = Store::open(home.path(), Arc::new(Clock::system())).unwrap();
        assert_eq!(store.owners().unwrap().keys, [KnownKey { revoked_at: Some(7), ..known }]);
    }
}
