//! Stories of transcripts.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::conversations::{assistant, conversations, foreign_transcripts, user};
use super::{Stage, Told, ensure_same};
use crate::peer::Peer;
use crate::snapshot::{Snapshot, names};

const SESSION: &str = "0f0e0d0c-0b0a-4908-8706-050403020100";

pub fn read_what_the_reference_wrote(stage: &Stage, judge: &mut Peer) -> Told {
    let mut yabby = stage.yabby()?;
    let mut read = 0;
    for conversation in conversations() {
        let folder = folder_for(stage, conversation.name)?;
        for file in written(judge, &folder, &conversation.steps).context(conversation.name)? {
            let before = Snapshot::of(&folder)?;
            let ours = reading(&mut yabby, &file)?;
            before.ensure_unchanged(&folder)?;
            ensure_same_reading(&ours, &reading(judge, &file)?)
                .with_context(|| format!("{}, {}", conversation.name, file.display()))?;
            read += 1;
        }
    }
    Ok(format!("{read} files"))
}

pub fn read_foreign_files(stage: &Stage, judge: &mut Peer) -> Told {
    let mut yabby = stage.yabby()?;
    let files = foreign_transcripts();
    for (name, text) in &files {
        let folder = folder_for(stage, name)?;
        let file = folder.join(format!("{SESSION}.jsonl"));
        std::fs::write(&file, text)?;
        let before = Snapshot::of(&folder)?;
        let mut ours = reading(&mut yabby, &file)?;
        before.ensure_unchanged(&folder)?;
        // The reference rewrites what an older version wrote, and gives new ids to what had none.
        let mut theirs = reading(judge, &file)?;
        if *name == "version 1" {
            for reading in [&mut ours, &mut theirs] {
                for made_up in ["leaf", "branch"] {
                    reading[made_up] = Value::Null;
                }
            }
        }
        ensure_same_reading(&ours, &theirs).context(*name)?;
    }
    Ok(format!("{} files", files.len()))
}

pub fn written_by_yabby(stage: &Stage, judge: &mut Peer) -> Told {
    let mut yabby = stage.yabby()?;
    let mut read = 0;
    for conversation in conversations() {
        let folder = folder_for(stage, conversation.name)?;
        for file in written(&mut yabby, &folder, &conversation.steps).context(conversation.name)? {
            ensure_reference_agrees(&mut yabby, judge, &file)
                .with_context(|| format!("{}, {}", conversation.name, file.display()))?;
            read += 1;
        }
    }
    Ok(format!("{read} files"))
}

/// Whatever is said twice, once by either, is one conversation.
pub fn written_in_turns(stage: &Stage, judge: &mut Peer) -> Told {
    let mut yabby = stage.yabby()?;
    let file = folder_for(stage, "turns")?.join(format!("{SESSION}-topic-7.jsonl"));
    for turn in 0..6 {
        let writer = if turn % 2 == 0 { &mut *judge } else { &mut yabby };
        let steps = json!([user(&format!("turn {turn}")), assistant("so it is")]);
        writer
            .ask(&json!({ "do": "write", "file": file, "session": SESSION, "cwd": "/w", "steps": steps }))?;
        ensure_reference_agrees(&mut yabby, judge, &file).with_context(|| format!("turn {turn}"))?;
    }
    let reading = reading(judge, &file)?;
    ensure!(reading["branch"].as_array().map(Vec::len) == Some(12), "some of it is off the path: {reading}");
    Ok(String::new())
}

