//! Hashes, and the ids that are made of them (`memory.md` §3).

use serde_json::json;
use sha2::{Digest as _, Sha256};
use yabby_domain::json::{Value, stringify};
use yabby_domain::{collation, text};

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

/// The key of a provider for which nothing else decides about the vectors: Voyage, a local model, ….
pub fn plain_provider_key(provider: &str, model: &str) -> String {
    hash_text(&stringify(&json!({"provider": provider, "model": model})))
}

/// The key of OpenAI and of Gemini: whoever answers at an address, asked with these headers. Keys are no
/// part of it.
pub fn remote_provider_key(
    provider: &str,
    base_url: &str,
    model: &str,
    headers: &[(String, String)],
) -> String {
    let is_key = |name: &str| {
        let name = text::lower(name);
        name == "authorization" || (provider == "gemini" && name == "x-goog-api-key")
    };
    let mut headers: Vec<&(String, String)> = headers.iter().filter(|(name, _)| !is_key(name)).collect();
    headers.sort_by(|(left, _), (right, _)| collation::compare(left, right));
    let headers: Vec<Value> = headers.into_iter().map(|(name, value)| json!([name, value])).collect();
    hash_text(&stringify(&json!({
        "provider": provider, "baseUrl": base_url, "model": model, "headers": headers,
    })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_those_of_the_reference() {
        let headers = |list: &[(&str, &str)]| -> Vec<(String, String)> {
            list.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        // As it stands in `vectors/memory/e2e-index.json`.
        let expected = "061557bd0a393afb8db32dd33b2d27e3ded7c5324073e9d591fd40f2125810df";
        let asked = headers(&[("Authorization", "Bearer x"), ("Content-Type", "application/json")]);
        assert_eq!(
            remote_provider_key("openai", "http://127.0.0.1:18977/v1", "fake-embed", &asked),
            expected
        );
        let either = headers(&[("X-Goog-Api-Key", "k"), ("b", "2"), ("A", "1")]);
        assert_eq!(
            remote_provider_key("gemini", "u", "m", &either),
            hash_text(r#"{"provider":"gemini","baseUrl":"u","model":"m","headers":[["A","1"],["b","2"]]}"#)
        );
        assert_eq!(
            plain_provider_key("local", "m.gguf"),
            "1c60df80c029265bc029a0e0d8f4e7dc4a5c214a8f8fd9180b4f7ae1150603dd"
        );
    }
}
