//! Who can be asked: the services that the configuration names, the common ones, and the helper that
//! needs nobody.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use secrecy::SecretString;
use yabby_config::environment::Environment;
use yabby_config::key_path::KeyPath;
use yabby_domain::agent::agents;
use yabby_domain::auth::AuthProfiles;
use yabby_domain::config::Config;
use yabby_domain::config::agents::cli_backend::CliSessionMode;
use yabby_domain::config::agents::model_choice::ModelReference;
use yabby_domain::config::map::Map;
use yabby_domain::config::models::{self as sections, CatalogMode, ModelDefinition, ModelInput};
use yabby_domain::config::number::PositiveNumber;
use yabby_domain::id::AgentId;
use yabby_domain::json::{Object, Value};
use yabby_domain::model::{ModelRef, is_cli_provider, name_of, normalize_provider};
use yabby_domain::reply::usage_line::Prices;
use yabby_domain::seam::StoreError;
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

use super::compat;
use super::keys::{AgentsKeys, Found, ProviderKeys};

/// A service, and where its key is.
pub struct Service {
    pub settings: ProviderSettings,
    pub keys: ProviderKeys,
}

/// A model that could be asked.
#[derive(Clone, Debug)]
pub struct Offered {
    pub model: ModelRef,
    /// What people call it.
    pub name: String,
    pub context_window: u64,
    pub images: bool,
    /// Whoever has it is on this machine.
    pub is_local: bool,
    pub found: Found,
}

/// Every model that could be asked, whether or not there is a key for it.
pub fn offered(place: &Place, config: &Arc<Config>, agent: &Path) -> Vec<Offered> {
    let mut all = Vec::new();
    for Service { settings, keys } in services(place, config, agent) {
        let (found, is_local) = (keys.found(), is_local(&settings.base_url));
        all.extend(settings.models.into_iter().map(|model| Offered {
            name: name_of(config, &ModelRef::new(&settings.id, &model.id)),
            model: ModelRef::new(&settings.id, model.id),
            context_window: model.context_window,
            images: model.images,
            is_local,
            found: found.clone(),
        }));
    }
    for program in programs(config) {
        let found = if is_installed(&program.program, place) { Found::NotNeeded } else { Found::Nowhere };
        all.extend(program.models.into_iter().map(|model| Offered {
            name: model.id.clone(),
            model: ModelRef::new(&program.id, model.id),
            context_window: model.context_window,
            images: model.images,
            is_local: false,
            found: found.clone(),
        }));
    }
    let own = Offline::default();
    all.extend(own.models().into_iter().filter_map(|model| {
        let info = own.describe(&model)?;
        Some(Offered {
            name: "built-in helper".to_owned(),
            model: ModelRef::new(own.id(), model),
            context_window: info.context_window,
            images: info.images,
            is_local: true,
            found: Found::NotNeeded,
        })
    }));
    all
}

