//! Which model is asked when another one cannot answer (`sessions.md` §15).

use std::time::Duration;

use tokio::time::Instant;
use yabby_domain::config::Config;
use yabby_domain::id::AgentId;
use yabby_domain::model::{ModelAliases, ModelRef};
use yabby_domain::seam::model::ModelErrorKind;
use yabby_domain::text;

/// The models to try after `chosen`, in order: those that are configured for the agent, else for all; where
/// the session was switched to another model, its usual one comes last.
pub(crate) fn fallbacks(
    config: &Config,
    agent: &AgentId,
    chosen: &ModelRef,
    usual: &ModelRef,
) -> Vec<ModelRef> {
    let aliases = ModelAliases::from_config(config, &usual.provider);
    let own = config.agent(agent).and_then(|entry| entry.model.as_ref()?.fallbacks());
    let all = || config.agents.defaults.model.as_ref()?.fallbacks();
    let named = own.or_else(all).into_iter().flatten().filter_map(|name| text::non_blank(name));
    let mut models: Vec<ModelRef> =
        named.filter_map(|name| Some(aliases.resolve(name, &usual.provider)?.0)).collect();
    models.push(usual.clone());
    let mut unique: Vec<ModelRef> = Vec::new();
    for model in models.into_iter().filter(|model| model != chosen) {
        if !unique.contains(&model) {
            unique.push(model);
        }
    }
    unique
}

/// Whether another model may do what this one could not. A request that one provider finds fault with, the
/// next one would find fault with, too.
pub(crate) fn is_worth_another(kind: ModelErrorKind, deadline: Instant) -> bool {
    let has_time = deadline.saturating_duration_since(Instant::now()) > Duration::from_secs(1);
    match kind {
        ModelErrorKind::RateLimited { .. }
        | ModelErrorKind::Overloaded
        | ModelErrorKind::Auth
        | ModelErrorKind::Billing
        | ModelErrorKind::TimedOut
        | ModelErrorKind::Unavailable
        | ModelErrorKind::Broken => has_time,
        ModelErrorKind::ContextOverflow | ModelErrorKind::Refused | ModelErrorKind::BadRequest => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_model_comes_last() {
        let config = Config::new(serde_json::json!({
            "agents": {
                "defaults": {
                    "model": {"primary": "a/one", "fallbacks": ["b/two", "three", "a/one"]},
                    "models": {"c/3": {"alias": "three"}},
                },
                "list": [{"id": "ops", "model": {"primary": "x/1", "fallbacks": ["x/2"]}}],
            },
        }));
        let model = |text: &str| ModelRef::parse(text, "a").unwrap();
        let table = [
            ("main", "a/one", "a/one", vec!["b/two", "c/3"]),
            ("main", "c/3", "a/one", vec!["b/two", "a/one"]),
            ("ops", "x/1", "x/1", vec!["x/2"]),
            ("ops", "b/two", "x/1", vec!["x/2", "x/1"]),
        ];
        for (agent, chosen, usual, expected) in table {
            let found = fallbacks(&config, &AgentId::normalize(agent), &model(chosen), &model(usual));
            let found: Vec<String> = found.iter().map(ToString::to_string).collect();
            assert_eq!(found, expected, "{agent} {chosen}");
        }
    }
}
