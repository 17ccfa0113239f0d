//! A search as it is asked for, and what counts where nothing is said: the same for command lines, the gateway, tools
//! and other programs.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::audience::Viewer;
use crate::memory::{Memory, Search};
use crate::recall::Filter;
use crate::settings::usual_results;

/// What is looked for, by whom.
#[derive(Clone, Debug)]
pub struct SearchRequest {
    pub query: String,
    pub viewer: Viewer,
    pub filter: Filter,
    /// How many hits at most; `memorySearch.query.maxResults` of the agent if nothing is said, at least one.
    pub max_results: Option<f64>,
    /// Only what is at least so good, from 0 to 1; everything if nothing is said.
    pub min_score: Option<f64>,
    /// How many neighbours come with a hit, on each side.
    pub around: u32,
    pub now: Timestamp,
}

impl SearchRequest {
    /// The search in a memory.
    pub fn in_memory(self, memory: &Memory) -> Search {
        let usual = || usual_results(memory.config(), &memory.places().agent);
        let most = self.max_results.unwrap_or_else(usual).max(1.0);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "at least one, and saturates"
        )]
        let most = most as usize;
        #[expect(clippy::cast_possible_truncation, reason = "a score is not that precise")]
        let least = self.min_score.unwrap_or(0.0) as f32;
        Search {
            text: self.query,
            viewer: self.viewer,
            filter: self.filter,
            most,
            least,
            around: self.around,
            now: self.now,
            zone: TimeZone::system(),
        }
    }
}
