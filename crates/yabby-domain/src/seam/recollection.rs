//! The door to what is remembered about something, for whoever reads along (`memory.md` §6, §16).

use std::collections::HashSet;

use async_trait::async_trait;
use jiff::Timestamp;

use crate::recollection::Remembered;
use crate::session::key::SessionKey;

#[async_trait]
pub trait Recollection: Send + Sync {
    /// What is remembered about some words, the best first. Whoever cannot look remembers nothing.
    async fn recollect(&self, asked: Asked) -> Vec<Remembered>;

    /// Reads what was said until now, if that is still to be done.
    async fn catch_up(&self);
}

/// What is asked, and where the answer is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    pub words: String,
    pub session_key: SessionKey,
    pub session_id: String,
    /// The entries of that session which are told anyway, by id.
    pub told: HashSet<String>,
    /// The owner, and nobody listens.
    pub is_owner_alone: bool,
    pub most: usize,
    pub now: Timestamp,
}
