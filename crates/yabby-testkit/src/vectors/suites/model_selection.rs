//! `model-selection.json`.

use serde_json::json;
use yabby_domain::config::Config;
use yabby_domain::config::word::Word;
use yabby_domain::directive::level::{
    self, ElevatedLevel, Level, ReasoningLevel, ThinkLevel, UsageDisplay, VerboseLevel, supports_xhigh,
    take_level,
};
use yabby_domain::directive::model::take_model;
use yabby_domain::directive::take_status;
use yabby_domain::json::Value;
use yabby_domain::model::{
    AllowedModels, CatalogModel, ModelAliases, ModelRef, allowed_model, configured_model, is_cli_provider,
    normalize_provider,
};
use yabby_domain::text;

use super::rows;
use crate::vectors::{Case, Suite};

pub const SUITE: Suite = Suite { file: "model-selection.json", cases: rows, answer, differences: &[] };

fn answer(case: &Case) -> Option<Value> {
    let text = |field: &str| case.text(field).unwrap_or("");
    let config = Config::new(case.arg("cfg").clone());
    let default = ModelRef::new(text("defaultProvider"), text("defaultModel"));
    let aliases = || ModelAliases::from_config(&config, &default.provider);
    let allowed = || AllowedModels::from_config(&config, &catalog(case), &default.provider, &default.model);
    Some(match case.rule.as_str() {
        "parseModelRef" => {
            ModelRef::parse(text("raw"), &default.provider).map_or(Value::Null, |model| model_value(&model))
        }
        "normalizeProviderId" => json!(normalize_provider(text("provider"))),
        "modelKey" => json!(ModelRef::new(text("provider"), text("model")).to_string()),
        "resolveConfiguredModelRef" => model_value(&configured_model(&config, &default)),
        "resolveModelRefFromString" => match aliases().resolve(text("raw"), &default.provider) {
            None => Value::Null,
            Some((model, None)) => json!({"ref": model_value(&model)}),
            Some((model, Some(alias))) => json!({"ref": model_value(&model), "alias": alias.name}),
        },
        "buildAllowedModelSet" => {
            let allowed = allowed();
            json!({
                "allowAny": allowed.any,
                "allowedKeys": allowed.models.iter().map(ModelRef::to_string).collect::<Vec<_>>(),
                "allowedCatalogIds": allowed.catalog.iter().map(|entry| entry.model.to_string()).collect::<Vec<_>>(),
            })
        }
        "resolveAllowedModelRef" => {
            match allowed_model(text("raw"), &aliases(), &allowed(), &default.provider) {
                Ok(model) => json!({"ref": model_value(&model), "key": model.to_string()}),
                Err(error) => json!({"error": error.to_string()}),
            }
        }
        "isCliProvider" => json!(is_cli_provider(text("provider"), &config)),
        "resolveThinkingDefault" => {
            let configured = config.agents.defaults.thinking_default.as_ref().map(Word::as_str);
            json!(level::default_think_level(configured, &catalog(case), text("provider"), text("model")))
        }
        "normalizeThinkLevel" => json!(ThinkLevel::parse(text("raw")).map(Level::as_str)),
        "normalizeVerboseLevel" => json!(VerboseLevel::parse(text("raw")).map(Level::as_str)),
        "normalizeElevatedLevel" => json!(ElevatedLevel::parse(text("raw")).map(Level::as_str)),
        "normalizeReasoningLevel" => json!(ReasoningLevel::parse(text("raw")).map(Level::as_str)),
        "normalizeUsageDisplay" => json!(UsageDisplay::parse(text("raw")).map(UsageDisplay::as_str)),
        "supportsXHighThinking" => json!(supports_xhigh(case.text("provider"), text("model"))),
        "extractThinkDirective" => level_of::<ThinkLevel>(text("body"), "thinkLevel"),
        "extractVerboseDirective" => level_of::<VerboseLevel>(text("body"), "verboseLevel"),
        "extractElevatedDirective" => level_of::<ElevatedLevel>(text("body"), "elevatedLevel"),
        "extractReasoningDirective" => level_of::<ReasoningLevel>(text("body"), "reasoningLevel"),
        "extractStatusDirective" => match take_status(text("body")) {
            Some(rest) => json!({"cleaned": rest, "hasDirective": true}),
            None => untouched(text("body")),
        },
        "extractModelDirective" => match take_model(text("body"), &case.texts("aliases")) {
            None => untouched(text("body")),
            Some(found) => {
                let mut value = json!({"cleaned": found.rest, "hasDirective": true});
                put(&mut value, "rawModel", found.model);
                put(&mut value, "rawProfile", found.profile);
                value
            }
        },
        _ => return None,
    })
}

pub fn model_value(model: &ModelRef) -> Value {
    json!({"provider": model.provider, "model": model.model})
}

fn catalog(case: &Case) -> Vec<CatalogModel> {
    let text = |entry: &Value, field: &str| entry[field].as_str().unwrap_or_default().to_owned();
    let entries = case.arg("catalog").as_array().into_iter().flatten();
    entries
        .map(|entry| CatalogModel {
            model: ModelRef::new(text(entry, "provider"), text(entry, "id")),
            reasoning: entry["reasoning"].as_bool().unwrap_or(false),
        })
        .collect()
}

fn level_of<L: Level>(body: &str, field: &str) -> Value {
    let Some(found) = take_level::<L>(body) else {
        return untouched(body);
    };
    let mut value = json!({"cleaned": found.rest, "hasDirective": true});
    put(&mut value, "rawLevel", found.word);
    put(&mut value, field, found.level.map(|level| level.as_str().to_owned()));
    value
}

fn untouched(body: &str) -> Value {
    json!({"cleaned": text::trim(body), "hasDirective": false})
}

fn put(value: &mut Value, field: &str, text: Option<String>) {
    if let Some(text) = text {
        value[field] = json!(text);
    }
}
