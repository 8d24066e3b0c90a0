//! Measures Remit against what it stands on. One JSON line a figure: `name`, `ratio` or `value`, `unit`,
//! `goal`. Ratios are taken within one run, in turns, because the machine is shared.

#![expect(clippy::print_stdout, reason = "the figures are the output")]
#![expect(clippy::expect_used, reason = "a bench that cannot run has nothing to report")]
#![expect(clippy::disallowed_methods, reason = "measuring needs clocks, and servers are processes")]

mod cold_start;
mod door;
mod engine;
mod entities;
mod flood;
mod home;
mod http;
mod lists;
mod loops;
mod programs;
mod redaction;
mod search;
mod server;
mod spin;
mod stdio;

use serde_json::json;

/// How much work a figure is taken from.
#[derive(Clone, Copy)]
pub(crate) struct Effort {
    /// Turns between the two sides of a ratio.
    pub(crate) rounds: usize,
    /// Calls in one turn.
    pub(crate) calls: usize,
    /// Calls over which memory has to stay flat.
    pub(crate) soak: usize,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let quick = arguments.iter().any(|argument| argument == "--quick");
    let only: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with("--")).collect();
    let effort = if quick {
        Effort { rounds: 3, calls: 300, soak: 2_000 }
    } else {
        Effort { rounds: 10, calls: 2_000, soak: 50_000 }
    };
    let wanted = |name: &str| only.is_empty() || only.iter().any(|word| name.contains(word.as_str()));
    if wanted("engine_call") {
        engine::measure(effort);
    }
    if wanted("entities") {
        entities::measure(effort);
    }
    if wanted("mcp_stdio_call") {
        stdio::measure(effort);
    }
    if wanted("mcp_http_call") {
        door::measure(effort);
    }
    if wanted("tools_list_1000") {
        lists::measure(effort);
    }
    if wanted("initialize_flood") {
        flood::measure();
    }
    if wanted("loops_due") {
        loops::measure(effort);
    }
    if wanted("cold_start_50") {
        cold_start::measure(effort);
    }
    if wanted("program") {
        programs::measure(effort);
    }
    if wanted("redact") {
        redaction::measure(effort);
    }
    if wanted("search") {
        search::measure(effort);
    }
    if wanted("spin_isolation") {
        spin::measure(effort);
    }
}

/// Prints one figure: a ratio, or a value with its unit.
pub(crate) fn figure(name: &str, kind: &str, number: f64, unit: &str, goal: &str) {
    let number = (number * 1000.0).round() / 1000.0;
    println!("{}", json!({ "name": name, kind: number, "unit": unit, "goal": goal }));
}

/// The value below which `share` of all samples lie.
pub(crate) fn quantile(samples: &mut [f64], share: f64) -> f64 {
    samples.sort_by(f64::total_cmp);
    let last = samples.len().saturating_sub(1);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "an index into a list of samples"
    )]
    let index = (last as f64 * share).round() as usize;
    samples.get(index).copied().unwrap_or(f64::NAN)
}

/// The middle of all samples.
pub(crate) fn median(samples: &mut [f64]) -> f64 {
    quantile(samples, 0.5)
}
