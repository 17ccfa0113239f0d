//! `yabby memory index`: reads what is new, has a model look at it, and brings the reference's index up to date.

use std::io::Write as _;
use std::sync::Arc;

use anyhow::{Result, anyhow};
use clap::Args;
use yabby_memory::compat::files::Source;
use yabby_memory::compat::{ProgressListener, Reason};
use yabby_models::embed::Wanted;

use super::{BAD, DISABLED, Desk, GOOD, PLAIN, Sheet, VALUE, shown_on, tell_unread};
use crate::failure::{self, Failure};
use crate::progress::Bar;
use crate::setting::Setting;
use crate::terminal::counted;
use crate::wire::memory::AgentMemory;

#[derive(Args)]
pub struct Arguments {
    /// The agent whose memory it is [default: all that are configured]
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// Build everything anew
    #[arg(long)]
    force: bool,
    /// Say more
    #[arg(long)]
    verbose: bool,
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    let desk = Desk::open(setting)?;
    let mut has_failed = false;
    for agent in desk.agents(arguments.agent.as_deref()) {
        let act = |kept: &AgentMemory| {
            if arguments.verbose {
                announce(kept)?;
            }
            desk.runtime.block_on(index(kept, arguments.force))
        };
        match desk.with_memory(&agent, act) {
            Ok(None) => writeln!(anstream::stdout(), "{DISABLED}")?,
            Ok(Some(done)) => {
                if arguments.verbose {
                    done.print()?;
                }
                writeln!(anstream::stdout(), "{GOOD}Memory index updated ({agent}).{GOOD:#}")?;
            }
            Err(error) => {
                has_failed = true;
                anstream::eprintln!("Memory index failed ({agent}): {}", failure::told(&error));
            }
        }
    }
    if has_failed { Err(Failure::silent().into()) } else { Ok(()) }
}

/// What was done.
#[derive(Default)]
pub(super) struct Done {
    files: usize,
    added: usize,
    embedded: u32,
    reference: Option<String>,
}

impl Done {
    fn print(&self) -> Result<()> {
        let mut sheet = Sheet::default();
        let files = counted(self.files, "file");
        sheet.line("Read", VALUE, &format!("{files} · {} new", counted(self.added, "part")));
        sheet.line("Embedded", VALUE, &counted(self.embedded as usize, "part"));
        if let Some(path) = &self.reference {
            sheet.line("OpenClaw's index", VALUE, path);
        }
        sheet.print()
    }
}

/// Brings everything up to date. What is found by words is, even if the rest fails.
pub(super) async fn index(kept: &AgentMemory, force: bool) -> Result<Done> {
    let mut done = Done::default();
    let memory = &kept.memory;
    {
        let bar = Bar::new("reading");
        let synced = match force {
            true => memory.rebuild(&shown_on(&bar)).await?,
            false => memory.sync(&shown_on(&bar)).await?,
        };
        drop(bar);
        tell_unread(&synced.unread);
        (done.files, done.added) = (synced.files, synced.added);
    }
    // Who is named and cannot embed is an error; nobody being there is none.
    if let (Wanted::Named(_), Err(reason)) = (kept.choice.requested, &kept.choice.embedder) {
        return Err(anyhow!("{reason}"));
    }
    let embedded = {
        let bar = Bar::new("embedding");
        memory.embed(&shown_on(&bar)).await
    };
    done.embedded = embedded.map_err(|problem| anyhow!("{problem}"))?.done;
    if let Some(index) = kept.reference().await? {
        let bar = Arc::new(Bar::new("OpenClaw's index"));
        let shown = bar.clone();
        let listener: ProgressListener =
            Arc::new(move |progress| shown.show(progress.done as u64, progress.total as u64));
        if kept.settings.sources.contains(&Source::Sessions) {
            index.mark_sessions_dirty().await?;
        }
        index.sync(Reason::Manual, force, Some(listener)).await?;
        done.reference = Some(kept.settings.store.path.clone());
    }
    Ok(done)
}

fn announce(kept: &AgentMemory) -> Result<()> {
    let mut sheet = Sheet::default();
    sheet.heading("Memory Index", &kept.agent);
    let (provider, model) = match &kept.choice.embedder {
        Ok(embedder) => (embedder.provider().to_owned(), embedder.model().to_owned()),
        Err(_) => ("none".to_owned(), "words".to_owned()),
    };
    let requested = kept.settings.provider.as_str();
    sheet.line("Provider", VALUE, &format!("{provider} (requested: {requested})"));
    sheet.line("Model", VALUE, &model);
    let places = kept.memory.places();
    let sources: Vec<&str> = [("memory", places.has_notes), ("sessions", places.has_sessions)]
        .into_iter()
        .filter_map(|(name, is_there)| is_there.then_some(name))
        .collect();
    sheet.line("Sources", VALUE, &sources.join(", "));
    if !kept.settings.extra_paths.is_empty() {
        sheet.line("Extra paths", PLAIN, &kept.settings.extra_paths.join(", "));
    }
    if let Some(from) = kept.choice.fallback_from {
        sheet.line("Fallback", BAD, from.as_str());
    }
    sheet.print()
}
