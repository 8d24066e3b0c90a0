//! Files of strangers: wrong, hostile and broken ones, and what is said of each.

use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::json;
use wasm_encoder::{CodeSection, Function, FunctionSection, Module, TypeSection, ValType};
use wit_component::{StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

use super::*;
use crate::error::{ErrorKind, Result};
use crate::manifest::{Manifest, NamespaceName};

/// The smallest component that exports the right interface.
const TOOLS_EXPORT: &str = r#"
    (core module $m (func (export "f")))
    (core instance $i (instantiate $m))
    (func $f (canon lift (core func $i "f")))
    (instance $tools (export "call" (func $f)))
    (export "remit:capability/tools@0.1.0" (instance $tools))"#;

fn manifest(uses: &[&str]) -> Manifest {
    let mut manifest = json!({
        "publisher": "acme", "slug": "weather", "version": "1.0.0", "title": "Weather", "description": "d",
        "tools": [{ "name": "get", "description": "d", "inputSchema": { "type": "object", "additionalProperties": false } }],
    });
    manifest["uses"] = json!(uses);
    if uses.contains(&"http") {
        manifest["http"] = json!({ "allow": ["api.example.com"] });
    }
    serde_json::from_value(manifest).unwrap()
}

fn component(body: &str) -> Vec<u8> {
    wat::parse_str(format!("(component {body})")).unwrap()
}

/// A capability that passes, as bytes.
fn good() -> Vec<u8> {
    embed(&component(TOOLS_EXPORT), &manifest(&[])).unwrap()
}

/// A component around one core module.
fn around(module: &[u8]) -> Vec<u8> {
    let mut component = wasm_encoder::Component::new();
    component.section(&wasm_encoder::RawSection { id: 1, data: module });
    component.finish()
}

/// A core module whose functions have these locals and this body.
fn module_of(functions: u32, locals: u32, body: &[u8]) -> Vec<u8> {
    let mut types = TypeSection::new();
    types.ty().function([], []);
    let mut declared = FunctionSection::new();
    let mut code = CodeSection::new();
    for _ in 0..functions {
        declared.function(0);
        let mut function = Function::new([(locals, ValType::I32)]);
        function.raw(body.iter().copied());
        code.function(&function);
    }
    let mut module = Module::new();
    module.section(&types).section(&declared).section(&code);
    module.finish()
}

fn told<T>(result: Result<T>) -> String {
    result.err().map_or("ok".to_owned(), |error| error.to_string())
}

#[test]
fn a_good_capability_is_described() {
    let bytes = good();
    let report = inspect(&bytes).unwrap();
    assert_eq!(report.size, bytes.len() as u64);
    assert_eq!(report.digest, crate::registry::Digest::of(&bytes));
    assert_eq!(report.imports, Vec::<String>::new());
    assert_eq!(report.exports, [TOOLS]);
    assert_eq!(report.manifest.slug, "weather");
    assert_eq!(report.warnings, Vec::<String>::new());
    let sections: Vec<_> = report.custom_sections.iter().map(|(name, _)| name.as_str()).collect();
    assert!(sections.contains(&MANIFEST_SECTION), "{sections:?}");
}

#[test]
fn imports_are_compared_with_the_manifest() {
    let http = r#"(import "remit:capability/http@0.1.0" (instance (export "request" (func))))"#;
    let log = r#"(import "remit:capability/log@0.1.0" (instance (export "log" (func))))"#;
    let types = r#"(import "other:package/types@1.0.0" (instance (type (enum "a")) (export "e" (type (eq 0)))))"#;
    let function = r#"(import "now" (func))"#;
    let check = |imports: &str, uses: &[&str]| {
        let bytes = embed(&component(&format!("{imports}{TOOLS_EXPORT}")), &manifest(uses)).unwrap();
        inspect(&bytes)
    };
    assert_eq!(told(check(&format!("{http}{log}{types}"), &["http"])), "ok");
    let warnings = check(log, &["http"]).unwrap().warnings;
    assert_eq!(warnings, ["`uses` names `http`, and the component does not import it"]);
    let namespaces = check(log, &["http"]).unwrap().namespaces;
    assert_eq!(namespaces.into_iter().collect::<Vec<_>>(), [NamespaceName::Log]);
    assert_snapshot!("import_undeclared", told(check(http, &[])));
    assert_snapshot!("import_unknown", told(check(function, &[])));
}

#[test]
fn the_manifest_is_there_once_and_its_rules_hold() {
    let bare = component(TOOLS_EXPORT);
    assert_snapshot!("manifest_missing", told(inspect(&bare)));

    let mut twice = good();
    let section = wasm_encoder::CustomSection { name: MANIFEST_SECTION.into(), data: b"{}".as_slice().into() };
    twice.push(0);
    wasm_encoder::Encode::encode(&section, &mut twice);
    assert_snapshot!("manifest_twice", told(inspect(&twice)));

    let nested = component(&format!("(component (@custom \"{MANIFEST_SECTION}\" \"{{}}\")){TOOLS_EXPORT}"));
    assert_snapshot!("manifest_nested", told(inspect(&embed(&nested, &manifest(&[])).unwrap())));

    let broken = Manifest { slug: "A".to_owned(), ..manifest(&[]) };
    assert_snapshot!("manifest_broken_rule", told(inspect(&embed(&bare, &broken).unwrap())));

    let not_json = component(&format!("(@custom \"{MANIFEST_SECTION}\" \"{{\"){TOOLS_EXPORT}"));
    assert_snapshot!("manifest_not_json", told(inspect(&not_json)));
}

#[test]
fn a_component_without_tools_is_refused() {
    let function = r#"(core module $m (func (export "f"))) (core instance $i (instantiate $m))
        (func (export "call") (canon lift (core func $i "f")))"#;
    for body in
        ["", function, &TOOLS_EXPORT.replace("0.1.0", "0.2.0"), &TOOLS_EXPORT.replace("\"call\"", "\"run\"")]
    {
        assert_eq!(
            told(inspect(&embed(&component(body), &manifest(&[])).unwrap())),
            "component/invalid: the component does not export `remit:capability/tools@0.1.0`, so it has nothing to call"
        );
    }
}

#[test]
fn embedding_replaces_what_was_there() {
    let first = good();
    let second = embed(&first, &Manifest { slug: "other".to_owned(), ..manifest(&[]) }).unwrap();
    assert_eq!(inspect(&second).unwrap().manifest.slug, "other");
    assert_eq!(embed(&second, &manifest(&[])).unwrap(), first, "and nothing else changes");
}

#[test]
fn each_switched_off_feature_is_refused() {
    let cases = [
        ("shared memory", "(memory 1 1 shared)"),
        ("atomics", "(memory 1) (func (drop (i32.atomic.load (i32.const 0))))"),
        ("several memories", "(memory 1) (memory 1)"),
        ("64-bit memory", "(memory i64 1)"),
        ("exceptions", "(tag)"),
        ("garbage collection", "(type (struct))"),
        ("foreign references", "(func (param externref))"),
        ("function references", "(type $t (func)) (func (param (ref $t)))"),
        ("tail calls", "(func $f (return_call $f))"),
        (
            "relaxed SIMD",
            "(func (param v128 v128) (result v128) (i8x16.relaxed_swizzle (local.get 0) (local.get 1)))",
        ),
        (
            "wide arithmetic",
            "(func (result i64 i64) (i64.add128 (i64.const 0) (i64.const 0) (i64.const 0) (i64.const 0)))",
        ),
        ("page sizes", "(memory 1 1 (pagesize 1))"),
        ("stack switching", "(type $f (func)) (type (cont $f))"),
    ];
    let mut lines: Vec<_> = cases
        .iter()
        .map(|(name, module)| format!("{name}: {}", told(scan(&component(&format!("(core module {module})"))))))
        .collect();
    let asynchronous = "(type (stream u8))";
    lines.push(format!("asynchronous components: {}", told(scan(&component(asynchronous)))));
    assert_snapshot!(lines.join("\n"));
}

#[test]
fn what_compilers_emit_for_guests_is_accepted() {
    let module = "(memory 1) (table 1 funcref) (global (mut i32) (i32.add (i32.const 1) (i32.const 2)))
        (func (param f64 v128) (result i32 i32) (i32.trunc_sat_f64_s (local.get 0)) (i32.extend8_s (i32.const 1)))
        (func (memory.fill (i32.const 0) (i32.const 0) (i32.const 0)))";
    assert_eq!(told(scan(&component(&format!("(core module {module})")))), "ok");
}

#[test]
fn what_would_exhaust_a_compiler_is_refused() {
    let block = [0x02, 0x40];
    let blocks = |depth: usize| {
        let mut body = block.repeat(depth);
        body.extend(vec![0x0b; depth + 1]);
        module_of(1, 0, &body)
    };
    let nop_body = |bytes: usize| {
        let mut body = vec![0x01; bytes];
        body.push(0x0b);
        body
    };
    let modules = |count: usize| component(&"(core module)".repeat(count));
    let nested = |levels: usize| component(&format!("{}{}", "(component ".repeat(levels), ")".repeat(levels)));
    let custom = |bytes: usize| component(&format!("(@custom \"x\" \"{}\")", "a".repeat(bytes)));
    let cases = [
        ("64 modules", modules(64)),
        ("65 modules", modules(65)),
        ("4 levels", nested(3)),
        ("5 levels", nested(4)),
        ("100 levels", nested(90)),
        ("1 MiB of custom sections", custom(1024 * 1024)),
        ("1 MiB and a byte of custom sections", custom(1024 * 1024 + 1)),
        ("1,001 custom sections", component(&"(@custom \"x\" \"\")".repeat(1_001))),
        ("a function of 2 MiB", around(&module_of(1, 0, &nop_body(2 * 1024 * 1024)))),
        ("50,001 functions", around(&module_of(50_001, 0, &[0x0b]))),
        ("50,000 locals", around(&module_of(1, 50_000, &[0x0b]))),
        ("50,000 locals in 11 functions", around(&module_of(11, 50_000, &[0x0b]))),
        ("9,999 nested blocks", around(&blocks(9_999))),
        ("100,000 nested blocks", around(&blocks(100_000))),
        ("a table of 10,000,000", component("(core module (table 10000000 funcref))")),
        (
            "257 imports",
            component(&(0..257).map(|index| format!("(import \"i{index}\" (func))")).collect::<String>()),
        ),
        (
            "513 instances",
            component(&format!("(core module $m) {}", "(core instance (instantiate $m))".repeat(513))),
        ),
        ("100,001 segments", component(&format!("(core module (memory 1) {})", "(data \"\")".repeat(100_001)))),
    ];
    let lines: Vec<_> = cases.iter().map(|(name, bytes)| format!("{name}: {}", told(scan(bytes)))).collect();
    assert_snapshot!(lines.join("\n"));
}

#[test]
fn a_component_is_made_of_a_core_module() {
    let module = guest(r#"(import "remit:capability/log@0.1.0" "log" (func (param i32 i32 i32)))"#);
    let encoded = encode(&module).unwrap();
    assert_eq!(encode(&module).unwrap(), encoded, "the same every time");
    let stripped = strip(&encoded, false).unwrap();
    assert!(stripped.len() < encoded.len());
    let report = inspect(&embed(&stripped, &manifest(&[])).unwrap()).unwrap();
    assert_eq!(report.imports, ["remit:capability/log@0.1.0"]);
    assert_eq!(report.exports, [TOOLS]);
    let sections: Vec<_> = report.custom_sections.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(sections, [MANIFEST_SECTION]);
    assert_eq!(strip(&stripped, true).unwrap(), stripped, "stripping twice changes nothing");
}

#[test]
fn a_module_that_cannot_become_a_component_is_told_why() {
    let wasi =
        guest(r#"(import "wasi_snapshot_preview1" "fd_write" (func (param i32 i32 i32 i32) (result i32)))"#);
    let unknown = guest(r#"(import "env" "now" (func))"#);
    let plain = wat::parse_str("(module)").unwrap();
    let damaged = &guest("")[..60];
    let lines = [
        ("for WASI", told(encode(&wasi))),
        ("with an unknown import", told(encode(&unknown))),
        ("a component", told(encode(&good()))),
        ("damaged", told(encode(damaged))),
        ("no module", told(encode(b"hello"))),
        // It says nothing of a world, so it makes an empty component, which has no tools.
        ("without a world", told(encode(&plain).and_then(|bytes| inspect(&bytes)))),
    ]
    .map(|(name, told)| format!("{name}: {told}"));
    assert_snapshot!(lines.join("\n"));
}

/// A core module built against the contract, with a tool that traps.
fn guest(import: &str) -> Vec<u8> {
    let mut module = wat::parse_str(format!(
        r#"(module {import}
            (memory (export "memory") 1)
            (func (export "remit:capability/tools@0.1.0#call")
                (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32) unreachable)
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) unreachable))"#
    ))
    .unwrap();
    let mut resolve = Resolve::default();
    let wit = concat!(env!("CARGO_MANIFEST_DIR"), "/../wit");
    let (package, _) = resolve.push_dir(wit).unwrap();
    let world = resolve.select_world(&[package], Some("capability")).unwrap();
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).unwrap();
    module
}

