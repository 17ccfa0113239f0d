//! Who can be asked: the services that the configuration names, the common ones, and the helper that
//! needs nobody.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::Result;
use secrecy::SecretString;
use yabby_config::environment::Environment;
use yabby_domain::config::Config;
use yabby_domain::json::{self, Object, Value};
use yabby_domain::model::{ModelRef, is_cli_provider, normalize_provider};
use yabby_domain::reply::usage_line::Prices;
use yabby_domain::seam::model::ModelProvider;
use yabby_models::claude_cli::{self, ClaudeCli, ClaudeCliSettings, Memory};
use yabby_models::offline::{self, Offline};
use yabby_models::presets::{self, Preset};
use yabby_models::rotation::Rotating;
use yabby_models::settings::{Api, Compat, ModelSettings, ProviderSettings};
use yabby_models::{Http, Patience, Retries, catalog};
use yabby_store::disk::LocalDisk;
use yabby_store::files::auth_profiles::AuthProfileFile;
use yabby_store::paths::Place;

use super::keys::{Found, ProviderKeys};

/// A service, and where its key is.
pub struct Service {
    pub settings: ProviderSettings,
    pub keys: Arc<ProviderKeys>,
}

/// All services that could be asked, whether or not there is a key for them.
pub fn services(place: &Place, config: &Arc<Config>) -> Vec<Service> {
    let environment = Arc::new(place.environment.clone());
    let configured = config.object(&["models", "providers"]).into_iter().flatten();
    let configured: Vec<(String, &Value)> =
        configured.map(|(id, section)| (normalize_provider(id), section)).collect();
    let replaced = config.text(&["models", "mode"]) == Some("replace");
    let known: BTreeSet<&str> = configured.iter().map(|(id, _)| id.as_str()).collect();
    let common = presets::ALL.iter().filter(|preset| !replaced && !known.contains(preset.id));
    let common = common.map(|preset| common_settings(preset, config));
    let named = configured.iter().filter_map(|(id, section)| configured_settings(id, section));
    named
        .chain(common)
        .map(|settings| {
            let keys = keys(place, config, &environment, &settings.id);
            Service { settings, keys: Arc::new(keys) }
        })
        .collect()
}

fn keys(place: &Place, config: &Arc<Config>, environment: &Arc<Environment>, provider: &str) -> ProviderKeys {
    let main = place.folder.path().join("agents/main/agent");
    ProviderKeys {
        provider: provider.to_owned(),
        config: config.clone(),
        profiles: AuthProfileFile::of(&main, &main, place.folder.path(), Arc::new(LocalDisk)),
        environment: environment.clone(),
        preset: presets::preset(provider),
    }
}

/// Everybody who can be asked.
pub fn providers(place: &Place, config: &Arc<Config>) -> Result<Vec<Arc<dyn ModelProvider>>> {
    let http = Http::new(Patience::default())?;
    let retries = Retries::default();
    let mut providers: Vec<Arc<dyn ModelProvider>> = Vec::new();
    for Service { settings, keys } in services(place, config) {
        providers.push(Arc::new(Rotating::new(settings, http.clone(), retries, keys)));
    }
    providers.extend(programs(config).into_iter().map(|program| Arc::new(program) as _));
    providers.push(Arc::new(Offline::default()));
    Ok(providers)
}

/// Who answers if the configuration names nobody: OpenClaw's usual model where there is a key for it.
pub fn default_model(place: &Place, config: &Arc<Config>) -> ModelRef {
    let environment = Arc::new(place.environment.clone());
    match keys(place, config, &environment, "anthropic").found() {
        Found::Nowhere | Found::NotNeeded => ModelRef::new(offline::PROVIDER, offline::MODEL),
        Found::Profiles(_) | Found::Configuration | Found::Variable(_) => {
            ModelRef::new("anthropic", "claude-opus-4-5")
        }
    }
}

/// Programs that keep the conversation themselves (`agents.defaults.cliBackends`).
fn programs(config: &Config) -> Vec<ClaudeCli> {
    let sections = config.object(&["agents", "defaults", "cliBackends"]);
    let mut ids: Vec<String> = vec![claude_cli::PROVIDER.to_owned()];
    for id in sections.into_iter().flatten().map(|(id, _)| normalize_provider(id)) {
        if !ids.contains(&id) && id != "codex-cli" && is_cli_provider(&id, config) {
            ids.push(id);
        }
    }
    let program = |id: String| {
        let section =
            sections.and_then(|sections| sections.iter().find(|(name, _)| normalize_provider(name) == id));
        let field = |name: &str| section.and_then(|(_, section)| section.get(name)?.as_str());
        let arguments = section.and_then(|(_, section)| section.get("args")?.as_array());
        let usual = ClaudeCliSettings::default();
        ClaudeCli::new(ClaudeCliSettings {
            program: field("command").map_or(usual.program, Into::into),
            arguments: arguments.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect(),
            memory: if field("sessionMode") == Some("none") { Memory::None } else { Memory::Own },
            id,
            ..ClaudeCliSettings::default()
        })
    };
    ids.into_iter().map(program).collect()
}

