//! `yabby sessions undo-compaction`: back to what a compaction summarised or dropped.

use std::io::Write as _;

use anyhow::Result;
use clap::Args;
use serde_json::json;
use yabby_domain::json::{Object, Value, number};
use yabby_domain::seam::ContextSize;
use yabby_domain::session::key::KeyPolicy;
use yabby_domain::session::path::name_of;
use yabby_engine::services::{UndoError, UndoOutcome, undo_compaction};

use super::acting::{Acting, count, text};
use crate::book::{Book, Found};
use crate::setting::Setting;
use crate::terminal;

#[derive(Args)]
#[command(
    after_help = "Nothing is deleted. A summary: the conversation goes on in a branch that begins before the compaction, and what was said since then is said again there. Lines that `sessions compact` dropped: they come back from the backup, in front of the rest. Once more, and the compaction before that is undone.\n\nExamples:\n  yabby sessions undo-compaction\n  yabby sessions undo-compaction neighbours --json\n  yabby history main --tree      shows both branches"
)]
pub struct Arguments {
    /// Its key, its id (or how that begins), or its label [default: the main session]
    session: Option<String>,
    /// Look only in the sessions of this agent
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    let book = Book::open(setting)?;
    let agent = arguments.agent.as_deref().map(|agent| book.agent(agent)).transpose()?;
    let policy = KeyPolicy::from_config(book.config());
    let main = match &agent {
        Some(agent) => policy.resolve_main_alias(agent, "main"),
        None => policy.main_session(),
    };
    let wanted = arguments.session.as_deref().unwrap_or(main.as_str());
    let found = book.find(wanted, agent.as_ref())?;
    let acting = Acting::new(setting)?;
    let undone = match acting.by_gateway("sessions.undoCompaction", json!({"key": found.key.as_str()}))? {
        Some(answer) => of_answer(&answer)?,
        None => {
            let undone = acting.here(undo_compaction(&acting.scope(&book, &found), &found.key));
            found.flush();
            undone.map_err(|error| match error {
                UndoError::Silent(_) => found.silence(),
                error => error.into(),
            })?
        }
    };
    if arguments.json { print_json(&found, &undone) } else { print_text(setting, &found, &undone) }
}

fn of_answer(answer: &Object) -> Result<UndoOutcome> {
    let tokens = answer.get("totalTokens").and_then(Value::as_f64).unwrap_or_default();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
    let context = ContextSize { messages: count(answer, "messages")?, tokens: tokens as u64 };
    Ok(match text(answer, "backup") {
        Some(backup) => UndoOutcome::Lines {
            restored: count(answer, "restored")?,
            backup: name_of(backup).to_owned(),
            context,
        },
        None => UndoOutcome::Summary {
            compaction: text(answer, "compaction").map(str::to_owned),
            copied: count(answer, "copied")?,
            context,
        },
    })
}

fn print_json(found: &Found, undone: &UndoOutcome) -> Result<()> {
    let context = undone.context();
    let mut out = json!({"ok": true, "key": found.key.as_str()});
    match undone {
        UndoOutcome::Summary { compaction, copied, .. } => {
            out["compaction"] = compaction.clone().into();
            out["copied"] = (*copied).into();
        }
        UndoOutcome::Lines { restored, backup, .. } => {
            out["restored"] = (*restored).into();
            out["backup"] = found.file.with_file_name(backup).display().to_string().into();
        }
    }
    out["messages"] = context.messages.into();
    #[expect(clippy::cast_precision_loss, reason = "no conversation is that long")]
    let tokens = context.tokens as f64;
    out["totalTokens"] = number(tokens);
    terminal::print_json(&out)
}

fn print_text(setting: &Setting, found: &Found, undone: &UndoOutcome) -> Result<()> {
    let key = terminal::harmless(found.key.as_str());
    let context = undone.context();
    let size = format!("{}, about {} tokens", terminal::counted(context.messages, "message"), context.tokens);
    let mut out = anstream::stdout().lock();
    match undone {
        UndoOutcome::Summary { compaction, .. } => {
            let compaction = terminal::harmless(compaction.as_deref().unwrap_or("without an id"));
            writeln!(out, "{key} goes on from before the compaction {compaction}: {size}.")?;
        }
        UndoOutcome::Lines { restored, backup, .. } => {
            let restored = match restored {
                1 => "1 entry is".to_owned(),
                more => format!("{more} entries are"),
            };
            let backup = setting.place.shortened(&found.file.with_file_name(backup));
            writeln!(out, "{restored} back in {key}, restored from {backup}: {size}.")?;
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "no conversation is that long")]
    let tokens = context.tokens as f64;
    if let Some(window) = found.entry.context_tokens().filter(|window| tokens >= *window) {
        writeln!(
            out,
            "That is more than the {window} that its model reads at once: the next message compacts it again, \
             unless another model answers."
        )?;
    }
    Ok(())
}
