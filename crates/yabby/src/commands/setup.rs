//! `yabby setup`: a configuration and a workspace to begin with.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::Args;
use serde_json::json;
use yabby_config::key_path::KeyPath;
use yabby_domain::agent;
use yabby_domain::id::AgentId;
use yabby_domain::session::path;
use yabby_domain::text;
use yabby_store::config_file::edit::{ConfigFile, Edit};
use yabby_store::disk::{Disk as _, LocalDisk};

use super::gateway::run::first::missing_settings;
use crate::book::Book;
use crate::setting::Setting;
use crate::terminal;

#[derive(Args)]
pub struct Arguments {
    /// The agent's workspace [default: the configured one, else `workspace` in the folder of everything]
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What to do after a setup, and what it is for.
const NEXT: [(&str, &str); 3] = [
    ("agent", "talk to your assistant, here"),
    ("models set provider/model", "choose the language model that answers; `models list --all` shows them"),
    ("gateway", "leave it running, for other programs and the page in the browser"),
];

/// What a workspace begins with, and whether only a new one does.
const FILES: [(&str, &str, Begins); 8] = [
    ("AGENTS.md", include_str!("../../workspace/AGENTS.md"), Begins::Any),
    ("SOUL.md", include_str!("../../workspace/SOUL.md"), Begins::Any),
    ("TOOLS.md", include_str!("../../workspace/TOOLS.md"), Begins::Any),
    ("IDENTITY.md", include_str!("../../workspace/IDENTITY.md"), Begins::Any),
    ("USER.md", include_str!("../../workspace/USER.md"), Begins::Any),
    ("HEARTBEAT.md", include_str!("../../workspace/HEARTBEAT.md"), Begins::Any),
    ("MEMORY.md", include_str!("../../workspace/MEMORY.md"), Begins::New),
    ("BOOTSTRAP.md", include_str!("../../workspace/BOOTSTRAP.md"), Begins::New),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Begins {
    Any,
    /// Only a workspace that has none of these files yet.
    New,
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    let existed = setting.place.config.exists();
    let before = Book::open(setting)?;
    let (agent, configured) = default_agent(&before);
    let wanted = match &arguments.workspace {
        Some(named) => absolute(setting, named),
        None => configured.clone(),
    };
    let (said_at, is_said) = workspace_setting(&before, &agent);
    let mut edits = missing_settings(setting, before.config())?;
    if !is_said || wanted != configured {
        edits.push((KeyPath::parse(&said_at)?, Edit::Set(json!(wanted))));
    }
    let is_written = edits.is_empty();
    if !is_written {
        ConfigFile::of(&setting.place).edit_all(&edits)?;
    }
    let skip = before.config().agents.defaults.skip_bootstrap();
    let workspace = PathBuf::from(&wanted);
    let created = fill(&workspace, skip)?;
    let state = setting.place.folder.path().to_string_lossy();
    let sessions = PathBuf::from(path::sessions_folder(&state, &agent));
    LocalDisk.create_folder(&sessions).with_context(|| format!("cannot create {}", sessions.display()))?;
    if arguments.json {
        return terminal::print_json(&json!({
            "config": setting.place.config.to_string_lossy(),
            "configWritten": !is_written,
            "workspace": wanted,
            "created": created,
            "sessions": sessions.to_string_lossy(),
        }));
    }
    let mut out = anstream::stdout().lock();
    let shown = |path: &Path| terminal::harmless(&setting.place.shortened(path));
    let config = match (existed, is_written) {
        (_, true) => "Config OK",
        (true, false) => "Updated",
        (false, false) => "Wrote",
    };
    let colon = if is_written { ":" } else { "" };
    writeln!(out, "{config}{colon} {}", shown(&setting.place.config))?;
    writeln!(out, "Workspace OK: {}", shown(&workspace))?;
    if !created.is_empty() {
        writeln!(out, "  begun with {}", created.join(", "))?;
    }
    writeln!(out, "Sessions OK: {}", shown(&sessions))?;
    writeln!(out, "\nNext:")?;
    let commands = NEXT.map(|(words, why)| (setting.command(words), why));
    let width = commands.iter().map(|(command, _)| command.len()).max().unwrap_or(0);
    for (command, why) in commands {
        writeln!(out, "  {command:width$}  {why}")?;
    }
    Ok(())
}

/// The agent that answers if none is named, and where it works.
fn default_agent(book: &Book<'_>) -> (AgentId, String) {
    let agents = book.with_folders(|folders| agent::agents(book.config(), folders));
    let default = agents.into_iter().find(|agent| agent.is_default);
    default.map(|agent| (agent.id, agent.workspace)).unwrap_or_default()
}

/// The setting that says where the agent works, and whether it says anything.
fn workspace_setting(book: &Book<'_>, agent: &AgentId) -> (String, bool) {
    let agents = &book.config().agents;
    let own = agents
        .list
        .iter()
        .position(|entry| AgentId::normalize(&entry.id) == *agent && said(entry.workspace.as_deref()));
    match own {
        Some(index) => (format!("agents.list[{index}].workspace"), true),
        None => {
            let common = agents.defaults.workspace.as_deref();
            ("agents.defaults.workspace".to_owned(), said(common))
        }
    }
}

fn said(written: Option<&str>) -> bool {
    written.and_then(text::non_blank).is_some()
}

pub(super) fn absolute(setting: &Setting, named: &Path) -> String {
    let [home, current] =
        [&setting.place.home, &setting.place.current].map(|path| path.to_string_lossy().into_owned());
    path::user_path(&named.to_string_lossy(), &home, &current)
}

/// Puts the files into a workspace that are not there yet; which.
pub(super) fn fill(workspace: &Path, skip: bool) -> Result<Vec<&'static str>> {
    LocalDisk.create_folder(workspace).with_context(|| format!("cannot create {}", workspace.display()))?;
    if skip {
        return Ok(Vec::new());
    }
    let is_new = FILES.iter().all(|(name, _, _)| !workspace.join(name).exists());
    let mut created = Vec::new();
    for (name, text, begins) in FILES {
        if begins == Begins::New && !is_new {
            continue;
        }
        let file = workspace.join(name);
        // Nothing that is there is touched, whatever it is.
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&file) {
            Ok(mut opened) => {
                if let Err(error) = opened.write_all(text.as_bytes()).and_then(|()| opened.sync_all()) {
                    // Half a text would stay for good: the next time, what is there is left alone.
                    let _ = std::fs::remove_file(&file);
                    return Err(error).with_context(|| format!("cannot write {}", file.display()));
                }
                created.push(name);
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error).with_context(|| format!("cannot write {}", file.display())),
        }
    }
    Ok(created)
}
