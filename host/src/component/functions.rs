//! The functions that a component exports, with their types: what it can be called for when it was made for another
//! host. Read from its bytes; what the runtime calls is found by the same names.

use wasmparser::PrimitiveValType;
use wasmparser::component_types::{
    ComponentDefinedType, ComponentEntityType, ComponentFuncTypeId, ComponentValType,
};
use wasmparser::types::Types;

use crate::typed::{Integer, Room, Shape, Signature, Unfit};

/// Parts a function of an interface from its interface: `acme:weather/forecast@1.0.0#get`.
pub const IN_INTERFACE: char = '#';

/// Functions of one component that are looked at. Four times what one capability may have as tools.
const MAX_FUNCTIONS: usize = 512;

/// A function that a component exports.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name, behind the name of its interface and `#` where it is in one.
    pub export: String,
    /// What it takes and gives, or why it cannot be called with JSON.
    pub signature: Result<Signature, Unfit>,
}

/// The functions among `exports`, in their order. The contract's own are left out: they are called by name.
pub(super) fn functions(exports: &[String], types: &Types) -> Vec<Function> {
    let mut found = Vec::new();
    let mut room = Room::default();
    let ours = |name: &&String| name.starts_with("remit:");
    for name in exports.iter().filter(|name| !ours(name)) {
        match types.component_item_for_export(name).map(|item| &item.ty) {
            Some(ComponentEntityType::Func(id)) => found.push(function(name.clone(), *id, types, &mut room)),
            Some(ComponentEntityType::Instance(id)) => {
                for (inner, item) in &types[*id].exports {
                    if let ComponentEntityType::Func(id) = item.ty {
                        found.push(function(format!("{name}{IN_INTERFACE}{inner}"), id, types, &mut room));
                    }
                }
            }
            _ => {}
        }
        if found.len() > MAX_FUNCTIONS {
            found.truncate(MAX_FUNCTIONS);
            break;
        }
    }
    found
}

fn function(export: String, id: ComponentFuncTypeId, types: &Types, room: &mut Room) -> Function {
    // `[method]`, `[static]` and `[constructor]` stand before the names of what belongs to a resource.
    let bare = export.rsplit(IN_INTERFACE).next().unwrap_or_default();
    let signature = if bare.starts_with('[') { Err(Unfit::Resource) } else { signature(id, types, room) };
    Function { export, signature }
}

fn signature(id: ComponentFuncTypeId, types: &Types, room: &mut Room) -> Result<Signature, Unfit> {
    let function = &types[id];
    if function.async_ {
        return Err(Unfit::Unknown("async func"));
    }
    let mut reader = Reader { types, room };
    let parameters = function.params.iter().map(|(name, ty)| Ok((text(name), reader.value(ty, 1)?)));
    let parameters = parameters.collect::<Result<_, Unfit>>()?;
    let result = function.result.as_ref().map(|ty| reader.value(ty, 1)).transpose()?;
    Ok(Signature { parameters, result })
}

struct Reader<'a> {
    types: &'a Types,
    room: &'a mut Room,
}

impl Reader<'_> {
    fn value(&mut self, ty: &ComponentValType, level: u32) -> Result<Shape, Unfit> {
        match ty {
            ComponentValType::Primitive(primitive) => self.primitive(*primitive, level),
            ComponentValType::Type(id) => self.defined(&self.types[*id], level),
        }
    }

    fn primitive(&mut self, primitive: PrimitiveValType, level: u32) -> Result<Shape, Unfit> {
        self.room.take(level)?;
        Ok(match primitive {
            PrimitiveValType::Bool => Shape::Bool,
            PrimitiveValType::S8 => Shape::Integer(Integer::S8),
            PrimitiveValType::U8 => Shape::Integer(Integer::U8),
            PrimitiveValType::S16 => Shape::Integer(Integer::S16),
            PrimitiveValType::U16 => Shape::Integer(Integer::U16),
            PrimitiveValType::S32 => Shape::Integer(Integer::S32),
            PrimitiveValType::U32 => Shape::Integer(Integer::U32),
            PrimitiveValType::S64 => Shape::Integer(Integer::S64),
            PrimitiveValType::U64 => Shape::Integer(Integer::U64),
            PrimitiveValType::F32 => Shape::Float32,
            PrimitiveValType::F64 => Shape::Float64,
            PrimitiveValType::Char => Shape::Char,
            PrimitiveValType::String => Shape::Text,
            PrimitiveValType::ErrorContext => return Err(Unfit::Unknown("error-context")),
        })
    }

    fn defined(&mut self, ty: &ComponentDefinedType, level: u32) -> Result<Shape, Unfit> {
        if let ComponentDefinedType::Primitive(primitive) = ty {
            return self.primitive(*primitive, level);
        }
        self.room.take(level)?;
        let inner = level + 1;
        Ok(match ty {
            ComponentDefinedType::Primitive(primitive) => self.primitive(*primitive, level)?,
            ComponentDefinedType::Record(record) => {
                let fields = record.fields.iter().map(|(name, ty)| Ok((text(name), self.value(ty, inner)?)));
                Shape::Record(fields.collect::<Result<_, Unfit>>()?)
            }
            ComponentDefinedType::Variant(variant) => {
                let cases = variant.cases.iter();
                let cases = cases.map(|(name, case)| Ok((text(name), self.optional(case.ty.as_ref(), inner)?)));
                Shape::Variant(cases.collect::<Result<_, Unfit>>()?)
            }
            ComponentDefinedType::List { element, .. } => Shape::list_of(self.value(element, inner)?),
            ComponentDefinedType::Tuple(tuple) => {
                Shape::Tuple(tuple.types.iter().map(|ty| self.value(ty, inner)).collect::<Result<_, _>>()?)
            }
            ComponentDefinedType::Flags(names) => Shape::Flags(self.names(names.iter().map(text), inner)?),
            ComponentDefinedType::Enum(names) => Shape::Enum(self.names(names.iter().map(text), inner)?),
            ComponentDefinedType::Option { ty, .. } => Shape::Option(Box::new(self.value(ty, inner)?)),
            ComponentDefinedType::Result { ok, err, .. } => Shape::Result(
                self.optional(ok.as_ref(), inner)?.map(Box::new),
                self.optional(err.as_ref(), inner)?.map(Box::new),
            ),
            ComponentDefinedType::Own(_) | ComponentDefinedType::Borrow(_) => return Err(Unfit::Resource),
            ComponentDefinedType::Map { .. } => return Err(Unfit::Unknown("map")),
            ComponentDefinedType::FixedLengthList { .. } => return Err(Unfit::Unknown("list of a fixed length")),
            ComponentDefinedType::Future { .. } => return Err(Unfit::Unknown("future")),
            ComponentDefinedType::Stream { .. } => return Err(Unfit::Unknown("stream")),
        })
    }

    fn optional(&mut self, ty: Option<&ComponentValType>, level: u32) -> Result<Option<Shape>, Unfit> {
        ty.map(|ty| self.value(ty, level)).transpose()
    }

    fn names(&mut self, names: impl Iterator<Item = String>, level: u32) -> Result<Vec<String>, Unfit> {
        let name = |name| self.room.take(level).map(|()| name);
        names.map(name).collect()
    }
}

fn text(name: impl std::fmt::Display) -> String {
    name.to_string()
}
