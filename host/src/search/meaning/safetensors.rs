//! Reads a file of tensors: a length, a head in JSON, and numbers.
//!
//! The file comes from somebody else, so nothing that its head says is believed before it was compared with the bytes
//! that are there. Numbers stay as they are in the file until one is asked for.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Deserialize;
use serde_json::Value;

/// Bytes of a head. One with three tensors has some hundreds.
const MOST_HEAD: u64 = 1024 * 1024;

/// What the head calls what is no tensor.
const METADATA: &str = "__metadata__";

/// A file of tensors.
pub(super) struct Tensors {
    bytes: Vec<u8>,
    tensors: BTreeMap<String, Tensor>,
}

/// Rows of numbers of one kind.
#[derive(Clone, Debug)]
pub(super) struct Tensor {
    kind: NumberKind,
    /// How many numbers in each direction, the outermost first.
    pub(super) shape: Vec<usize>,
    bytes: Range<usize>,
}

/// How a number is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum NumberKind {
    F16,
    BF16,
    F32,
    F64,
    I8,
    I32,
    I64,
}

#[derive(Deserialize)]
struct Head {
    dtype: NumberKind,
    shape: Vec<usize>,
    data_offsets: [usize; 2],
}

impl NumberKind {
    fn size(self) -> usize {
        match self {
            Self::I8 => 1,
            Self::F16 | Self::BF16 => 2,
            Self::F32 | Self::I32 => 4,
            Self::F64 | Self::I64 => 8,
        }
    }
}

impl Tensors {
    /// Reads a whole file; says what is wrong with it.
    pub(super) fn read(bytes: Vec<u8>) -> Result<Self, String> {
        let Some((length, _)) = bytes.split_first_chunk::<8>() else { return Err("it has no head".to_owned()) };
        let length = u64::from_le_bytes(*length);
        if length > MOST_HEAD {
            return Err(format!("its head claims {length} bytes, more than {MOST_HEAD}"));
        }
        let begin = 8 + usize::try_from(length).unwrap_or(usize::MAX);
        let Some(head) = bytes.get(8..begin) else { return Err("it ends within its head".to_owned()) };
        let heads: BTreeMap<String, Value> =
            serde_json::from_slice(head).map_err(|_| "its head is no JSON object".to_owned())?;
        let mut tensors = BTreeMap::new();
        for (name, head) in heads.into_iter().filter(|(name, _)| name != METADATA) {
            let Head { dtype, shape, data_offsets: [from, to] } = serde_json::from_value(head)
                .map_err(|why| format!("its tensor `{name}` cannot be read: {why}"))?;
            let size = shape.iter().try_fold(dtype.size(), |size, &count| size.checked_mul(count));
            let is_there = from <= to && to <= bytes.len() - begin && size == Some(to - from);
            if !is_there {
                return Err(format!("its tensor `{name}` is not as large as it claims"));
            }
            tensors.insert(name, Tensor { kind: dtype, shape, bytes: begin + from..begin + to });
        }
        Ok(Self { bytes, tensors })
    }

    /// The tensor of a name.
    pub(super) fn get(&self, name: &str) -> Option<Tensor> {
        self.tensors.get(name).cloned()
    }

    /// Some numbers of a tensor, from the one at `from`, counted over all its rows; fewer where it ends.
    pub(super) fn numbers(&self, tensor: &Tensor, from: usize, count: usize) -> impl Iterator<Item = f64> {
        let (kind, size) = (tensor.kind, tensor.kind.size());
        let begin = tensor.bytes.start.saturating_add(from.saturating_mul(size)).min(tensor.bytes.end);
        let bytes = &self.bytes[begin..tensor.bytes.end];
        bytes.chunks_exact(size).take(count).map(move |bytes| number(kind, bytes))
    }
}

