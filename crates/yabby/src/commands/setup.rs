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
use yabby_domain::session::path;
use yabby_store::config_file::edit::{ConfigFile, Edit};
use yabby_store::disk::{Disk as _, LocalDisk};

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
    let configured = default_workspace(&before);
    let wanted = match &arguments.workspace {
        Some(named) => absolute(setting, named),
        None => configured.clone(),
    };
    let is_written =
        before.config().text(&["agents", "defaults", "workspace"]).is_some() && wanted == configured;
    if !is_written {
        let path = KeyPath::parse("agents.defaults.workspace")?;
        ConfigFile::of(&setting.place).edit(&path, &Edit::Set(json!(wanted)))?;
    }
    let skip = before.config().flag(&["agents", "defaults", "skipBootstrap"]) == Some(true);
    let workspace = PathBuf::from(&wanted);
    let created = fill(&workspace, skip)?;
    let [state] = [setting.place.folder.path()].map(|path| path.to_string_lossy().into_owned());
    let sessions = PathBuf::from(path::sessions_folder(&state, &default_agent(&before)));
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
    Ok(())
}

fn default_agent(book: &Book<'_>) -> yabby_domain::id::AgentId {
    let agents = book.with_folders(|folders| agent::agents(book.config(), folders));
    agents.into_iter().find(|agent| agent.is_default).map(|agent| agent.id).unwrap_or_default()
}

fn default_workspace(book: &Book<'_>) -> String {
    let agents = book.with_folders(|folders| agent::agents(book.config(), folders));
    agents.into_iter().find(|agent| agent.is_default).map(|agent| agent.workspace).unwrap_or_default()
}

fn absolute(setting: &Setting, named: &Path) -> String {
    let [home, current] =
        [&setting.place.home, &setting.place.current].map(|path| path.to_string_lossy().into_owned());
    path::user_path(&named.to_string_lossy(), &home, &current)
}

/// Puts the files into a workspace that are not there yet; which.
fn fill(workspace: &Path, skip: bool) -> Result<Vec<&'static str>> {
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
                opened
                    .write_all(text.as_bytes())
                    .with_context(|| format!("cannot write {}", file.display()))?;
                created.push(name);
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error).with_context(|| format!("cannot write {}", file.display())),
        }
    }
    Ok(created)
}
