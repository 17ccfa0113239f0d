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
use yabby_domain::model::normalize_provider;
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
        let mut sections = self.config.object(&["models", "providers"]).into_iter().flatten();
        let section = sections.find(|(name, _)| normalize_provider(name) == self.provider)?.1;
        section.get("apiKey")?.as_str().and_then(text::non_blank)
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
            return Some(from_file(&self.path(file.trim())));
        }
        if let Some(command) = raw.strip_prefix("command:") {
            return Some(from_command(command.trim()));
        }
        // The configuration may name a variable instead of a key.
        Some(Ok(self.environment.get(raw).unwrap_or(raw).to_owned()))
    }
}

impl ProviderKeys {
    /// A path in which `~` is the home folder.
    fn path(&self, raw: &str) -> String {
        match (raw.strip_prefix("~/"), self.environment.get("HOME")) {
            (Some(rest), Some(home)) => format!("{}/{rest}", home.trim_end_matches('/')),
            _ => raw.to_owned(),
        }
    }

    /// What the configuration says about the key, as far as it may be seen.
    pub fn shown_configured(&self) -> Option<String> {
        let raw = self.configured()?;
        Some(match raw.split_once(':') {
            Some(("file", file)) => format!("file:{}", file.trim()),
            // What a program is told may be a secret, too.
            Some(("command", _)) => "command".to_owned(),
            _ => match self.environment.get(raw) {
                Some(secret) => format!("{raw}={}", masked(secret)),
                None => masked(raw),
            },
        })
    }

    /// The variable that holds a key, and the key as far as it may be seen.
    pub fn shown_variable(&self) -> Option<(String, String)> {
        let name = self.variable()?;
        let value = masked(self.environment.get(&name)?);
        Some((name, value))
    }
}

