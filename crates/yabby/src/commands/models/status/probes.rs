//! `yabby models status --probe`: whether each key works, by asking for one word with it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::json;
use tokio::task::JoinSet;
use yabby_domain::config::Config;
use yabby_domain::id::AgentId;
use yabby_domain::json::{self, Value};
use yabby_domain::model::{ModelRef, normalize_provider};
use yabby_domain::seam::model::{ModelErrorKind, ModelProvider};
use yabby_models::Retries;
use yabby_store::files::ledger::UsageLedger;

use super::super::probe::{self, Probed, Question};
use super::Status;
use crate::setting::Setting;
use crate::wire::models::{Service, providers, services};

#[derive(Args)]
#[group(skip)]
pub struct Arguments {
    /// Ask for one word with each key, to see whether it works
    #[arg(long)]
    probe: bool,
    /// Only with keys of this provider
    #[arg(long, value_name = "NAME", requires = "probe")]
    probe_provider: Option<String>,
    /// Only with these profiles; may be given several times, or with commas in between
    #[arg(long, value_name = "ID", value_delimiter = ',', requires = "probe")]
    probe_profile: Vec<String>,
    /// How long to wait for each, in milliseconds
    #[arg(long, value_name = "MS", default_value = "8000", requires = "probe")]
    probe_timeout: String,
    /// How many to ask at once
    #[arg(long, value_name = "COUNT", default_value = "2", requires = "probe")]
    probe_concurrency: String,
    /// How many tokens an answer may have
    #[arg(long, value_name = "COUNT", default_value = "8", requires = "probe")]
    probe_max_tokens: String,
}

impl Arguments {
    pub fn are_wanted(&self) -> bool {
        self.probe
    }

    fn limits(&self) -> Result<Limits> {
        Ok(Limits {
            timeout_ms: positive(&self.probe_timeout, "--probe-timeout must be a positive number (ms).")?,
            concurrency: positive(&self.probe_concurrency, "--probe-concurrency must be > 0.")?
                .min(MOST_AT_ONCE),
            max_tokens: positive(&self.probe_max_tokens, "--probe-max-tokens must be > 0.")?,
        })
    }
}

/// However many are wished for.
const MOST_AT_ONCE: u64 = 64;

/// How keys are tried.
#[derive(Clone, Copy)]
struct Limits {
    timeout_ms: u64,
    concurrency: u64,
    max_tokens: u64,
}

fn positive(said: &str, refusal: &'static str) -> Result<u64> {
    match json::number_in(said).map(f64::ceil) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "positive, and saturates"
        )]
        Some(number) if number > 0.0 => Ok(number as u64),
        _ => bail!(refusal),
    }
}

/// A key, and what it is tried with.
struct Target {
    key: Key,
    model: Option<ModelRef>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Key {
    provider: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    profile_id: Option<String>,
    label: String,
    source: &'static str,
    mode: &'static str,
}

/// What came of it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tried {
    #[serde(flatten)]
    key: Key,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    latency_ms: Option<u64>,
}

pub struct Probes {
    started_at: i64,
    took: Duration,
    targets: usize,
    options: Value,
    results: Vec<Tried>,
}

impl Probes {
    pub fn run(
        setting: &Setting,
        config: &Arc<Config>,
        status: &Status,
        arguments: &Arguments,
    ) -> Result<Self> {
        let limits = arguments.limits()?;
        let (began, started_at) = (Instant::now(), Timestamp::now().as_millisecond());
        let targets = targets(setting, config, status, arguments)?;
        let count = targets.iter().filter(|target| target.model.is_some()).count();
        let ledger = UsageLedger::open(setting.place.folder.usage())?;
        let providers = providers(&setting.place, config, Retries::none())?;
        let agent = status.asked.as_ref().map_or_else(AgentId::default, |asked| asked.id.clone());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let mut results = runtime.block_on(try_all(targets, &providers, &ledger, &agent, limits));
        ledger.flush().context("the calls are not on the books")?;
        runtime.shutdown_background();
        results.sort_by(|one, other| {
            (&one.key.provider, &one.key.label).cmp(&(&other.key.provider, &other.key.label))
        });
        let mut options = json!({
            "profileIds": arguments.probe_profile,
            "timeoutMs": limits.timeout_ms,
            "concurrency": limits.concurrency,
            "maxTokens": limits.max_tokens,
        });
        if let Some(provider) = &arguments.probe_provider {
            options["provider"] = provider.as_str().into();
        }
        Ok(Self { started_at, took: began.elapsed(), targets: count, options, results })
    }

    pub fn json(&self) -> Value {
        let took = milliseconds(self.took);
        json!({
            "startedAt": self.started_at,
            "finishedAt": self.started_at.saturating_add_unsigned(took),
            "durationMs": took,
            "totalTargets": self.targets,
            "options": self.options,
            "results": self.results,
        })
    }

    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![String::new(), "Auth probes".to_owned()];
        for tried in &self.results {
            let Key { provider, label, mode, .. } = &tried.key;
            let model = tried.model.clone().unwrap_or_else(|| format!("{provider}/-"));
            let latency = tried.latency_ms.map_or_else(|| "-".to_owned(), |ms| format!("{ms}ms"));
            lines.push(format!("- {model} {label} ({mode}) {} · {latency}", tried.status));
            lines.extend(tried.error.as_ref().map(|error| format!("  ↳ {error}")));
        }
        lines.push(match (self.results.is_empty(), self.targets) {
            (true, _) => "- none".to_owned(),
            (false, 0) => "No probe targets.".to_owned(),
            (false, 1) => format!("Probed 1 target in {}ms", milliseconds(self.took)),
            (false, count) => format!("Probed {count} targets in {}ms", milliseconds(self.took)),
        });
        lines
    }
}

