//! Values there and back, and what is refused on the way.

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use wasmtime::component::Val;

use super::*;
use crate::manifest::Tool;
use crate::validate::ToolSchemas;

/// A function of one parameter, `value`, that gives back what it takes.
fn same(shape: Shape) -> Signature {
    Signature { parameters: vec![("value".to_owned(), shape.clone())], result: Some(shape) }
}

fn schemas(signature: &Signature) -> ToolSchemas {
    let tool = json!({
        "name": "f", "description": "d",
        "inputSchema": input_schema(signature),
        "outputSchema": output_schema(signature),
    });
    ToolSchemas::new(&serde_json::from_value::<Tool>(tool).unwrap())
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        other => panic!("{other} is no object"),
    }
}

/// What comes back of a value that a guest gets, or why it gets none.
fn there_and_back(shape: &Shape, value: &Value) -> Result<Value, String> {
    let signature = same(shape.clone());
    let arguments =
        arguments(&signature, &object(json!({ "value": value }))).map_err(|misfit| misfit.to_string())?;
    let Said::Answer(answer) = outcome(&signature, arguments.first()).map_err(|misfit| misfit.to_string())? else {
        return Err("it is the other half of a `result`".to_owned());
    };
    schemas(&signature).check_output(&answer).unwrap();
    Ok(answer.get("result").unwrap_or(&answer).clone())
}

fn name(number: usize) -> String {
    format!("name-{number}")
}

fn named<T>(items: Vec<T>) -> Vec<(String, T)> {
    items.into_iter().enumerate().map(|(index, item)| (name(index), item)).collect()
}

fn shapes() -> impl Strategy<Value = Shape> {
    let integers = [
        Integer::S8,
        Integer::U8,
        Integer::S16,
        Integer::U16,
        Integer::S32,
        Integer::U32,
        Integer::S64,
        Integer::U64,
    ];
    let leaf = prop_oneof![
        Just(Shape::Bool),
        proptest::sample::select(integers.to_vec()).prop_map(Shape::Integer),
        Just(Shape::Float32),
        Just(Shape::Float64),
        Just(Shape::Char),
        Just(Shape::Text),
        Just(Shape::Bytes),
        (1..4_usize).prop_map(|count| Shape::Enum((0..count).map(name).collect())),
        (1..4_usize).prop_map(|count| Shape::Flags((0..count).map(name).collect())),
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        let maybe = proptest::option::of(inner.clone());
        prop_oneof![
            inner.clone().prop_map(Shape::list_of),
            inner.clone().prop_map(|inner| Shape::Option(Box::new(inner))),
            vec(inner.clone(), 1..4).prop_map(Shape::Tuple),
            vec(inner, 1..4).prop_map(|fields| Shape::Record(named(fields))),
            vec(maybe.clone(), 1..4).prop_map(|cases| Shape::Variant(named(cases))),
            (maybe.clone(), maybe).prop_map(|(ok, error)| Shape::Result(ok.map(Box::new), error.map(Box::new))),
        ]
    })
}