#[test]
fn a_truncated_component_is_refused_at_every_length() {
    let bytes = good();
    for length in 0..bytes.len() {
        let error = inspect(&bytes[..length]).unwrap_err();
        let kinds = [ErrorKind::NotComponent, ErrorKind::ComponentInvalid, ErrorKind::ManifestMissing];
        assert!(kinds.contains(&error.kind), "{length}: {error}");
    }
}

#[test]
fn flipping_any_bit_does_no_harm() {
    let mut bytes = good();
    for index in 0..bytes.len() {
        for bit in 0..8 {
            bytes[index] ^= 1 << bit;
            let _ = inspect(&bytes);
            let _ = strip(&bytes, false);
            bytes[index] ^= 1 << bit;
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_are_answered(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(inspect(&bytes).is_err());
        let _ = (encode(&bytes), strip(&bytes, false), custom_sections(&bytes, MANIFEST_SECTION));
    }

    #[test]
    fn any_sections_are_answered(
        is_component in any::<bool>(),
        sections in proptest::collection::vec((0u8..14, proptest::collection::vec(any::<u8>(), 0..60)), 0..8),
    ) {
        let mut bytes = if is_component { b"\0asm\x0d\0\x01\0".to_vec() } else { b"\0asm\x01\0\0\0".to_vec() };
        for (id, body) in sections {
            bytes.push(id);
            wasm_encoder::Encode::encode(body.as_slice(), &mut bytes);
        }
        prop_assert!(inspect(&bytes).is_err());
        let _ = (encode(&bytes), strip(&bytes, true), embed(&bytes, &manifest(&[])));
    }

    #[test]
    fn a_module_inside_is_no_safer(body in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut module = b"\0asm\x01\0\0\0".to_vec();
        module.extend(body);
        let _ = (scan(&around(&module)), strip(&around(&module), false));
    }
}
