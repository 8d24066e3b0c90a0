//! What is known of a type: its form, without the names that its author gave it.

use std::fmt;

/// Levels of one type. A schema may have 32, and a level of a type takes up to two of them.
const MAX_LEVELS: u32 = 16;

/// Parts of all types of one component together: fields, cases, elements. A type may name another many times, so
/// that few bytes describe more of them than any memory holds.
const MAX_PARTS: u32 = 20_000;

/// A function: what it takes and gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// What it takes, by name.
    pub parameters: Vec<(String, Shape)>,
    /// What it gives.
    pub result: Option<Shape>,
}

/// The form of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// `bool`.
    Bool,
    /// `u8` to `s64`.
    Integer(Integer),
    /// `f32`.
    Float32,
    /// `f64`.
    Float64,
    /// `char`.
    Char,
    /// `string`.
    Text,
    /// `list<u8>`: bytes.
    Bytes,
    /// Any other list.
    List(Box<Self>),
    /// `tuple`.
    Tuple(Vec<Self>),
    /// `record`, in the order of its fields.
    Record(Vec<(String, Self)>),
    /// `variant`, in the order of its cases.
    Variant(Vec<(String, Option<Self>)>),
    /// `enum`.
    Enum(Vec<String>),
    /// `flags`.
    Flags(Vec<String>),
    /// `option`.
    Option(Box<Self>),
    /// `result`.
    Result(Option<Box<Self>>, Option<Box<Self>>),
}

/// A whole number's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Integer {
    /// 8 bits, signed.
    S8,
    /// 8 bits.
    U8,
    /// 16 bits, signed.
    S16,
    /// 16 bits.
    U16,
    /// 32 bits, signed.
    S32,
    /// 32 bits.
    U32,
    /// 64 bits, signed.
    S64,
    /// 64 bits.
    U64,
}

/// Why a function cannot be called with JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// A handle.
    #[error("it takes, gives or belongs to a resource, which would have to outlive the call")]
    Resource,
    /// Too many levels.
    #[error("its types nest more than {MAX_LEVELS} levels deep")]
    Deep,
    /// Too many parts.
    #[error("the types of the component have more than {MAX_PARTS} parts")]
    Large,
    /// A type of a later version of the component model.
    #[error("its type `{0}` has no form in JSON here")]
    Unknown(&'static str),
}

/// How much of types may still be read.
#[derive(Debug)]
pub struct Room {
    parts: u32,
}

impl Default for Room {
    fn default() -> Self {
        Self { parts: MAX_PARTS }
    }
}

impl Room {
    /// Takes one part, `level` levels deep. Whoever reads a type asks before it reads on.
    pub fn take(&mut self, level: u32) -> Result<(), Unfit> {
        if level > MAX_LEVELS {
            return Err(Unfit::Deep);
        }
        self.parts = self.parts.checked_sub(1).ok_or(Unfit::Large)?;
        Ok(())
    }
}

impl Signature {
    /// What a call that succeeds gives: of a `result` its first half.
    #[must_use]
    pub fn answer(&self) -> Option<&Shape> {
        match &self.result {
            Some(Shape::Result(ok, _)) => ok.as_deref(),
            other => other.as_ref(),
        }
    }
}

impl Shape {
    /// A list of these. Bytes are not written one by one.
    #[must_use]
    pub fn list_of(element: Self) -> Self {
        match element {
            Self::Integer(Integer::U8) => Self::Bytes,
            element => Self::List(Box::new(element)),
        }
    }
}

impl Integer {
    /// The smallest and the largest.
    #[must_use]
    pub fn range(self) -> (i128, i128) {
        match self {
            Self::S8 => (i8::MIN.into(), i8::MAX.into()),
            Self::U8 => (0, u8::MAX.into()),
            Self::S16 => (i16::MIN.into(), i16::MAX.into()),
            Self::U16 => (0, u16::MAX.into()),
            Self::S32 => (i32::MIN.into(), i32::MAX.into()),
            Self::U32 => (0, u32::MAX.into()),
            Self::S64 => (i64::MIN.into(), i64::MAX.into()),
            Self::U64 => (0, u64::MAX.into()),
        }
    }

    /// Whether programs that read JSON numbers as floating point would change some of them.
    #[must_use]
    pub fn is_wide(self) -> bool {
        matches!(self, Self::S64 | Self::U64)
    }

    fn word(self) -> &'static str {
        match self {
            Self::S8 => "s8",
            Self::U8 => "u8",
            Self::S16 => "s16",
            Self::U16 => "u16",
            Self::S32 => "s32",
            Self::U32 => "u32",
            Self::S64 => "s64",
            Self::U64 => "u64",
        }
    }
}

/// As WIT writes it, with types written out.
impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("func(")?;
        list(f, &self.parameters, |f, (name, shape)| write!(f, "{name}: {shape}"))?;
        f.write_str(")")?;
        self.result.as_ref().map_or(Ok(()), |shape| write!(f, " -> {shape}"))
    }
}

/// As WIT writes it, with types written out.
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |f: &mut fmt::Formatter<'_>, word: &str, names: &[String]| {
            write!(f, "{word} {{ {} }}", names.join(", "))
        };
        match self {
            Self::Bool => f.write_str("bool"),
            Self::Integer(integer) => f.write_str(integer.word()),
            Self::Float32 => f.write_str("f32"),
            Self::Float64 => f.write_str("f64"),
            Self::Char => f.write_str("char"),
            Self::Text => f.write_str("string"),
            Self::Bytes => f.write_str("list<u8>"),
            Self::List(element) => write!(f, "list<{element}>"),
            Self::Tuple(parts) => {
                f.write_str("tuple<")?;
                list(f, parts, |f, part| write!(f, "{part}"))?;
                f.write_str(">")
            }
            Self::Record(fields) => {
                f.write_str("record { ")?;
                list(f, fields, |f, (name, shape)| write!(f, "{name}: {shape}"))?;
                f.write_str(" }")
            }
            Self::Variant(cases) => {
                f.write_str("variant { ")?;
                list(f, cases, |f, (name, payload)| match payload {
                    Some(shape) => write!(f, "{name}({shape})"),
                    None => f.write_str(name),
                })?;
                f.write_str(" }")
            }
            Self::Enum(cases) => names(f, "enum", cases),
            Self::Flags(flags) => names(f, "flags", flags),
            Self::Option(inner) => write!(f, "option<{inner}>"),
            Self::Result(None, None) => f.write_str("result"),
            Self::Result(Some(ok), None) => write!(f, "result<{ok}>"),
            Self::Result(None, Some(error)) => write!(f, "result<_, {error}>"),
            Self::Result(Some(ok), Some(error)) => write!(f, "result<{ok}, {error}>"),
        }
    }
}

fn list<T>(
    f: &mut fmt::Formatter<'_>,
    items: &[T],
    write: impl Fn(&mut fmt::Formatter<'_>, &T) -> fmt::Result,
) -> fmt::Result {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            f.write_str(", ")?;
        }
        write(f, item)?;
    }
    Ok(())
}
