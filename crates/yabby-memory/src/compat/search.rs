//! Searching as the reference does (`memory.md` §6).

use std::sync::Arc;

use serde_json::json;
use yabby_domain::json::{Value, number};
use yabby_domain::text;

use super::embedding;
use super::files::Source;
use super::fts_query::fts_query;
use super::hybrid::{self, Found};
use super::index::{CompatIndex, IndexError};
use super::store::Within;
use super::sync::Reason;
use super::vectors;

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    pub path: String,
    pub start_line: u64,
    pub end_line: u64,
    pub score: f64,
    pub snippet: String,
    pub source: Source,
}

impl Hit {
    pub fn to_json(&self) -> Value {
        json!({
            "path": self.path,
            "startLine": self.start_line,
            "endLine": self.end_line,
            "score": number(self.score),
            "snippet": self.snippet,
            "source": self.source.as_str(),
        })
    }
}

/// What the caller wants to be otherwise than configured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SearchOptions {
    pub max_results: Option<f64>,
    pub min_score: Option<f64>,
    /// The conversation that is asked in.
    pub session_key: Option<String>,
    /// What may be found; the reference itself knows of nobody who may not see everything.
    pub seen: Option<Seen>,
}

/// What somebody may see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    pub notes: bool,
    /// By their names in the index.
    pub transcripts: Vec<String>,
}

/// More candidates than this are never looked at.
const MOST_CANDIDATES: f64 = 200.0;

impl CompatIndex {
    /// Searches the index as it is. Changes that are known are indexed meanwhile, and found the next time.
    pub async fn search(&self, query: &str, options: &SearchOptions) -> Result<Vec<Hit>, IndexError> {
        self.warm(options.session_key.as_deref());
        self.sync_what_is_dirty();
        let Some(query) = text::non_blank(query) else { return Ok(Vec::new()) };
        let settings = &self.shared.settings.query;
        let most = options.max_results.unwrap_or(settings.max_results);
        let least = options.min_score.unwrap_or(settings.min_score);
        let candidates = whole((most * settings.candidate_multiplier).floor().clamp(1.0, MOST_CANDIDATES));
        let Some(within) = self.within(options.seen.as_ref()) else { return Ok(Vec::new()) };
        let embedder = self.shared.embedder();
        let by_words = match settings.hybrid {
            true => self.by_words(query, embedder.model(), &within, candidates).await?,
            false => Vec::new(),
        };
        let query = embedding::query(&*embedder, query).await?;
        let by_meaning = match vectors::is_zero(&query) {
            true => Vec::new(),
            false => self.by_meaning(query, embedder.model(), &within, candidates).await?,
        };
        let mut hits = match settings.hybrid {
            true => hybrid::merge(by_meaning, by_words, settings.weights),
            false => by_meaning.into_iter().map(Found::into_hit).collect(),
        };
        hits.retain(|hit| hit.score >= least);
        hits.truncate(whole(most));
        Ok(hits)
    }

    /// Where is looked; `None` if nothing may be seen.
    fn within(&self, seen: Option<&Seen>) -> Option<Within> {
        let mut sources = self.shared.settings.sources.clone();
        let Some(seen) = seen else { return Some(Within { sources, transcripts: None }) };
        sources.retain(|source| *source == Source::Sessions || seen.notes);
        let transcripts = Some(seen.transcripts.clone());
        (!sources.is_empty()).then_some(Within { sources, transcripts })
    }

    /// Whether something is known to have changed, and not indexed.
    pub fn is_dirty(&self) -> bool {
        let work = self.shared.work();
        work.dirty || !work.dirty_sessions.is_empty()
    }

    /// The first search of a conversation is a reason to look for changes.
    fn warm(&self, session_key: Option<&str>) {
        if !self.shared.settings.sync.on_session_start {
            return;
        }
        let key = session_key.and_then(text::non_blank);
        let is_new = key.is_none_or(|key| self.shared.work().warmed.insert(key.to_owned()));
        if is_new {
            self.sync_in_background(Reason::SessionStart);
        }
    }

    fn sync_what_is_dirty(&self) {
        if self.shared.settings.sync.on_search && self.is_dirty() {
            self.sync_in_background(Reason::Search);
        }
    }

    /// Words that the index cannot be asked for are found nowhere.
    async fn by_words(
        &self,
        query: &str,
        model: &str,
        within: &Within,
        most: usize,
    ) -> Result<Vec<Found>, IndexError> {
        let Some(query) = fts_query(query) else { return Ok(Vec::new()) };
        let (model, within) = (model.to_owned(), within.clone());
        self.shared
            .with_store(move |store| {
                if !store.words().is_ready() {
                    return Ok(Vec::new());
                }
                match store.by_words(&query, &model, &within, most) {
                    Err(error) if !error.is_damage() => {
                        tracing::debug!("the words of a query could not be searched: {error}");
                        Ok(Vec::new())
                    }
                    found => found,
                }
            })
            .await
    }

    async fn by_meaning(
        &self,
        query: Vec<f64>,
        model: &str,
        within: &Within,
        most: usize,
    ) -> Result<Vec<Found>, IndexError> {
        let (model, within) = (model.to_owned(), within.clone());
        let shared = Arc::clone(&self.shared);
        let found = shared.with_store(move |store| store.by_meaning(&query, &model, &within, most)).await?;
        self.shared.work().vectors_used = true;
        Ok(found)
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
fn whole(number: f64) -> usize {
    number as usize
}
