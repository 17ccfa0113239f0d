//! Values put into a configuration where it has none (`config.md` §2.5).
//!
//! The defaults of the schema are filled in by [`crate::validate`]; these depend on other keys. All
//! other defaults live in the code that uses the key.

use serde_json::{Value, json};
use yabby_base::json::{self, Object};
use yabby_base::model_ref::ModelRef;
use yabby_base::text;

use crate::key_path::Step;
use crate::legacy::ensure;
use crate::sections::agents::compaction::Compaction;
use crate::sections::agents::defaults::{AgentDefaults, SubagentDefaults};
use crate::sections::logging::Logging;
use crate::sections::messages::Messages;
use crate::sections::models::ModelDefinition;

/// What `config get` shows and what gets written.
pub fn fill(config: &mut Value) {
    let Value::Object(root) = config else { return };
    main_key(root);
    concurrency(root);
    models(root);
    aliases(root);
    acknowledgement(root);
    redaction(root);
}

/// What a program runs with: the values that show, and those that follow from how it signs in.
pub fn fill_for_run(config: &mut Value, env: &dyn Fn(&str) -> Option<String>) {
    fill(config);
    let Value::Object(root) = config else { return };
    prompt_cache(root, env);
    compaction(root);
    // The primary model may have become an entry of the catalog.
    aliases(root);
}

/// What is shown where there is no file at all.
pub fn without_file(env: &dyn Fn(&str) -> Option<String>) -> Value {
    let mut root = Object::new();
    acknowledgement(&mut root);
    concurrency(&mut root);
    prompt_cache(&mut root, env);
    compaction(&mut root);
    Value::Object(root)
}

/// What an answer tells of the configuration: unlike `config.get`, not how messages are acknowledged and what the
/// log leaves out, where nobody said that.
pub fn as_said(config: &Value, said: &Value) -> Value {
    let mut told = config.clone();
    for (section, name) in [("messages", "ackReactionScope"), ("logging", "redactSensitive")] {
        if said.get(section).is_some_and(|said| said.get(name).is_some()) {
            continue;
        }
        let Some(sections) = told.as_object_mut() else { return told };
        let Some(fields) = sections.get_mut(section).and_then(Value::as_object_mut) else { continue };
        fields.shift_remove(name);
        if fields.is_empty() && said.get(section).is_none() {
            sections.shift_remove(section);
        }
    }
    told
}

/// The main session has one name, whatever is written.
fn main_key(root: &mut Object) {
    if let Some(key) = at(root, &["session"]).and_then(|session| session.get_mut("mainKey")) {
        *key = "main".into();
    }
}

fn concurrency(root: &mut Object) {
    let defaults = ensure(ensure(root, "agents"), "defaults");
    let is_number = |value: Option<&Value>| value.is_some_and(Value::is_number);
    if !is_number(defaults.get("maxConcurrent")) {
        defaults.insert("maxConcurrent".to_owned(), json::number(AgentDefaults::default().max_concurrent()));
    }
    let subagents = ensure(defaults, "subagents");
    if !is_number(subagents.get("maxConcurrent")) {
        subagents
            .insert("maxConcurrent".to_owned(), json::number(SubagentDefaults::default().max_concurrent()));
    }
}

fn acknowledgement(root: &mut Object) {
    ensure(root, "messages")
        .entry("ackReactionScope")
        .or_insert_with(|| Messages::default().ack_reaction_scope().word().into());
}

fn redaction(root: &mut Object) {
    if let Some(logging) = at(root, &["logging"])
        && !logging.get("redactSensitive").is_some_and(json::truthy)
    {
        logging.insert("redactSensitive".to_owned(), Logging::default().redact_sensitive().word().into());
    }
}

/// Whether steps lead to what is filled in of models.
pub fn is_of_models(steps: &[Step]) -> bool {
    let begins = |path: &[&str]| {
        path.iter().zip(steps).filter(|(name, step)| matches!(step, Step::Key(key) if key == *name)).count()
            == path.len()
    };
    begins(&["models"]) || begins(&["agents", "defaults", "models"])
}

/// Models of providers that a person adds.
fn models(root: &mut Object) {
    let providers =
        at(root, &["models", "providers"]).into_iter().flat_map(|providers| providers.values_mut());
    for provider in providers {
        let Some(Value::Array(models)) = provider.get_mut("models") else { continue };
        models.iter_mut().filter_map(Value::as_object_mut).for_each(complete_model);
    }
}