/// Whether an address is one of this machine, or of its neighbourhood (`cli.md` §13).
pub fn is_local(base_url: &str) -> bool {
    let behind = base_url.split_once("://").map_or(base_url, |(_, rest)| rest);
    let authority = behind.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host = match host.strip_prefix('[') {
        Some(bracketed) => bracketed.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    let host = host.to_lowercase();
    matches!(host.as_str(), "localhost" | "127.0.0.1" | "0.0.0.0" | "::1") || host.ends_with(".local")
}

/// Whether a program is where programs are looked for.
fn is_installed(program: &Path, place: &Place) -> bool {
    if program.components().count() > 1 {
        return program.is_file();
    }
    let folders = place.environment.get("PATH").unwrap_or_default();
    std::env::split_paths(folders).any(|folder| folder.join(program).is_file())
}

/// Where the credentials of the main agent are, which every other agent may use.
pub fn main_folder(place: &Place) -> PathBuf {
    place.folder.path().join("agents/main/agent")
}

/// The keys and tokens of the main agent.
pub fn auth_profiles(place: &Place) -> Result<AuthProfiles, StoreError> {
    let main = main_folder(place);
    AuthProfileFile::of(&main, &main, place.folder.path(), Arc::new(LocalDisk)).read()
}

/// The variables of a run: what the configuration sets is among them.
fn environment(place: &Place, config: &Config) -> Arc<Environment> {
    let mut environment = place.environment.clone();
    environment.add_section(config.raw());
    Arc::new(environment)
}

/// All services that could be asked, whether or not there is a key for them; the keys are those of the
/// agent whose folder it is.
pub fn services(place: &Place, config: &Arc<Config>, agent: &Path) -> Vec<Service> {
    let environment = environment(place, config);
    let configured = config.models.providers.iter().flatten();
    let configured: Vec<(String, &sections::ModelProvider)> =
        configured.map(|(id, section)| (normalize_provider(id), section)).collect();
    let replaced = config.models.mode() == CatalogMode::Replace;
    let known: BTreeSet<&str> = configured.iter().map(|(id, _)| id.as_str()).collect();
    let common = presets::ALL.iter().filter(|preset| !replaced && !known.contains(preset.id));
    let common = common.map(|preset| common_settings(preset, config));
    let named = configured.iter().filter_map(|(id, section)| configured_settings(id, section, config));
    named
        .chain(common)
        .map(|settings| {
            let keys = keys(place, config, &environment, agent, &settings.id);
            Service { settings, keys }
        })
        .collect()
}

fn keys(
    place: &Place,
    config: &Arc<Config>,
    environment: &Arc<Environment>,
    agent: &Path,
    provider: &str,
) -> ProviderKeys {
    let main = main_folder(place);
    ProviderKeys {
        provider: provider.to_owned(),
        config: config.clone(),
        profiles: AuthProfileFile::of(agent, &main, place.folder.path(), Arc::new(LocalDisk)),
        environment: environment.clone(),
        preset: presets::preset(provider),
    }
}

/// The profiles of every agent that the configuration names.
pub(super) fn profile_files(place: &Place, config: &Config) -> HashMap<AgentId, AuthProfileFile> {
    let file = |folder: &str| {
        AuthProfileFile::of(Path::new(folder), &main_folder(place), place.folder.path(), Arc::new(LocalDisk))
    };
    let agents = place.with_folders(|folders| agents(config, folders));
    agents.into_iter().map(|agent| (agent.id, file(&agent.folder))).collect()
}

/// Everybody who can be asked.
pub fn providers(
    place: &Place,
    config: &Arc<Config>,
    retries: Retries,
) -> Result<Vec<Arc<dyn ModelProvider>>> {
    let http = Http::new(Patience::default());
    let mut providers: Vec<Arc<dyn ModelProvider>> = Vec::new();
    let folders = profile_files(place, config);
    for Service { settings, keys } in services(place, config, &main_folder(place)) {
        let keys = AgentsKeys { main: keys, folders: folders.clone() };
        providers.push(Arc::new(Rotating::new(settings, http.clone(), retries, Arc::new(keys))));
    }
    providers.extend(programs(config).into_iter().map(|program| Arc::new(ClaudeCli::new(program)) as _));
    providers.push(Arc::new(Offline::default()));
    Ok(providers)
}

/// Who answers if the configuration names nobody: OpenClaw's usual model where there is a key for it.
pub fn default_model(place: &Place, config: &Arc<Config>) -> ModelRef {
    let environment = environment(place, config);
    match keys(place, config, &environment, &main_folder(place), "anthropic").found() {
        Found::Nowhere | Found::NotNeeded => ModelRef::new(offline::PROVIDER, offline::MODEL),
        Found::Profiles(_) | Found::Configuration | Found::Variable(_) => {
            ModelRef::new("anthropic", "claude-opus-4-5")
        }
    }
}

/// Programs that keep the conversation themselves (`agents.defaults.cliBackends`).
fn programs(config: &Config) -> Vec<ClaudeCliSettings> {
    let sections = config.agents.defaults.cli_backends.as_ref();
    let mut ids: Vec<String> = vec![claude_cli::PROVIDER.to_owned()];
    for id in sections.into_iter().flatten().map(|(id, _)| normalize_provider(id)) {
        if !ids.contains(&id) && id != "codex-cli" && is_cli_provider(&id, config) {
            ids.push(id);
        }
    }
    let program = |id: String| {
        let mut sections = sections.into_iter().flatten();
        let section = sections.find(|(name, _)| normalize_provider(name) == id).map(|(_, section)| section);
        let program = section.map(|section| section.command.as_str()).filter(|program| !program.is_empty());
        let usual = ClaudeCliSettings::default();
        ClaudeCliSettings {
            program: program.map_or(usual.program, Into::into),
            arguments: section.and_then(|section| section.args.clone()).unwrap_or_default(),
            memory: match section.and_then(|section| section.session_mode) {
                Some(CliSessionMode::None) => Memory::None,
                _ => Memory::Own,
            },
            id,
            ..ClaudeCliSettings::default()
        }
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
pub fn spoken_of(config: &Config) -> Vec<ModelRef> {
    let model = |model: &ModelReference| -> Vec<String> {
        let fallbacks = model.fallbacks().into_iter().flatten().cloned();
        model.primary().map(str::to_owned).into_iter().chain(fallbacks).collect()
    };
    let defaults = config.agents.defaults.model.as_ref().map(model).unwrap_or_default();
    let listed = config.agents.defaults.models.iter().flatten();
    let own = config.agents.list.iter().filter_map(|agent| agent.model.as_ref()).flat_map(model);
    let names = defaults.into_iter().chain(listed.map(|(name, _)| name.clone())).chain(own);
    names.filter_map(|name| ModelRef::parse(&name, "anthropic")).collect()
}

/// The same configuration, which speaks of this model as well: a service is asked for no other.
pub fn speaking_of(config: &Config, model: &ModelRef) -> Config {
    if spoken_of(config).contains(model) {
        return config.clone();
    }
    config.with(
        &KeyPath::of(["agents", "defaults", "models", &model.to_string()]),
        Value::Object(Object::new()),
    )
}

/// A service that the configuration describes.
fn configured_settings(
    id: &str,
    section: &sections::ModelProvider,
    config: &Config,
) -> Option<ProviderSettings> {
    let preset = presets::preset(id);
    let api = section
        .api
        .as_ref()
        .and_then(|word| Api::parse(word.as_str()))
        .or(preset.map(|preset| preset.api))
        .unwrap_or(Api::OpenAiCompletions);
    let base_url = Some(&*section.base_url).filter(|url| !url.is_empty());
    let base_url = base_url.or(preset.map(|preset| preset.base_url))?.trim_end_matches('/').to_owned();
    let models = section.models.iter().filter(|model| !model.id.is_empty());
    let mut models: Vec<ModelSettings> = models.map(|model| configured_model(id, preset, model)).collect();
    // Whoever only says where a common service is, or what its key is, means the models it has.
    if let Some(preset) = preset.filter(|_| models.is_empty()) {
        models = common_settings(preset, config).models;
    }
    Some(ProviderSettings {
        id: id.to_owned(),
        api,
        base_url,
        api_key: None,
        bearer: false,
        headers: headers(section.headers.as_ref()),
        models,
    })
}

fn configured_model(
    provider: &str,
    preset: Option<&'static Preset>,
    model: &ModelDefinition,
) -> ModelSettings {
    let id = &*model.id;
    let known = catalog::find(provider, id);
    let number = |written: Option<PositiveNumber>| written.map(f64::from).filter(|number| *number >= 1.0);
    let context_window =
        number(model.context_window).unwrap_or(known.map_or(200_000.0, |known| known.context_window as f64));
    let max_output = number(model.max_tokens)
        .unwrap_or(known.map_or(8192.0_f64.min(context_window), |known| known.max_output as f64));
    let cost = &model.cost;
    let prices = cost.input.zip(cost.output).map(|(input, output)| Prices {
        input: input.into(),
        output: output.into(),
        cache_read: cost.cache_read.map_or(0.0, f64::from),
        cache_write: cost.cache_write.map_or(0.0, f64::from),
    });
    ModelSettings {
        id: id.to_owned(),
        context_window: context_window as u64,
        max_output: max_output as u64,
        reasoning: model.reasoning.unwrap_or_else(|| known.is_some_and(|known| known.reasoning)),
        images: match &model.input {
            Some(kinds) => kinds.contains(&ModelInput::Image),
            None => known.is_some_and(|known| known.images),
        },
        prices: prices.or(known.map(|known| known.prices)),
        compat: compat::configured(
            preset.map_or_else(Compat::default, |preset| preset.compat(id)),
            &model.compat,
        ),
    }
}

/// Headers may be as secret as a key.
fn headers(written: Option<&Map<String>>) -> Vec<(String, SecretString)> {
    let members = written.into_iter().flatten();
    members.map(|(name, value)| (name.clone(), SecretString::from(value.as_str()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use yabby_store::paths::Choice;

    fn place(home: &Path, variables: &[(&str, &str)]) -> Place {
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Place::find_around(&Choice::default(), variables.collect(), home, home)
    }

    fn shared(config: Value) -> Arc<Config> {
        Arc::new(Config::new(config))
    }

    #[test]
    fn an_address_is_local_or_not() {
        let table = [
            ("http://127.0.0.1:11434/v1", true),
            ("http://LOCALHOST/v1", true),
            ("http://[::1]:8000", true),
            ("http://0.0.0.0:1234/v1", true),
            ("http://studio.local:1234/v1", true),
            ("https://api.openai.com/v1", false),
            ("https://localhost.example.com/v1", false),
            ("http://user@example.com/127.0.0.1", false),
            ("", false),
        ];
        for (url, local) in table {
            assert_eq!(is_local(url), local, "{url}");
        }
    }

    #[test]
    fn the_usual_model_answers_where_there_is_a_key_for_it() {
        let home = tempfile::tempdir().unwrap();
        let own = json!({"models": {"providers": {"anthropic": {"apiKey": "k"}}}});
        let section = json!({"env": {"ANTHROPIC_API_KEY": "k"}});
        let key = [("ANTHROPIC_API_KEY", "k")];
        let table = [
            (json!({}), &[][..], "offline/rules"),
            (json!({}), &key[..], "anthropic/claude-opus-4-5"),
            (own, &[][..], "anthropic/claude-opus-4-5"),
            (section, &[][..], "anthropic/claude-opus-4-5"),
        ];
        for (config, variables, model) in table {
            let place = place(home.path(), variables);
            assert_eq!(default_model(&place, &shared(config.clone())).to_string(), model, "{config}");
        }
    }

    #[test]
    fn what_the_configuration_says_about_a_model_wins_over_what_is_known() {
        let home = tempfile::tempdir().unwrap();
        let place = place(home.path(), &[]);
        let config = shared(json!({
            "models": {"providers": {"anthropic": {"models": [
                {"id": "claude-opus-4-5", "name": "Opus", "contextWindow": 1000},
                {"id": "claude-next"},
            ]}}},
            "agents": {"defaults": {"model": "ollama/llama", "models": {"groq/new": {}}}},
        }));
        let all = offered(&place, &config, &main_folder(&place));
        let find = |model: &str| all.iter().find(|known| known.model.to_string() == model);
        let opus = find("anthropic/claude-opus-4-5").unwrap();
        assert_eq!((opus.name.as_str(), opus.context_window, opus.images), ("Opus", 1000, true));
        assert!(find("anthropic/claude-next").is_some());
        assert!(find("anthropic/claude-haiku-4-5").is_none(), "the list of the configuration is the list");
        assert!(find("ollama/llama").is_some_and(|known| known.is_local && known.found == Found::NotNeeded));
        assert!(find("groq/new").is_some_and(|known| known.found == Found::Nowhere));
        assert!(
            find("claude-cli/opus").is_some_and(|known| known.found == Found::Nowhere),
            "it is not installed"
        );
        assert!(find("offline/rules").is_some());
        let keyed = shared(json!({"models": {"providers": {"anthropic": {"apiKey": "k", "models": []}}}}));
        let all = offered(&place, &keyed, &main_folder(&place));
        let haiku = all.iter().find(|known| known.model.to_string() == "anthropic/claude-haiku-4-5");
        assert!(haiku.is_some_and(|known| known.found == Found::Configuration), "a key is all it says");
        let replaced = shared(json!({"models": {"mode": "replace", "providers": {}}}));
        let all = offered(&place, &replaced, &main_folder(&place));
        assert!(all.iter().all(|known| matches!(known.model.provider.as_str(), "claude-cli" | "offline")));
    }

    #[test]
    fn a_model_that_is_asked_for_is_spoken_of() {
        let (model, config) = (ModelRef::new("ollama", "m"), Config::new(json!({"agents": 5})));
        assert_eq!(spoken_of(&speaking_of(&config, &model)), std::slice::from_ref(&model));
        let config = Config::new(json!({"agents": {"defaults": {"model": "ollama/m"}}}));
        assert_eq!(speaking_of(&config, &model), config);
    }
}
