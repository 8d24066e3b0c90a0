//! JSON, by the functions that were there before the program could change them.

use boa_engine::{Context, JsObject, JsResult, JsString, JsValue, js_string};
use boa_gc::{Finalize, Trace};

/// `JSON.parse` and `JSON.stringify`.
#[derive(Clone, Trace, Finalize)]
pub(crate) struct Json {
    parse: JsObject,
    stringify: JsObject,
}

impl Json {
    /// Those of a context whose program has not begun.
    pub(crate) fn of(context: &mut Context) -> JsResult<Self> {
        let json = context.global_object().get(js_string!("JSON"), context)?.to_object(context)?;
        let mut function = |name: &str| json.get(JsString::from(name), context)?.to_object(context);
        Ok(Self { parse: function("parse")?, stringify: function("stringify")? })
    }

    /// The value of a text.
    pub(crate) fn parse(&self, text: &str, context: &mut Context) -> JsResult<JsValue> {
        self.parse.call(&JsValue::undefined(), &[JsString::from(text).into()], context)
    }

    /// The text of a value; none of one that has no JSON, such as `undefined`.
    pub(crate) fn text(&self, value: &JsValue, context: &mut Context) -> JsResult<Option<String>> {
        let text = self.stringify.call(&JsValue::undefined(), std::slice::from_ref(value), context)?;
        Ok(text.as_string().map(|text| text.to_std_string_lossy()))
    }
}
