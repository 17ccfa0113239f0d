//! One index of memories, kept up to date by both in turns.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{Stage, Told};
use crate::peer::Peer;
use crate::reference::state_folder;

const NOTE: &str = "# Notes\n\nThe router is in the cellar.\nFlights to Lisbon are booked.\n";

/// What either has indexed, the other finds; what either has embedded, the other does not ask for.
pub fn in_turns(stage: &Stage, _: &mut Peer) -> Told {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/interop/embeddings.mjs");
    let mut room = Peer::start("OpenClaw", &mut stage.reference.script_with_loopback(&script, &stage.home))?;
    let address = room.ask(&json!({"do": "address"}))?;
    let config = prepare(stage, &address)?;
    let workspace = stage.home.join("workspace");
    let mut both = Both { room, yabby: stage.yabby()? };

    let first = both.openclaw(&["memory", "index"])?;
    ensure!(first.len() == 4, "OpenClaw embedded {first:#?}");
    let state = state_folder(&stage.home);
    both.yabby.ask(&json!({"do": "openMemory", "state": state, "config": config}))?;
    ensure_nothing(&both.yabby("sync")?, "yabby embedded what OpenClaw had")?;
    for query in ["router", "flights to lisbon", "espresso", "task 40 is open", "日本語"] {
        both.same(query)?;
    }

    fs::write(workspace.join("memory/trip.md"), "The trip goes to Porto, by train.\n")?;
    fs::remove_file(workspace.join("memory/old.md"))?;
    let changed = both.yabby("sync")?;
    ensure!(changed.len() == 1 && changed[0].contains("Porto"), "yabby embedded {changed:#?}");
    both.best("porto train", "memory/trip.md")?;
    ensure_nothing(&both.openclaw(&["memory", "index"])?, "OpenClaw embedded what yabby had")?;
    both.same("porto train")?;
    both.same("an old thing")?;

    fs::write(workspace.join("MEMORY.md"), format!("{NOTE}The piano was tuned.\n"))?;
    let changed = both.openclaw(&["memory", "index"])?;
    ensure!(changed.len() == 1, "OpenClaw embedded {changed:#?}");
    both.best("piano tuned", "MEMORY.md")?;
    both.same("piano tuned")?;

    // Each builds the index anew, and the other goes on with the new file.
    ensure_nothing(&both.yabby("force")?, "yabby embedded again what it had")?;
    both.same("piano tuned")?;
    ensure_nothing(&both.openclaw(&["memory", "index"])?, "OpenClaw built yabby's index anew")?;
    ensure_nothing(
        &both.openclaw(&["memory", "index", "--force"])?,
        "OpenClaw embedded again what was there",
    )?;
    both.same("router")?;
    fs::write(workspace.join("memory/tea.md"), "Tea at five.\n")?;
    ensure!(both.yabby("sync")?.len() == 1, "yabby wrote to a file that is no more");
    both.best("tea", "memory/tea.md")?;
    both.same("tea")?;
    let names = crate::snapshot::names(&state.join("memory"))?;
    ensure!(names == ["main.sqlite"], "there is more than the index: {names:?}");
    both.room.end()?;
    Ok(String::new())
}

fn prepare(stage: &Stage, address: &Value) -> Result<Value> {
    let workspace = stage.home.join("workspace");
    fs::create_dir_all(workspace.join("memory"))?;
    fs::write(workspace.join("MEMORY.md"), NOTE)?;
    fs::write(workspace.join("memory/trip.md"), "The trip goes to Lisbon.\n")?;
    fs::write(workspace.join("memory/old.md"), "An old thing.\n")?;
    fs::write(workspace.join("memory/blank.md"), "\n \n")?;
    let said =
        json!({"type": "message", "message": {"role": "user", "content": "I like my espresso strong."}});
    fs::write(stage.folder()?.join("0f0e0d0c-0b0a-4908-8706-050403020100.jsonl"), format!("{said}\n"))?;
    let config = json!({"agents": {"defaults": {"workspace": workspace, "memorySearch": {
        "provider": "openai", "model": "boxes",
        "sources": ["memory", "sessions"], "experimental": {"sessionMemory": true},
        "remote": {"baseUrl": address, "apiKey": "none", "batch": {"enabled": false}},
        "sync": {"watch": false, "onSessionStart": false, "onSearch": false},
    }}}});
    fs::write(state_folder(&stage.home).join("openclaw.json"), config.to_string())?;
    Ok(config)
}

struct Both {
    room: Peer,
    yabby: Peer,
}

impl Both {
    /// Has OpenClaw do something; the texts that it had embedded.
    fn openclaw(&mut self, words: &[&str]) -> Result<Vec<String>> {
        Ok(texts(&self.ran(words)?["asked"]))
    }

    fn ran(&mut self, words: &[&str]) -> Result<Value> {
        let ran = self.room.ask(&json!({"do": "openclaw", "words": words}))?;
        ensure!(ran["status"] == 0, "openclaw {words:?}: {ran:#}");
        Ok(ran)
    }

    /// Has yabby do something; the texts that it had embedded.
    fn yabby(&mut self, deed: &str) -> Result<Vec<String>> {
        Ok(texts(&self.yabby.ask(&json!({"do": "memory", "deed": deed}))?["asked"]))
    }

    fn found_by_yabby(&mut self, query: &str) -> Result<Vec<Value>> {
        let told = self.yabby.ask(&json!({"do": "memory", "deed": {"search": query}}))?;
        Ok(told["results"].as_array().cloned().unwrap_or_default())
    }

    fn found_by_openclaw(&mut self, query: &str) -> Result<Vec<Value>> {
        let ran = self.ran(&["memory", "search", query, "--min-score", "0", "--json"])?;
        let printed = ran["stdout"].as_str().unwrap_or_default();
        let told: Value = serde_json::from_str(printed).with_context(|| format!("it printed {printed}"))?;
        Ok(told["results"].as_array().cloned().unwrap_or_default())
    }

    /// Both find the same, with the same score.
    fn same(&mut self, query: &str) -> Result<()> {
        let (ours, theirs) = (self.found_by_yabby(query)?, self.found_by_openclaw(query)?);
        let differ = || format!("{query:?}: yabby finds {ours:#?}\nOpenClaw {theirs:#?}");
        ensure!(ours.len() == theirs.len() && !ours.is_empty(), "{}", differ());
        for (ours, theirs) in ours.iter().zip(&theirs) {
            let (mut ours, mut theirs) = (ours.clone(), theirs.clone());
            let score = |hit: &mut Value| hit["score"].take().as_f64().unwrap_or(f64::NAN);
            let apart = (score(&mut ours) - score(&mut theirs)).abs();
            ensure!(ours == theirs && apart <= 1e-6, "{}", differ());
        }
        Ok(())
    }

    /// Both find this first.
    fn best(&mut self, query: &str, path: &str) -> Result<()> {
        for found in [self.found_by_yabby(query)?, self.found_by_openclaw(query)?] {
            ensure!(found.first().is_some_and(|hit| hit["path"] == path), "{query:?}: {found:#?}");
        }
        Ok(())
    }
}

fn ensure_nothing(asked: &[String], problem: &str) -> Result<()> {
    ensure!(asked.is_empty(), "{problem}: {asked:#?}");
    Ok(())
}

fn texts(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}
