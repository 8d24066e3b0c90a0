//! Calling a function with types of its own, in the place of the contract's `tools`.
//!
//! The same store, the same budget, the same thread: what differs is how values cross. What they look like in JSON is
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
    pub(super) fn call(
        &self,
        store: &mut Store<State>,
        instance: &Instance,
        call: &FunctionCall,
    ) -> wasmtime::Result<Outcome> {
        let arguments = typed::arguments(&self.signature, &call.input)?;
        let function = instance.get_func(&mut *store, self.index);
        let function = function.ok_or_else(|| Missing(call.export.clone()))?;
        let mut results = vec![Val::Bool(false); usize::from(self.signature.result.is_some())];
        function.call(store, &arguments, &mut results)?;
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
