//! `yabby agents delete`: takes an agent out of the configuration. What it has goes into the trash, a folder in the
//! folder of everything; nothing is deleted.

use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::Args;
use serde_json::json;
use yabby_config::key_path::KeyPath;
use yabby_domain::agent::{self, Agent};
use yabby_domain::config::Config;
use yabby_domain::id::AgentId;
use yabby_domain::session::key::SessionKey;
use yabby_domain::session::path::sessions_folder;
use yabby_domain::text;
use yabby_store::config_file::edit::Edit;
use yabby_store::disk::{Disk as _, LocalDisk};
use yabby_store::files::turns;

use super::{edit, position, tell_normalized};
use crate::failure::Failure;
use crate::setting::Setting;
use crate::terminal;

#[derive(Args)]
pub struct Arguments {
    /// The agent
    id: String,
    /// Ask nothing
    #[arg(long)]
    force: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    let Some(named) = text::non_blank(&arguments.id) else {
        return Err(Failure::bare("Agent id is required.").into());
    };
    let id = AgentId::normalize(named);
    if id.as_str() != named {
        tell_normalized(&id, arguments.json)?;
    }
    if id == AgentId::default() {
        return Err(Failure::bare(format!("\"{id}\" cannot be deleted.")).into());
    }
    let not_found = || Failure::bare(format!("Agent \"{id}\" not found."));
    position(&setting.snapshot()?.config, &id).ok_or_else(not_found)?;
    refuse_if_busy(setting, &id)?;
    if !arguments.force && !is_confirmed(&id, arguments.json)? {
        return Ok(writeln!(anstream::stdout(), "Cancelled.")?);
    }
    // Somebody else may have changed it while a person thought about the answer.
    let config = setting.snapshot()?.config;
    let agents = setting.place.with_folders(|folders| agent::agents(&config, folders));
    let at = position(&config, &id).ok_or_else(not_found)?;
    let agent = agents.iter().find(|agent| agent.id == id).ok_or_else(not_found)?;
    let removal = Removal::of(&config, &id, at)?;
    edit(setting, &removal.edits)?;
    let sessions = sessions_folder(&setting.place.folder.path().to_string_lossy(), &id);
    let parts = [("workspace", &agent.workspace), ("agent", &agent.folder), ("sessions", &sessions)];
    let others: Vec<&Agent> = agents.iter().filter(|other| other.id != id).collect();
    let mut trash = Trash::new(setting, &id);
    for (name, folder) in parts {
        trash.take(Path::new(folder), name, &others)?;
    }
    if arguments.json {
        return terminal::print_json(&json!({
            "agentId": id.as_str(),
            "workspace": agent.workspace,
            "agentDir": agent.folder,
            "sessionsDir": sessions,
            "removedBindings": removal.bindings,
            "removedAllow": removal.allowed,
            "trash": trash.moved.iter().map(|(_, to)| to.display().to_string()).collect::<Vec<_>>(),
            "kept": trash.kept.iter().map(|(folder, _)| folder.display().to_string()).collect::<Vec<_>>(),
        }));
    }
    let shown = |path: &Path| terminal::harmless(&setting.place.shortened(path));
    let mut out = anstream::stdout().lock();
    writeln!(out, "Updated {}\nDeleted agent: {id}", shown(&setting.place.config))?;
    for (from, to) in &trash.moved {
        writeln!(out, "  {} is now {}", shown(from), shown(to))?;
    }
    for (folder, why) in &trash.kept {
        writeln!(out, "  {} stays: {why}", shown(folder))?;
    }
    Ok(())
}

/// Messages that were accepted keep their agent: it would be begun anew to answer them, without what it had.
fn refuse_if_busy(setting: &Setting, id: &AgentId) -> Result<()> {
    let journals = turns::look(&setting.place.folder.turns())?;
    let accepted = journals.iter().flat_map(|journal| &journal.turns).map(|turn| &turn.progress);
    let is_its = |key: &str| SessionKey::new(key).agent_id() == *id;
    let waiting =
        accepted.filter(|turn| turn.settled.is_none() && is_its(&turn.accepted.session_key)).count();
    if waiting == 0 {
        return Ok(());
    }
    let messages = terminal::counted(waiting, "message");
    Err(Failure::bare(format!(
        "Nothing was deleted: agent {id} has not answered everything yet ({messages}). Wait, or stop what goes on in its sessions with \
         /stop; `yabby turns` lists them."
    ))
    .into())
}

