//! The machine that something was measured on.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

/// One line about the machine, and about the file system that holds `folder`.
pub fn describe(folder: &Path) -> Result<String> {
    let read = |path: &str| std::fs::read_to_string(path).with_context(|| format!("reading {path}"));
    let field = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let processor =
        field(&read("/proc/cpuinfo")?, "model name").unwrap_or_else(|| "unknown processor".to_owned());
    let memory = field(&read("/proc/meminfo")?, "MemTotal").unwrap_or_default();
    let memory = memory.trim_end_matches(" kB").parse::<u64>().unwrap_or_default() / (1 << 20);
    let kernel = read("/proc/sys/kernel/osrelease")?;
    let cores = std::thread::available_parallelism()?;
    Ok(format!(
        "{processor}, {cores} cores, {memory} GiB of memory, Linux {}, {}",
        kernel.trim(),
        file_system(folder)?
    ))
}

fn file_system(folder: &Path) -> Result<String> {
    let folder = folder.canonicalize()?;
    let mounts = std::fs::read_to_string("/proc/self/mounts").context("reading the mounts")?;
    let mounts = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1);
        Some((words.next()?, words.next()?))
    });
    let mount = mounts.filter(|(place, _)| folder.starts_with(place)).max_by_key(|(place, _)| place.len());
    Ok(mount.map_or("unknown file system", |(_, kind)| kind).to_owned())
}

pub fn today() -> Result<String> {
    let output = Command::new("date").args(["-u", "+%F"]).output().context("asking for the date")?;
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// What is measured: the version, and the commit.
pub fn version() -> Result<String> {
    let output = Command::new("git").args(["rev-parse", "--short", "HEAD"]).output().context("asking git")?;
    Ok(format!("{} ({})", env!("CARGO_PKG_VERSION"), String::from_utf8(output.stdout)?.trim()))
}
