//! The prepared contexts of the conversations that were used last.

use std::sync::Mutex;

use indexmap::IndexMap;
use yabby_domain::prepared::PreparedContext;
use yabby_domain::transcript::file_name::TranscriptId;

use crate::home::AgentHome;
use crate::unpoisoned;

const MAX_CONTEXTS: usize = 64;
const MAX_BYTES: usize = 8 * 1024 * 1024;

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
        let mut bytes: usize = contexts.values().map(PreparedContext::bytes).sum();
        while contexts.len() > MAX_CONTEXTS || (bytes > MAX_BYTES && contexts.len() > 1) {
            let Some((_, oldest)) = contexts.shift_remove_index(0) else { return };
            bytes -= oldest.bytes();
        }
    }
}
