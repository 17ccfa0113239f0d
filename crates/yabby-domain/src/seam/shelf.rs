//! The door to what an agent is told in writing: the files of its folder, and its skills (`sessions.md` §20).

use async_trait::async_trait;

use crate::bootstrap::WorkspaceFile;
use crate::config::Config;
use crate::skills::SkillFile;

#[async_trait]
pub trait Shelf: Send + Sync {
    /// The files of the workspace that belong into the system prompt ([`crate::bootstrap::FILES`]).
    async fn workspace_files(&self) -> Vec<WorkspaceFile>;

    /// Every skill that lies somewhere, whether or not it can work here.
    async fn skills(&self, config: &Config) -> Vec<SkillFile>;

    /// Grows whenever the skills change: milliseconds since 1970, 0 as long as nobody looks.
    async fn skills_version(&self, config: &Config) -> f64;

    /// Whether a program of this name can be started.
    fn has_program(&self, name: &str) -> bool;

    fn has_variable(&self, name: &str) -> bool;
}
