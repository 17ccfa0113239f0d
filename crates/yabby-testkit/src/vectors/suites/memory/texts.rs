//! `chunk-markdown.json`, `hash-text.json`, `paths.json`, `redact.json`, `truncate-utf16.json`.

use serde_json::json;
use yabby_domain::json::Value;
use yabby_memory::compat::{chunking, keys, paths, redaction, snippet};
use yabby_memory::settings::Chunking;

use crate::vectors::Case;

pub fn chunk_markdown(case: &Case) -> Option<Value> {
    let size = Chunking { tokens: case.arg("tokens").as_f64()?, overlap: case.arg("overlap").as_f64()? };
    let chunks = chunking::chunks(case.text("content")?, size);
    let shown = chunks.into_iter().map(|chunk| {
        json!({
            "startLine": chunk.start_line,
            "endLine": chunk.end_line,
            "text": chunk.text,
            "hash": chunk.hash,
        })
    });
    Some(shown.collect())
}

pub fn hash_text(case: &Case) -> Option<Value> {
    Some(json!(keys::hash_text(case.input.as_str()?)))
}

pub fn paths(case: &Case) -> Option<Value> {
    let path = case.input.as_str()?;
    Some(json!({"normalized": paths::normalized(path), "isMemoryPath": paths::is_memory_path(path)}))
}

pub fn redact(case: &Case) -> Option<Value> {
    Some(json!(redaction::redacted(case.input.as_str()?)))
}

pub fn truncate(case: &Case) -> Option<Value> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let most = case.arg("maxLen").as_f64()?.floor() as usize;
    Some(json!(snippet::truncated(case.text("text")?, most)))
}
