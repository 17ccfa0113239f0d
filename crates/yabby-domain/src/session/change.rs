//! Changing the settings of a session from outside (`gateway.md` §6, `sessions.patch`).

use crate::directive::level::{
    ElevatedLevel, Level, ReasoningLevel, ThinkLevel, UsageDisplay, VerboseLevel, supports_xhigh,
};
use crate::json::{Object, Value};
use crate::leash::exec_policy::{Ask, Host, Security};
use crate::model::choice::choice_patch;
use crate::model::select::Selection;
use crate::model::{AllowedModels, ModelAliases, ModelError, ModelRef, allowed_model};
use crate::session::entry::{Patch, SessionEntry};
use crate::session::key::SessionKey;
use crate::session::label::{LabelError, parse_label};
use crate::text;

/// What a change depends on besides the record.
pub struct Ground<'g> {
    /// Who answers in sessions of this agent that say nothing about it.
    pub usual: &'g ModelRef,
    pub aliases: &'g ModelAliases,
    pub allowed: &'g AllowedModels,
    pub now: f64,
    pub new_id: &'g str,
}

/// Why a change is refused, in the words of the reference.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("invalid {0}: empty")]
    Empty(&'static str),
    #[error("invalid {0} (use {1})")]
    Unknown(&'static str, &'static str),
    #[error(transparent)]
    Label(#[from] LabelError),
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error(
        "thinkingLevel \"xhigh\" is only supported for openai/gpt-5.2, openai-codex/gpt-5.2-codex or openai-codex/gpt-5.1-codex"
    )]
    NoXhigh,
    #[error("spawnedBy is only supported for subagent:* sessions")]
    NoSubagent,
    #[error("spawnedBy cannot be changed once set")]
    OtherParent,
    #[error("spawnedBy cannot be cleared once set")]
    LostParent,
}

/// The label that a request gives, if it gives one: nobody else may have it.
pub fn new_label(request: &Object) -> Result<Option<&str>, LabelError> {
    match request.get("label") {
        Some(Value::String(label)) => parse_label(Some(label)).map(Some),
        _ => Ok(None),
    }
}

/// The record as it becomes. A null clears a setting; a session that is not there yet begins.
pub fn changed(
    key: &SessionKey,
    before: Option<&SessionEntry>,
    request: &Object,
    ground: &Ground<'_>,
) -> Result<SessionEntry, Refused> {
    let mut begun = Patch::default();
    begun.set_session_id(Some(ground.new_id));
    begun.set_updated_at(Some(ground.now));
    let mut entry = before.cloned().unwrap_or_else(|| SessionEntry::new(begun.into_object()));
    let mut patch = Patch::default();
    patch.set_updated_at(Some(entry.updated_at().unwrap_or(0.0).max(ground.now)));
    spawned_by(key, &entry, request, &mut patch)?;
    match request.get("label") {
        Some(Value::Null) => patch.set_label(None),
        _ => {
            if let Some(label) = new_label(request)? {
                patch.set_label(Some(label));
            }
        }
    }
    levels(&entry, request, ground, &mut patch)?;
    commands(request, &mut patch)?;
    entry.apply(&patch);
    if let Some(choice) = model(&entry, request, ground)? {
        entry.apply(&choice);
    }
    let mut patch = Patch::default();
    check_xhigh(&entry, request, ground, &mut patch)?;
    for field in ["sendPolicy", "groupActivation"] {
        // What may be said is in the schema.
        if let Some(value) = request.get(field) {
            patch.put(field, Some(value.clone()).filter(|value| !value.is_null()));
        }
    }
    entry.apply(&patch);
    Ok(entry)
}

