//! `yabby gateway run`: runs the gateway until somebody stops it (`cli.md` §7).
//!
//! A change of the configuration that cannot be applied while we run, SIGUSR1 and `config.apply` begin everything
//! anew within the same process. Whatever was accepted and is not answered by then goes on afterwards.

pub mod first;
mod freed_memory;
pub mod reload;
mod sentinel;
mod sweep;

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::Args;
use tokio::signal::unix::{Signal, SignalKind, signal};
use yabby_config::key_path::KeyPath;
use yabby_domain::config::Config;
use yabby_domain::config::gateway::GatewayMode;
use yabby_engine::Engine;
use yabby_gateway::{Parts, StartError, log_file, start};
use yabby_store::clock::SystemClock;
use yabby_store::config_file::Snapshot;
use yabby_store::files::gateway_lock::{GatewayLock, LockError, PATIENCE};
use yabby_store::files::turns::Kind;
use yabby_store::state_disk::KnownFolder;

use super::{listen, status};
use crate::failure::Failure;
use crate::logs::{self, gateway::Telling};
use crate::setting::Setting;
use crate::wire::Wired;
use crate::wire::secrets::secrets;

/// How long turns may take to end when we are asked to stop, and before a new beginning that can wait. What goes on
/// then goes on after the next start.
const DEADLINE: Duration = Duration::from_secs(20);
/// The same while nobody is served any more before a new beginning.
const SHORT_DEADLINE: Duration = Duration::from_secs(5);
/// When clients may come back after a new beginning.
const BACK_IN_MS: u64 = 1500;

#[derive(Args)]
#[group(id = "run")]
pub struct Options {
    /// The port for everything [default: OPENCLAW_GATEWAY_PORT, gateway.port, or 18789]
    #[arg(long, value_name = "PORT")]
    port: Option<String>,
    /// Which addresses to listen on: loopback, lan, tailnet, auto or custom [default: gateway.bind, or loopback]
    #[arg(long, value_name = "MODE")]
    bind: Option<String>,
    /// The token that clients must know [default: gateway.auth.token, or OPENCLAW_GATEWAY_TOKEN]
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,
    /// What clients must know: token or password
    #[arg(long, value_name = "KIND")]
    auth: Option<String>,
    /// The password that clients must know
    #[arg(long, value_name = "PASSWORD")]
    password: Option<String>,
    /// Run without gateway.mode=local in the configuration
    #[arg(long)]
    allow_unconfigured: bool,
    /// End the gateway that runs on this folder, and take its place
    #[arg(long)]
    force: bool,
    /// Tell more
    #[arg(long)]
    verbose: bool,
    /// Only off: yabby sets nothing up with Tailscale
    #[arg(long, value_name = "MODE")]
    tailscale: Option<String>,
    #[command(flatten)]
    others: Others,
}

/// What the reference has, and what changes nothing here.
#[derive(Args)]
struct Others {
    #[arg(long, hide = true)]
    tailscale_reset_on_exit: bool,
    #[arg(long, hide = true)]
    claude_cli_logs: bool,
    #[arg(long, hide = true, value_name = "STYLE")]
    ws_log: Option<String>,
    #[arg(long, hide = true)]
    compact: bool,
    #[arg(long, hide = true)]
    raw_stream: bool,
    #[arg(long, hide = true, value_name = "PATH")]
    raw_stream_path: Option<String>,
    #[arg(long, hide = true)]
    reset: bool,
}

impl Others {
    /// The flags that were given for nothing.
    fn given(&self) -> Vec<&'static str> {
        let all = [
            ("--tailscale-reset-on-exit", self.tailscale_reset_on_exit),
            ("--claude-cli-logs", self.claude_cli_logs),
            ("--ws-log", self.ws_log.is_some()),
            ("--compact", self.compact),
            ("--raw-stream", self.raw_stream),
            ("--raw-stream-path", self.raw_stream_path.is_some()),
        ];
        all.into_iter().filter(|(_, given)| *given).map(|(name, _)| name).collect()
    }
}

/// What comes after a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    End,
    Again,
}

