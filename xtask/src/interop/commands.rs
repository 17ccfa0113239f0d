//! What yabby's commands leave behind, in the hands of the reference.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::conversations::conversations;
use super::transcripts::{ensure_same_reading, reading};
use super::{Stage, Told};
use crate::peer::Peer;
use crate::program::{Build, yabby};
use crate::reference::state_folder;

/// Both list the same sessions after yabby named, forked, reset, shortened and deleted some.
pub fn sessions(stage: &Stage, judge: &mut Peer) -> Told {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/home-sample/agents/main/sessions");
    let folder = stage.folder()?;
    for name in crate::snapshot::names(&sample)? {
        fs::copy(sample.join(&name), folder.join(&name))?;
    }
    let forked = told(stage, &["sessions", "fork", "Neighbours", "--at", "b2e40d07", "--json"])?;
    let spare = told(stage, &["sessions", "fork", "main", "--key", "agent:main:spare", "--json"])?;
    told(stage, &["sessions", "label", "main", "Mine", "--add", "one", "--json"])?;
    told(stage, &["sessions", "compact", "Neighbours", "--max-lines", "3", "--json"])?;
    told(stage, &["sessions", "reset", "agent:main:telegram:group:-1001234567", "--json"])?;
    told(stage, &["sessions", "delete", "agent:main:spare", "--yes", "--json"])?;
    let (ours, theirs) = (told(stage, &["sessions", "--json"])?, stage.openclaw(&["sessions", "--json"])?);
    ensure!(comparable(&ours) == comparable(&theirs), "yabby lists {ours:#}\nOpenClaw {theirs:#}");
    ensure!(ours["count"] == 3, "{ours:#}");
    let mut worker = stage.yabby()?;
    let file = forked["sessionFile"].as_str().context("a fork has a file")?;
    ensure_same_reading(&reading(&mut worker, file.as_ref())?, &reading(judge, file.as_ref())?)?;
    let gone = spare["sessionFile"].as_str().context("a fork has a file")?;
    ensure!(!Path::new(gone).exists(), "{gone} was not put away");
    Ok("3 sessions".to_owned())
}

/// Both read the same configuration after yabby edited it, with its comments, includes and variables.
pub fn configuration(stage: &Stage, _: &mut Peer) -> Told {
    let state = state_folder(&stage.home);
    fs::create_dir_all(&state)?;
    let main = "{\n  // mine\n  $include: './more.json5',\n  env: {vars: {NAME: 'Sam'}},\n  messages: {responsePrefix: '${NAME}:'},\n  ui: {seamColor: '#112233'}, // blue\n}\n";
    fs::write(state.join("openclaw.json"), main)?;
    fs::write(
        state.join("more.json5"),
        "{gateway: {mode: 'local', port: 19001}, ui: {assistant: {name: 'Yab'}}}\n",
    )?;
    let edits: [&[&str]; 4] = [
        &["config", "set", "ui.seamColor", "#445566"],
        &["config", "set", "gateway.bind", "loopback"],
        &["config", "set", "agents.list", "[{id: 'ops', name: 'Ops'}]"],
        &["config", "unset", "agents.list[0].name"],
    ];
    for edit in edits {
        run(stage, edit)?;
    }
    for section in ["ui", "gateway", "agents", "messages", "env", "commands"] {
        let words = ["config", "get", section, "--json"];
        let (ours, theirs) = (told(stage, &words)?, stage.openclaw(&words)?);
        ensure!(ours == theirs, "{section}: yabby reads {ours}, OpenClaw {theirs}");
    }
    let text = fs::read_to_string(state.join("openclaw.json"))?;
    for kept in ["// mine", "// blue", "$include", "${NAME}"] {
        ensure!(text.contains(kept), "{kept} is gone from {text}");
    }
    // The reference rewrites the file, and yabby reads that.
    let set =
        stage.reference.openclaw(&stage.home).args(["config", "set", "ui.seamColor", "#778899"]).output()?;
    ensure!(set.status.success(), "openclaw: {}", String::from_utf8_lossy(&set.stderr));
    ensure!(
        told(stage, &["config", "get", "ui.seamColor", "--json"])? == "#778899",
        "what OpenClaw set is not read"
    );
    Ok("6 sections".to_owned())
}

