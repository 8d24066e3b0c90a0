//! From the value that a function gives to JSON.
//!
//! How much of it there is was bounded when it was lifted out of the guest's memory.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Map, Value, json};
use wasmtime::component::Val;

use super::schema::{ERR, OK, RESULT, SOME};
use super::shape::{Shape, Signature};
use super::{Misfit, Side};

/// What a function said.
#[derive(Clone, Debug, PartialEq)]
pub enum Said {
    /// Its answer: an object, as its output schema describes.
    Answer(Value),
    /// The other half of its `result`: the text, where it is text, and JSON otherwise.
    Failure(String),
}

/// What the function said, in JSON.
pub fn outcome(signature: &Signature, result: Option<&Val>) -> Result<Said, Misfit> {
    match (&signature.result, result) {
        (None, None) => Ok(Said::Answer(json!({}))),
        (Some(Shape::Result(_, err)), Some(Val::Result(Err(value)))) => match (err.as_deref(), value.as_deref()) {
            (None, None) => Ok(Said::Failure(String::new())),
            (Some(Shape::Text), Some(Val::String(text))) => Ok(Said::Failure(text.clone())),
            (Some(shape), Some(value)) => Ok(Said::Failure(of(shape, value)?.to_string())),
            _ => Err(not_of_its_type()),
        },
        (Some(Shape::Result(ok, _)), Some(Val::Result(Ok(value)))) => match (ok.as_deref(), value.as_deref()) {
            (None, None) => Ok(Said::Answer(json!({}))),
            (Some(shape), Some(value)) => answer(shape, value),
            _ => Err(not_of_its_type()),
        },
        (Some(shape), Some(value)) => answer(shape, value),
        _ => Err(not_of_its_type()),
    }
}

fn answer(shape: &Shape, value: &Val) -> Result<Said, Misfit> {
    let is_record = matches!(shape, Shape::Record(_));
    let value = of(shape, value);
    if is_record {
        return value.map(Said::Answer);
    }
    let value = value.map_err(|misfit| misfit.inside(RESULT))?;
    Ok(Said::Answer(json!({ RESULT: value })))
}

fn of(shape: &Shape, value: &Val) -> Result<Value, Misfit> {
    match (shape, value) {
        (_, Val::Bool(value)) => Ok(json!(value)),
        (_, Val::S8(value)) => Ok(json!(value)),
        (_, Val::U8(value)) => Ok(json!(value)),
        (_, Val::S16(value)) => Ok(json!(value)),
        (_, Val::U16(value)) => Ok(json!(value)),
        (_, Val::S32(value)) => Ok(json!(value)),
        (_, Val::U32(value)) => Ok(json!(value)),
        (_, Val::S64(value)) => Ok(json!(value.to_string())),
        (_, Val::U64(value)) => Ok(json!(value.to_string())),
        // The shortest text that is this number again: 0.1 stays 0.1.
        (_, Val::Float32(value)) => finite(value.to_string().parse().unwrap_or(f64::NAN)),
        (_, Val::Float64(value)) => finite(*value),
        (_, Val::Char(value)) => Ok(json!(value)),
        (_, Val::String(value) | Val::Enum(value)) => Ok(json!(value)),
        (_, Val::Flags(flags)) => Ok(json!(flags)),
        (Shape::Bytes, Val::List(items)) => bytes(items),
        (Shape::List(element), Val::List(items)) => {
            let items = items.iter().enumerate();
            let items = items.map(|(index, item)| of(element, item).map_err(|misfit| misfit.inside(index)));
            items.collect::<Result<_, _>>().map(Value::Array)
        }
        (Shape::Tuple(parts), Val::Tuple(items)) if parts.len() == items.len() => {
            let items = parts.iter().zip(items).enumerate();
            let items = items.map(|(index, (part, item))| of(part, item).map_err(|misfit| misfit.inside(index)));
            items.collect::<Result<_, _>>().map(Value::Array)
        }
        (Shape::Record(fields), Val::Record(values)) if fields.len() == values.len() => record(fields, values),
        (Shape::Option(_), Val::Option(None)) => Ok(Value::Null),
        (Shape::Option(inner), Val::Option(Some(value))) => match **inner {
            Shape::Option(_) => Ok(json!({ SOME: of(inner, value).map_err(|misfit| misfit.inside(SOME))? })),
            _ => of(inner, value),
        },
        (Shape::Variant(cases), Val::Variant(name, payload)) => {
            let (_, shape) = cases.iter().find(|(known, _)| known == name).ok_or_else(not_of_its_type)?;
            case(name, shape.as_ref(), payload.as_deref())
        }
        (Shape::Result(ok, _), Val::Result(Ok(payload))) => case(OK, ok.as_deref(), payload.as_deref()),
        (Shape::Result(_, err), Val::Result(Err(payload))) => case(ERR, err.as_deref(), payload.as_deref()),
        _ => Err(not_of_its_type()),
    }
}

/// A field that holds nothing is left out.
fn record(fields: &[(String, Shape)], values: &[(String, Val)]) -> Result<Value, Misfit> {
    let mut members = Map::new();
    for ((name, shape), (_, value)) in fields.iter().zip(values) {
        if !matches!(value, Val::Option(None)) {
            members.insert(name.clone(), of(shape, value).map_err(|misfit| misfit.inside(name))?);
        }
    }
    Ok(Value::Object(members))
}

fn case(name: &str, shape: Option<&Shape>, payload: Option<&Val>) -> Result<Value, Misfit> {
    match (shape, payload) {
        (None, None) => Ok(json!(name)),
        (Some(shape), Some(payload)) => {
            Ok(json!({ name: of(shape, payload).map_err(|misfit| misfit.inside(name))? }))
        }
        _ => Err(not_of_its_type()),
    }
}

fn bytes(items: &[Val]) -> Result<Value, Misfit> {
    let byte = |item: &Val| match item {
        Val::U8(byte) => Ok(*byte),
        _ => Err(not_of_its_type()),
    };
    let bytes = items.iter().map(byte).collect::<Result<Vec<_>, _>>()?;
    Ok(json!(BASE64.encode(bytes)))
}

/// JSON has no word for what is no number, and `null` would be a lie.
fn finite(number: f64) -> Result<Value, Misfit> {
    if number.is_finite() {
        return Ok(json!(number));
    }
    Err(Misfit::new(Side::Output, format!("`{number}` is no number that JSON can write")))
}

fn not_of_its_type() -> Misfit {
    Misfit::new(Side::Output, "it is not of the type that the component declares")
}
