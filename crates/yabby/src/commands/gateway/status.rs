//! `yabby gateway status`: the service, and whether the gateway answers (`cli.md` §7).

use std::collections::HashSet;
use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use serde_json::json;
use yabby_domain::json::Value;
use yabby_gateway::log_file;
use yabby_store::config_file::Snapshot;

use super::listen::{self, Bind};
use super::service::{Service, holder};
use crate::client::{CallError, Target, TargetOptions, absence_and_remedy, ask_blocking, limit};
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
    // The service is on this machine, wherever commands find their gateway.
    let target = match &arguments.target.url {
        Some(_) => Target::find(setting, &arguments.target)?,
        None => Target::local(setting, &config, &arguments.target),
    };
    let limit = limit(arguments.timeout.as_deref(), 10_000)?;
    let service = Service::of(setting);
    let port = listen::port(None, &config, &setting.place.environment);
    let bind = Bind::of(None, &config);
    let ask = || ask_blocking(setting, &target, "status", Value::Null, limit, true).map(drop);
    let rpc = (!arguments.no_probe).then(ask);
    let holder = holder(setting);
    let log = log_file(&config, &setting.place);
    let report = Report {
        told_service: told_service(&service),
        file: told_file(&snapshot),
        bind,
        port,
        url: target.url,
        is_busy: is_busy(port),
        address: bind.addresses(&config).first().copied(),
        dashboard: listen::dashboard(&config, port),
        holder,
        is_on_port: holder.is_some_and(|pid| listens(pid, port)),
        absence: rpc.as_ref().and_then(|asked| {
            absence_and_remedy(setting, asked.as_ref().err()?.downcast_ref::<CallError>()?)
        }),
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
    /// The same for people, if nobody listens.
    absence: Option<String>,
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
        let listener =
            self.listener().map(|pid| told_process(pid, &format!("{}:{}", self.host(), self.port)));
        let hint = format!(
            "Gateway already running locally. Stop it ({}) or use a different port.",
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

    /// Lines for a person; what is wrong is on standard error.
    fn print(&self, setting: &Setting) -> Result<()> {
        self.print_service(setting)?;
        self.print_config(setting)?;
        let mut lines = vec![
            format!(
                "Gateway: bind={} ({}), port={} (env/config)",
                self.bind.as_str(),
                self.host(),
                self.port
            ),
            format!("Probe target: {}", self.url),
        ];
        // Without a gateway there is no page.
        if self.absence.is_none() || setting.keeps_reference_text() {
            lines.push(format!("Dashboard: {}", self.dashboard));
        }
        lines.extend(self.note().map(|note| format!("Probe note: {note}")));
        lines.push(String::new());
        let runtime = self.told_service.get("runtime").unwrap_or(&Value::Null);
        let detail = field(runtime, "detail");
        let shown = if detail.is_empty() { String::new() } else { format!(" ({detail})") };
        lines.push(format!("Runtime: {}{shown}", field(runtime, "status")));
        say(&lines)?;
        self.print_rpc()?;
        if detail.contains("systemctl") {
            complain("systemd user services unavailable.");
            complain(&format!(
                "Where there is no systemd, run `{}` under a supervisor of your own.",
                setting.command("gateway")
            ));
            say(&[String::new()])?;
        }
        self.print_port(setting)?;
        self.others.iter().for_each(|other| complain(&format!("Other service: {other}")));
        say(&[format!("Troubles: run {}", setting.command("status"))])
    }

    fn print_service(&self, setting: &Setting) -> Result<()> {
        let shortened = |path: &str| setting.place.shortened(Path::new(path));
        let is_loaded = self.told_service.get("loaded") == Some(&Value::Bool(true));
        let state = if is_loaded { "enabled" } else { "disabled" };
        let mut lines =
            vec![format!("Service: systemd ({state})"), format!("File logs: {}", shortened(&self.log))];
        if let Some(command) = self.told_service.get("command").filter(|command| command.is_object()) {
            let words = command.get("programArguments").and_then(Value::as_array).into_iter().flatten();
            let words: Vec<&str> = words.filter_map(Value::as_str).collect();
            lines.push(format!("Command: {}", words.join(" ")));
            lines.push(format!("Service file: {}", shortened(&field(command, "sourcePath"))));
        }
        lines.push(String::new());
        say(&lines)
    }

    /// The service reads the file that we read.
    fn print_config(&self, setting: &Setting) -> Result<()> {
        let is = |name: &str| self.file.get(name) == Some(&Value::Bool(true));
        let missing = if is("exists") { "" } else { " (missing)" };
        let invalid = if is("valid") { "" } else { " (invalid)" };
        let path = setting.place.shortened(Path::new(&field(&self.file, "path")));
        for (reader, trouble) in [("cli", "Config issue"), ("service", "Service config issue")] {
            say(&[format!("Config ({reader}): {path}{missing}{invalid}")])?;
            for issue in self.file.get("issues").and_then(Value::as_array).into_iter().flatten().take(5) {
                let at = Some(field(issue, "path")).filter(|path| !path.is_empty());
                let at = at.unwrap_or_else(|| "<root>".to_owned());
                complain(&format!("{trouble}: {at}: {}", field(issue, "message")));
            }
        }
        say(&[String::new()])
    }

    fn print_rpc(&self) -> Result<()> {
        match &self.rpc {
            None => return Ok(()),
            Some(Err(_)) if self.absence.is_some() && self.holder.is_none() => {
                complain(self.absence.as_deref().unwrap_or_default());
            }
            Some(Ok(())) => say(&["RPC probe: ok".to_owned()])?,
            Some(Err(error)) => {
                complain(&format!("RPC probe: failed\nRPC target: {}", self.url));
                error.lines().for_each(|line| complain(&format!("  {line}")));
            }
        }
        say(&[String::new()])
    }

    fn print_port(&self, setting: &Setting) -> Result<()> {
        let at = format!("{}:{}", self.host(), self.port);
        match (self.is_busy, self.listener()) {
            (true, Some(pid)) => say(&[format!("Listening: {at} (pid {pid})")])?,
            (true, None) => say(&[format!("Listening: {at}, by somebody else")])?,
            (false, _) if self.holder.is_none() && self.absence.is_none() => {
                complain(&format!("Nobody listens; `{}` runs the gateway.", setting.command("gateway")));
            }
            (false, _) => {}
        }
        if let Some(pid) = self.holder.filter(|_| self.listener().is_none()) {
            complain(&format!("A gateway runs (pid {pid}), on another port."));
        }
        Ok(())
    }
}

fn field(value: &Value, name: &str) -> String {
    value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn say(lines: &[String]) -> Result<()> {
    let mut out = anstream::stdout().lock();
    Ok(lines.iter().try_for_each(|line| writeln!(out, "{}", terminal::harmless(line)))?)
}

fn complain(text: &str) {
    text.lines().for_each(|line| anstream::eprintln!("{}", terminal::harmless(line)));
}

/// The file of the configuration, and what is wrong with it.
fn told_file(snapshot: &Snapshot) -> Value {
    let mut told = json!({
        "path": snapshot.path.display().to_string(),
        "exists": snapshot.exists,
        "valid": snapshot.is_valid(),
    });
    if !snapshot.issues.is_empty() {
        let issues = snapshot.issues.iter();
        told["issues"] = issues
            .map(|issue| json!({"path": issue.path, "message": issue.message}))
            .collect::<Vec<_>>()
            .into();
    }
    told
}

/// Who listens, as far as the system tells.
fn told_process(pid: i64, address: &str) -> Value {
    json!({"pid": pid, "command": "yabby", "commandLine": command_line(pid), "address": address})
}

fn command_line(pid: i64) -> String {
    let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words: Vec<_> =
        words.split(|byte| *byte == 0).filter(|word| !word.is_empty()).map(String::from_utf8_lossy).collect();
    words.join(" ")
}

/// Who listens on a port, as far as we may know.
pub fn listener_on(port: u16) -> Option<(i64, String)> {
    let processes = std::fs::read_dir("/proc").ok()?.flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let may_look = |pid: &i64| std::fs::read_dir(format!("/proc/{pid}/fd")).is_ok();
    let sockets = listening_sockets(Some(port));
    let pid = pids.filter(may_look).find(|pid| holds_one_of(*pid, &sockets))?;
    Some((pid, command_line(pid)))
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
    holds_one_of(pid, &listening_sockets(Some(port)))
}

/// Whether a process listens on any port, and thus serves somebody; `true` where the system does not tell.
pub fn serves(pid: i64) -> bool {
    holds_one_of(pid, &listening_sockets(None))
}

fn holds_one_of(pid: i64, sockets: &HashSet<String>) -> bool {
    let Ok(open) = std::fs::read_dir(format!("/proc/{pid}/fd")) else { return true };
    let links = open.flatten().filter_map(|file| std::fs::read_link(file.path()).ok());
    links.into_iter().any(|link| sockets.contains(link.to_string_lossy().as_ref()))
}

/// The sockets that somebody listens on in our own network namespace: on a port, or on any. Those of other namespaces
/// have ports of their own, so that the tables of other processes are not asked.
fn listening_sockets(port: Option<u16>) -> HashSet<String> {
    const LISTENING: &str = "0A";
    let port = port.map(|port| format!(":{port:04X}"));
    let tables = ["tcp", "tcp6"].map(|name| std::fs::read_to_string(format!("/proc/self/net/{name}")));
    tables
        .iter()
        .flatten()
        .flat_map(|table| table.lines().skip(1))
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .filter(|fields| {
            let at = |address: &&str| port.as_ref().is_none_or(|port| address.ends_with(port));
            fields.get(1).is_some_and(at)
        })
        .filter(|fields| fields.get(3) == Some(&LISTENING))
        .filter_map(|fields| Some(format!("socket:[{}]", fields.get(9)?)))
        .collect()
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
