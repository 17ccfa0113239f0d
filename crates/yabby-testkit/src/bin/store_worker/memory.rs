//! yabby's hand on an index of memories that the reference has a hand on, too.

use std::path::PathBuf;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::json;
use tokio::runtime::Runtime;
use yabby_domain::config::Config;
use yabby_domain::id::AgentId;
use yabby_domain::json::Value;
use yabby_domain::session::path::{Folders, sessions_folder};
use yabby_memory::compat::{CompatIndex, Hit, Places, Reason, SearchOptions};
use yabby_memory::settings::Settings;
use yabby_testkit::hashed_embedder::{HashedEmbedder, alone, remote_provider_key};

use crate::Result;

/// What is done with the index, which stays open between errands.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Deed {
    /// Brings it up to date.
    Sync,
    /// Builds it anew.
    Force,
    /// Searches it.
    Search(String),
}

pub struct Memory {
    runtime: Runtime,
    embedder: Arc<HashedEmbedder>,
    index: CompatIndex,
}

impl Memory {
    /// The index of the main agent, of texts as the stand-in embeds them that the configuration names.
    pub fn open(state: &str, config: Value) -> Result<Self> {
        let agent = AgentId::normalize("main");
        let config = Config::new(config);
        let workspace = config.agents.defaults.workspace.as_deref().ok_or("there is a workspace")?;
        let folders = Folders { state, home: state, current: "/" };
        let settings = Settings::from_config(&config, &agent, &folders).ok_or("memory search is on")?;
        let base_url = settings.remote.as_ref().and_then(|remote| remote.base_url.as_deref());
        let provider_key = remote_provider_key(
            "openai",
            base_url.ok_or("there is an address")?,
            &settings.model,
            &[("Content-Type".to_owned(), "application/json".to_owned())],
        );
        let embedder = Arc::new(HashedEmbedder::with_key("openai", &settings.model, &provider_key));
        let places = Places {
            agent: agent.clone(),
            workspace: PathBuf::from(workspace),
            sessions: PathBuf::from(sessions_folder(state, &agent)),
        };
        let runtime = Runtime::new()?;
        let embedders = alone(embedder.clone());
        let index = runtime.block_on(CompatIndex::open(places, settings, embedders))?;
        Ok(Self { runtime, embedder, index })
    }

    pub fn act(&self, deed: Deed) -> Result<Value> {
        let found = self.runtime.block_on(async {
            match deed {
                Deed::Sync => {
                    self.index.mark_dirty();
                    self.index.mark_sessions_dirty().await?;
                    self.index.sync(Reason::Manual, false, None).await.map(|()| Vec::new())
                }
                Deed::Force => self.index.sync(Reason::Manual, true, None).await.map(|()| Vec::new()),
                Deed::Search(query) => {
                    let options = SearchOptions { min_score: Some(0.0), ..SearchOptions::default() };
                    self.index.search(&query, &options).await
                }
            }
        })?;
        let asked: Vec<String> = self.embedder.take_asked().into_iter().flatten().collect();
        Ok(json!({"asked": asked, "results": found.iter().map(Hit::to_json).collect::<Vec<_>>()}))
    }
}
