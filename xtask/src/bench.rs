//! Benchmarks by name. They live in the crate they measure; this only starts them.

use std::process::Command;

use anyhow::{Result, ensure};

pub fn rules() -> Result<()> {
    let status = Command::new(env!("CARGO"))
        .args(["bench", "--locked", "-p", "yabby-domain", "--bench", "rules"])
        .status()?;
    ensure!(status.success(), "the benchmark ended with {status}");
    Ok(())
}
