//! Whoever answers, as pages show them.

use std::io::Read as _;
use std::path::Path;

use serde_json::json;
use yabby_domain::agent::identity::{Identity, Shown};
use yabby_domain::id::AgentId;
use yabby_domain::json::Value;
use yabby_domain::session::key::default_agent;
use yabby_domain::text;
use yabby_store::files::workspace_file;

use crate::frames::Refusal;
use crate::{Gateway, on_disk};

/// Nobody writes a longer one.
const LONGEST: u64 = 256 * 1024;

/// What an agent wrote down about itself.
pub fn identity_in(workspace: &Path) -> Option<Identity> {
    let file = workspace_file::open(workspace, Path::new("IDENTITY.md")).ok()?;
    Identity::read(&std::io::read_to_string(file.take(LONGEST)).ok()?)
}

impl Gateway {
    /// Who an agent is: by the settings of the pages, its own, or what it wrote down.
    pub(crate) async fn assistant(&self, agent: Option<&AgentId>) -> Result<(AgentId, Shown), Refusal> {
        let config = self.config();
        let id = agent.cloned().unwrap_or_else(|| default_agent(&config));
        let said = &config.ui.assistant;
        let page = Identity { name: said.name.clone(), avatar: said.avatar.clone(), ..Identity::default() };
        let known = self.agent(&id);
        let workspace = known.as_ref().map(|agent| agent.workspace.clone());
        let written = on_disk(move || identity_in(Path::new(&workspace?)));
        let written = written.await?.unwrap_or_default();
        let configured = known.map(|agent| agent.identity).unwrap_or_default();
        Ok((id, Shown::of(&page, &configured, &written)))
    }

    /// Where a page finds the avatar: a file of the workspace is served by us.
    pub(crate) fn avatar_address(&self, agent: &AgentId, shown: &Shown) -> String {
        if !shown.has_file() {
            return shown.avatar.clone();
        }
        let config = self.config();
        let base = config.gateway.control_ui.base_path.as_deref().and_then(text::non_blank);
        let base = base.map(|base| base.trim_matches('/')).filter(|base| !base.is_empty());
        base.map_or_else(|| format!("/avatar/{agent}"), |base| format!("/{base}/avatar/{agent}"))
    }

    /// What `agent.identity.get` answers.
    pub(crate) async fn identity(&self, agent: Option<&AgentId>) -> Result<Value, Refusal> {
        let (id, shown) = self.assistant(agent).await?;
        let mut told = json!({
            "agentId": id.as_str(),
            "name": shown.name,
            "avatar": self.avatar_address(&id, &shown),
        });
        if let Some(emoji) = shown.emoji {
            told["emoji"] = emoji.into();
        }
        Ok(told)
    }
}
