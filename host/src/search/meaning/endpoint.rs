//! An OpenAI-compatible endpoint: what it is asked, and which answers are believed.
//!
//! An answer counts whole or not at all. One that has too few vectors, or one for another text, would let a tool be
//! found for what it does not do.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Unmeant;
use super::vector::Vector;
use crate::config::EmbeddingsConfig;
use crate::egress::{Embedder, Unembedded};
use crate::secrets::{SecretKind, Vault};

/// Statuses by which a server says that it will not take this request as it is: bad, too large, unprocessable.
const NEVER: [u16; 3] = [400, 413, 422];

/// An endpoint with its model.
pub(super) struct Endpoint {
    way: Embedder,
    model: String,
    dimensions: Option<u32>,
    secret: Option<String>,
    vault: Arc<Vault>,
}

#[derive(Serialize)]
struct Question<'a> {
    model: &'a str,
    input: &'a [String],
    encoding_format: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<u32>,
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<One>,
}

#[derive(Deserialize)]
struct One {
    index: Option<usize>,
    embedding: Vec<f32>,
}

impl Endpoint {
    pub(super) fn new(way: Embedder, config: &EmbeddingsConfig, vault: Arc<Vault>) -> Self {
        let EmbeddingsConfig { model, dimensions, secret, .. } = config;
        Self {
            way,
            model: model.clone().unwrap_or_default(),
            dimensions: *dimensions,
            secret: secret.clone(),
            vault,
        }
    }

    /// What tells its vectors from those of every other.
    pub(super) fn id(&self) -> String {
        let dimensions = self.dimensions.map_or(String::new(), |dimensions| format!(" {dimensions}"));
        format!("{} {}{dimensions}", self.way.url(), self.model)
    }

    /// What each of these texts means.
    pub(super) async fn embed(&self, texts: &[String]) -> Result<Vec<Vector>, Unmeant> {
        let Self { model, dimensions, .. } = self;
        let question = Question { model, input: texts, encoding_format: "float", dimensions: *dimensions };
        let message = serde_json::to_vec(&question).map_err(|why| Unmeant::Never(why.to_string()))?;
        let key = match &self.secret {
            Some(name) => Some(self.key(name).await?),
            None => None,
        };
        let body =
            self.way.ask(key.as_ref().map(|key| key.as_slice()), message).await.map_err(|why| match &why {
                Unembedded::TooLarge => Unmeant::Never(why.to_string()),
                Unembedded::Refused(status) if NEVER.contains(status) => Unmeant::Never(why.to_string()),
                _ => Unmeant::Later(why.to_string()),
            })?;
        read(&body, texts.len()).map_err(Unmeant::Never)
    }

    /// Read at each request: a person may set another.
    async fn key(&self, name: &str) -> Result<zeroize::Zeroizing<Vec<u8>>, Unmeant> {
        let (vault, secret) = (Arc::clone(&self.vault), name.to_owned());
        let read = tokio::task::spawn_blocking(move || vault.read(&secret, SecretKind::Value)).await;
        match read {
            Ok(Ok(Some(value))) => Ok(value),
            Ok(Ok(None)) => Err(Unmeant::Later(format!("the secret `{name}` is not set"))),
            Ok(Err(why)) => Err(Unmeant::Later(format!("the secret `{name}` cannot be opened: {why}"))),
            Err(_) => Err(Unmeant::Later(format!("the secret `{name}` was not read to its end"))),
        }
    }
}

/// The vectors of an answer in the order of the texts that were asked about.
fn read(body: &[u8], texts: usize) -> Result<Vec<Vector>, String> {
    let answer: Answer =
        serde_json::from_slice(body).map_err(|_| "its answer is no list of numbers for each text".to_owned())?;
    if answer.data.len() != texts {
        return Err(format!("its answer has {} vectors for {texts} texts", answer.data.len()));
    }
    let mut vectors: Vec<Option<Vector>> = vec![None; texts];
    for (at, One { index, embedding }) in answer.data.into_iter().enumerate() {
        let place = vectors.get_mut(index.unwrap_or(at)).filter(|place| place.is_none());
        let place = place.ok_or("its answer has two vectors for one text, or one for none")?;
        let vector = Vector::new(&embedding);
        *place = Some(vector.ok_or("its answer has a vector without a direction, or with too many numbers")?);
    }
    Ok(vectors.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_counts_whole_or_not_at_all() {
        let two = r#"{"data":[{"index":1,"embedding":[0,1]},{"index":0,"embedding":[1,0]}],"model":"m"}"#;
        let of = |numbers: &[f32]| Vector::new(numbers).unwrap();
        assert_eq!(read(two.as_bytes(), 2), Ok(vec![of(&[1.0, 0.0]), of(&[0.0, 1.0])]));
        let unnumbered = r#"{"data":[{"embedding":[1,0]},{"embedding":[0,1]}]}"#;
        assert_eq!(read(unnumbered.as_bytes(), 2), Ok(vec![of(&[1.0, 0.0]), of(&[0.0, 1.0])]));
        let no_list = "its answer is no list of numbers for each text";
        let twice = "its answer has two vectors for one text, or one for none";
        let pointless = "its answer has a vector without a direction, or with too many numbers";
        let cases = [
            ("", no_list),
            ("[]", no_list),
            (r#"{"data":[{"embedding":"AAAA"}]}"#, no_list),
            (r#"{"data":[{"embedding":[NaN]}]}"#, no_list),
            (r#"{"data":[{"embedding":[null]}]}"#, no_list),
            (r#"{"data":[{"embedding":[1e39]}]}"#, no_list),
            (r#"{"data":[{"embedding":[1e999]}]}"#, no_list),
            (r#"{"data":[{"index":-1,"embedding":[1]}]}"#, no_list),
            (r#"{"data":[]}"#, "its answer has 0 vectors for 1 texts"),
            (two, "its answer has 2 vectors for 1 texts"),
            (r#"{"data":[{"index":1,"embedding":[1]}]}"#, twice),
            (r#"{"data":[{"index":18446744073709551615,"embedding":[1]}]}"#, twice),
            (r#"{"data":[{"embedding":[]}]}"#, pointless),
            (r#"{"data":[{"embedding":[0,0]}]}"#, pointless),
        ];
        for (body, expected) in cases {
            assert_eq!(read(body.as_bytes(), 1), Err(expected.to_owned()), "{body}");
        }
        let twins = r#"{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}"#;
        assert_eq!(read(twins.as_bytes(), 2), Err(twice.to_owned()));
    }
}
