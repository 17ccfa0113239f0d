//! What is wrong in a configuration, and where (`config.md` §3).

use std::fmt;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// Keys and indexes joined by dots; empty for the whole file.
    pub path: String,
    pub message: String,
    /// What may stand there instead, where that can be said in a few words.
    pub allowed: Option<String>,
}

impl Issue {
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into(), allowed: None }
    }
}

impl fmt::Display for Issue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() { "<root>" } else { &self.path };
        write!(f, "{path}: {}", self.message)
    }
}
