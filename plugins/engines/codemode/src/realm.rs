//! What a program finds: the language without what makes code of text, shares memory, watches the collector or
//! reads a clock.

use std::rc::Rc;

use boa_engine::context::time::JsInstant;
use boa_engine::context::{Clock, ContextBuilder, HostHooks};
use boa_engine::realm::Realm;
use boa_engine::{Context, JsNativeError, JsResult, JsString, js_string};

use crate::jobs::Jobs;

/// Calls inside calls. The interpreter's own stack holds more, and it is the parser that needs it.
const RECURSION: usize = 400;

/// Values on the interpreter's stack: what that many calls need.
const STACK: usize = 64 * 1024;

/// Bytes of one buffer: less than a program may have in all.
const BUFFER_BYTES: u64 = 64 * 1024 * 1024;

/// Globals that are taken away.
const ABSENT: &[&str] = &["eval", "Atomics", "SharedArrayBuffer", "WeakRef", "FinalizationRegistry"];

/// A context for one program, which begins at `began_at`, in milliseconds since 1970.
pub(crate) fn make(began_at: u64) -> JsResult<Context> {
    let mut context = ContextBuilder::new()
        .host_hooks(Rc::new(Hooks))
        .clock(Rc::new(Standing(began_at)))
        .job_executor(Rc::new(Jobs::default()))
        .build()?;
    let limits = context.runtime_limits_mut();
    limits.set_recursion_limit(RECURSION);
    limits.set_stack_size_limit(STACK);
    let global = context.global_object();
    for name in ABSENT {
        global.delete_property_or_throw(js_string!(*name), &mut context)?;
    }
    Ok(context)
}

/// A clock that stands still.
struct Standing(u64);

impl Clock for Standing {
    fn now(&self) -> JsInstant {
        JsInstant::new(0, 0)
    }

    fn system_time_millis(&self) -> i64 {
        i64::try_from(self.0).unwrap_or(i64::MAX)
    }
}

struct Hooks;

impl HostHooks for Hooks {
    /// `eval`, `Function` and its kin, by whatever way they are reached.
    fn ensure_can_compile_strings(
        &self,
        _realm: Realm,
        _parameters: &[JsString],
        _body: &JsString,
        _direct: bool,
        _context: &mut Context,
    ) -> JsResult<()> {
        Err(JsNativeError::eval().with_message("a program cannot make code of text").into())
    }

    fn local_timezone_offset_seconds(&self, _unix_time_seconds: i64) -> i32 {
        0
    }

    fn max_buffer_size(&self, _context: &mut Context) -> u64 {
        BUFFER_BYTES
    }
}
