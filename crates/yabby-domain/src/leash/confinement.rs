//! Whether commands are confined, and to what: `agents.defaults.sandbox`, `tools.exec.confine` (`config.md` §9).

use super::exec_policy::{agent_entry, setting};
use crate::config::Config;
use crate::id::AgentId;
use crate::json::Value;
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
        let word = |path: &[&str]| sandbox(config, agent, path).and_then(Value::as_str);
        let unknown = |key: &str, word: &str| Err(format!("{key} is {word:?}, which is no word for it"));
        let is_main = || {
            let main = KeyPolicy::from_config(config);
            let main = main.agent_main_session(agent.as_str()).unwrap_or_else(SessionKey::global);
            *session == main || session.as_str() == "main" || *session == SessionKey::global()
        };
        let by_mode = match word(&["mode"]) {
            None | Some("off") => false,
            Some("all") => true,
            Some("non-main") => !is_main(),
            Some(other) => return unknown("agents.defaults.sandbox.mode", other),
        };
        let by = match setting(config, agent, "confine").map(|word| word.as_str().unwrap_or_default()) {
            None if !by_mode => return Ok(None),
            None | Some("auto") => Walls::Any,
            Some("off") => return Ok(None),
            Some("bubblewrap") => Walls::Bubblewrap,
            Some("landlock") => Walls::Landlock,
            Some(other) => return unknown("tools.exec.confine", other),
        };
        let workspace = match word(&["workspaceAccess"]) {
            None | Some("rw") => Access::Write,
            Some("ro") => Access::Read,
            Some("none") => Access::None,
            Some(other) => return unknown("sandbox.workspaceAccess", other),
        };
        let scope = match word(&["scope"]) {
            Some("session") => Scope::Session,
            Some("shared") => Scope::Shared,
            _ => Scope::Agent,
        };
        let has_network =
            word(&["docker", "network"]).is_some_and(|network| !["", "none"].contains(&network));
        Ok(Some(Self { by, workspace, has_network, scope }))
    }
}

/// A setting of the sandbox; the agent's own wins.
fn sandbox<'c>(config: &'c Config, agent: &AgentId, path: &[&str]) -> Option<&'c Value> {
    let own = agent_entry(config, agent).and_then(|entry| crate::json::at(entry.get("sandbox")?, path));
    let common = [&["agents", "defaults", "sandbox"], path].concat();
    own.filter(|value| !value.is_null()).or_else(|| config.get(&common))
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
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at least 1")]
        let processes = sandbox(config, agent, &["docker", "pidsLimit"])
            .and_then(Value::as_f64)
            .filter(|limit| *limit >= 1.0)
            .map_or(512, |limit| limit as u64);
        let memory = sandbox(config, agent, &["docker", "memory"]).and_then(bytes).unwrap_or(4 * GIB);
        Self { processes, memory, file_size: GIB, open_files: 1024 }
    }
}

/// `512m`, `2g`, or a number of bytes.
fn bytes(value: &Value) -> Option<u64> {
    if let Some(number) = value.as_u64() {
        return Some(number).filter(|bytes| *bytes > 0);
    }
    let written = value.as_str()?.trim().to_ascii_lowercase();
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
