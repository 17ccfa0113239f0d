//! What yabby's commands leave behind, in the hands of the reference.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

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
    told(stage, &["sessions", "delete", "agent:main:spare", "--json"])?;
    let (ours, theirs) = (told(stage, &["sessions", "--json"])?, stage.openclaw(&["sessions", "--json"])?);
    ensure!(without_ages(&ours) == without_ages(&theirs), "yabby lists {ours:#}\nOpenClaw {theirs:#}");
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

fn said(role: &str, text: &str, second: u8) -> Value {
    json!({
        "type": "message",
        "timestamp": format!("2026-01-31T14:00:0{second}.000Z"),
        "message": {"role": role, "content": [{"type": "text", "text": text}]},
    })
}

/// What differs because a moment has passed.
fn without_ages(listed: &Value) -> Value {
    let mut listed = listed.clone();
    for row in listed["sessions"].as_array_mut().into_iter().flatten() {
        row["ageMs"] = Value::Null;
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
