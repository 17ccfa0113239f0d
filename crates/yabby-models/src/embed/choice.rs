//! Who embeds (`memory.md` §5.1).

use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use regex::Regex;
use secrecy::{ExposeSecret as _, SecretString};
use yabby_domain::seam::embedder::Embedder;
use yabby_domain::text;

use super::local::LocalEmbedder;
use super::remote::{Access, RemoteEmbedder};
use super::service::{Kind, Service};
use super::settings::{EmbedSettings, Provider, Wanted};
use crate::http::Http;

/// What the configuration knows about a provider, beside what it says about memory.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// From wherever keys are kept.
    pub key: Option<SecretString>,
    /// `models.providers.<provider>`.
    pub base_url: Option<String>,
    pub headers: Vec<(String, SecretString)>,
}

/// Where accounts and keys are looked up.
pub struct Accounts<'a> {
    /// Of `openai`, `google`, `voyage`, `ollama`, `openai-compatible`.
    pub account: &'a dyn Fn(&str) -> Account,
    /// Of the environment.
    pub variable: &'a dyn Fn(&str) -> Option<SecretString>,
}

/// Who embeds, and how that came about.
#[derive(Clone)]
pub struct Choice {
    /// Nobody, for this reason: memory is found by its words only.
    pub embedder: Result<Arc<dyn Embedder>, String>,
    pub requested: Wanted,
    /// Who should have.
    pub fallback_from: Option<Provider>,
    /// And why not.
    pub fallback_reason: Option<String>,
}

/// What is missing if there is no key; nobody else's words begin like this.
const NO_KEY: &str = "No API key found for provider";

/// Chooses, without asking anybody.
pub fn choose(settings: &EmbedSettings, accounts: &Accounts<'_>, http: &Http) -> Choice {
    let make = |provider, model| make(provider, model, settings, accounts, http);
    let model = settings.model.as_deref().and_then(text::non_blank);
    let chosen = |embedder| Choice {
        embedder,
        requested: settings.provider,
        fallback_from: None,
        fallback_reason: None,
    };
    match settings.provider {
        Wanted::Nobody => chosen(Err("embeddings are turned off (`provider` is none)".to_owned())),
        Wanted::Auto => {
            if let Ok(folder) = local_folder(settings) {
                return chosen(Ok(Arc::new(LocalEmbedder::new(&folder, settings.limits))));
            }
            let mut missing = Vec::new();
            for provider in [Provider::OpenAi, Provider::Gemini, Provider::Voyage] {
                match make(provider, model) {
                    Err(reason) if reason.contains(NO_KEY) => missing.push(reason),
                    made => return chosen(made),
                }
            }
            chosen(Err(missing.join("\n\n")))
        }
        Wanted::Named(provider) => match make(provider, model) {
            Ok(embedder) => chosen(Ok(embedder)),
            Err(reason) => fall_back(settings, accounts, http, provider, &reason),
        },
    }
}

/// The choice after a provider has failed: whoever the settings name for that, with its usual model.
pub fn fall_back(
    settings: &EmbedSettings,
    accounts: &Accounts<'_>,
    http: &Http,
    from: Provider,
    reason: &str,
) -> Choice {
    let mut choice = Choice {
        embedder: Err(reason.to_owned()),
        requested: settings.provider,
        fallback_from: None,
        fallback_reason: None,
    };
    let Some(fallback) = settings.fallback.filter(|fallback| *fallback != from) else { return choice };
    match make(fallback, None, settings, accounts, http) {
        Ok(embedder) => {
            choice.embedder = Ok(embedder);
            choice.fallback_from = Some(from);
            choice.fallback_reason = Some(reason.to_owned());
        }
        Err(why) => {
            choice.embedder = Err(format!("{reason}\n\nFallback to {} failed: {why}", fallback.as_str()));
        }
    }
    choice
}

/// Whether a failure while the index is built is one that another provider may not have.
pub fn is_embedding_failure(words: &str) -> bool {
    static SIGNS: LazyLock<Regex> =
        LazyLock::new(|| Regex::new("(?i)embedding|embeddings|batch").expect("a constant pattern compiles"));
    SIGNS.is_match(words)
}

/// What is usual with a provider.
struct Usual {
    /// As accounts know it.
    account: &'static str,
    base_url: Option<&'static str>,
    model: Option<&'static str>,
    /// The variable with its key, if it does not answer without.
    key: Option<&'static str>,
}

