//! `yabby gateway probe`: who can be reached, and how they are (`cli.md` §7).

use std::io::Write as _;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Args;
use serde_json::json;
use tokio::runtime::Builder;
use yabby_domain::config::Config;
use yabby_domain::json::{self, Value};
use yabby_domain::text;

use crate::client::{CallError, Client, Mode, Target, TargetOptions, limit, local_url};
use crate::failure::Failure;
use crate::setting::Setting;
use crate::terminal;

#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    target: TargetOptions,
    /// How long it may take, in milliseconds [default: 3000]
    #[arg(long, value_name = "MS")]
    timeout: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A gateway that is asked.
struct Asked {
    id: &'static str,
    heading: &'static str,
    /// Whether it is the one that commands talk to.
    active: bool,
    probe: Probe,
}

/// What came of asking a gateway for everything.
pub struct Probe {
    pub url: String,
    pub latency: Option<Duration>,
    pub told: Result<Told, CallError>,
}

/// What a gateway tells of itself.
pub struct Told {
    pub health: Value,
    pub status: Value,
    pub presence: Value,
    pub config: Value,
}

impl Probe {
    /// Asks a gateway how it is, what goes on, who is there, and what it is set to.
    pub async fn of(target: &Target, limit: Duration) -> Self {
        let begun = Instant::now();
        let url = target.url.clone();
        let mut client = match Client::open(target, Mode::Probe, limit).await {
            Ok(client) => client,
            Err(error) => return Self { url, latency: None, told: Err(error) },
        };
        let latency = Some(begun.elapsed());
        let told = Self::questions(&mut client, limit.saturating_sub(begun.elapsed())).await;
        client.close().await;
        Self { url, latency, told }
    }

    async fn questions(client: &mut Client, limit: Duration) -> Result<Told, CallError> {
        Ok(Told {
            health: client.call("health", Value::Null, limit).await?,
            status: client.call("status", Value::Null, limit).await?,
            presence: client.call("system-presence", Value::Null, limit).await?,
            config: client.call("config.get", json!({}), limit).await?,
        })
    }

    pub fn latency_ms(&self) -> Value {
        self.latency
            .map_or(Value::Null, |latency| u64::try_from(latency.as_millis()).unwrap_or(u64::MAX).into())
    }

    pub fn error(&self) -> Option<String> {
        self.told.as_ref().err().map(CallError::brief)
    }

    /// The gateway itself, among those who are there.
    pub fn own_presence(&self) -> Value {
        let Ok(told) = &self.told else { return Value::Null };
        let is_gateway = |entry: &&Value| {
            let says = |name: &str, value: &str| entry.get(name).and_then(Value::as_str) == Some(value);
            says("mode", "gateway") && says("reason", "self")
        };
        let found = told.presence.as_array().and_then(|entries| entries.iter().find(is_gateway));
        let field = |name: &str| found.and_then(|entry| entry.get(name)).cloned().unwrap_or_default();
        match found {
            Some(_) => {
                json!({"host": field("host"), "ip": field("ip"), "version": field("version"), "platform": field("platform")})
            }
            None => Value::Null,
        }
    }

    fn close(&self) -> Value {
        match &self.told {
            Err(CallError::Closed { code, reason, .. }) => json!({"code": code, "reason": reason}),
            Err(CallError::Unreachable { .. }) => json!({"code": 1006, "reason": ""}),
            _ => Value::Null,
        }
    }
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    let begun = Instant::now();
    let limit = limit(arguments.timeout.as_deref(), 3000)?;
    let config = setting.config()?;
    let targets = targets(setting, &config, &arguments.target)?;
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let asked = runtime.block_on(futures_util::future::join_all(targets.into_iter().map(
        async |(id, heading, active, target)| Asked {
            id,
            heading,
            active,
            probe: Probe::of(&target, limit).await,
        },
    )));
    let is_ok = asked.iter().any(|asked| asked.probe.told.is_ok());
    if arguments.json {
        let ms = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        let primary = asked.iter().find(|asked| asked.probe.told.is_ok()).map(|asked| asked.id);
        terminal::print_json(&json!({
            "ok": is_ok,
            "ts": jiff::Timestamp::now().as_millisecond(),
            "durationMs": ms(begun.elapsed()),
            "timeoutMs": ms(limit),
            "primaryTargetId": primary,
            "warnings": warnings(&asked),
            "network": {"localLoopbackUrl": local_url(&config, setting), "localTailnetUrl": null, "tailnetIPv4": null},
            // Nobody is looked for beyond those that are named.
            "discovery": {"timeoutMs": 0, "count": 0, "beacons": []},
            "targets": asked.iter().map(target_json).collect::<Vec<_>>(),
        }))?;
    } else {
        print_text(&asked, is_ok)?;
    }
    if is_ok { Ok(()) } else { Err(Failure::silent().into()) }
}

