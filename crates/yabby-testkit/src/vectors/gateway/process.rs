//! A gateway that runs for one scenario.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

/// How long a gateway may take to open its port.
const START: Duration = Duration::from_secs(90);

/// How gateways are started: ours, or another one.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The program, and what comes before `gateway run`.
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
    /// How long it needs after its port is open; ours is ready then.
    pub settle: Duration,
}

impl Launch {
    pub fn yabby(program: &Path) -> Self {
        Self { program: program.to_owned(), arguments: Vec::new(), settle: Duration::ZERO }
    }

    /// Another program, with its first arguments separated by blanks.
    pub fn foreign(words: &str) -> Self {
        let mut words = words.split_whitespace().map(OsString::from);
        let program = words.next().unwrap_or_default().into();
        // As it was recorded.
        Self { program, arguments: words.collect(), settle: Duration::from_secs(1) }
    }

    /// The folder of the reference's package, where that is what runs.
    pub(super) fn package(&self) -> Option<String> {
        let scripts = self.arguments.iter().map(Path::new);
        let mut scripts = scripts.filter(|path| path.extension().is_some_and(|end| end == "mjs"));
        scripts.next().and_then(Path::parent).map(|folder| folder.display().to_string())
    }

    fn command(&self, home: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).args(["gateway", "run"]);
        command.env_clear().env("HOME", home).env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("TZ", "UTC").env("LANG", "C.UTF-8").current_dir(home).stdin(Stdio::null());
        command
    }
}

/// It is killed with everything that it started when this is dropped.
pub(in crate::vectors) struct Gateway {
    child: Child,
    log: PathBuf,
}

impl Gateway {
    /// Starts a gateway on a home, and waits until it can be connected to.
    pub(in crate::vectors) async fn start<'v>(
        launch: &Launch,
        home: &Path,
        port: u16,
        log: PathBuf,
        environment: impl Iterator<Item = (&'v str, &'v str)>,
    ) -> io::Result<Self> {
        let out = File::create(&log)?;
        let mut command = launch.command(home);
        command.stdout(out.try_clone()?).stderr(out).envs(environment).process_group(0).kill_on_drop(true);
        let child = command.spawn().map_err(|error| {
            io::Error::other(format!("{} cannot be started: {error}", launch.program.display()))
        })?;
        let mut gateway = Self { child, log };
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
            if let Some(status) = gateway.child.try_wait()? {
                return Err(io::Error::other(format!("the gateway ended with {status}: {}", gateway.said())));
            }
            if begun.elapsed() > START {
                return Err(io::Error::other(format!("nobody listens on port {port}: {}", gateway.said())));
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        tokio::time::sleep(launch.settle).await;
        Ok(gateway)
    }

    /// Sends a signal by its name.
    pub(super) fn signal(&self, name: &str) -> Result<(), String> {
        let signal = match name.trim_start_matches("SIG") {
            "TERM" => Signal::TERM,
            "INT" => Signal::INT,
            "HUP" => Signal::HUP,
            "USR1" => Signal::USR1,
            "USR2" => Signal::USR2,
            "KILL" => Signal::KILL,
            other => return Err(format!("{other} is no signal that a gateway is sent")),
        };
        match self.pid() {
            Some(pid) => kill_process(pid, signal).map_err(|error| error.to_string()),
            None => Err("the gateway has ended".to_owned()),
        }
    }

    fn pid(&self) -> Option<Pid> {
        self.child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw)
    }

    /// The end of what it printed.
    pub(in crate::vectors) fn said(&self) -> String {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(12)..].join("\n")
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        if let Some(pid) = self.pid() {
            // Its own group: what it started goes with it.
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }
}
