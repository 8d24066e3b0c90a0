//! Small guests, written as text: each does one thing that a host must survive, and says so in its name.
//!
//! They are core modules that follow the canonical ABI by hand, made into components here, so that a
//! test needs no toolchain for them.

#![expect(clippy::expect_used, reason = "a guest that does not build is a broken test")]

mod ask;
mod documents;
mod http;
mod typed;

use std::path::Path;

pub use ask::Asked;
use documents::Documents;
pub use typed::{hostile, typed, with_type};

use serde_json::{Value, json};
use wasm_encoder::{Encode, Section};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// Where the answer of the one exported function lies in the guests' memory.
const ANSWER: &str = r#"
  (memory (export "memory") {PAGES})
  (global $next (mut i32) (i32.const 4096))
  ;; A bump allocator: an instance lives for one call.
  (func $realloc (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
    (local $at i32)
    (local.set $at (i32.and (i32.add (global.get $next) (i32.const 7)) (i32.const -8)))
    (global.set $next (i32.add (local.get $at) (local.get 3)))
    (block $fits
      (br_if $fits (i32.le_u (global.get $next) (i32.mul (memory.size) (i32.const 65536))))
      (if (i32.eq (i32.const -1) (memory.grow (i32.add (i32.const 1) (i32.shr_u (local.get 3) (i32.const 16)))))
        (then unreachable)))
    (local.get $at))
  ;; One text of `len` bytes at `at`, as a successful reply at address 64.
  (func $text (param $at i32) (param $len i32) (result i32)
    (i32.store8 (i32.const 64) (i32.const 0))
    (i32.store8 (i32.const 68) (i32.const 0))
    (i32.store (i32.const 80) (i32.const 128))
    (i32.store (i32.const 84) (i32.const 1))
    (i32.store8 (i32.const 128) (i32.const 0))
    (i32.store (i32.const 132) (local.get $at))
    (i32.store (i32.const 136) (local.get $len))
    (i32.const 64))
  ;; Structured output of `len` bytes at `at`, at address 64.
  (func $structured (param $at i32) (param $len i32) (result i32)
    (i32.store8 (i32.const 64) (i32.const 0))
    (i32.store8 (i32.const 68) (i32.const 1))
    (i32.store (i32.const 72) (local.get $at))
    (i32.store (i32.const 76) (local.get $len))
    (i32.store (i32.const 80) (i32.const 128))
    (i32.store (i32.const 84) (i32.const 0))
    (i32.const 64))
  ;; A failure of kind `kind` with `len` bytes at `at`, at address 64.
  (func $failure (param $kind i32) (param $at i32) (param $len i32) (result i32)
    (i32.store8 (i32.const 64) (i32.const 1))
    (i32.store8 (i32.const 68) (local.get $kind))
    (i32.store (i32.const 72) (local.get $at))
    (i32.store (i32.const 76) (local.get $len))
    (i32.const 64))
  (data (i32.const 1024) "done")
"#;

/// A guest as text: what it does when its tool is called, and whatever else its module needs.
#[derive(Clone, Debug)]
pub struct Guest {
    items: String,
    call: String,
    pages: u32,
    imports: String,
    documents: Option<Documents>,
}

impl Guest {
    /// A guest whose tool runs the instructions in `call`. They leave the address of an answer: `$text`,
    /// `$structured` and `$failure` make one. Locals: `$tool`, `$tool_len`, `$input`, `$input_len`, `$dry`,
    /// `$run`, `$run_len`, `$has_locale`, `$locale`, `$locale_len`, and `$i`, `$j` to use.
    #[must_use]
    pub fn calling(call: &str) -> Self {
        Self { items: String::new(), call: call.to_owned(), pages: 1, imports: String::new(), documents: None }
    }

    /// Adds items to the module.
    #[must_use]
    pub fn with(mut self, items: &str) -> Self {
        self.items.push_str(items);
        self
    }

    /// Adds an import to the module.
    #[must_use]
    fn importing_line(mut self, import: &str) -> Self {
        self.imports.push_str(import);
        self
    }

    /// Starts with so many pages of memory.
    #[must_use]
    pub fn with_memory_pages(mut self, pages: u32) -> Self {
        self.pages = pages;
        self
    }

    /// Imports the `log` function as `$log`: level, address, length.
    #[must_use]
    pub fn with_log(mut self) -> Self {
        self.imports.push_str(r#"(import "remit:capability/log@0.1.0" "log" (func $log (param i32 i32 i32)))"#);
        self
    }

    /// Answers `done`.
    #[must_use]
    pub fn done() -> Self {
        Self::calling("(call $text (i32.const 1024) (i32.const 4))")
    }

    /// Runs for ever.
    #[must_use]
    pub fn loops() -> Self {
        Self::calling("(loop $again (br $again)) (unreachable)")
    }

    /// Runs for ever before it is even called.
    #[must_use]
    pub fn loops_at_start() -> Self {
        Self::done().with("(func $start (loop $again (br $again))) (start $start)")
    }

    /// Copies a large memory over itself for ever.
    #[must_use]
    pub fn copies() -> Self {
        Self::calling(
            "(drop (memory.grow (i32.const 256)))
             (loop $again
               (memory.copy (i32.const 0) (i32.const 65536) (i32.const 16777216)) (br $again)) (unreachable)",
        )
    }

    /// Asks for memory for ever, and fails as programs do when they get none.
    #[must_use]
    pub fn allocates() -> Self {
        Self::calling(
            "(loop $again
               (if (i32.eq (memory.grow (i32.const 16)) (i32.const -1)) (then (unreachable)))
               (br $again)) (unreachable)",
        )
    }

    /// Traps.
    #[must_use]
    pub fn traps() -> Self {
        Self::calling("(unreachable)")
    }

    /// Calls itself for ever.
    #[must_use]
    pub fn recurses() -> Self {
        Self::calling("(call $deeper (i32.const 0)) (unreachable)").with(
            "(func $deeper (param i32) (call $deeper (i32.add (local.get 0) (i32.const 1)))
               (drop (i32.load (local.get 0))))",
        )
    }

    /// Divides by zero.
    #[must_use]
    pub fn divides_by_zero() -> Self {
        Self::calling("(i32.div_u (i32.const 1) (local.get $i))")
    }

    /// Answers with a text of so many bytes.
    #[must_use]
    pub fn answers_with(bytes: usize) -> Self {
        Self::calling(&format!(
            "(local.set $i (call $realloc (i32.const 0) (i32.const 0) (i32.const 1) (i32.const {bytes})))
             (memory.fill (local.get $i) (i32.const 120) (i32.const {bytes}))
             (call $text (local.get $i) (i32.const {bytes}))"
        ))
    }

    /// Answers with text that is not UTF-8.
    #[must_use]
    pub fn answers_with_broken_text() -> Self {
        Self::calling("(call $text (i32.const 2048) (i32.const 4))")
            .with(r#"(data (i32.const 2048) "\ff\fe\80a")"#)
    }

    /// Answers with a text far outside its memory.
    #[must_use]
    pub fn answers_from_outside() -> Self {
        Self::calling("(call $text (i32.const 0x7fff0000) (i32.const 100000))")
    }

    /// Answers with structured output.
    #[must_use]
    pub fn structured(json: &str) -> Self {
        Self::calling(&format!("(call $structured (i32.const 2048) (i32.const {}))", json.len()))
            .with(&format!("(data (i32.const 2048) {json:?})"))
    }

    /// Fails with a message: kind 0 is invalid input, 1 not found, 2 failed.
    #[must_use]
    pub fn fails(kind: u8, message: &str) -> Self {
        Self::calling(&format!(
            "(call $failure (i32.const {kind}) (i32.const 2048) (i32.const {}))",
            message.len()
        ))
        .with(&format!("(data (i32.const 2048) {message:?})"))
    }

    /// Answers its own input.
    #[must_use]
    pub fn echoes() -> Self {
        Self::calling("(call $text (local.get $input) (local.get $input_len))")
    }

    /// Answers what it finds at the end of fresh memory: zeros, unless another call left something there.
    #[must_use]
    pub fn reads_fresh_memory_then_fills_it() -> Self {
        Self::calling(
            "(drop (memory.grow (i32.const 16)))
             (local.set $i (i32.const 500000))
             (block $end (loop $again
               (br_if $end (i32.ge_u (local.get $i) (i32.const 1000000)))
               (if (i32.load8_u (local.get $i)) (then (return (call $failure (i32.const 2) (i32.const 1024) (i32.const 4)))))
               (local.set $i (i32.add (local.get $i) (i32.const 1)))
               (br $again)))
             (memory.fill (i32.const 500000) (i32.const 67) (i32.const 500000))
             (call $text (i32.const 1024) (i32.const 4))",
        )
    }

    /// Logs so many times.
    #[must_use]
    pub fn logs(times: u32, message: &str) -> Self {
        Self::calling(&format!(
            "(block $end (loop $again
               (br_if $end (i32.ge_u (local.get $i) (i32.const {times})))
               (call $log (i32.const 1) (i32.const 2048) (i32.const {}))
               (local.set $i (i32.add (local.get $i) (i32.const 1)))
               (br $again)))
             (call $text (i32.const 1024) (i32.const 4))",
            message.len()
        ))
        .with(&format!("(data (i32.const 2048) {message:?})"))
        .with_log()
    }

    /// The core module, as text.
    #[must_use]
    pub fn text(&self) -> String {
        format!(
            r#"(module {imports} {answer} {items}
              (func (export "remit:capability/tools@0.1.0#call")
                (param $tool i32) (param $tool_len i32) (param $input i32) (param $input_len i32)
                (param $dry i32) (param $run i32) (param $run_len i32)
                (param $has_locale i32) (param $locale i32) (param $locale_len i32)
                (result i32) (local $i i32) (local $j i32)
                {call}) {documents})"#,
            imports = self.imports,
            answer = ANSWER.replace("{PAGES}", &self.pages.to_string()),
            items = self.items,
            call = self.call,
            documents = self.documents.as_ref().map(Documents::text).unwrap_or_default(),
        )
    }

    /// The core module with the contract's metadata: what a compiler gives to `remit build`.
    #[must_use]
    pub fn module(&self) -> Vec<u8> {
        let mut module = wat::parse_str(self.text()).expect("the text is a module");
        let wit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit");
        let world = if self.documents.is_some() { "capability-with-documents" } else { "capability" };
        let mut resolve = Resolve::default();
        let (package, _) = resolve.push_dir(&wit).expect("the contract parses");
        let world = resolve.select_world(&[package], Some(world)).expect("the contract has a world");
        embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).expect("metadata");
        module
    }

    /// The component, without a manifest.
    #[must_use]
    pub fn component(&self) -> Vec<u8> {
        ComponentEncoder::default()
            .module(&self.module())
            .expect("the module follows the contract")
            .validate(true)
            .encode()
            .expect("a component")
    }

    /// The capability `test/SLUG` with this guest behind its one tool, `run`.
    #[must_use]
    pub fn capability(&self, slug: &str) -> Vec<u8> {
        self.with_manifest(&manifest(slug))
    }

    /// The capability with a manifest of the test's own.
    #[must_use]
    pub fn with_manifest(&self, manifest: &Value) -> Vec<u8> {
        with_manifest(self.component(), manifest.to_string().as_bytes())
    }
}

