//! `yabby gateway install`, `uninstall`, `start`, `stop` and `restart`: the gateway as a unit of the user's systemd
//! (`cli.md` §7). A gateway that somebody started by hand can be stopped and restarted as well.

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail};
use clap::Args;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use yabby_config::dotenv;
use yabby_config::environment::Environment;
use yabby_domain::config::Config;
use yabby_domain::config::gateway::GatewayMode;
use yabby_domain::json::{Object, Value};
use yabby_domain::text;
use yabby_store::files::gateway_lock::GatewayLock;

use super::run::end_process;
use crate::failure::{self, Failure};
use crate::setting::Setting;
use crate::terminal;

/// How long a service may take until its gateway runs.
const STARTING: Duration = Duration::from_secs(10);

#[derive(Args)]
pub struct Install {
    /// The port for everything [default: that of the configuration]
    #[arg(long, value_name = "PORT")]
    port: Option<String>,
    /// Replace a unit that is there already
    #[arg(long)]
    force: bool,
    /// What runs OpenClaw's; ours needs nothing to run it
    #[arg(long, hide = true, value_name = "RUNTIME")]
    runtime: Option<String>,
    #[arg(long, hide = true, value_name = "TOKEN")]
    token: Option<String>,
    #[command(flatten)]
    way: Way,
}

/// How something is done.
#[derive(Args)]
pub struct Way {
    /// Only say what would be done
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The unit of a folder.
pub struct Service {
    pub name: String,
    pub file: PathBuf,
    /// The file is there, and is about our folder.
    is_installed: bool,
}

/// How the unit is.
pub struct State {
    pub is_enabled: bool,
    /// It runs, or will in a moment: systemd starts it again and again.
    pub is_up: bool,
    /// As systemd tells it, or why it tells nothing.
    pub runtime: Result<Object, String>,
}

impl Service {
    /// The unit that runs a gateway on our folder, or else the one that would. A name that another folder's unit has
    /// is not ours, whatever the folder is called.
    pub fn of(setting: &Setting) -> Self {
        let place = &setting.place;
        let folder = place.folder.path().to_string_lossy().into_owned();
        let config = place.environment.get("XDG_CONFIG_HOME").filter(|folder| folder.starts_with('/'));
        let config = config.map_or_else(|| place.home.join(".config"), PathBuf::from);
        let units = config.join("systemd/user");
        let service = |name: String| {
            let file = units.join(&name);
            let unit = std::fs::read_to_string(&file);
            Self { is_installed: unit.as_ref().is_ok_and(|unit| is_for(unit, &folder)), name, file }
        };
        let [short, long] = names(place.folder.path(), &place.home).map(service);
        match (short.is_installed, long.is_installed, short.file.exists()) {
            (true, _, _) | (false, false, false) => short,
            (false, _, _) => long,
        }
    }

    pub fn is_installed(&self) -> bool {
        self.is_installed
    }

    /// The process that systemd runs for it.
    fn pid(&self) -> Option<i64> {
        self.state().runtime.ok()?.get("pid")?.as_i64()
    }

    /// How systemd sees it.
    pub fn state(&self) -> State {
        const ASKED: &str = "--property=LoadState,ActiveState,SubState,MainPID,UnitFileState,ExecMainStatus";
        let told = systemctl(&["show", &self.name, ASKED]);
        let field = |name: &str| {
            let told = told.as_deref().unwrap_or_default();
            told.lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix('='))
                .unwrap_or_default()
                .to_owned()
        };
        let active = field("ActiveState");
        let runtime = told.clone().map(|_| {
            let status = if active == "active" { "running" } else { "stopped" };
            let mut runtime = Object::new();
            runtime.insert("status".to_owned(), status.into());
            runtime.insert("state".to_owned(), active.clone().into());
            runtime.insert("subState".to_owned(), field("SubState").into());
            if let Some(pid) = field("MainPID").parse::<i64>().ok().filter(|pid| *pid > 0) {
                runtime.insert("pid".to_owned(), pid.into());
            }
            runtime
        });
        let is_up = !matches!(active.as_str(), "" | "inactive" | "failed");
        State { is_enabled: field("UnitFileState") == "enabled", is_up, runtime }
    }
}