fn spawned_by(
    key: &SessionKey,
    entry: &SessionEntry,
    request: &Object,
    patch: &mut Patch,
) -> Result<(), Refused> {
    let known = entry.spawned_by().filter(|known| !known.is_empty());
    match request.get("spawnedBy") {
        Some(Value::Null) if known.is_some() => Err(Refused::LostParent),
        Some(Value::String(parent)) => {
            let parent = text::non_blank(parent).ok_or(Refused::Empty("spawnedBy"))?;
            if !key.is_subagent() {
                return Err(Refused::NoSubagent);
            }
            if known.is_some_and(|known| known != parent) {
                return Err(Refused::OtherParent);
            }
            patch.set_spawned_by(Some(parent));
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Sets a field to the word that `parse` makes of what was said; `None` of it removes the field.
fn set_word(
    request: &Object,
    field: &'static str,
    choices: &'static str,
    patch: &mut Patch,
    parse: impl Fn(&str) -> Option<Option<&'static str>>,
) -> Result<(), Refused> {
    match request.get(field) {
        Some(Value::Null) => patch.put(field, None),
        Some(Value::String(said)) => {
            let word = parse(said).ok_or(Refused::Unknown(field, choices))?;
            patch.put(field, word.map(Value::from));
        }
        _ => {}
    }
    Ok(())
}

fn levels(
    entry: &SessionEntry,
    request: &Object,
    ground: &Ground<'_>,
    patch: &mut Patch,
) -> Result<(), Refused> {
    let unless_off = |word: &'static str| Some(word).filter(|word| *word != "off");
    let provider = entry.provider_override().and_then(text::non_blank).unwrap_or(&ground.usual.provider);
    let model = entry.model_override().and_then(text::non_blank).unwrap_or(&ground.usual.model);
    let thinking = match supports_xhigh(Some(provider), model) {
        true => "off|minimal|low|medium|high|xhigh",
        false => "off|minimal|low|medium|high",
    };
    set_word(request, "thinkingLevel", thinking, patch, |said| {
        ThinkLevel::parse(said).map(|level| unless_off(level.as_str()))
    })?;
    set_word(request, "verboseLevel", "\"on\"|\"off\"", patch, |said| {
        VerboseLevel::parse(said).map(|level| Some(level.as_str()))
    })?;
    set_word(request, "reasoningLevel", "\"on\"|\"off\"|\"stream\"", patch, |said| {
        ReasoningLevel::parse(said).map(|level| unless_off(level.as_str()))
    })?;
    set_word(request, "responseUsage", "\"off\"|\"tokens\"|\"full\"", patch, |said| {
        UsageDisplay::parse(said).map(|level| unless_off(level.as_str()))
    })?;
    set_word(request, "elevatedLevel", "\"on\"|\"off\"|\"ask\"|\"full\"", patch, |said| {
        ElevatedLevel::parse(said).map(|level| Some(level.as_str()))
    })
}

/// Where commands of the session run, and who is asked.
fn commands(request: &Object, patch: &mut Patch) -> Result<(), Refused> {
    set_word(request, "execHost", "\"sandbox\"|\"gateway\"|\"node\"", patch, |said| {
        Host::parse(said).map(|host| Some(host.as_str()))
    })?;
    set_word(request, "execSecurity", "\"deny\"|\"allowlist\"|\"full\"", patch, |said| {
        Security::parse(said).map(|security| Some(security.as_str()))
    })?;
    set_word(request, "execAsk", "\"off\"|\"on-miss\"|\"always\"", patch, |said| {
        Ask::parse(said).map(|ask| Some(ask.as_str()))
    })?;
    match request.get("execNode") {
        Some(Value::Null) => patch.set_exec_node(None),
        Some(Value::String(node)) => {
            patch.set_exec_node(Some(text::non_blank(node).ok_or(Refused::Empty("execNode"))?));
        }
        _ => {}
    }
    Ok(())
}

fn model(entry: &SessionEntry, request: &Object, ground: &Ground<'_>) -> Result<Option<Patch>, Refused> {
    let model = match request.get("model") {
        Some(Value::Null) => ground.usual.clone(),
        Some(Value::String(raw)) => {
            allowed_model(raw, ground.aliases, ground.allowed, &ground.usual.provider)?
        }
        _ => return Ok(None),
    };
    let is_default = model == *ground.usual;
    let selection = Selection { model, is_default, alias: None };
    Ok(Some(choice_patch(entry, &selection, None, ground.now)))
}

/// The highest level of thinking is only for models that know it; one that was set before becomes the next.
fn check_xhigh(
    entry: &SessionEntry,
    request: &Object,
    ground: &Ground<'_>,
    patch: &mut Patch,
) -> Result<(), Refused> {
    let provider = entry.provider_override().unwrap_or(&ground.usual.provider);
    let model = entry.model_override().unwrap_or(&ground.usual.model);
    let xhigh = ThinkLevel::Xhigh.as_str();
    if entry.thinking_level() != Some(xhigh) || supports_xhigh(Some(provider), model) {
        return Ok(());
    }
    if request.contains_key("thinkingLevel") {
        return Err(Refused::NoXhigh);
    }
    patch.set_thinking_level(Some(ThinkLevel::High.as_str()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn after(key: &str, before: Option<Value>, request: Value) -> Result<Value, String> {
        let before = before.map(|before| SessionEntry::new(before.as_object().unwrap().clone()));
        let usual = ModelRef::new("stub", "claude");
        let other = ModelRef::new("stubai", "gpt");
        let config =
            json!({"agents": {"defaults": {"models": {"stub/claude": {}, "stubai/gpt": {"alias": "sg"}}}}});
        let aliases = ModelAliases::from_config(&crate::config::Config::new(config), "stub");
        let allowed = AllowedModels { any: false, models: vec![usual.clone(), other], catalog: Vec::new() };
        let ground = Ground { usual: &usual, aliases: &aliases, allowed: &allowed, now: 9.0, new_id: "new" };
        let request = request.as_object().unwrap();
        let entry = changed(&SessionKey::new(key), before.as_ref(), request, &ground);
        entry.map(|entry| Value::Object(entry.into_object())).map_err(|refused| refused.to_string())
    }

    #[test]
    fn a_setting_is_made_changed_and_cleared() {
        let table = [
            (None, json!({"label": " L "}), json!({"sessionId": "new", "updatedAt": 9, "label": "L"})),
            (
                Some(json!({"sessionId": "s", "updatedAt": 20, "label": "L"})),
                json!({"label": null, "thinkingLevel": "HIGH", "verboseLevel": "full"}),
                json!({"sessionId": "s", "updatedAt": 20, "thinkingLevel": "high", "verboseLevel": "full"}),
            ),
            (
                Some(
                    json!({"sessionId": "s", "updatedAt": 1, "thinkingLevel": "high", "reasoningLevel": "on"}),
                ),
                json!({"thinkingLevel": "off", "reasoningLevel": "off", "responseUsage": "on"}),
                json!({"sessionId": "s", "updatedAt": 9, "responseUsage": "tokens"}),
            ),
            (
                Some(json!({"sessionId": "s", "updatedAt": 1})),
                json!({"model": "sg", "sendPolicy": "deny"}),
                json!({"sessionId": "s", "updatedAt": 9, "providerOverride": "stubai", "modelOverride": "gpt",
                    "sendPolicy": "deny"}),
            ),
            (
                Some(
                    json!({"sessionId": "s", "updatedAt": 1, "providerOverride": "stubai", "modelOverride": "gpt"}),
                ),
                json!({"model": null}),
                json!({"sessionId": "s", "updatedAt": 9}),
            ),
            // What was set for another model becomes what this one knows.
            (
                Some(json!({"sessionId": "s", "updatedAt": 1, "thinkingLevel": "xhigh"})),
                json!({"execNode": " n "}),
                json!({"sessionId": "s", "updatedAt": 9, "thinkingLevel": "high", "execNode": "n"}),
            ),
        ];
        for (before, request, expected) in table {
            assert_eq!(after("agent:main:x", before, request.clone()), Ok(expected), "{request}");
        }
    }

    #[test]
    fn what_means_nothing_is_refused() {
        let table = [
            ("x", json!({"label": "  "}), "invalid label: empty"),
            (
                "x",
                json!({"thinkingLevel": "bogus"}),
                "invalid thinkingLevel (use off|minimal|low|medium|high)",
            ),
            ("x", json!({"verboseLevel": "loud"}), "invalid verboseLevel (use \"on\"|\"off\")"),
            ("x", json!({"execAsk": "x"}), "invalid execAsk (use \"off\"|\"on-miss\"|\"always\")"),
            ("x", json!({"execNode": " "}), "invalid execNode: empty"),
            ("x", json!({"model": "nope/nope"}), "model not allowed: nope/nope"),
            ("x", json!({"spawnedBy": "y"}), "spawnedBy is only supported for subagent:* sessions"),
            ("subagent:a", json!({"spawnedBy": "z"}), "spawnedBy cannot be changed once set"),
            ("subagent:a", json!({"spawnedBy": null}), "spawnedBy cannot be cleared once set"),
        ];
        for (key, request, why) in table {
            let before = json!({"sessionId": "s", "spawnedBy": "y"});
            assert_eq!(after(key, Some(before), request.clone()), Err(why.to_owned()), "{request}");
        }
        let xhigh = after("x", None, json!({"thinkingLevel": "xhigh"})).unwrap_err();
        assert!(xhigh.starts_with("thinkingLevel \"xhigh\" is only supported for"), "{xhigh}");
    }
}
