//! Reads a component from the first byte to the last: validates it with the features that are on, counts
//! what could exhaust a compiler, and notes what it imports and exports.
//!
//! Memory is never reserved by a size that the file declares, and the walk is a loop, so a hostile file
//! costs at most what its own bytes cost to read.

use std::collections::BTreeMap;

use wasmparser::component_types::{ComponentAnyTypeId, ComponentEntityType};
use wasmparser::types::Types;
use wasmparser::{
    CustomSectionReader, FuncToValidate, FuncValidatorAllocations, FunctionBody, Parser, Payload,
    TableSectionReader, ValidPayload, Validator, ValidatorResources,
};

use super::file::check_size;
use super::functions::{Function, functions};
use super::imports::{PROMPTS, RESOURCES, TOOLS};
use super::kind::require_component;
use super::limits::{
    FEATURES, MAX_BLOCK_DEPTH, MAX_CORE_MODULES, MAX_CUSTOM_BYTES, MAX_CUSTOM_SECTIONS, MAX_FUNCTION_BYTES,
    MAX_FUNCTIONS, MAX_INSTANCES, MAX_LOCALS, MAX_NESTING, MAX_OUTER_NAMES, MAX_SEGMENTS, MAX_TABLE_ELEMENTS,
};
use super::section::MANIFEST_SECTION;
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::visible;
use crate::registry::Digest;

/// How much of a name or of a reason from the file is shown.
const MAX_SHOWN: usize = 120;

/// What the bytes of a component say.
#[derive(Debug)]
pub struct Scan {
    /// SHA-256 of the file.
    pub digest: Digest,
    /// Bytes of the file.
    pub size: u64,
    /// What it imports, in order.
    pub imports: Vec<Import>,
    /// What it exports, in order.
    pub exports: Vec<String>,
    /// The functions that it exports beside the contract's, in order.
    pub functions: Vec<Function>,
    /// Whether it exports the `tools` interface with its function.
    pub exports_tools: bool,
    /// Whether it exports the `resources` interface with its function.
    pub exports_resources: bool,
    /// Whether it exports the `prompts` interface with its function.
    pub exports_prompts: bool,
    /// Custom sections by name, with their bytes, nested modules included.
    pub custom_sections: Vec<(String, u64)>,
}

/// One import of a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// The interface, with its version.
    pub name: String,
    /// Whether it holds types alone, so that there is nothing to call.
    pub types_only: bool,
}

/// Validates `bytes` and notes what they say. It does not look into the manifest.
pub fn scan(bytes: &[u8]) -> Result<Scan> {
    check_size(bytes.len())?;
    require_component(bytes)?;
    let mut parser = Parser::new(0);
    parser.set_features(FEATURES);
    let mut validator = Validator::new_with_features(FEATURES);
    let mut scanner = Scanner::default();
    let mut outer = None;
    for payload in parser.parse_all(bytes) {
        let payload = payload.map_err(|error| invalid(&error))?;
        // Counting comes first: it costs nothing, and validating may.
        scanner.count(&payload)?;
        match validator.payload(&payload).map_err(|error| invalid(&error))? {
            ValidPayload::Func(function, body) => scanner.function(function, &body)?,
            // The outermost level ends last.
            ValidPayload::End(types) => outer = Some(types),
            ValidPayload::Ok | ValidPayload::Parser(_) => {}
        }
        scanner.note(&payload)?;
    }
    let Some(types) = outer else {
        return Err(Error::new(ErrorKind::ComponentInvalid, "the file is cut short"));
    };
    Ok(Scan {
        digest: Digest::of(bytes),
        size: bytes.len() as u64,
        imports: scanner.imports.into_iter().map(|name| import(name, &types)).collect(),
        functions: functions(&scanner.exports, &types),
        exports_tools: exports(TOOLS, "call", &types),
        exports_resources: exports(RESOURCES, "read", &types),
        exports_prompts: exports(PROMPTS, "get", &types),
        exports: scanner.exports,
        custom_sections: scanner.custom_sections.into_iter().collect(),
    })
}

