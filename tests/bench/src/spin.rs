//! `spin_isolation`: how long `echo` takes while eight guests run for ever, against alone.

use remit_guests::{Guest, manifest};
use serde_json::json;

use crate::server::Server;
use crate::{Effort, figure, home, quantile};

const SPINNERS: usize = 8;

pub(crate) fn measure(effort: Effort) {
    let scratch = home::scratch();
    home::install(scratch.path(), &home::plugin("text"));
    let mut spinner = manifest("spin");
    spinner["limits"] = json!({ "fuel": 10_000_000_000_u64, "timeMs": 120_000 });
    home::install(scratch.path(), &Guest::loops().with_manifest(&spinner));
    let mut server = Server::remit(scratch.path());
    let calls = effort.calls;
    let mut alone = times(&mut server, calls);
    // Requests are answered out of order: the echo's answers come while the spinners' never do.
    for _ in 0..SPINNERS {
        server.send("tools/call", r#"{"name":"spin__run","arguments":{}}"#);
    }
    std::thread::sleep(std::time::Duration::from_millis(500));
    let mut beside = times(&mut server, calls);
    let (alone, beside) = (quantile(&mut alone, 0.99), quantile(&mut beside, 0.99));
    figure("echo_p99_alone", "value", alone, "µs", "");
    figure("echo_p99_beside_8_loops", "value", beside, "µs", "");
    figure("spin_isolation", "ratio", beside / alone, "x", "<= 3");
}

fn times(server: &mut Server, calls: usize) -> Vec<f64> {
    (0..calls).map(|_| server.call("text__echo", r#"{"message":"hello"}"#).as_secs_f64() * 1e6).collect()
}
