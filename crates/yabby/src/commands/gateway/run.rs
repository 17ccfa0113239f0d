//! `yabby gateway run`: runs the gateway until somebody stops it (`cli.md` §7).
//!
//! A change of the configuration that cannot be applied while we run, SIGUSR1 and `config.apply` begin everything
//! anew within the same process. Whatever was accepted and is not answered by then goes on afterwards.

mod reload;

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::Args;
use tokio::signal::unix::{Signal, SignalKind, signal};
use yabby_domain::config::Config;
use yabby_domain::json::Value;
use yabby_gateway::{Parts, log_file, start};
use yabby_store::clock::SystemClock;
use yabby_store::config_file::Snapshot;
use yabby_store::files::gateway_lock::{GatewayLock, LockError, PATIENCE};
use yabby_store::files::turns::Kind;

use super::listen;
use crate::failure::Failure;
use crate::logs;
use crate::setting::Setting;
use crate::wire::Wired;

/// How long turns may take to end when we are asked to stop. What goes on then goes on after the next start.
const DEADLINE: Duration = Duration::from_secs(20);
/// The same before a new beginning, which clients wait for.
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
}

/// What comes after a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    End,
    Again,
}

pub fn run(setting: &Setting, options: &Options) -> Result<()> {
    let config = options.checked(setting)?;
    let _lock = lock(setting, options)?;
    logs::gateway::begin(&config, &log_file(&config, &setting.place), options.verbose);
    raise_limits();
    let mut config = config;
    loop {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let next = runtime.block_on(serve(setting, options, config))?;
        // Stores write their files on the way out.
        runtime.shutdown_timeout(Duration::from_secs(10));
        if next == Next::End {
            return Ok(());
        }
        config = options.applied(setting.config()?);
    }
}

impl Options {
    /// The configuration to run with, if we may.
    fn checked(&self, setting: &Setting) -> Result<Config> {
        if let Some(port) = &self.port
            && !matches!(port.parse::<u16>(), Ok(1..))
        {
            return Err(said("Invalid port"));
        }
        if let Some(bind) = &self.bind
            && listen::Bind::parse(bind).is_none()
        {
            return Err(said(r#"Invalid --bind (use "loopback", "lan", "tailnet", "auto", or "custom")"#));
        }
        if let Some(auth) = self.auth.as_deref().filter(|auth| !["token", "password"].contains(auth)) {
            return Err(said(&format!("Invalid --auth {auth:?} (use \"token\" or \"password\")")));
        }
        let is_configured = Snapshot::read(&setting.place).exists;
        let mode = setting.config()?.text(&["gateway", "mode"]).map(str::to_owned);
        if !self.allow_unconfigured && mode.as_deref() != Some("local") {
            let command = setting.command("setup");
            return Err(said(&match (is_configured, mode) {
                (false, _) => format!(
                    "Missing config. Run `{command}` or set gateway.mode=local (or pass --allow-unconfigured)."
                ),
                (true, mode) => format!(
                    "Gateway start blocked: set gateway.mode=local (current: {}) or pass --allow-unconfigured.",
                    mode.as_deref().unwrap_or("unset")
                ),
            }));
        }
        Ok(self.applied(setting.config()?))
    }

    /// The configuration with what the command line says.
    fn applied(&self, config: Config) -> Config {
        let mut root = config.root().clone();
        let wishes = [("token", &self.token), ("password", &self.password), ("mode", &self.auth)];
        for (name, wish) in wishes {
            if let Some(wish) = wish {
                let auth = entry(entry(&mut root, "gateway"), "auth");
                auth[name] = wish.clone().into();
            }
        }
        Config::new(root)
    }
}

fn entry<'v>(value: &'v mut Value, name: &str) -> &'v mut Value {
    if !value.is_object() {
        *value = Value::Object(yabby_domain::json::Object::new());
    }
    &mut value[name]
}

/// An error as a gateway tells it: with the time, and nothing before it.
fn said(text: &str) -> anyhow::Error {
    Failure::bare(format!("{:.3} {text}", jiff::Timestamp::now())).into()
}

/// One gateway at a time.
fn lock(setting: &Setting, options: &Options) -> Result<GatewayLock> {
    if options.force
        && let Some(pid) = GatewayLock::holder(&setting.place)
    {
        anstream::eprintln!("Ending the gateway that runs (pid {pid}).");
        end_process(pid)?;
    }
    match GatewayLock::take(&setting.place, PATIENCE) {
        Ok(lock) => Ok(lock),
        Err(LockError::Held { pid }) => {
            let held = LockError::Held { pid };
            let waited = PATIENCE.as_millis();
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

/// Runs until something ends it.
async fn serve(setting: &Setting, options: &Options, config: Config) -> Result<Next> {
    let mut signals = Signals::new()?;
    let wired = Wired::new(setting, config.clone(), Kind::Gateway)?;
    for notice in tokio::task::block_in_place(|| wired.notices()) {
        tracing::warn!("{notice}");
    }
    let port = listen::port(options.port.as_deref(), &config, &setting.place.environment);
    let bind = listen::Bind::of(options.bind.as_deref(), &config);
    let addresses = bind.addresses();
    let config = Arc::new(config);
    let parts = Parts {
        engine: wired.engine.clone(),
        config: config.clone(),
        clock: Arc::new(SystemClock),
        place: setting.place.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        memories: Box::new(wired.memories()),
    };
    let (listening, mut restarts) = start(parts, &addresses, port)
        .await
        .map_err(|error| said(&format!("Gateway failed to start: {error}")))?;
    for address in &listening.addresses {
        tracing::info!("listening on ws://{address} (PID {})", std::process::id());
    }
    let reloading = reload::watch(setting, config, |loaded| options.applied(loaded), &listening);
    let next = tokio::select! {
        next = signals.next() => next,
        () = reloading => Next::Again,
        Some(wish) = restarts.recv() => {
            tracing::info!(reason = %wish.reason, "beginning anew in {} ms", wish.delay.as_millis());
            tokio::time::sleep(wish.delay).await;
            Next::Again
        }
    };
    let (reason, back, deadline) = match next {
        Next::End => ("gateway stopping", None, DEADLINE),
        Next::Again => ("gateway restarting", Some(BACK_IN_MS), SHORT_DEADLINE),
    };
    tracing::info!("{reason}");
    listening.stop(reason, back).await;
    tokio::select! {
        is_idle = wired.engine.idle(deadline) => if !is_idle {
            tracing::warn!("some turns are not over; they go on after the next start");
        },
        // Whoever asks twice does not want to wait.
        _ = signals.next() => tracing::warn!("asked to stop twice: turns go on after the next start"),
    }
    wired.close().await;
    Ok(next)
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
