//! `mcp_stdio_call`: a call over stdio against a bare server with the same tool and no guest.

use std::process::Command;

use crate::server::Server;
use crate::{Effort, figure, home, median};

const ARGUMENTS: &str = r#"{"message":"hello"}"#;
const TOOL: &str = "text__echo";

pub(crate) fn measure(effort: Effort) {
    let scratch = home::scratch();
    home::install(scratch.path(), &home::plugin("text"));
    let mut ours = Server::remit(scratch.path());
    let bare = std::env::current_exe().expect("a path").with_file_name("bare-rmcp");
    let mut theirs = Server::start(&mut Command::new(bare));
    let (mut our_times, mut their_times) = (Vec::new(), Vec::new());
    let (mut our_rates, mut their_rates) = (Vec::new(), Vec::new());
    for _ in 0..effort.rounds {
        for (server, times, rates) in
            [(&mut ours, &mut our_times, &mut our_rates), (&mut theirs, &mut their_times, &mut their_rates)]
        {
            for _ in 0..effort.calls {
                times.push(server.call(TOOL, ARGUMENTS).as_secs_f64() * 1e6);
            }
            rates.push(server.throughput(TOOL, ARGUMENTS, effort.calls * 4, 32));
        }
    }
    let (our_time, their_time) = (median(&mut our_times), median(&mut their_times));
    figure("mcp_stdio_call_p50", "value", our_time, "µs", "");
    figure("bare_rmcp_call_p50", "value", their_time, "µs", "");
    figure("mcp_stdio_call", "ratio", our_time / their_time, "x", "<= 1.8");
    let (our_rate, their_rate) = (median(&mut our_rates), median(&mut their_rates));
    figure("mcp_stdio_32_in_flight", "value", our_rate, "calls/s", "");
    figure("bare_rmcp_32_in_flight", "value", their_rate, "calls/s", "");
    figure("mcp_stdio_throughput", "ratio", our_rate / their_rate, "x", ">= 0.5");
}
