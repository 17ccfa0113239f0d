//! `yabby memory stats`: how much is remembered.

use anyhow::Result;
use clap::Args;
use serde_json::json;
use yabby_domain::json::Value;
use yabby_memory::recall::Totals;

use super::{DISABLED, Desk, Sheet, VALUE};
use crate::setting::Setting;
use crate::terminal;

#[derive(Args)]
pub struct Arguments {
    /// The agent whose memory it is [default: all that are configured]
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    let desk = Desk::open(setting)?;
    let mut all: Vec<Value> = Vec::new();
    for agent in desk.agents(arguments.agent.as_deref()) {
        let totals = desk.with_memory(&agent, |kept| {
            desk.runtime.block_on(async {
                kept.memory.sync(&|_| {}).await?;
                Ok(kept.memory.blocking(|memory| memory.recall().totals()).await?)
            })
        })?;
        let Some(Totals { notes, note_units, conversations, messages, sessions }) = totals else {
            anstream::eprintln!("{DISABLED} ({agent})");
            continue;
        };
        let chunks = note_units + messages;
        if arguments.json {
            all.push(json!({
                "agentId": agent.as_str(), "totalChunks": chunks, "totalSessions": sessions, "notes": notes,
                "noteParts": note_units, "conversations": conversations, "messages": messages,
            }));
            continue;
        }
        let mut sheet = Sheet::default();
        sheet.heading("Memory", &agent);
        let lines = [
            ("Chunks", chunks),
            ("Sessions", sessions),
            ("Notes", notes),
            ("Parts of notes", note_units),
            ("Conversations", conversations),
            ("Messages", messages),
        ];
        lines.into_iter().for_each(|(label, count)| sheet.line(label, VALUE, &count.to_string()));
        sheet.print()?;
    }
    if arguments.json { terminal::print_json(&all.into_iter().collect()) } else { Ok(()) }
}