fn complete_model(model: &mut Object) {
    let usual = ModelDefinition::default();
    let positive = |value: Option<&Value>| value.and_then(Value::as_f64).filter(|number| *number > 0.0);
    if !model.get("reasoning").is_some_and(Value::is_boolean) {
        model.insert("reasoning".to_owned(), usual.reasoning().into());
    }
    model.entry("input").or_insert_with(|| json!(["text"]));
    let cost = ["input", "output", "cacheRead", "cacheWrite"].map(|part| {
        let price = model.get("cost").and_then(|cost| cost.get(part)).filter(|price| price.is_number());
        (part.to_owned(), price.cloned().unwrap_or_else(|| 0.into()))
    });
    model.insert("cost".to_owned(), Value::Object(Object::from_iter(cost)));
    let window = positive(model.get("contextWindow")).unwrap_or(usual.context_window());
    if positive(model.get("contextWindow")).is_none() {
        model.insert("contextWindow".to_owned(), json::number(window));
    }
    if positive(model.get("maxTokens")).is_none() {
        model.insert("maxTokens".to_owned(), json::number(window.min(usual.max_tokens())));
    }
}

const ALIASES: [(&str, &str); 6] = [
    ("opus", "anthropic/claude-opus-4-5"),
    ("sonnet", "anthropic/claude-sonnet-4-5"),
    ("gpt", "openai/gpt-5.2"),
    ("gpt-mini", "openai/gpt-5-mini"),
    ("gemini", "google/gemini-3-pro-preview"),
    ("gemini-flash", "google/gemini-3-flash-preview"),
];

/// Short names of well-known models, where the catalog has them without a name.
fn aliases(root: &mut Object) {
    let Some(catalog) = at(root, &["agents", "defaults", "models"]) else { return };
    for (alias, model) in ALIASES {
        if let Some(Value::Object(entry)) = catalog.get_mut(model) {
            entry.entry("alias").or_insert_with(|| alias.into());
        }
    }
}

/// How a person signs in to Anthropic.
#[derive(Clone, Copy, PartialEq)]
enum AnthropicAuth {
    ApiKey,
    Subscription,
}

impl AnthropicAuth {
    fn of_mode(mode: &Value) -> Option<Self> {
        match mode.as_str()? {
            "api_key" => Some(Self::ApiKey),
            "oauth" | "token" => Some(Self::Subscription),
            _ => None,
        }
    }

