//! Components that were made for another host: functions with types of their own, and modules that do not keep to
//! them.

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

use super::ANSWER;

/// A component with the world `typed` of `wit`, around a module with these imports and functions. They have a memory of
/// a megabyte, and the text `done` at 1024.
///
/// # Panics
/// When the functions do not fit the world.
#[must_use]
pub fn typed(wit: &str, imports: &str, functions: &str) -> Vec<u8> {
    let text = format!("(module {imports}\n{}\n{functions})", ANSWER.replace("{PAGES}", "16"));
    let mut module = wat::parse_str(text).expect("the text is a module");
    let mut resolve = Resolve::default();
    let package = resolve.push_str("typed.wit", wit).expect("the world parses");
    let world = resolve.select_world(&[package], Some("typed")).expect("the world is called typed");
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).expect("metadata");
    ComponentEncoder::default()
        .module(&module)
        .expect("the module has the functions of the world")
        .validate(true)
        .encode()
        .expect("a component")
}

/// A world whose functions each break another promise.
const HOSTILE_WORLD: &str = "
package test:hostile;
world typed {
  enum colour { red, green }
  flags marks { bold, wide }
  export lies: func() -> list<string>;
  export beyond: func() -> string;
  export broken: func() -> string;
  export aliases: func() -> list<list<u8>>;
  export no-number: func() -> f64;
  export no-colour: func() -> colour;
  export no-char: func() -> char;
  export odd: func() -> list<u32>;
  export traps: func() -> bool;
  export spins: func();
  export grows: func();
  export fails: func() -> result<u8, colour>;
  export fails-bare: func() -> result;
  export fails-text: func() -> result<u8, string>;
  export more-marks: func() -> marks;
  export takes: func(bytes: list<u8>) -> u32;
  export wide: func(n: u64) -> u64;
  export nothing: func();
}
";

const HOSTILE_FUNCTIONS: &str = r#"
  (func $pair (param $at i32) (param $len i32) (result i32)
    (i32.store (i32.const 64) (local.get $at))
    (i32.store (i32.const 68) (local.get $len))
    (i32.const 64))
  (data (i32.const 2048) "\ff\fe\fd")
  (func (export "lies") (result i32) (call $pair (i32.const 1024) (i32.const 0x7fffffff)))
  (func (export "beyond") (result i32) (call $pair (i32.const 0x7ffffff0) (i32.const 4)))
  (func (export "broken") (result i32) (call $pair (i32.const 2048) (i32.const 3)))
  ;; 60,000 lists, and each is the same 60,000 bytes: 3.6 GB out of one megabyte.
  (func (export "aliases") (result i32) (local $i i32)
    (loop $next
      (i32.store (i32.add (i32.const 65536) (i32.mul (local.get $i) (i32.const 8))) (i32.const 0))
      (i32.store (i32.add (i32.const 65540) (i32.mul (local.get $i) (i32.const 8))) (i32.const 60000))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const 60000))))
    (call $pair (i32.const 65536) (i32.const 60000)))
  (func (export "no-number") (result f64) (f64.const nan))
  (func (export "no-colour") (result i32) (i32.const 7))
  (func (export "no-char") (result i32) (i32.const 0xd800))
  (func (export "odd") (result i32) (call $pair (i32.const 1025) (i32.const 1)))
  (func (export "traps") (result i32) unreachable)
  (func (export "spins") (loop $for_ever (br $for_ever)))
  (func (export "grows")
    (loop $on (br_if $on (i32.ne (i32.const -1) (memory.grow (i32.const 16)))))
    unreachable)
  (func (export "fails") (result i32)
    (i32.store8 (i32.const 64) (i32.const 1))
    (i32.store8 (i32.const 65) (i32.const 1))
    (i32.const 64))
  (func (export "fails-bare") (result i32) (i32.const 1))
  (func (export "fails-text") (result i32)
    (i32.store8 (i32.const 64) (i32.const 1))
    (i32.store (i32.const 68) (i32.const 1024))
    (i32.store (i32.const 72) (i32.const 4))
    (i32.const 64))
  (func (export "more-marks") (result i32) (i32.const 0xff))
  (func (export "takes") (param i32 i32) (result i32) (local.get 1))
  (func (export "wide") (param i64) (result i64) (local.get 0))
  (func (export "nothing"))
"#;

/// A component whose functions each break another promise, and some that keep it.
#[must_use]
pub fn hostile() -> Vec<u8> {
    typed(HOSTILE_WORLD, "", HOSTILE_FUNCTIONS)
}

/// A component with one function, `deep`, of this type. Nothing but its type is looked at: it is never called.
///
/// # Panics
/// When the text is no type.
#[must_use]
pub fn with_type(types: &str) -> Vec<u8> {
    let text = format!(
        r#"(component
          {types}
          (core module $m
            (memory (export "memory") 1)
            (func (export "realloc") (param i32 i32 i32 i32) (result i32) unreachable)
            (func (export "f") (result i32) unreachable))
          (core instance $i (instantiate $m))
          (func (export "deep") (result $deep)
            (canon lift (core func $i "f") (memory $i "memory") (realloc (func $i "realloc")))))"#
    );
    wat::parse_str(text).expect("the text is a component")
}