pub fn run(setting: &Setting, options: &Options) -> Result<()> {
    options.check()?;
    options.check_environment(setting)?;
    freed_memory::share_few_heaps();
    first::prepare_dev_folder(setting)?;
    let mut config = Arc::new(options.checked(setting)?);
    let _lock = lock(setting, options)?;
    let folder = KnownFolder::at(setting.place.folder.path());
    let telling = logs::gateway::begin(&config, &log_file(&config, &setting.place), options.verbose);
    raise_limits();
    // Heard from the first moment to the last, also while there is no gateway between two of them.
    let mut signals = None;
    let mut proven = None;
    loop {
        // What has its name now is another home.
        folder.check().map_err(|moved| said(&format!("Gateway stopped: {moved}")))?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        telling.follow(&config, &log_file(&config, &setting.place));
        let served = runtime.block_on(async {
            let signals = match &mut signals {
                Some(signals) => signals,
                None => signals.insert(Signals::new()?),
            };
            serve(setting, options, &mut config, &telling, signals).await
        });
        // Stores write their files on the way out.
        runtime.shutdown_timeout(Duration::from_secs(10));
        match (served, proven.take()) {
            (Ok(Next::End), _) => return Ok(()),
            (Ok(Next::Again), _) => {
                let renewed = options.renewed(setting, &config);
                proven = Some(std::mem::replace(&mut config, renewed));
            }
            // Whoever runs already does not end over a configuration that does not work.
            (Err(error), Some(last)) if last != config => {
                tracing::error!("{error:#}; going on with the configuration that was in force before");
                config = last;
            }
            (Err(error), _) => return Err(error),
        }
    }
}

impl Options {
    /// Whether the environment names a port, where the command line does not.
    pub fn check_environment(&self, setting: &Setting) -> Result<()> {
        match self.port {
            Some(_) => Ok(()),
            None => listen::check_variables(&setting.place.environment).map_err(|wrong| said(&wrong)),
        }
    }

