//! The program that does to yabby's stores what a task wants done: built when a task needs it.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::peer::Peer;

pub struct Worker(PathBuf);

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Build {
    Quick,
    Optimised,
}

impl Worker {
    pub fn build(build: Build) -> Result<Self> {
        built("yabby-testkit", "store_worker", build).map(Self)
    }

    /// The worker with one of its commands.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.0);
        command.args(words);
        command
    }

    /// A worker that does errands.
    pub fn serve(&self) -> Result<Peer> {
        Peer::start("yabby", &mut self.command(&["serve"]))
    }

    pub fn path(&self) -> &PathBuf {
        &self.0
    }
}

/// Builds a program of the workspace; where it is.
pub fn built(package: &str, program: &str, build: Build) -> Result<PathBuf> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--locked", "-p", package, "--bin", program]);
    if build == Build::Optimised {
        cargo.arg("--release");
    }
    cargo.arg("--message-format=json-render-diagnostics").stderr(Stdio::inherit());
    let output = cargo.output().with_context(|| format!("building {program}"))?;
    ensure!(output.status.success(), "{program} was not built");
    let place = String::from_utf8(output.stdout)?
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .find_map(|message| message["executable"].as_str().map(PathBuf::from));
    place.with_context(|| format!("cargo built {program} but did not say where"))
}