/// One number. Whole ones of 64 bits are positions here, far below where they would lose anything.
fn number(kind: NumberKind, bytes: &[u8]) -> f64 {
    let mut whole = [0; 8];
    whole[..bytes.len()].copy_from_slice(bytes);
    let [a, b, c, d, ..] = whole;
    match kind {
        NumberKind::I8 => f64::from(i8::from_le_bytes([a])),
        NumberKind::F16 => half(u16::from_le_bytes([a, b])),
        NumberKind::BF16 => f64::from(f32::from_bits(u32::from(u16::from_le_bytes([a, b])) << 16)),
        NumberKind::F32 => f64::from(f32::from_le_bytes([a, b, c, d])),
        NumberKind::I32 => f64::from(i32::from_le_bytes([a, b, c, d])),
        NumberKind::F64 => f64::from_le_bytes(whole),
        #[expect(clippy::cast_precision_loss, reason = "a position in a file")]
        NumberKind::I64 => i64::from_le_bytes(whole) as f64,
    }
}

/// A number of 16 bits (IEEE 754): a sign, five bits of exponent, ten of fraction.
fn half(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff) / 1024.0);
    let size = match exponent {
        0 => fraction * 2.0_f64.powi(-14),
        0x1f if fraction > 0.0 => f64::NAN,
        0x1f => f64::INFINITY,
        _ => (1.0 + fraction) * 2.0_f64.powi(exponent - 15),
    };
    if bits >> 15 == 1 { -size } else { size }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(head: &str, data: &[u8]) -> Vec<u8> {
        let length = u64::try_from(head.len()).unwrap();
        [&length.to_le_bytes()[..], head.as_bytes(), data].concat()
    }

    #[test]
    fn every_kind_of_number_is_read() {
        let cases: [(&str, &[u8], f64); 9] = [
            ("F32", &(-1.5_f32).to_le_bytes(), -1.5),
            ("F64", &2.25_f64.to_le_bytes(), 2.25),
            ("F16", &[0x00, 0xc0], -2.0),
            ("F16", &[0x01, 0x00], 2.0_f64.powi(-24)),
            ("F16", &[0x00, 0x7c], f64::INFINITY),
            ("BF16", &[0x80, 0x3f], 1.0),
            ("I8", &[0xff], -1.0),
            ("I32", &7_i32.to_le_bytes(), 7.0),
            ("I64", &9_i64.to_le_bytes(), 9.0),
        ];
        for (kind, data, expected) in cases {
            let head = format!(r#"{{"a":{{"dtype":"{kind}","shape":[1],"data_offsets":[0,{}]}}}}"#, data.len());
            let tensors = Tensors::read(file(&head, data)).unwrap();
            let tensor = tensors.get("a").unwrap();
            let numbers: Vec<u64> = tensors.numbers(&tensor, 0, 9).map(f64::to_bits).collect();
            assert_eq!(numbers, [expected.to_bits()], "{kind} {data:?}");
            assert_eq!(tensors.numbers(&tensor, 1, 1).count(), 0);
        }
    }

    #[test]
    fn what_a_head_claims_is_not_believed() {
        let tensor = |shape: &str, offsets: &str| {
            file(&format!(r#"{{"a":{{"dtype":"F32","shape":{shape},"data_offsets":{offsets}}}}}"#), &[0; 8])
        };
        let max = u64::MAX.to_le_bytes();
        let cases: [(Vec<u8>, &str); 12] = [
            (Vec::new(), "it has no head"),
            (vec![1; 7], "it has no head"),
            (max.to_vec(), "its head claims 18446744073709551615 bytes, more than 1048576"),
            (file("{}", &[])[..9].to_vec(), "it ends within its head"),
            (file("[]", &[]), "its head is no JSON object"),
            (file("{", &[]), "its head is no JSON object"),
            (tensor("[2]", "[0,9]"), "its tensor `a` is not as large as it claims"),
            (tensor("[3]", "[0,8]"), "its tensor `a` is not as large as it claims"),
            (tensor("[2]", "[8,0]"), "its tensor `a` is not as large as it claims"),
            (tensor("[4611686018427387904,4]", "[0,0]"), "its tensor `a` is not as large as it claims"),
            (tensor("[2]", "[4,18446744073709551615]"), "its tensor `a` is not as large as it claims"),
            (file(r#"{"a":7}"#, &[]), "its tensor `a` cannot be read"),
        ];
        for (bytes, expected) in cases {
            let why = Tensors::read(bytes).err().unwrap();
            assert!(why.starts_with(expected), "{why}");
        }
        let unknown = file(r#"{"a":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]}}"#, &[0]);
        assert!(Tensors::read(unknown).err().unwrap().contains("F8_E4M3"), "the kind is named");
    }
}
