//! Hits by meaning and by words in one list (`memory.md` §8).

use super::files::Source;
use super::search::Hit;

/// A chunk that was found, by either way.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    pub id: String,
    pub path: String,
    pub source: Source,
    pub start_line: u64,
    pub end_line: u64,
    pub snippet: String,
    pub score: f64,
}

impl Found {
    pub(super) fn into_hit(self) -> Hit {
        Hit {
            path: self.path,
            start_line: self.start_line,
            end_line: self.end_line,
            score: self.score,
            snippet: self.snippet,
            source: self.source,
        }
    }
}

/// How much each way counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weights {
    pub vector: f64,
    pub text: f64,
}

/// The best first; of equals, those found by meaning, then in the order in which they came.
pub fn merge(by_meaning: Vec<Found>, by_words: Vec<Found>, weights: Weights) -> Vec<Hit> {
    struct Both {
        found: Found,
        vector: f64,
        text: f64,
    }
    let mut all: Vec<Both> = Vec::new();
    for found in by_meaning {
        let both = Both { vector: found.score, text: 0.0, found };
        // A row that is named twice counts as it was named last.
        match all.iter_mut().find(|known| known.found.id == both.found.id) {
            Some(known) => *known = both,
            None => all.push(both),
        }
    }
    for found in by_words {
        match all.iter_mut().find(|known| known.found.id == found.id) {
            Some(known) => {
                known.text = found.score;
                if !found.snippet.is_empty() {
                    known.found.snippet = found.snippet;
                }
            }
            None => all.push(Both { vector: 0.0, text: found.score, found }),
        }
    }
    let score = |both: &Both| weights.vector * both.vector + weights.text * both.text;
    let mut hits: Vec<Hit> =
        all.into_iter().map(|both| Hit { score: score(&both), ..both.found.into_hit() }).collect();
    sort_best_first(&mut hits, |hit| hit.score);
    hits
}

/// Descending by score; equals stay in their order.
pub fn sort_best_first<T>(list: &mut [T], score: impl Fn(&T) -> f64) {
    list.sort_by(|left, right| score(right).partial_cmp(&score(left)).unwrap_or(std::cmp::Ordering::Equal));
}