    /// By the first usable profile in the order, else the only kind there is, else the environment.
    fn find(root: &Object, env: &dyn Fn(&str) -> Option<String>) -> Option<Self> {
        let auth = root.get("auth").unwrap_or(&Value::Null);
        let profiles = auth["profiles"].as_object();
        let mode = |profile: &Value| {
            Some(profile)
                .filter(|profile| profile["provider"] == "anthropic")
                .and_then(|p| Self::of_mode(&p["mode"]))
        };
        let order = auth["order"]["anthropic"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let ordered = order.filter_map(|id| mode(profiles?.get(id)?)).next();
        let mut kinds = profiles.into_iter().flat_map(|profiles| profiles.values()).filter_map(mode);
        let only = kinds.next().filter(|first| kinds.all(|kind| kind == *first));
        let is_set = |name| env(name).as_deref().and_then(text::non_blank).is_some();
        ordered.or(only).or_else(|| {
            let kinds = [("ANTHROPIC_OAUTH_TOKEN", Self::Subscription), ("ANTHROPIC_API_KEY", Self::ApiKey)];
            kinds.into_iter().find(|(name, _)| is_set(name)).map(|(_, kind)| kind)
        })
    }
}

/// Anthropic keeps prompts for a while and bills less for what it kept: prune and wake in its rhythm.
fn prompt_cache(root: &mut Object, env: &dyn Fn(&str) -> Option<String>) {
    let Some(auth) = AnthropicAuth::find(root, env) else { return };
    let Some(defaults) = at(root, &["agents", "defaults"]) else { return };
    let lacks =
        |section: &str, key: &str| defaults.get(section).and_then(|section| section.get(key)).is_none();
    let (unpruned, unpaced) = (lacks("contextPruning", "mode"), lacks("heartbeat", "every"));
    if unpruned {
        let pruning = ensure(defaults, "contextPruning");
        pruning.insert("mode".to_owned(), "cache-ttl".into());
        pruning.entry("ttl").or_insert_with(|| "1h".into());
    }
    if unpaced {
        let every = if auth == AnthropicAuth::Subscription { "1h" } else { "30m" };
        ensure(defaults, "heartbeat").insert("every".to_owned(), every.into());
    }
    if auth == AnthropicAuth::ApiKey {
        short_retention(defaults);
    }
}

fn short_retention(defaults: &mut Object) {
    let keep_shortly = |entry: &mut Object| {
        let params = ensure(entry, "params");
        if !params.get("cacheRetention").is_some_and(Value::is_string) {
            params.insert("cacheRetention".to_owned(), "short".into());
        }
    };
    let is_anthropic = |model: &ModelRef| model.provider == "anthropic";
    for (name, entry) in at(defaults, &["models"]).into_iter().flatten() {
        if let (Some(_), Value::Object(entry)) =
            (ModelRef::parse(name, "anthropic").filter(is_anthropic), entry)
        {
            keep_shortly(entry);
        }
    }
    let primary =
        json::at(defaults.get("model").unwrap_or(&Value::Null), &["primary"]).and_then(Value::as_str);
    let Some(primary) = primary.and_then(text::non_blank) else { return };
    let named = ALIASES.iter().find(|(alias, _)| *alias == text::lower(primary)).map(|(_, model)| *model);
    if let Some(model) = ModelRef::parse(named.unwrap_or(primary), "anthropic").filter(is_anthropic) {
        let name = format!("{}/{}", model.provider, model.model);
        keep_shortly(ensure(ensure(defaults, "models"), &name));
    }
}

fn compaction(root: &mut Object) {
    let Some(defaults) = at(root, &["agents", "defaults"]) else { return };
    if !defaults.get("compaction").is_some_and(|compaction| json::truthy(&compaction["mode"])) {
        ensure(defaults, "compaction").insert("mode".to_owned(), Compaction::default().mode().word().into());
    }
}

fn at<'r>(root: &'r mut Object, path: &[&str]) -> Option<&'r mut Object> {
    path.iter().try_fold(root, |object, key| object.get_mut(*key)?.as_object_mut())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(mut config: Value) -> Value {
        fill(&mut config);
        config
    }

    #[test]
    fn the_empty_configuration_gets_the_few_values_that_always_show() {
        let expected = json!({
            "agents": {"defaults": {"maxConcurrent": 4, "subagents": {"maxConcurrent": 8}}},
            "messages": {"ackReactionScope": "group-mentions"},
        });
        assert_eq!(filled(json!({})).to_string(), expected.to_string());
    }

    #[test]
    fn what_is_written_stays_and_gaps_are_filled() {
        //  where, what is written, what shows
        let table = [
            ("/logging", json!({"level": "info"}), json!({"level": "info", "redactSensitive": "tools"})),
            ("/logging", json!({"redactSensitive": "off"}), json!({"redactSensitive": "off"})),
            ("/session", json!({"mainKey": "home"}), json!({"mainKey": "main"})),
            ("/session", json!({"scope": "global"}), json!({"scope": "global"})),
            ("/messages", json!({"ackReactionScope": "all"}), json!({"ackReactionScope": "all"})),
            (
                "/agents/defaults",
                json!({"maxConcurrent": 1, "subagents": {"thinking": "low"}}),
                json!({"maxConcurrent": 1, "subagents": {"thinking": "low", "maxConcurrent": 8}}),
            ),
            (
                "/models/providers",
                json!({"p": {"models": [{"id": "m", "contextWindow": 4000, "cost": {"input": 2}}]}}),
                json!({"p": {"models": [{
                    "id": "m", "contextWindow": 4000,
                    "cost": {"input": 2, "output": 0, "cacheRead": 0, "cacheWrite": 0},
                    "reasoning": false, "input": ["text"], "maxTokens": 4000,
                }]}}),
            ),
            (
                "/models/providers",
                json!({"p": {"models": [{"id": "m", "reasoning": true}]}}),
                json!({"p": {"models": [{
                    "id": "m", "reasoning": true, "input": ["text"],
                    "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
                    "contextWindow": 200_000, "maxTokens": 8192,
                }]}}),
            ),
        ];
        for (place, written, shown) in table {
            let config = place[1..].rsplit('/').fold(written, |value, key| json!({ key: value }));
            assert_eq!(filled(config.clone()).pointer(place), Some(&shown), "{config}");
        }
    }

    #[test]
    fn well_known_models_get_their_short_names() {
        let config = json!({"agents": {"defaults": {"models": {
            "anthropic/claude-opus-4-5": {},
            "openai/gpt-5.2": {"alias": "mine"},
            "some/model": {},
        }}}});
        let expected = json!({
            "anthropic/claude-opus-4-5": {"alias": "opus"},
            "openai/gpt-5.2": {"alias": "mine"},
            "some/model": {},
        });
        assert_eq!(filled(config)["agents"]["defaults"]["models"], expected);
    }

    #[test]
    fn a_run_paces_itself_by_how_one_signs_in_to_anthropic() {
        let profile = |mode: &str| json!({"provider": "anthropic", "mode": mode});
        let both = json!({"a": profile("api_key"), "b": profile("token")});
        //  auth section, variable that is set, heartbeat
        let table = [
            (json!({}), None, None),
            (json!({"profiles": {"a": profile("api_key")}}), None, Some("30m")),
            (json!({"profiles": {"b": profile("oauth")}}), None, Some("1h")),
            (json!({"profiles": both}), None, None),
            (json!({"profiles": both, "order": {"anthropic": ["gone", "b"]}}), None, Some("1h")),
            (json!({"profiles": both, "order": {"anthropic": ["a", "b"]}}), None, Some("30m")),
            (json!({"profiles": {"o": {"provider": "openai", "mode": "oauth"}}}), None, None),
            (json!({}), Some("ANTHROPIC_API_KEY"), Some("30m")),
            (json!({}), Some("ANTHROPIC_OAUTH_TOKEN"), Some("1h")),
        ];
        for (auth, variable, every) in table {
            let mut config = json!({ "auth": auth });
            fill_for_run(&mut config, &|name| (Some(name) == variable).then(|| "set".to_owned()));
            let defaults = &config["agents"]["defaults"];
            assert_eq!(defaults["heartbeat"]["every"].as_str(), every, "{auth} {variable:?}");
            let pruning = every.map(|_| json!({"mode": "cache-ttl", "ttl": "1h"}));
            assert_eq!(defaults.get("contextPruning"), pruning.as_ref(), "{auth} {variable:?}");
            assert_eq!(defaults["compaction"]["mode"], "safeguard");
        }
    }

    #[test]
    fn with_an_api_key_anthropic_keeps_prompts_shortly() {
        let mut config = json!({"agents": {"defaults": {
            "model": {"primary": "opus"},
            "models": {
                "claude-x": {"params": {"cacheRetention": "long"}},
                "anthropic/claude-sonnet-4-5": {"params": {"temperature": 0}},
                "openai/gpt-5.2": {},
            },
        }}});
        fill_for_run(&mut config, &|name| (name == "ANTHROPIC_API_KEY").then(|| "set".to_owned()));
        let expected = json!({
            "claude-x": {"params": {"cacheRetention": "long"}},
            "anthropic/claude-sonnet-4-5": {
                "params": {"temperature": 0, "cacheRetention": "short"}, "alias": "sonnet",
            },
            "openai/gpt-5.2": {"alias": "gpt"},
            "anthropic/claude-opus-4-5": {"params": {"cacheRetention": "short"}, "alias": "opus"},
        });
        assert_eq!(config["agents"]["defaults"]["models"], expected);
    }

    #[test]
    fn without_a_file_the_values_of_a_run_show() {
        let expected = json!({
            "messages": {"ackReactionScope": "group-mentions"},
            "agents": {"defaults": {
                "maxConcurrent": 4, "subagents": {"maxConcurrent": 8}, "compaction": {"mode": "safeguard"},
            }},
        });
        assert_eq!(without_file(&|_| None).to_string(), expected.to_string());
    }

    #[test]
    fn an_answer_tells_what_was_said() {
        let filled = json!({"messages": {"ackReactionScope": "group-mentions"}, "logging": {"redactSensitive": "tools"}});
        let table = [
            (filled.clone(), filled.clone()),
            (json!({}), json!({})),
            (json!({"logging": {}}), json!({"logging": {}})),
            (json!({"messages": {"ackReactionScope": "all"}}), json!({"messages": filled["messages"]})),
        ];
        for (said, told) in table {
            assert_eq!(as_said(&filled, &said), told, "{said}");
        }
    }
}