/// What a unit of a folder may be called: in short, as long as no other folder's is called so, and in full.
fn names(folder: &Path, home: &Path) -> [String; 2] {
    use sha2::{Digest as _, Sha256};
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let plain = |text: &str| -> String {
        text.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' }).collect()
    };
    let digest = Sha256::digest(folder.to_string_lossy().as_bytes());
    let digest: String = digest.iter().take(3).map(|byte| format!("{byte:02x}")).collect();
    let full = format!("yabby-gateway-{}-{digest}.service", plain(name.trim_start_matches('.')));
    let profile = [".yabby", ".openclaw"].iter().find_map(|start| name.strip_prefix(start));
    let short = match profile.filter(|_| folder.parent() == Some(home)) {
        Some("") => "yabby-gateway.service".to_owned(),
        Some(profile) if profile.starts_with('-') => format!("yabby-gateway{}.service", plain(profile)),
        Some(_) | None => full.clone(),
    };
    [short, full]
}

/// Whether a unit runs a gateway on this folder.
fn is_for(unit: &str, folder: &str) -> bool {
    let named = format!(" --state-dir {} ", quoted(folder));
    unit.lines().any(|line| line.starts_with("ExecStart=") && line.contains(&named))
}

/// Asks the user's systemd; what it says, or why it says nothing.
fn systemctl(arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new("systemctl");
    command.arg("--user").args(arguments).stdin(Stdio::null());
    let output = command.output().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => "there is no systemctl on this machine".to_owned(),
        _ => error.to_string(),
    })?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    match output.status.success() {
        true => Ok(text(&output.stdout)),
        false => Err(format!("systemctl --user unavailable: {}", text(&output.stderr))),
    }
}

/// Without systemd nothing of this works; says so before anything is done.
fn need_systemd(setting: &Setting) -> Result<()> {
    systemctl(&["show-environment"]).map(drop).map_err(|error| {
        anyhow!(
            "{error}\nThe gateway can be a service only where systemd runs for the user. Run `{}` in a terminal, or under a supervisor of your own.",
            setting.command("gateway")
        )
    })
}

pub fn install(setting: &Setting, arguments: &Install) -> Result<()> {
    arguments.way.answered("install", try_to_install(setting, arguments))
}

fn try_to_install(setting: &Setting, arguments: &Install) -> Result<()> {
    let port = arguments.checked_port(setting)?;
    let service = Service::of(setting);
    let unit = unit(setting, port)?;
    let steps = [
        vec!["daemon-reload"],
        vec!["enable", service.name.as_str()],
        vec!["restart", service.name.as_str()],
    ];
    if arguments.way.dry_run {
        return arguments.way.plan("install", &service, Some(&unit), &steps);
    }
    let config = setting.config()?;
    if config.gateway.mode != Some(GatewayMode::Local) {
        bail!(
            "gateway.mode is not \"local\", so that the service would not start; first run `{}`",
            setting.command("config set gateway.mode local")
        );
    }
    if !has_secret(setting, &config) {
        bail!(
            "the service would not start: there is no secret that clients could know, neither in the configuration nor in {}; first run `{}`",
            setting.place.shortened(&setting.place.folder.path().join(".env")),
            setting.command("config set gateway.auth.token TOKEN")
        );
    }
    need_systemd(setting)?;
    make_way(setting, &service)?;
    let known = std::fs::read_to_string(&service.file).ok();
    if known.as_ref().is_some_and(|known| *known != unit) && !arguments.force {
        bail!("{} is there already, and says something else; --force replaces it", service.file.display());
    }
    write(&service.file, &unit)?;
    carry_out(&steps)?;
    await_start(setting, &service)?;
    let file = service.file.display();
    arguments.way.done("install", "installed", &format!("Installed {file}, and started it."), &service)
}

pub fn uninstall(setting: &Setting, way: &Way) -> Result<()> {
    way.answered("uninstall", try_to_uninstall(setting, way))
}

fn try_to_uninstall(setting: &Setting, way: &Way) -> Result<()> {
    let service = Service::of(setting);
    let before = [vec!["disable", "--now", service.name.as_str()]];
    if way.dry_run {
        return way.plan("uninstall", &service, None, &before);
    }
    if !service.is_installed() {
        return way.done("uninstall", "not-installed", "No service is installed.", &service);
    }
    need_systemd(setting)?;
    carry_out(&before)?;
    std::fs::remove_file(&service.file)
        .with_context(|| format!("cannot remove {}", service.file.display()))?;
    carry_out(&[vec!["daemon-reload"]])?;
    way.done("uninstall", "uninstalled", &format!("Removed {}.", service.file.display()), &service)
}

