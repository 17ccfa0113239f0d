//! `yabby status`: everything at a glance, whether or not a gateway runs (`cli.md` §3).

mod audit;
mod local;
mod shown;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use serde_json::json;
use tokio::runtime::Builder;
use yabby_domain::config::Config;
use yabby_domain::config::gateway::GatewayMode;
use yabby_domain::json::{Object, Value};
use yabby_domain::text;

use super::gateway::probe::Probe;
use super::gateway::service::{Service, State};
use crate::client::{Target, TargetOptions, ask, limit};
use crate::setting::Setting;
use crate::terminal;
use audit::Audit;

#[derive(Args)]
pub struct Arguments {
    /// Everything there is to say, to be read by somebody who helps
    #[arg(long)]
    all: bool,
    /// What services say is left to use
    #[arg(long)]
    usage: bool,
    /// Ask the gateway how its channels are
    #[arg(long)]
    deep: bool,
    #[command(flatten)]
    target: TargetOptions,
    /// How long to wait for the gateway, in milliseconds [default: 10000]
    #[arg(long, value_name = "MS")]
    timeout: Option<String>,
    /// Where the gateway is looked for
    #[arg(long, visible_alias = "debug")]
    verbose: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// All that was found out.
struct Found {
    target: Target,
    /// `gateway.remote.url` is missing.
    is_misconfigured: bool,
    mode: &'static str,
    probe: Probe,
    /// Heartbeats, channels, notices and sessions.
    summary: Object,
    agents: Value,
    memory: Value,
    service: (Service, State),
    audit: Audit,
    health: Option<Value>,
    last_heartbeat: Option<Value>,
    usage: Option<Value>,
    /// The model that answers where a session names none, and how much it reads.
    answering: (String, u64),
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    let found = find(setting, arguments)?;
    if arguments.json {
        return terminal::print_json(&Value::Object(found.into_json()));
    }
    shown::print(setting, arguments, &found)
}

fn find(setting: &Setting, arguments: &Arguments) -> Result<Found> {
    let config = setting.config()?;
    let target = Target::find(setting, &arguments.target)?;
    let limit = limit(arguments.timeout.as_deref(), 10_000)?;
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    let probe = runtime.block_on(Probe::of(&target, limit));
    let stores = runtime.block_on(local::Stores::read(setting, &config))?;
    let told = probe.told.as_ref().ok().and_then(|told| told.status.as_object()).cloned();
    let summary = told.unwrap_or_else(|| stores.summary());
    let (mut health, mut last_heartbeat) = (None, None);
    if arguments.deep && probe.told.is_ok() {
        (health, last_heartbeat) = runtime.block_on(deep(&target, limit));
    }
    let usage = arguments
        .usage
        .then(|| json!({"updatedAt": jiff::Timestamp::now().as_millisecond(), "providers": []}));
    drop(runtime);
    let service = Service::of(setting);
    let state = service.state();
    Ok(Found {
        is_misconfigured: is_misconfigured(&config),
        mode: config.gateway.mode.unwrap_or(GatewayMode::Local).word(),
        target,
        probe,
        summary,
        agents: stores.agents(),
        memory: super::memory::glance(setting).unwrap_or_default(),
        service: (service, state),
        audit: Audit::of(setting, &config),
        health,
        last_heartbeat,
        usage,
        answering: answering_model(setting, &config),
    })
}

/// The model that answers where a session names none: the configured one, else the one that there is a key for.
fn answering_model(setting: &Setting, config: &Config) -> (String, u64) {
    let config = Arc::new(config.clone());
    let defaults = super::sessions::answering_defaults(setting, &config);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of tokens")]
    let window = defaults.context_tokens as u64;
    (defaults.model, window)
}

fn is_misconfigured(config: &Config) -> bool {
    let url = config.gateway.remote.url.as_deref().and_then(text::non_blank);
    config.gateway.mode == Some(GatewayMode::Remote) && url.is_none()
}

/// How the channels are, and the last heartbeat. What cannot be found out is not told.
async fn deep(target: &Target, limit: Duration) -> (Option<Value>, Option<Value>) {
    let health = ask(target, "health", json!({"probe": true}), limit).await.ok();
    let heartbeat = ask(target, "last-heartbeat", json!({}), limit).await.ok();
    (health, heartbeat)
}

impl Found {
    fn into_json(self) -> Object {
        let os = os();
        let mut told = self.summary;
        let gateway = json!({
            "mode": self.mode,
            "url": self.target.url,
            "urlSource": self.target.source,
            "misconfigured": self.is_misconfigured,
            "reachable": self.probe.told.is_ok(),
            "connectLatencyMs": self.probe.latency_ms(),
            "self": self.probe.own_presence(),
            // One that nobody can ask has not failed.
            "error": self.probe.error().filter(|_| !self.is_misconfigured),
        });
        let (service, state) = &self.service;
        let service = json!({
            "label": "systemd",
            "installed": service.is_installed(),
            "loadedText": if state.is_enabled { "enabled" } else { "disabled" },
            "runtimeShort": runtime_short(state),
        });
        let more = [
            ("os", os),
            // There is no registry to look into.
            (
                "update",
                json!({"installKind": "binary", "version": env!("CARGO_PKG_VERSION"), "registry": {"latestVersion": null}}),
            ),
            ("updateChannel", "stable".into()),
            ("updateChannelSource", "default".into()),
            ("memory", self.memory),
            ("memoryPlugin", json!({"enabled": true, "slot": "memory-core"})),
            ("gateway", gateway),
            ("gatewayService", service),
            (
                "nodeService",
                json!({"label": "systemd", "installed": false, "loadedText": "disabled", "runtimeShort": null}),
            ),
            ("agents", self.agents),
            ("securityAudit", self.audit.to_json()),
        ];
        told.extend(more.into_iter().map(|(name, value)| (name.to_owned(), value)));
        let deep = [("health", self.health), ("usage", self.usage), ("lastHeartbeat", self.last_heartbeat)];
        if deep.iter().any(|(_, value)| value.is_some()) {
            let is_told = |(name, value): (&str, Option<Value>)| Some((name.to_owned(), value?));
            told.extend(deep.into_iter().filter_map(is_told));
            told.entry("lastHeartbeat".to_owned()).or_insert(Value::Null);
        }
        told
    }
}

/// `running (pid 77, state active)`
fn runtime_short(state: &State) -> String {
    let field = |name: &str| state.runtime.as_ref().ok().and_then(|runtime| runtime.get(name));
    match &state.runtime {
        Err(error) => format!("unknown (Error: {error})"),
        Ok(_) => {
            let word = |name: &str| field(name).and_then(Value::as_str).unwrap_or_default();
            let pid =
                field("pid").and_then(Value::as_i64).map(|pid| format!("pid {pid}, ")).unwrap_or_default();
            format!("{} ({pid}state {})", word("status"), word("state"))
        }
    }
}

fn os() -> Value {
    let system = rustix::system::uname();
    let release = system.release().to_string_lossy().into_owned();
    let arch = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    };
    let platform = if cfg!(target_os = "macos") { "darwin" } else { std::env::consts::OS };
    json!({"platform": platform, "arch": arch, "release": release, "label": format!("{platform} {release} ({arch})")})
}
