//! What a file is, judged by its first bytes, so that a person who picked the wrong file is told which one
//! they picked.

use crate::error::{Error, ErrorKind, Result};

/// The first four bytes of every WebAssembly file.
const WASM_MAGIC: &[u8] = b"\0asm";
/// Version 1 of the core format, layer 0.
const CORE_MODULE: [u8; 4] = [1, 0, 0, 0];
/// Version 13 of the component format, layer 1.
const COMPONENT: [u8; 4] = [13, 0, 1, 0];
/// Magic and version.
pub(super) const HEADER_BYTES: usize = 8;

/// Where an ELF file says which system it is for, and the value that wasmtime puts there.
const ELF_SYSTEM: usize = 7;
const ELF_SYSTEM_WASMTIME: u8 = 200;

/// Files that people take for a component, by what they begin with.
const OTHERS: &[(&[u8], &str)] = &[
    (b"PK\x03\x04", "a ZIP archive"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive"),
    (b"MZ", "a Windows program"),
    (b"#!", "a script"),
    (b"{", "JSON text"),
];

/// What a WebAssembly file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Component,
    CoreModule,
}

/// Says whether `bytes` are a component or a core module, or what they are instead.
pub(super) fn kind(bytes: &[u8]) -> Result<Kind> {
    let Some(rest) = bytes.strip_prefix(WASM_MAGIC) else {
        return Err(something_else(bytes));
    };
    match rest.first_chunk() {
        Some(&COMPONENT) => Ok(Kind::Component),
        Some(&CORE_MODULE) => Ok(Kind::CoreModule),
        Some(_) => Err(invalid("the file is WebAssembly of a version that this program does not know")),
        None => Err(invalid("the file is cut short: it ends inside its header")),
    }
}

/// Whether `bytes` are a component and not a core module. Anything else is an error that names it.
pub fn is_component(bytes: &[u8]) -> Result<bool> {
    Ok(kind(bytes)? == Kind::Component)
}

/// Refuses everything but a component.
pub(super) fn require_component(bytes: &[u8]) -> Result<()> {
    match kind(bytes)? {
        Kind::Component => Ok(()),
        Kind::CoreModule => Err(not_component("a core WebAssembly module, not a component")
            .hint("remit build FILE.wasm --manifest capability.json")),
    }
}

fn something_else(bytes: &[u8]) -> Error {
    if bytes.is_empty() {
        return not_component("empty");
    }
    if WASM_MAGIC.starts_with(bytes) {
        return invalid("the file is cut short: it ends inside its header");
    }
    if bytes.starts_with(b"\x7fELF") {
        return elf(bytes);
    }
    if is_text_format(bytes) {
        return not_component("a component or module in text format")
            .hint("make the binary first: wasm-tools parse FILE.wat -o FILE.wasm");
    }
    match OTHERS.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        Some((_, name)) => not_component(name),
        None => not_component("not WebAssembly"),
    }
    .hint("make a component from source: remit build DIR")
}

fn elf(bytes: &[u8]) -> Error {
    if bytes.get(ELF_SYSTEM) == Some(&ELF_SYSTEM_WASMTIME) {
        // Loading foreign machine code would be running it.
        return not_component("code that was compiled ahead of time, which is never loaded from outside")
            .hint("use the component that it was compiled from");
    }
    not_component("a native program or library").hint("make a component from source: remit build DIR")
}

/// Whether the first thing that is neither space nor comment is an opening parenthesis.
fn is_text_format(bytes: &[u8]) -> bool {
    let text = bytes.trim_ascii_start();
    text.starts_with(b"(") || text.starts_with(b";;")
}

fn not_component(what: &str) -> Error {
    Error::new(ErrorKind::NotComponent, format!("the file is {what}"))
}

fn invalid(message: &str) -> Error {
    Error::new(ErrorKind::ComponentInvalid, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_wrong_file_is_named() {
        let cases: &[(&[u8], &str)] = &[
            (b"", "component/not-a-component: the file is empty"),
            (b"\0", "component/invalid: the file is cut short: it ends inside its header"),
            (b"\0asm", "component/invalid: the file is cut short: it ends inside its header"),
            (b"\0asm\x0d\0\x01", "component/invalid: the file is cut short: it ends inside its header"),
            (
                b"\0asm\x01\0\0\0",
                "component/not-a-component: the file is a core WebAssembly module, not a component",
            ),
            (
                b"\0asm\x0a\0\x01\0",
                "component/invalid: the file is WebAssembly of a version that this program does not know",
            ),
            (b"(component)", "component/not-a-component: the file is a component or module in text format"),
            (
                b"\n ;; a comment\n(module)",
                "component/not-a-component: the file is a component or module in text format",
            ),
            (
                b"\x7fELF\x02\x01\x01\xc8",
                "component/not-a-component: the file is code that was compiled ahead of time, which is never loaded from outside",
            ),
            (b"\x7fELF\x02\x01\x01\0", "component/not-a-component: the file is a native program or library"),
            (b"\x7fELF", "component/not-a-component: the file is a native program or library"),
            (b"PK\x03\x04", "component/not-a-component: the file is a ZIP archive"),
            (b"{\"slug\":1}", "component/not-a-component: the file is JSON text"),
            (b"hello", "component/not-a-component: the file is not WebAssembly"),
        ];
        for (bytes, expected) in cases {
            assert_eq!(require_component(bytes).unwrap_err().to_string(), *expected);
        }
        assert!(require_component(b"\0asm\x0d\0\x01\0").is_ok());
    }
}
