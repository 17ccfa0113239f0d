//! The program that does to yabby's stores what a task wants done: built when a task needs it.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::peer::Peer;
use crate::program::{Build, built};

pub struct Worker(PathBuf);

impl Worker {
    pub fn build(build: Build) -> Result<Self> {
        Ok(Self(built("yabby-testkit", "store_worker", build)?))
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
