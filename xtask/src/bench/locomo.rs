//! `cargo xtask bench locomo`: how much of what was said is found again.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use crate::judge::minilm_package;
use crate::program::cargo;

/// Predictions for the scorer that comes with the data, for every conversation below `DIR/conversations`.
pub fn locomo(words: &[&str]) -> Result<()> {
    let (mut data, mut embedder, mut out) = ("../shared/bench/locomo", "none", None);
    for option in words.chunks(2) {
        match option {
            ["--data", folder] => data = folder,
            ["--embedder", name @ ("none" | "local")] => embedder = name,
            ["--out", file] => out = Some(*file),
            _ => bail!("usage: cargo xtask bench locomo [--data DIR] [--embedder none|local] --out FILE"),
        }
    }
    let out = out.context("--out FILE is where the predictions go")?;
    let conversations = Path::new(data).join("conversations");
    ensure!(
        conversations.is_dir(),
        "{} is no folder; --data DIR is the one above it",
        conversations.display()
    );
    let mut command = cargo();
    command.args([
        "run",
        "--quiet",
        "--release",
        "--locked",
        "-p",
        "yabby-memory",
        "--example",
        "locomo",
        "--",
    ]);
    command.args([data, out]);
    if embedder == "local" {
        command.arg(minilm_package()?);
    }
    let status = command.status()?;
    ensure!(status.success(), "the benchmark ended with {status}");
    println!("written to {out}; `python3 {data}/score.py {out} --data {data}` tells what it is worth");
    Ok(())
}
