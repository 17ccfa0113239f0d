//! Embeddings on this machine: the model is read when it is first needed, and let go of when nobody has
//! asked for a while.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::json;
use tokio::time::Instant;
use yabby_domain::seam::embedder::{EmbedError, Embedder};
use yabby_domain::text;
use yabby_minilm::{LoadError, Model};

use super::line::Fault;
use super::service::hash;
use super::settings::Limits;

/// The model of this machine, all-MiniLM-L6-v2.
pub struct LocalEmbedder {
    shelf: Arc<Shelf>,
    limits: Limits,
}

/// Where the model lies while it is needed. The lock is held while the model is read, by threads that may
/// wait.
struct Shelf {
    folder: PathBuf,
    idle: Duration,
    held: Mutex<Option<Held>>,
}

struct Held {
    model: Arc<Model>,
    used: Instant,
}

impl LocalEmbedder {
    /// With the model in a folder, which is not looked at yet.
    pub fn new(folder: &Path, limits: Limits) -> Self {
        let shelf = Shelf { folder: folder.to_owned(), idle: limits.local_idle, held: Mutex::new(None) };
        Self { shelf: Arc::new(shelf), limits }
    }

    /// Whether the model is in memory just now.
    pub fn is_loaded(&self) -> bool {
        self.shelf.held().is_some()
    }

    async fn with_model<Answer: Send + 'static>(
        &self,
        limit: Duration,
        doing: &str,
        work: impl FnOnce(&Model) -> Answer + Send + 'static,
    ) -> Result<Answer, EmbedError> {
        let shelf = self.shelf.clone();
        let working = tokio::task::spawn_blocking(move || {
            let (model, is_new) = shelf.model()?;
            Ok::<_, LoadError>((work(&model), is_new))
        });
        let done = tokio::time::timeout(limit, working).await.map_err(|_| Fault::late(doing, limit))?;
        let broken = |_| EmbedError("the local embeddings broke off; try again".to_owned());
        let (answer, is_new) = done.map_err(broken)?.map_err(|error| EmbedError(error.to_string()))?;
        if is_new {
            tokio::spawn(let_go_when_idle(Arc::downgrade(&self.shelf)));
        }
        Ok(answer)
    }
}

impl Shelf {
    fn held(&self) -> MutexGuard<'_, Option<Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The model, and whether it had to be read.
    fn model(&self) -> Result<(Arc<Model>, bool), LoadError> {
        let mut held = self.held();
        if let Some(held) = held.as_mut() {
            held.used = Instant::now();
            return Ok((held.model.clone(), false));
        }
        let model = Arc::new(Model::load(&self.folder)?);
        *held = Some(Held { model: model.clone(), used: Instant::now() });
        Ok((model, true))
    }

    /// Lets go of the model if nobody has asked for it; else, when to look again.
    fn tidy(&self) -> Option<Instant> {
        let mut held = self.held();
        let due = held.as_ref()?.used + self.idle;
        if due > Instant::now() {
            return Some(due);
        }
        *held = None;
        None
    }
}

async fn let_go_when_idle(shelf: Weak<Shelf>) {
    loop {
        let due = shelf.upgrade().and_then(|shelf| shelf.tidy());
        match due {
            Some(due) => tokio::time::sleep_until(due).await,
            None => return,
        }
    }
}

/// Whether the model can read a text. It learned English: texts of other scripts all look alike to it.
fn is_read(text: &str) -> bool {
    let (mut latin, mut other) = (0_usize, 0_usize);
    for letter in text.chars().filter(|letter| letter.is_alphabetic()) {
        let is_latin = letter.is_ascii() || matches!(u32::from(letter), 0xC0..=0x24F | 0x1E00..=0x1EFF);
        *(if is_latin { &mut latin } else { &mut other }) += 1;
    }
    latin > other
}

#[async_trait]
impl Embedder for LocalEmbedder {
    fn provider(&self) -> &str {
        "local"
    }

    fn model(&self) -> &str {
        Model::NAME
    }

    fn provider_key(&self) -> String {
        hash(&json!({"provider": "local", "model": Model::NAME}))
    }

    fn least_likeness(&self) -> f32 {
        Model::LEAST_LIKENESS
    }

    async fn query(&self, text: &str) -> Result<Vec<f64>, EmbedError> {
        let Some(text) = text::non_blank(text).filter(|text| is_read(text)) else { return Ok(Vec::new()) };
        let text = text::to_outside(text).into_owned();
        let work = move |model: &Model| wide(&model.embed(&text));
        self.with_model(self.limits.local_query, "query", work).await
    }

    async fn documents(&self, texts: &[String]) -> Result<Vec<Vec<f64>>, EmbedError> {
        let said = texts.iter().enumerate().filter(|(_, text)| is_read(text));
        let (places, said): (Vec<usize>, Vec<String>) =
            said.map(|(at, text)| (at, text::to_outside(text).into_owned())).unzip();
        let mut vectors = vec![Vec::new(); texts.len()];
        if said.is_empty() {
            return Ok(vectors);
        }
        let work =
            move |model: &Model| model.embed_all(&said).iter().map(|vector| wide(vector)).collect::<Vec<_>>();
        let got = self.with_model(self.limits.local_documents, "batch", work).await?;
        for (at, vector) in places.into_iter().zip(got) {
            vectors[at] = vector;
        }
        Ok(vectors)
    }
}

fn wide(vector: &[f32]) -> Vec<f64> {
    vector.iter().map(|number| f64::from(*number)).collect()
}
