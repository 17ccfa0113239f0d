//! What every store promises, told as stories to each back end.
//!
//! A back end calls [`sessions`], [`transcripts`] and [`turns`] from a test of its own; a new promise is one more
//! story here, and holds for all of them.

mod sessions;
mod transcripts;
pub mod turns;

use std::sync::Arc;

use yabby_domain::seam::{SessionStore, TranscriptStore};

pub use sessions::tell as sessions;
pub use transcripts::tell as transcripts;
pub use turns::tell as turns;

/// A place where state is kept.
pub trait Backend: Send + Sync {
    /// A handle of its own on the records, as another process would have it.
    fn sessions(&self) -> Arc<dyn SessionStore>;

    /// A handle of its own on the conversations.
    fn transcripts(&self) -> Arc<dyn TranscriptStore>;
}
