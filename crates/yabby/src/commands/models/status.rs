//! `yabby models status`: which model answers, and with which keys.

mod probes;

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, bail};
use clap::Args;
use serde::Serialize;
use serde_json::json;
use yabby_domain::agent::agents;
use yabby_domain::auth::{AuthProfiles, Credential};
use yabby_domain::config::Config;
use yabby_domain::id::AgentId;
use yabby_domain::json::Value;
use yabby_domain::model::{ModelRef, configured_model};
use yabby_domain::text;

use super::{Configured, DEFAULT_PROVIDER, aliases, choice, one_form, shared_config};
use crate::failure::Failure;
use crate::setting::Setting;
use crate::terminal;
use crate::wire::keys::{Found, masked};
use crate::wire::models::{Service, default_model, main_folder, services};
use probes::Probes;

#[derive(Args)]
#[group(skip)]
pub struct Arguments {
    /// Print JSON
    #[arg(long, alias = "status-json")]
    json: bool,
    /// Print the model that answers, and nothing else
    #[arg(long, alias = "status-plain")]
    plain: bool,
    /// Exit with 1 if a key is missing or has expired, with 2 if one is about to
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    probes: probes::Arguments,
    /// What an agent uses: its model, and its keys
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
}

/// What is about to expire within this time is worth a warning.
const WARN_AFTER_MS: f64 = 86_400_000.0;

/// An agent that was asked for.
struct Asked {
    id: AgentId,
    folder: PathBuf,
    /// What it says itself, as it was written.
    primary: Option<String>,
    fallbacks: Option<Vec<String>>,
}

struct Status {
    asked: Option<Asked>,
    folder: PathBuf,
    configured: Configured,
    /// As it was written; empty if nothing is.
    written: String,
    resolved: ModelRef,
    fallbacks: Vec<String>,
    /// All that may be asked, the first to be asked first.
    in_use: Vec<ModelRef>,
    aliases: yabby_domain::json::Object,
    auth: Auth,
}

/// Which keys there are.
struct Auth {
    store: PathBuf,
    shell: bool,
    providers: Vec<Provider>,
    /// Those who would be asked, and have no key; what to do about it.
    missing: Vec<(String, String)>,
    unusable: Vec<Unusable>,
    health: Vec<Health>,
    /// Whoever there is, with or without a key.
    known: Vec<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Provider {
    provider: String,
    effective: Effective,
    profiles: Profiles,
    #[serde(skip_serializing_if = "Option::is_none")]
    env: Option<Shown>,
    #[serde(skip_serializing_if = "Option::is_none")]
    models_json: Option<Shown>,
}

#[derive(Serialize)]
struct Effective {
    kind: &'static str,
    detail: String,
}

#[derive(Serialize, Default)]
#[serde(rename_all = "camelCase")]
struct Profiles {
    count: usize,
    oauth: usize,
    token: usize,
    api_key: usize,
    labels: Vec<String>,
}

/// A key, as far as it may be seen.
#[derive(Serialize)]
struct Shown {
    value: String,
    source: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Unusable {
    profile_id: String,
    provider: Option<String>,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    until: f64,
    remaining_ms: f64,
}

/// How long a profile can be used.
#[derive(Serialize, Clone)]
#[serde(rename_all = "camelCase")]
struct Health {
    profile_id: String,
    provider: String,
    #[serde(rename = "type")]
    kind: &'static str,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    remaining_ms: Option<f64>,
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    one_form(arguments.json, arguments.plain)?;
    if arguments.plain && arguments.probes.are_wanted() {
        bail!("--probe cannot be used with --plain output.");
    }
    let config = shared_config(setting)?;
    let status = Status::of(setting, &config, arguments.agent.as_deref())?;
    let probes = match arguments.probes.are_wanted() {
        true => Some(Probes::run(setting, &config, &status, &arguments.probes)?),
        false => None,
    };
    if arguments.json {
        let mut told = status.json(setting);
        if let Some(probes) = &probes {
            told["auth"]["probes"] = probes.json();
        }
        terminal::print_json(&told)?;
    } else {
        let mut out = anstream::stdout().lock();
        let plain = || vec![status.resolved.to_string()];
        let lines = if arguments.plain { plain() } else { status.lines(setting) };
        for line in lines.into_iter().chain(probes.iter().flat_map(Probes::lines)) {
            writeln!(out, "{}", terminal::harmless(&line))?;
        }
    }
    match status.auth.problem() {
        Some(code) if arguments.check => Err(Failure::silent().with_code(code).into()),
        _ => Ok(()),
    }
}

impl Status {
    fn of(setting: &Setting, config: &Arc<Config>, agent: Option<&str>) -> Result<Self> {
        let asked = agent.and_then(text::non_blank).map(|raw| asked(setting, config, raw)).transpose()?;
        let folder = asked.as_ref().map_or_else(|| main_folder(&setting.place), |asked| asked.folder.clone());
        let configured = Configured::of(config);
        let own = asked.as_ref().and_then(|asked| asked.primary.clone());
        let resolved = match &own {
            Some(own) => configured.resolve(own),
            None => Some(configured_model(config, &default_model(&setting.place, config))),
        };
        let Some(resolved) = resolved else { bail!("Invalid model reference: {}", own.unwrap_or_default()) };
        let written = own.unwrap_or_else(|| configured.primary.clone());
        let fallbacks = asked.as_ref().and_then(|asked| asked.fallbacks.clone());
        let fallbacks = fallbacks.unwrap_or_else(|| configured.fallbacks.clone());
        let in_use: Vec<ModelRef> = std::iter::once(resolved.clone())
            .chain(fallbacks.iter().filter_map(|name| configured.resolve(name)))
            .chain(configured.resolve(&configured.image))
            .chain(configured.image_fallbacks.iter().filter_map(|name| configured.resolve(name)))
            .collect();
        let auth = Auth::of(setting, config, &folder, &in_use, &configured)?;
        Ok(Self {
            asked,
            folder,
            configured,
            written,
            resolved,
            fallbacks,
            in_use,
            aliases: aliases::all(config),
            auth,
        })
    }

