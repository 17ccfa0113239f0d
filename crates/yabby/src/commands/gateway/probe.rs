//! `yabby gateway probe`: who can be reached, and how they are (`cli.md` §7).

use std::io::Write as _;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Args;
use serde_json::json;
use tokio::runtime::Builder;
use yabby_config::read::read;
use yabby_config::sections::Sections;
use yabby_domain::config::Config;
use yabby_domain::config::gateway::{GatewayAuthMode, GatewayBind, GatewayMode, TailscaleMode};
use yabby_domain::json::{self, Value};
use yabby_domain::text;

use crate::client::{CallError, Client, Mode, Target, TargetOptions, limit, local_url};
use crate::failure::Failure;
use crate::setting::Setting;
use crate::terminal;

use super::listen;
use super::tunnel::{SshTarget, Tunnel};

const EXPLICIT: &str = "explicit";
const SSH: &str = "sshTunnel";

#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    target: TargetOptions,
    /// Ask also over ssh, on a machine whose gateway listens only there: user@host or user@host:port
    #[arg(long, value_name = "TARGET")]
    ssh: Option<String>,
    /// The key file for ssh
    #[arg(long, value_name = "PATH")]
    ssh_identity: Option<String>,
    /// Find the machine for ssh by itself; that is not possible yet
    #[arg(long)]
    ssh_auto: bool,
    /// How long it may take, in milliseconds [default: 3000]
    #[arg(long, value_name = "MS")]
    timeout: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A gateway that is to be asked.
struct Candidate {
    id: &'static str,
    heading: &'static str,
    /// Whether it is the one that commands talk to.
    active: bool,
    target: Target,
    /// The way to it, as it is told; `null` if there is none but the usual one.
    tunnel: Value,
}

/// A gateway that was asked.
struct Asked {
    candidate: Candidate,
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
            Err(CallError::Unreachable { .. } | CallError::NoGateway { .. }) => {
                json!({"code": 1006, "reason": ""})
            }
            _ => Value::Null,
        }
    }
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    let begun = Instant::now();
    let limit = limit(arguments.timeout.as_deref(), 3000)?;
    let config = setting.config()?;
    let mut candidates = candidates(setting, &config, &arguments.target)?;
    let ssh = Ssh::wanted(&config, arguments);
    // The gateway over there is taken to listen where ours does.
    let port = listen::port(None, &config, &setting.place.environment);
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let (asked, mut warnings) = runtime.block_on(async {
        let mut warnings = Vec::new();
        // The way is there as long as it is needed. Half of the time is for those who are asked.
        let _tunnel = match ssh.open(port, limit / 2).await {
            Ok(None) => None,
            Ok(Some(tunnel)) => {
                let remote = Target::remote(setting, &config, &arguments.target);
                let target = remote.through(tunnel.local_port);
                let told = json!({
                    "kind": "ssh",
                    "target": ssh.target,
                    "localPort": tunnel.local_port,
                    "remotePort": port,
                    "pid": tunnel.pid(),
                });
                let heading = "Remote over SSH";
                candidates.insert(0, Candidate { id: SSH, heading, active: true, target, tunnel: told });
                Some(tunnel)
            }
            Err(warning) => {
                warnings.push(warning);
                None
            }
        };
        let asking = candidates.into_iter().map(async |candidate| {
            let probe = Probe::of(&candidate.target, limit).await;
            Asked { candidate, probe }
        });
        (futures_util::future::join_all(asking).await, warnings)
    });
    warnings.extend(several(&asked));
    let is_ok = asked.iter().any(|asked| asked.probe.told.is_ok());
    if arguments.json {
        let ms = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        terminal::print_json(&json!({
            "ok": is_ok,
            "ts": jiff::Timestamp::now().as_millisecond(),
            "durationMs": ms(begun.elapsed()),
            "timeoutMs": ms(limit),
            "primaryTargetId": primary(&asked),
            "warnings": warnings,
            "network": {"localLoopbackUrl": local_url(&config, setting), "localTailnetUrl": null, "tailnetIPv4": null},
            // Nobody is looked for beyond those that are named.
            "discovery": {"timeoutMs": 0, "count": 0, "beacons": []},
            "targets": asked.iter().map(target_json).collect::<Vec<_>>(),
        }))?;
    } else {
        print_text(&asked, &warnings, is_ok)?;
    }
    if is_ok { Ok(()) } else { Err(Failure::silent().into()) }
}

/// The one that is named, the one of the configuration, and the one on this machine, each once.
fn candidates(setting: &Setting, config: &Config, options: &TargetOptions) -> Result<Vec<Candidate>> {
    let mut candidates: Vec<Candidate> = Vec::new();
    let mut add = |id, heading, active, target: Target| {
        if !candidates.iter().any(|candidate| candidate.target.url == target.url) {
            candidates.push(Candidate { id, heading, active, target, tunnel: Value::Null });
        }
    };
    let without_url = TargetOptions { url: None, ..options.clone() };
    let remote = config.gateway.remote.url.as_deref().and_then(text::non_blank).is_some();
    let is_remote = config.gateway.mode == Some(GatewayMode::Remote);
    if options.url.is_some() {
        add(EXPLICIT, "URL (explicit)", true, Target::find(setting, options)?);
    }
    if remote {
        let heading = if is_remote { "Remote (configured)" } else { "Remote (configured, inactive)" };
        add("configRemote", heading, is_remote, Target::remote(setting, config, &without_url));
    }
    add("localLoopback", "Local loopback", !is_remote, Target::local(setting, config, &without_url));
    Ok(candidates)
}

