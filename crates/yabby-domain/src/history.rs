//! The group history buffer: what was said since the agent's last reply (`sessions.md` §13).

use std::collections::VecDeque;

use crate::text;

/// How many conversations the book remembers.
pub const MAX_CONVERSATIONS: usize = 1000;
/// How many messages of a group are kept unless configured otherwise.
pub const DEFAULT_GROUP_LIMIT: usize = 50;
/// Stands above the messages that were said before.
pub const CONTEXT_MARKER: &str = "[Chat messages since your last reply - for context]";
/// Stands above the message to be answered.
pub const CURRENT_MESSAGE_MARKER: &str = "[Current message - respond to this]";

/// A message that nobody asked the agent to answer.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryEntry {
    pub sender: String,
    pub body: String,
    /// Milliseconds since 1970.
    pub timestamp: Option<f64>,
    pub message_id: Option<String>,
}

/// The pending messages of every conversation. A limit of 0 switches the history off.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HistoryBook {
    /// The conversation that was silent longest comes first.
    conversations: VecDeque<(String, Vec<HistoryEntry>)>,
}

impl HistoryBook {
    /// Keeps the newest `limit` messages of the conversation, and the conversations that spoke last.
    /// Returns what the conversation holds now.
    pub fn append(&mut self, key: &str, entry: HistoryEntry, limit: usize) -> &[HistoryEntry] {
        if limit == 0 {
            return &[];
        }
        let known = self.position(key).and_then(|at| self.conversations.remove(at));
        let (key, mut entries) = known.unwrap_or_else(|| (key.to_owned(), Vec::new()));
        entries.push(entry);
        entries.drain(..entries.len().saturating_sub(limit));
        self.conversations.push_back((key, entries));
        self.evict(MAX_CONVERSATIONS);
        self.conversations.back().map_or(&[], |(_, entries)| entries)
    }

    /// Forgets the conversations that were silent longest, down to `most`.
    pub fn evict(&mut self, most: usize) {
        self.conversations.drain(..self.conversations.len().saturating_sub(most));
    }

    /// The agent has answered: what was pending no longer is. The conversation keeps its place.
    pub fn clear(&mut self, key: &str) {
        match self.position(key) {
            Some(at) => self.conversations[at].1.clear(),
            None => self.conversations.push_back((key.to_owned(), Vec::new())),
        }
    }

    /// The agent was told these messages; what came in since is still pending.
    pub fn forget(&mut self, key: &str, told: &[HistoryEntry]) {
        if let Some(at) = self.position(key) {
            self.conversations[at].1.retain(|entry| !told.contains(entry));
        }
    }

    /// What the agent has not been told yet.
    pub fn pending(&self, key: &str, limit: usize) -> &[HistoryEntry] {
        if limit == 0 {
            return &[];
        }
        self.position(key).map_or(&[], |at| &self.conversations[at].1)
    }

    /// The conversations with their entries, the one that was silent longest first.
    pub fn conversations(&self) -> impl ExactSizeIterator<Item = (&str, &[HistoryEntry])> {
        self.conversations.iter().map(|(key, entries)| (key.as_str(), entries.as_slice()))
    }

    fn position(&self, key: &str) -> Option<usize> {
        self.conversations.iter().position(|(other, _)| other == key)
    }
}

impl FromIterator<(String, Vec<HistoryEntry>)> for HistoryBook {
    fn from_iter<I: IntoIterator<Item = (String, Vec<HistoryEntry>)>>(conversations: I) -> Self {
        Self { conversations: conversations.into_iter().collect() }
    }
}

/// `current` below the text of a history; a blank history is left out.
pub fn with_history(history: &str, current: &str, line_break: &str) -> String {
    if text::non_blank(history).is_none() {
        return current.to_owned();
    }
    [CONTEXT_MARKER, history, "", CURRENT_MESSAGE_MARKER, current].join(line_break)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(body: &str) -> HistoryEntry {
        HistoryEntry { sender: "A".to_owned(), body: body.to_owned(), timestamp: None, message_id: None }
    }

    #[test]
    fn the_newest_messages_of_the_latest_conversations_are_kept() {
        let mut book = HistoryBook::default();
        assert!(book.append("a", said("1"), 0).is_empty());
        for body in ["1", "2", "3"] {
            book.append("a", said(body), 2);
        }
        assert_eq!(book.pending("a", 2), [said("2"), said("3")]);
        let mut told = book.clone();
        told.forget("a", &[said("1"), said("2")]);
        assert_eq!(told.pending("a", 2), [said("3")]);

        for n in 0..MAX_CONVERSATIONS {
            book.append(&n.to_string(), said("x"), 1);
        }
        assert_eq!(book.conversations().len(), MAX_CONVERSATIONS);
        assert!(book.pending("a", 2).is_empty(), "silent longest");
    }

    #[test]
    fn an_answered_conversation_keeps_its_place() {
        let mut book: HistoryBook =
            [("a".to_owned(), vec![said("1")]), ("b".to_owned(), vec![])].into_iter().collect();
        book.clear("a");
        book.clear("c");
        assert_eq!(book.conversations().map(|(key, _)| key).collect::<Vec<_>>(), ["a", "b", "c"]);
        assert!(book.pending("a", 2).is_empty());
    }

    #[test]
    fn the_current_message_stands_below_the_history() {
        let expected = "[Chat messages since your last reply - for context]\nA: 1\n\n\
                        [Current message - respond to this]\nnow";
        assert_eq!(with_history("A: 1", "now", "\n"), expected);
        assert_eq!(with_history("", "now", "\n"), "now");
        assert_eq!(with_history(" \n", "now", "\n"), "now");
    }
}
