//! What a component is made of: how large its parts are, what says it made them, and the data that its memory begins
//! with. Nested modules are read too.
//!
//! It reads bytes that were validated (`component/scan.rs`). Data can be computed as well as stored, so what is not
//! found here may still come to be when the guest runs.

use std::collections::BTreeSet;

use serde::Serialize;
use wasmparser::{ConstExpr, DataKind, KnownCustom, Operator, Parser, Payload, ProducersSectionReader};

use crate::component::FEATURES;
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::visible;

/// Characters of a producer that are shown.
const SHOWN: usize = 80;

/// As many producers as are listed.
const MAX_PRODUCERS: usize = 64;

/// What the parts of a component take, in bytes unless it is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Sizes {
    /// Core modules, as a number.
    pub modules: u64,
    /// Functions, as a number.
    pub functions: u64,
    /// Code.
    pub code: u64,
    /// Data that memory begins with.
    pub data: u64,
    /// Custom sections, which nothing runs.
    pub custom: u64,
}

/// What says that it had a part in making a component.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Producer {
    /// `language`, `processed-by` or `sdk`.
    pub field: String,
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// What was found.
pub(super) struct Walked {
    pub(super) sizes: Sizes,
    pub(super) producers: Vec<Producer>,
    /// Pieces of data as they lie in memory.
    pub(super) data: Vec<Vec<u8>>,
}

/// Reads `bytes` from the first to the last.
pub(super) fn walk(bytes: &[u8]) -> Result<Walked> {
    let mut parser = Parser::new(0);
    parser.set_features(FEATURES);
    let (mut sizes, mut producers, mut pieces) = (Sizes::default(), BTreeSet::new(), Pieces::default());
    for payload in parser.parse_all(bytes) {
        match payload.map_err(|error| unreadable(&error))? {
            Payload::ModuleSection { .. } => {
                sizes.modules += 1;
                pieces.end = None;
            }
            Payload::CodeSectionStart { count, size, .. } => {
                sizes.functions += u64::from(count);
                sizes.code += u64::from(size);
            }
            Payload::DataSection(section) => {
                for data in section {
                    let data = data.map_err(|error| unreadable(&error))?;
                    sizes.data += data.data.len() as u64;
                    pieces.add(&data.kind, data.data);
                }
            }
            Payload::CustomSection(section) => {
                sizes.custom += section.data().len() as u64;
                if let KnownCustom::Producers(reader) = section.as_known() {
                    // One that cannot be read says nothing.
                    let _ = note(reader, &mut producers);
                }
            }
            _ => {}
        }
    }
    Ok(Walked { sizes, producers: producers.into_iter().take(MAX_PRODUCERS).collect(), data: pieces.whole })
}

fn note(reader: ProducersSectionReader<'_>, found: &mut BTreeSet<Producer>) -> wasmparser::Result<()> {
    for field in reader {
        let field = field?;
        for value in field.values {
            let value = value?;
            found.insert(Producer {
                field: visible(field.name, SHOWN),
                name: visible(value.name, SHOWN),
                version: visible(value.version, SHOWN),
            });
        }
    }
    Ok(())
}

/// Data segments, joined where one begins at the address at which the last one ended: a text that is cut into two
/// segments is whole in memory.
#[derive(Default)]
struct Pieces {
    whole: Vec<Vec<u8>>,
    /// The memory and address after the last one.
    end: Option<(u32, u64)>,
}

impl Pieces {
    fn add(&mut self, kind: &DataKind<'_>, data: &[u8]) {
        let start = match kind {
            DataKind::Active { memory_index, offset_expr } => {
                address(offset_expr).map(|address| (*memory_index, address))
            }
            DataKind::Passive => None,
        };
        match self.whole.last_mut() {
            Some(last) if start.is_some() && start == self.end => last.extend_from_slice(data),
            _ => self.whole.push(data.to_vec()),
        }
        self.end = start.map(|(memory, address)| (memory, address + data.len() as u64));
    }
}

/// The address that an expression gives, when it is a plain number.
fn address(expression: &ConstExpr<'_>) -> Option<u64> {
    match expression.get_operators_reader().read().ok()? {
        Operator::I32Const { value } => Some(u64::from(value.cast_unsigned())),
        _ => None,
    }
}

fn unreadable(error: &wasmparser::Error) -> Error {
    Error::new(ErrorKind::ComponentInvalid, "the file is not valid").detail(error)
}
