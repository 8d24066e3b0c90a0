//! The schemas of the types that come with Rust and serde.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value};

use super::{Kind, Schema, Shape};

macro_rules! integers {
    ($($integer:ty: $minimum:literal, $maximum:literal;)*) => {
        $(impl Schema for $integer {
            const SCHEMA: Shape = Shape { minimum: $minimum, maximum: $maximum, ..Shape::of(Kind::Integer) };
        })*
    };
}

// The bounds of 64 bits are left out: numbers in JSON are doubles to many readers.
integers! {
    u8: "0", "255";
    u16: "0", "65535";
    u32: "0", "4294967295";
    u64: "0", "";
    usize: "0", "4294967295";
    i8: "-128", "127";
    i16: "-32768", "32767";
    i32: "-2147483648", "2147483647";
    i64: "", "";
}

macro_rules! kinds {
    ($($plain:ty: $kind:ident;)*) => {
        $(impl Schema for $plain {
            const SCHEMA: Shape = Shape::of(Kind::$kind);
        })*
    };
}

kinds! {
    bool: Boolean;
    f32: Number;
    f64: Number;
    String: String;
    Value: Any;
}

impl<T: Schema> Schema for Box<T> {
    const SCHEMA: Shape = T::SCHEMA;
}

impl<T: Schema> Schema for Vec<T> {
    const SCHEMA: Shape = Shape::of(Kind::Array(&T::SCHEMA));
}

impl<T: Schema> Schema for BTreeMap<String, T> {
    const SCHEMA: Shape = Shape::of(Kind::Map(&T::SCHEMA));
}

impl<T: Schema> Schema for HashMap<String, T> {
    const SCHEMA: Shape = Shape::of(Kind::Map(&T::SCHEMA));
}

impl Schema for Map<String, Value> {
    const SCHEMA: Shape = Shape::of(Kind::Map(&Shape::of(Kind::Any)));
}