/// A component that has a tool, and imports a function of `interface`.
///
/// # Panics
/// When `interface` is no name of one.
#[must_use]
pub fn importing(interface: &str) -> Vec<u8> {
    let text = format!(
        r#"(component
          (import "{interface}" (instance (export "call" (func))))
          (core module $m (func (export "f")))
          (core instance $i (instantiate $m))
          (func $f (canon lift (core func $i "f")))
          (instance $tools (export "call" (func $f)))
          (export "remit:capability/tools@0.1.0" (instance $tools)))"#
    );
    wat::parse_str(text).expect("the text is a component")
}

/// A component with a manifest section, whatever is in it.
#[must_use]
pub fn with_manifest(mut component: Vec<u8>, manifest: &[u8]) -> Vec<u8> {
    let section = wasm_encoder::CustomSection { name: "remit:manifest".into(), data: manifest.into() };
    component.push(section.id());
    section.encode(&mut component);
    component
}

/// The manifest of `test/SLUG` version 1.0.0 with one tool, `run`, that takes anything under `input`.
#[must_use]
pub fn manifest(slug: &str) -> Value {
    json!({
        "publisher": "test",
        "slug": slug,
        "version": "1.0.0",
        "title": slug,
        "description": "A guest for tests.",
        "runtime": "component",
        "tools": [{
            "name": "run",
            "description": "Does what the guest does.",
            "inputSchema": {
                "type": "object",
                "additionalProperties": false,
                "properties": { "input": { "type": "string" } },
            },
            "readOnly": true,
            "idempotent": true,
            "expose": true,
            "run": { "kind": "component" },
        }],
    })
}

