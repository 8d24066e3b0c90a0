//! `program`: a trivial program, against the same engine component in a bare loop; and a program of twenty calls,
//! against the twenty calls alone.

use std::time::Instant;

use remit::app::App;
use remit::call::{CallRequest, Host, Program};
use remit::client::Confirmation;
use remit::config::Config;
use remit::policy::Identity;
use tokio_util::sync::CancellationToken;

use crate::{Effort, figure, home, median};

mod bare {
    wasmtime::component::bindgen!({ path: "../../wit", world: "engine" });
}

const TRIVIAL: &str = "return 1 + 1";

/// Twenty calls, one after another: what an agent would make without a program.
const CALLS: usize = 20;

const TWENTY: &str = "
    let length = 0;
    for (let n = 0; n < 20; n++) length += (await remit.text.echo({ message: 'hello' })).length;
    return length";

/// Programs are slower than calls; a figure needs fewer.
const SHARE: usize = 10;

pub(crate) fn measure(effort: Effort) {
    let scratch = home::scratch();
    let component = home::plugin("codemode");
    home::install(scratch.path(), &component);
    home::install(scratch.path(), &home::plugin("text"));
    let threads = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let threads = threads.expect("threads");
    let app = App::open(scratch.path(), Config::default()).expect("a home");
    let host = threads.block_on(async { app.host() }).expect("a host");
    let bare = Bare::new(&component);
    let (mut ours, mut theirs, mut twenty, mut alone) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..effort.rounds {
        threads.block_on(async {
            for _ in 0..effort.calls / SHARE {
                ours.push(taken(execute(&host, TRIVIAL)).await);
            }
        });
        for _ in 0..effort.calls / SHARE {
            let begun = Instant::now();
            bare.run();
            theirs.push(begun.elapsed().as_secs_f64() * 1e6);
        }
        threads.block_on(async {
            for _ in 0..effort.calls / SHARE / CALLS + 1 {
                twenty.push(taken(execute(&host, TWENTY)).await);
                let calls = async {
                    for _ in 0..CALLS {
                        call(&host).await;
                    }
                };
                alone.push(taken(calls).await);
            }
        });
    }
    let (ours, theirs) = (median(&mut ours), median(&mut theirs));
    figure("program_trivial_p50", "value", ours, "µs", "<= 1000 on an idle machine");
    figure("program_bare_p50", "value", theirs, "µs", "");
    figure("program_trivial", "ratio", ours / theirs, "x", "<= 1.5");
    let (twenty, alone) = (median(&mut twenty), median(&mut alone));
    figure("program_20_calls_p50", "value", twenty, "µs", "");
    figure("program_20_calls", "ratio", twenty / alone, "x", "<= 1.3");
}

async fn taken(work: impl Future<Output = ()>) -> f64 {
    let begun = Instant::now();
    work.await;
    begun.elapsed().as_secs_f64() * 1e6
}

async fn execute(host: &Host, source: &str) {
    let program = Program::new(Identity::operator("bench"), source);
    let reply = host.execute(program, CancellationToken::new()).await;
    assert!(reply.is_ok(), "{reply:?}");
}

async fn call(host: &Host) {
    let arguments = serde_json::from_str(r#"{"message":"hello"}"#).expect("an object");
    let plain =
        CallRequest::new(Identity::operator("bench"), "remit/text.echo".parse().expect("a name"), arguments);
    let request = CallRequest { confirmation: Confirmation::Standing, ..plain };
    let reply = host.call(request, CancellationToken::new()).await;
    assert!(reply.is_ok(), "{reply:?}");
}

struct Bare {
    engine: wasmtime::Engine,
    linked: bare::EnginePre<Nothing>,
}

/// What the engine reaches: nothing is bound, and nobody reads what it prints.
struct Nothing;

impl bare::remit::capability::bindings::Host for Nothing {
    fn list(&mut self, _path: Vec<String>) -> Vec<bare::remit::capability::bindings::Binding> {
        Vec::new()
    }

    fn start(&mut self, _path: Vec<String>, _input: String) -> u32 {
        0
    }

    fn wait(&mut self) -> Option<bare::remit::capability::bindings::Ended> {
        None
    }
}

impl bare::remit::capability::log::Host for Nothing {
    fn log(&mut self, _level: bare::remit::capability::log::Level, _message: String) {}
}

impl Bare {
    fn new(component: &[u8]) -> Self {
        let engine = wasmtime::Engine::default();
        let component = wasmtime::component::Component::new(&engine, component).expect("a component");
        let mut linker = wasmtime::component::Linker::new(&engine);
        bare::Engine::add_to_linker::<_, wasmtime::component::HasSelf<_>>(&mut linker, |state| state)
            .expect("its imports");
        let linked = linker.instantiate_pre(&component).expect("it imports nothing else");
        Self { engine, linked: bare::EnginePre::new(linked).expect("the export") }
    }

    fn run(&self) {
        use bare::exports::remit::capability::program::Source;

        let mut store = wasmtime::Store::new(&self.engine, Nothing);
        let instance = self.linked.instantiate(&mut store).expect("an instance");
        let source = Source { code: TRIVIAL.to_owned(), began_at: 0 };
        let result = instance.remit_capability_program().call_run(&mut store, &source).expect("no trap");
        assert_eq!(result.expect("a result"), "2");
    }
}
