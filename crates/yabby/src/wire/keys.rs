//! The keys of a provider: profiles that OpenClaw shares with us, else what the configuration or the
//! environment names.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use secrecy::SecretString;
use yabby_config::environment::Environment;
use yabby_domain::auth::{AuthProfiles, Cooldowns, Credential, FailureKind};
use yabby_domain::config::Config;
use yabby_domain::id::AgentId;
use yabby_domain::model::normalize_provider;
use yabby_domain::seam::model::ModelErrorKind;
use yabby_domain::text;
use yabby_models::presets::Preset;
use yabby_models::rotation::{Key, Keys, NoKey};
use yabby_store::files::auth_profiles::AuthProfileFile;

/// The keys of one provider, as one agent has them.
#[derive(Clone)]
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
        let mut sections = self.config.models.providers.iter().flatten();
        let section = sections.find(|(name, _)| normalize_provider(name) == self.provider)?.1;
        section.api_key.as_deref().and_then(text::non_blank)
    }

    /// The variable of the environment that holds a key.
    fn variable(&self) -> Option<String> {
        let named = self.preset.map(|preset| preset.key_variables).unwrap_or_default();
        let names = named.iter().map(|name| (*name).to_owned()).chain([self.own_variable()]);
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

impl ProviderKeys {
    /// Those that may be used now, the first to be tried first; `pinned` is the only one a session wants.
    pub fn usable(&self, pinned: Option<&str>) -> Result<Vec<Key>, NoKey> {
        let now = now();
        let profiles = self.profiles.read().map_err(|error| NoKey::Missing(error.to_string()))?;
        let mut order = profiles.order(&self.provider, &self.config, now);
        if let Some(pinned) = pinned.filter(|pinned| self.is_ours(pinned, &profiles)) {
            // Whoever chose a profile does not want another one to pay.
            let Some(credential) = profiles.credential(pinned) else {
                return Err(NoKey::Missing(self.no_such_profile(pinned)));
            };
            if let Some(at) = credential.expires().filter(|at| *at <= now) {
                return Err(NoKey::Missing(self.has_expired(pinned, at)));
            }
            order = vec![pinned.to_owned()];
        } else if let Some(good) = profiles.last_good(&self.provider)
            && let Some(at) = order.iter().position(|id| id == good)
            && self.config.auth.order.as_ref().is_none_or(|order| !order.contains_key(&self.provider))
        {
            // Providers keep what they have read for each key: the one that worked last is the cheapest.
            let good = order.remove(at);
            order.insert(0, good);
        }
        if !order.is_empty() {
            let key = |id: &String| {
                let credential = profiles.credential(id)?;
                Some(Key {
                    profile: Some(id.clone()),
                    secret: Some(SecretString::from(credential.secret())),
                    bearer: !matches!(credential, Credential::ApiKey { .. }),
                })
            };
            let usable = order.iter().filter(|id| profiles.rests_until(id, now).is_none());
            let keys: Vec<Key> = usable.filter_map(key).collect();
            if !keys.is_empty() {
                return Ok(keys);
            }
            let until = order.iter().filter_map(|id| profiles.rests_until(id, now)).fold(f64::MAX, f64::min);
            let for_another = Duration::from_secs_f64(((until - now) / 1000.0).clamp(0.0, 86_400.0));
            let unpaid = order.iter().all(|id| profiles.disabled_for(id, now) == Some("billing"));
            return Err(NoKey::Resting { for_another, unpaid });
        }
        let plain = |secret: String| {
            vec![Key { profile: None, secret: Some(SecretString::from(secret)), bearer: false }]
        };
        match self.configured_key() {
            Some(Ok(secret)) => return Ok(plain(secret)),
            Some(Err(problem)) => return Err(NoKey::Missing(problem)),
            None => {}
        }
        let expired = profiles.expired(&self.provider, now);
        match self.variable().and_then(|name| self.environment.get(&name).map(str::to_owned)) {
            Some(secret) => Ok(plain(secret)),
            None if let Some((id, at)) = expired.first() => Err(NoKey::Missing(self.has_expired(id, *at))),
            None if self.needs_key() => Err(NoKey::Missing(self.remedy())),
            None => Ok(vec![Key { profile: None, secret: None, bearer: false }]),
        }
    }

    pub fn worked(&self, profile: &str) {
        self.learn(|profiles, now| profiles.succeeded(profile, now));
    }

    pub fn failed(&self, profile: &str, why: ModelErrorKind) {
        let kind = match why {
            ModelErrorKind::Auth => FailureKind::Auth,
            ModelErrorKind::Billing => FailureKind::Billing,
            ModelErrorKind::RateLimited { .. } | ModelErrorKind::Overloaded => FailureKind::RateLimit,
            ModelErrorKind::TimedOut => FailureKind::Timeout,
            ModelErrorKind::BadRequest => FailureKind::Format,
            _ => FailureKind::Unknown,
        };
        let cooldowns = Cooldowns::from_config(&self.config, &self.provider);
        self.learn(|profiles, now| profiles.failed(profile, kind, now, &cooldowns));
    }
}

/// The keys of one provider, whichever agent asks.
pub struct AgentsKeys {
    pub main: ProviderKeys,
    /// Where agents that the configuration names keep their credentials.
    pub folders: HashMap<AgentId, AuthProfileFile>,
}

impl AgentsKeys {
    fn of(&self, agent: &AgentId) -> ProviderKeys {
        let profiles = self.folders.get(agent).unwrap_or(&self.main.profiles).clone();
        ProviderKeys { profiles, ..self.main.clone() }
    }
}

impl Keys for AgentsKeys {
    fn usable(&self, agent: &AgentId, pinned: Option<&str>) -> Result<Vec<Key>, NoKey> {
        self.of(agent).usable(pinned)
    }

    fn is_quick(&self) -> bool {
        !self.main.configured().is_some_and(|key| key.starts_with("command:"))
    }

    fn worked(&self, agent: &AgentId, profile: &str) {
        self.of(agent).worked(profile);
    }

    fn failed(&self, agent: &AgentId, profile: &str, why: ModelErrorKind) {
        self.of(agent).failed(profile, why);
    }
}

impl ProviderKeys {
    /// Whether a profile that a session wants is one for this provider. What a fallback of another one is
    /// asked with, nobody has chosen.
    fn is_ours(&self, id: &str, profiles: &AuthProfiles) -> bool {
        let known = profiles.provider(id);
        let named = || id.split_once(':').map(|(provider, _)| normalize_provider(provider));
        known.or_else(named).is_none_or(|provider| provider == self.provider)
    }

    fn no_such_profile(&self, id: &str) -> String {
        format!(
            "There is no profile {id} for {} any more, which this session was told to use: choose the model again with /model, with `@` and another profile or without one.",
            self.provider
        )
    }

    fn has_expired(&self, id: &str, at: f64) -> String {
        #[expect(clippy::cast_possible_truncation, reason = "no time is that late")]
        let day = Timestamp::from_millisecond(at as i64).map(|at| at.strftime("%Y-%m-%d").to_string());
        format!(
            "The profile {id} expired on {}: sign in again with the program that it came from, or set {}.",
            day.unwrap_or_else(|_| "a day long ago".to_owned()),
            self.usual_variable()
        )
    }

    /// What is learnt is worth little if it cannot be kept: no answer is held up by it.
    fn learn(&self, change: impl FnOnce(&mut AuthProfiles, f64)) {
        let now = now();
        let _ = self.profiles.update(|profiles| change(profiles, now));
    }

    /// What to do where there is no key.
    pub fn remedy(&self) -> String {
        let (name, provider) = (self.usual_variable(), &self.provider);
        format!(
            "There is no key for {provider}. Set {name} in the environment, or write `{name}=…` into a file .env in the state folder; without one, /model offline/rules still answers."
        )
    }

    /// The variable that people are told to set.
    fn usual_variable(&self) -> String {
        let known = self.preset.and_then(|preset| preset.key_variables.first());
        known.map_or_else(|| self.own_variable(), |name| (*name).to_owned())
    }

    /// Any provider may have a variable of its name.
    fn own_variable(&self) -> String {
        format!("{}_API_KEY", self.provider.to_uppercase().replace('-', "_"))
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
    Timestamp::now().as_millisecond() as f64
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
            matches!(secrets(keys, None), Err(NoKey::Resting { for_another, unpaid: false }) if for_another.as_secs() > 50)
        );
    }

    #[test]
    fn an_account_that_is_not_paid_for_rests_for_hours() {
        let profile = |key: &str| json!({"type": "api_key", "provider": "anthropic", "key": key});
        let profiles =
            json!({"version": 1, "profiles": {"anthropic:a": profile("a"), "anthropic:b": profile("b")}});
        let case = case("anthropic", json!({}), &[], Some(profiles));
        case.keys.failed("anthropic:a", ModelErrorKind::Billing);
        let file = std::fs::read_to_string(case.keys.profiles.path()).unwrap();
        assert!(
            file.contains("\"disabledReason\": \"billing\"") && file.contains("\"disabledUntil\""),
            "{file}"
        );
        assert_eq!(secrets(&case.keys, None).unwrap(), ["b"]);
        case.keys.failed("anthropic:b", ModelErrorKind::Billing);
        let hours = |rest: Duration| rest.as_secs().div_ceil(3600);
        assert!(
            matches!(secrets(&case.keys, None), Err(NoKey::Resting { for_another, unpaid: true }) if hours(for_another) == 5)
        );
    }

    #[test]
    fn a_profile_that_was_chosen_is_the_only_one() {
        let profiles = json!({"version": 1, "profiles": {
            "anthropic:a": {"type": "api_key", "provider": "anthropic", "key": "a"},
            "anthropic:old": {"type": "token", "provider": "anthropic", "token": "t", "expires": 1_000_000_000_000_u64},
            "openai:x": {"type": "api_key", "provider": "openai", "key": "x"},
        }});
        let variables = [("ANTHROPIC_API_KEY", "sk-env")];
        let case = case("anthropic", json!({}), &variables, Some(profiles));
        let table = [
            ("anthropic:a", Ok("a")),
            ("anthropic:gone", Err("There is no profile anthropic:gone for anthropic")),
            ("gone", Err("There is no profile gone for anthropic")),
            ("anthropic:old", Err("The profile anthropic:old expired on 2001-09-09")),
            // It was chosen for another model, and this one is a fallback.
            ("openai:x", Ok("a")),
            ("openai:gone", Ok("a")),
        ];
        for (pinned, expected) in table {
            match (secrets(&case.keys, Some(pinned)), expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, [expected], "{pinned}"),
                (Err(NoKey::Missing(why)), Err(expected)) => assert!(why.starts_with(expected), "{why}"),
                (found, _) => panic!("{pinned}: {found:?}"),
            }
        }
    }

    #[test]
    fn what_has_expired_is_passed_over_and_told_where_there_is_nothing_else() {
        let profile = |kind: &str| {
            json!({"version": 1, "profiles": {"anthropic:me": {
                "type": kind, "provider": "anthropic", "token": "t", "access": "t", "refresh": "r", "expires": 1_000_000_000_000_u64,
            }}})
        };
        for kind in ["token", "oauth"] {
            let other = case("anthropic", json!({}), &[("ANTHROPIC_API_KEY", "sk-env")], Some(profile(kind)));
            assert_eq!(secrets(&other.keys, None).unwrap(), ["sk-env"], "{kind}");
            let alone = case("anthropic", json!({}), &[], Some(profile(kind)));
            let Err(NoKey::Missing(why)) = secrets(&alone.keys, None) else { panic!("{kind}") };
            assert!(why.contains("anthropic:me expired on 2001-09-09: sign in again"), "{why}");
            assert!(why.ends_with("or set ANTHROPIC_API_KEY."), "{why}");
        }
    }

    #[test]
    fn an_agent_has_keys_of_its_own_before_the_main_agents() {
        let profile = |key: &str| json!({"version": 1, "profiles": {"acme:a": {"type": "api_key", "provider": "acme", "key": key}}});
        let case = case("acme", json!({}), &[], Some(profile("mains")));
        let [main, ops, quiet] = ["main", "ops", "quiet"].map(AgentId::normalize);
        let folder = |agent: &AgentId| case.folder.path().join(format!("agents/{agent}/agent"));
        std::fs::create_dir_all(folder(&ops)).unwrap();
        std::fs::write(folder(&ops).join("auth-profiles.json"), profile("own").to_string()).unwrap();
        let file = |agent: &AgentId| {
            AuthProfileFile::of(&folder(agent), &folder(&main), case.folder.path(), Arc::new(LocalDisk))
        };
        let folders = [&ops, &quiet].map(|agent| (agent.clone(), file(agent))).into_iter().collect();
        let keys = AgentsKeys { main: case.keys.clone(), folders };
        let secret = |agent: &AgentId| {
            let keys = keys.usable(agent, None).unwrap();
            keys[0].secret.as_ref().map(|secret| secret.expose_secret().to_owned()).unwrap()
        };
        assert_eq!([&main, &ops, &quiet].map(secret), ["mains", "own", "mains"]);
        keys.failed(&ops, "acme:a", ModelErrorKind::Auth);
        assert!(keys.usable(&ops, None).is_err());
        assert_eq!(secret(&main), "mains", "what one agent learns of its key says nothing about another's");
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