#[cfg(test)]
mod tests {
    use super::{Asked, Guest};

    #[test]
    fn every_guest_is_a_component() {
        let guests = [
            Guest::done(),
            Guest::loops(),
            Guest::loops_at_start(),
            Guest::copies(),
            Guest::allocates(),
            Guest::traps(),
            Guest::recurses(),
            Guest::divides_by_zero(),
            Guest::answers_with(10),
            Guest::answers_with_broken_text(),
            Guest::answers_from_outside(),
            Guest::structured(r#"{"a":1}"#),
            Guest::fails(2, "no"),
            Guest::echoes(),
            Guest::reads_fresh_memory_then_fills_it(),
            Guest::logs(3, "hello"),
            Guest::sends(0, "https://api.example.com/"),
            Guest::asks(&[
                ("q".to_owned(), Asked::Sample("hello".to_owned(), 10)),
                ("r".to_owned(), Asked::Roots),
            ]),
            Guest::offers(&[(0, "run", false)]),
            Guest::updates("note:1", 2),
            Guest::reports(3, "step"),
            Guest::done().with_put().with_documents(),
            Guest::sends_and_fails(5, "https://api.example.com/"),
            Guest::two_faced("https://api.example.com/a", "https://api.example.com/b"),
        ];
        for guest in guests {
            assert!(guest.component().starts_with(b"\0asm\x0d\0\x01\0"), "{}", guest.text());
        }
    }
}
