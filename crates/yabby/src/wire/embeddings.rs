//! Who tells what is alike: the service or the model that the configuration names for the memory
//! (`memory.md` §5.1).

use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;
use yabby_domain::config::Config;
use yabby_domain::config::extras::ExtraRemote;
use yabby_domain::id::AgentId;
use yabby_domain::seam::embedder::Embedder;
use yabby_memory::settings::{Remote, Settings};
use yabby_models::embed::{
    self, Account, Accounts, Choice, EmbedSettings, InputTypes, JobSettings, LocalSettings, Provider,
    RemoteSettings, Wanted,
};
use yabby_models::{Http, Patience};
use yabby_store::paths::Place;

use super::models;

/// Where the local model is installed.
pub fn model_folder(place: &Place) -> std::path::PathBuf {
    place.folder.path().join("models/minilm")
}

/// Who embeds for an agent, and how that came about. Nobody is asked for it.
pub fn choice(place: &Place, config: &Arc<Config>, agent: &AgentId, settings: &Settings) -> Choice {
    with_accounts(place, config, agent, |accounts, http| {
        embed::choose(&wanted(place, config, agent, settings), accounts, http)
    })
}

/// Who else embeds if the one that was chosen fails.
pub fn fallback(
    place: &Place,
    config: &Arc<Config>,
    agent: &AgentId,
    settings: &Settings,
    chosen: &str,
) -> Option<Arc<dyn Embedder>> {
    let from = Provider::parse(chosen)?;
    let wanted = wanted(place, config, agent, settings);
    let instead = with_accounts(place, config, agent, |accounts, http| {
        embed::fall_back(&wanted, accounts, http, from, "")
    });
    instead.embedder.ok()
}

/// Does something with the accounts of an agent.
fn with_accounts<T>(
    place: &Place,
    config: &Arc<Config>,
    agent: &AgentId,
    act: impl FnOnce(&Accounts<'_>, &Http) -> T,
) -> T {
    let http = Http::new(Patience::default());
    let folder = place.folder.path().join("agents").join(agent.as_str()).join("agent");
    let account = |provider: &str| {
        let services = models::services(place, config, &folder);
        let known = services.into_iter().find(|service| service.settings.id == provider);
        known.map_or_else(Account::default, |service| Account {
            key: service.keys.usable(None).ok().and_then(|keys| keys.into_iter().find_map(|key| key.secret)),
            base_url: base_url_of(config, provider),
            headers: Vec::new(),
        })
    };
    let variable = |name: &str| place.environment.get(name).map(SecretString::from);
    act(&Accounts { account: &account, variable: &variable }, &http)
}

fn base_url_of(config: &Config, provider: &str) -> Option<String> {
    let provider = config.models.providers.as_ref()?.get(provider)?;
    Some(provider.base_url.to_string()).filter(|url| !url.is_empty())
}

/// Whether what was said goes to whoever embeds. A service is told only what the configuration says it is.
pub fn sees_sessions(choice: &Choice, settings: &Settings) -> bool {
    let is_local =
        choice.embedder.as_ref().is_ok_and(|embedder| embedder.provider() == Provider::Local.as_str());
    is_local || settings.sources.contains(&yabby_memory::compat::files::Source::Sessions)
}

fn wanted(place: &Place, config: &Config, agent: &AgentId, settings: &Settings) -> EmbedSettings {
    let of_agent = config.agent(agent).map(|agent| &agent.extras.memory_search.remote);
    let of_all = &config.extras.agents.defaults.memory_search.remote;
    let own = |pick: fn(&ExtraRemote) -> &Option<String>| {
        of_agent.and_then(|remote| pick(remote).clone()).or_else(|| pick(of_all).clone())
    };
    EmbedSettings {
        provider: Wanted::parse(settings.provider.as_str()).unwrap_or_default(),
        model: Some(settings.model.clone()).filter(|model| !model.is_empty()),
        fallback: settings.fallback.as_ref().and_then(|fallback| Provider::parse(fallback.as_str())),
        remote: settings
            .remote
            .as_ref()
            .map(|remote| RemoteSettings {
                input_types: InputTypes {
                    all: own(|remote| &remote.input_type),
                    query: own(|remote| &remote.query_input_type),
                    document: own(|remote| &remote.document_input_type),
                },
                ..remote_settings(remote)
            })
            .unwrap_or_default(),
        local: LocalSettings { model_path: settings.local.model_path.clone(), folder: model_folder(place) },
        ..EmbedSettings::default()
    }
}

fn remote_settings(remote: &Remote) -> RemoteSettings {
    let secret = |(name, value): &(String, String)| (name.clone(), SecretString::from(value.as_str()));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let jobs = JobSettings {
        enabled: remote.batch.enabled && remote.batch.wait,
        concurrency: remote.batch.concurrency as usize,
        poll_interval: Duration::from_millis(remote.batch.poll_interval_ms as u64),
        timeout: Duration::from_secs((remote.batch.timeout_minutes * 60.0) as u64),
    };
    RemoteSettings {
        base_url: remote.base_url.clone(),
        api_key: remote.api_key.as_deref().map(SecretString::from),
        headers: remote.headers.iter().flatten().map(secret).collect(),
        input_types: InputTypes::default(),
        jobs,
    }
}
