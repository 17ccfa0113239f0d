//! The keys of a provider: profiles that OpenClaw shares with us, else what the configuration or the
//! environment names.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;
use yabby_config::environment::Environment;
use yabby_domain::auth::{Cooldowns, FailureKind};
use yabby_domain::config::Config;
use yabby_domain::seam::model::ModelErrorKind;
use yabby_domain::text;
use yabby_models::presets::Preset;
use yabby_models::rotation::{Key, Keys, NoKey};
use yabby_store::files::auth_profiles::AuthProfileFile;

/// The keys of one provider.
pub struct ProviderKeys {
    pub provider: String,
    pub config: Arc<Config>,
    pub profiles: AuthProfileFile,
    pub environment: Arc<Environment>,
    /// What is known about the provider, if it is a common one.
    pub preset: Option<&'static Preset>,
}

/// Where a key was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    Profiles(Vec<String>),
    Configuration,
    Variable(String),
    NotNeeded,
    Nowhere,
}

impl ProviderKeys {
    /// Where a key would come from, for people.
    pub fn found(&self) -> Found {
        let now = now();
        let profiles = self.profiles.read().map(|all| all.order(&self.provider, &self.config, now));
        match profiles {
            Ok(profiles) if !profiles.is_empty() => Found::Profiles(profiles),
            _ if self.configured().is_some() => Found::Configuration,
            _ => match (self.variable(), self.needs_key()) {
                (Some(name), _) => Found::Variable(name),
                (None, true) => Found::Nowhere,
                (None, false) => Found::NotNeeded,
            },
        }
    }

    fn needs_key(&self) -> bool {
        self.preset.is_some_and(|preset| preset.needs_key)
    }

    /// What the configuration says under `apiKey`.
    fn configured(&self) -> Option<&str> {
        self.config.text(&["models", "providers", &self.provider, "apiKey"]).and_then(text::non_blank)
    }

    /// The variable of the environment that holds a key.
    fn variable(&self) -> Option<String> {
        let named = self.preset.map(|preset| preset.key_variables).unwrap_or_default();
        let usual = format!("{}_API_KEY", self.provider.to_uppercase().replace('-', "_"));
        let names = named.iter().map(|name| (*name).to_owned()).chain([usual]);
        names.into_iter().find(|name| self.environment.get(name).and_then(text::non_blank).is_some())
    }

    fn configured_key(&self) -> Option<Result<String, String>> {
        let raw = self.configured()?;
        if let Some(file) = raw.strip_prefix("file:") {
            return Some(from_file(file.trim()));
        }
        if let Some(command) = raw.strip_prefix("command:") {
            return Some(from_command(command.trim()));
        }
        // The configuration may name a variable instead of a key.
        Some(Ok(self.environment.get(raw).unwrap_or(raw).to_owned()))
    }
}

impl Keys for ProviderKeys {
    fn usable(&self, pinned: Option<&str>) -> Result<Vec<Key>, NoKey> {
        let now = now();
        let profiles = self.profiles.read().map_err(|error| NoKey::Missing(error.to_string()))?;
        let mut order = profiles.order(&self.provider, &self.config, now);
        if let Some(pinned) = pinned {
            order.retain(|id| id == pinned);
        } else if let Some(good) = profiles.last_good(&self.provider)
            && let Some(at) = order.iter().position(|id| id == good)
            && self.config.get(&["auth", "order", &self.provider]).is_none()
        {
            // Providers keep what they have read for each key: the one that worked last is the cheapest.
            let good = order.remove(at);
            order.insert(0, good);
        }
        if !order.is_empty() {
            let key = |id: &String| {
                let secret = profiles.credential(id)?.secret().to_owned();
                Some(Key { profile: Some(id.clone()), secret: Some(SecretString::from(secret)) })
            };
            let usable = order.iter().filter(|id| profiles.rests_until(id, now).is_none());
            let keys: Vec<Key> = usable.filter_map(key).collect();
            if !keys.is_empty() {
                return Ok(keys);
            }
            let until = order.iter().filter_map(|id| profiles.rests_until(id, now)).fold(f64::MAX, f64::min);
            let for_another = Duration::from_secs_f64(((until - now) / 1000.0).clamp(0.0, 86_400.0));
            return Err(NoKey::Resting { for_another });
        }
        let plain = |secret: String| vec![Key { profile: None, secret: Some(SecretString::from(secret)) }];
        match self.configured_key() {
            Some(Ok(secret)) => return Ok(plain(secret)),
            Some(Err(problem)) => return Err(NoKey::Missing(problem)),
            None => {}
        }
        match self.variable().and_then(|name| self.environment.get(&name).map(str::to_owned)) {
            Some(secret) => Ok(plain(secret)),
            None if self.needs_key() => Err(NoKey::Missing(self.remedy())),
            None => Ok(vec![Key { profile: None, secret: None }]),
        }
    }

    fn worked(&self, profile: &str) {
        self.learn(|profiles, now| profiles.succeeded(profile, now));
    }

    fn failed(&self, profile: &str, why: ModelErrorKind) {
        let kind = match why {
            ModelErrorKind::Auth => FailureKind::Auth,
            ModelErrorKind::RateLimited { .. } | ModelErrorKind::Overloaded => FailureKind::RateLimit,
            ModelErrorKind::TimedOut => FailureKind::Timeout,
            ModelErrorKind::BadRequest => FailureKind::Format,
            _ => FailureKind::Unknown,
        };
        let cooldowns = Cooldowns::from_config(&self.config, &self.provider);
        self.learn(|profiles, now| profiles.failed(profile, kind, now, &cooldowns));
    }
}

impl ProviderKeys {
    /// What is learnt is worth little if it cannot be kept: no answer is held up by it.
    fn learn(&self, change: impl FnOnce(&mut yabby_domain::auth::AuthProfiles, f64)) {
        let now = now();
        let _ = self.profiles.update(|profiles| change(profiles, now));
    }

    fn remedy(&self) -> String {
        let name = self.preset.and_then(|preset| preset.key_variables.first()).copied().unwrap_or_default();
        let provider = &self.provider;
        format!(
            "There is no key for {provider}. Set {name} in the environment or in a .env file of the state folder, or `models.providers.{provider}.apiKey`; without one, /model offline/rules still answers."
        )
    }
}

fn from_file(file: &str) -> Result<String, String> {
    let read = std::fs::read_to_string(Path::new(file));
    let text = read.map_err(|error| format!("The key cannot be read from {file}: {error}."))?;
    text::non_blank(&text).map(str::to_owned).ok_or_else(|| format!("{file} holds no key."))
}

/// What a password manager prints.
fn from_command(command: &str) -> Result<String, String> {
    let failed = |why: String| format!("The key was not told by `{command}`: {why}.");
    let output =
        Command::new("sh").args(["-c", command]).output().map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(output.status.to_string()));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    text::non_blank(&text).map(str::to_owned).ok_or_else(|| failed("it printed nothing".to_owned()))
}

fn now() -> f64 {
    jiff::Timestamp::now().as_millisecond() as f64
}
