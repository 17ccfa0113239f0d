//! Files beside sessions and configuration: whether they can be read at all (`state-files.md`).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use yabby_domain::json;
use yabby_domain::text::lossy;

use super::examination::{LeftDraft, Round};
use super::finding::{Code, Finding};
use super::names::draft;

/// Folders whose JSON files are looked at, and single files.
const FOLDERS: [&str; 6] = ["cron", "credentials", "devices", "identity", "nodes", "settings"];
const FILES: [&str; 3] = ["exec-approvals.json", "restart-sentinel.json", "update-check.json"];
const OF_AGENT: [&str; 3] = ["auth-profiles.json", "auth.json", "models.json"];

pub(super) fn examine(round: &mut Round<'_>) {
    let state = round.doctor.place.folder.path().to_owned();
    let mut files: Vec<PathBuf> = FILES.iter().map(|file| state.join(file)).collect();
    for folder in FOLDERS {
        let entries = fs::read_dir(state.join(folder)).into_iter().flatten().flatten();
        files.extend(
            entries
                .map(|entry| entry.path())
                .filter(|path| path.extension().is_some_and(|ending| ending == "json")),
        );
    }
    for agent in fs::read_dir(state.join("agents")).into_iter().flatten().flatten() {
        files.extend(OF_AGENT.iter().map(|file| agent.path().join("agent").join(file)));
    }
    files.sort();
    for file in files {
        look_at(round, &file);
    }
    examine_drafts(round);
    for backup in fs::read_dir(state.join("backups")).into_iter().flatten().flatten() {
        if backup.file_name().to_string_lossy().ends_with(super::backup::UNFINISHED) {
            let what = "It was begun and not finished.";
            round.found(Finding::new(Code::BackupUnfinished, backup.path(), what));
        }
    }
}

/// Looks for drafts of the files beside sessions.
pub(super) fn examine_drafts(round: &mut Round<'_>) {
    let state = round.doctor.place.folder.path().to_owned();
    let of_agents = fs::read_dir(state.join("agents")).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = of_agents.map(|agent| agent.path().join("agent")).collect();
    folders.extend(FOLDERS.iter().map(|folder| state.join(folder)));
    folders.push(state);
    for entry in folders.iter().flat_map(fs::read_dir).flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if let (true, Some((of, pid))) = (is_file, draft(&name)) {
            let of = entry.path().with_file_name(of);
            round.examine_draft(LeftDraft { path: entry.path(), of, is_of_sessions: false }, pid);
        }
    }
}

fn look_at(round: &mut Round<'_>, path: &Path) {
    // A folder of that name may be a lock.
    if path.is_dir() {
        return;
    }
    // What leads elsewhere, or would have to be waited for, is not opened.
    match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return,
        Ok(about) if about.is_symlink() => {
            round.found(Finding::new(Code::LinkOutside, path, "It is a link."));
            return;
        }
        Ok(about) if !about.is_file() => {
            round.found(Finding::new(Code::JsonUnreadable, path, "It is no plain file."));
            return;
        }
        _ => {}
    }
    round.checked.other_files += 1;
    match fs::read(path) {
        Err(error) => {
            round.found(Finding::new(Code::JsonUnreadable, path, format!("It cannot be read: {error}.")));
        }
        Ok(bytes) if json::parse_json5(&lossy(&bytes)).is_none() => {
            let copy = crate::disk::beside(path, ".bak");
            let is_whole = fs::read(&copy).is_ok_and(|copy| json::parse_json5(&lossy(&copy)).is_some());
            let hint = if is_whole { format!(" {} can be read.", copy.display()) } else { String::new() };
            round.found(Finding::new(Code::JsonDamaged, path, format!("It is not JSON.{hint}")));
        }
        Ok(_) => {}
    }
}
