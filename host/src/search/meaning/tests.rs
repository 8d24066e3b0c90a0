//! A folder says what the packages say that made it, and one that is broken says what is wrong with it.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::model::Model;
use super::wordpiece::WordPiece;

/// What `make.py` wrote down.
#[derive(Deserialize)]
struct Expected {
    text: String,
    vector: Vec<f32>,
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/model2vec").join(name)
}

/// The cosine of two rows of numbers; 1 for two that are nothing.
fn cosine(one: &[f32], other: &[f32]) -> f32 {
    let dot = |one: &[f32], other: &[f32]| one.iter().zip(other).map(|(one, other)| one * other).sum::<f32>();
    let length = (dot(one, one) * dot(other, other)).sqrt();
    if length > 0.0 { dot(one, other) / length } else { f32::from(u8::from(one == other)) }
}

#[test]
fn vectors_are_those_of_the_packages() {
    for (name, close) in [("plain", 0.999_99), ("shared", 0.999)] {
        let model = Model::load(&folder(name)).unwrap();
        let expected = std::fs::read_to_string(folder(name).join("expected.json")).unwrap();
        let expected: Vec<Expected> = serde_json::from_str(&expected).unwrap();
        assert!(expected.len() > 10);
        for Expected { text, vector } in expected {
            let mean = model.mean(&text);
            let likeness = cosine(&mean, &vector);
            assert!(likeness > close, "{name}: {text:?}: {likeness} {mean:?} {vector:?}");
            let is_nothing = vector.iter().all(|number| *number == 0.0);
            assert_eq!(model.vector(&text).is_none(), is_nothing, "{name}: {text:?}");
        }
    }
}

#[test]
fn words_of_one_meaning_are_alike_and_others_are_not() {
    let model = Model::load(&folder("plain")).unwrap();
    let of = |text: &str| model.vector(text).unwrap();
    let likeness = of("a bug").likeness(&of("an issue"));
    assert!(likeness > 0.7, "{likeness}");
    assert!(of("a bug").likeness(&of("the weather")) < likeness / 2.0);
    assert_ne!(model.id(), Model::load(&folder("shared")).unwrap().id());
}

#[test]
fn a_special_token_in_a_text_is_text() {
    let tokenizer = std::fs::read(folder("plain").join("tokenizer.json")).unwrap();
    let words = WordPiece::read(&tokenizer).unwrap();
    assert_eq!(words.cut("[PAD]", 9), words.cut("[ pad ]", 9));
    assert_eq!(words.cut("[UNK] [CLS]", 9), words.cut("[ unk ] [ cls ]", 9));
    assert_eq!(words.cut("bug bug bug bug", 2).len(), 2);
}

/// A copy of a model with other bytes in one file.
fn broken(file: &str, change: impl FnOnce(Vec<u8>) -> Vec<u8>) -> String {
    let copy = tempfile::tempdir().unwrap();
    for name in ["config.json", "tokenizer.json", "model.safetensors"] {
        let bytes = std::fs::read(folder("plain").join(name)).unwrap();
        std::fs::write(copy.path().join(name), bytes).unwrap();
    }
    let path = copy.path().join(file);
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, change(bytes)).unwrap();
    Model::load(copy.path()).err().map_or_else(String::new, |error| error.message)
}

fn replaced(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    assert!(text.contains(from), "{from}");
    text.replace(from, to).into_bytes()
}

#[test]
fn a_broken_folder_says_what_is_wrong() {
    type Change = Box<dyn FnOnce(Vec<u8>) -> Vec<u8>>;
    let other =
        |from: &'static str, to: &'static str| -> Change { Box::new(move |file| replaced(&file, from, to)) };
    let tensors = "model.safetensors";
    let tokenizer = "tokenizer.json";
    let cases: Vec<(&str, Change, &str)> = vec![
        (tensors, Box::new(|_| Vec::new()), "it has no head"),
        (tensors, Box::new(|file| file[..40].to_vec()), "it ends within its head"),
        (tensors, Box::new(|file| file[..file.len() - 1].to_vec()), "is not as large as it claims"),
        (
            tensors,
            Box::new(|file| [&(1_u64 << 40).to_le_bytes()[..], &file[8..]].concat()),
            "its head claims 1099511627776 bytes",
        ),
        (
            tensors,
            // One row less than there are pieces.
            Box::new(|file| {
                let (length, rest) = file.split_first_chunk::<8>().unwrap();
                let (head, data) = rest.split_at(usize::try_from(u64::from_le_bytes(*length)).unwrap());
                let mut head: serde_json::Value = serde_json::from_slice(head).unwrap();
                let rows = head["embeddings"]["shape"][0].as_u64().unwrap() - 1;
                head["embeddings"]["shape"][0] = rows.into();
                head["embeddings"]["data_offsets"][1] = (rows * 8 * 4).into();
                let head = head.to_string();
                let length = u64::try_from(head.len()).unwrap().to_le_bytes();
                [&length[..], head.as_bytes(), &data[..data.len() - 32]].concat()
            }),
            "has no row in it",
        ),
        (
            tokenizer,
            other("\"WordPiece\",\"unk_token\"", "\"Unigram\",\"unk_token\""),
            "its model is of the kind `Unigram`",
        ),
        (tokenizer, other("BertNormalizer", "Precompiled"), "its normalizer is of the kind `Precompiled`"),
        (tokenizer, other("BertPreTokenizer", "Metaspace"), "its pre_tokenizer is of the kind `Metaspace`"),
        (tokenizer, other("\"pre_tokenizer\"", "\"none\""), "it has no pre_tokenizer"),
        (tokenizer, Box::new(|_| b"[1]".to_vec()), "it is no tokenizer"),
        ("config.json", Box::new(|_| b"{".to_vec()), "its settings cannot be read"),
        ("config.json", other("512", "-1"), "its settings cannot be read"),
    ];
    for (file, change, expected) in cases {
        let message = broken(file, change);
        assert!(message.contains(file) && message.contains(expected), "{expected}: {message}");
    }
    assert_eq!(broken("config.json", |file| replaced(&file, "512", "null")), "", "all of a text counts");
    let missing = Model::load(Path::new("/nowhere")).err().unwrap();
    assert!(missing.message.contains("/nowhere/config.json"), "{}", missing.message);
}
