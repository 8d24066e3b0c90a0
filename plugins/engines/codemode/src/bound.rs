//! `remit`: the tree of what the host binds, of which a program sees the branches that it looks at.

use std::cell::RefCell;
use std::collections::HashMap;

use boa_engine::builtins::promise::ResolvingFunctions;
use boa_engine::object::builtins::{JsPromise, JsProxyBuilder};
use boa_engine::object::{FunctionObjectBuilder, JsObject};
use boa_engine::property::{PropertyDescriptor, PropertyKey};
use boa_engine::{Context, JsError, JsNativeError, JsResult, JsString, JsValue, NativeFunction, js_string};
use boa_gc::{Finalize, GcRefCell, Trace};

use crate::json::Json;
use crate::remit::capability::bindings::{self, Ended, Failure};

/// Names that a message lists.
const LISTED: usize = 24;

/// Names that the language itself looks for: absent from the tree, and no mistake.
const ASKED_BY_THE_LANGUAGE: [&str; 6] =
    ["then", "toJSON", "toString", "valueOf", "constructor", "asymmetricMatch"];

thread_local! {
    /// The promises of open calls.
    static OPEN: RefCell<HashMap<u32, ResolvingFunctions>> = RefCell::default();
}

/// A place in the tree, which is made when it is looked at first.
#[derive(Trace, Finalize)]
struct Place {
    #[unsafe_ignore_trace]
    path: Vec<String>,
    json: Json,
    made: GcRefCell<Option<JsObject>>,
}

/// Puts `remit` into a context.
pub(crate) fn add(json: &Json, context: &mut Context) -> JsResult<()> {
    let getter = branch(Vec::new(), json.clone(), context);
    let global = context.global_object();
    define(&global, "remit", PropertyDescriptor::builder().get(getter), context)
}

/// Gives a call that has ended its promise's end.
pub(crate) fn settle(ended: Ended, json: &Json, context: &mut Context) -> JsResult<()> {
    let Some(promise) = OPEN.with_borrow_mut(|open| open.remove(&ended.id)) else { return Ok(()) };
    let (function, value) = match ended.outcome {
        Ok(text) => (promise.resolve, json.parse(&text, context)?),
        Err(failure) => (promise.reject, thrown(failure, json, context)?),
    };
    function.call(&JsValue::undefined(), &[value], context).map(drop)
}

/// A getter that makes the branch at a path when it is called first.
fn branch(path: Vec<String>, json: Json, context: &mut Context) -> JsObject {
    let place = Place { path, json, made: GcRefCell::new(None) };
    let getter = NativeFunction::from_copy_closure_with_captures(
        |_this, _arguments, place: &Place, context| {
            if let Some(made) = &*place.made.borrow() {
                return Ok(made.clone().into());
            }
            let made = grow(&place.path, &place.json, context)?;
            *place.made.borrow_mut() = Some(made.clone());
            Ok(made.into())
        },
        place,
    );
    FunctionObjectBuilder::new(context.realm(), getter).build().into()
}

/// The branch at a path: functions, and branches to come.
fn grow(path: &[String], json: &Json, context: &mut Context) -> JsResult<JsObject> {
    let target = JsObject::with_null_proto();
    for binding in bindings::list(path) {
        let below: Vec<String> = path.iter().cloned().chain([binding.name.clone()]).collect();
        let property = if binding.callable {
            PropertyDescriptor::builder().value(function(&binding.name, below, json.clone(), context))
        } else {
            PropertyDescriptor::builder().get(branch(below, json.clone(), context))
        };
        define(&target, &binding.name, property, context)?;
    }
    Ok(JsProxyBuilder::new(target).get(look).build(context)?.into())
}

fn define(
    object: &JsObject,
    name: &str,
    property: boa_engine::property::PropertyDescriptorBuilder,
    context: &mut Context,
) -> JsResult<()> {
    let property = property.enumerable(true).configurable(false).build();
    object.define_property_or_throw(JsString::from(name), property, context).map(drop)
}

/// Looks a name up. One that is not there is a mistake, and the message says what is.
fn look(_this: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let [target, key, ..] = arguments else { return Ok(JsValue::undefined()) };
    let target = target.to_object(context)?;
    let key = key.to_property_key(context)?;
    if target.has_own_property(key.clone(), context)? {
        return target.get(key, context);
    }
    let PropertyKey::String(name) = key else { return Ok(JsValue::undefined()) };
    let name = name.to_std_string_lossy();
    if ASKED_BY_THE_LANGUAGE.contains(&name.as_str()) {
        return Ok(JsValue::undefined());
    }
    let keys = target.own_property_keys(context)?;
    let there: Vec<String> = keys.iter().take(LISTED).map(ToString::to_string).collect();
    let more = if keys.len() > LISTED { format!(", and {} more", keys.len() - LISTED) } else { String::new() };
    let message = format!("nothing is bound as `{name}` here; there is: {}{more}", there.join(", "));
    Err(JsNativeError::typ().with_message(message).into())
}

/// A function that starts the call of a path, and gives its promise.
fn function(name: &str, path: Vec<String>, json: Json, context: &mut Context) -> JsObject {
    let place = Place { path, json, made: GcRefCell::new(None) };
    let call = NativeFunction::from_copy_closure_with_captures(
        |_this, arguments, place: &Place, context| {
            let input = match arguments.first().filter(|input| !input.is_undefined()) {
                None => "{}".to_owned(),
                Some(input) => place.json.text(input, context)?.ok_or_else(|| {
                    JsError::from(JsNativeError::typ().with_message("the input of a tool is an object"))
                })?,
            };
            let (promise, ends) = JsPromise::new_pending(context);
            let id = bindings::start(&place.path, &input);
            OPEN.with_borrow_mut(|open| open.insert(id, ends));
            Ok(JsObject::from(promise).into())
        },
        place,
    );
    FunctionObjectBuilder::new(context.realm(), call).name(JsString::from(name)).length(1).build().into()
}

/// What a call without an answer throws: an `Error` with the stable code, and whatever more the host says.
fn thrown(failure: Failure, json: &Json, context: &mut Context) -> JsResult<JsValue> {
    let error = JsNativeError::error().with_message(failure.message).into_opaque(context);
    if let Some(details) = failure.details {
        let details = json.parse(&details, context)?.to_object(context)?;
        for key in details.own_property_keys(context)? {
            let value = details.get(key.clone(), context)?;
            error.set(key, value, false, context)?;
        }
    }
    error.set(js_string!("code"), JsString::from(failure.code.as_str()), false, context)?;
    Ok(error.into())
}
