//! `yabby sessions undo-compaction`: back to what a compaction summarised.

use std::io::Write as _;

use anyhow::{Result, bail};
use clap::Args;
use yabby_domain::compaction::tokens::estimate_all;
use yabby_domain::json::{Object, Value, number};
use yabby_domain::seam::Begin;
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::key::KeyPolicy;
use yabby_domain::session::renew::recounted;
use yabby_domain::transcript::undo::{Undo, undo_compaction};

use crate::book::{Book, Conversation, Found};
use crate::setting::Setting;
use crate::terminal;

#[derive(Args)]
#[command(
    after_help = "Nothing is deleted: the conversation goes on in a branch that begins before the compaction, and what was said since then is said again there. Once more, and the compaction before that is undone.\n\nExamples:\n  yabby sessions undo-compaction\n  yabby sessions undo-compaction neighbours --json\n  yabby history main --tree      shows both branches"
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

/// What came of it.
struct Undone {
    plan: Undo,
    /// How many messages the model is told now, and an estimate of their tokens.
    messages: usize,
    tokens: u64,
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
    record(&found, undone.tokens)?;
    if arguments.json { print_json(&found, &undone) } else { print_text(&found, &undone) }
}

fn undo(found: &Found) -> Result<Undone> {
    let Some(Conversation { folder, id }) = &found.conversation else { return Err(found.silence()) };
    // Opening would begin a conversation where there is none.
    if folder.load_blocking(id)?.is_none() {
        return Err(found.silence());
    }
    let begin = Begin {
        session_id: found.entry.session_id().unwrap_or_default().to_owned(),
        cwd: String::new(),
        parent: None,
    };
    let mut writer = folder.open_blocking(id, &begin)?;
    // Of a long conversation a writer knows the end only.
    let whole = match writer.transcript().is_whole() {
        true => writer.transcript().clone(),
        false => folder.load_blocking(id)?.unwrap_or_else(|| writer.transcript().clone()),
    };
    let Some(plan) = undo_compaction(&whole) else {
        bail!("no compaction in {} is left to undo; the model is told all of it", found.key);
    };
    writer.move_leaf(plan.leaf.as_deref())?;
    let ids = writer.append(plan.entries.clone())?;
    let labels = plan.labels(&ids);
    if !labels.is_empty() {
        writer.append(labels)?;
    }
    let messages = writer.transcript().context().messages;
    Ok(Undone { plan, messages: messages.len(), tokens: estimate_all(&messages) })
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

fn print_json(found: &Found, undone: &Undone) -> Result<()> {
    #[expect(clippy::cast_precision_loss, reason = "no conversation is that long")]
    let tokens = number(undone.tokens as f64);
    let out = [
        ("ok", true.into()),
        ("key", found.key.as_str().into()),
        ("compaction", undone.plan.compaction.clone().map_or(Value::Null, Value::from)),
        ("copied", undone.plan.copied().into()),
        ("messages", undone.messages.into()),
        ("totalTokens", tokens),
    ];
    let out: Object = out.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    terminal::print_json(&Value::Object(out))
}

fn print_text(found: &Found, undone: &Undone) -> Result<()> {
    let key = terminal::harmless(found.key.as_str());
    let compaction = terminal::harmless(undone.plan.compaction.as_deref().unwrap_or("without an id"));
    let mut out = anstream::stdout().lock();
    writeln!(
        out,
        "{key} goes on from before the compaction {compaction}: {}, about {} tokens.",
        terminal::counted(undone.messages, "message"),
        undone.tokens
    )?;
    #[expect(clippy::cast_precision_loss, reason = "no conversation is that long")]
    let tokens = undone.tokens as f64;
    if let Some(window) = found.entry.context_tokens().filter(|window| tokens >= *window) {
        writeln!(
            out,
            "That is more than the {window} that its model reads at once: the next message compacts it again, \
             unless another model answers."
        )?;
    }
    Ok(())
}
