//! `yabby gateway status`: the service, and whether the gateway answers (`cli.md` §7).

use std::collections::HashSet;
use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use serde_json::json;
use yabby_domain::json::Value;
use yabby_gateway::log_file;
use yabby_store::config_file::Snapshot;

use super::listen::{self, Bind};
use super::service::{Service, holder};
use crate::client::{Target, TargetOptions, ask_blocking, limit};
use crate::failure;
use crate::setting::Setting;
use crate::terminal;

#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    target: TargetOptions,
    /// How long to wait, in milliseconds [default: 10000]
    #[arg(long, value_name = "MS")]
    timeout: Option<String>,
    /// Do not ask the gateway itself
    #[arg(long)]
    no_probe: bool,
    /// Also look for services of others
    #[arg(long)]
    deep: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    let snapshot = Snapshot::read(&setting.place);
    let config = setting.config()?;
    let target = Target::find(setting, &arguments.target)?;
    let limit = limit(arguments.timeout.as_deref(), 10_000)?;
    let service = Service::of(setting);
    let port = listen::port(None, &config, &setting.place.environment);
    let bind = Bind::of(None, &config);
    let rpc = (!arguments.no_probe).then(|| ask_blocking(&target, "status", Value::Null, limit).map(drop));
    let holder = holder(setting);
    let log = log_file(&config, &setting.place);
    let report = Report {
        told_service: told_service(&service),
        file: json!({"path": snapshot.path.display().to_string(), "exists": snapshot.exists, "valid": snapshot.is_valid()}),
        bind,
        port,
        url: target.url,
        is_busy: is_busy(port),
        address: bind.addresses(&config).first().copied(),
        dashboard: listen::dashboard(&config, port),
        holder,
        is_on_port: holder.is_some_and(|pid| listens(pid, port)),
        rpc: rpc.map(|asked| asked.map_err(|error| error.to_string())),
        others: if arguments.deep { others(&service) } else { Vec::new() },
        log: log.display().to_string(),
    };
    if arguments.json { terminal::print_json(&report.json(setting)) } else { report.print(setting) }
}

struct Report {
    told_service: Value,
    file: Value,
    bind: Bind,
    port: u16,
    url: String,
    is_busy: bool,
    address: Option<IpAddr>,
    dashboard: String,
    holder: Option<i64>,
    /// The holder listens on the port.
    is_on_port: bool,
    /// Whether the gateway answers, if it was asked.
    rpc: Option<Result<(), String>>,
    others: Vec<String>,
    log: String,
}

impl Report {
    fn host(&self) -> String {
        self.address.map_or_else(|| "127.0.0.1".to_owned(), |address| address.to_string())
    }

    /// Our gateway, if it is the one on the port.
    fn listener(&self) -> Option<i64> {
        self.holder.filter(|_| self.is_busy && self.is_on_port)
    }

    fn note(&self) -> Option<&'static str> {
        match self.bind {
            Bind::Loopback => Some("Loopback-only gateway; only local clients can connect."),
            Bind::Lan => Some(
                "Asked over loopback; it listens on all interfaces, so that others reach it by an address of this machine.",
            ),
            Bind::Tailnet | Bind::Auto | Bind::Custom => None,
        }
    }

    fn json(&self, setting: &Setting) -> Value {
        let listener = self.listener().map(|pid| json!({"pid": pid, "command": "yabby", "address": format!("{}:{}", self.host(), self.port)}));
        let hint = format!(
            "A gateway runs here already. Stop it ({}) or use a different port.",
            setting.command("gateway stop")
        );
        let mut told = json!({
            "service": self.told_service,
            "config": {"cli": self.file, "daemon": self.file},
            "gateway": {
                "bindMode": self.bind.as_str(),
                "bindHost": self.host(),
                "port": self.port,
                "portSource": "env/config",
                "probeUrl": self.url,
            },
            "port": {
                "port": self.port,
                "status": if self.is_busy { "busy" } else { "free" },
                "listeners": listener.into_iter().collect::<Vec<_>>(),
                "hints": if self.listener().is_some() { vec![hint] } else { Vec::new() },
            },
            "logFile": self.log,
        });
        if let Some(note) = self.note() {
            told["gateway"]["probeNote"] = note.into();
        }
        match &self.rpc {
            Some(Ok(())) => told["rpc"] = json!({"ok": true, "url": self.url}),
            Some(Err(error)) => told["rpc"] = json!({"ok": false, "url": self.url, "error": error}),
            None => {}
        }
        told["extraServices"] = self.others.clone().into();
        told
    }

    fn print(&self, setting: &Setting) -> Result<()> {
        let field = |value: &Value, name: &str| {
            value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let mut lines = Vec::new();
        let is_loaded = self.told_service.get("loaded") == Some(&Value::Bool(true));
        let state = if is_loaded { "enabled" } else { "disabled" };
        lines.push(format!("Service: systemd ({state})"));
        lines.push(format!("File logs: {}", self.log));
        let path = setting.place.shortened(std::path::Path::new(&field(&self.file, "path")));
        let missing = if self.file.get("exists") == Some(&Value::Bool(false)) { " (missing)" } else { "" };
        lines.extend([String::new(), format!("Config: {path}{missing}"), String::new()]);
        lines.push(format!(
            "Gateway: bind={} ({}), port={} (env/config)",
            self.bind.as_str(),
            self.host(),
            self.port
        ));
        lines.push(format!("Probe target: {}", self.url));
        lines.push(format!("Dashboard: {}", self.dashboard));
        lines.extend(self.note().map(|note| format!("Probe note: {note}")));
        lines.push(String::new());
        let runtime = self.told_service.get("runtime").unwrap_or(&Value::Null);
        let detail = field(runtime, "detail");
        let detail = if detail.is_empty() { String::new() } else { format!(" ({detail})") };
        lines.push(format!("Runtime: {}{detail}", field(runtime, "status")));
        match &self.rpc {
            Some(Ok(())) => lines.push("RPC probe: ok".to_owned()),
            Some(Err(error)) => lines.push(format!("RPC probe: failed\n{error}")),
            None => {}
        }
        match (self.is_busy, self.listener()) {
            (true, Some(pid)) => lines.push(format!("Listening: port {} (pid {pid})", self.port)),
            (true, None) => lines.push(format!("Listening: port {}, by somebody else", self.port)),
            (false, _) if self.holder.is_none() => {
                lines.push(format!("Nobody listens; `{}` runs the gateway.", setting.command("gateway")))
            }
            (false, _) => {}
        }
        if let Some(pid) = self.holder.filter(|_| self.listener().is_none()) {
            lines.push(format!("A gateway runs (pid {pid}), on another port."));
        }
        lines.extend(self.others.iter().map(|other| format!("Other service: {other}")));
        let mut out = anstream::stdout().lock();
        let text = lines.join("\n");
        Ok(text.lines().try_for_each(|line| writeln!(out, "{}", terminal::harmless(line)))?)
    }
}