pub fn start(setting: &Setting, way: &Way) -> Result<()> {
    way.answered("start", try_to_start(setting, way))
}

fn try_to_start(setting: &Setting, way: &Way) -> Result<()> {
    let service = Service::of(setting);
    let steps = [vec!["start", service.name.as_str()]];
    if way.dry_run {
        return way.plan("start", &service, None, &steps);
    }
    if !service.is_installed() {
        bail!(
            "no service is installed; `{}` installs one, `{}` runs the gateway here",
            setting.command("gateway install"),
            setting.command("gateway")
        );
    }
    need_systemd(setting)?;
    make_way(setting, &service)?;
    carry_out(&steps)?;
    await_start(setting, &service)?;
    way.done("start", "started", "Started the gateway.", &service)
}

pub fn stop(setting: &Setting, way: &Way) -> Result<()> {
    way.answered("stop", try_to_stop(setting, way))
}

fn try_to_stop(setting: &Setting, way: &Way) -> Result<()> {
    let service = Service::of(setting);
    if service.is_installed() && service.state().is_up {
        let steps = [vec!["stop", service.name.as_str()]];
        if way.dry_run {
            return way.plan("stop", &service, None, &steps);
        }
        carry_out(&steps)?;
        return way.done("stop", "stopped", "Stopped the gateway.", &service);
    }
    let Some(pid) = holder(setting) else {
        let folder = setting.place.shortened(setting.place.folder.path());
        return way.done("stop", "not-running", &format!("No gateway runs on {folder}."), &service);
    };
    if way.dry_run {
        return way.signal_plan("stop", "TERM", pid);
    }
    end_process(pid)?;
    if holder(setting) == Some(pid) {
        bail!(
            "the gateway (pid {pid}) has not stopped yet; it finishes what it has begun. Ask again to stop it at once."
        );
    }
    way.done("stop", "stopped", &format!("Stopped the gateway (pid {pid})."), &service)
}

pub fn restart(setting: &Setting, way: &Way) -> Result<()> {
    way.answered("restart", try_to_restart(setting, way))
}

fn try_to_restart(setting: &Setting, way: &Way) -> Result<()> {
    let service = Service::of(setting);
    if service.is_installed() && (service.state().is_up || holder(setting).is_none()) {
        let steps = [vec!["restart", service.name.as_str()]];
        if way.dry_run {
            return way.plan("restart", &service, None, &steps);
        }
        need_systemd(setting)?;
        carry_out(&steps)?;
        await_start(setting, &service)?;
        return way.done("restart", "restarted", "Restarted the gateway.", &service);
    }
    let Some(pid) = holder(setting) else {
        let folder = setting.place.shortened(setting.place.folder.path());
        bail!(
            "no gateway runs on {folder}, and no service is installed; `{}` runs one",
            setting.command("gateway")
        );
    };
    if way.dry_run {
        return way.signal_plan("restart", "USR1", pid);
    }
    let process = i32::try_from(pid).ok().and_then(Pid::from_raw).context("no such process")?;
    kill_process(process, Signal::USR1).with_context(|| format!("cannot reach process {pid}"))?;
    way.done("restart", "restarted", &format!("The gateway (pid {pid}) begins anew."), &service)
}

/// The process that runs a gateway on our folder; nothing is made where there is none.
pub fn holder(setting: &Setting) -> Option<i64> {
    setting.place.folder.path().exists().then(|| GatewayLock::holder(&setting.place)).flatten()
}

/// Whether a service knows a secret that clients could know: it has none of the variables of this process.
fn has_secret(setting: &Setting, config: &Config) -> bool {
    let state = setting.place.folder.path();
    let mut environment = dotenv_of(&state.join(".env"));
    environment.add_section(config.raw());
    let variables = [
        "OPENCLAW_GATEWAY_TOKEN",
        "CLAWDBOT_GATEWAY_TOKEN",
        "OPENCLAW_GATEWAY_PASSWORD",
        "CLAWDBOT_GATEWAY_PASSWORD",
    ];
    let auth = &config.gateway.auth;
    let is_said = |secret: &Option<String>| secret.as_deref().and_then(text::non_blank).is_some();
    is_said(&auth.token) || is_said(&auth.password) || environment.first(&variables).is_some()
}

