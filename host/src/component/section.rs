//! The custom sections that carry what WebAssembly itself does not: the manifest in a component, and what
//! the SDK derived from source in a core module.
//!
//! It works on the file's outermost sections as raw bytes and leaves everything else as it is.

use wasm_encoder::{CustomSection, Encode, Section};
use wasmparser::BinaryReader;

use super::kind::{HEADER_BYTES, kind};
use super::limits::MAX_MANIFEST_BYTES;
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::{self, Manifest};

/// Holds the manifest, as JSON, once, at the outermost level of a component.
pub const MANIFEST_SECTION: &str = "remit:manifest";

/// Each holds what the SDK derived of one list of the manifest, as JSON arrays, in the core module that the compiler
/// made.
pub const TOOLS_SECTION: &str = "remit:tools";
/// Likewise, `resources`.
pub const RESOURCES_SECTION: &str = "remit:resources";
/// Likewise, `resourceTemplates`.
pub const TEMPLATES_SECTION: &str = "remit:resource-templates";
/// Likewise, `prompts`.
pub const PROMPTS_SECTION: &str = "remit:prompts";

/// The id of custom sections, in core modules and components alike.
pub(super) const CUSTOM: u8 = 0;

/// Puts `manifest` into `component`, in place of one that is there.
pub fn embed(component: &[u8], manifest: &Manifest) -> Result<Vec<u8>> {
    let json = serde_json::to_vec(manifest)
        .map_err(|error| Error::internal("a manifest could not be written as JSON").detail(error))?;
    let mut bytes = Vec::with_capacity(component.len() + json.len());
    bytes.extend_from_slice(header(component)?);
    for section in raw_sections(component)? {
        let section = section?;
        if section.custom_name()? != Some(MANIFEST_SECTION) {
            section.append_to(&mut bytes, section.body);
        }
    }
    let section = CustomSection { name: MANIFEST_SECTION.into(), data: json.into() };
    bytes.push(section.id());
    section.encode(&mut bytes);
    Ok(bytes)
}

/// Checks that what is stored of a component's manifest is what the component says: decisions are made by the one, and
/// belong to the other.
pub fn agrees(component: &[u8], stored: &Manifest) -> Result<()> {
    let text = |manifest: &Manifest| serde_json::to_string(manifest).ok();
    let embedded = read_manifest(component).ok();
    if embedded.as_ref().and_then(text).is_some_and(|embedded| Some(embedded) == text(stored)) {
        return Ok(());
    }
    let (publisher, slug) = (&stored.publisher, &stored.slug);
    let message = format!("what is stored of `{publisher}/{slug}` is not what its component says");
    Err(Error::new(ErrorKind::ManifestMismatch, message)
        .hint(format!("remit uninstall {publisher}/{slug}, then install the same file again")))
}

/// Reads the manifest that is embedded in `component`. It says nothing about whether its rules hold.
pub fn read_manifest(component: &[u8]) -> Result<Manifest> {
    let found = custom_sections(component, MANIFEST_SECTION)?;
    let json = match found.as_slice() {
        [json] => *json,
        [] => {
            return Err(Error::new(ErrorKind::ManifestMissing, "the component carries no manifest")
                .hint("remit build FILE.wasm --manifest capability.json"));
        }
        _ => {
            let message = format!("the component carries {} manifests, and there must be one", found.len());
            return Err(Error::new(ErrorKind::ManifestInvalid, message));
        }
    };
    if json.len() > MAX_MANIFEST_BYTES {
        let message = format!("the manifest is larger than {} KiB", MAX_MANIFEST_BYTES / 1024);
        return Err(Error::new(ErrorKind::ManifestInvalid, message));
    }
    manifest::parse(json)
}

/// The contents of every custom section of this name at the outermost level, in order.
pub fn custom_sections<'a>(bytes: &'a [u8], name: &str) -> Result<Vec<&'a [u8]>> {
    let mut found = Vec::new();
    for section in raw_sections(bytes)? {
        let section = section?;
        if section.custom_name()? == Some(name) {
            found.push(section.custom_data()?);
        }
    }
    Ok(found)
}

/// One section as it stands in the file.
#[derive(Clone, Copy)]
pub(super) struct RawSection<'a> {
    pub(super) id: u8,
    pub(super) body: &'a [u8],
}

impl<'a> RawSection<'a> {
    /// The name of a custom section; nothing for other sections.
    pub(super) fn custom_name(&self) -> Result<Option<&'a str>> {
        if self.id != CUSTOM {
            return Ok(None);
        }
        BinaryReader::new(self.body, 0).read_string().map(Some).map_err(|error| damaged(&error))
    }

    fn custom_data(&self) -> Result<&'a [u8]> {
        let mut reader = BinaryReader::new(self.body, 0);
        reader.read_string().map_err(|error| damaged(&error))?;
        reader.read_bytes(reader.bytes_remaining()).map_err(|error| damaged(&error))
    }

    /// Writes this section's id, and `body` with its length.
    pub(super) fn append_to(&self, bytes: &mut Vec<u8>, body: &[u8]) {
        bytes.push(self.id);
        body.encode(bytes);
    }
}

/// Magic and version of a module or component.
pub(super) fn header(bytes: &[u8]) -> Result<&[u8]> {
    kind(bytes)?;
    Ok(&bytes[..HEADER_BYTES])
}

/// The outermost sections of a module or component, in order.
pub(super) fn raw_sections(bytes: &[u8]) -> Result<impl Iterator<Item = Result<RawSection<'_>>>> {
    kind(bytes)?;
    let mut reader = BinaryReader::new(&bytes[HEADER_BYTES..], HEADER_BYTES);
    let mut failed = false;
    Ok(std::iter::from_fn(move || {
        if failed || reader.eof() {
            return None;
        }
        let section = raw_section(&mut reader);
        failed = section.is_err();
        Some(section.map_err(|error| damaged(&error)))
    }))
}

fn raw_section<'a>(reader: &mut BinaryReader<'a>) -> wasmparser::Result<RawSection<'a>> {
    let id = reader.read_u8()?;
    let size = reader.read_var_u32()?;
    Ok(RawSection { id, body: reader.read_bytes(size as usize)? })
}

fn damaged(error: &wasmparser::Error) -> Error {
    let message = format!("the file is damaged or cut short near byte {}", error.offset());
    Error::new(ErrorKind::ComponentInvalid, message).detail(error.message())
}
