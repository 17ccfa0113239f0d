//! `yabby sessions compact`: the last lines of a conversation only (`transcripts.md` §7).

use std::io::Write as _;

use anyhow::Result;
use clap::Args;
use yabby_domain::json::{Object, Value};
use yabby_domain::seam::Compacted;
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::renew::recounted;
use yabby_domain::transcript::line_compact::MaxLines;

use super::Which;
use crate::book::{Book, Conversation, Found};
use crate::cli;
use crate::failure::Failure;
use crate::setting::Setting;
use crate::terminal;

#[derive(Args)]
#[command(
    after_help = "Examples:\n  yabby sessions compact main\n  yabby sessions compact main --max-lines 100 --json"
)]
pub struct Arguments {
    #[command(flatten)]
    which: Which,
    /// How many lines to keep
    #[arg(long, value_name = "COUNT", default_value_t = 400, value_parser = cli::count, allow_negative_numbers = true)]
    max_lines: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    if arguments.max_lines == 0 {
        return Err(Failure::bare("--max-lines must be a positive integer").into());
    }
    let book = Book::open(setting)?;
    let found = arguments.which.find(&book)?;
    let keep = MaxLines::at_most(arguments.max_lines);
    let done = match &found.conversation {
        Some(Conversation { folder, id }) => folder.compact_blocking(id, keep)?,
        None => Compacted::Missing,
    };
    if let Compacted::Done { .. } = done {
        forget_tokens(&found)?;
    }
    if arguments.json { print_json(&found, &done) } else { print_text(setting, &found, &done) }
}

/// What was counted for the whole conversation says nothing about the rest of it.
fn forget_tokens(found: &Found) -> Result<()> {
    let change = |entry: &mut Option<SessionEntry>| {
        if let Some(entry) = entry {
            entry.apply(&recounted(None));
        }
    };
    found.update(&found.key, Box::new(change))?;
    Ok(())
}

fn print_json(found: &Found, done: &Compacted) -> Result<()> {
    let mut out = Object::new();
    out.insert("ok".to_owned(), true.into());
    out.insert("key".to_owned(), found.key.as_str().into());
    out.insert("compacted".to_owned(), matches!(done, Compacted::Done { .. }).into());
    match done {
        Compacted::Missing => drop(out.insert("reason".to_owned(), "no transcript".into())),
        Compacted::Untouched { kept } => drop(out.insert("kept".to_owned(), (*kept).into())),
        Compacted::Done { kept, archived } => {
            let archived = found.file.with_file_name(archived).display().to_string();
            out.insert("archived".to_owned(), archived.into());
            out.insert("kept".to_owned(), (*kept).into());
        }
    }
    terminal::print_json(&Value::Object(out))
}

fn print_text(setting: &Setting, found: &Found, done: &Compacted) -> Result<()> {
    let key = terminal::harmless(found.key.as_str());
    let mut out = anstream::stdout().lock();
    match done {
        Compacted::Missing => writeln!(out, "{key} has no transcript yet.")?,
        Compacted::Untouched { kept } => {
            writeln!(out, "{key} is short enough: {}.", terminal::counted(*kept, "line"))?;
        }
        Compacted::Done { kept, archived } => {
            writeln!(out, "Kept the last {} of {key}.", terminal::counted(*kept, "line"))?;
            let archived = found.file.with_file_name(archived);
            writeln!(out, "The whole conversation is kept as {}.", setting.place.shortened(&archived))?;
        }
    }
    Ok(())
}
