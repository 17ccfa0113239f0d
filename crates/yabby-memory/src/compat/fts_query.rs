//! What is asked of the full-text index, and what its answer is worth (`memory.md` §7).

/// The words of a query, all of which must be there. `None` if it has none: other scripts than Latin
/// have no words here.
pub fn fts_query(raw: &str) -> Option<String> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = raw.split(|c| !is_word(c)).filter(|word| !word.is_empty());
    let quoted: Vec<String> = words.map(|word| format!("\"{word}\"")).collect();
    (!quoted.is_empty()).then(|| quoted.join(" AND "))
}

/// The score of a hit. SQLite ranks every real hit below zero, so all of them score 1: the reference's
/// ranking is this way, and its order of hits depends on it.
pub fn text_score(rank: f64) -> f64 {
    let rank = if rank.is_finite() { rank.max(0.0) } else { 999.0 };
    1.0 / (1.0 + rank)
}
