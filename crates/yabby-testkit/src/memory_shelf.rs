//! A shelf in memory.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use tokio::sync::OwnedMutexGuard;
use yabby_domain::bootstrap::{FILES, WorkspaceFile};
use yabby_domain::config::Config;
use yabby_domain::seam::shelf::Shelf;
use yabby_domain::skills::{SkillFile, SkillSource};

use crate::unpoisoned;

/// Copies are the same shelf.
#[derive(Clone, Default)]
pub struct MemoryShelf(Arc<Mutex<Held>>);

#[derive(Default)]
struct Held {
    files: Vec<(String, String)>,
    skills: Vec<SkillFile>,
    version: f64,
    programs: HashSet<String>,
    /// Held while the files cannot be read.
    disk: Arc<tokio::sync::Mutex<()>>,
}

impl MemoryShelf {
    /// A file of the workspace says this.
    pub fn put(&self, name: &str, text: &str) {
        let mut held = unpoisoned(&self.0);
        held.files.retain(|(known, _)| known != name);
        held.files.push((name.to_owned(), text.to_owned()));
    }

    /// A skill of the workspace; whoever watches the files notices.
    pub fn put_skill(&self, name: &str, front_matter: &str) {
        let mut held = unpoisoned(&self.0);
        let path = format!("/workspace/skills/{name}/SKILL.md");
        held.skills.retain(|known| known.path != path);
        let text = format!("---\n{front_matter}\n---\nBody.\n");
        held.skills.push(SkillFile { source: SkillSource::Workspace, path, text });
        held.version += 1.0;
    }

    /// The disk is busy until this is dropped: who wants to read the files of the workspace waits.
    pub async fn hold_up(&self) -> OwnedMutexGuard<()> {
        let disk = unpoisoned(&self.0).disk.clone();
        disk.lock_owned().await
    }

    pub fn install(&self, program: &str) {
        unpoisoned(&self.0).programs.insert(program.to_owned());
    }
}

#[async_trait]
impl Shelf for MemoryShelf {
    async fn workspace_files(&self) -> Vec<WorkspaceFile> {
        let _disk = self.hold_up().await;
        let held = unpoisoned(&self.0);
        let text =
            |name: &str| held.files.iter().find(|(known, _)| known == name).map(|(_, text)| text.clone());
        FILES
            .iter()
            .map(|name| WorkspaceFile {
                name: (*name).to_owned(),
                path: format!("/workspace/{name}"),
                text: text(name),
            })
            .collect()
    }

    async fn skills(&self, _: &Config) -> Vec<SkillFile> {
        unpoisoned(&self.0).skills.clone()
    }

    async fn skills_version(&self, _: &Config) -> f64 {
        unpoisoned(&self.0).version
    }

    fn has_program(&self, name: &str) -> bool {
        unpoisoned(&self.0).programs.contains(name)
    }

    fn has_variable(&self, _: &str) -> bool {
        false
    }
}
