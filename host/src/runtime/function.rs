//! Calling a function with types of its own, in the place of the contract's `tools`.
//!
//! The same store, the same budget, the same fiber: what differs is how values cross. What they look like in JSON is
//! decided in `typed/`.

use serde_json::{Map, Value};
use wasmtime::Store;
use wasmtime::component::types::{ComponentFunc, ComponentItem, Type};
use wasmtime::component::{Component, ComponentExportIndex, Instance, Val};

use super::State;
use super::bindings::tools;
use super::operation::{Missing, Outcome, Said};
use crate::component::IN_INTERFACE;
use crate::typed::{self, Integer, Room, Shape, Signature, Unfit};

/// One call of one function.
pub struct FunctionCall {
    /// Its name, as the manifest has it.
    pub export: String,
    /// What it is called with: members by the names of its parameters.
    pub input: Map<String, Value>,
    /// Nothing may change.
    pub dry_run: bool,
}

/// A function of a component that is loaded.
pub(super) struct Function {
    index: ComponentExportIndex,
    signature: Signature,
}

impl Function {
    /// The function of this name, if it is one that can be called with JSON.
    pub(super) fn find(component: &Component, export: &str) -> Option<Self> {
        let (interface, name) = match export.split_once(IN_INTERFACE) {
            Some((interface, name)) => (Some(component.get_export_index(None, interface)?), name),
            None => (None, export),
        };
        let (item, index) = component.get_export(interface.as_ref(), name)?;
        let ComponentItem::ComponentFunc(function) = item else { return None };
        Some(Self { index, signature: signature(&function).ok()? })
    }

    /// Calls it. An outer error is a guest that was stopped, or a value that has no counterpart.
    pub(super) async fn call(
        &self,
        store: &mut Store<State>,
        instance: &Instance,
        call: &FunctionCall,
    ) -> wasmtime::Result<Outcome> {
        let arguments = typed::arguments(&self.signature, &call.input)?;
        let function = instance.get_func(&mut *store, self.index);
        let function = function.ok_or_else(|| Missing(call.export.clone()))?;
        let mut results = vec![Val::Bool(false); usize::from(self.signature.result.is_some())];
        function.call_async(store, &arguments, &mut results).await?;
        match typed::outcome(&self.signature, results.first())? {
            typed::Said::Answer(answer) => {
                Ok(Ok(Said::Reply(tools::Reply { structured: Some(answer.to_string()), content: Vec::new() })))
            }
            typed::Said::Failure(message) => Ok(Err(tools::Failure::Failed(message))),
        }
    }
}

fn signature(function: &ComponentFunc) -> Result<Signature, Unfit> {
    let mut reader = Reader::default();
    let parameters = function.params().map(|(name, ty)| Ok((name.to_owned(), reader.value(&ty, 1)?)));
    let parameters = parameters.collect::<Result<_, Unfit>>()?;
    let result = function.results().next().map(|ty| reader.value(&ty, 1)).transpose()?;
    Ok(Signature { parameters, result })
}

#[derive(Default)]
struct Reader {
    room: Room,
}

