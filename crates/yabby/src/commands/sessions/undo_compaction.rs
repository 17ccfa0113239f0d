//! `yabby sessions undo-compaction`: back to what a compaction summarised or dropped.

use std::io::Write as _;

use anyhow::{Result, bail};
use clap::Args;
use yabby_domain::json::{Object, Value, number};
use yabby_domain::seam::{ContextSize, UndoneCompaction};
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::key::KeyPolicy;
use yabby_domain::session::renew::recounted;

use crate::book::{Book, Conversation, Found};
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
    let undone = undo(&found)?;
    record(&found, context_size(&undone).tokens)?;
    if arguments.json { print_json(&found, &undone) } else { print_text(setting, &found, &undone) }
}

fn undo(found: &Found) -> Result<UndoneCompaction> {
    let Some(Conversation { folder, id }) = &found.conversation else { return Err(found.silence()) };
    match folder.undo_compaction_blocking(id)? {
        UndoneCompaction::Missing => Err(found.silence()),
        UndoneCompaction::Nothing => {
            bail!("no compaction in {} is left to undo; the model is told all of it", found.key)
        }
        undone => Ok(undone),
    }
}

fn context_size(undone: &UndoneCompaction) -> ContextSize {
    match undone {
        UndoneCompaction::Summary { context, .. } | UndoneCompaction::Lines { context, .. } => *context,
        UndoneCompaction::Missing | UndoneCompaction::Nothing => ContextSize { messages: 0, tokens: 0 },
    }
}

/// What was counted for the shorter conversation says nothing about the whole.
fn record(found: &Found, tokens: u64) -> Result<()> {
    let change = move |entry: &mut Option<SessionEntry>| {
        if let Some(entry) = entry {
            #[expect(clippy::cast_precision_loss, reason = "no conversation is that long")]
            entry.apply(&recounted(Some(tokens as f64)));
        }
    };
    found.update(&found.key, Box::new(change))?;
    Ok(())
}

fn print_json(found: &Found, undone: &UndoneCompaction) -> Result<()> {
    let context = context_size(undone);
    let mut out = Object::new();
    let mut put = |name: &str, value: Value| drop(out.insert(name.to_owned(), value));
    put("ok", true.into());
    put("key", found.key.as_str().into());
    match undone {
        UndoneCompaction::Summary { compaction, copied, .. } => {
            put("compaction", compaction.clone().map_or(Value::Null, Value::from));
            put("copied", (*copied).into());
        }
        UndoneCompaction::Lines { restored, backup, .. } => {
            put("restored", (*restored).into());
            put("backup", found.file.with_file_name(backup).display().to_string().into());
        }
        UndoneCompaction::Missing | UndoneCompaction::Nothing => {}
    }
    put("messages", context.messages.into());
    #[expect(clippy::cast_precision_loss, reason = "no conversation is that long")]
    put("totalTokens", number(context.tokens as f64));
    terminal::print_json(&Value::Object(out))
}

fn print_text(setting: &Setting, found: &Found, undone: &UndoneCompaction) -> Result<()> {
    let key = terminal::harmless(found.key.as_str());
    let context = context_size(undone);
    let size = format!("{}, about {} tokens", terminal::counted(context.messages, "message"), context.tokens);
    let mut out = anstream::stdout().lock();
    match undone {
        UndoneCompaction::Summary { compaction, .. } => {
            let compaction = terminal::harmless(compaction.as_deref().unwrap_or("without an id"));
            writeln!(out, "{key} goes on from before the compaction {compaction}: {size}.")?;
        }
        UndoneCompaction::Lines { restored, backup, .. } => {
            let restored = match restored {
                1 => "1 entry is".to_owned(),
                more => format!("{more} entries are"),
            };
            let backup = setting.place.shortened(&found.file.with_file_name(backup));
            writeln!(out, "{restored} back in {key}, restored from {backup}: {size}.")?;
        }
        UndoneCompaction::Missing | UndoneCompaction::Nothing => {}
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
