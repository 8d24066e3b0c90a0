//! JSON Schemas as constants: a type's shape is known when it is compiled, is written into a section of
//! the module by then, and costs the running guest nothing.
//!
//! Texts that end in the schema are JSON already (the macros escape them), so that writing it is
//! copying. Schemas are inlined and every object is closed; recursive types have none.

mod render;
mod types;

pub(crate) use render::form;
#[cfg(not(target_arch = "wasm32"))]
pub(crate) use render::to_text;
pub use render::{length, render};

/// A type that has a JSON Schema.
///
/// `#[remit_sdk::data]` implements it for structs and enums.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no JSON Schema",
    label = "a tool cannot take or give this type",
    note = "put `#[remit_sdk::data]` on it if it is yours; write `Option<…>` only around the type of a whole parameter or field"
)]
pub trait Schema {
    /// The schema.
    const SCHEMA: Shape;
}

/// A JSON Schema.
#[derive(Clone, Copy)]
pub struct Shape {
    kind: Kind,
    description: &'static str,
    minimum: &'static str,
    maximum: &'static str,
    min_length: &'static str,
    max_length: &'static str,
    pattern: &'static str,
    min_items: &'static str,
    max_items: &'static str,
    default: &'static str,
}

#[derive(Clone, Copy)]
enum Kind {
    Any,
    Boolean,
    Integer,
    Number,
    String,
    Choice(&'static [&'static str]),
    Array(&'static Shape),
    Map(&'static Shape),
    Object(&'static [Field]),
}

/// A property of an object.
#[derive(Clone, Copy)]
pub struct Field {
    /// Its name, as JSON text.
    pub name: &'static str,
    /// What it holds.
    pub shape: Shape,
    /// Whether it has to be there.
    pub required: bool,
}

/// A tool's entry in the manifest.
#[derive(Clone, Copy)]
pub struct Tool {
    /// All but its schemas: the members of a JSON object, with the commas between them.
    pub members: &'static str,
    /// Its input.
    pub input: Shape,
    /// Its structured output, where it has one.
    pub output: Option<Shape>,
}

impl Shape {
    const fn of(kind: Kind) -> Self {
        Self {
            kind,
            description: "",
            minimum: "",
            maximum: "",
            min_length: "",
            max_length: "",
            pattern: "",
            min_items: "",
            max_items: "",
            default: "",
        }
    }

    /// An object of these properties and no others.
    #[must_use]
    pub const fn object(fields: &'static [Field]) -> Self {
        Self::of(Kind::Object(fields))
    }

    /// One of these strings, each given as JSON text.
    #[must_use]
    pub const fn choice(names: &'static [&'static str]) -> Self {
        Self::of(Kind::Choice(names))
    }

    /// Whether a person can fill it in: an object of texts without a pattern, numbers, booleans and choices.
    #[must_use]
    pub const fn is_form(&self) -> bool {
        let Kind::Object(fields) = self.kind else { return false };
        let mut rest = fields;
        while let [field, others @ ..] = rest {
            let fits = match field.shape.kind {
                Kind::Boolean | Kind::Integer | Kind::Number | Kind::Choice(_) => true,
                Kind::String => field.shape.pattern.is_empty(),
                Kind::Array(items) => matches!(items.kind, Kind::Choice(_)),
                Kind::Any | Kind::Map(_) | Kind::Object(_) => false,
            };
            if !fits {
                return false;
            }
            rest = others;
        }
        true
    }

    /// With this description.
    #[must_use]
    pub const fn describe(self, description: &'static str) -> Self {
        Self { description, ..self }
    }

    /// With this lower bound, in place of the type's own.
    #[must_use]
    pub const fn min(self, minimum: &'static str) -> Self {
        assert!(matches!(self.kind, Kind::Integer | Kind::Number), "`min` fits numbers only");
        Self { minimum, ..self }
    }

    /// With this upper bound, in place of the type's own.
    #[must_use]
    pub const fn max(self, maximum: &'static str) -> Self {
        assert!(matches!(self.kind, Kind::Integer | Kind::Number), "`max` fits numbers only");
        Self { maximum, ..self }
    }

    /// With at least this many characters.
    #[must_use]
    pub const fn min_length(self, min_length: &'static str) -> Self {
        assert!(matches!(self.kind, Kind::String), "`min_length` fits strings only");
        Self { min_length, ..self }
    }

    /// With at most this many characters.
    #[must_use]
    pub const fn max_length(self, max_length: &'static str) -> Self {
        assert!(matches!(self.kind, Kind::String), "`max_length` fits strings only");
        Self { max_length, ..self }
    }

    /// With a match for this regular expression.
    #[must_use]
    pub const fn pattern(self, pattern: &'static str) -> Self {
        assert!(matches!(self.kind, Kind::String), "`pattern` fits strings only");
        Self { pattern, ..self }
    }

    /// With at least this many items.
    #[must_use]
    pub const fn min_items(self, min_items: &'static str) -> Self {
        assert!(matches!(self.kind, Kind::Array(_)), "`min_items` fits lists only");
        Self { min_items, ..self }
    }

    /// With at most this many items.
    #[must_use]
    pub const fn max_items(self, max_items: &'static str) -> Self {
        assert!(matches!(self.kind, Kind::Array(_)), "`max_items` fits lists only");
        Self { max_items, ..self }
    }

    /// With the value that stands for a missing one.
    #[must_use]
    pub const fn default(self, default: &'static str) -> Self {
        let name = if let Kind::Choice(names) = self.kind { contains(names, default) } else { true };
        assert!(name, "the default is none of the choices");
        Self { default, ..self }
    }
}

const fn contains(names: &[&str], name: &str) -> bool {
    let mut rest = names;
    while let [first, others @ ..] = rest {
        if same(first.as_bytes(), name.as_bytes()) {
            return true;
        }
        rest = others;
    }
    false
}

const fn same(mut left: &[u8], mut right: &[u8]) -> bool {
    while let ([first, left_rest @ ..], [other, right_rest @ ..]) = (left, right) {
        if *first != *other {
            return false;
        }
        (left, right) = (left_rest, right_rest);
    }
    left.is_empty() && right.is_empty()
}