/// An error of the validator, as a sentence that says where.
pub(super) fn invalid(error: &wasmparser::Error) -> Error {
    let reason = visible(error.message().lines().last().unwrap_or_default(), MAX_SHOWN);
    let at = error.offset();
    if error.missing_wasm_feature().is_some() {
        let message = format!("it uses a feature of WebAssembly that is switched off: {reason} (at byte {at})");
        return Error::new(ErrorKind::ComponentInvalid, message)
            .detail(error)
            .hint("build it for plain `wasm32-unknown-unknown`, without extra target features");
    }
    let what = if reason.contains("unexpected end") { "the file is cut short" } else { "the file is not valid" };
    Error::new(ErrorKind::ComponentInvalid, format!("{what}: {reason} (at byte {at})")).detail(error)
}

fn import(name: String, types: &Types) -> Import {
    let types_only = types.component_item_for_import(&name).is_some_and(|item| holds_types_only(&item.ty, types));
    Import { name, types_only }
}

/// A resource counts as something to call: it comes with a destructor.
fn holds_types_only(item: &ComponentEntityType, types: &Types) -> bool {
    let is_plain_type = |item: &ComponentEntityType| {
        matches!(item, ComponentEntityType::Type { created, .. }
            if !matches!(created, ComponentAnyTypeId::Resource(_)))
    };
    match item {
        ComponentEntityType::Instance(id) => types[*id].exports.values().all(|export| is_plain_type(&export.ty)),
        item => is_plain_type(item),
    }
}

fn exports(interface: &str, function: &str, types: &Types) -> bool {
    let Some(item) = types.component_item_for_export(interface) else { return false };
    let ComponentEntityType::Instance(id) = item.ty else { return false };
    types[id].exports.get(function).is_some_and(|export| matches!(export.ty, ComponentEntityType::Func(_)))
}

/// The counters, over all levels together.
#[derive(Default)]
struct Scanner {
    nesting: u64,
    modules: u64,
    instances: u64,
    functions: u64,
    locals: u64,
    segments: u64,
    table_elements: u64,
    custom_bytes: u64,
    custom_count: u64,
    outer_names: u64,
    imports: Vec<String>,
    exports: Vec<String>,
    custom_sections: BTreeMap<String, u64>,
    allocations: FuncValidatorAllocations,
}

impl Scanner {
    /// Counts what one part of the file declares, before anything is made of it.
    fn count(&mut self, payload: &Payload<'_>) -> Result<()> {
        match payload {
            Payload::Version { .. } => {
                self.nesting += 1;
                Ok(())
            }
            Payload::End(_) => {
                self.nesting = self.nesting.saturating_sub(1);
                Ok(())
            }
            Payload::ComponentSection { .. } => at_most(self.nesting + 1, MAX_NESTING, "levels of components"),
            Payload::ModuleSection { .. } => add(&mut self.modules, 1, MAX_CORE_MODULES, "core modules"),
            Payload::InstanceSection(section) => self.add_instances(section.count()),
            Payload::ComponentInstanceSection(section) => self.add_instances(section.count()),
            Payload::FunctionSection(section) => {
                add(&mut self.functions, section.count().into(), MAX_FUNCTIONS, "functions")
            }
            Payload::CodeSectionEntry(body) => {
                at_most(body.as_bytes().len() as u64, MAX_FUNCTION_BYTES, "bytes in one function")
            }
            Payload::DataSection(section) => self.add_segments(section.count()),
            Payload::ElementSection(section) => self.add_segments(section.count()),
            Payload::TableSection(section) => self.add_tables(section),
            Payload::CustomSection(section) => self.add_custom(section),
            Payload::ComponentImportSection(section) if self.nesting == 1 => {
                add(&mut self.outer_names, section.count().into(), MAX_OUTER_NAMES, "imports and exports")
            }
            Payload::ComponentExportSection(section) if self.nesting == 1 => {
                add(&mut self.outer_names, section.count().into(), MAX_OUTER_NAMES, "imports and exports")
            }
            _ => Ok(()),
        }
    }