/// Values of the shape, as a guest could give them: all but numbers that are none.
fn values(shape: &Shape) -> BoxedStrategy<Val> {
    let maybe = |shape: Option<&Shape>| match shape {
        Some(shape) => values(shape).prop_map(|value| Some(Box::new(value))).boxed(),
        None => Just(None).boxed(),
    };
    match shape {
        Shape::Bool => any::<bool>().prop_map(Val::Bool).boxed(),
        Shape::Integer(Integer::S8) => any::<i8>().prop_map(Val::S8).boxed(),
        Shape::Integer(Integer::U8) => any::<u8>().prop_map(Val::U8).boxed(),
        Shape::Integer(Integer::S16) => any::<i16>().prop_map(Val::S16).boxed(),
        Shape::Integer(Integer::U16) => any::<u16>().prop_map(Val::U16).boxed(),
        Shape::Integer(Integer::S32) => any::<i32>().prop_map(Val::S32).boxed(),
        Shape::Integer(Integer::U32) => any::<u32>().prop_map(Val::U32).boxed(),
        Shape::Integer(Integer::S64) => any::<i64>().prop_map(Val::S64).boxed(),
        Shape::Integer(Integer::U64) => any::<u64>().prop_map(Val::U64).boxed(),
        Shape::Float32 => (-1e30_f32..1e30).prop_map(Val::Float32).boxed(),
        Shape::Float64 => (-1e300_f64..1e300).prop_map(Val::Float64).boxed(),
        Shape::Char => any::<char>().prop_map(Val::Char).boxed(),
        Shape::Text => any::<String>().prop_map(Val::String).boxed(),
        Shape::Bytes => vec(any::<u8>().prop_map(Val::U8), 0..9).prop_map(Val::List).boxed(),
        Shape::List(element) => vec(values(element), 0..4).prop_map(Val::List).boxed(),
        Shape::Tuple(parts) => parts.iter().map(values).collect::<Vec<_>>().prop_map(Val::Tuple).boxed(),
        Shape::Record(fields) => {
            let names: Vec<_> = fields.iter().map(|(name, _)| name.clone()).collect();
            let values: Vec<_> = fields.iter().map(|(_, shape)| values(shape)).collect();
            values.prop_map(move |values| Val::Record(names.iter().cloned().zip(values).collect())).boxed()
        }
        Shape::Enum(cases) => proptest::sample::select(cases.clone()).prop_map(Val::Enum).boxed(),
        Shape::Flags(flags) => {
            let count = flags.len();
            proptest::sample::subsequence(flags.clone(), 0..=count).prop_map(Val::Flags).boxed()
        }
        Shape::Option(inner) => {
            let some = values(inner).prop_map(|value| Val::Option(Some(Box::new(value))));
            prop_oneof![Just(Val::Option(None)), some].boxed()
        }
        Shape::Variant(cases) => {
            let case = |(name, shape): &(String, Option<Shape>)| {
                let name = name.clone();
                maybe(shape.as_ref()).prop_map(move |payload| Val::Variant(name.clone(), payload)).boxed()
            };
            proptest::strategy::Union::new(cases.iter().map(case).collect::<Vec<_>>()).boxed()
        }
        Shape::Result(ok, error) => {
            let ok = maybe(ok.as_deref()).prop_map(|payload| Val::Result(Ok(payload)));
            let error = maybe(error.as_deref()).prop_map(|payload| Val::Result(Err(payload)));
            prop_oneof![ok, error].boxed()
        }
    }
}

proptest! {
    /// Whatever a guest may give fits the output schema, is let in by the input schema, and is the same value again.
    #[test]
    fn every_value_survives((shape, value) in shapes().prop_flat_map(|shape| {
        let value = values(&shape);
        (Just(shape), value)
    })) {
        // In a tuple, so that no `result` is taken for the function's own.
        let signature = same(Shape::Tuple(vec![shape]));
        let value = Val::Tuple(vec![value]);
        let Said::Answer(answer) = outcome(&signature, Some(&value)).unwrap() else { panic!("no failure") };
        let schemas = schemas(&signature);
        prop_assert_eq!(schemas.check_output(&answer), Ok(()));
        let input = json!({ "value": answer["result"] });
        prop_assert_eq!(schemas.check_input(&input), Ok(()));
        prop_assert_eq!(arguments(&signature, &object(input)).unwrap(), vec![value]);
    }

    /// Whatever JSON comes, it is a value or a reason.
    #[test]
    fn any_json_is_taken_or_refused(shape in shapes(), text in "[-0-9a-z\\[\\]{}\":,.]{0,40}") {
        if let Ok(value) = serde_json::from_str::<Value>(&text) {
            let _ = there_and_back(&shape, &value);
        }
    }
}

