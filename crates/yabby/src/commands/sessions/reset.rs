//! `yabby sessions reset`: an empty conversation under the same key (`gateway.md` §6).

use std::io::Write as _;

use anyhow::Result;
use clap::Args;
use serde_json::json;
use yabby_domain::json::Value;
use yabby_engine::services::reset_session;

use super::acting::Acting;
use super::{Which, now};
use crate::book::Book;
use crate::setting::Setting;
use crate::terminal;

#[derive(Args)]
#[command(
    after_help = "Examples:\n  yabby sessions reset main\n  yabby sessions reset agent:main:telegram:group:-100123 --json"
)]
pub struct Arguments {
    #[command(flatten)]
    which: Which,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    let book = Book::open(setting)?;
    let found = arguments.which.find(&book)?;
    let acting = Acting::new(setting)?;
    let entry = match acting.by_gateway("sessions.reset", json!({"key": found.key.as_str()}))? {
        Some(mut answer) => answer.remove("entry").unwrap_or_default(),
        None => {
            let scope = acting.scope_that_remembers(&book, &found);
            let reset = acting.here(reset_session(&scope, &found.key, now()))?;
            found.flush();
            Value::Object(reset.stored.into_object())
        }
    };
    if arguments.json {
        return terminal::print_json(&json!({"ok": true, "key": found.key.as_str(), "entry": entry}));
    }
    let key = terminal::harmless(found.key.as_str());
    let id = terminal::harmless(entry.get("sessionId").and_then(Value::as_str).unwrap_or_default());
    let mut out = anstream::stdout().lock();
    writeln!(out, "{key} begins anew as {id}.")?;
    if found.file.exists() {
        writeln!(out, "What was said before stays in {}.", setting.place.shortened(&found.file))?;
    }
    Ok(())
}
