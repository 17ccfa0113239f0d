//! Searching the reference's index on behalf of somebody (`memory.ranking: "compat"`).
//!
//! The reference knows of nobody who may not see everything, and answers from the index as it is. Here what
//! may be found is decided by our own rules, and what is new is waited for or told about.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use crate::audience::Viewer;
use crate::compat::files::Source;
use crate::compat::{CompatIndex, EmbeddedBy, Hit, IndexError, Reason, Reference, SearchOptions, Seen};
use crate::memory::{Memory, PATIENCE};
use crate::news::Changed;

/// What was found, and by whom.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FoundThere {
    /// The best first.
    pub hits: Vec<Hit>,
    /// What could not be looked at, and why.
    pub unread: Vec<String>,
    pub by: EmbeddedBy,
}

impl Memory {
    /// What answers a question, as the reference ranks it.
    pub async fn search_like_reference(
        &self,
        reference: &Reference,
        query: &str,
        viewer: &Viewer,
        options: SearchOptions,
    ) -> Result<FoundThere, String> {
        let index = reference.index().await.map_err(told)?;
        // Whose a transcript is stands in our own index.
        let mut unread = self.freshen(PATIENCE).await;
        unread.extend(self.freshen_reference(index, PATIENCE).await);
        let who = viewer.clone();
        let transcripts = self.blocking(move |memory| memory.recall().transcripts_for(&who)).await;
        let seen =
            Seen { notes: viewer.sees_notes(), transcripts: transcripts.map_err(|error| error.to_string())? };
        let options = SearchOptions { seen: Some(seen), ..options };
        let hits = index.search(query, &options).await.map_err(told)?;
        Ok(FoundThere { hits, unread, by: index.embedded_by() })
    }

    /// Brings the reference's index up to date, for so long at most. What it does not have is told.
    async fn freshen_reference(&self, index: &CompatIndex, patience: Duration) -> Vec<String> {
        let is_told = match self.watch() {
            Some(watch) => watch.has_heard_everything().await,
            None => false,
        };
        let heard = self.news().take_for_reference();
        let changed = if is_told { heard } else { Changed::everything() };
        if let Err(error) = self.mark(index, &changed).await {
            return vec![format!("what is new: {error}")];
        }
        if index.is_dirty() && !index.settings().sync.on_search {
            return vec!["what is new: memorySearch.sync.onSearch is off".to_owned()];
        }
        let until = Instant::now() + patience;
        // A sync that ran already may have begun before the change.
        while index.is_dirty() {
            match timeout_at(until, index.sync(Reason::Search, false, None)).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => return vec![format!("what is new: {error}")],
                Err(_) => {
                    return vec!["what is new: it is still being read; ask again in a moment".to_owned()];
                }
            }
        }
        Vec::new()
    }

    async fn mark(&self, index: &CompatIndex, changed: &Changed) -> Result<(), IndexError> {
        if changed.everything || changed.notes {
            index.mark_dirty();
        }
        if !index.settings().sources.contains(&Source::Sessions) {
            return Ok(());
        }
        if changed.everything {
            return index.mark_sessions_dirty().await;
        }
        for name in &changed.transcripts {
            index.mark_session_dirty(&self.places().transcripts.join(name));
        }
        Ok(())
    }
}

fn told(error: IndexError) -> String {
    error.to_string()
}
