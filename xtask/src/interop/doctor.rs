//! A folder in which everything was damaged, repaired by `yabby doctor --fix`, in the hands of the reference.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::transcripts::{ensure_same_reading, reading};
use super::{Stage, Told, records};
use crate::peer::Peer;
use crate::program::{Build, yabby};
use crate::reference::state_folder;
use crate::snapshot::names;

pub fn repaired(stage: &Stage, judge: &mut Peer) -> Told {
    let state = state_folder(&stage.home);
    let program = yabby(Build::Quick)?;
    let made = stage.worker.command(&["make-torture"]).arg(&state).args(["200", "repairable"]).status()?;
    ensure!(made.success(), "the folder was not made");
    let first = doctor(&program, stage, &state)?;
    ensure!(first["proof"]["ok"] == true && first["ok"] == true, "damage remains: {first:#}");
    let again = doctor(&program, stage, &state)?;
    ensure!(again["fixed"] == json!([]) && again["backup"].is_null(), "it was not done at once: {again:#}");

    let mut yabby = stage.yabby()?;
    let (mut sessions, mut conversations) = (0, 0);
    for agent in names(&state.join("agents"))? {
        let folder = state.join("agents").join(&agent).join("sessions");
        if !folder.is_dir() {
            continue;
        }
        sessions += ensure_same_store(&mut yabby, judge, &folder.join("sessions.json")).context(agent)?;
        for file in transcripts(&folder)? {
            let ours = reading(&mut yabby, &file)?;
            let theirs = reading(judge, &file).with_context(|| file.display().to_string())?;
            if !is_rewritten(&file) {
                ensure_same_reading(&ours, &theirs).with_context(|| file.display().to_string())?;
            }
            conversations += 1;
        }
    }
    let shown = stage.openclaw(&["sessions", "--json"])?;
    let rows = shown["sessions"].as_array().context("it shows a list of sessions")?;
    for (key, _) in records(&mut yabby, &state.join("agents/main/sessions/sessions.json"))? {
        ensure!(rows.iter().any(|row| row["key"] == key.as_str()), "`openclaw sessions` does not show {key}");
    }
    go_on(&mut yabby, judge, &state.join("agents/main/sessions/parent-cycle.jsonl"))?;
    Ok(format!("{sessions} sessions, {conversations} transcripts"))
}

fn doctor(program: &Path, stage: &Stage, state: &Path) -> Result<Value> {
    let output = Command::new(program)
        .arg("--state-dir")
        .arg(state)
        .args(["doctor", "--fix", "--json"])
        .env("HOME", &stage.home)
        .output()
        .context("running yabby doctor")?;
    let text = String::from_utf8(output.stdout)?;
    ensure!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_str(&text).with_context(|| format!("it printed {text}"))
}

/// Both read the same records; how many.
fn ensure_same_store(yabby: &mut Peer, judge: &mut Peer, store: &Path) -> Result<usize> {
    let keys = |mut records: Vec<(String, String)>| -> Vec<String> {
        records.sort();
        records.into_iter().map(|(key, _)| key).collect()
    };
    let ours = keys(records(yabby, store)?);
    let mut theirs = keys(records(judge, store)?);
    // One record is nested deeper than yabby reads. It stays in the store.
    theirs.retain(|key| key != "agent:main:deep");
    ensure!(!ours.is_empty(), "there are no records");
    ensure!(ours == theirs, "yabby reads {ours:?}, OpenClaw {theirs:?}");
    Ok(ours.len())
}

/// The transcripts of a folder that hold something; links and files that neither opens are left alone.
fn transcripts(folder: &Path) -> Result<Vec<PathBuf>> {
    let files = names(folder)?.into_iter().filter(|name| name.ends_with(".jsonl") && !name.starts_with('.'));
    let files = files.map(|name| folder.join(name));
    let is_written =
        |file: &PathBuf| fs::symlink_metadata(file).is_ok_and(|about| about.is_file() && about.len() > 0);
    Ok(files.filter(is_written).collect())
}

/// What an older version wrote gets new ids from either.
fn is_rewritten(file: &Path) -> bool {
    file.file_stem().is_some_and(|name| name == "older")
}

/// The reference goes on with a conversation that it would have hung on before.
fn go_on(yabby: &mut Peer, judge: &mut Peer, file: &Path) -> Result<()> {
    let before = reading(judge, file)?["branch"].as_array().map(Vec::len).unwrap_or_default();
    let steps = json!([{ "message": { "role": "user", "content": "still there?", "timestamp": 1 } }]);
    judge.ask(&json!({ "do": "write", "file": file, "steps": steps }))?;
    let (ours, theirs) = (reading(yabby, file)?, reading(judge, file)?);
    ensure_same_reading(&ours, &theirs)?;
    ensure!(theirs["branch"].as_array().map(Vec::len) == Some(before + 1), "it did not go on: {theirs}");
    Ok(())
}
