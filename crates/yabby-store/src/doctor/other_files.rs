//! Files beside sessions and configuration: whether they can be read at all (`state-files.md`).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use yabby_domain::json;
use yabby_domain::text::lossy;

use super::examination::Round;
use super::finding::{Code, Finding};

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
    for backup in fs::read_dir(state.join("backups")).into_iter().flatten().flatten() {
        if backup.file_name().to_string_lossy().ends_with(super::backup::UNFINISHED) {
            let what = "It was begun and not finished.";
            round.found(Finding::new(Code::BackupUnfinished, backup.path(), what));
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
