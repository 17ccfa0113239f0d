//! What the configuration says about a server that is a little different
//! (`models.providers.*.models[].compat`).

use yabby_domain::config::models::{self, ModelCompatibility};
use yabby_models::settings::{Compat, MaxTokensField, ThinkingStyle};

/// What is known about a server, as far as the configuration does not say otherwise.
pub fn configured(known: Compat, said: &ModelCompatibility) -> Compat {
    Compat {
        store: said.supports_store.unwrap_or(known.store),
        developer_role: said.supports_developer_role.unwrap_or(known.developer_role),
        thinking: match (said.supports_reasoning_effort, known.thinking) {
            (Some(false), ThinkingStyle::Usual | ThinkingStyle::EveryLevel) => ThinkingStyle::Unasked,
            (Some(true), ThinkingStyle::Unasked) => ThinkingStyle::Usual,
            // Other ways to ask have nothing to do with it.
            (_, style) => style,
        },
        max_tokens: match said.max_tokens_field {
            Some(models::MaxTokensField::MaxTokens) => MaxTokensField::MaxTokens,
            Some(models::MaxTokensField::MaxCompletionTokens) => MaxTokensField::MaxCompletionTokens,
            None => known.max_tokens,
        },
        ..known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_said_stays_as_it_is_known() {
        for known in [Compat::default(), Compat::openai()] {
            assert_eq!(configured(known, &ModelCompatibility::default()), known);
        }
        let zai = Compat { thinking: ThinkingStyle::Zai, ..Compat::default() };
        let said =
            ModelCompatibility { supports_reasoning_effort: Some(false), ..ModelCompatibility::default() };
        assert_eq!(configured(zai, &said), zai);
    }
}
