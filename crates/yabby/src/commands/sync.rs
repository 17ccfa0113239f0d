//! `yabby sync`: brings `sessions.json` up to date now, so that another program sees everything, also while a gateway
//! runs.

use std::io::Write as _;

use anyhow::Result;
use clap::Args;
use serde_json::json;
use yabby_domain::id::AgentId;

use crate::book::{self, Book};
use crate::setting::Setting;
use crate::terminal;

#[derive(Args)]
pub struct Arguments {
    /// The agent whose sessions are meant; all agents if it is not given
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    let book = Book::open(setting)?;
    let agent = arguments.agent.as_deref().map(AgentId::normalize);
    let mut synced = Vec::new();
    for (agent, path) in book.stores(agent.as_ref())? {
        let journal = path.with_added_extension("journal");
        if path.exists() || journal.exists() {
            book::open(&path)?.flush()?;
            synced.push((agent, path));
        }
    }
    if arguments.json {
        let stores = synced.iter().map(|(agent, path)| json!({"agent": agent.as_str(), "path": path}));
        return terminal::print_json(&json!({"ok": true, "stores": stores.collect::<Vec<_>>()}));
    }
    let mut out = anstream::stdout();
    for (_, path) in &synced {
        writeln!(out, "{} is up to date.", terminal::harmless(&setting.place.shortened(path)))?;
    }
    if synced.is_empty() {
        writeln!(out, "There are no sessions yet.")?;
    }
    Ok(())
}