/// A common service, with the models that are known of it and those that the configuration speaks of.
fn common_settings(preset: &'static Preset, config: &Config) -> ProviderSettings {
    let mut models: Vec<ModelSettings> = catalog::known()
        .filter(|known| known.provider == preset.id)
        .map(|known| catalogued(preset, &known))
        .collect();
    for model in spoken_of(config) {
        if model.provider == preset.id && !models.iter().any(|known| known.id == model.model) {
            models.push(preset.model(&model.model));
        }
    }
    preset.settings(None, models)
}

fn catalogued(preset: &Preset, known: &catalog::Known<'_>) -> ModelSettings {
    ModelSettings {
        id: known.model.to_owned(),
        context_window: known.context_window,
        max_output: known.max_output,
        reasoning: known.reasoning,
        images: known.images,
        prices: Some(known.prices),
        compat: preset.compat(known.model),
    }
}

/// The models that the configuration speaks of, wherever it does.
fn spoken_of(config: &Config) -> Vec<ModelRef> {
    let model = |value: &Value| -> Vec<String> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let fallbacks =
            value.get("fallbacks").and_then(Value::as_array).into_iter().flatten().filter_map(text);
        text(value).into_iter().chain(value.get("primary").and_then(text)).chain(fallbacks).collect()
    };
    let defaults = config.get(&["agents", "defaults", "model"]).map(model).unwrap_or_default();
    let listed = config.object(&["agents", "defaults", "models"]).into_iter().flatten();
    let agents = config.list(&["agents", "list"]).unwrap_or_default().iter();
    let own = agents.filter_map(|agent| agent.get("model")).flat_map(model);
    let names = defaults.into_iter().chain(listed.map(|(name, _)| name.clone())).chain(own);
    names.filter_map(|name| ModelRef::parse(&name, "anthropic")).collect()
}

/// A service that the configuration describes.
fn configured_settings(id: &str, section: &Value) -> Option<ProviderSettings> {
    let preset = presets::preset(id);
    let text = |name: &str| section.get(name).and_then(Value::as_str);
    let api = text("api")
        .and_then(Api::parse)
        .or(preset.map(|preset| preset.api))
        .unwrap_or(Api::OpenAiCompletions);
    let base_url = text("baseUrl").or(preset.map(|preset| preset.base_url))?.trim_end_matches('/').to_owned();
    let models = section.get("models").and_then(Value::as_array).into_iter().flatten();
    let models = models.filter_map(Value::as_object).filter_map(|model| configured_model(id, preset, model));
    Some(ProviderSettings {
        id: id.to_owned(),
        api,
        base_url,
        api_key: None,
        headers: headers(section.get("headers")),
        models: models.collect(),
    })
}

fn configured_model(
    provider: &str,
    preset: Option<&'static Preset>,
    model: &Object,
) -> Option<ModelSettings> {
    let id = model.get("id")?.as_str()?;
    let known = catalog::find(provider, id);
    let number = |name: &str| model.get(name).and_then(Value::as_f64).filter(|number| *number >= 1.0);
    let context_window =
        number("contextWindow").unwrap_or(known.map_or(200_000.0, |known| known.context_window as f64));
    let max_output = number("maxTokens")
        .unwrap_or(known.map_or(8192.0_f64.min(context_window), |known| known.max_output as f64));
    let input = model.get("input").and_then(Value::as_array);
    let price = |name: &str| model.get("cost").and_then(|cost| cost.get(name)?.as_f64());
    let prices = price("input").zip(price("output")).map(|(input, output)| Prices {
        input,
        output,
        cache_read: price("cacheRead").unwrap_or(0.0),
        cache_write: price("cacheWrite").unwrap_or(0.0),
    });
    Some(ModelSettings {
        id: id.to_owned(),
        context_window: context_window as u64,
        max_output: max_output as u64,
        reasoning: model.get("reasoning").map_or(known.is_some_and(|known| known.reasoning), json::truthy),
        images: input.map_or(known.is_some_and(|known| known.images), |kinds| {
            kinds.iter().any(|kind| kind == "image")
        }),
        prices: prices.or(known.map(|known| known.prices)),
        compat: preset.map_or_else(Compat::default, |preset| preset.compat(id)),
    })
}

/// Headers may be as secret as a key.
fn headers(object: Option<&Value>) -> Vec<(String, SecretString)> {
    let members = object.and_then(Value::as_object).into_iter().flatten();
    members.filter_map(|(name, value)| Some((name.clone(), SecretString::from(value.as_str()?)))).collect()
}
