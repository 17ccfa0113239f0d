//! `yabby sessions delete`: a session goes, its conversation is kept under another name
//! (`gateway.md` §6).

use std::io::{IsTerminal as _, Write as _};
use std::path::Path;

use anyhow::{Result, bail};
use clap::Args;
use yabby_domain::json::{Object, Value};
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::key::KeyPolicy;
use yabby_domain::transcript::file_name::ArchiveReason;

use super::Which;
use crate::book::{Book, Conversation, Found};
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
    let policy = KeyPolicy::from_config(book.config());
    if found.key == policy.main_session() || found.key == policy.resolve_main_alias(&found.agent, "main") {
        bail!("Cannot delete the main session ({}).", found.key);
    }
    if !arguments.yes && !is_sure(&found)? {
        bail!("nothing was deleted");
    }
    // First what can fail because somebody is talking: then nothing has changed yet.
    let archived = match &found.conversation {
        Some(Conversation { folder, id }) if !arguments.keep_transcript && !is_shared(&found)? => {
            folder.archive_blocking(id, ArchiveReason::Deleted)?
        }
        _ => None,
    };
    let archived = archived.map(|name| found.file.with_file_name(name));
    let id = found.entry.session_id().map(str::to_owned);
    // Somebody may have begun the session anew meanwhile; that one is not meant.
    let change = move |entry: &mut Option<SessionEntry>| {
        if entry.as_ref().is_some_and(|entry| entry.session_id() == id.as_deref()) {
            *entry = None;
        }
    };
    let left = found.update(&found.key, Box::new(change))?;
    if arguments.json {
        let mut out = Object::new();
        out.insert("ok".to_owned(), true.into());
        out.insert("key".to_owned(), found.key.as_str().into());
        out.insert("deleted".to_owned(), left.is_none().into());
        let archived = archived.iter().map(|path| Value::from(path.display().to_string()));
        out.insert("archived".to_owned(), archived.collect());
        return terminal::print_json(&Value::Object(out));
    }
    let key = terminal::harmless(found.key.as_str());
    let mut out = anstream::stdout().lock();
    match left {
        None => writeln!(out, "Deleted {key}.")?,
        Some(_) => writeln!(out, "{key} was begun anew meanwhile, and stays.")?,
    }
    if let Some(path) = archived {
        writeln!(out, "Its conversation is kept as {}.", setting.place.shortened(&path))?;
    }
    Ok(())
}

/// Whether another session has, or may have, its conversation in the same file.
fn is_shared(found: &Found) -> Result<bool> {
    let file = found.file.file_name().unwrap_or_default().to_string_lossy();
    let may_be_in_it = |entry: &SessionEntry| {
        let named = entry.session_file().and_then(|file| Path::new(file).file_name());
        named.is_some_and(|name| name == &*file)
            || entry.session_id().is_some_and(|id| {
                Some(id) == found.entry.session_id() || file.strip_suffix(".jsonl") == Some(id)
            })
    };
    let sessions = found.store.list_blocking()?;
    Ok(sessions.iter().any(|(key, entry)| *key != found.key && may_be_in_it(entry)))
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
