//! Takes out what a host never reads: names, producers, debug information, and metadata that has done its
//! work. What is left depends only on code and manifest, so equal source gives equal bytes.

use super::kind::{Kind, kind};
use super::section::{CUSTOM, header, raw_sections};
use crate::component::limits::MAX_NESTING;
use crate::error::{Error, ErrorKind, Result};

/// The section of a component that holds a core module.
const CORE_MODULE: u8 = 1;
/// The section of a component that holds a component.
const COMPONENT: u8 = 4;

/// Names of functions: what makes the report of a trap readable.
const NAMES: &str = "name";

/// `bytes` without custom sections, in nested modules and components too. `keep_names` leaves the names
/// of functions.
pub fn strip(bytes: &[u8], keep_names: bool) -> Result<Vec<u8>> {
    strip_level(bytes, keep_names, 1)
}

fn strip_level(bytes: &[u8], keep_names: bool, level: u64) -> Result<Vec<u8>> {
    // A core module is the leaf below the innermost component.
    if level > MAX_NESTING + 1 {
        let message = format!("components are nested more than {MAX_NESTING} deep");
        return Err(Error::new(ErrorKind::ComponentTooLarge, message));
    }
    let is_component = kind(bytes)? == Kind::Component;
    let mut stripped = Vec::with_capacity(bytes.len());
    stripped.extend_from_slice(header(bytes)?);
    for section in raw_sections(bytes)? {
        let section = section?;
        match section.id {
            CUSTOM if keep_names && section.custom_name()? == Some(NAMES) => {
                section.append_to(&mut stripped, section.body);
            }
            CUSTOM => {}
            CORE_MODULE | COMPONENT if is_component => {
                section.append_to(&mut stripped, &strip_level(section.body, keep_names, level + 1)?);
            }
            _ => section.append_to(&mut stripped, section.body),
        }
    }
    Ok(stripped)
}