impl Reader {
    fn value(&mut self, ty: &Type, level: u32) -> Result<Shape, Unfit> {
        self.room.take(level)?;
        let inner = level + 1;
        Ok(match ty {
            Type::Bool => Shape::Bool,
            Type::S8 => Shape::Integer(Integer::S8),
            Type::U8 => Shape::Integer(Integer::U8),
            Type::S16 => Shape::Integer(Integer::S16),
            Type::U16 => Shape::Integer(Integer::U16),
            Type::S32 => Shape::Integer(Integer::S32),
            Type::U32 => Shape::Integer(Integer::U32),
            Type::S64 => Shape::Integer(Integer::S64),
            Type::U64 => Shape::Integer(Integer::U64),
            Type::Float32 => Shape::Float32,
            Type::Float64 => Shape::Float64,
            Type::Char => Shape::Char,
            Type::String => Shape::Text,
            Type::List(list) => Shape::list_of(self.value(&list.ty(), inner)?),
            Type::Tuple(tuple) => {
                Shape::Tuple(tuple.types().map(|ty| self.value(&ty, inner)).collect::<Result<_, _>>()?)
            }
            Type::Record(record) => {
                let fields =
                    record.fields().map(|field| Ok((field.name.to_owned(), self.value(&field.ty, inner)?)));
                Shape::Record(fields.collect::<Result<_, Unfit>>()?)
            }
            Type::Variant(variant) => {
                let cases = variant
                    .cases()
                    .map(|case| Ok((case.name.to_owned(), self.optional(case.ty.as_ref(), inner)?)));
                Shape::Variant(cases.collect::<Result<_, Unfit>>()?)
            }
            Type::Enum(names) => Shape::Enum(self.names(names.names(), inner)?),
            Type::Flags(names) => Shape::Flags(self.names(names.names(), inner)?),
            Type::Option(option) => Shape::Option(Box::new(self.value(&option.ty(), inner)?)),
            Type::Result(result) => Shape::Result(
                self.optional(result.ok().as_ref(), inner)?.map(Box::new),
                self.optional(result.err().as_ref(), inner)?.map(Box::new),
            ),
            Type::Own(_) | Type::Borrow(_) => return Err(Unfit::Resource),
            Type::Map(_) => return Err(Unfit::Unknown("map")),
            Type::FixedLengthList(_) => return Err(Unfit::Unknown("list of a fixed length")),
            Type::Future(_) => return Err(Unfit::Unknown("future")),
            Type::Stream(_) => return Err(Unfit::Unknown("stream")),
            Type::ErrorContext => return Err(Unfit::Unknown("error-context")),
        })
    }

    fn optional(&mut self, ty: Option<&Type>, level: u32) -> Result<Option<Shape>, Unfit> {
        ty.map(|ty| self.value(ty, level)).transpose()
    }

    fn names<'a>(&mut self, names: impl Iterator<Item = &'a str>, level: u32) -> Result<Vec<String>, Unfit> {
        names.map(|name| self.room.take(level).map(|()| name.to_owned())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::component;
    use crate::runtime::Engine;

    const RICH: &str = "
package test:rich;
interface all {
  enum colour { red, green-ish }
  flags marks { bold, wide }
  variant shape { none, circle(f32), box(tuple<u16, s16>) }
  record thing { name: string, of: option<option<colour>>, marks: marks, shapes: list<shape>, raw: list<u8> }
  every: func(a: bool, b: s8, c: u8, d: s32, e: u32, f: s64, g: u64, h: f64, i: char) -> result<thing, colour>;
  resource handle { }
  holds: func(it: borrow<handle>);
}
world typed { export all; export bare: func() -> result; }
";

    const FUNCTIONS: &str = r#"
  (func (export "test:rich/all#every") (param i32 i32 i32 i32 i32 i64 i64 f64 i32) (result i32) unreachable)
  (func (export "test:rich/all#holds") (param i32))
  (func (export "bare") (result i32) (i32.const 0))"#;

    /// What agents are told is read from the bytes, what guests get from compiled code.
    #[test]
    fn the_gate_and_the_runtime_read_the_same_types() {
        let engine = Engine::on_demand().unwrap();
        let rich = remit_guests::typed(RICH, "", FUNCTIONS);
        for bytes in [rich, remit_guests::hostile()] {
            let loaded = Component::new(engine.raw(), &bytes).unwrap();
            let read = component::scan(&bytes).unwrap().functions;
            assert!(read.len() > 2);
            for function in read {
                let found = Function::find(&loaded, &function.export).map(|found| found.signature);
                assert_eq!(found, function.signature.ok(), "{}", function.export);
            }
        }
    }

    #[test]
    fn what_is_no_function_is_not_found() {
        let engine = Engine::on_demand().unwrap();
        let loaded = Component::new(engine.raw(), remit_guests::typed(RICH, "", FUNCTIONS)).unwrap();
        for name in
            ["", "#", "every", "test:rich/all", "test:rich/all#", "test:rich/all#thing", "bare#bare", "bar"]
        {
            assert!(Function::find(&loaded, name).is_none(), "{name}");
        }
        assert!(Function::find(&loaded, "bare").is_some());
    }
}
