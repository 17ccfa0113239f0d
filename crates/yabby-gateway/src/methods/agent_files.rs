//! The files of a workspace that clients may read and write: `agents.files.*` (`gateway.md` §7).

use std::fs::Metadata;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use yabby_domain::id::AgentId;
use yabby_domain::json::{Object, Value};
use yabby_domain::seam::StoreError;
use yabby_domain::text;
use yabby_store::files::workspace_file;

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
        let workspace = PathBuf::from(&self.workspace);
        AgentFile { name, path: workspace.join(name), workspace }
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
    workspace: PathBuf,
}

impl AgentFile {
    fn is_there(&self) -> bool {
        self.metadata().is_some()
    }

    /// Where it is; `None` if it is a link that leads out of the workspace, which a command may have made.
    fn real(&self) -> Option<PathBuf> {
        if !std::fs::symlink_metadata(&self.path).is_ok_and(|found| found.is_symlink()) {
            return Some(self.path.clone());
        }
        let (real, workspace) = (self.path.canonicalize().ok()?, self.workspace.canonicalize().ok()?);
        real.starts_with(workspace).then_some(real)
    }

    /// What is known about it, if it is a plain file.
    fn metadata(&self) -> Option<Metadata> {
        std::fs::symlink_metadata(self.real()?).ok().filter(Metadata::is_file)
    }

    /// Without what is in it.
    pub(super) fn told(&self) -> Object {
        let mut told = Object::from_iter([
            ("name".to_owned(), Value::from(self.name)),
            ("path".to_owned(), self.path.to_string_lossy().into()),
        ]);
        let known = self.metadata();
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
            let bytes = self.read().map_err(|error| self.failed("read", error))?;
            told.insert("content".to_owned(), text::lossy(&bytes).into());
        }
        Ok(told)
    }

    /// What is in it. It may have become a link, or a pipe that nobody writes to, a moment ago.
    fn read(&self) -> std::io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        workspace_file::open(&self.workspace, Path::new(self.name))?.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Writes it in one step; where it is a link, what that leads to within the workspace.
    pub(super) fn write(&self, content: &str) -> Result<(), Refusal> {
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder).map_err(|error| self.failed("write", error))?;
        }
        let content = text::to_outside(content);
        let written = workspace_file::replace(&self.workspace, Path::new(self.name), content.as_bytes());
        written.map_err(|error| match self.real() {
            Some(_) => self.failed("write", error),
            None => Refusal::invalid(format!(
                "{} is a link that leads out of the workspace; remove it first",
                self.name
            )),
        })
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

    #[test]
    fn a_link_is_followed_within_the_workspace_only() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let (workspace, secret) = (folder.path().join("ws"), folder.path().join("secret"));
        std::fs::create_dir(&workspace).unwrap();
        std::fs::write(&secret, "secret").unwrap();
        std::fs::write(workspace.join("real.md"), "real").unwrap();
        symlink(&secret, workspace.join("AGENTS.md")).unwrap();
        symlink("../secret", workspace.join("SOUL.md")).unwrap();
        symlink("../new", workspace.join("TOOLS.md")).unwrap();
        symlink("real.md", workspace.join("USER.md")).unwrap();
        let folder_of_agent =
            Folder { agent: AgentId::default(), workspace: workspace.to_string_lossy().into_owned() };
        for name in ["AGENTS.md", "SOUL.md", "TOOLS.md"] {
            let file = folder_of_agent.named(NAMES.into_iter().find(|known| *known == name).unwrap());
            let told = file.with_content().unwrap();
            assert_eq!(
                (told.get("missing"), told.get("content")),
                (Some(&Value::Bool(true)), None),
                "{name}"
            );
            assert!(told.get("size").is_none(), "{name}");
            assert!(file.write("planted").is_err(), "{name}");
        }
        assert_eq!(std::fs::read_to_string(&secret).unwrap(), "secret");
        assert!(!folder.path().join("new").exists());
        let inside = folder_of_agent.named("USER.md");
        assert_eq!(inside.with_content().unwrap()["content"], "real");
        inside.write("changed").unwrap();
        assert_eq!(std::fs::read_to_string(workspace.join("real.md")).unwrap(), "changed");
        folder_of_agent.named("IDENTITY.md").write("new").unwrap();
        assert_eq!(std::fs::read_to_string(workspace.join("IDENTITY.md")).unwrap(), "new");
    }
}
