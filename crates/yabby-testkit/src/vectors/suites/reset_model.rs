//! `reset-model.json`.

use serde_json::json;
use yabby_domain::config::Config;
use yabby_domain::json::{Object, Value};
use yabby_domain::model::choice::{ChosenProfile, choice_patch, stored_choice};
use yabby_domain::model::reset_hint::reset_hint;
use yabby_domain::model::select::{Choices, Selection, closeness};
use yabby_domain::model::{AllowedModels, ModelAliases, ModelRef};
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::text;

use super::model_selection::model_value;
use super::{context, rows};
use crate::vectors::{Case, Suite};

pub const SUITE: Suite = Suite { file: "reset-model.json", cases: rows, answer, differences: &[] };

fn answer(case: &Case) -> Option<Value> {
    let text = |field: &str| case.text(field).unwrap_or("");
    let config = Config::new(case.arg("cfg").clone());
    let default = ModelRef::new(text("defaultProvider"), text("defaultModel"));
    let aliases = ModelAliases::from_config(&config, &default.provider);
    Some(match case.rule.as_str() {
        "buildModelAliasIndex" => alias_index(&aliases),
        "resolveModelDirectiveSelection" => {
            let allowed = case.texts("allowedModelKeys");
            let choices = Choices { default: &default, aliases: &aliases, allowed: &allowed };
            match choices.select(text("raw")) {
                Ok(selection) => json!({"selection": selection_value(&selection)}),
                Err(error) => json!({"error": error.to_string()}),
            }
        }
        "scoreFuzzyMatch" => {
            let model = ModelRef::new(text("provider"), text("model"));
            let close = closeness(&model, text("fragment"), &aliases, &default);
            json!({
                "score": close.score,
                "isDefault": close.is_default,
                "variantCount": close.variants,
                "variantMatchCount": close.variants_typed,
                "modelLength": close.model_units,
                "key": close.key,
            })
        }
        "applyResetModelOverride" => hinted(case, &config, &aliases, &default),
        "applyModelOverrideToSessionEntry" => {
            let mut entry = SessionEntry::new(case.arg("entry").as_object().cloned().unwrap_or_default());
            let selection = recorded_selection(case.arg("selection"));
            let source = case.text("profileOverrideSource").unwrap_or("user");
            let profile = case.text("profileOverride").map(|id| ChosenProfile { id, source });
            let patch = choice_patch(&entry, &selection, profile, now(case));
            entry.apply(&patch);
            json!({"updated": !patch.is_empty(), "entry": entry.into_object()})
        }
        "resolveStoredModelOverride" => stored(case),
        _ => return None,
    })
}

fn now(case: &Case) -> f64 {
    case.arg("now").as_f64().unwrap_or(0.0)
}

fn alias_index(aliases: &ModelAliases) -> Value {
    let mut by_alias = Object::new();
    let mut by_key = Object::new();
    for alias in aliases.in_force() {
        by_alias
            .insert(text::lower(&alias.name), json!({"alias": alias.name, "ref": model_value(&alias.model)}));
    }
    for alias in aliases.all() {
        let names: Vec<&str> = aliases.names_of(&alias.model).collect();
        by_key.insert(alias.model.to_string(), json!(names));
    }
    json!({"byAlias": by_alias, "byKey": by_key})
}

fn selection_value(selection: &Selection) -> Value {
    let mut value = model_value(&selection.model);
    value["isDefault"] = json!(selection.is_default);
    if let Some(alias) = &selection.alias {
        value["alias"] = json!(alias);
    }
    value
}

fn recorded_selection(value: &Value) -> Selection {
    let text = |field: &str| value[field].as_str().unwrap_or_default().to_owned();
    Selection {
        model: ModelRef::new(text("provider"), text("model")),
        is_default: value["isDefault"].as_bool().unwrap_or(false),
        alias: None,
    }
}

fn hinted(case: &Case, config: &Config, aliases: &ModelAliases, default: &ModelRef) -> Value {
    let mut entry = SessionEntry::new(case.arg("sessionEntry").as_object().cloned().unwrap_or_default());
    let body = case.text("bodyStripped").unwrap_or("");
    let allowed = AllowedModels::from_config(config, &[], &default.provider, &default.model);
    let allowed: Vec<String> = allowed.models.iter().map(ModelRef::to_string).collect();
    let choices = Choices { default, aliases, allowed: &allowed };
    let reset = case.input.get("resetTriggered") != Some(&Value::Bool(false));
    let Some((selection, rest)) = Some(body).filter(|_| reset).and_then(|body| reset_hint(body, &choices))
    else {
        return if reset {
            json!({"result": {}, "sessionCtx": {}, "sessionEntry": entry.into_object()})
        } else {
            json!({})
        };
    };
    entry.apply(&choice_patch(&entry, &selection, None, now(case)));
    json!({
        "result": {"selection": selection_value(&selection), "cleanedBody": rest},
        "sessionCtx": {"BodyStripped": context::inbound(case.arg("ctx")).signed(&rest), "BodyForCommands": rest},
        "sessionEntry": entry.into_object(),
    })
}

fn stored(case: &Case) -> Value {
    let entry = case.arg("sessionEntry").as_object().cloned().map(SessionEntry::new);
    let store: Vec<(String, SessionEntry)> = case
        .arg("sessionStore")
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(key, entry)| Some((key.clone(), SessionEntry::new(entry.as_object()?.clone()))))
        .collect();
    let lookup = |key: &str| store.iter().find(|(known, _)| known == key).map(|(_, entry)| entry);
    let key = case.text("sessionKey").unwrap_or("");
    let Some(choice) = stored_choice(entry.as_ref(), key, case.text("parentSessionKey"), lookup) else {
        return Value::Null;
    };
    let mut value =
        json!({"model": choice.model, "source": if choice.inherited { "parent" } else { "session" }});
    if let Some(provider) = choice.provider {
        value["provider"] = json!(provider);
    }
    value
}
