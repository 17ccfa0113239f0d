//! `yabby sessions compact`: the last lines of a conversation only (`transcripts.md` §7).

use std::io::Write as _;

use anyhow::Result;
use clap::Args;
use serde_json::json;
use yabby_domain::json::{Object, Value};
use yabby_domain::session::path::name_of;
use yabby_domain::transcript::line_compact::MaxLines;
use yabby_engine::services::{CompactOutcome, compact_lines};

use super::acting::{Acting, count, text};
use super::{Which, now};
use crate::book::{Book, Found};
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
    let acting = Acting::new(setting)?;
    let params = json!({"key": found.key.as_str(), "maxLines": arguments.max_lines});
    let outcome = match acting.by_gateway("sessions.compact", params)? {
        Some(answer) => of_answer(&answer)?,
        None => {
            let keep = MaxLines::at_most(arguments.max_lines);
            let outcome =
                acting.here(compact_lines(&acting.scope(&book, &found), &found.key, keep, now()))?;
            found.flush();
            outcome
        }
    };
    if arguments.json { print_json(&found, &outcome) } else { print_text(setting, &found, &outcome) }
}

fn of_answer(answer: &Object) -> Result<CompactOutcome> {
    Ok(match (answer.get("compacted").and_then(Value::as_bool), text(answer, "reason")) {
        (Some(true), _) => CompactOutcome::Done {
            kept: count(answer, "kept")?,
            archived: name_of(text(answer, "archived").unwrap_or_default()).to_owned(),
        },
        (_, Some(_)) => CompactOutcome::NoTranscript,
        (_, None) => CompactOutcome::Untouched { kept: count(answer, "kept")? },
    })
}

fn print_json(found: &Found, outcome: &CompactOutcome) -> Result<()> {
    let is_compacted = matches!(outcome, CompactOutcome::Done { .. });
    let mut out = json!({"ok": true, "key": found.key.as_str(), "compacted": is_compacted});
    match outcome {
        CompactOutcome::NoSessionId | CompactOutcome::NoTranscript => out["reason"] = "no transcript".into(),
        CompactOutcome::Untouched { kept } => out["kept"] = (*kept).into(),
        CompactOutcome::Done { kept, archived } => {
            out["archived"] = found.file.with_file_name(archived).display().to_string().into();
            out["kept"] = (*kept).into();
        }
    }
    terminal::print_json(&out)
}

fn print_text(setting: &Setting, found: &Found, outcome: &CompactOutcome) -> Result<()> {
    let key = terminal::harmless(found.key.as_str());
    let mut out = anstream::stdout().lock();
    match outcome {
        CompactOutcome::NoSessionId | CompactOutcome::NoTranscript => {
            writeln!(out, "{key} has no transcript yet.")?;
        }
        CompactOutcome::Untouched { kept } => {
            writeln!(out, "{key} is short enough: {}.", terminal::counted(*kept, "line"))?;
        }
        CompactOutcome::Done { kept, archived } => {
            writeln!(out, "Kept the last {} of {key}.", terminal::counted(*kept, "line"))?;
            let archived = found.file.with_file_name(archived);
            writeln!(out, "The whole conversation is kept as {}.", setting.place.shortened(&archived))?;
        }
    }
    Ok(())
}
