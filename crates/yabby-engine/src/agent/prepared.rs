//! The prepared contexts of the conversations that were used last.

use std::sync::Mutex;

use indexmap::IndexMap;
use yabby_domain::prepared::PreparedContext;
use yabby_domain::transcript::file_name::TranscriptId;

use crate::home::AgentHome;
use crate::unpoisoned;

const MAX_CONTEXTS: usize = 64;
/// The contexts together, without the one that was used last: that may be as long as its model can read, but many at once
/// must not take ever more memory while they grow.
const MAX_OTHER_BYTES: usize = 512 * 1024;

#[derive(Default)]
pub(crate) struct PreparedContexts {
    /// By the folder and the name of the transcript, the one that was used last at the end. Shared, since every turn
    /// takes its own and brings it back.
    by_transcript: Mutex<IndexMap<(String, TranscriptId), PreparedContext>>,
}

impl PreparedContexts {
    /// Does something with the context of a conversation, which nobody else uses meanwhile.
    pub(crate) fn with<T>(
        &self,
        home: &AgentHome,
        transcript: &TranscriptId,
        act: impl FnOnce(&mut PreparedContext) -> T,
    ) -> T {
        let key = (home.conversations.clone(), transcript.clone());
        let mut context = unpoisoned(&self.by_transcript).shift_remove(&key).unwrap_or_default();
        let done = act(&mut context);
        self.keep(key, context);
        done
    }

    fn keep(&self, key: (String, TranscriptId), context: PreparedContext) {
        let mut contexts = unpoisoned(&self.by_transcript);
        contexts.insert(key, context);
        let mut others: usize = contexts.values().rev().skip(1).map(PreparedContext::bytes).sum();
        while contexts.len() > MAX_CONTEXTS || others > MAX_OTHER_BYTES {
            let Some((_, oldest)) = contexts.shift_remove_index(0) else { return };
            others = others.saturating_sub(oldest.bytes());
        }
    }
}
