//! The files of a workspace that clients may read and write: `agents.files.*` (`gateway.md` §7).

use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use yabby_domain::id::AgentId;
use yabby_domain::json::{Object, Value};
use yabby_domain::seam::StoreError;
use yabby_domain::text;

use super::Call;
use crate::frames::Refusal;

/// In the order in which they are listed.
const NAMES: [&str; 7] =
    ["AGENTS.md", "SOUL.md", "TOOLS.md", "IDENTITY.md", "USER.md", "HEARTBEAT.md", "BOOTSTRAP.md"];
/// What the agent remembers: the one, or else the other.
const MEMORIES: [&str; 2] = ["MEMORY.md", "memory.md"];

/// The folder in which an agent works.
pub(super) struct Folder {
    pub(super) agent: AgentId,
    pub(super) workspace: String,
}

impl Folder {
    /// That of the agent that a request names.
    pub(super) fn of(call: &Call) -> Result<Self, Refusal> {
        let id = AgentId::normalize(call.text("agentId").unwrap_or_default());
        let agent = call.gateway.agent(&id).ok_or_else(|| Refusal::invalid("unknown agent id"))?;
        Ok(Self { agent: agent.id, workspace: agent.workspace })
    }

    /// The file that a request names, which is one of few.
    pub(super) fn file(&self, call: &Call) -> Result<AgentFile, Refusal> {
        let name = text::trim(call.text("name").unwrap_or_default());
        let known = NAMES.into_iter().chain(MEMORIES).find(|known| *known == name);
        let known = known.ok_or_else(|| Refusal::invalid(format!("unsupported file \"{name}\"")))?;
        Ok(self.named(known))
    }

    fn named(&self, name: &'static str) -> AgentFile {
        AgentFile { name, path: Path::new(&self.workspace).join(name) }
    }

    /// All of them, whether they are there or not.
    pub(super) fn files(&self) -> Vec<Value> {
        let told = |name| Value::Object(self.named(name).told());
        let [memory, other] = MEMORIES.map(|name| self.named(name));
        let memory = if memory.is_there() || !other.is_there() { memory } else { other };
        NAMES.into_iter().map(told).chain([Value::Object(memory.told())]).collect()
    }

    /// What every answer begins with.
    pub(super) fn told(&self) -> Object {
        Object::from_iter([
            ("agentId".to_owned(), Value::from(self.agent.as_str())),
            ("workspace".to_owned(), self.workspace.clone().into()),
        ])
    }
}

pub(super) struct AgentFile {
    name: &'static str,
    path: PathBuf,
}

impl AgentFile {
    fn is_there(&self) -> bool {
        self.path.is_file()
    }

    /// Without what is in it.
    pub(super) fn told(&self) -> Object {
        let mut told = Object::from_iter([
            ("name".to_owned(), Value::from(self.name)),
            ("path".to_owned(), self.path.to_string_lossy().into()),
        ]);
        let known = std::fs::metadata(&self.path).ok().filter(std::fs::Metadata::is_file);
        told.insert("missing".to_owned(), known.is_none().into());
        if let Some(known) = known {
            told.insert("size".to_owned(), known.len().into());
            let changed = known.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
            let changed = changed.and_then(|at| i64::try_from(at.as_millis()).ok()).unwrap_or_default();
            told.insert("updatedAtMs".to_owned(), changed.into());
        }
        told
    }

    pub(super) fn with_content(&self) -> Result<Object, Refusal> {
        let mut told = self.told();
        if told.get("missing") == Some(&Value::Bool(false)) {
            let bytes = std::fs::read(&self.path).map_err(|error| self.failed("read", error))?;
            told.insert("content".to_owned(), text::lossy(&bytes).into());
        }
        Ok(told)
    }

    /// Writes it in one step; where it is a link, what that leads to.
    pub(super) fn write(&self, content: &str) -> Result<(), Refusal> {
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder).map_err(|error| self.failed("write", error))?;
        }
        let target = std::fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        let content = text::to_outside(content);
        Ok(yabby_store::files::atomic::replace(&yabby_store::disk::LocalDisk, &target, content.as_bytes())?)
    }

    fn failed(&self, doing: &'static str, source: std::io::Error) -> Refusal {
        let path = self.path.to_string_lossy().into_owned();
        StoreError::Io { doing, path, source: std::sync::Arc::new(source) }.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use yabby_domain::bootstrap;

    #[test]
    fn every_file_that_the_agent_is_told_may_be_changed() {
        for known in bootstrap::FILES {
            assert!(NAMES.contains(&known) || MEMORIES.contains(&known), "{known}");
        }
    }
}
