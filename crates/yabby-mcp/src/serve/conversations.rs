//! The conversations that somebody sees, and messages in an answer that is no burden.

use serde_json::Value;
use yabby_domain::json;
use yabby_domain::session::key::KeyPolicy;
use yabby_memory::memory::{MemoryError, PATIENCE};
use yabby_memory::recall::{Filter, Listed, RecallError};
use yabby_memory::shown;
use yabby_memory::unit::Unit;

use super::Look;

/// Longer texts are cut, in characters.
const LONGEST: usize = 4000;

/// More is not told at once, in bytes.
const MOST_BYTES: usize = 80 * 1024;

impl Look<'_> {
    /// The key of the session that somebody names.
    pub(super) fn key(&self, named: &str) -> String {
        let policy = KeyPolicy::from_config(&self.opened.config);
        policy.resolve_main_alias(&self.opened.memory.places().agent, named).as_str().to_owned()
    }

    /// An answer, with what could not be looked at.
    pub(super) fn with_unread(&self, mut answer: Value, unread: Vec<String>) -> Value {
        if !unread.is_empty() {
            answer["unread"] = unread.into();
        }
        answer
    }

    /// Every transcript that may be seen, the latest first, and what could not be looked at.
    pub(super) async fn conversations(&self, filter: Filter) -> Result<(Vec<Listed>, Vec<String>), String> {
        self.ensure_conversations()?;
        let unread = self.opened.memory.freshen(PATIENCE).await;
        let viewer = self.viewer.clone();
        let listed =
            self.recalled(move |memory| memory.recall().conversations(&viewer, &filter, usize::MAX)).await?;
        Ok((listed, unread))
    }

    /// The transcripts of the session with this key or id, the latest first.
    pub(super) async fn named(&self, named: &str) -> Result<(Vec<Listed>, Vec<String>), String> {
        let key = self.key(named);
        let (mut listed, unread) = self.conversations(Filter::default()).await?;
        listed.retain(|one| {
            let is_key = |known: &str| known == key || known == named;
            one.session_key.as_deref().is_some_and(is_key) || one.session_id.as_deref() == Some(named)
        });
        if listed.is_empty() {
            return Err(no_session(named));
        }
        Ok((listed, unread))
    }

    pub(super) fn ensure_conversations(&self) -> Result<(), String> {
        let places = self.opened.memory.places();
        if places.has_sessions {
            return Ok(());
        }
        Err(format!(
            "what was said is no part of the memory of the agent {}: memorySearch.sources leaves sessions out",
            places.agent
        ))
    }

    pub(super) async fn recalled<T: Send + 'static>(
        &self,
        work: impl FnOnce(&yabby_memory::memory::Memory) -> Result<T, RecallError> + Send + 'static,
    ) -> Result<T, String> {
        self.opened.memory.blocking(work).await.map_err(|error: MemoryError| error.to_string())
    }
}

/// What may not be seen is not there.
pub(super) fn no_session(named: &str) -> String {
    format!("no session {named:?} can be seen; sessions_list tells which can")
}

/// Messages as they are told: each not too long, and no more than fit. The one that matters stays.
pub(super) fn fitting(units: &[Unit], mut matters: usize) -> Vec<Value> {
    let mut told: Vec<Value> = units.iter().map(shown::said).map(shortened).collect();
    let mut sizes: Vec<usize> = told.iter().map(|message| json::stringify(message).len()).collect();
    while told.len() > 1 && sizes.iter().sum::<usize>() > MOST_BYTES {
        // The farther end goes first, and of two the older.
        let at = if matters >= told.len() - 1 - matters { 0 } else { told.len() - 1 };
        told.remove(at);
        sizes.remove(at);
        matters -= usize::from(at == 0);
    }
    told
}

/// A message without the rest of a long text.
pub(super) fn shortened(mut message: Value) -> Value {
    if let Some(said) = message["text"].as_str()
        && let Some((end, _)) = said.char_indices().nth(LONGEST)
    {
        message["text"] = format!("{}…(cut)", &said[..end]).into();
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_that_matters_stays() {
        let unit =
            |number: usize| Unit { text: format!("{number:04}{}", "x".repeat(3990)), ..Unit::default() };
        let units: Vec<Unit> = (0..60).map(unit).collect();
        //  matters  first  last
        let table = [(59, 40, 59), (0, 0, 19), (30, 20, 39)];
        for (matters, first, last) in table {
            let told = fitting(&units, matters);
            let number = |message: &Value| message["text"].as_str().unwrap()[..4].parse::<usize>().unwrap();
            let (begin, end) = (number(&told[0]), number(told.last().unwrap()));
            assert!(begin.abs_diff(first) < 3 && end.abs_diff(last) < 3, "{matters}: {begin} to {end}");
            assert!((begin..=end).contains(&matters));
        }
        let long = Unit { text: "é".repeat(5000), ..Unit::default() };
        assert!(fitting(&[long], 0)[0]["text"].as_str().unwrap().ends_with("é…(cut)"));
        assert_eq!(fitting(&[], 0), [Value::Null; 0]);
    }
}
