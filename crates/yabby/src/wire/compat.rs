//! What the configuration says about a server that is a little different
//! (`models.providers.*.models[].compat`).

use yabby_domain::json::Value;
use yabby_models::settings::{Compat, MaxTokensField, ThinkingStyle};

/// What is known about a server, as far as the configuration does not say otherwise.
pub fn configured(known: Compat, section: Option<&Value>) -> Compat {
    let flag = |name: &str| section.and_then(|section| section.get(name)?.as_bool());
    let field = section.and_then(|section| section.get("maxTokensField")?.as_str());
    Compat {
        store: flag("supportsStore").unwrap_or(known.store),
        developer_role: flag("supportsDeveloperRole").unwrap_or(known.developer_role),
        thinking: match (flag("supportsReasoningEffort"), known.thinking) {
            (Some(false), ThinkingStyle::Usual | ThinkingStyle::EveryLevel) => ThinkingStyle::Unasked,
            (Some(true), ThinkingStyle::Unasked) => ThinkingStyle::Usual,
            // Other ways to ask have nothing to do with it.
            (_, style) => style,
        },
        max_tokens: match field {
            Some("max_tokens") => MaxTokensField::MaxTokens,
            Some("max_completion_tokens") => MaxTokensField::MaxCompletionTokens,
            _ => known.max_tokens,
        },
        ..known
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_not_said_stays_as_it_is_known() {
        for known in [Compat::default(), Compat::openai()] {
            assert_eq!(configured(known, None), known);
            assert_eq!(configured(known, Some(&json!({}))), known);
        }
        let zai = Compat { thinking: ThinkingStyle::Zai, ..Compat::default() };
        assert_eq!(configured(zai, Some(&json!({"supportsReasoningEffort": false}))), zai);
    }
}