    fn json(&self, setting: &Setting) -> Value {
        let path = |path: &Path| path.display().to_string();
        let mut told = json!({ "configPath": path(&setting.place.config) });
        if let Some(asked) = &self.asked {
            told["agentId"] = asked.id.as_str().into();
        }
        let written = if self.written.is_empty() { self.resolved.to_string() } else { self.written.clone() };
        told["agentDir"] = path(&self.folder).into();
        told["defaultModel"] = written.into();
        told["resolvedDefault"] = self.resolved.to_string().into();
        told["fallbacks"] = json!(self.fallbacks);
        told["imageModel"] = json!(Some(&self.configured.image).filter(|name| !name.is_empty()));
        told["imageFallbacks"] = json!(self.configured.image_fallbacks);
        if let Some(asked) = &self.asked {
            let source = |own: bool| if own { "agent" } else { "defaults" };
            told["modelConfig"] = json!({
                "defaultSource": source(asked.primary.is_some()),
                "fallbacksSource": source(asked.fallbacks.is_some()),
            });
        }
        told["aliases"] = Value::Object(self.aliases.clone());
        told["allowed"] = json!(self.configured.listed);
        told["auth"] = self.auth.json();
        told
    }

    fn lines(&self, setting: &Setting) -> Vec<String> {
        let line = |label: &str, value: &str| format!("{label:14}: {value}");
        let source = |label: &str, own: Option<bool>| match own {
            None => label.to_owned(),
            Some(own) => format!("{label} ({})", if own { "agent" } else { "defaults" }),
        };
        let list = |names: &[String]| if names.is_empty() { "-".to_owned() } else { names.join(", ") };
        let counted = |label: &str, count: usize| format!("{label} ({count})");
        let asked = self.asked.as_ref();
        let defaults = asked.map(|_| false);
        let resolved = self.resolved.to_string();
        let default = match self.written.as_str() {
            "" => resolved,
            written if written == resolved => resolved,
            written => format!("{resolved} (from {written})"),
        };
        let Configured { image, image_fallbacks, listed, .. } = &self.configured;
        let aliases = self.aliases.iter();
        let aliases: Vec<String> = aliases
            .map(|(name, model)| format!("{name} -> {}", model.as_str().unwrap_or_default()))
            .collect();
        let fallbacks = counted("Fallbacks", self.fallbacks.len());
        let mut lines = vec![
            line("Config", &setting.place.shortened(&setting.place.config)),
            line("Agent dir", &setting.place.shortened(&self.folder)),
            line(&source("Default", asked.map(|asked| asked.primary.is_some())), &default),
            line(&source(&fallbacks, asked.map(|asked| asked.fallbacks.is_some())), &list(&self.fallbacks)),
            line(&source("Image model", defaults), if image.is_empty() { "-" } else { image }),
            line(
                &source(&counted("Image fallbacks", image_fallbacks.len()), defaults),
                &list(image_fallbacks),
            ),
            line(&counted("Aliases", aliases.len()), &list(&aliases)),
            line(
                &counted("Configured models", listed.len()),
                &if listed.is_empty() { "all".to_owned() } else { listed.join(", ") },
            ),
            String::new(),
            "Auth overview".to_owned(),
            line("Auth store", &setting.place.shortened(&self.auth.store)),
            line("Shell env", if self.auth.shell { "on" } else { "off" }),
        ];
        let signed_in = self.auth.signed_in();
        lines.push(line(&counted("Providers w/ OAuth/tokens", signed_in.len()), &list(&signed_in)));
        lines.extend(self.auth.providers.iter().map(Provider::line));
        if !self.auth.missing.is_empty() {
            lines.extend([String::new(), "Missing auth".to_owned()]);
            lines.extend(self.auth.missing.iter().map(|(provider, remedy)| format!("- {provider} {remedy}")));
        }
        lines.extend([String::new(), "OAuth/token status".to_owned()]);
        lines.extend(self.auth.health_lines());
        lines
    }
}

fn asked(setting: &Setting, config: &Config, raw: &str) -> Result<Asked> {
    let id = AgentId::normalize(raw);
    let agents = setting.place.with_folders(|folders| agents(config, folders));
    let Some(agent) = agents.into_iter().find(|agent| agent.id == id) else {
        let command = setting.command("agents list");
        bail!("Unknown agent id \"{raw}\". Use \"{command}\" to see configured agents.");
    };
    let own = config.agent(&id).and_then(|entry| entry.model.as_ref());
    let (primary, fallbacks) = choice(own);
    let has_fallbacks = own.is_some_and(|own| own.fallbacks().is_some());
    Ok(Asked {
        id,
        folder: PathBuf::from(agent.folder),
        primary: Some(primary).filter(|primary| !primary.is_empty()),
        fallbacks: has_fallbacks.then_some(fallbacks),
    })
}

impl Auth {
    fn of(
        setting: &Setting,
        config: &Arc<Config>,
        folder: &Path,
        in_use: &[ModelRef],
        configured: &Configured,
    ) -> Result<Self> {
        let place = &setting.place;
        let services = services(place, config, folder);
        let now = jiff::Timestamp::now().as_millisecond() as f64;
        let profiles = match services.first() {
            Some(service) => service.keys.profiles.read()?,
            None => AuthProfiles::default(),
        };
        let spoken_of = configured.listed.iter().filter_map(|name| ModelRef::parse(name, DEFAULT_PROVIDER));
        let named = config.models.providers.iter().flatten();
        let known: BTreeSet<String> = profiles
            .ids()
            .filter_map(|id| profiles.provider(id))
            .chain(named.map(|(name, _)| yabby_domain::model::normalize_provider(name)))
            .chain(in_use.iter().cloned().chain(spoken_of).map(|model| model.provider))
            .chain(
                services
                    .iter()
                    .filter(|service| service.keys.shown_variable().is_some())
                    .map(|service| service.settings.id.clone()),
            )
            .collect();
        let service = |provider: &str| services.iter().find(|service| service.settings.id == provider);
        let store = service(DEFAULT_PROVIDER)
            .or(services.first())
            .map(|service| service.keys.profiles.path().to_owned());
        let store = store.unwrap_or_else(|| folder.join("auth-profiles.json"));
        let overview =
            |provider: &String| Provider::of(setting, provider, service(provider), &profiles, &store, now);
        let providers: Vec<Provider> = known.iter().filter_map(overview).collect();
        let missing: BTreeSet<&str> = in_use.iter().map(|model| model.provider.as_str()).collect();
        let missing = missing.into_iter().filter_map(service);
        let missing = missing.filter(|service| service.keys.found() == Found::Nowhere);
        let mut missing: Vec<(String, String)> =
            missing.map(|service| (service.settings.id.clone(), service.keys.remedy())).collect();
        missing.retain(|(provider, _)| !providers.iter().any(|known| known.provider == *provider));
        Ok(Self {
            store,
            shell: config.env.shell_env.enabled(),
            providers,
            missing,
            unusable: unusable(&profiles, now),
            health: profiles.ids().filter_map(|id| Health::of(id, &profiles, now)).collect(),
            known: known.into_iter().collect(),
        })
    }

