//! Programs of this project, built when a task needs them.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Build {
    Quick,
    Optimised,
    /// As people install it.
    Shipped,
}

/// Cargo, as a person would call it. What the cargo that runs this task says about the task itself is taken away: some
/// build scripts want to know when it changes, and everything behind them would be built again, every time.
pub fn cargo() -> Command {
    let mut cargo = Command::new(env!("CARGO"));
    for (name, _) in std::env::vars_os() {
        let is_of_task = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
        if name.to_str().is_some_and(is_of_task) {
            cargo.env_remove(name);
        }
    }
    cargo
}

/// The program itself.
pub fn yabby(build: Build) -> Result<PathBuf> {
    built("yabby", "yabby", build)
}

/// Builds a program of a package; where it is.
pub fn built(package: &str, program: &str, build: Build) -> Result<PathBuf> {
    let mut cargo = cargo();
    cargo.args(["build", "--quiet", "--locked", "-p", package, "--bin", program]);
    match build {
        Build::Quick => {}
        Build::Optimised => drop(cargo.arg("--release")),
        Build::Shipped => drop(cargo.args(["--profile", "dist"])),
    }
    cargo.arg("--message-format=json-render-diagnostics").stderr(Stdio::inherit());
    let output = cargo.output().with_context(|| format!("building {program}"))?;
    ensure!(output.status.success(), "{program} was not built");
    let path = String::from_utf8(output.stdout)?
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .find_map(|message| message["executable"].as_str().map(PathBuf::from));
    path.with_context(|| format!("cargo built {program} but did not say where"))
}
