//! `engine_call`: the whole path of a call without MCP, against a bare loop over the same component.

use std::time::Instant;

use remit::app::App;
use remit::call::{CallRequest, Host};
use remit::client::Confirmation;
use remit::config::Config;
use remit::policy::Identity;
use tokio_util::sync::CancellationToken;

use crate::{Effort, figure, home, median};

mod bare {
    wasmtime::component::bindgen!({ path: "../../wit", world: "capability" });
}

const ARGUMENTS: &str = r#"{"message":"hello"}"#;

pub(crate) fn measure(effort: Effort) {
    let scratch = home::scratch();
    let component = home::plugin("text");
    home::install(scratch.path(), &component);
    let threads = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let threads = threads.expect("threads");
    let app = App::open(scratch.path(), Config::default()).expect("a home");
    let host = threads.block_on(async { app.host() }).expect("a host");
    let bare = Bare::new(&component);
    let mut ours = Vec::new();
    let mut theirs = Vec::new();
    for _ in 0..effort.rounds {
        threads.block_on(async {
            for _ in 0..effort.calls {
                let begun = Instant::now();
                call(&host).await;
                ours.push(begun.elapsed().as_secs_f64() * 1e6);
            }
        });
        for _ in 0..effort.calls {
            let begun = Instant::now();
            bare.call();
            theirs.push(begun.elapsed().as_secs_f64() * 1e6);
        }
    }
    let (ours, theirs) = (median(&mut ours), median(&mut theirs));
    figure("engine_call_p50", "value", ours, "µs", "");
    figure("bare_wasmtime_call_p50", "value", theirs, "µs", "");
    figure("engine_call", "ratio", ours / theirs, "x", "<= 2");
}

async fn call(host: &Host) {
    let (tool, arguments) = ("remit/text.echo".parse().expect("a name"), serde_json::from_str(ARGUMENTS));
    let plain = CallRequest::new(Identity::operator("bench"), tool, arguments.expect("an object"));
    let request = CallRequest { confirmation: Confirmation::Standing, ..plain };
    let reply = host.call(request, CancellationToken::new()).await;
    assert!(reply.is_ok(), "{reply:?}");
}

struct Bare {
    engine: wasmtime::Engine,
    linked: bare::CapabilityPre<()>,
}

impl Bare {
    fn new(component: &[u8]) -> Self {
        let engine = wasmtime::Engine::default();
        let component = wasmtime::component::Component::new(&engine, component).expect("a component");
        let linker = wasmtime::component::Linker::new(&engine);
        let linked = linker.instantiate_pre(&component).expect("`text` imports nothing");
        Self { engine, linked: bare::CapabilityPre::new(linked).expect("the export") }
    }

    fn call(&self) {
        use bare::exports::remit::capability::tools::{Context, ToolCall};

        let mut store = wasmtime::Store::new(&self.engine, ());
        let instance = self.linked.instantiate(&mut store).expect("an instance");
        let call = ToolCall {
            tool: "echo".to_owned(),
            input: ARGUMENTS.to_owned(),
            context: Context { dry_run: false, run_id: "bench".to_owned(), locale: None },
        };
        let reply = instance.remit_capability_tools().call_call(&mut store, &call).expect("no trap");
        assert!(reply.is_ok());
    }
}
