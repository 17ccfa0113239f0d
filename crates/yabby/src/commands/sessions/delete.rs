//! `yabby sessions delete`: a session goes, its conversation is kept under another name
//! (`gateway.md` §6).

use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use serde_json::json;
use yabby_domain::json::{Object, Value};
use yabby_domain::session::key::KeyPolicy;
use yabby_engine::services::{DeleteRequest, delete_session};

use super::Which;
use super::acting::Acting;
use crate::book::{Book, Found};
use crate::failure::Failure;
use crate::setting::Setting;
use crate::terminal;

#[derive(Args)]
#[command(
    after_help = "Examples:\n  yabby sessions delete agent:main:subagent:s1     asks first\n  yabby sessions delete 44444444 --yes --json"
)]
pub struct Arguments {
    #[command(flatten)]
    which: Which,
    /// Leave the transcript where it is
    #[arg(long)]
    keep_transcript: bool,
    /// Do not ask; required where there is no terminal
    #[arg(short, long, visible_alias = "force")]
    yes: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    let book = Book::open(setting)?;
    let found = arguments.which.find(&book)?;
    let request = DeleteRequest { key: found.key.clone(), keeps_transcript: arguments.keep_transcript };
    request.check(&KeyPolicy::from_config(book.config()))?;
    if !arguments.yes && !is_sure(&found)? {
        bail!("nothing was deleted");
    }
    let acting = Acting::new(setting)?;
    let params = json!({"key": found.key.as_str(), "deleteTranscript": !arguments.keep_transcript});
    let deleted = match acting.by_gateway("sessions.delete", params)? {
        Some(answer) => Deleted::of_answer(&answer),
        None => {
            let scope = acting.scope_that_remembers(&book, &found);
            let outcome = acting.here(delete_session(&scope, &request))?;
            found.flush();
            Deleted {
                is_deleted: !outcome.was_begun_anew,
                archived: outcome.archived.map(|name| found.file.with_file_name(name)),
            }
        }
    };
    if arguments.json {
        let archived: Value =
            deleted.archived.iter().map(|path| Value::from(path.display().to_string())).collect();
        return terminal::print_json(&json!({
            "ok": true, "key": found.key.as_str(), "deleted": deleted.is_deleted, "archived": archived,
        }));
    }
    let key = terminal::harmless(found.key.as_str());
    let mut out = anstream::stdout().lock();
    match deleted.is_deleted {
        true => writeln!(out, "Deleted {key}.")?,
        false => writeln!(out, "{key} was begun anew meanwhile, and stays.")?,
    }
    if let Some(path) = deleted.archived {
        writeln!(out, "Its conversation is kept as {}.", setting.place.shortened(&path))?;
    }
    Ok(())
}

/// What became of a session that was to go.
struct Deleted {
    is_deleted: bool,
    archived: Option<PathBuf>,
}

impl Deleted {
    fn of_answer(answer: &Object) -> Self {
        let archived = answer.get("archived").and_then(|archived| archived.get(0)?.as_str());
        Self {
            is_deleted: answer.get("deleted").and_then(Value::as_bool) == Some(true),
            archived: archived.map(PathBuf::from),
        }
    }
}

/// Asks the person at the terminal; without one, `--yes` is required.
fn is_sure(found: &Found) -> Result<bool> {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Err(Failure::bare(
            "Nothing was deleted: without a terminal, --yes has to say that it is meant.",
        )
        .into());
    }
    let key = terminal::harmless(found.key.as_str());
    anstream::eprint!("Delete {key}? Its conversation is kept under another name. [y/N] ");
    std::io::stderr().flush()?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