    /// Notes what the outer component imports and exports, once it is known to be valid.
    fn note(&mut self, payload: &Payload<'_>) -> Result<()> {
        match payload {
            Payload::ComponentImportSection(section) if self.nesting == 1 => {
                for import in section.clone() {
                    self.imports.push(import.map_err(|error| invalid(&error))?.name.name.to_owned());
                }
            }
            Payload::ComponentExportSection(section) if self.nesting == 1 => {
                for export in section.clone() {
                    self.exports.push(export.map_err(|error| invalid(&error))?.name.name.to_owned());
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Validates one function, operator by operator, so that its depth is seen while it grows.
    fn function(&mut self, function: FuncToValidate<ValidatorResources>, body: &FunctionBody<'_>) -> Result<()> {
        let mut validator = function.into_validator(std::mem::take(&mut self.allocations));
        let mut reader = body.get_binary_reader();
        reader.set_features(FEATURES);
        validator.read_locals(&mut reader).map_err(|error| invalid(&error))?;
        add(&mut self.locals, validator.len_locals().into(), MAX_LOCALS, "local variables")?;
        while !reader.eof() {
            let offset = reader.original_position();
            reader
                .visit_operator(&mut validator.visitor(offset))
                .and_then(|result| result)
                .map_err(|error| invalid(&error))?;
            at_most(validator.control_stack_height().into(), MAX_BLOCK_DEPTH.into(), "nested blocks")?;
        }
        let offset = reader.original_position();
        reader.finish_expression(&validator.visitor(offset)).map_err(|error| invalid(&error))?;
        self.allocations = validator.into_allocations();
        Ok(())
    }

    fn add_instances(&mut self, count: u32) -> Result<()> {
        add(&mut self.instances, count.into(), MAX_INSTANCES, "instances")
    }

    fn add_segments(&mut self, count: u32) -> Result<()> {
        add(&mut self.segments, count.into(), MAX_SEGMENTS, "data and element segments")
    }

    fn add_tables(&mut self, section: &TableSectionReader<'_>) -> Result<()> {
        for table in section.clone() {
            let initial = table.map_err(|error| invalid(&error))?.ty.initial;
            add(&mut self.table_elements, initial, MAX_TABLE_ELEMENTS, "table elements")?;
        }
        Ok(())
    }

    fn add_custom(&mut self, section: &CustomSectionReader<'_>) -> Result<()> {
        if section.name() == MANIFEST_SECTION && self.nesting > 1 {
            let message = "a module inside the component carries a manifest, and only the component may";
            return Err(Error::new(ErrorKind::ManifestInvalid, message).hint("build it again: remit build"));
        }
        let bytes = section.data().len() as u64;
        add(&mut self.custom_count, 1, MAX_CUSTOM_SECTIONS, "custom sections")?;
        add(&mut self.custom_bytes, bytes, MAX_CUSTOM_BYTES, "bytes in custom sections")?;
        *self.custom_sections.entry(visible(section.name(), MAX_SHOWN)).or_default() += bytes;
        Ok(())
    }
}

fn add(counter: &mut u64, amount: u64, limit: u64, what: &str) -> Result<()> {
    *counter = counter.saturating_add(amount);
    at_most(*counter, limit, what)
}

fn at_most(value: u64, limit: u64, what: &str) -> Result<()> {
    if value <= limit {
        return Ok(());
    }
    Err(Error::new(ErrorKind::ComponentTooLarge, format!("the component has more than {limit} {what}"))
        .hint("strip and optimise it: `remit build` does both"))
}