/// Until the first answer there is no file; a file that is there already gets what is new.
pub fn first_flush(stage: &Stage, judge: &mut Peer) -> Told {
    let mut yabby = stage.yabby()?;
    let folder = folder_for(stage, "flush")?;
    let file = folder.join(format!("{SESSION}.jsonl"));
    let write = |peer: &mut Peer, steps: Value| {
        peer.ask(&json!({ "do": "write", "file": file, "session": SESSION, "cwd": "/w", "steps": steps }))
    };
    write(&mut yabby, json!([user("one"), { "thinking": "low" }]))?;
    ensure!(!names(&folder)?.iter().any(|name| name.ends_with(".jsonl")), "there is a file already");
    // Another process goes on with what is nowhere but in the journal.
    let mut other = stage.yabby()?;
    let unwritten = other.ask(&json!({ "do": "context", "file": file }))?;
    ensure!(
        unwritten["context"].as_str().is_some_and(|text| text.contains("one")),
        "the first message is lost"
    );
    write(&mut other, json!([user("two"), assistant("answer")]))?;
    ensure_reference_agrees(&mut other, judge, &file)?;
    let reading = reading(judge, &file)?;
    ensure!(reading["branch"].as_array().map(Vec::len) == Some(4), "some of it is off the path: {reading}");

    let begun = folder.join("begun.jsonl");
    std::fs::write(
        &begun,
        foreign_transcripts()
            .into_iter()
            .find(|(name, _)| *name == "a header alone")
            .map(|(_, text)| text)
            .unwrap_or_default(),
    )?;
    yabby.ask(&json!({ "do": "write", "file": begun, "steps": [user("kept"), assistant("kept too")] }))?;
    ensure_reference_agrees(&mut yabby, judge, &begun)?;
    let text = std::fs::read_to_string(&begun)?;
    ensure!(text.lines().count() == 3, "not every entry was written: {text}");
    Ok(String::new())
}

pub fn compacted(stage: &Stage, judge: &mut Peer) -> Told {
    let mut yabby = stage.yabby()?;
    let folder = folder_for(stage, "compacted")?;
    for conversation in conversations() {
        let file = folder.join(format!("{}.jsonl", conversation.name.replace([' ', ','], "-")));
        judge.ask(&json!({ "do": "write", "file": file, "session": SESSION, "cwd": "/w", "steps": conversation.steps }))?;
        yabby.ask(&json!({ "do": "compact", "file": file, "keep": 3 })).context(conversation.name)?;
        ensure_reference_agrees(&mut yabby, judge, &file).context(conversation.name)?;
        let text = std::fs::read_to_string(&file)?;
        ensure!(
            text.lines().count() <= 4,
            "{}: more than a header and three lines are left",
            conversation.name
        );
    }
    Ok(format!("{} files", conversations().len()))
}

/// A file that yabby wrote, read by both; neither may change it.
fn ensure_reference_agrees(yabby: &mut Peer, judge: &mut Peer, file: &Path) -> Result<()> {
    let folder = file.parent().context("a transcript is in a folder")?;
    let before = Snapshot::of(folder)?;
    let theirs = reading(judge, file)?;
    before.ensure_unchanged(folder).context("after the reference read it")?;
    let ours = reading(yabby, file)?;
    before.ensure_unchanged(folder).context("after yabby read it")?;
    ensure_same_reading(&ours, &theirs)
}

pub fn ensure_same_reading(ours: &Value, theirs: &Value) -> Result<()> {
    let text = |reading: &Value| reading["context"].as_str().unwrap_or("nothing").to_owned();
    ensure_same("the context", &text(ours), &text(theirs))?;
    ensure_same("the rest of it", &ours.to_string(), &theirs.to_string())
}

pub fn reading(peer: &mut Peer, file: &Path) -> Result<Value> {
    peer.ask(&json!({ "do": "context", "file": file }))
}

/// The conversation as `peer` writes it: the file, and those that were forked from it.
fn written(peer: &mut Peer, folder: &Path, steps: &[Value]) -> Result<Vec<PathBuf>> {
    let file = folder.join(format!("{SESSION}.jsonl"));
    let errand = json!({ "do": "write", "file": file, "session": SESSION, "cwd": "/w ünï", "steps": steps });
    let answer = peer.ask(&errand)?;
    let forks = answer["forks"].as_array().context("forks are told")?;
    let meant = steps.iter().filter(|step| step.get("fork").or(step.get("forkWhole")).is_some()).count();
    ensure!(forks.len() == meant, "{} forks of {meant}", forks.len());
    Ok(std::iter::once(file)
        .chain(forks.iter().filter_map(|fork| fork.as_str().map(PathBuf::from)))
        .collect())
}

fn folder_for(stage: &Stage, name: &str) -> Result<PathBuf> {
    let folder = stage.folder()?.join(name);
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}
