//! `cargo xtask real-claude`: the real `claude` program, with a stand-in for its service.
//!
//! It is installed once into the cache, and runs in a home of its own with nobody to talk to but the
//! stand-in. None of it is part of this project.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::program::cargo;
use crate::reference::cache;

const CLAUDE: &str = "@anthropic-ai/claude-code@2.1.325";

pub fn run() -> Result<()> {
    let program = installed()?;
    // As a model of ours, and as somebody who searches our memory.
    for package in ["yabby-models", "yabby"] {
        let mut tests = cargo();
        tests.args(["test", "--quiet", "--locked", "-p", package, "--test", "it", "real_claude"]);
        let status = tests.env("YABBY_CLAUDE", &program).status().context("the tests were not run")?;
        ensure!(status.success(), "the tests of {package} failed: {status}");
    }
    Ok(())
}

fn installed() -> Result<PathBuf> {
    let folder = cache()?.join("claude");
    let program = folder.join("node_modules/.bin/claude");
    let stamp = folder.join("complete");
    if fs::read_to_string(&stamp).is_ok_and(|stamp| stamp == CLAUDE) {
        return Ok(program);
    }
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("removing {}", folder.display()))?;
    }
    fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"]).arg(&folder).arg(CLAUDE);
    let status = npm.status().context("npm was not run; it has to be installed")?;
    ensure!(status.success(), "npm could not install {CLAUDE}: {status}");
    fs::write(stamp, CLAUDE)?;
    Ok(program)
}
