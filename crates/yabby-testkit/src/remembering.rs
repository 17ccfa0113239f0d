//! A memory in a folder of a test.

use std::path::Path;
use std::sync::Arc;

use yabby_domain::config::Config;
use yabby_domain::id::AgentId;
use yabby_domain::json::Value;
use yabby_memory::memory::{Meaning, Memory, MemoryError, Parts, Places, Ranking};

use crate::memory_store::MemorySessions;

/// Everything of the main agent in one folder: `recall`, `sessions` and `workspace`.
pub fn places(folder: &Path) -> Places {
    Places {
        agent: AgentId::default(),
        index: folder.join("recall/main.sqlite"),
        transcripts: folder.join("sessions"),
        workspace: folder.join("workspace"),
        extra_paths: Vec::new(),
        has_notes: true,
        has_sessions: true,
    }
}

/// A memory with records that only this test knows.
pub fn memory(
    places: Places,
    sessions: &MemorySessions,
    config: Value,
    meaning: Option<Meaning>,
) -> Result<Memory, MemoryError> {
    let config = Arc::new(Config::new(config));
    Memory::open(Parts {
        places,
        config,
        sessions: Arc::new(sessions.clone()),
        secrets: Arc::default(),
        meaning,
        ranking: Ranking::Own,
    })
}