/// A key as it may be shown: of a long one both ends, as the reference does; of a short one nothing, for
/// the ends would be most of it.
pub fn masked(secret: &str) -> String {
    const LONG: usize = 40;
    const END: usize = 8;
    let letters: Vec<char> = secret.trim().chars().collect();
    if letters.len() < LONG {
        return "***".to_owned();
    }
    let text = |letters: &[char]| letters.iter().collect::<String>();
    format!("{}...{}", text(&letters[..END]), text(&letters[letters.len() - END..]))
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

    /// What to do where there is no key.
    pub fn remedy(&self) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;
    use secrecy::ExposeSecret as _;
    use serde_json::{Value, json};
    use yabby_models::presets;
    use yabby_store::disk::LocalDisk;

    struct Case {
        folder: tempfile::TempDir,
        keys: ProviderKeys,
    }

    fn case(provider: &str, config: Value, variables: &[(&str, &str)], profiles: Option<Value>) -> Case {
        let folder = tempfile::tempdir().unwrap();
        let agent = folder.path().join("agents/main/agent");
        if let Some(profiles) = profiles {
            std::fs::create_dir_all(&agent).unwrap();
            std::fs::write(agent.join("auth-profiles.json"), profiles.to_string()).unwrap();
        }
        let home = folder.path().display().to_string();
        let variables = variables.iter().copied().chain([("HOME", home.as_str())]);
        let keys = ProviderKeys {
            provider: provider.to_owned(),
            config: Arc::new(Config::new(config)),
            profiles: AuthProfileFile::of(&agent, &agent, folder.path(), Arc::new(LocalDisk)),
            environment: Arc::new(
                variables.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            ),
            preset: presets::preset(provider),
        };
        Case { folder, keys }
    }

    fn secrets(keys: &ProviderKeys, pinned: Option<&str>) -> Result<Vec<String>, NoKey> {
        let secret = |key: &Key| key.secret.as_ref().map_or("-", |secret| secret.expose_secret()).to_owned();
        keys.usable(pinned).map(|keys| keys.iter().map(secret).collect())
    }

    fn configured(key: &str) -> Value {
        json!({"models": {"providers": {"Anthropic": {"apiKey": key}}}})
    }

    #[test]
    fn a_key_comes_from_the_configuration_before_the_environment() {
        let environment = [("ANTHROPIC_API_KEY", "sk-env"), ("MY_KEY", "sk-mine")];
        let table = [
            (json!({}), Found::Variable("ANTHROPIC_API_KEY".to_owned()), "sk-env"),
            (configured(" "), Found::Variable("ANTHROPIC_API_KEY".to_owned()), "sk-env"),
            (configured("sk-config"), Found::Configuration, "sk-config"),
            (configured("MY_KEY"), Found::Configuration, "sk-mine"),
            (configured("command: printf ' sk-told\\n'"), Found::Configuration, "sk-told"),
            (configured("file:~/key.txt"), Found::Configuration, "sk-file"),
        ];
        for (config, found, secret) in table {
            let case = case("anthropic", config.clone(), &environment, None);
            std::fs::write(case.folder.path().join("key.txt"), "sk-file\n").unwrap();
            assert_eq!(case.keys.found(), found, "{config}");
            assert_eq!(secrets(&case.keys, None).unwrap(), [secret], "{config}");
        }
    }

    #[test]
    fn a_key_that_cannot_be_had_says_what_to_do() {
        let table = [
            ("anthropic", json!({}), "Set ANTHROPIC_API_KEY"),
            ("anthropic", configured("file:/nowhere/key"), "cannot be read from /nowhere/key"),
            ("anthropic", configured("command:exit 3"), "was not told by `exit 3`: exit status: 3"),
            ("anthropic", configured("command:true"), "it printed nothing"),
        ];
        for (provider, config, told) in table {
            let case = case(provider, config.clone(), &[], None);
            match secrets(&case.keys, None) {
                Err(NoKey::Missing(remedy)) => assert!(remedy.contains(told), "{remedy}"),
                other => panic!("{config}: {other:?}"),
            }
        }
        let local = case("ollama", json!({}), &[], None);
        assert_eq!(local.keys.found(), Found::NotNeeded);
        assert_eq!(secrets(&local.keys, None).unwrap(), ["-"]);
    }

    #[test]
    fn profiles_come_first_and_those_that_failed_rest() {
        let profile = |key: &str| json!({"type": "api_key", "provider": "anthropic", "key": key});
        let profiles =
            json!({"version": 1, "profiles": {"anthropic:a": profile("a"), "anthropic:b": profile("b")}});
        let case = case("anthropic", json!({}), &[("ANTHROPIC_API_KEY", "sk-env")], Some(profiles));
        let keys = &case.keys;
        let both = ["anthropic:a", "anthropic:b"].map(str::to_owned).to_vec();
        assert_eq!(keys.found(), Found::Profiles(both));
        assert_eq!(secrets(keys, None).unwrap(), ["a", "b"]);
        keys.worked("anthropic:b");
        assert_eq!(secrets(keys, None).unwrap(), ["b", "a"], "the one that worked last");
        assert_eq!(secrets(keys, Some("anthropic:a")).unwrap(), ["a"]);
        keys.failed("anthropic:b", ModelErrorKind::Auth);
        assert_eq!(secrets(keys, None).unwrap(), ["a"]);
        keys.failed("anthropic:a", ModelErrorKind::RateLimited { retry_after: None });
        assert!(
            matches!(secrets(keys, None), Err(NoKey::Resting { for_another }) if for_another.as_secs() > 50)
        );
    }

    #[test]
    fn a_key_is_never_shown() {
        let long = "sk-ant-api03-0123456789abcdefghijklmnopqrstuvwxyz";
        let table =
            [(long, "sk-ant-a...stuvwxyz"), ("sk-stub", "***"), ("sk-0123456789abcdef", "***"), ("", "***")];
        for (secret, shown) in table {
            assert_eq!(masked(secret), shown);
        }
        let table = [
            (long, Some("sk-ant-a...stuvwxyz")),
            ("MY_KEY", Some("MY_KEY=***")),
            ("file: ~/key.txt", Some("file:~/key.txt")),
            ("command:echo sk-secret", Some("command")),
        ];
        for (raw, shown) in table {
            let case = case("anthropic", configured(raw), &[("MY_KEY", "sk-secret")], None);
            assert_eq!(case.keys.shown_configured().as_deref(), shown, "{raw}");
        }
    }
}
