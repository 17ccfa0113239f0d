//! `extra-paths.json`, `list-memory-files.json`, `session-entry.json`.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::json;
use yabby_domain::json::Value;
use yabby_memory::compat::{files, paths};

use crate::vectors::Case;

pub fn extra_paths(case: &Case) -> Option<Value> {
    Some(json!(paths::extra_paths(case.text("workspaceDir")?, &case.texts("extraPaths"))))
}

pub fn list(case: &Case) -> Option<Value> {
    let base = tempfile::tempdir().ok()?;
    plant(base.path(), case.arg("tree")).ok()?;
    let workspace = base.path().join(case.text("workspace")?);
    let place = |path: String| match path.strip_prefix('/') {
        Some(below) => base.path().join(below).display().to_string(),
        None => path,
    };
    let extra: Vec<String> = case.texts("extraPaths").into_iter().map(place).collect();
    let listed = files::memory_files(&workspace, &extra);
    let below =
        |file: &std::path::PathBuf| file.strip_prefix(base.path()).unwrap_or(file).display().to_string();
    let mut shown: Vec<String> = listed.iter().map(below).collect();
    let mut names: Vec<String> = listed.iter().map(|file| files::memory_name(file, &workspace)).collect();
    shown.sort();
    names.sort();
    Some(json!({"files": shown, "fileEntryPaths": names}))
}

fn plant(base: &Path, tree: &Value) -> io::Result<()> {
    for node in tree.as_array().into_iter().flatten() {
        let path = base.join(node["path"].as_str().unwrap_or_default());
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        match node["kind"].as_str() {
            Some("dir") => fs::create_dir_all(path)?,
            Some("symlink") => symlink(base.join(node["target"].as_str().unwrap_or_default()), path)?,
            _ => fs::write(path, "text\n")?,
        }
    }
    Ok(())
}

/// What the text was before secrets were hidden in it is told for information only.
pub fn transcript_cases(document: &Value) -> Vec<Case> {
    let mut cases = super::cases(document);
    for case in &mut cases {
        if let Some(expected) = case.expected.as_object_mut() {
            expected.remove("unredacted");
        }
    }
    cases
}

pub fn transcript(case: &Case) -> Option<Value> {
    let folder = tempfile::tempdir().ok()?;
    let file = folder.path().join(case.text("file")?);
    fs::write(&file, case.text("body")?).ok()?;
    let read = files::transcript(&file).ok()?;
    Some(json!({"path": read.path, "size": read.size, "content": read.content, "hash": read.hash}))
}