fn is_confirmed(id: &AgentId, for_programs: bool) -> Result<bool> {
    if !std::io::stdin().is_terminal() {
        return Err(Failure::bare("Non-interactive session. Re-run with --force.").into());
    }
    if for_programs {
        return Err(Failure::bare("--json asks nothing. Re-run with --force.").into());
    }
    let mut out = anstream::stderr();
    write!(out, "Delete agent \"{id}\", and put its workspace and conversations into the trash? [y/N] ")?;
    out.flush()?;
    let mut line = String::new();
    std::io::stdin().read_line(&mut line)?;
    Ok(matches!(text::lower(text::trim(&line)).as_str(), "y" | "yes"))
}

/// What is taken out of the configuration.
struct Removal {
    edits: Vec<(KeyPath, Edit)>,
    bindings: usize,
    allowed: usize,
}

impl Removal {
    /// The entry, the rules that lead to the agent, and whom others may talk to.
    fn of(config: &Config, id: &AgentId, at: usize) -> Result<Self> {
        let entry = if config.agents.list.len() == 1 {
            "agents.list".to_owned()
        } else {
            format!("agents.list[{at}]")
        };
        let rules = &config.bindings;
        let its_rules = positions(rules, |rule| AgentId::normalize(&rule.agent_id) == *id);
        let allowed = config.tools.agent_to_agent.allow.as_deref().unwrap_or_default();
        let its_places = positions(allowed, |name| name == id.as_str());
        let mut edits = vec![(KeyPath::parse(&entry)?, Edit::Unset)];
        for (path, length, found) in
            [("bindings", rules.len(), &its_rules), ("tools.agentToAgent.allow", allowed.len(), &its_places)]
        {
            if found.len() == length && length > 0 {
                edits.push((KeyPath::parse(path)?, Edit::Unset));
                continue;
            }
            // From behind, so that the others keep their places.
            for at in found.iter().rev() {
                edits.push((KeyPath::parse(&format!("{path}[{at}]"))?, Edit::Unset));
            }
        }
        Ok(Self { edits, bindings: its_rules.len(), allowed: its_places.len() })
    }
}

fn positions<T>(list: &[T], is_its: impl Fn(&T) -> bool) -> Vec<usize> {
    list.iter().enumerate().filter(|(_, item)| is_its(item)).map(|(at, _)| at).collect()
}

/// Where the folders of an agent go.
struct Trash<'s> {
    setting: &'s Setting,
    folder: PathBuf,
    moved: Vec<(PathBuf, PathBuf)>,
    kept: Vec<(PathBuf, String)>,
}

impl<'s> Trash<'s> {
    fn new(setting: &'s Setting, id: &AgentId) -> Self {
        let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H-%M-%S");
        let trash = setting.place.folder.path().join("trash");
        let name = |count: usize| match count {
            0 => format!("agent-{id}-{now}Z"),
            count => format!("agent-{id}-{now}Z-{count}"),
        };
        let folder = (0..).map(|count| trash.join(name(count))).find(|folder| !folder.exists());
        Self { setting, folder: folder.unwrap_or(trash), moved: Vec::new(), kept: Vec::new() }
    }

    /// Moves a folder, unless somebody else needs it.
    fn take(&mut self, folder: &Path, name: &str, others: &[&Agent]) -> Result<()> {
        if !folder.exists() {
            return Ok(());
        }
        if let Some(why) = self.needed_for(folder, others) {
            self.kept.push((folder.to_owned(), why));
            return Ok(());
        }
        if !self.folder.exists() {
            LocalDisk
                .create_folder(&self.folder)
                .with_context(|| format!("cannot create {}", self.folder.display()))?;
        }
        let to = self.folder.join(name);
        match std::fs::rename(folder, &to) {
            Ok(()) => self.moved.push((folder.to_owned(), to)),
            // On another disk, say. It is not ours to delete.
            Err(error) => self.kept.push((folder.to_owned(), format!("it cannot be moved ({error})"))),
        }
        Ok(())
    }

    /// What else a folder is needed for: one that holds everything, or that another agent has a part in, stays.
    fn needed_for(&self, folder: &Path, others: &[&Agent]) -> Option<String> {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let folder = real(folder);
        let place = &self.setting.place;
        let holds = |other: &Path| real(other).starts_with(&folder);
        if holds(place.folder.path()) || holds(&place.home) || holds(&place.config) {
            return Some("it holds more than the agent".to_owned());
        }
        let uses = |other: &&&Agent| {
            [&other.workspace, &other.folder]
                .into_iter()
                .any(|path| holds(Path::new(path)) || folder.starts_with(real(Path::new(path))))
        };
        others.iter().find(uses).map(|other| format!("{} uses it, too", other.id))
    }
}
