//! `yabby move`: the folder that holds everything gets another place, and every path in it that has to be absolute
//! is corrected. The corrections are the doctor's, so that they can also be made after a folder was moved by hand.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use serde_json::json;
use yabby_config::lookup::{OUR_FILE, THEIR_FILES, is_called_like_theirs};
use yabby_domain::session::path::user_path;
use yabby_store::disk::{Disk as _, LocalDisk};
use yabby_store::doctor::{Doctor, Treatment};
use yabby_store::files::gateway_lock::GatewayLock;
use yabby_store::files::turns;
use yabby_store::paths::{Choice, Place};

use crate::failure::Failure;
use crate::setting::Setting;
use crate::terminal;

#[derive(Args)]
pub struct Arguments {
    /// Where everything is to be
    #[arg(value_name = "DIR")]
    to: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    let place = &setting.place;
    let from = place.folder.path();
    let to = PathBuf::from(user_path(
        &arguments.to.to_string_lossy(),
        &place.home.to_string_lossy(),
        &place.current.to_string_lossy(),
    ));
    check(place, from, &to)?;
    LocalDisk.rename_new(from, &to).map_err(|error| refusal(from, &to, &error))?;
    if is_called_like_theirs(&to.to_string_lossy()) {
        rename_config(&to)?;
    }
    let moved = Place::find(&Choice { state: Some(to.clone()), profile: None });
    let doctor = Doctor::after_move(&moved, from);
    let examination = doctor.examine(&mut |_| {});
    let treatment = doctor.repair(examination, &mut |_| {})?;
    if arguments.json {
        let fixed: Vec<_> = treatment.fixed.iter().map(|done| done.what.as_str()).collect();
        let failed: Vec<_> = treatment.failed.iter().map(|done| done.what.as_str()).collect();
        terminal::print_json(&json!({
            "ok": treatment.is_ok(),
            "from": from.to_string_lossy(),
            "to": to.to_string_lossy(),
            "config": moved.config.to_string_lossy(),
            "fixed": fixed,
            "failed": failed,
        }))?;
    } else {
        print_text(&moved, from, &to, &treatment)?;
    }
    if treatment.is_ok() { Ok(()) } else { Err(Failure::silent().into()) }
}

/// Refuses what would lose something, or pull the folder away from somebody who works in it.
fn check(place: &Place, from: &Path, to: &Path) -> Result<()> {
    let refuse = |why: String| Err(Failure::bare(format!("Nothing was moved: {why}")).into());
    if !from.is_dir() {
        return refuse(format!("there is no folder {}.", from.display()));
    }
    if to.starts_with(from) {
        return refuse(format!("{} is inside of {}.", to.display(), from.display()));
    }
    if to.symlink_metadata().is_ok() {
        return refuse(format!("{} is there already. Move it away first, or name another.", to.display()));
    }
    if let Some(process) = GatewayLock::holder(place) {
        return refuse(format!("a gateway works in {} (process {process}). Stop it first.", from.display()));
    }
    let journals = turns::look(&place.folder.turns())?;
    if let Some(journal) = journals.iter().find(|journal| journal.is_alive) {
        return refuse(format!("process {} works in {}. Stop it first.", journal.owner.pid, from.display()));
    }
    Ok(())
}

fn refusal(from: &Path, to: &Path, error: &io::Error) -> Failure {
    let hint = match error.kind() {
        io::ErrorKind::CrossesDevices => format!(
            " They are on different file systems: copy it with `cp -a`, then run `yabby --state-dir {} doctor --fix`.",
            to.display()
        ),
        _ => String::new(),
    };
    Failure::bare(format!("Nothing was moved from {} to {}: {error}.{hint}", from.display(), to.display()))
}

/// Gives the configuration the name that OpenClaw looks for, unless there is one of that name.
fn rename_config(folder: &Path) -> Result<()> {
    let [theirs, ..] = THEIR_FILES;
    let (ours, theirs) = (folder.join(OUR_FILE), folder.join(theirs));
    if ours.is_file() && !theirs.exists() {
        LocalDisk.rename_new(&ours, &theirs)?;
    }
    Ok(())
}

fn print_text(moved: &Place, from: &Path, to: &Path, treatment: &Treatment) -> Result<()> {
    let mut out = anstream::stdout().lock();
    let shown = |path: &Path| terminal::harmless(&moved.shortened(path));
    writeln!(out, "Moved {} to {}.", shown(from), shown(to))?;
    for done in &treatment.fixed {
        writeln!(out, "  {} {}", shown(&done.path), terminal::harmless(&done.what))?;
    }
    for done in &treatment.failed {
        writeln!(out, "  not done: {} {}", shown(&done.path), terminal::harmless(&done.what))?;
    }
    if let Some(backup) = &treatment.backup {
        writeln!(out, "What was changed is kept as it was in {}.", shown(backup))?;
    }
    writeln!(
        out,
        "If a service runs the gateway, install it again: yabby --state-dir {} gateway install",
        shown(to)
    )?;
    Ok(())
}