fn dotenv_of(file: &Path) -> Environment {
    let mut environment = Environment::default();
    environment.add(dotenv::parse(&std::fs::read_to_string(file).unwrap_or_default()));
    environment
}

/// A gateway that somebody started by hand is not taken for the service.
fn make_way(setting: &Setting, service: &Service) -> Result<()> {
    match holder(setting) {
        Some(pid) if service.pid() != Some(pid) => bail!(
            "a gateway runs already on {} (pid {pid}), and it is not the service; first stop it with `{}`",
            setting.place.shortened(setting.place.folder.path()),
            setting.command("gateway stop")
        ),
        Some(_) | None => Ok(()),
    }
}

/// Waits until the service runs the gateway: systemd is content with a process that ends a moment later.
fn await_start(setting: &Setting, service: &Service) -> Result<()> {
    let begun = Instant::now();
    while begun.elapsed() < STARTING {
        let running = holder(setting);
        if running.is_some() && running == service.pid() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    bail!(
        "systemd started {}, and no gateway runs after {} s; `journalctl --user -u {}` says why",
        service.name,
        STARTING.as_secs(),
        service.name
    )
}

fn carry_out(steps: &[Vec<&str>]) -> Result<()> {
    steps.iter().try_for_each(|step| systemctl(step).map(drop).map_err(|error| anyhow!("{error}")))
}

fn write(file: &Path, text: &str) -> Result<()> {
    let failed = || format!("cannot write {}", file.display());
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder).with_context(failed)?;
    }
    let mut options = std::fs::OpenOptions::new();
    let mut open =
        options.write(true).create(true).truncate(true).mode(0o644).open(file).with_context(failed)?;
    open.write_all(text.as_bytes()).with_context(failed)
}

/// What systemd reads.
fn unit(setting: &Setting, port: Option<u16>) -> Result<String> {
    let place = &setting.place;
    let program = std::env::current_exe().context("cannot tell where this program is")?;
    let folder = place.folder.path().to_string_lossy().into_owned();
    let mut command = vec![program.to_string_lossy().into_owned(), "--state-dir".to_owned(), folder];
    command.extend(["gateway".to_owned(), "run".to_owned()]);
    let variable = place.environment.first(&["OPENCLAW_GATEWAY_PORT", "CLAWDBOT_GATEWAY_PORT"]);
    if let Some(port) = port.map(|port| port.to_string()).or_else(|| variable.map(str::to_owned)) {
        command.extend(["--port".to_owned(), port]);
    }
    let command: Vec<String> = command.iter().map(|word| quoted(word)).collect();
    // Whatever else there is by then: it is this configuration.
    let config = std::path::absolute(&place.config).unwrap_or_else(|_| place.config.clone());
    let config = escaped(&format!("YABBY_CONFIG_PATH={}", config.display()));
    Ok(format!(
        "[Unit]
Description=yabby gateway
Wants=network-online.target
After=network-online.target
StartLimitIntervalSec=300
StartLimitBurst=10

[Service]
ExecStart={}
ExecReload=/bin/kill -USR1 $MAINPID
Environment=\"{config}\"
KillMode=mixed
TimeoutStopSec=40
Restart=on-failure
RestartSec=5

[Install]
WantedBy=default.target
",
        command.join(" ")
    ))
}

/// A word within quotes, as systemd reads it.
fn escaped(word: &str) -> String {
    word.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%")
}

/// A word of a command as systemd reads it, where variables are filled in.
fn quoted(word: &str) -> String {
    let escaped = escaped(word).replace('$', "$$");
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-=:".contains(c);
    if escaped.chars().all(is_plain) { escaped } else { format!("\"{escaped}\"") }
}