/// Every key that there is: profiles, else what a run would use instead.
fn targets(
    setting: &Setting,
    config: &Arc<Config>,
    status: &Status,
    arguments: &Arguments,
) -> Result<Vec<Target>> {
    let wanted = arguments.probe_provider.as_deref().map(normalize_provider);
    let is_wanted = |provider: &String| {
        status.auth.known.contains(provider) && wanted.as_ref().is_none_or(|wanted| wanted == provider)
    };
    let services = services(&setting.place, config, &status.folder).into_iter();
    let mut targets = Vec::new();
    for service in services.filter(|service| is_wanted(&service.settings.id)) {
        let settings = &service.settings;
        let used = status.in_use.iter().find(|model| model.provider == settings.id);
        let first = || Some(ModelRef::new(&settings.id, &settings.models.first()?.id));
        let model = used.cloned().or_else(first);
        let keys = keys_of(&service, &arguments.probe_profile)?;
        targets.extend(keys.into_iter().map(|key| Target { key, model: model.clone() }));
    }
    Ok(targets)
}

/// The keys of a service: its profiles, or those of them that are wanted; without any, the key of the
/// configuration or of the environment.
fn keys_of(service: &Service, wanted: &[String]) -> Result<Vec<Key>> {
    let Service { settings, keys } = service;
    let key = |profile: Option<&str>, source: &'static str, mode: &'static str| Key {
        provider: settings.id.clone(),
        profile_id: profile.map(str::to_owned),
        label: profile.unwrap_or(source).to_owned(),
        source,
        mode,
    };
    let profiles = keys.profiles.read()?;
    let own = profiles.ids().filter(|id| profiles.provider(id).as_ref() == Some(&settings.id));
    let own = own.filter(|id| wanted.is_empty() || wanted.iter().any(|wanted| wanted.trim() == *id));
    let own: Vec<Key> =
        own.filter_map(|id| Some(key(Some(id), "profile", profiles.credential(id)?.kind()))).collect();
    if !own.is_empty() || !wanted.is_empty() {
        return Ok(own);
    }
    let configured = keys.shown_configured().map(|_| "models.json");
    let source = configured.or_else(|| keys.shown_variable().map(|_| "env"));
    Ok(source.map(|source| key(None, source, "api_key")).into_iter().collect())
}

/// Tries the keys, no more at once than is allowed.
async fn try_all(
    targets: Vec<Target>,
    providers: &[Arc<dyn ModelProvider>],
    ledger: &UsageLedger,
    agent: &AgentId,
    limits: Limits,
) -> Vec<Tried> {
    let mut tried = Vec::new();
    let mut running: JoinSet<Tried> = JoinSet::new();
    for Target { key, model } in targets {
        let Some(model) = model else {
            tried.push(Tried {
                key,
                model: None,
                status: "no_model",
                error: Some("No model available for probe".to_owned()),
                latency_ms: None,
            });
            continue;
        };
        let question = Question {
            agent: agent.clone(),
            profile: key.profile_id.clone(),
            max_tokens: limits.max_tokens,
            limit: Duration::from_millis(limits.timeout_ms),
            allowing: "--probe-timeout",
            model,
        };
        let provider = providers.iter().find(|provider| provider.id() == key.provider).cloned();
        let ledger = ledger.clone();
        if running.len() as u64 >= limits.concurrency {
            tried.extend(running.join_next().await.and_then(Result::ok));
        }
        running.spawn(async move {
            let probed = probe::probed(provider.as_deref(), &ledger, &question).await;
            told(key, &question.model, &probed)
        });
    }
    while let Some(ended) = running.join_next().await {
        tried.extend(ended.ok());
    }
    tried
}

fn told(key: Key, model: &ModelRef, probed: &Probed) -> Tried {
    let failed = probed.answer.as_ref().err();
    Tried {
        key,
        model: Some(model.to_string()),
        status: failed.map_or("ok", |error| status(error.kind)),
        error: failed.map(|error| error.message.clone()),
        latency_ms: Some(milliseconds(probed.all)),
    }
}

/// In the words of the reference, which has fewer.
fn status(kind: ModelErrorKind) -> &'static str {
    match kind {
        ModelErrorKind::Auth
        | ModelErrorKind::Billing
        | ModelErrorKind::RateLimited { .. }
        | ModelErrorKind::TimedOut
        | ModelErrorKind::BadRequest
        | ModelErrorKind::Unavailable => probe::kind(kind),
        ModelErrorKind::ContextOverflow
        | ModelErrorKind::Overloaded
        | ModelErrorKind::Refused
        | ModelErrorKind::Broken => "unknown",
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
