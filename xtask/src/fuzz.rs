//! Runs a fuzz target with the stable toolchain.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::program::cargo;

const TARGETS: [&str; 5] = ["frames", "keys", "store_text", "transcript_lines", "directives"];

/// What the sanitizer-coverage pass needs; `cargo fuzz` would ask for a nightly toolchain.
const FLAGS: &str = "--cfg fuzzing -Ccodegen-units=1 -Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares";

/// Fuzzes `target` for some seconds. It starts from its corpus; what it finds on the way stays in
/// `fuzz/found`, which is not committed. An input that fails belongs into the corpus with its fix.
pub fn run(target: &str, seconds: &str) -> Result<()> {
    ensure!(TARGETS.contains(&target), "no fuzz target is called {target}; there are {}", TARGETS.join(", "));
    ensure!(seconds.parse::<u32>().is_ok(), "{seconds} is no number of seconds");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz");
    let found = folder.join("found").join(target);
    std::fs::create_dir_all(&found).with_context(|| format!("creating {}", found.display()))?;
    let status = cargo()
        .current_dir(&folder)
        .args(["run", "--release", "--target", &host()?, "--bin", target, "--"])
        .args([found, folder.join("corpus").join(target)])
        .args([&format!("-max_total_time={seconds}"), "-max_len=4096", "-timeout=10"])
        .env("RUSTFLAGS", FLAGS)
        .status()?;
    ensure!(
        status.success(),
        "{target}: the fuzzer ended with {status}; an input that fails is in fuzz/crash-*"
    );
    Ok(())
}

/// The platform this machine builds for. Naming it keeps the flags away from build scripts.
fn host() -> Result<String> {
    let output = Command::new("rustc").arg("-vV").output().context("asking rustc for its host")?;
    let text = String::from_utf8(output.stdout)?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("rustc -vV names no host")
}
