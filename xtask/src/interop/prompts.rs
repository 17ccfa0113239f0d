//! What both tell a model before anybody speaks, for the same workspace with the same skill.

use std::fs;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::continued::{Format, prepare};
use super::{Stage, Told};
use crate::peer::Peer;
use crate::program::{Build, built, yabby};
use crate::reference::state_folder;

const SKILL: &str = "---\nname: knots\ndescription: Ties <knots> & hitches.\n---\nOver, under, through.\n";

/// In characters.
struct Size {
    system: usize,
    tools: usize,
}

/// Ours is not longer, and both keep the same snapshot of the workspace's skill.
pub fn side_by_side(stage: &Stage, _: &mut Peer) -> Told {
    let stand_in = built("yabby-testkit", "model_stand_in", Build::Quick)?;
    let mut room = Peer::start("the stand-in", &mut stage.reference.with_loopback(&stand_in, &stage.home))?;
    let address = room.ask(&json!({"do": "address"}))?;
    prepare(stage, Format::Anthropic, address.as_str().context("it is somewhere")?)?;
    let workspace = stage.home.join("workspace");
    fs::create_dir_all(workspace.join("skills/knots"))?;
    fs::write(workspace.join("skills/knots/SKILL.md"), SKILL)?;
    let yabby = yabby(Build::Quick)?;
    let configured = fs::read_to_string(state_folder(&stage.home).join("openclaw.json"))?;
    let filled = configured.replace("\"skipBootstrap\":true", "\"skipBootstrap\":false");
    fs::write(state_folder(&stage.home).join("openclaw.json"), filled)?;
    let made = room.ask(&json!({"do": "run", "program": yabby, "arguments": ["setup"]}))?;
    ensure!(made["status"] == 0, "yabby setup: {made:#}");
    // A first conversation is another one.
    fs::remove_file(workspace.join("BOOTSTRAP.md"))?;
    let openclaw = stage.reference.package().join("openclaw.mjs");
    let node = stage.reference.node();
    let programs: [(&str, &std::path::Path, Option<&str>); 2] =
        [("OpenClaw", &node, openclaw.to_str()), ("yabby", &yabby, None)];
    let mut sizes = Vec::new();
    let mut skills = Vec::new();
    for (name, program, script) in programs {
        room.ask(&json!({"do": "will", "format": "anthropic", "answers": [{"text": "Ahoy."}]}))?;
        let words = ["agent", "--local", "--agent", "main", "--json", "-m", "Hello."];
        let arguments: Vec<&str> = script.into_iter().chain(words).collect();
        let ran = room.ask(&json!({"do": "run", "program": program, "arguments": arguments}))?;
        ensure!(ran["status"] == 0, "{name}: {ran:#}");
        let seen = room.ask(&json!({"do": "seen"}))?;
        let request = seen.as_array().and_then(|seen| seen.last()).context("there was a request")?;
        sizes.push(size(request));
        skills.push(snapshot(stage)?);
        // The next one begins a session of its own.
        fs::remove_dir_all(state_folder(&stage.home).join("agents/main/sessions"))?;
    }
    room.end()?;
    let [theirs, ours] = &sizes[..] else { unreachable!("two programs were asked") };
    ensure!(ours.system > 2000, "yabby tells its model {} characters", ours.system);
    ensure!(
        ours.system <= theirs.system && ours.tools <= theirs.tools,
        "yabby's prompt is longer: {} and {} characters, beside {} and {}",
        ours.system,
        ours.tools,
        theirs.system,
        theirs.tools
    );
    ensure!(skills[0] == skills[1], "OpenClaw keeps {:#}\nyabby keeps {:#}", skills[0], skills[1]);
    Ok(format!(
        "system prompt {} characters beside {}, tools {} beside {}",
        ours.system, theirs.system, ours.tools, theirs.tools
    ))
}

fn size(request: &Value) -> Size {
    let system = match &request["system"] {
        Value::Array(blocks) => blocks.iter().filter_map(|block| block["text"].as_str()).map(chars).sum(),
        system => system.as_str().map_or(0, chars),
    };
    Size { system, tools: chars(&request["tools"].to_string()) }
}

fn chars(text: &str) -> usize {
    text.encode_utf16().count()
}

/// What the session's record says about the skill of the workspace; other skills come with each program.
fn snapshot(stage: &Stage) -> Result<Value> {
    let store = fs::read_to_string(stage.folder()?.join("sessions.json"))?;
    let store: Value = serde_json::from_str(&store)?;
    let snapshot = &store["agent:main:main"]["skillsSnapshot"];
    let named = |field: &str| {
        let mut skills = snapshot[field].as_array().into_iter().flatten();
        skills
            .find(|skill| skill["name"] == "knots")
            .cloned()
            .with_context(|| format!("no knots in {field} of {snapshot}"))
    };
    let prompt = snapshot["prompt"].as_str().context("there is a prompt")?;
    let (intro, list) = prompt.split_once("<available_skills>").context("skills are listed")?;
    let at = list.find("<name>knots</name>").context("the skill is listed")?;
    let own: String = list[at..].lines().take(3).collect::<Vec<_>>().join("\n");
    Ok(json!({"skill": named("skills")?, "resolved": named("resolvedSkills")?, "intro": intro, "own": own}))
}
