//! `yabby agents add`.

use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::Args;
use serde_json::json;
use yabby_config::key_path::KeyPath;
use yabby_domain::agent;
use yabby_domain::channel::core_channel;
use yabby_domain::config::Config;
use yabby_domain::config::bindings::BindingMatch;
use yabby_domain::id::AgentId;
use yabby_domain::json::{Object, Value};
use yabby_domain::session::key::default_agent;
use yabby_domain::session::path::sessions_folder;
use yabby_domain::text;
use yabby_store::config_file::edit::Edit;
use yabby_store::disk::{Disk as _, LocalDisk};

use super::{edit, position, tell_normalized};
use crate::commands::setup::{absolute, fill};
use crate::failure::Failure;
use crate::setting::Setting;
use crate::terminal;

#[derive(Args)]
pub struct Arguments {
    /// What to call it
    name: Option<String>,
    /// Where it works
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// The model that answers [default: that of all agents]
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Where its keys are [default: agents/<id>/agent in the folder of everything]
    #[arg(long, value_name = "DIR")]
    agent_dir: Option<PathBuf>,
    /// A channel that it answers in, as channel or channel:account; may be given several times
    #[arg(long, value_name = "CHANNEL[:ACCOUNT]")]
    bind: Vec<String>,
    /// Ask nothing
    #[arg(long)]
    non_interactive: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// An agent to be.
struct Wanted {
    id: AgentId,
    name: String,
    workspace: String,
    folder: String,
    model: Option<String>,
}

/// What became of the routing rules that were wished for.
#[derive(Default)]
struct Bindings {
    added: Vec<Value>,
    skipped: Vec<Value>,
    conflicts: Vec<(Value, AgentId)>,
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    let wanted = wanted(setting, arguments, &setting.snapshot()?.config)?;
    // Somebody else may have changed it while a person thought about the answers.
    let config = setting.snapshot()?.config;
    check_is_new(&config, &wanted.id)?;
    let bindings = Bindings::of(&wanted.id, &arguments.bind, &config)?;
    let mut edits = Vec::new();
    let mut at = config.agents.list.len();
    let mut put = |entry: Value| -> Result<()> {
        edits.push((KeyPath::parse(&format!("agents.list[{at}]"))?, Edit::Set(entry)));
        at += 1;
        Ok(())
    };
    // In an empty list the one that was there without being named would no longer be the default.
    let default = default_agent(&config);
    if config.agents.list.is_empty() && default != wanted.id {
        put(json!({"id": default.as_str()}))?;
    }
    put(Value::Object(wanted.entry()))?;
    let first = config.bindings.len();
    for (at, binding) in bindings.added.iter().enumerate() {
        edits.push((KeyPath::parse(&format!("bindings[{}]", first + at))?, Edit::Set(binding.clone())));
    }
    let skip = config.agents.defaults.skip_bootstrap();
    fill(Path::new(&wanted.workspace), skip)?;
    let state = setting.place.folder.path().to_string_lossy();
    let sessions = PathBuf::from(sessions_folder(&state, &wanted.id));
    LocalDisk.create_folder(&sessions).with_context(|| format!("cannot create {}", sessions.display()))?;
    // It is there once it has a place.
    edit(setting, &edits)?;
    if arguments.json {
        print_json(&wanted, &bindings)
    } else {
        print_text(setting, &wanted, &sessions, &bindings)
    }
}

fn wanted(setting: &Setting, arguments: &Arguments, config: &Config) -> Result<Wanted> {
    let given = |option: &Option<String>| option.as_deref().and_then(text::non_blank).map(str::to_owned);
    let has_flags = arguments.workspace.is_some()
        || arguments.model.is_some()
        || arguments.agent_dir.is_some()
        || !arguments.bind.is_empty();
    let asks = !arguments.non_interactive && !has_flags && std::io::stdin().is_terminal();
    let workspace = arguments.workspace.as_deref().filter(|folder| !folder.as_os_str().is_empty());
    if workspace.is_none() && !asks {
        let told = "Non-interactive mode requires --workspace. Re-run without flags to use the wizard.";
        return Err(Failure::bare(told).into());
    }
    let name = match given(&arguments.name) {
        Some(name) => name,
        None if asks => asked("Agent name: ", "")?,
        None => return Err(Failure::bare("Agent name is required in non-interactive mode.").into()),
    };
    let id = AgentId::normalize(&name);
    if id == AgentId::default() {
        return Err(Failure::bare(format!("\"{id}\" is reserved. Choose another name.")).into());
    }
    if id.as_str() != name {
        tell_normalized(&id, arguments.json)?;
    }
    check_is_new(config, &id)?;
    let workspace = match workspace {
        Some(folder) => absolute(setting, folder),
        None => {
            let usual = usual_workspace(setting, config, &id);
            let said =
                asked(&format!("Workspace [{}]: ", setting.place.shortened(Path::new(&usual))), &usual)?;
            absolute(setting, Path::new(&said))
        }
    };
    let state = setting.place.folder.path();
    let folder = match arguments.agent_dir.as_deref().filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) => absolute(setting, folder),
        None => state.join("agents").join(id.as_str()).join("agent").display().to_string(),
    };
    Ok(Wanted { id, name, workspace, folder, model: given(&arguments.model) })
}

fn check_is_new(config: &Config, id: &AgentId) -> Result<()> {
    match position(config, id) {
        Some(_) => Err(Failure::bare(format!("Agent \"{id}\" already exists.")).into()),
        None => Ok(()),
    }
}