fn usual(provider: Provider) -> Usual {
    match provider {
        Provider::OpenAi => Usual {
            account: "openai",
            base_url: Some("https://api.openai.com/v1"),
            model: Some("text-embedding-3-small"),
            key: Some("OPENAI_API_KEY"),
        },
        Provider::Gemini => Usual {
            account: "google",
            base_url: Some("https://generativelanguage.googleapis.com/v1beta"),
            model: Some("gemini-embedding-001"),
            key: Some("GEMINI_API_KEY"),
        },
        Provider::Voyage => Usual {
            account: "voyage",
            base_url: Some("https://api.voyageai.com/v1"),
            model: Some("voyage-4-large"),
            key: Some("VOYAGE_API_KEY"),
        },
        Provider::Ollama => Usual {
            account: "ollama",
            base_url: Some("http://127.0.0.1:11434"),
            model: Some("nomic-embed-text"),
            key: None,
        },
        Provider::OpenAiCompatible | Provider::Local => {
            Usual { account: "openai-compatible", base_url: None, model: None, key: None }
        }
    }
}

fn make(
    provider: Provider,
    model: Option<&str>,
    settings: &EmbedSettings,
    accounts: &Accounts<'_>,
    http: &Http,
) -> Result<Arc<dyn Embedder>, String> {
    let remote = &settings.remote;
    let kind = match provider {
        Provider::OpenAi => Kind::OpenAi,
        Provider::Gemini => Kind::Gemini,
        Provider::Voyage => Kind::Voyage,
        Provider::OpenAiCompatible => Kind::OpenAiCompatible(remote.input_types.clone()),
        Provider::Ollama => Kind::Ollama,
        Provider::Local => {
            return Ok(Arc::new(LocalEmbedder::new(&local_folder(settings)?, settings.limits)));
        }
    };
    let usual = usual(provider);
    let account = (accounts.account)(usual.account);
    let key = configured_key(provider, remote.api_key.as_ref(), accounts)?.or(account.key);
    if let Some(variable) = usual.key.filter(|_| key.is_none()) {
        let name = usual.account;
        return Err(format!("{NO_KEY} \"{name}\": set {variable}, or `memorySearch.remote.apiKey`."));
    }
    let base_url = remote.base_url.as_deref().and_then(text::non_blank).or(account.base_url.as_deref());
    let base_url = base_url.or(usual.base_url).ok_or_else(|| {
        let name = provider.as_str();
        format!("Embeddings of {name} need the address of the server: set `memorySearch.remote.baseUrl`.")
    })?;
    let model = model.or(usual.model).ok_or_else(|| {
        let name = provider.as_str();
        format!("Embeddings of {name} need the name of a model: set `memorySearch.model`.")
    })?;
    let headers = account.headers.into_iter().chain(remote.headers.iter().cloned()).collect();
    let access = Access { key, headers, jobs: remote.jobs, limits: settings.limits };
    let embedder = RemoteEmbedder::new(Service::new(kind, base_url, model), access, http.clone())?;
    Ok(Arc::new(embedder))
}

/// The key of the settings. For Gemini it may be the name of the variable that has it.
fn configured_key(
    provider: Provider,
    key: Option<&SecretString>,
    accounts: &Accounts<'_>,
) -> Result<Option<SecretString>, String> {
    let Some(key) = key.filter(|key| text::non_blank(key.expose_secret()).is_some()) else {
        return Ok(None);
    };
    let name = text::trim(key.expose_secret());
    if provider == Provider::Gemini && matches!(name, "GOOGLE_API_KEY" | "GEMINI_API_KEY") {
        let found = (accounts.variable)(name);
        return found.map(Some).ok_or_else(|| format!("{NO_KEY} \"google\": {name} is not set."));
    }
    Ok(Some(key.clone()))
}

/// Where the model of this machine is.
fn local_folder(settings: &EmbedSettings) -> Result<PathBuf, String> {
    let named = settings.local.model_path.as_deref().and_then(text::non_blank);
    let named = named.filter(|path| !path.starts_with("hf:") && !path.starts_with("http")).map(PathBuf::from);
    let beside = named.as_ref().filter(|path| path.is_file()).and_then(|path| path.parent());
    let usual = Some(settings.local.folder.clone()).filter(|folder| !folder.as_os_str().is_empty());
    let folders = [named.clone(), beside.map(PathBuf::from), usual];
    let found = folders.into_iter().flatten().find(|folder| yabby_minilm::is_installed(folder));
    found.ok_or_else(|| match named {
        Some(path) => format!(
            "{} is not the model that local embeddings are made with, all-MiniLM-L6-v2; `yabby memory model install` brings it.",
            path.display()
        ),
        None => "Local embeddings need a model; `yabby memory model install` brings it.".to_owned(),
    })
}
