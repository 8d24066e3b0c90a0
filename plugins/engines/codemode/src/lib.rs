//! The engine of code mode: a JavaScript interpreter as a component.
//!
//! A fresh instance runs one program. It reaches what the host binds, and decides nothing: which calls there are,
//! what they do and what they cost is the host's.

mod bound;
mod console;
mod jobs;
mod json;
mod random;
mod realm;

use boa_engine::builtins::promise::PromiseState;
use boa_engine::error::EngineError;
use boa_engine::object::builtins::JsPromise;
use boa_engine::{Context, JsError, JsResult, JsValue, Script, Source, js_string};

use self::exports::remit::capability::program::{Failure, Guest, Source as Program};
use self::json::Json;
use self::remit::capability::bindings;

wit_bindgen::generate!({ path: "../../../wit", world: "engine" });

struct Engine;

export!(Engine);

/// Bytes of a message about what a program threw.
const MESSAGE_BYTES: usize = 8 * 1024;

impl Guest for Engine {
    fn run(program: Program) -> Result<String, Failure> {
        let mut context = realm::make(program.began_at).map_err(|error| Failure::Thrown(error.to_string()))?;
        let ended = run(&program.code, &mut context);
        console::finish();
        ended
    }
}

fn run(code: &str, context: &mut Context) -> Result<String, Failure> {
    let json = Json::of(context).map_err(|error| failure(error, context))?;
    bound::add(&json, context).map_err(|error| failure(error, context))?;
    console::add(&json, context).map_err(|error| failure(error, context))?;
    // On one line, so that the interpreter counts the lines that the agent wrote.
    let whole = format!("(async()=>{{\"use strict\";{code}\n}})()");
    let script = Script::parse(Source::from_bytes(&whole), None, context)
        .map_err(|error| Failure::Invalid(words(&error.to_string())))?;
    let promise = script.evaluate(context).map_err(|error| failure(error, context))?;
    let promise = promise.as_object().and_then(|object| JsPromise::from_object(object).ok());
    // A program may close the function that it is put into, and end in anything.
    let promise = promise.ok_or_else(|| Failure::Invalid("a program is the body of one function".to_owned()))?;
    follow(&json, context).map_err(|error| failure(error, context))?;
    match promise.state() {
        PromiseState::Fulfilled(value) => {
            let text = json.text(&value, context).map_err(|error| failure(error, context))?;
            Ok(text.unwrap_or_else(|| "null".to_owned()))
        }
        PromiseState::Rejected(value) => Err(failure(JsError::from_opaque(value), context)),
        PromiseState::Pending => Err(Failure::Stuck),
    }
}

/// Goes on until nothing is left to do, calls included that the program does not wait for.
fn follow(json: &Json, context: &mut Context) -> JsResult<()> {
    context.run_jobs()?;
    while let Some(ended) = bindings::wait() {
        bound::settle(ended, json, context)?;
        context.run_jobs()?;
    }
    Ok(())
}

/// Why a program ended without a result.
fn failure(error: JsError, context: &mut Context) -> Failure {
    if let Some(EngineError::RuntimeLimit(_)) = error.as_engine() {
        return Failure::TooDeep;
    }
    let value = error.into_opaque(context).unwrap_or_default();
    Failure::Thrown(words(&said(&value, context)))
}

/// What was thrown, as words: a failed call with its code, anything else as the language says it.
fn said(value: &JsValue, context: &mut Context) -> String {
    let shown = value.to_string(context).map(|text| text.to_std_string_lossy());
    let shown = shown.unwrap_or_else(|_| "something that has no words".to_owned());
    let code = value.as_object().and_then(|object| object.get(js_string!("code"), context).ok());
    match code.as_ref().and_then(JsValue::as_string) {
        Some(code) => format!("{shown} ({})", code.to_std_string_lossy()),
        None => shown,
    }
}

fn words(text: &str) -> String {
    text[..text.floor_char_boundary(MESSAGE_BYTES)].to_owned()
}
