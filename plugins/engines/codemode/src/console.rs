//! `console`: lines for the agent, by way of the host's log.

use boa_engine::object::ObjectInitializer;
use boa_engine::property::Attribute;
use boa_engine::{Context, JsResult, JsValue, NativeFunction, js_string};

use crate::json::Json;
use crate::remit::capability::log::{self, Level};

/// The functions that are there, and how much their lines matter.
const FUNCTIONS: [(&str, Level); 5] = [
    ("debug", Level::Debug),
    ("log", Level::Info),
    ("info", Level::Info),
    ("warn", Level::Warn),
    ("error", Level::Error),
];

/// Lines that are passed on: the host keeps no more than fit, and each costs as much as any call to it.
const LINES: u32 = 1_000;

thread_local! {
    static LINES_SAID: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
}

/// Puts `console` into a context.
pub(crate) fn add(json: &Json, context: &mut Context) -> JsResult<()> {
    let functions = FUNCTIONS.map(|(name, level)| (name, function(level, json.clone())));
    let mut console = ObjectInitializer::new(context);
    for (name, function) in functions {
        console.function(function, js_string!(name), 0);
    }
    let console = console.build();
    context.register_global_property(js_string!("console"), console, Attribute::all())
}

fn function(level: Level, json: Json) -> NativeFunction {
    NativeFunction::from_copy_closure_with_captures(
        move |_this, values, json: &Json, context| {
            let said = LINES_SAID.get();
            LINES_SAID.set(said.saturating_add(1));
            if said < LINES {
                let words: Vec<_> =
                    values.iter().map(|value| word(value, json, context)).collect::<JsResult<_>>()?;
                log::log(level, &words.join(" "));
            }
            Ok(JsValue::undefined())
        },
        json,
    )
}

/// Says how many lines were not passed on.
pub(crate) fn finish() {
    let dropped = LINES_SAID.get().saturating_sub(LINES);
    if dropped > 0 {
        log::log(Level::Warn, &format!("{dropped} more lines were dropped"));
    }
}

/// A text as it is, a failure as its words, anything else as JSON where it has one.
fn word(value: &JsValue, json: &Json, context: &mut Context) -> JsResult<String> {
    if let Some(text) = value.as_string() {
        return Ok(text.to_std_string_lossy());
    }
    let is_failure = value.as_object().is_some_and(|object| object.is::<boa_engine::builtins::error::Error>());
    match json.text(value, context) {
        Ok(Some(text)) if !is_failure => Ok(text),
        _ => Ok(value.to_string(context).map_or_else(|_| "?".to_owned(), |text| text.to_std_string_lossy())),
    }
}
