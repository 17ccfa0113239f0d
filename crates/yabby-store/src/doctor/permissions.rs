//! Who may read what: a state folder is full of secrets (`state-files.md`).

use std::collections::HashSet;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use yabby_config::extras::FILE;

use super::examination::{Mode, Round};
use super::finding::{Code, Finding};

const OTHERS: u32 = 0o077;

/// Files and folders below the state folder that hold secrets, or what was said, each with all that is in it.
const SECRETS: [&str; 15] = [
    ".env",
    "credentials",
    "identity",
    "devices",
    "nodes",
    "exec-approvals.json",
    "turns",
    "usage",
    "agent-history.txt",
    "recall",
    "commands",
    "gateway",
    "gateway.lock",
    "trash",
    "logs/yabby.log",
];

/// So much of a folder is looked at.
const MOST_FILES: usize = 20_000;

pub(super) fn examine(round: &mut Round<'_>) {
    let state = round.doctor.place.folder.path().to_owned();
    let config = round.doctor.place.config.clone();
    look_at(round, &state);
    look_at(round, &config);
    let extras = config.with_file_name(FILE);
    if extras.exists() {
        look_at(round, &extras);
    }
    for secret in SECRETS {
        look_at_all(round, &state.join(secret), 3);
    }
    let backups = state.join("backups");
    look_at(round, &backups);
    look_at_folder(round, &state.join("agents"));
    // What is behind a link is not ours.
    let agents = folder(&state.join("agents")).into_iter().filter(|agent| !agent.is_symlink());
    for agent in agents {
        for inside in [agent.clone(), agent.join("agent"), agent.join("sessions")] {
            look_at_folder(round, &inside);
        }
        for file in ["auth-profiles.json", "auth.json"] {
            look_at(round, &agent.join("agent").join(file));
        }
        look_at_sessions(round, &agent.join("sessions"));
    }
    look_at_others(round, &state);
}

/// Everything else in the home, which other programs write as they like and the folder above protects. So it is told of
/// only where that is open, all of an entry at once.
fn look_at_others(round: &mut Round<'_>, state: &Path) {
    if is_closed(round) {
        return;
    }
    for entry in folder(state) {
        let mut open = Vec::new();
        collect_open(&entry, &mut open);
        // What was told of already.
        let known: HashSet<&Path> = round.plan.modes.iter().map(|mode| mode.path.as_path()).collect();
        open.retain(|mode| !known.contains(mode.path.as_path()));
        if !open.is_empty() {
            let what = match entry.is_dir() {
                true => format!("Others may read or change {} of the files and folders in it.", open.len()),
                false => format!("Others may read or change it: its mode is {:04o}.", open[0].was),
            };
            round.found(Finding::new(Code::OpenToOthers, &entry, what));
        }
        round.plan.modes.extend(open);
    }
}

/// What others may read or change of something and all that is in it.
fn collect_open(path: &Path, open: &mut Vec<Mode>) {
    let Ok(about) = path.symlink_metadata() else { return };
    if !about.is_file() && !about.is_dir() || open.len() >= MOST_FILES {
        return;
    }
    let mode = about.mode() & 0o7777;
    if mode & OTHERS != 0 {
        open.push(Mode { path: path.to_owned(), was: mode, wanted: mode & !OTHERS });
    }
    if about.is_dir() {
        folder(path).iter().for_each(|inside| collect_open(inside, open));
    }
}

fn is_closed(round: &Round<'_>) -> bool {
    round.doctor.place.folder.path().metadata().is_ok_and(|about| about.mode() & OTHERS == 0)
}

/// All there is to say of a state folder that cannot be looked into.
pub(super) fn examine_closed(round: &mut Round<'_>) {
    let state = round.doctor.place.folder.path().to_owned();
    if state.is_dir() {
        look_at(round, &state);
    }
}

