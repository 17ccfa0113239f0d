//! Hashes, and the ids that are made of them (`memory.md` §3).

use sha2::{Digest as _, Sha256};

use yabby_domain::text;

use super::files::Source;

/// SHA-256 of the UTF-8 of a text, in hexadecimal digits; half a pair counts as U+FFFD.
pub fn hash_text(text: &str) -> String {
    Sha256::digest(text::to_outside(text).as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The id of a chunk. Two equal pieces of one long line share it.
pub fn chunk_id(
    source: Source,
    path: &str,
    start_line: usize,
    end_line: usize,
    hash: &str,
    model: &str,
) -> String {
    hash_text(&format!("{}:{path}:{start_line}:{end_line}:{hash}:{model}", source.as_str()))
}

/// The name of a chunk among those that a provider embeds as one job (`custom_id`).
pub fn job_text_id(
    source: Source,
    path: &str,
    start_line: usize,
    end_line: usize,
    hash: &str,
    index: usize,
) -> String {
    hash_text(&format!("{}:{path}:{start_line}:{end_line}:{hash}:{index}", source.as_str()))
}
