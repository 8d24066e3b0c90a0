//! From JSON to the values that a function takes.
//!
//! The input fits the tool's schema already, but the schema is the manifest's and the types are the component's, so
//! nothing is taken for granted.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Map, Value};
use wasmtime::component::Val;

use super::schema::{ERR, MAX_SAFE, OK, SOME};
use super::shape::{Integer, Shape, Signature};
use super::{Misfit, Side};

/// Values of one call, a byte of a `list<u8>` being one: some ten MiB of the host's memory, for input that is a
/// fraction of it.
const MAX_VALUES: usize = 250_000;

/// The arguments of a call, in the order of the parameters.
pub fn arguments(signature: &Signature, input: &Map<String, Value>) -> Result<Vec<Val>, Misfit> {
    let mut reader = Reader { left: MAX_VALUES };
    let fields = reader.members(&signature.parameters, input)?;
    Ok(fields.into_iter().map(|(_, value)| value).collect())
}

struct Reader {
    left: usize,
}

impl Reader {
    fn take(&mut self, values: usize) -> Result<(), Misfit> {
        let left = self.left.checked_sub(values);
        self.left = left.ok_or_else(|| misfit(format!("it has more than {MAX_VALUES} values")))?;
        Ok(())
    }

    fn members(
        &mut self,
        fields: &[(String, Shape)],
        members: &Map<String, Value>,
    ) -> Result<Vec<(String, Val)>, Misfit> {
        if members.keys().any(|name| !fields.iter().any(|(known, _)| known == name)) {
            return Err(misfit("it has a member that the type does not name"));
        }
        let field = |(name, shape): &(String, Shape)| {
            let value = match (members.get(name), shape) {
                (Some(json), shape) => self.value(shape, json),
                (None, Shape::Option(_)) => Ok(Val::Option(None)),
                (None, _) => Err(misfit("it is missing")),
            };
            value.map(|value| (name.clone(), value)).map_err(|misfit| misfit.inside(name))
        };
        fields.iter().map(field).collect()
    }

    fn value(&mut self, shape: &Shape, json: &Value) -> Result<Val, Misfit> {
        self.take(1)?;
        match (shape, json) {
            (Shape::Bool, Value::Bool(value)) => Ok(Val::Bool(*value)),
            (Shape::Integer(integer), json) => whole(*integer, json),
            (Shape::Float32, Value::Number(number)) => float32(number.as_f64()),
            (Shape::Float64, Value::Number(number)) => {
                number.as_f64().map(Val::Float64).ok_or_else(|| misfit("it is no number of 64 bits"))
            }
            (Shape::Char, Value::String(text)) => character(text),
            (Shape::Text, Value::String(text)) => Ok(Val::String(text.clone())),
            (Shape::Bytes, Value::String(text)) => self.bytes(text),
            (Shape::List(element), Value::Array(items)) => {
                let items = items
                    .iter()
                    .enumerate()
                    .map(|(index, item)| self.value(element, item).map_err(|misfit| misfit.inside(index)));
                items.collect::<Result<_, _>>().map(Val::List)
            }
            (Shape::Tuple(parts), Value::Array(items)) if items.len() == parts.len() => {
                let items =
                    parts.iter().zip(items).enumerate().map(|(index, (part, item))| {
                        self.value(part, item).map_err(|misfit| misfit.inside(index))
                    });
                items.collect::<Result<_, _>>().map(Val::Tuple)
            }
            (Shape::Record(fields), Value::Object(members)) => self.members(fields, members).map(Val::Record),
            (Shape::Enum(cases), Value::String(name)) if cases.contains(name) => Ok(Val::Enum(name.clone())),
            (Shape::Flags(flags), Value::Array(set)) => chosen(flags, set),
            (Shape::Option(_), Value::Null) => Ok(Val::Option(None)),
            (Shape::Option(inner), json) => self.some(inner, json),
            (Shape::Variant(cases), json) => {
                let (name, payload) = self.case(json, |name| {
                    cases.iter().find(|(known, _)| known == name).map(|(_, shape)| shape.as_ref())
                })?;
                Ok(Val::Variant(name, payload))
            }
            (Shape::Result(ok, err), json) => {
                let (name, payload) = self.case(json, |name| match name {
                    OK => Some(ok.as_deref()),
                    ERR => Some(err.as_deref()),
                    _ => None,
                })?;
                Ok(Val::Result(if name == OK { Ok(payload) } else { Err(payload) }))
            }
            _ => Err(misfit(format!("it is no `{shape}`"))),
        }
    }