/// Whether a gateway is to be asked over ssh, and how.
struct Ssh {
    target: Option<String>,
    identity: Option<String>,
    /// It is to be found, and nobody named one.
    is_searched: bool,
}

impl Ssh {
    fn wanted(config: &Config, arguments: &Arguments) -> Self {
        let remote = &config.gateway.remote;
        let wanted = |given: &Option<String>, configured: &'_ Option<String>| {
            let configured = || configured.as_deref();
            let wanted = given.as_deref().and_then(text::non_blank).or_else(configured);
            wanted.and_then(text::non_blank).map(|wanted| wanted.trim().to_owned())
        };
        let target = wanted(&arguments.ssh, &remote.ssh_target);
        Self {
            identity: wanted(&arguments.ssh_identity, &remote.ssh_identity),
            is_searched: arguments.ssh_auto && target.is_none(),
            target,
        }
    }

    /// Opens the way; or a warning that says why there is none.
    async fn open(&self, port: u16, limit: Duration) -> Result<Option<Tunnel>, Value> {
        let warning =
            |why: &str| json!({"code": "ssh_tunnel_failed", "message": format!("SSH tunnel failed: {why}")});
        if self.is_searched {
            return Err(warning("gateways in the network are not looked for yet; name one with --ssh"));
        }
        let Some(written) = &self.target else { return Ok(None) };
        let target = SshTarget::parse(written).ok_or_else(|| {
            warning(&format!("invalid SSH target: {written} (use user@host or user@host:port)"))
        })?;
        let opened = Tunnel::open(&target, self.identity.as_deref(), port, limit).await;
        opened.map(Some).map_err(|why| warning(&why))
    }
}

/// The one that counts: a way that somebody asked for comes before those that are configured.
fn primary(asked: &[Asked]) -> Option<&'static str> {
    let mut answered = asked.iter().filter(|asked| asked.probe.told.is_ok()).map(|asked| asked.candidate.id);
    let first = answered.next();
    answered.find(|id| *id == EXPLICIT).or(first)
}

fn several(asked: &[Asked]) -> Option<Value> {
    let reachable: Vec<&str> =
        asked.iter().filter(|asked| asked.probe.told.is_ok()).map(|asked| asked.candidate.id).collect();
    (reachable.len() > 1).then(|| {
        json!({
            "code": "multiple_gateways",
            "message": "Several gateways can be reached; commands talk to the first of them.",
            "targetIds": reachable,
        })
    })
}

fn target_json(asked: &Asked) -> Value {
    let Asked { candidate, probe } = asked;
    let told = probe.told.as_ref().ok();
    json!({
        "id": candidate.id,
        "kind": candidate.id,
        "url": probe.url,
        "active": candidate.active,
        "tunnel": candidate.tunnel,
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
    let config: Sections = snapshot.get("config").and_then(read).unwrap_or_default();
    let (gateway, page) = (&config.gateway, &config.gateway.control_ui);
    let is_set = |secret: &Option<String>| secret.as_deref().and_then(text::non_blank).is_some();
    let field = |name: &str| snapshot.get(name).cloned().unwrap_or_default();
    json!({
        "path": field("path"),
        "exists": field("exists"),
        "valid": field("valid"),
        "issues": field("issues"),
        "legacyIssues": field("legacyIssues"),
        "gateway": {
            "mode": gateway.mode.map(GatewayMode::word),
            "bind": gateway.bind.map(GatewayBind::word),
            "port": gateway.port.map(|port| json::number(port.into())),
            "controlUiEnabled": page.enabled,
            "controlUiBasePath": page.base_path,
            "authMode": gateway.auth.mode.map(GatewayAuthMode::word),
            "authTokenConfigured": is_set(&gateway.auth.token),
            "authPasswordConfigured": is_set(&gateway.auth.password),
            "remoteUrl": gateway.remote.url,
            "remoteTokenConfigured": is_set(&gateway.remote.token),
            "remotePasswordConfigured": is_set(&gateway.remote.password),
            "tailscaleMode": gateway.tailscale.mode.map(TailscaleMode::word),
        },
        "discovery": {"wideAreaEnabled": config.discovery.wide_area.enabled},
    })
}

fn print_text(asked: &[Asked], warnings: &[Value], is_ok: bool) -> Result<()> {
    let mut out = anstream::stdout().lock();
    writeln!(out, "Gateway Status\nReachable: {}", if is_ok { "yes" } else { "no" })?;
    for warning in warnings {
        let message = warning.get("message").and_then(Value::as_str).unwrap_or_default();
        writeln!(out, "Warning: {}", terminal::harmless(message))?;
    }
    writeln!(out, "\nTargets")?;
    for Asked { candidate, probe } in asked {
        writeln!(out, "{} {}", candidate.heading, terminal::harmless(&probe.url))?;
        let took = probe.latency.map(|latency| format!("Connect: ok ({}ms)", latency.as_millis()));
        let line = match (took, probe.error()) {
            (Some(took), None) => format!("{took} · RPC: ok"),
            (Some(took), Some(error)) => format!("{took} · RPC: failed - {error}"),
            (None, error) => format!("Connect: failed - {}", error.unwrap_or_default()),
        };
        writeln!(out, "  {}", terminal::harmless(&line))?;
        if let Some(target) = candidate.tunnel.get("target").and_then(Value::as_str) {
            writeln!(out, "  ssh: {}", terminal::harmless(target))?;
        }
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
