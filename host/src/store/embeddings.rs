//! The rows of vectors: what texts mean to a model, by the digest of the text.
//!
//! They are a cache that can be made again at a price. Which texts there are is `search/`'s.

use std::collections::{HashMap, HashSet};

use rusqlite::{Connection, OptionalExtension};

use super::failure::damaged;
use super::{Store, count, read_count};
use crate::error::{Error, ErrorKind, Result};
use crate::registry::Digest;
use crate::search::Vector;

impl Store {
    /// What is kept of these texts.
    pub(crate) fn embeddings(&self, model: &str, texts: &[Digest]) -> Result<HashMap<Digest, Vector>> {
        self.read(|connection| {
            let Some((model, _)) = find(connection, model)? else { return Ok(HashMap::new()) };
            let mut statement =
                connection.prepare_cached("SELECT vector FROM embeddings WHERE model = ?1 AND text = ?2")?;
            let mut known = HashMap::new();
            for text in texts {
                let row = statement.query_row((model, text.as_bytes()), |row| row.get::<_, Vec<u8>>(0));
                if let Some(bytes) = row.optional()? {
                    let vector = Vector::from_bytes(&bytes).ok_or_else(|| damaged("an embedding is none"))?;
                    known.insert(*text, vector);
                }
            }
            Ok(known)
        })
    }

    /// How many texts the model was asked about, and how many dimensions its answers have.
    pub(crate) fn embedded(&self, model: &str) -> Result<Option<(u64, usize)>> {
        self.read(|connection| {
            let Some((model, dimensions)) = find(connection, model)? else { return Ok(None) };
            let mut statement = connection.prepare_cached("SELECT count(*) FROM embeddings WHERE model = ?1")?;
            Ok(Some((statement.query_row([model], |row| read_count(row, 0))?, dimensions)))
        })
    }

    /// Keeps vectors, all of them or none. They must have as many dimensions as others of the model.
    pub(crate) async fn put_embeddings(&self, model: &str, vectors: Vec<(Digest, Vector)>) -> Result<()> {
        let name = model.to_owned();
        self.write_async(move |connection| {
            for (text, vector) in &vectors {
                let (model, dimensions) = match find(connection, &name)? {
                    Some(known) => known,
                    None => insert(connection, &name, vector.dimensions())?,
                };
                if vector.dimensions() != dimensions {
                    return Err(Error::internal("a vector has other dimensions than those of its model"));
                }
                connection
                    .prepare_cached(
                        "INSERT INTO embeddings (model, text, vector) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
                    )?
                    .execute((model, text.as_bytes(), vector.to_bytes()))?;
            }
            Ok(())
        })
        .await
    }

    /// Drops what is kept of other models, and of other texts than these, where they are named.
    pub(crate) async fn keep_embeddings(&self, model: &str, texts: Option<HashSet<Digest>>) -> Result<()> {
        let name = model.to_owned();
        self.write_async(move |connection| {
            connection.prepare_cached("DELETE FROM embedding_models WHERE name <> ?1")?.execute([&name])?;
            let (Some(texts), Some((model, _))) = (texts, find(connection, &name)?) else { return Ok(()) };
            let mut statement = connection.prepare_cached("SELECT text FROM embeddings WHERE model = ?1")?;
            let kept: Vec<[u8; 32]> = statement.query_map([model], |row| row.get(0))?.collect::<Result<_, _>>()?;
            let texts: HashSet<&[u8; 32]> = texts.iter().map(Digest::as_bytes).collect();
            let mut statement =
                connection.prepare_cached("DELETE FROM embeddings WHERE model = ?1 AND text = ?2")?;
            for text in kept.iter().filter(|text| !texts.contains(text)) {
                statement.execute((model, text))?;
            }
            Ok(())
        })
        .await
    }
}

/// The number of a model, and its dimensions.
fn find(connection: &Connection, name: &str) -> Result<Option<(i64, usize)>> {
    let mut statement =
        connection.prepare_cached("SELECT id, dimensions FROM embedding_models WHERE name = ?1")?;
    let row = statement.query_row([name], |row| Ok((row.get(0)?, read_count(row, 1)?))).optional()?;
    row.map(|(id, dimensions)| Ok((id, usize::try_from(dimensions).map_err(damaged)?))).transpose()
}

fn insert(connection: &Connection, name: &str, dimensions: usize) -> Result<(i64, usize)> {
    connection
        .prepare_cached("INSERT INTO embedding_models (name, dimensions) VALUES (?1, ?2)")?
        .execute((name, count(dimensions as u64)))?;
    find(connection, name)?.ok_or_else(|| Error::new(ErrorKind::Store, "a row that was written is not there"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::clock::Clock;

    fn vector(numbers: &[f32]) -> Vector {
        Vector::new(numbers).unwrap()
    }

    #[tokio::test]
    async fn vectors_are_kept_by_model_and_text() {
        let home = tempfile::tempdir().unwrap();
        let store = Store::open(home.path(), Arc::new(Clock::system())).unwrap();
        let [a, b, c] = ["a", "b", "c"].map(|text| Digest::of(text.as_bytes()));
        let generation = store.generation().unwrap();
        assert_eq!(store.embedded("one").unwrap(), None);
        store.put_embeddings("one", vec![(a, vector(&[1.0, 0.0])), (b, vector(&[0.0, 1.0]))]).await.unwrap();
        store.put_embeddings("two", vec![(a, vector(&[1.0, 2.0, 3.0]))]).await.unwrap();
        assert_eq!(store.embedded("one").unwrap(), Some((2, 2)));
        let known = store.embeddings("one", &[a, c]).unwrap();
        assert_eq!(known, HashMap::from([(a, vector(&[1.0, 0.0]))]));
        assert_eq!(store.embeddings("three", &[a]).unwrap(), HashMap::new());
        assert_eq!(store.generation().unwrap(), generation, "no call depends on a vector");

        // One of other dimensions takes the rest of its batch along.
        let mixed = vec![(c, vector(&[1.0, 1.0])), (b, vector(&[1.0, 1.0, 1.0]))];
        assert!(store.put_embeddings("one", mixed).await.is_err());
        assert_eq!(store.embeddings("one", &[c]).unwrap(), HashMap::new());
    }

    #[tokio::test]
    async fn what_is_not_kept_any_more_is_gone() {
        let home = tempfile::tempdir().unwrap();
        let store = Store::open(home.path(), Arc::new(Clock::system())).unwrap();
        let [a, b] = ["a", "b"].map(|text| Digest::of(text.as_bytes()));
        for model in ["one", "two"] {
            store.put_embeddings(model, vec![(a, vector(&[1.0])), (b, vector(&[2.0]))]).await.unwrap();
        }
        store.keep_embeddings("one", None).await.unwrap();
        assert_eq!((store.embedded("one").unwrap(), store.embedded("two").unwrap()), (Some((2, 1)), None));
        store.keep_embeddings("one", Some(HashSet::from([b]))).await.unwrap();
        assert_eq!(store.embeddings("one", &[a, b]).unwrap().into_keys().collect::<Vec<_>>(), [b]);
        let orphans = store.look(|connection| {
            let sql = "SELECT count(*) FROM embeddings";
            Ok(connection.query_row(sql, [], |row| read_count(row, 0))?)
        });
        assert_eq!(orphans.unwrap(), 1, "the vectors of the other model went with it");
    }
}