impl Install {
    /// The port that is wished for, if everything that is wished for can be had.
    fn checked_port(&self, setting: &Setting) -> Result<Option<u16>> {
        let port = self.port.as_deref().map(|port| match port.parse::<u16>() {
            Ok(port @ 1..) => Ok(port),
            _ => Err(Failure::bare("Invalid port")),
        });
        if self.runtime.as_deref().is_some_and(|runtime| !["node", "bun"].contains(&runtime)) {
            return Err(Failure::bare(r#"Invalid --runtime (use "node" or "bun")"#).into());
        }
        if self.token.is_some() {
            bail!(
                "a token in a unit is a token for everybody; leave --token out, and run `{}` first",
                setting.command("config set gateway.auth.token TOKEN")
            );
        }
        Ok(port.transpose()?)
    }
}

impl Way {
    /// A failure is told to programs as a success is.
    fn answered(&self, action: &str, done: Result<()>) -> Result<()> {
        match done {
            Err(error) if self.json && !failure::is_closed_pipe(&error) => {
                let told = json!({"action": action, "ok": false, "error": failure::told(&error)});
                terminal::print_json(&told)?;
                Err(Failure::silent().into())
            }
            done => done,
        }
    }

    /// Says what would be done.
    fn plan(&self, action: &str, service: &Service, unit: Option<&str>, steps: &[Vec<&str>]) -> Result<()> {
        let commands: Vec<String> =
            steps.iter().map(|step| format!("systemctl --user {}", step.join(" "))).collect();
        if self.json {
            return terminal::print_json(&json!({
                "ok": true,
                "action": action,
                "dryRun": true,
                "unit": {"path": service.file.display().to_string(), "text": unit},
                "commands": commands,
            }));
        }
        let mut out = anstream::stdout().lock();
        if let Some(unit) = unit {
            writeln!(out, "# {}\n{unit}", terminal::harmless(&service.file.to_string_lossy()))?;
        }
        commands.iter().try_for_each(|command| writeln!(out, "{command}"))?;
        if action == "uninstall" {
            writeln!(
                out,
                "rm {}\nsystemctl --user daemon-reload",
                terminal::harmless(&service.file.to_string_lossy())
            )?;
        }
        Ok(())
    }

    fn signal_plan(&self, action: &str, signal: &str, pid: i64) -> Result<()> {
        let command = format!("kill -{signal} {pid}");
        if self.json {
            return terminal::print_json(
                &json!({"ok": true, "action": action, "dryRun": true, "commands": [command]}),
            );
        }
        Ok(writeln!(anstream::stdout(), "{command}")?)
    }

    fn done(&self, action: &str, result: &str, message: &str, service: &Service) -> Result<()> {
        if !self.json {
            return Ok(writeln!(anstream::stdout(), "{}", terminal::harmless(message))?);
        }
        let service: Value = json!({
            "label": "systemd",
            "name": service.name,
            "loaded": service.state().is_enabled,
            "loadedText": "enabled",
            "notLoadedText": "disabled",
        });
        terminal::print_json(
            &json!({"ok": true, "action": action, "result": result, "message": message, "service": service}),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_folder_has_a_unit_of_its_own() {
        let home = Path::new("/home/x");
        let short = |folder: &str| names(Path::new(folder), home)[0].clone();
        assert_eq!(short("/home/x/.openclaw"), "yabby-gateway.service");
        assert_eq!(short("/home/x/.yabby"), "yabby-gateway.service");
        assert_eq!(short("/home/x/.openclaw-work"), "yabby-gateway-work.service");
        assert_eq!(short("/home/x/.yabby-a b"), "yabby-gateway-a-b.service");
        for folder in ["/srv/one/state", "/srv/other/state", "/srv/.openclaw-work", "/srv/.openclaw"] {
            let [short, full] = names(Path::new(folder), home);
            assert!(short == full && full.starts_with("yabby-gateway-"), "{folder}: {short} {full}");
        }
        let full = |folder: &str| names(Path::new(folder), home)[1].clone();
        assert_ne!(full("/home/x/.openclaw-work"), full("/home/x/.yabby-work"));
        assert_ne!(full("/srv/one/state"), full("/srv/other/state"));
    }

    #[test]
    fn a_unit_is_for_the_folder_that_its_command_names() {
        let unit = "ExecStart=/usr/bin/yabby --state-dir \"/home/a b/.yabby\" gateway run\n";
        assert!(is_for(unit, "/home/a b/.yabby"));
        assert!(!is_for(unit, "/home/a b/.openclaw"));
        assert!(!is_for("Description=--state-dir /x gateway\n", "/x"));
    }

    #[test]
    fn a_unit_reads_words_as_they_were_meant() {
        let table = [
            ("/usr/bin/yabby", "/usr/bin/yabby"),
            ("/home/a b", "\"/home/a b\""),
            ("50%", "\"50%%\""),
            ("a\"b\\c$d", "\"a\\\"b\\\\c$$d\""),
        ];
        for (word, told) in table {
            assert_eq!(quoted(word), told);
        }
    }
}
