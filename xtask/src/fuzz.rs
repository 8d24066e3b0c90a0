//! Runs the fuzz target: libFuzzer, with the toolchain that builds everything else.
//!
//! What a fuzzer needs of the compiler, counters of the branches taken, is in the stable one, behind flags that
//! `cargo fuzz` passes as well. No sanitizer is used: the code under test is safe Rust, and what is looked for are
//! broken promises, which the target asserts.

use std::path::{Path, PathBuf};

use crate::shell::{Failed, Result, output, program, root, run as run_program, say, target};

/// Counters for every branch, and what tells libFuzzer where they are.
const FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares";

/// What is promised in the issue tracker and in the docs.
const MINUTES: u64 = 10;

/// No input that matters is longer: a URL ends at 8 KiB.
const LONGEST: u64 = 10 * 1024;

/// Builds the target, writes the seeds, and runs it for so long.
pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    let minutes = match arguments {
        [] => Ok(MINUTES),
        ["--minutes", minutes] => minutes.parse().map_err(|_| usage()),
        _ => Err(usage()),
    }?;
    let built = build()?;
    let corpus = root().join("fuzz").join("corpus").join("egress");
    seed(&corpus)?;
    let artifacts = root().join("fuzz").join("artifacts").join("egress");
    std::fs::create_dir_all(&artifacts)?;
    run_program(
        program(built)
            .arg(format!("-max_total_time={}", minutes * 60))
            .arg(format!("-max_len={LONGEST}"))
            .arg(format!("-artifact_prefix={}/", artifacts.display()))
            .arg(format!("-dict={}", root().join("fuzz").join("egress.dict").display()))
            .arg("-print_final_stats=1")
            .arg(&corpus),
    )?;
    say(&format!("{minutes} minutes without a finding"));
    Ok(())
}

fn usage() -> Failed {
    Failed("usage: cargo xtask fuzz [--minutes N]".to_owned())
}

/// Builds into a folder of its own: with other flags, nothing of the other builds fits. Naming the platform keeps
/// the flags away from build scripts.
fn build() -> Result<PathBuf> {
    let platform = platform()?;
    let folder = target()?.join("fuzz");
    run_program(
        program("cargo")
            .args([
                "build",
                "--locked",
                "--manifest-path",
                "fuzz/Cargo.toml",
                "--bin",
                "egress",
                "--target",
                &platform,
            ])
            .arg("--target-dir")
            .arg(&folder)
            .env("RUSTFLAGS", FLAGS),
    )?;
    Ok(folder.join(platform).join("debug").join("egress"))
}

fn platform() -> Result<String> {
    let version = output(program("rustc").arg("-vV"))?;
    let platform = version.lines().find_map(|line| line.strip_prefix("host: "));
    platform.map(str::to_owned).ok_or_else(|| Failed("rustc does not say what it builds for".to_owned()))
}

/// Writes one seed for each case of the data: its allow-list, its URL, its header fields and its body, as the
/// target reads them. What the fuzzer found in earlier runs stays beside them.
fn seed(corpus: &Path) -> Result<()> {
    std::fs::create_dir_all(corpus)?;
    let cases = std::fs::read_to_string(root().join("tests").join("data").join("egress.json"))?;
    let cases: Vec<serde_json::Value> =
        serde_json::from_str(&cases).map_err(|error| Failed(format!("tests/data/egress.json: {error}")))?;
    for case in &cases {
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let allow: Vec<String> = case["allow_list"].as_array().into_iter().flatten().map(text).collect();
        let mut seed = format!("{}\n{}\n", allow.join(" "), text(&case["url_or_host"]));
        for (name, value) in case["request"]["headers"].as_object().into_iter().flatten() {
            seed.push_str(&format!("{name}: {}\n", text(value)));
        }
        seed.push_str(&format!("\n{}", text(&case["request"]["body"])));
        if seed.len() as u64 <= LONGEST {
            std::fs::write(corpus.join(text(&case["id"])), seed)?;
        }
    }
    Ok(())
}
