//! `yabby sessions fork`: go on from a conversation in a new session.

use std::io::Write as _;

use anyhow::{Result, anyhow};
use clap::Args;
use serde_json::json;
use yabby_domain::session::key::KeyPolicy;
use yabby_engine::services::{ForkError, ForkRequest, fork_session};

use super::acting::Acting;
use super::{Which, now};
use crate::book::Book;
use crate::setting::Setting;
use crate::terminal;

#[derive(Args)]
#[command(
    after_help = "Examples:\n  yabby sessions fork main\n  yabby sessions fork main --at 3f2a91bc --key agent:main:what-if\n  yabby history main --tree      shows the ids of the entries"
)]
pub struct Arguments {
    #[command(flatten)]
    which: Which,
    /// The entry to go on from [default: the last one]
    #[arg(long, value_name = "ENTRY")]
    at: Option<String>,
    /// The key of the new session [default: agent:<agent>:fork:<id>]
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// What to call the new session
    #[arg(long, value_name = "LABEL")]
    label: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    let book = Book::open(setting)?;
    let found = arguments.which.find(&book)?;
    let request = ForkRequest {
        source: found.key.clone(),
        agent: found.agent.clone(),
        at: arguments.at.clone(),
        key: arguments.key.clone(),
        label: arguments.label.clone(),
    };
    // The source is only read, and whoever talks there is not disturbed: no gateway is asked.
    let acting = Acting::new(setting)?;
    let policy = KeyPolicy::from_config(book.config());
    let scope = acting.scope(&book, &found);
    let forked = acting.here(fork_session(&scope, &request, &policy, now()));
    found.flush();
    let fork = forked.map_err(|error| match error {
        ForkError::Silent(_) => found.silence(),
        ForkError::KeyInUse(_) => anyhow!("{error}; choose another --key"),
        error => error.into(),
    })?;
    let file = found.file.with_file_name(fork.transcript.file_name());
    if arguments.json {
        return terminal::print_json(&json!({
            "ok": true,
            "key": fork.key.as_str(),
            "sessionId": fork.session_id,
            "sessionFile": file.display().to_string(),
            "forkedFrom": found.key.as_str(),
        }));
    }
    let mut out = anstream::stdout().lock();
    let [from, key] = [&found.key, &fork.key].map(|key| terminal::harmless(key.as_str()));
    writeln!(out, "{key} goes on from {from} ({}).", setting.place.shortened(&file))?;
    Ok(())
}