    fn some(&mut self, inner: &Shape, json: &Value) -> Result<Val, Misfit> {
        let value = match (inner, json) {
            (Shape::Option(_), Value::Object(members)) => match (members.get(SOME), members.len()) {
                (Some(json), 1) => self.value(inner, json).map_err(|misfit| misfit.inside(SOME))?,
                _ => return Err(misfit(format!("it is no object with `{SOME}` alone"))),
            },
            (Shape::Option(_), _) => return Err(misfit(format!("it is no object with `{SOME}` alone"))),
            (inner, json) => self.value(inner, json)?,
        };
        Ok(Val::Option(Some(Box::new(value))))
    }

    /// One case: its name, or an object with its name and value. `payload` says what a case holds, and nothing of
    /// what is no case.
    fn case<'a>(
        &mut self,
        json: &Value,
        payload: impl Fn(&str) -> Option<Option<&'a Shape>>,
    ) -> Result<(String, Option<Box<Val>>), Misfit> {
        let (name, json) = match json {
            Value::String(name) => (name, None),
            Value::Object(members) => match members.iter().next() {
                Some((name, json)) if members.len() == 1 => (name, Some(json)),
                _ => return Err(misfit("it is no object with one case")),
            },
            _ => return Err(misfit("it is no case of the type")),
        };
        match (payload(name), json) {
            (Some(None), None) => Ok((name.clone(), None)),
            (Some(Some(shape)), Some(json)) => {
                let value = self.value(shape, json).map_err(|misfit| misfit.inside(name))?;
                Ok((name.clone(), Some(Box::new(value))))
            }
            _ => Err(misfit("it is no case of the type")),
        }
    }

    fn bytes(&mut self, text: &str) -> Result<Val, Misfit> {
        self.take(text.len() / 4 * 3)?;
        let bytes = BASE64.decode(text).map_err(|_| misfit("it is not base64"))?;
        Ok(Val::List(bytes.into_iter().map(Val::U8).collect()))
    }
}

fn whole(integer: Integer, json: &Value) -> Result<Val, Misfit> {
    let no_integer = || misfit("it is no whole number");
    let value: i128 = match json {
        Value::Number(number) => exact(number).ok_or_else(no_integer)?,
        Value::String(text) if integer.is_wide() => text.parse().map_err(|_| no_integer())?,
        _ => return Err(no_integer()),
    };
    let beyond = |_| {
        let (least, most) = integer.range();
        misfit(format!("it is not between {least} and {most}"))
    };
    match integer {
        Integer::S8 => value.try_into().map(Val::S8).map_err(beyond),
        Integer::U8 => value.try_into().map(Val::U8).map_err(beyond),
        Integer::S16 => value.try_into().map(Val::S16).map_err(beyond),
        Integer::U16 => value.try_into().map(Val::U16).map_err(beyond),
        Integer::S32 => value.try_into().map(Val::S32).map_err(beyond),
        Integer::U32 => value.try_into().map(Val::U32).map_err(beyond),
        Integer::S64 => value.try_into().map(Val::S64).map_err(beyond),
        Integer::U64 => value.try_into().map(Val::U64).map_err(beyond),
    }
}

/// A number that is whole. `5.0` is `5` to JSON Schema, up to where floating point numbers have gaps.
fn exact(number: &serde_json::Number) -> Option<i128> {
    let whole = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
    whole.or_else(|| {
        let float = number.as_f64().filter(|float| float.fract() == 0.0)?;
        let whole = float as i128;
        (-MAX_SAFE..=MAX_SAFE).contains(&whole).then_some(whole)
    })
}

fn float32(number: Option<f64>) -> Result<Val, Misfit> {
    // Rounding is what a number of 32 bits does.
    let narrow = number.map(|number| number as f32).filter(|narrow| narrow.is_finite());
    narrow.map(Val::Float32).ok_or_else(|| misfit("it is no number of 32 bits"))
}

fn character(text: &str) -> Result<Val, Misfit> {
    let mut characters = text.chars();
    match (characters.next(), characters.next()) {
        (Some(only), None) => Ok(Val::Char(only)),
        _ => Err(misfit("it is not one character")),
    }
}

/// Flags by their names, each once.
fn chosen(flags: &[String], set: &[Value]) -> Result<Val, Misfit> {
    let mut names: Vec<String> = Vec::new();
    for flag in set {
        match flag.as_str().filter(|name| flags.iter().any(|flag| flag == name)) {
            Some(name) if !names.iter().any(|known| known == name) => names.push(name.to_owned()),
            _ => return Err(misfit("it holds what is no flag, or a flag twice")),
        }
    }
    Ok(Val::Flags(names))
}

fn misfit(reason: impl Into<String>) -> Misfit {
    Misfit::new(Side::Input, reason)
}