    /// The exit code of `--check`, if not all is well.
    fn problem(&self) -> Option<u8> {
        let is = |status: &str| self.health.iter().any(|health| health.status == status);
        match () {
            () if !self.missing.is_empty() || is("expired") => Some(1),
            () if is("expiring") => Some(2),
            () => None,
        }
    }

    fn signed_in(&self) -> Vec<String> {
        let count = |provider: &Provider| provider.profiles.oauth + provider.profiles.token;
        let some = self.providers.iter().filter(|provider| count(provider) > 0);
        some.map(|provider| format!("{} ({})", provider.provider, count(provider))).collect()
    }

    fn health_lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for provider in &self.known {
            let expiring = |health: &&Health| health.provider == *provider && health.kind != "api_key";
            let own: Vec<&Health> = self.health.iter().filter(expiring).collect();
            if !own.is_empty() {
                lines.push(format!("- {provider}"));
            }
            lines.extend(own.into_iter().map(|health| {
                let expiry = match (health.status, health.remaining_ms) {
                    ("static", _) => String::new(),
                    (_, Some(left)) => format!(" expires in {}", short_time(left)),
                    (_, None) => " expires unknown".to_owned(),
                };
                format!("  - {} {}{expiry}", health.profile_id, health.status)
            }));
        }
        if lines.is_empty() { vec!["- none".to_owned()] } else { lines }
    }

