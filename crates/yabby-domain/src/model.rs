//! Model references, aliases and the allowed set (`sessions.md` §15).

use crate::text;

/// The name a provider goes by.
pub fn normalize_provider(raw: &str) -> String {
    let name = text::lower(text::trim(raw));
    match name.as_str() {
        "z.ai" | "z-ai" => "zai".to_owned(),
        "opencode-zen" => "opencode".to_owned(),
        "qwen" => "qwen-portal".to_owned(),
        "kimi-code" => "kimi-coding".to_owned(),
        _ => name,
    }
}
