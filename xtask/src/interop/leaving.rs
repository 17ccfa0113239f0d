//! The steps of the README's “How to leave”, taken word for word, and the real OpenClaw goes on from there.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::continued::{Format, config};
use super::{Stage, Told};
use crate::peer::Peer;
use crate::program::{Build, built, yabby};

const QUESTION: &str = "Where is the spare key?";
const ANSWER: &str = "With Ann.";
const NOTE: &str = "The spare key is with Ann.\n";

pub fn by_the_readme(stage: &Stage, _judge: &mut Peer) -> Told {
    let steps = steps()?;
    let stand_in = built("yabby-testkit", "model_stand_in", Build::Quick)?;
    let program = yabby(Build::Quick)?;
    // Both look for their folder by themselves, in the home.
    let mut start = stage.reference.with_loopback(&stand_in, &stage.home);
    let mut room = Peer::start("the stand-in", start.env_remove("OPENCLAW_STATE_DIR"))?;
    let address = room.ask(&json!({"do": "address"}))?;
    let address = address.as_str().context("it is somewhere")?.to_owned();

    let ours = stage.home.join(".yabby");
    let workspace = ours.join("workspace");
    fs::create_dir_all(&workspace)?;
    fs::write(workspace.join("note.md"), NOTE)?;
    fs::write(ours.join("yabby.json"), config(Format::OpenAiChat, &address, &workspace).to_string())?;
    let words =
        |question: &str| ["agent", "--local", "--agent", "main", "--json", "-m", question].map(str::to_owned);
    say(&mut room, ANSWER)?;
    run(&mut room, &program, &words(QUESTION))?;

    for step in &steps {
        let mut parts = step.split_whitespace();
        ensure!(parts.next() == Some("yabby"), "the README says {step:?}");
        let arguments: Vec<String> =
            parts.map(|part| part.replace('~', &stage.home.to_string_lossy())).collect();
        run(&mut room, &program, &arguments)?;
    }

    let openclaw = stage.reference.package().join("openclaw.mjs").to_string_lossy().into_owned();
    let node = stage.reference.node();
    let theirs = |words: &[String]| [std::slice::from_ref(&openclaw), words].concat();
    say(&mut room, "Still with Ann.")?;
    run(&mut room, &node, &theirs(&words("And now?")))?;
    let requests = room.ask(&json!({"do": "seen"}))?;
    let last = requests.as_array().and_then(|requests| requests.last()).context("it asked")?.to_string();
    ensure!(last.contains(QUESTION) && last.contains(ANSWER), "OpenClaw does not know what was said: {last}");
    let shown = run(&mut room, &node, &theirs(&["sessions", "--json"].map(str::to_owned)))?;
    let shown: Value = serde_json::from_str(shown["stdout"].as_str().unwrap_or_default())?;
    ensure!(shown["sessions"].as_array().is_some_and(|rows| rows.len() == 1), "{shown:#}");

    ensure!(!ours.exists(), "something made {} again", ours.display());
    let folder = stage.home.join(".openclaw");
    ensure!(fs::read_to_string(folder.join("workspace/note.md"))? == NOTE, "the workspace came along");
    let config: Value = serde_json::from_str(&fs::read_to_string(folder.join("openclaw.json"))?)?;
    let workspace = config["agents"]["defaults"]["workspace"].as_str().context("it is written down")?;
    ensure!(Path::new(workspace) == folder.join("workspace"), "the workspace is said to be {workspace}");
    room.end()?;
    Ok(format!("{} steps", steps.len()))
}

/// The commands of that part of the README.
fn steps() -> Result<Vec<String>> {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md");
    let readme = fs::read_to_string(readme)?;
    let (_, part) = readme.split_once("## How to leave").context("the README says how to leave")?;
    let part = part.split("\n## ").next().unwrap_or_default();
    let (_, block) = part.split_once("```sh\n").context("it gives the commands")?;
    let block = block.split("```").next().unwrap_or_default();
    let step = |line: &str| line.split('#').next().unwrap_or_default().trim().to_owned();
    let steps: Vec<String> = block.lines().map(step).filter(|step| !step.is_empty()).collect();
    // OpenClaw is started by the story itself.
    Ok(steps.into_iter().filter(|step| !step.starts_with("openclaw")).collect())
}

fn say(room: &mut Peer, answer: &str) -> Result<()> {
    let errand = json!({"do": "will", "format": Format::OpenAiChat.name(), "answers": [{"text": answer}]});
    room.ask(&errand)?;
    Ok(())
}

fn run(room: &mut Peer, program: &Path, arguments: &[String]) -> Result<Value> {
    let ran = room.ask(&json!({"do": "run", "program": program, "arguments": arguments}))?;
    ensure!(ran["status"] == 0, "{arguments:?}: {ran:#}");
    Ok(ran)
}