/// The reference lists and reads what yabby adopted from another program.
pub fn imports(stage: &Stage, judge: &mut Peer) -> Told {
    let source = stage.home.join("openbot");
    let sessions = source.join("agents/default/sessions");
    fs::create_dir_all(&sessions)?;
    let store = json!({
        "agent:default:4711": {"sessionId": "person", "updatedAt": 1_769_868_002_000_u64},
        "agent:default:telegram:group:-100": {"sessionId": "group", "updatedAt": 1_769_868_001_000_u64},
    });
    fs::write(sessions.join("sessions.json"), store.to_string())?;
    for (id, word) in [("person", "Hello!"), ("group", "Hello, all!")] {
        let lines = [
            json!({"type": "session", "version": 2, "id": id, "timestamp": "2026-01-31T14:00:00.000Z", "cwd": "/w"}),
            said("user", word, 1),
            json!({"type": "custom", "key": "openclaw.cache-ttl", "value": 45_000, "timestamp": "2026-01-31T14:00:02.000Z"}),
            said("assistant", "Hi!", 3),
            said("user", "And again.", 4),
        ];
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        fs::write(sessions.join(format!("{id}.jsonl")), text)?;
    }
    fs::create_dir_all(state_folder(&stage.home))?;
    let source = source.to_string_lossy().into_owned();
    let outcome = told(stage, &["import", "openbot", &source, "--json"])?;
    ensure!(outcome["sessions"].as_array().map(Vec::len) == Some(2), "{outcome:#}");
    let shown = stage.openclaw(&["sessions", "--json"])?;
    let keys: Vec<&str> =
        shown["sessions"].as_array().into_iter().flatten().filter_map(|row| row["key"].as_str()).collect();
    ensure!(
        keys == ["agent:main:telegram:dm:4711", "agent:main:telegram:group:-100"],
        "OpenClaw lists {keys:?}"
    );
    let scope = stage.openclaw(&["config", "get", "session.dmScope", "--json"])?;
    ensure!(scope == "per-channel-peer", "people are not kept apart: {scope}");
    let mut worker = stage.yabby()?;
    for id in ["person", "group"] {
        let file = stage.folder()?.join(format!("{id}.jsonl"));
        let before = fs::read(&file)?;
        let (ours, theirs) = (reading(&mut worker, &file)?, reading(judge, &file)?);
        ensure_same_reading(&ours, &theirs)?;
        let branch = theirs["branch"].as_array().map_or(0, Vec::len);
        ensure!(branch == 4, "OpenClaw sees {branch} of 4 entries");
        ensure!(fs::read(&file)? == before, "OpenClaw had to change {}", file.display());
    }
    Ok("2 sessions".to_owned())
}

/// Whatever yabby undoes, the reference is told as well; in the end nothing is summarised any more.
pub fn undone_compactions(stage: &Stage, judge: &mut Peer) -> Told {
    const SESSION: &str = "0f0e0d0c-0b0a-4908-8706-050403020100";
    let folder = stage.folder()?;
    let store = json!({"agent:main:main": {"sessionId": SESSION, "updatedAt": 1, "totalTokens": 5}});
    fs::write(folder.join("sessions.json"), store.to_string())?;
    let file = folder.join(format!("{SESSION}.jsonl"));
    let (mut worker, mut undone) = (stage.yabby()?, 0);
    for conversation in conversations() {
        // What the reference keeps in memory would go on from the file of the conversation before.
        let _ = fs::remove_file(&file);
        let write = json!({"do": "write", "file": file, "session": SESSION, "cwd": "/w", "steps": conversation.steps});
        stage.mortal_judge()?.ask(&write).context(conversation.name)?;
        let old = fs::read_to_string(&file)?;
        while told(stage, &["sessions", "undo-compaction", "--json"]).is_ok() {
            ensure_same_reading(&reading(&mut worker, &file)?, &reading(judge, &file)?)
                .context(conversation.name)?;
            undone += 1;
        }
        ensure!(fs::read_to_string(&file)?.starts_with(&old), "{}: a line changed", conversation.name);
        let context = reading(judge, &file)?["context"].as_str().unwrap_or_default().to_owned();
        ensure!(!context.contains("compactionSummary"), "{}: {context}", conversation.name);
    }
    ensure!(undone >= 2, "only {undone} compactions were undone");
    Ok(format!("{undone} compactions"))
}

