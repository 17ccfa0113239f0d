//! Whether commands are confined, and to what: `agents.defaults.sandbox`, `tools.exec.confine` (`config.md` §9).

use crate::config::Config;
use crate::config::agents::sandbox::Sandbox;
use crate::config::text::TextOrNumber;
use crate::id::AgentId;
use crate::session::key::{KeyPolicy, SessionKey};

/// What holds for the commands of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confinement {
    pub by: Walls,
    pub workspace: Access,
    pub has_network: bool,
    pub scope: Scope,
}

/// What keeps a command in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walls {
    /// Bubblewrap if it works here, else Landlock.
    Any,
    Bubblewrap,
    Landlock,
}

/// What a confined command can do with the agent's workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It does not see it, and works in a folder of its own.
    None,
    Read,
    Write,
}

/// Who shares such a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    Session,
    Agent,
    Shared,
}

impl Confinement {
    /// What holds for a session's commands; `None` if they are not confined. A word that is none of those
    /// that are known is refused: whoever wrote it wanted walls, most likely.
    pub fn of(config: &Config, agent: &AgentId, session: &SessionKey) -> Result<Option<Self>, String> {
        let sandbox = Sandboxes::of(config, agent);
        let unknown = |key: &str, word: &str| Err(format!("{key} is {word:?}, which is no word for it"));
        let is_main = || {
            let main = KeyPolicy::from_config(config);
            let main = main.agent_main_session(agent.as_str()).unwrap_or_else(SessionKey::global);
            *session == main || session.as_str() == "main" || *session == SessionKey::global()
        };
        let by_mode = match sandbox.find(|of| Some(of.mode.as_ref()?.as_str())) {
            None | Some("off") => false,
            Some("all") => true,
            Some("non-main") => !is_main(),
            Some(other) => return unknown("agents.defaults.sandbox.mode", other),
        };
        let by = match config.confine(agent) {
            None if !by_mode => return Ok(None),
            None | Some("auto") => Walls::Any,
            Some("off") => return Ok(None),
            Some("bubblewrap") => Walls::Bubblewrap,
            Some("landlock") => Walls::Landlock,
            Some(other) => return unknown("tools.exec.confine", other),
        };
        let workspace = match sandbox.find(|of| Some(of.workspace_access.as_ref()?.as_str())) {
            None | Some("rw") => Access::Write,
            Some("ro") => Access::Read,
            Some("none") => Access::None,
            Some(other) => return unknown("sandbox.workspaceAccess", other),
        };
        let scope = match sandbox.find(|of| Some(of.scope.as_ref()?.as_str())) {
            Some("session") => Scope::Session,
            Some("shared") => Scope::Shared,
            _ => Scope::Agent,
        };
        let network = sandbox.find(|of| of.docker.network.as_deref());
        let has_network = network.is_some_and(|network| !["", "none"].contains(&network));
        Ok(Some(Self { by, workspace, has_network, scope }))
    }
}

/// The sandbox of an agent, and that of all.
struct Sandboxes<'c> {
    own: Option<&'c Sandbox>,
    common: &'c Sandbox,
}

impl<'c> Sandboxes<'c> {
    fn of(config: &'c Config, agent: &AgentId) -> Self {
        Self { own: config.agent(agent).map(|entry| &entry.sandbox), common: &config.agents.defaults.sandbox }
    }

    /// A setting; the agent's own wins.
    fn find<T>(&self, pick: impl Fn(&'c Sandbox) -> Option<T>) -> Option<T> {
        self.own.and_then(&pick).or_else(|| pick(self.common))
    }
}

/// What a confined command may use up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub processes: u64,
    pub memory: u64,
    pub file_size: u64,
    pub open_files: u64,
}

impl Limits {
    /// `sandbox.docker.pidsLimit` and `memory` are known, else enough for a build.
    pub fn from_config(config: &Config, agent: &AgentId) -> Self {
        const GIB: u64 = 1024 * 1024 * 1024;
        let sandbox = Sandboxes::of(config, agent);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at least 1")]
        let processes = sandbox
            .find(|of| of.docker.pids_limit)
            .map(f64::from)
            .filter(|limit| *limit >= 1.0)
            .map_or(512, |limit| limit as u64);
        let memory = sandbox.find(|of| of.docker.memory.as_ref()).and_then(bytes).unwrap_or(4 * GIB);
        Self { processes, memory, file_size: GIB, open_files: 1024 }
    }
}

/// `512m`, `2g`, or a number of bytes.
fn bytes(said: &TextOrNumber) -> Option<u64> {
    let written = said.text().trim().to_ascii_lowercase();
    let digits = written.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit: u64 = match written[digits.len()..].trim_end_matches('b') {
        "" => 1,
        "k" => 1 << 10,
        "m" => 1 << 20,
        "g" => 1 << 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit).filter(|bytes| *bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn one_word_confines() {
        let main = "agent:main:main";
        let group = "agent:main:telegram:group:1";
        let defaults = |sandbox| json!({"agents": {"defaults": {"sandbox": sandbox}}});
        let own = |sandbox| json!({"agents": {"list": [{"id": "main", "sandbox": sandbox}]}});
        let confine = |word| json!({"tools": {"exec": {"confine": word}}});
        //  config  session  confined
        let table = [
            (json!({}), main, Ok(false)),
            (defaults(json!({"mode": "off"})), main, Ok(false)),
            (defaults(json!({"mode": "all"})), main, Ok(true)),
            (defaults(json!({"mode": "non-main"})), main, Ok(false)),
            (defaults(json!({"mode": "non-main"})), group, Ok(true)),
            (own(json!({"mode": "all"})), main, Ok(true)),
            (defaults(json!({"mode": "yes"})), main, Err(())),
            (confine("auto"), main, Ok(true)),
            (confine("landlock"), main, Ok(true)),
            (confine("off"), main, Ok(false)),
            (confine("docker"), main, Err(())),
            (defaults(json!({"mode": "all", "workspaceAccess": "x"})), main, Err(())),
        ];
        for (config, session, expected) in table {
            let found =
                Confinement::of(&Config::new(config.clone()), &AgentId::default(), &SessionKey::new(session));
            assert_eq!(found.map(|found| found.is_some()).map_err(drop), expected, "{config} {session}");
        }
        let config = Config::new(json!({
            "agents": {"defaults": {"sandbox": {"mode": "all", "workspaceAccess": "ro",
                "docker": {"network": "bridge", "pidsLimit": 50, "memory": "512m"}}}},
            "tools": {"exec": {"confine": "landlock"}},
        }));
        let found = Confinement::of(&config, &AgentId::default(), &SessionKey::new(main)).unwrap().unwrap();
        assert_eq!(
            found,
            Confinement {
                by: Walls::Landlock,
                workspace: Access::Read,
                has_network: true,
                scope: Scope::Agent
            }
        );
        let limits = Limits::from_config(&config, &AgentId::default());
        assert_eq!((limits.processes, limits.memory), (50, 512 << 20));
    }
}
