//! `cold_start_50`: from the start of the process to the first whole list, with 50 capabilities installed,
//! and what the process weighs then and after many calls.

use std::time::Instant;

use crate::server::Server;
use crate::{Effort, figure, home, median};

const CAPABILITIES: usize = 50;

pub(crate) fn measure(effort: Effort) {
    let scratch = home::scratch();
    for number in 0..CAPABILITIES {
        let renamed =
            home::changed(&home::plugin("echo"), |manifest| manifest["slug"] = format!("echo{number}").into());
        home::install(scratch.path(), &renamed);
    }
    let start = |times: &mut Vec<f64>| {
        let begun = Instant::now();
        let mut server = Server::remit(scratch.path());
        let list = server.request("tools/list", "{}").to_owned();
        times.push(begun.elapsed().as_secs_f64() * 1e3);
        for number in 0..CAPABILITIES {
            assert!(list.contains(&format!("\"echo{number}__echo\"")), "echo{number} is not in the first list");
        }
        server
    };
    let mut warm = Vec::new();
    for _ in 0..effort.rounds {
        drop(start(&mut warm));
    }
    figure("cold_start_50_warm", "value", median(&mut warm), "ms", "<= 25");
    let mut server = start(&mut Vec::new());
    for number in 0..CAPABILITIES {
        server.call(&format!("echo{number}__echo"), r#"{"message":"hello"}"#);
    }
    let mut server = start(&mut Vec::new());
    figure("resident_after_list", "value", server.resident_mib(), "MiB", "< 35");
    // As many calls at once as later, so that what is compared is the same state.
    server.throughput("echo0__echo", r#"{"message":"hello"}"#, 5_000, 32);
    let before = server.resident_mib();
    server.throughput("echo0__echo", r#"{"message":"hello"}"#, effort.soak, 32);
    figure("resident_growth", "value", server.resident_mib() - before, "MiB", "flat: < 2");
    figure("resident_after_calls", "value", server.resident_mib(), "MiB", "< 35");
    drop(server);
    std::fs::remove_dir_all(scratch.path().join("compiled")).expect("compiled code is there");
    let mut cold = Vec::new();
    let mut server = start(&mut cold);
    figure("cold_start_50_no_cache", "value", median(&mut cold), "ms", "< 1000");
    server.call("echo49__echo", r#"{"message":"hello"}"#);
}
