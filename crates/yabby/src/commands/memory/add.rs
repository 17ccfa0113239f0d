//! `yabby memory add`: a bullet in the note of today, found at once.

use std::io::Write as _;

use anyhow::{Result, anyhow};
use clap::Args;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::json;
use yabby_domain::text;
use yabby_store::disk::{Disk as _, LocalDisk};
use yabby_tools::notes;

use super::{DISABLED, Desk, tell_unread};
use crate::failure::Failure;
use crate::setting::Setting;
use crate::terminal;

#[derive(Args)]
pub struct Arguments {
    /// What to remember
    text: String,
    /// The agent who shall remember it [default: the default one]
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    let note = text::non_blank(&arguments.text).ok_or_else(|| Failure::bare("There is nothing to note."))?;
    let desk = Desk::open(setting)?;
    let agent = desk.agent(arguments.agent.as_deref());
    let Some(kept) = desk.memory(&agent)? else {
        return Err(Failure::bare(DISABLED).into());
    };
    LocalDisk.create_folder(&kept.workspace)?;
    let today = Timestamp::now().to_zoned(TimeZone::system()).strftime("%Y-%m-%d").to_string();
    let noted = notes::add(&kept.workspace, &today, note).map_err(|problem| anyhow!("{problem}"))?;
    // It is noted, whatever becomes of the index.
    match desk.runtime.block_on(kept.memory.sync(&|_| {})) {
        Ok(synced) => tell_unread(&synced.unread),
        Err(error) => tell_unread(&[format!("it is noted, but not indexed yet: {error}")]),
    }
    if arguments.json {
        return terminal::print_json(&json!({"path": noted.path, "line": noted.line}));
    }
    let place = desk.shortened(&kept.workspace.to_string_lossy());
    Ok(writeln!(anstream::stdout(), "Noted in {}:{} ({place}).", noted.path, noted.line)?)
}
