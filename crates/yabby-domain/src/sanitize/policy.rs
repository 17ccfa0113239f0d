//! What each provider needs done to a history (`transcripts.md` §8).

use super::signatures::ThoughtSignatures;
use crate::repair::ids::IdForm;
use crate::text;

/// The model that a history is sent to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModelTarget<'t> {
    pub api: Option<&'t str>,
    pub provider: Option<&'t str>,
    pub model: Option<&'t str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SanitizeMode {
    Full,
    ImagesOnly,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TranscriptPolicy {
    pub mode: SanitizeMode,
    /// The form of tool call ids, where `rewrite_ids` asks for one.
    pub id_form: Option<IdForm>,
    pub rewrite_ids: bool,
    /// Whether calls and results are paired, with made-up results where one is missing.
    pub pair_results: bool,
    pub keep_signatures: bool,
    pub thought_signatures: ThoughtSignatures,
    /// Whether thinking without a valid signature has to go.
    pub antigravity_thinking: bool,
    /// Whether the history has to begin with a user turn.
    pub google_turn_order: bool,
    pub join_assistant_turns: bool,
    pub join_user_turns: bool,
}

impl TranscriptPolicy {
    pub fn of(target: &ModelTarget<'_>) -> Self {
        let provider = provider_id(target.provider.unwrap_or_default());
        let api = target.api.unwrap_or_default();
        let model = text::lower(target.model.unwrap_or_default());

        let openai = is_openai(&provider, api);
        let google = matches!(api, "google-gemini-cli" | "google-generative-ai" | "google-antigravity");
        let anthropic = api == "anthropic-messages" || provider == "anthropic";
        let mistral = is_mistral(&provider, &model);
        let routed_gemini =
            matches!(provider.as_str(), "openrouter" | "opencode") && model.contains("gemini");
        let is_antigravity = provider == "google-antigravity" || text::lower(api) == "google-antigravity";
        let antigravity_claude = is_antigravity && model.contains("claude");

        let needs_full = google || anthropic || mistral || routed_gemini;
        Self {
            mode: if needs_full && !openai { SanitizeMode::Full } else { SanitizeMode::ImagesOnly },
            id_form: if mistral { Some(IdForm::Strict9) } else { google.then_some(IdForm::Strict) },
            rewrite_ids: !openai && (google || mistral),
            pair_results: !openai && (google || anthropic),
            keep_signatures: antigravity_claude,
            thought_signatures: if routed_gemini && !openai {
                ThoughtSignatures::OnlyBase64
            } else {
                ThoughtSignatures::NoMessageIds
            },
            antigravity_thinking: antigravity_claude,
            google_turn_order: !openai && google,
            join_assistant_turns: !openai && google,
            join_user_turns: !openai && anthropic,
        }
    }
}

fn is_openai(provider: &str, api: &str) -> bool {
    match provider {
        "" => matches!(api, "openai" | "openai-completions" | "openai-responses" | "openai-codex-responses"),
        _ => matches!(provider, "openai" | "openai-codex"),
    }
}

/// Whether a model is one of Mistral's, wherever it is hosted.
pub(crate) fn is_mistral(provider: &str, model: &str) -> bool {
    const NAMES: [&str; 7] =
        ["mistral", "mixtral", "codestral", "pixtral", "devstral", "ministral", "mistralai"];
    provider == "mistral" || NAMES.iter().any(|name| model.contains(name))
}

/// A provider's name as policies know it: trimmed, in lower case, without aliases.
pub(crate) fn provider_id(provider: &str) -> String {
    let provider = text::lower(text::trim(provider));
    match provider.as_str() {
        "z.ai" | "z-ai" => "zai".to_owned(),
        "opencode-zen" => "opencode".to_owned(),
        "qwen" => "qwen-portal".to_owned(),
        "kimi-code" => "kimi-coding".to_owned(),
        _ => provider,
    }
}

impl ModelTarget<'_> {
    /// Whether anything at all is known about the model.
    pub fn is_known(&self) -> bool {
        [self.api, self.provider, self.model].into_iter().flatten().any(|text| !text.is_empty())
    }

    pub fn is_openai_responses(&self) -> bool {
        matches!(self.api, Some("openai-responses" | "openai-codex-responses"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_provider_gets_what_it_needs() {
        use SanitizeMode::{Full, ImagesOnly};
        //  api                     provider        model               mode        ids                    pairs
        let table = [
            ("anthropic-messages", "anthropic", "claude", Full, None, true),
            ("anthropic-messages", "minimax", "M2", Full, None, true),
            ("openai-responses", "openai", "gpt-5.2", ImagesOnly, None, false),
            ("openai-completions", "", "mistral-x", ImagesOnly, None, false),
            ("google-generative-ai", "google", "gemini-3", Full, Some(IdForm::Strict), true),
            ("openai-completions", "openrouter", "mistralai/devstral", Full, Some(IdForm::Strict9), false),
            ("openai-completions", " OpenRouter ", "google/Gemini-3", Full, None, false),
            ("openai-completions", "groq", "llama", ImagesOnly, None, false),
            ("bedrock-converse-stream", "amazon-bedrock", "anthropic.claude", ImagesOnly, None, false),
        ];
        for (api, provider, model, mode, ids, pairs) in table {
            let target = ModelTarget { api: Some(api), provider: Some(provider), model: Some(model) };
            let policy = TranscriptPolicy::of(&target);
            let rewritten = policy.id_form.filter(|_| policy.rewrite_ids);
            assert_eq!((policy.mode, rewritten, policy.pair_results), (mode, ids, pairs), "{target:?}");
        }
    }
}