    fn json(&self) -> Value {
        let missing: Vec<&String> = self.missing.iter().map(|(provider, _)| provider).collect();
        let by_provider = |provider: &String| {
            let own: Vec<&Health> =
                self.health.iter().filter(|health| health.provider == *provider).collect();
            let worst = ["expired", "expiring", "ok", "static"];
            let worst = worst.into_iter().find(|status| own.iter().any(|health| health.status == *status));
            json!({ "provider": provider, "status": worst.unwrap_or("missing"), "profiles": own })
        };
        json!({
            "storePath": self.store.display().to_string(),
            "shellEnvFallback": { "enabled": self.shell, "appliedKeys": [] },
            "providersWithOAuth": self.signed_in(),
            "missingProvidersInUse": missing,
            "providers": self.providers,
            "unusableProfiles": self.unusable,
            "oauth": {
                "warnAfterMs": WARN_AFTER_MS as u64,
                "profiles": self.health,
                "providers": self.known.iter().map(by_provider).collect::<Vec<_>>(),
            },
        })
    }
}

impl Provider {
    /// What there is for a provider; `None` if there is nothing.
    fn of(
        setting: &Setting,
        provider: &str,
        service: Option<&Service>,
        profiles: &AuthProfiles,
        store: &Path,
        now: f64,
    ) -> Option<Self> {
        let own = profiles.ids().filter(|id| profiles.provider(id).as_deref() == Some(provider));
        let mut counted = Profiles::default();
        for (id, credential) in own.filter_map(|id| Some((id, profiles.credential(id)?))) {
            counted.count += 1;
            let label = match credential {
                Credential::ApiKey { key } => {
                    counted.api_key += 1;
                    format!("{id}={}", masked(key))
                }
                Credential::Token { token, .. } => {
                    counted.token += 1;
                    format!("{id}=token:{}", masked(token))
                }
                Credential::OAuth { .. } => {
                    counted.oauth += 1;
                    format!("{id}=OAuth")
                }
            };
            counted.labels.push(label + &rest_of(profiles, id, now));
        }
        let keys = service.map(|service| &service.keys);
        let env = keys.and_then(|keys| keys.shown_variable());
        let env = env.map(|(name, value)| Shown { value, source: format!("env: {name}") });
        let config = setting.place.shortened(&setting.place.config);
        let models_json = keys.and_then(|keys| keys.shown_configured());
        let models_json = models_json.map(|value| Shown { value, source: format!("config: {config}") });
        // In the order in which a run looks for them.
        let effective = match (&models_json, &env) {
            _ if counted.count > 0 => Effective { kind: "profiles", detail: setting.place.shortened(store) },
            (Some(shown), _) => Effective { kind: "models.json", detail: shown.value.clone() },
            (None, Some(shown)) => Effective { kind: "env", detail: shown.value.clone() },
            (None, None) => return None,
        };
        Some(Self { provider: provider.to_owned(), effective, profiles: counted, env, models_json })
    }

