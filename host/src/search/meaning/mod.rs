//! What texts mean, as far as the operator named something that knows it: an endpoint, or a model in a folder.
//!
//! Decides which texts are asked about, and when. It does not decide what a caller finds: a vector is a second opinion
//! beside the words (`fuse.rs`), given only about things that the caller may use, and nothing here is waited for beyond
//! the moment that the operator allows.
//!
//! | file | what it decides |
//! |---|---|
//! | `vector` | how alike two meanings are |
//! | `endpoint` | what an endpoint is asked, and which answers are believed |
//! | `model`, `safetensors`, `wordpiece` | what a folder with a model says |
//! | `questions` | how long a search waits for what its question means |
//! | `catch_up` | how what is installed gets its vectors, beside everything else |

mod catch_up;
mod endpoint;
mod model;
mod questions;
mod safetensors;
#[cfg(test)]
mod tests;
mod vector;
mod wordpiece;

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

pub(crate) use self::catch_up::{CatchUp, Pauses};
use self::endpoint::Endpoint;
use self::model::Model;
use self::questions::Questions;
pub(crate) use self::vector::Vector;
use crate::config::EmbeddingsConfig;
use crate::egress::{Embedder, Outside, Own};
use crate::error::{Error, Result};
use crate::registry::Digest;
use crate::secrets::Vault;
use crate::store::Store;

/// What knows the meaning of texts.
pub(crate) struct Meaning {
    source: Source,
    /// What tells its vectors from those of every other.
    id: String,
    /// Texts that are asked about at once.
    batch: usize,
    /// As soon as it is known: how many dimensions its vectors have.
    dimensions: OnceLock<usize>,
    questions: Questions,
}

enum Source {
    Endpoint(Endpoint),
    Folder(Arc<Model>),
}

/// Why there are no vectors. It quotes nothing that the other end said.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unmeant {
    /// Nobody answered as one should, or the operator has to do something first.
    #[error("{0}")]
    Later(String),
    /// These texts as they are will not get any.
    #[error("{0}")]
    Never(String),
}

impl Meaning {
    /// What the operator named; nothing if that is nothing. `own` and `outside` lead to an endpoint, `vault` has its
    /// key.
    pub(crate) fn configured(
        config: &EmbeddingsConfig,
        response_bytes: usize,
        (own, outside): (Own, &Outside),
        vault: Arc<Vault>,
        store: &Store,
    ) -> Result<Option<Self>> {
        let limit = Duration::from_millis(config.request_ms);
        let (source, id) = match (&config.endpoint, &config.folder) {
            (Some(url), _) => {
                let way = Embedder::configured(url, own, outside, limit, response_bytes)?;
                let endpoint = Endpoint::new(way, config, vault);
                let id = endpoint.id();
                (Source::Endpoint(endpoint), id)
            }
            (None, Some(folder)) => Self::of_folder(folder)?,
            (None, None) => return Ok(None),
        };
        let dimensions = OnceLock::new();
        if let Some((_, known)) = store.embedded(&id)? {
            dimensions.get_or_init(|| known);
        }
        let questions = Questions::new(Duration::from_millis(config.wait_ms));
        Ok(Some(Self { source, id, batch: config.batch, dimensions, questions }))
    }

    fn of_folder(folder: &Path) -> Result<(Source, String)> {
        let model = Model::load(folder)?;
        let id = model.id().to_owned();
        Ok((Source::Folder(Arc::new(model)), id))
    }

    /// What tells its vectors from those of every other.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// What a text is known by.
    pub(crate) fn print(text: &str) -> Digest {
        Digest::of(text.as_bytes())
    }

    /// What each of these texts means: as many answers as texts. `None` where the model knows no word of a text.
    async fn embed(&self, texts: &[String]) -> Result<Vec<Option<Vector>>, Unmeant> {
        let vectors = match &self.source {
            Source::Endpoint(endpoint) => endpoint.embed(texts).await?.into_iter().map(Some).collect(),
            Source::Folder(model) => {
                let (model, texts) = (Arc::clone(model), texts.to_vec());
                let all = move || texts.iter().map(|text| model.vector(text)).collect::<Vec<_>>();
                let ended = tokio::task::spawn_blocking(all).await;
                ended.map_err(|_| Unmeant::Later("the model was not asked to the end".to_owned()))?
            }
        };
        for vector in vectors.iter().flatten() {
            let dimensions = *self.dimensions.get_or_init(|| vector.dimensions());
            if vector.dimensions() != dimensions {
                let had = vector.dimensions();
                return Err(Unmeant::Later(format!(
                    "it answers with {had} numbers a text, and with {dimensions} before: another model under one name"
                )));
            }
        }
        Ok(vectors)
    }

    /// Asks about one word: whether it can be done at all.
    pub(crate) async fn reach(&self) -> Result<(), Unmeant> {
        self.embed(&["weather".to_owned()]).await.map(drop)
    }
}

impl From<Error> for Unmeant {
    fn from(error: Error) -> Self {
        Self::Later(error.message)
    }
}
