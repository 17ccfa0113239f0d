//! `yabby memory get`: lines of a note, or what was said from a line of a conversation on.

use std::io::Write as _;

use anyhow::{Result, anyhow};
use clap::Args;
use serde_json::json;
use yabby_domain::session::key::SessionKey;
use yabby_domain::text;
use yabby_memory::audience::Viewer;
use yabby_memory::compat::reading::{self, Lines, ReadError};
use yabby_memory::shown;

use super::{DISABLED, Desk};
use crate::failure::{self, Failure};
use crate::setting::Setting;
use crate::terminal;
use crate::wire::memory::AgentMemory;

#[derive(Args)]
pub struct Arguments {
    /// MEMORY.md, memory/<name>.md, a file of memorySearch.extraPaths, or sessions/<id>.jsonl
    path: String,
    /// The agent whose memory it is [default: the default one]
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// The line to begin with; the first is 1
    #[arg(long, value_name = "LINE")]
    from: Option<u32>,
    /// How many lines; of a conversation, how many messages
    #[arg(long, value_name = "N")]
    lines: Option<u32>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    let desk = Desk::open(setting)?;
    let agent = desk.agent(arguments.agent.as_deref());
    let Some(kept) = desk.memory(&agent)? else {
        return Ok(writeln!(anstream::stdout(), "{DISABLED}")?);
    };
    let wanted = text::trim(&arguments.path);
    let got = match wanted.starts_with("sessions/") {
        true => desk.runtime.block_on(said(&kept, wanted, arguments)),
        false => noted(setting, &kept, wanted, arguments),
    };
    let (text, path) =
        got.map_err(|error| Failure::bare(format!("Memory get failed: {}", failure::told(&error))))?;
    if arguments.json {
        return terminal::print_json(&json!({"text": text::from_outside(&text), "path": path}));
    }
    let mut out = anstream::stdout().lock();
    for line in text.trim_end_matches('\n').split('\n') {
        writeln!(out, "{}", terminal::harmless(line))?;
    }
    Ok(())
}

fn noted(
    setting: &Setting,
    kept: &AgentMemory,
    path: &str,
    arguments: &Arguments,
) -> Result<(String, String)> {
    let lines = Lines { from: arguments.from.map(f64::from), count: arguments.lines.map(f64::from) };
    let read = reading::read(&kept.workspace, &kept.settings.extra_paths, path, lines);
    let read = read.map_err(|error| match error {
        // Whoever types this is the owner, who may know why.
        ReadError::Refused if !path.is_empty() => anyhow!(
            "{path} is not part of the memory: MEMORY.md, memory/<name>.md, a file of memorySearch.extraPaths, or sessions/<id>.jsonl"
        ),
        ReadError::System(_) if !kept.workspace.join(path).exists() => {
            anyhow!("there is no {path} in {}", setting.place.shortened(&kept.workspace))
        }
        other => other.into(),
    })?;
    Ok((read.text, read.path))
}

async fn said(kept: &AgentMemory, path: &str, arguments: &Arguments) -> Result<(String, String)> {
    let memory = &kept.memory;
    memory.sync(&|_| {}).await?;
    let wanted = path.to_owned();
    let (first, count) = (arguments.from.unwrap_or(1), arguments.lines.unwrap_or(u32::MAX));
    let units = memory
        .blocking(move |memory| {
            let recall = memory.recall();
            // A conversation that its owner names is one that they may look into.
            let known = recall.known_of(std::slice::from_ref(&wanted))?;
            let key = known.get(&wanted).and_then(|known| known.session_key.clone());
            let viewer = Viewer { session_key: key.map(SessionKey::new), ..Viewer::owner() };
            recall.around_line(&viewer, &wanted, first, 0, count)
        })
        .await?;
    let units = units.ok_or_else(|| anyhow!("{path} says nothing, or is not there"))?;
    let lines: Vec<String> = units.iter().map(shown::line).collect();
    Ok((lines.join("\n"), path.to_owned()))
}
