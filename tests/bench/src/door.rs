//! `mcp_http_call`: a call over HTTP, in both eras, against a bare server with the same tool and no guest, no token
//! and no record.

use std::time::Instant;

use crate::http::{Client, Door, Era};
use crate::{Effort, figure, home, median, quantile};

const ARGUMENTS: &str = r#"{"message":"hello"}"#;
const TOOL: &str = "text__echo";

/// Calls under way at once.
const IN_FLIGHT: usize = 32;

pub(crate) fn measure(effort: Effort) {
    let scratch = home::scratch();
    home::install(scratch.path(), &home::plugin("text"));
    let (ours, theirs) = (Door::remit(scratch.path()), Door::bare());
    for (era, name) in [(Era::Modern, "modern"), (Era::Legacy, "legacy")] {
        compare(&ours, &theirs, era, name, effort);
    }
}

fn compare(ours: &Door, theirs: &Door, era: Era, name: &str, effort: Effort) {
    let mut sides = [Side::of(ours, era), Side::of(theirs, era)];
    for side in &mut sides {
        // Code is loaded, connections are warm.
        side.client.call(TOOL, ARGUMENTS);
        throughput(&mut side.many, IN_FLIGHT);
    }
    for _ in 0..effort.rounds {
        for side in &mut sides {
            for _ in 0..effort.calls {
                side.times.push(side.client.call(TOOL, ARGUMENTS).as_secs_f64() * 1e6);
            }
            side.rates.push(throughput(&mut side.many, effort.calls * 4));
        }
    }
    let [ours, theirs] = &mut sides;
    let (our_time, their_time) = (median(&mut ours.times), median(&mut theirs.times));
    figure(&format!("mcp_http_{name}_call_p50"), "value", our_time, "µs", "");
    figure(&format!("bare_http_{name}_call_p50"), "value", their_time, "µs", "");
    figure(&format!("mcp_http_{name}_call"), "ratio", our_time / their_time, "x", "<= 2");
    let (our_tail, their_tail) = (quantile(&mut ours.times, 0.99), quantile(&mut theirs.times, 0.99));
    figure(&format!("mcp_http_{name}_call_p99"), "value", our_tail, "µs", "");
    figure(&format!("bare_http_{name}_call_p99"), "value", their_tail, "µs", "");
    figure(&format!("mcp_http_{name}_tail"), "ratio", our_tail / their_tail, "x", "<= 3");
    let (our_rate, their_rate) = (median(&mut ours.rates), median(&mut theirs.rates));
    figure(&format!("mcp_http_{name}_32_in_flight"), "value", our_rate, "calls/s", "");
    figure(&format!("bare_http_{name}_32_in_flight"), "value", their_rate, "calls/s", "");
    figure(&format!("mcp_http_{name}_throughput"), "ratio", our_rate / their_rate, "x", ">= 0.6");
}

/// What is measured of one server.
struct Side {
    client: Client,
    many: Vec<Client>,
    times: Vec<f64>,
    rates: Vec<f64>,
}

impl Side {
    fn of(door: &Door, era: Era) -> Self {
        let many = (0..IN_FLIGHT).map(|_| door.client(era)).collect();
        Self { client: door.client(era), many, times: Vec::new(), rates: Vec::new() }
    }
}

/// Calls a second, with every client calling as soon as it was answered.
fn throughput(clients: &mut [Client], calls: usize) -> f64 {
    let each = calls / clients.len();
    #[expect(clippy::cast_precision_loss, reason = "a number of calls")]
    let all = (each * clients.len()) as f64;
    let begun = Instant::now();
    std::thread::scope(|threads| {
        for client in clients {
            threads.spawn(move || {
                for _ in 0..each {
                    client.call(TOOL, ARGUMENTS);
                }
            });
        }
    });
    all / begun.elapsed().as_secs_f64()
}