/// What systemd knows of the gateway, as the reference tells it.
pub fn told_service(service: &Service) -> Value {
    let state = service.state();
    let runtime = match &state.runtime {
        Ok(runtime) => Value::Object(runtime.clone()),
        Err(error) => json!({"status": "unknown", "detail": format!("Error: {error}")}),
    };
    let command = service.is_installed().then(|| {
        let text = std::fs::read_to_string(&service.file).unwrap_or_default();
        let started = text.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap_or_default();
        json!({"programArguments": started.split_whitespace().collect::<Vec<_>>(), "sourcePath": service.file.display().to_string()})
    });
    json!({
        "label": "systemd",
        "name": service.name,
        "loaded": state.is_enabled,
        "loadedText": "enabled",
        "notLoadedText": "disabled",
        "command": command,
        "runtime": runtime,
        "configAudit": {"ok": true, "issues": []},
    })
}

fn is_busy(port: u16) -> bool {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    TcpStream::connect_timeout(&address, Duration::from_millis(500)).is_ok()
}

/// Whether a process listens on a port; `true` where the system does not tell.
fn listens(pid: i64, port: u16) -> bool {
    const LISTENING: &str = "0A";
    let port = format!(":{port:04X}");
    let tables = ["tcp", "tcp6"].map(|name| std::fs::read_to_string(format!("/proc/{pid}/net/{name}")));
    let Ok(open) = std::fs::read_dir(format!("/proc/{pid}/fd")) else { return true };
    let sockets: HashSet<String> = tables
        .iter()
        .flatten()
        .flat_map(|table| table.lines().skip(1))
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .filter(|fields| fields.get(1).is_some_and(|address| address.ends_with(&port)))
        .filter(|fields| fields.get(3) == Some(&LISTENING))
        .filter_map(|fields| Some(format!("socket:[{}]", fields.get(9)?)))
        .collect();
    let links = open.flatten().filter_map(|file| std::fs::read_link(file.path()).ok());
    links.into_iter().any(|link| sockets.contains(link.to_string_lossy().as_ref()))
}

/// Units beside ours that run a gateway: another of ours, or OpenClaw's.
fn others(service: &Service) -> Vec<String> {
    let Some(folder) = service.file.parent() else { return Vec::new() };
    let names = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let is_gateway = |name: &String| {
        *name != service.name
            && name.ends_with(".service")
            && ["yabby-gateway", "openclaw-gateway", "clawdbot-gateway", "moltbot-gateway"]
                .iter()
                .any(|start| name.starts_with(start))
    };
    let mut names: Vec<String> = names.filter(is_gateway).collect();
    names.sort();
    names
}

/// An error in the form that `gateway status` tells it.
pub fn failed(error: anyhow::Error) -> anyhow::Error {
    match error.is::<failure::Failure>() {
        true => error,
        false => failure::Failure::bare(format!("Gateway status failed: Error: {error}")).into(),
    }
}