#[test]
fn values_look_as_the_guide_says() {
    let text = || Shape::Text;
    let record =
        Shape::Record(vec![("a-b".to_owned(), text()), ("c".to_owned(), Shape::Option(Box::new(text())))]);
    let variant = Shape::Variant(vec![("none".to_owned(), None), ("some".to_owned(), Some(text()))]);
    let twice = Shape::Option(Box::new(Shape::Option(Box::new(Shape::Bool))));
    let cases = [
        (Shape::Integer(Integer::U8), json!(255), Ok(json!(255))),
        (Shape::Integer(Integer::U8), json!(256), Err("`: it is not between 0 and 255")),
        (Shape::Integer(Integer::S8), json!(-129), Err("`: it is not between -128 and 127")),
        (Shape::Integer(Integer::S32), json!(5.0), Ok(json!(5))),
        (Shape::Integer(Integer::U64), json!(9_007_199_254_740_991_u64), Ok(json!("9007199254740991"))),
        (Shape::Integer(Integer::S64), json!("-9223372036854775808"), Ok(json!("-9223372036854775808"))),
        (
            Shape::Integer(Integer::S64),
            json!("99999999999999999999"),
            Err("`: it is not between -9223372036854775808 and 9223372036854775807"),
        ),
        (Shape::Float32, json!(0.1), Ok(json!(0.1))),
        (Shape::Char, json!("é"), Ok(json!("é"))),
        (Shape::Char, json!("ab"), Err("`: it is not one character")),
        (Shape::Bytes, json!("AAEC"), Ok(json!("AAEC"))),
        (Shape::Bytes, json!([0, 1]), Err("`: it is no `list<u8>`")),
        (record.clone(), json!({ "a-b": "x" }), Ok(json!({ "a-b": "x" }))),
        (record.clone(), json!({ "a-b": "x", "c": null }), Ok(json!({ "a-b": "x" }))),
        (record.clone(), json!({ "c": "x" }), Err("/a-b`: it is missing")),
        (record, json!({ "a-b": "x", "d": 1 }), Err("`: it has a member that the type does not name")),
        (variant.clone(), json!("none"), Ok(json!("none"))),
        (variant.clone(), json!({ "some": "x" }), Ok(json!({ "some": "x" }))),
        (variant.clone(), json!("some"), Err("`: it is no case of the type")),
        (variant, json!({ "none": null }), Err("`: it is no case of the type")),
        (twice.clone(), json!(null), Ok(json!(null))),
        (twice.clone(), json!({ "some": null }), Ok(json!({ "some": null }))),
        (twice.clone(), json!({ "some": true }), Ok(json!({ "some": true }))),
        (twice, json!(true), Err("`: it is no object with `some` alone")),
        (Shape::Tuple(vec![text(), Shape::Bool]), json!(["x", true]), Ok(json!(["x", true]))),
        (Shape::Tuple(vec![text(), Shape::Bool]), json!(["x"]), Err("`: it is no `tuple<string, bool>`")),
        (Shape::Flags(vec!["a".to_owned(), "b".to_owned()]), json!(["b"]), Ok(json!(["b"]))),
        (
            Shape::Flags(vec!["a".to_owned()]),
            json!(["a", "a"]),
            Err("`: it holds what is no flag, or a flag twice"),
        ),
    ];
    for (shape, input, expected) in cases {
        let expected = expected.map_err(|reason: &str| format!("the arguments at `/value{reason}"));
        assert_eq!(there_and_back(&shape, &input), expected, "{shape} {input}");
    }
}

#[test]
fn what_a_function_says_is_an_object_or_why_there_is_none() {
    let said = |result: Shape, value: Val| {
        let signature = Signature { parameters: Vec::new(), result: Some(result) };
        outcome(&signature, Some(&value))
    };
    let fallible = || Shape::Result(Some(Box::new(Shape::Bool)), Some(Box::new(Shape::Text)));
    let yes = || Some(Box::new(Val::Bool(true)));
    let why = || Some(Box::new(Val::String("why".to_owned())));
    assert_eq!(said(Shape::Bool, Val::Bool(true)), Ok(Said::Answer(json!({ "result": true }))));
    assert_eq!(said(fallible(), Val::Result(Ok(yes()))), Ok(Said::Answer(json!({ "result": true }))));
    assert_eq!(said(fallible(), Val::Result(Err(why()))), Ok(Said::Failure("why".to_owned())));
    let inside = Shape::List(Box::new(fallible()));
    let both = Val::List(vec![Val::Result(Ok(yes())), Val::Result(Err(why()))]);
    assert_eq!(said(inside, both), Ok(Said::Answer(json!({ "result": [{ "ok": true }, { "err": "why" }] }))));
    let record = Shape::Record(vec![("a".to_owned(), Shape::Bool)]);
    let value = Val::Record(vec![("a".to_owned(), Val::Bool(true))]);
    assert_eq!(said(record, value), Ok(Said::Answer(json!({ "a": true }))));
    for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert!(said(Shape::Float64, Val::Float64(number)).is_err());
    }
    // What is not of its type, as no engine gives it.
    assert!(said(Shape::Record(Vec::new()), Val::Tuple(Vec::new())).is_err());
    assert_eq!(outcome(&Signature { parameters: Vec::new(), result: None }, None), Ok(Said::Answer(json!({}))));
}

#[test]
fn input_that_is_too_much_is_refused() {
    let list = same(Shape::List(Box::new(Shape::Bool)));
    let many = |count: usize| object(json!({ "value": vec![true; count] }));
    assert!(arguments(&list, &many(200_000)).is_ok());
    assert!(arguments(&list, &many(250_001)).is_err());
    let bytes = same(Shape::Bytes);
    let text = |count: usize| object(json!({ "value": "AAAA".repeat(count) }));
    assert!(arguments(&bytes, &text(80_000)).is_ok());
    assert!(arguments(&bytes, &text(90_000)).is_err());
}