/// What somebody and the built-in helper said to each other is a conversation for the reference.
pub fn held_by_yabby(stage: &Stage, judge: &mut Peer) -> Told {
    fs::create_dir_all(state_folder(&stage.home))?;
    let ask = |words: &str| told(stage, &["agent", "--local", "--agent", "main", "--json", "-m", words]);
    let mut files = Vec::new();
    for words in [
        "hello",
        "remember that the spare key is with Ann \u{1f511}",
        "what do you remember about the spare key?",
        "/new",
        "list files. what do you remember about Ann?",
        "/think low",
        "thanks",
    ] {
        let answer = ask(words)?;
        ensure!(answer["payloads"][0]["text"].is_string(), "{words}: {answer:#}");
        if let Some(id) = answer["meta"]["agentMeta"]["sessionId"].as_str() {
            let file = stage.folder()?.join(format!("{id}.jsonl"));
            if !files.contains(&file) {
                files.push(file);
            }
        }
    }
    ensure!(files.len() == 2, "/new begins a second conversation: {files:?}");
    let (mut worker, mut messages) = (stage.yabby()?, 0);
    for file in &files {
        let before = fs::read(file)?;
        let (ours, theirs) = (reading(&mut worker, file)?, reading(judge, file)?);
        ensure_same_reading(&ours, &theirs)?;
        ensure!(fs::read(file)? == before, "OpenClaw had to change {}", file.display());
        let context: Value = serde_json::from_str(theirs["context"].as_str().context("it is told")?)?;
        let told = context["messages"].as_array().context("messages are told")?;
        let results = told.iter().filter(|message| message["role"] == "toolResult").count();
        ensure!(results >= 2, "{}: tools were called: {context:#}", file.display());
        messages += told.len();
    }
    let (ours, theirs) = (told(stage, &["sessions", "--json"])?, stage.openclaw(&["sessions", "--json"])?);
    ensure!(comparable(&ours) == comparable(&theirs), "yabby lists {ours:#}\nOpenClaw {theirs:#}");
    ensure!(theirs["sessions"][0]["key"] == "agent:main:main", "{theirs:#}");
    Ok(format!("{messages} messages"))
}

fn said(role: &str, text: &str, second: u8) -> Value {
    json!({
        "type": "message",
        "timestamp": format!("2026-01-31T14:00:0{second}.000Z"),
        "message": {"role": role, "content": [{"type": "text", "text": text}]},
    })
}

/// Without what differs because a moment has passed, and without labels, which only yabby shows.
fn comparable(listed: &Value) -> Value {
    let mut listed = listed.clone();
    for row in listed["sessions"].as_array_mut().into_iter().flatten() {
        row["ageMs"] = Value::Null;
        for ours in ["label", "labels"] {
            row.as_object_mut().map(|row| row.remove(ours));
        }
    }
    listed
}

/// What `yabby …` prints, as JSON.
fn told(stage: &Stage, words: &[&str]) -> Result<Value> {
    let text = run(stage, words)?;
    serde_json::from_str(&text).with_context(|| format!("yabby {words:?} printed {text}"))
}

fn run(stage: &Stage, words: &[&str]) -> Result<String> {
    let output = Command::new(yabby(Build::Quick)?)
        .args(words)
        .env_clear()
        .env("HOME", &stage.home)
        .env("OPENCLAW_STATE_DIR", state_folder(&stage.home))
        .output()
        .context("running yabby")?;
    if !output.status.success() {
        bail!("yabby {words:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8(output.stdout)?)
}
