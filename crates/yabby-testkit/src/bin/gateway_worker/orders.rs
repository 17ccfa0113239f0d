//! What is to be measured, and how often.

use std::time::Duration;

use serde::Deserialize;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Orders {
    /// At least one: everything else is asked of the last one that was started.
    pub starts: usize,
    /// How long it is left alone before its memory is read.
    pub settle_ms: u64,
    pub lists: usize,
    /// Lists of everything that is stored.
    pub whole_lists: usize,
    /// Lists that are wanted several at once.
    pub many_lists: usize,
    /// Turns through `agent`, one after the other.
    pub agent: usize,
    /// Turns through `chat.send`, one after the other.
    pub chat: usize,
    /// Turns through `agent` in several sessions.
    pub at_once: usize,
    /// In how many.
    pub talking: usize,
    pub clients: usize,
    pub broadcasts: usize,
    /// The turns of one long conversation whose cost is read, in order.
    #[serde(default)]
    pub long_conversation: Vec<usize>,
    /// The turns after which memory is read, in order, and in how many sessions they are taken.
    #[serde(default)]
    pub memory_marks: Vec<usize>,
    #[serde(default)]
    pub memory_sessions: usize,
    /// Turns through `agent` with a pause behind each.
    #[serde(default)]
    pub paced: usize,
    #[serde(default)]
    pub pause_ms: u64,
}

impl Orders {
    pub fn settle(&self) -> Duration {
        Duration::from_millis(self.settle_ms)
    }

    pub fn pause(&self) -> Duration {
        Duration::from_millis(self.pause_ms)
    }
}