/// A folder that its owner cannot use hides all that is in it. Whether others may look into it is up to the
/// state folder above.
fn look_at_folder(round: &mut Round<'_>, path: &Path) {
    const NEEDED: u32 = 0o700;
    let Ok(about) = path.symlink_metadata() else { return };
    let mode = about.mode() & 0o7777;
    if about.is_dir() && mode & NEEDED != NEEDED {
        round.found(Finding::new(Code::ClosedToOwner, path, closed(mode)));
        round.plan.modes.push(Mode { path: path.to_owned(), was: mode, wanted: mode | NEEDED });
    }
}

fn closed(mode: u32) -> String {
    format!("Its owner may not read or write it: its mode is {mode:04o}.")
}

fn look_at_all(round: &mut Round<'_>, path: &Path, depth: usize) {
    look_at(round, path);
    if depth > 0 {
        for path in folder(path) {
            look_at_all(round, &path, depth - 1);
        }
    }
}

/// What is in a folder; nothing if it is none, or behind a link.
fn folder(path: &Path) -> Vec<std::path::PathBuf> {
    if path.symlink_metadata().is_ok_and(|about| about.is_symlink()) {
        return Vec::new();
    }
    let Ok(entries) = path.read_dir() else { return Vec::new() };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn look_at(round: &mut Round<'_>, path: &Path) {
    // The state folder may be a link; of everything else a link says nothing.
    let is_root = path == round.doctor.place.folder.path();
    let about = if is_root { path.metadata() } else { path.symlink_metadata() };
    let Ok(about) = about else { return };
    if !about.is_file() && !about.is_dir() {
        return;
    }
    check_owner(round, path, &about);
    let mode = about.mode() & 0o7777;
    let needed = if about.is_dir() { 0o700 } else { 0o600 };
    if mode & OTHERS != 0 {
        let what = format!("Others may read or change it: its mode is {mode:04o}.");
        round.found(Finding::new(Code::OpenToOthers, path, what));
    }
    if mode & needed != needed {
        round.found(Finding::new(Code::ClosedToOwner, path, closed(mode)));
    }
    let wanted = (mode & !OTHERS) | needed;
    if wanted != mode {
        round.plan.modes.push(Mode { path: path.to_owned(), was: mode, wanted });
    }
}

fn check_owner(round: &mut Round<'_>, path: &Path, about: &Metadata) {
    let own = rustix::process::geteuid().as_raw();
    if about.uid() != own {
        let what = format!("It belongs to user {}, and you are user {own}.", about.uid());
        round.found(Finding::new(Code::ForeignOwner, path, what));
    }
}

/// OpenClaw writes transcripts that anybody may read, and relies on the folder above. So they are told of
/// only where that is open, all of a folder at once.
fn look_at_sessions(round: &mut Round<'_>, sessions: &Path) {
    let Ok(about) = sessions.symlink_metadata() else { return };
    if !about.is_dir() {
        return;
    }
    check_owner(round, sessions, &about);
    let is_closed_above = is_closed(round);
    let (mut open, mut shut) = (Vec::new(), Vec::new());
    for path in folder(sessions) {
        let Ok(about) = path.symlink_metadata() else { continue };
        if !about.is_file() {
            continue;
        }
        let mode = about.mode() & 0o7777;
        if mode & 0o600 != 0o600 {
            shut.push(Mode { path, was: mode, wanted: (mode | 0o600) & !OTHERS });
        } else if mode & OTHERS != 0 && !is_closed_above {
            open.push(Mode { path, was: mode, wanted: mode & !OTHERS });
        }
    }
    if !open.is_empty() {
        let what = format!("Others may read or change {} of the files in it.", open.len());
        round.found(Finding::new(Code::OpenToOthers, sessions, what));
    }
    for mode in &shut {
        round.found(Finding::new(Code::ClosedToOwner, &mode.path, closed(mode.was)));
    }
    round.plan.modes.extend(open);
    round.plan.modes.extend(shut);
}
