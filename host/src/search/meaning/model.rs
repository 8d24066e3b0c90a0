//! A model of static vectors in a folder, as model2vec writes it: each piece of the vocabulary has a row of numbers,
//! and a text is the mean of its pieces' rows.
//!
//! What lies in the folder was made by somebody else: everything is bounded and compared before it is used, so a text
//! meets no row that is not there. Nothing of it is run, and nothing is fetched.

use std::io::Read as _;
use std::path::Path;

use serde::Deserialize;

use super::safetensors::{Tensor, Tensors};
use super::vector::{MOST_DIMENSIONS, Vector};
use super::wordpiece::WordPiece;
use crate::error::{Error, ErrorKind, Result};
use crate::registry::Digest;

const SETTINGS: &str = "config.json";
const TOKENIZER: &str = "tokenizer.json";
const TENSORS: &str = "model.safetensors";

/// Bytes of the rows. The largest models that are published have half of it.
const MOST_TENSORS: u64 = 1024 * 1024 * 1024;

/// Bytes of the other files. A vocabulary of half a million pieces has 20 MiB.
const MOST_TEXT: u64 = 64 * 1024 * 1024;

/// Pieces of a text that count, unless the folder says otherwise.
const PIECES: usize = 512;

/// A model that was read.
pub(crate) struct Model {
    id: String,
    tensors: Tensors,
    rows: Tensor,
    dimensions: usize,
    /// Of each piece, how much it counts.
    weights: Option<Vec<f64>>,
    /// Of each piece, its row, where several share one.
    mapping: Option<Vec<usize>>,
    words: WordPiece,
    /// Pieces of a text that count.
    pieces: usize,
    /// Letters of a text that count.
    letters: usize,
}

#[derive(Deserialize)]
struct Settings {
    #[serde(default = "pieces")]
    max_length: Option<usize>,
}

#[expect(clippy::unnecessary_wraps, reason = "`null` in the file means all of them")]
fn pieces() -> Option<usize> {
    Some(PIECES)
}

impl Model {
    /// Reads the folder, and finds it fit to be used.
    pub(crate) fn load(folder: &Path) -> Result<Self> {
        let settings = read(folder, SETTINGS, MOST_TEXT)?;
        let tokenizer = read(folder, TOKENIZER, MOST_TEXT)?;
        let tensors = read(folder, TENSORS, MOST_TENSORS)?;
        let digests = [&settings, &tokenizer, &tensors].map(|bytes| Digest::of(bytes).hex());
        let id = format!("model2vec {}", Digest::of(digests.concat().as_bytes()));
        let unfit = |file: &str, why: String| {
            Error::new(ErrorKind::Config, format!("`{}`: {why}", folder.join(file).display()))
                .hint("`search.embeddings.folder` names the folder of a model2vec model with a tokenizer of BERT")
        };
        let settings: Settings = serde_json::from_slice(&settings)
            .map_err(|why| unfit(SETTINGS, format!("its settings cannot be read: {why}")))?;
        let words = WordPiece::read(&tokenizer).map_err(|why| unfit(TOKENIZER, why))?;
        let tensors = Tensors::read(tensors).map_err(|why| unfit(TENSORS, why))?;
        Self::of(id, settings.max_length, words, tensors).map_err(|why| unfit(TENSORS, why))
    }

    fn of(id: String, pieces: Option<usize>, words: WordPiece, tensors: Tensors) -> Result<Self, String> {
        let rows = ["embeddings", "embedding.weight"].into_iter().find_map(|name| tensors.get(name));
        let rows = rows.ok_or("it has no tensor `embeddings`")?;
        let &[count, dimensions] = rows.shape.as_slice() else {
            return Err("its tensor `embeddings` has no rows".to_owned());
        };
        if !(1..=MOST_DIMENSIONS).contains(&dimensions) {
            return Err(format!("its rows have {dimensions} numbers, not 1 to {MOST_DIMENSIONS}"));
        }
        let all = |tensor: Tensor| tensors.numbers(&tensor, 0, usize::MAX).collect::<Vec<f64>>();
        let weights = tensors.get("weights").map(all);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "what does not fit is no row")]
        let row = |number: f64| if number >= 0.0 { number as usize } else { usize::MAX };
        let mapping = tensors.get("mapping").map(|tensor| all(tensor).into_iter().map(row).collect::<Vec<_>>());
        let has_row = |piece: usize| match &mapping {
            Some(mapping) => mapping.get(piece).is_some_and(|&row| row < count),
            None => piece < count,
        };
        let has_weight = |piece: usize| weights.as_ref().is_none_or(|weights| piece < weights.len());
        let missing = words.pieces().find(|&(_, piece)| !has_row(piece as usize) || !has_weight(piece as usize));
        if let Some((piece, _)) = missing {
            return Err(format!("the piece `{}` of `{TOKENIZER}` has no row in it", piece.escape_debug()));
        }
        let pieces = pieces.unwrap_or(usize::MAX);
        let letters = pieces.saturating_mul(median_length(&words));
        Ok(Self { id, tensors, rows, dimensions, weights, mapping, words, pieces, letters })
    }

    /// What tells it from every other model.
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// What a text means; nothing when the model knows none of its words.
    pub(super) fn vector(&self, text: &str) -> Option<Vector> {
        Vector::new(&self.mean(text))
    }

    /// The mean of the rows of a text's pieces, with their weights.
    pub(super) fn mean(&self, text: &str) -> Vec<f32> {
        let end = text.char_indices().nth(self.letters).map_or(text.len(), |(at, _)| at);
        let pieces = self.words.cut(&text[..end], self.pieces);
        let mut sum = vec![0.0_f64; self.dimensions];
        for piece in pieces.iter().map(|&piece| piece as usize) {
            let row = self.mapping.as_ref().map_or(piece, |mapping| mapping[piece]);
            let weight = self.weights.as_ref().map_or(1.0, |weights| weights[piece]);
            let numbers = self.tensors.numbers(&self.rows, row * self.dimensions, self.dimensions);
            for (sum, number) in sum.iter_mut().zip(numbers) {
                *sum += weight * number;
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "a number of pieces")]
        let count = pieces.len().max(1) as f64;
        #[expect(clippy::cast_possible_truncation, reason = "rows have such numbers")]
        sum.into_iter().map(|sum| (sum / count) as f32).collect()
    }
}

/// Letters that a piece has usually: the model reads as many letters of a text as its pieces at most have together.
fn median_length(words: &WordPiece) -> usize {
    let mut lengths: Vec<usize> = words.pieces().map(|(piece, _)| piece.chars().count()).collect();
    lengths.sort_unstable();
    let at = |at: usize| lengths.get(at).copied().unwrap_or(0);
    let middle = lengths.len() / 2;
    if lengths.len().is_multiple_of(2) { at(middle.saturating_sub(1)).midpoint(at(middle)) } else { at(middle) }
}

/// All bytes of a file that is no larger than `most`.
fn read(folder: &Path, name: &str, most: u64) -> Result<Vec<u8>> {
    let path = folder.join(name);
    let unreadable = |why: std::io::Error| Error { kind: ErrorKind::Config, ..Error::file(&path, &why) };
    // Before it is opened: whoever opens a pipe waits for its other end.
    if !path.metadata().map_err(unreadable)?.is_file() {
        return Err(Error::new(ErrorKind::Config, format!("`{}` is not a regular file", path.display())));
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(&path).map_err(unreadable)?;
    file.take(most + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > most {
        let message = format!("`{}` is larger than {} MiB", path.display(), most / (1024 * 1024));
        return Err(Error::new(ErrorKind::Config, message));
    }
    Ok(bytes)
}