    fn line(&self) -> String {
        let mut bits = vec![format!("effective={}:{}", self.effective.kind, self.effective.detail)];
        let Profiles { count, oauth, token, api_key, labels } = &self.profiles;
        if *count > 0 {
            bits.push(format!("profiles={count} (oauth={oauth}, token={token}, api_key={api_key})"));
            bits.push(labels.join(", "));
        }
        let shown = |name: &str, shown: &Shown| format!("{name}={} | source={}", shown.value, shown.source);
        bits.extend(self.env.as_ref().map(|env| shown("env", env)));
        bits.extend(self.models_json.as_ref().map(|configured| shown("models.json", configured)));
        format!("- {} {}", self.provider, bits.join(" | "))
    }
}

/// ` [cooldown 5m]` behind a profile that rests.
fn rest_of(profiles: &AuthProfiles, id: &str, now: f64) -> String {
    let Some(until) = profiles.rests_until(id, now) else { return String::new() };
    let why = match profiles.disabled_for(id, now) {
        None => "cooldown".to_owned(),
        Some("") => "disabled".to_owned(),
        Some(reason) => format!("disabled:{reason}"),
    };
    format!(" [{why} {}]", short_time(until - now))
}

fn unusable(profiles: &AuthProfiles, now: f64) -> Vec<Unusable> {
    let resting = |id: &str| {
        let until = profiles.rests_until(id, now)?;
        let disabled = profiles.disabled_for(id, now);
        Some(Unusable {
            profile_id: id.to_owned(),
            provider: profiles.provider(id),
            kind: if disabled.is_some() { "disabled" } else { "cooldown" },
            reason: disabled.and_then(text::non_blank).map(str::to_owned),
            until,
            remaining_ms: until - now,
        })
    };
    let mut all: Vec<Unusable> = profiles.ids().filter_map(resting).collect();
    all.sort_by(|one, other| one.remaining_ms.total_cmp(&other.remaining_ms));
    all
}

impl Health {
    fn of(id: &str, profiles: &AuthProfiles, now: f64) -> Option<Self> {
        let (credential, provider) = (profiles.credential(id)?, profiles.provider(id)?);
        let left = credential.expires().map(|at| at - now);
        let status = match (left, credential) {
            (Some(left), _) if left <= 0.0 => "expired",
            (Some(left), _) if left <= WARN_AFTER_MS => "expiring",
            (Some(_), _) | (None, Credential::OAuth { .. }) => "ok",
            (None, Credential::ApiKey { .. } | Credential::Token { .. }) => "static",
        };
        Some(Self {
            profile_id: id.to_owned(),
            provider,
            kind: credential.kind(),
            status,
            expires_at: credential.expires(),
            remaining_ms: left,
        })
    }
}

/// `45m`, `5h`, `3d`: as the reference shortens it.
fn short_time(milliseconds: f64) -> String {
    if milliseconds <= 0.0 {
        return "0m".to_owned();
    }
    let minutes = (milliseconds / 60_000.0).round().max(1.0);
    match minutes {
        minutes if minutes < 60.0 => format!("{minutes}m"),
        minutes if minutes < 48.0 * 60.0 => format!("{}h", (minutes / 60.0).round()),
        minutes => format!("{}d", (minutes / 1440.0).round()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_a_time_is_short() {
        let minute = 60_000.0;
        let table = [
            (-5.0, "0m"),
            (1.0, "1m"),
            (45.0 * minute, "45m"),
            (90.0 * minute, "2h"),
            (5.0 * 60.0 * minute, "5h"),
            (72.0 * 60.0 * minute, "3d"),
        ];
        for (left, told) in table {
            assert_eq!(short_time(left), told, "{left}");
        }
    }
}