/// The one that is named, the one of the configuration, and the one on this machine, each once; the first that
/// answers is the one that counts.
fn targets(
    setting: &Setting,
    config: &Config,
    options: &TargetOptions,
) -> Result<Vec<(&'static str, &'static str, bool, Target)>> {
    let mut targets: Vec<(&'static str, &'static str, bool, Target)> = Vec::new();
    let without_url = TargetOptions { url: None, ..options.clone() };
    let remote = config.text(&["gateway", "remote", "url"]).and_then(text::non_blank).is_some();
    let is_remote = config.text(&["gateway", "mode"]) == Some("remote");
    if options.url.is_some() {
        targets.push(("explicit", "URL (explicit)", true, Target::find(setting, options)?));
    }
    if remote {
        let heading = if is_remote { "Remote (configured)" } else { "Remote (configured, inactive)" };
        targets.push(("configRemote", heading, is_remote, Target::remote(setting, config, &without_url)));
    }
    targets.push((
        "localLoopback",
        "Local loopback",
        !is_remote,
        Target::local(setting, config, &without_url),
    ));
    let mut seen: Vec<String> = Vec::new();
    targets.retain(|(.., target)| {
        !seen.contains(&target.url) && {
            seen.push(target.url.clone());
            true
        }
    });
    Ok(targets)
}

fn warnings(asked: &[Asked]) -> Vec<Value> {
    let reachable: Vec<&str> =
        asked.iter().filter(|asked| asked.probe.told.is_ok()).map(|asked| asked.id).collect();
    let several = json!({
        "code": "multiple_gateways",
        "message": "Several gateways can be reached; commands talk to the first of them.",
        "targetIds": reachable,
    });
    if reachable.len() > 1 { vec![several] } else { Vec::new() }
}

fn target_json(asked: &Asked) -> Value {
    let probe = &asked.probe;
    let told = probe.told.as_ref().ok();
    json!({
        "id": asked.id,
        "kind": asked.id,
        "url": probe.url,
        "active": asked.active,
        "tunnel": null,
        "connect": {"ok": told.is_some(), "latencyMs": probe.latency_ms(), "error": probe.error(), "close": probe.close()},
        "self": probe.own_presence(),
        "config": told.map(|told| config_summary(&told.config)),
        "health": told.map(|told| &told.health),
        "summary": told.map(|told| &told.status),
        "presence": told.map(|told| &told.presence),
    })
}

/// What a gateway is set to, without its secrets.
fn config_summary(snapshot: &Value) -> Value {
    let config = snapshot.get("config").unwrap_or(&Value::Null);
    let at = |path: &[&str]| json::at(config, path).cloned().unwrap_or_default();
    let is_set =
        |path: &[&str]| json::at(config, path).and_then(Value::as_str).and_then(text::non_blank).is_some();
    let field = |name: &str| snapshot.get(name).cloned().unwrap_or_default();
    json!({
        "path": field("path"),
        "exists": field("exists"),
        "valid": field("valid"),
        "issues": field("issues"),
        "legacyIssues": field("legacyIssues"),
        "gateway": {
            "mode": at(&["gateway", "mode"]),
            "bind": at(&["gateway", "bind"]),
            "port": at(&["gateway", "port"]),
            "controlUiEnabled": at(&["gateway", "controlUi", "enabled"]),
            "controlUiBasePath": at(&["gateway", "controlUi", "basePath"]),
            "authMode": at(&["gateway", "auth", "mode"]),
            "authTokenConfigured": is_set(&["gateway", "auth", "token"]),
            "authPasswordConfigured": is_set(&["gateway", "auth", "password"]),
            "remoteUrl": at(&["gateway", "remote", "url"]),
            "remoteTokenConfigured": is_set(&["gateway", "remote", "token"]),
            "remotePasswordConfigured": is_set(&["gateway", "remote", "password"]),
            "tailscaleMode": at(&["gateway", "tailscale", "mode"]),
        },
        "discovery": {"wideAreaEnabled": at(&["discovery", "wideArea", "enabled"])},
    })
}

fn print_text(asked: &[Asked], is_ok: bool) -> Result<()> {
    let mut out = anstream::stdout().lock();
    writeln!(out, "Gateway Status\nReachable: {}", if is_ok { "yes" } else { "no" })?;
    for warning in warnings(asked) {
        writeln!(out, "Warning: {}", warning.get("message").and_then(Value::as_str).unwrap_or_default())?;
    }
    writeln!(out, "\nTargets")?;
    for Asked { heading, probe, .. } in asked {
        writeln!(out, "{heading} {}", terminal::harmless(&probe.url))?;
        let took = probe.latency.map(|latency| format!("Connect: ok ({}ms)", latency.as_millis()));
        let line = match (took, probe.error()) {
            (Some(took), None) => format!("{took} · RPC: ok"),
            (Some(took), Some(error)) => format!("{took} · RPC: failed - {error}"),
            (None, error) => format!("Connect: failed - {}", error.unwrap_or_default()),
        };
        writeln!(out, "  {}", terminal::harmless(&line))?;
        let own = probe.own_presence();
        let field = |name: &str| own.get(name).and_then(Value::as_str).unwrap_or("unknown");
        if own.is_object() {
            let line = format!(
                "{} ({}) · {} · app {}",
                field("host"),
                field("ip"),
                field("platform"),
                field("version")
            );
            writeln!(out, "  Gateway: {}", terminal::harmless(&line))?;
        }
    }
    Ok(())
}