/// Where an agent of this name would work if nobody said anything.
fn usual_workspace(setting: &Setting, config: &Config, id: &AgentId) -> String {
    let listed = json!([{"id": default_agent(config).as_str()}, {"id": id.as_str()}]);
    let config = config.with(&KeyPath::of(["agents", "list"]), listed);
    let agents = setting.place.with_folders(|folders| agent::agents(&config, folders));
    agents.into_iter().find(|agent| agent.id == *id).map(|agent| agent.workspace).unwrap_or_default()
}

/// Asks on the terminal, beside what is printed for programs; an empty line is the usual answer.
fn asked(question: &str, usual: &str) -> Result<String> {
    let mut out = anstream::stderr();
    write!(out, "{question}")?;
    out.flush()?;
    let mut line = String::new();
    std::io::stdin().read_line(&mut line)?;
    match text::non_blank(&line) {
        Some(said) => Ok(said.to_owned()),
        None if usual.is_empty() => Err(Failure::bare("Cancelled.").into()),
        None => Ok(usual.to_owned()),
    }
}

impl Wanted {
    fn entry(&self) -> Object {
        let mut entry = Object::new();
        let fields = [
            ("id", Some(self.id.as_str())),
            ("name", Some(self.name.as_str())),
            ("workspace", Some(self.workspace.as_str())),
            ("agentDir", Some(self.folder.as_str())),
            ("model", self.model.as_deref()),
        ];
        for (name, value) in fields {
            if let Some(value) = value {
                entry.insert(name.to_owned(), value.into());
            }
        }
        entry
    }
}

impl Bindings {
    /// A rule belongs to whoever has it already.
    fn of(agent: &AgentId, wishes: &[String], config: &Config) -> Result<Self> {
        let mut known: Vec<(Value, AgentId)> = Vec::new();
        for rule in &config.bindings {
            // What is added here names a channel and perhaps an account.
            let BindingMatch { channel, account_id, peer, guild_id, team_id } = &rule.r#match;
            if peer.is_none() && guild_id.is_none() && team_id.is_none() {
                known.push((pattern(channel, account_id.as_deref()), AgentId::normalize(&rule.agent_id)));
            }
        }
        let mut bindings = Self::default();
        for wish in wishes.iter().filter_map(|wish| text::non_blank(wish)) {
            let (channel, account) = match wish.split_once(':') {
                Some((channel, account)) => (channel, Some(text::trim(account))),
                None => (wish, None),
            };
            let Some(id) = core_channel(&text::lower(text::trim(channel))) else {
                return Err(Failure::bare(format!("Unknown channel \"{channel}\".")).into());
            };
            if account == Some("") {
                return Err(Failure::bare(format!("Invalid binding \"{wish}\" (empty account id).")).into());
            }
            let pattern = pattern(id, account);
            let rule = json!({"agentId": agent.as_str(), "match": pattern});
            match known.iter().find(|(other, _)| *other == pattern).map(|(_, owner)| owner.clone()) {
                Some(owner) if owner == *agent => bindings.skipped.push(rule),
                Some(owner) => bindings.conflicts.push((rule, owner)),
                None => {
                    known.push((pattern, agent.clone()));
                    bindings.added.push(rule);
                }
            }
        }
        Ok(bindings)
    }

    fn conflict_lines(&self) -> Vec<String> {
        self.conflicts.iter().map(|(rule, owner)| format!("{} (agent={owner})", described(rule))).collect()
    }
}

fn pattern(channel: &str, account: Option<&str>) -> Value {
    let mut pattern = json!({ "channel": channel });
    if let Some(account) = account {
        pattern["accountId"] = account.into();
    }
    pattern
}

/// `telegram accountId=work`
fn described(rule: &Value) -> String {
    let field = |name: &str| rule.get("match").and_then(|pattern| pattern.get(name)).and_then(Value::as_str);
    let account = field("accountId").map(|account| format!(" accountId={account}")).unwrap_or_default();
    format!("{}{account}", field("channel").unwrap_or_default())
}

fn print_json(wanted: &Wanted, bindings: &Bindings) -> Result<()> {
    let mut told = Object::new();
    for (name, value) in wanted.entry() {
        told.insert(if name == "id" { "agentId".to_owned() } else { name }, value);
    }
    let list = |rules: &[Value]| rules.iter().map(described).collect::<Vec<_>>();
    let bindings = json!({"added": list(&bindings.added), "skipped": list(&bindings.skipped), "conflicts": bindings.conflict_lines()});
    told.insert("bindings".to_owned(), bindings);
    terminal::print_json(&Value::Object(told))
}

fn print_text(setting: &Setting, wanted: &Wanted, sessions: &Path, bindings: &Bindings) -> Result<()> {
    let shown = |path: &str| setting.place.shortened(Path::new(path));
    let mut lines = vec![
        format!("Updated {}", setting.place.shortened(&setting.place.config)),
        format!("Workspace OK: {}", shown(&wanted.workspace)),
        format!("Sessions OK: {}", setting.place.shortened(sessions)),
        format!("Agent: {}", wanted.id),
        format!("Workspace: {}", shown(&wanted.workspace)),
        format!("Agent dir: {}", shown(&wanted.folder)),
    ];
    lines.extend(wanted.model.as_ref().map(|model| format!("Model: {model}")));
    let mut out = anstream::stdout().lock();
    lines.iter().try_for_each(|line| writeln!(out, "{}", terminal::harmless(line)))?;
    if !bindings.conflicts.is_empty() {
        anstream::eprintln!("Skipped bindings already claimed by another agent:");
        for line in bindings.conflict_lines() {
            anstream::eprintln!("- {}", terminal::harmless(&line));
        }
    }
    Ok(())
}