    /// Whether the command line makes sense, whatever the configuration says.
    fn check(&self) -> Result<()> {
        let style = self.others.ws_log.as_deref().filter(|_| !self.others.compact);
        if style.is_some_and(|style| !["auto", "full", "compact"].contains(&style)) {
            return Err(said(r#"Invalid --ws-log (use "auto", "full", "compact")"#));
        }
        if let Some(port) = &self.port
            && !matches!(port.parse::<u16>(), Ok(1..))
        {
            return Err(said(&format!("Invalid port: {port} (allowed: a whole number from 1 to 65535)")));
        }
        if self.auth.as_deref().is_some_and(|auth| !["token", "password"].contains(&auth)) {
            return Err(said(r#"Invalid --auth (use "token" or "password")"#));
        }
        match self.tailscale.as_deref() {
            None | Some("off") => {}
            Some(mode @ ("serve" | "funnel")) => {
                return Err(said(&format!(
                    "yabby sets nothing up with Tailscale: leave --tailscale {mode} out, and run `tailscale {mode} PORT` beside it"
                )));
            }
            Some(_) => return Err(said(r#"Invalid --tailscale (use "off", "serve", or "funnel")"#)),
        }
        if self.others.reset {
            return Err(said(
                "yabby deletes nothing by itself: instead of --reset, move the folder away that it works on",
            ));
        }
        for flag in self.others.given() {
            anstream::eprintln!("note: {flag} changes nothing here");
        }
        Ok(())
    }

    /// The configuration to run with, if we may.
    fn checked(&self, setting: &Setting) -> Result<Config> {
        let is_configured = Snapshot::read(&setting.place).exists;
        let mode = setting.config()?.gateway.mode;
        let may = self.allow_unconfigured || first::is_dev(setting);
        if !may && mode != Some(GatewayMode::Local) {
            let command = setting.command("setup");
            return Err(said(&match (is_configured, mode) {
                (false, _) => format!(
                    "Missing config. Run `{command}` or set gateway.mode=local (or pass --allow-unconfigured)."
                ),
                (true, mode) => format!(
                    "Gateway start blocked: set gateway.mode=local (current: {}) or pass --allow-unconfigured.",
                    mode.map_or("unset", GatewayMode::word)
                ),
            }));
        }
        if self.bind.as_deref().is_some_and(|bind| listen::Bind::parse(bind).is_none()) {
            return Err(said(r#"Invalid --bind (use "loopback", "lan", "tailnet", "auto", or "custom")"#));
        }
        Ok(self.applied(setting.config()?))
    }

    /// The configuration for a new beginning: that of the file, or the last one if there is none any more, or none
    /// that can be read.
    fn renewed(&self, setting: &Setting, last: &Arc<Config>) -> Arc<Config> {
        let snapshot = Snapshot::read(&setting.place);
        if let Some(why) = reload::unusable(&snapshot, !self.allow_unconfigured) {
            tracing::warn!("{why}; the last valid one stays in force");
            return last.clone();
        }
        logs::hide(secrets(&setting.place, &snapshot.with_extras(), &snapshot.environment));
        Arc::new(self.applied(snapshot.for_run()))
    }

    /// The configuration with what the command line says.
    fn applied(&self, config: Config) -> Config {
        for problem in config.problems() {
            tracing::warn!("{problem}");
        }
        let wishes = [("token", &self.token), ("password", &self.password), ("mode", &self.auth)];
        wishes.into_iter().fold(config, |config, (name, wish)| match wish {
            Some(wish) => config.with(&KeyPath::of(["gateway", "auth", name]), wish.clone().into()),
            None => config,
        })
    }
}

/// An error as a gateway tells it: with the time, and nothing before it.
fn said(text: &str) -> anyhow::Error {
    Failure::bare(format!("{:.3} {text}", jiff::Timestamp::now())).into()
}

/// Why there is no gateway.
fn not_started(error: &StartError, config: &Config) -> anyhow::Error {
    if let StartError::Listen { address, source } = error
        && source.kind() == std::io::ErrorKind::AddrInUse
    {
        let holder = status::listener_on(address.port());
        let holder = holder.map_or_else(String::new, |(pid, words)| format!("\n- pid {pid}: {words}"));
        return said(&format!(
            "Gateway failed to start: another process listens on {address}\nPort {} is already in use.{holder}\nStop it, or choose another port: --port, or gateway.port in the configuration.",
            address.port()
        ));
    }
    if !matches!(error, StartError::NoToken | StartError::NoPassword) {
        return said(&format!("Gateway failed to start: {error}"));
    }
    let is_elsewhere = config.gateway.remote.token.is_some();
    let hint = is_elsewhere.then_some(
        "\n\"gateway.remote.token\" is for remote CLI calls; it does not enable local gateway auth.",
    );
    said(&format!("{error}{}", hint.unwrap_or_default()))
}

/// One gateway at a time.
fn lock(setting: &Setting, options: &Options) -> Result<GatewayLock> {
    if options.force
        && let Some(pid) = GatewayLock::holder(&setting.place)
    {
        anstream::eprintln!("Ending the gateway that runs (pid {pid}).");
        end_process(pid)?;
    }
    let begun = std::time::Instant::now();
    let taken = loop {
        match GatewayLock::take(&setting.place, Duration::ZERO) {
            // One that serves nobody is about to end, or to start.
            Err(LockError::Held { pid })
                if begun.elapsed() < PATIENCE && !pid.is_some_and(status::serves) =>
            {
                std::thread::sleep(Duration::from_millis(50));
            }
            taken => break taken,
        }
    };
    match taken {
        Ok(lock) => Ok(lock),
        Err(LockError::Held { pid }) => {
            let held = LockError::Held { pid };
            let waited = begun.elapsed().as_millis();
            let stop = setting.command("gateway stop");
            let force = setting.command("gateway --force");
            Err(said(&format!(
                "Gateway failed to start: {held}; lock timeout after {waited}ms\nIf the gateway is supervised, stop it with: {stop}\nTo take its place: {force}"
            )))
        }
        Err(error) => Err(error.into()),
    }
}

/// Asks a process to end, and waits for that.
pub(super) fn end_process(pid: i64) -> Result<()> {
    use rustix::process::{Pid, Signal, kill_process, test_kill_process};
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).context("no such process")?;
    kill_process(pid, Signal::TERM).with_context(|| format!("cannot end process {pid:?}"))?;
    let begun = std::time::Instant::now();
    while test_kill_process(pid).is_ok() && begun.elapsed() < DEADLINE + PATIENCE {
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// Thousands may be connected at once.
fn raise_limits() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::debug!(%error, "the number of open files stays limited");
    }
}

/// Runs until something ends it; leaves behind which configuration was in force then.
async fn serve(
    setting: &Setting,
    options: &Options,
    config: &mut Arc<Config>,
    telling: &Telling,
    signals: &mut Signals,
) -> Result<Next> {
    // Whatever changes from now on is noticed, however long it takes to begin.
    let watching = reload::Watching::begin(setting);
    let wired = Wired::new(setting, Config::clone(config), Kind::Gateway)?;
    for notice in tokio::task::block_in_place(|| wired.notices()) {
        tracing::warn!("{notice}");
    }
    let port = listen::port(options.port.as_deref(), config, &setting.place.environment);
    let bind = listen::Bind::of(options.bind.as_deref(), config);
    let addresses = bind.addresses(config);
    if let Some(shortcoming) = bind.shortcoming(config) {
        tracing::warn!("{shortcoming}");
    }
    if let Some(left) = sentinel::take(&setting.place) {
        let (session, notice) = left.notice(config);
        wired.engine.notice(&session, &notice);
    }
    let parts = Parts {
        engine: wired.engine.clone(),
        config: config.clone(),
        clock: Arc::new(SystemClock),
        place: setting.place.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        memories: Box::new(wired.memories()),
    };
    let (listening, mut restarts) =
        start(parts, &addresses, port).await.map_err(|error| not_started(&error, config))?;
    let scheme = if listen::is_encrypted(config) { "wss" } else { "ws" };
    for address in &listening.addresses {
        tracing::info!("listening on {scheme}://{address} (PID {})", std::process::id());
    }
    let apply = |config: &Arc<Config>| {
        listening.set_config(config.clone());
        telling.follow(config, &log_file(config, &setting.place));
    };
    let sweeping = tokio::spawn(sweep::at_start_and_daily(setting.place.clone()));
    let trimming = tokio::spawn(freed_memory::return_after_peaks());
    let reloading = watching.follow(setting, config, |loaded| options.applied(loaded), apply);
    let wish = tokio::select! {
        next = signals.next() => Wish::Now(next),
        () = reloading => Wish::Anew { delay: Duration::ZERO },
        Some(wish) = restarts.recv() => {
            tracing::info!(reason = %wish.reason, "beginning anew in {} ms", wish.delay.as_millis());
            Wish::Anew { delay: wish.delay }
        }
    };
    let next = match wish {
        Wish::Now(next) => next,
        // Nobody waits for this one: what goes on may come to its end, and be told to whoever asked.
        Wish::Anew { delay } => tokio::select! {
            next = signals.next() => next,
            () = async {
                tokio::time::sleep(delay).await;
                listening.idle(DEADLINE).await;
            } => Next::Again,
        },
    };
    let (reason, back, deadline) = match next {
        Next::End => ("gateway stopping", None, DEADLINE),
        Next::Again => ("gateway restarting", Some(BACK_IN_MS), SHORT_DEADLINE),
    };
    tracing::info!("{reason}");
    sweeping.abort();
    trimming.abort();
    listening.stop(reason, back).await;
    let next = finish(&wired.engine, next, deadline, signals).await;
    wired.close().await;
    Ok(next)
}

/// Why a gateway that ran does not run on.
enum Wish {
    /// Somebody sent a signal.
    Now(Next),
    /// Something changed.
    Anew { delay: Duration },
}

/// Lets turns end, within the deadline; what comes after that, which somebody may change meanwhile.
async fn finish(engine: &Engine, mut next: Next, deadline: Duration, signals: &mut Signals) -> Next {
    let idle = engine.idle(deadline);
    tokio::pin!(idle);
    loop {
        let asked = tokio::select! {
            is_idle = &mut idle => {
                if !is_idle {
                    tracing::warn!("some turns are not over; they go on after the next start");
                }
                return next;
            }
            asked = signals.next() => asked,
        };
        match (next, asked) {
            // Whoever asks twice does not want to wait.
            (Next::End, Next::End) => {
                tracing::warn!("asked to stop twice: turns go on after the next start");
                return next;
            }
            (Next::Again, Next::End) => {
                tracing::info!("gateway stopping");
                next = Next::End;
            }
            (_, Next::Again) => {}
        }
    }
}

/// What others ask of us.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    restart: Signal,
}

impl Signals {
    fn new() -> Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            restart: signal(SignalKind::user_defined1())?,
        })
    }

    async fn next(&mut self) -> Next {
        tokio::select! {
            _ = self.terminate.recv() => Next::End,
            _ = self.interrupt.recv() => Next::End,
            _ = self.restart.recv() => Next::Again,
        }
    }
}
