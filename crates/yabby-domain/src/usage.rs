//! Token usage: its many spellings, prompt tokens, what is recorded after a run (`sessions.md` §14).

use crate::json::{Object, Value};
use crate::session::cli_session;
use crate::session::entry::{Patch, SessionEntry};

/// What a run used, in tokens; `None` where the provider did not say.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    pub input: Option<f64>,
    pub output: Option<f64>,
    pub cache_read: Option<f64>,
    pub cache_write: Option<f64>,
    pub total: Option<f64>,
}

const INPUT: &[&str] = &["input", "inputTokens", "input_tokens", "promptTokens", "prompt_tokens"];
const OUTPUT: &[&str] = &["output", "outputTokens", "output_tokens", "completionTokens", "completion_tokens"];
const CACHE_READ: &[&str] = &["cacheRead", "cache_read", "cache_read_input_tokens"];
const CACHE_WRITE: &[&str] = &["cacheWrite", "cache_write", "cache_creation_input_tokens"];
const TOTAL: &[&str] = &["total", "totalTokens", "total_tokens"];

impl Usage {
    /// The usage in a provider's report, whichever spelling it uses; none if there is nothing.
    ///
    /// The first spelling that is not null counts, even if what stands there is no number.
    pub fn normalize(raw: &Object) -> Option<Self> {
        let tokens = |names: &[&str]| {
            let first = names.iter().find_map(|name| raw.get(*name).filter(|value| !value.is_null()))?;
            first.as_f64().filter(|n| n.is_finite())
        };
        let usage = Self {
            input: tokens(INPUT),
            output: tokens(OUTPUT),
            cache_read: tokens(CACHE_READ),
            cache_write: tokens(CACHE_WRITE),
            total: tokens(TOTAL),
        };
        (usage != Self::default()).then_some(usage)
    }

    /// How large the prompt was: everything that was read, from a cache or not.
    pub fn prompt_tokens(&self) -> Option<f64> {
        let parts = [self.input, self.cache_read, self.cache_write];
        let sum: f64 = parts.into_iter().map(|part| part.unwrap_or(0.0)).sum();
        (sum > 0.0).then_some(sum)
    }

    pub fn is_nonzero(&self) -> bool {
        let parts = [self.input, self.output, self.cache_read, self.cache_write, self.total];
        parts.into_iter().flatten().any(|part| part.is_finite() && part > 0.0)
    }
}

/// What a run leaves behind for the record.
#[derive(Clone, Debug, Default)]
pub struct RunUsage<'a> {
    pub usage: Option<Usage>,
    pub model: Option<&'a str>,
    pub provider: Option<&'a str>,
    pub context_tokens: Option<f64>,
    pub system_prompt_report: Option<&'a Object>,
    pub cli_session_id: Option<&'a str>,
}

/// The changes after a run; none if the run says nothing worth keeping.
pub fn usage_patch(entry: &SessionEntry, run: &RunUsage<'_>, now: f64) -> Option<Patch> {
    let usage = run.usage.filter(Usage::is_nonzero);
    let knows_model =
        run.model.is_some_and(|model| !model.is_empty()) || run.context_tokens.is_some_and(|n| n != 0.0);
    if usage.is_none() && !knows_model {
        return None;
    }
    let mut patch = Patch::default();
    if let Some(usage) = usage {
        let input = usage.input.unwrap_or(0.0);
        patch.set_input_tokens(Some(input));
        patch.set_output_tokens(Some(usage.output.unwrap_or(0.0)));
        patch.set_total_tokens(Some(usage.prompt_tokens().or(usage.total).unwrap_or(input)));
    }
    // What the run does not say stays as it was, whatever it was.
    patch.put("modelProvider", run.provider.map(Value::from).or_else(|| entry.get("modelProvider").cloned()));
    patch.put("model", run.model.map(Value::from).or_else(|| entry.get("model").cloned()));
    patch.put(
        "contextTokens",
        run.context_tokens.map(crate::json::number).or_else(|| entry.get("contextTokens").cloned()),
    );
    let report = run.system_prompt_report.cloned().map(Value::Object);
    patch.put("systemPromptReport", report.or_else(|| entry.get("systemPromptReport").cloned()));
    patch.set_updated_at(Some(now));
    let provider = run.provider.or_else(|| entry.model_provider()).filter(|provider| !provider.is_empty());
    if let (Some(provider), Some(id)) = (provider, run.cli_session_id.filter(|id| !id.is_empty())) {
        cli_session::remember(&mut patch, entry, provider, id);
    }
    Some(patch)
}

/// The changes after a compaction. With the new size known, the old breakdown is void.
pub fn compacted(entry: &SessionEntry, now: f64, tokens_after: Option<f64>) -> Patch {
    let mut patch = Patch::default();
    patch.set_compaction_count(Some(entry.compaction_count().unwrap_or(0.0) + 1.0));
    patch.set_updated_at(Some(now));
    if let Some(tokens) = tokens_after.filter(|tokens| *tokens > 0.0) {
        patch.set_total_tokens(Some(tokens));
        patch.set_input_tokens(None);
        patch.set_output_tokens(None);
    }
    patch
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_first_spelling_counts_even_if_it_is_no_number() {
        let usage = |value: Value| Usage::normalize(value.as_object().unwrap());
        assert_eq!(usage(json!({"prompt_tokens": 5})).unwrap().input, Some(5.0));
        assert_eq!(usage(json!({"input": null, "input_tokens": 5})).unwrap().input, Some(5.0));
        assert_eq!(usage(json!({"input": "many", "input_tokens": 5})), None);
        assert_eq!(usage(json!({})), None);
    }

    #[test]
    fn the_prompt_is_what_was_read() {
        let usage =
            Usage { input: Some(100.0), output: Some(20.0), cache_read: Some(50.0), ..Usage::default() };
        assert_eq!(usage.prompt_tokens(), Some(150.0));
        assert_eq!(Usage { output: Some(20.0), ..Usage::default() }.prompt_tokens(), None);
    }
}
