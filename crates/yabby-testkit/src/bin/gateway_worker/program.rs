//! The gateway that is measured: its configuration, its process, its memory.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};
use serde::Serialize;
use serde_json::json;

use crate::Result;

pub const PORT: u16 = 18_789;
pub const TOKEN: &str = "bench";

/// What both programs are told: the model, and how to be connected to.
pub fn configure(home: &Path, model: SocketAddr) -> Result<()> {
    let cost = json!({"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0});
    let stub = json!({"id": "stub", "name": "stub", "reasoning": false, "input": ["text"], "cost": cost,
        "contextWindow": 1_000_000, "maxTokens": 4096});
    let provider = json!({"baseUrl": format!("http://{model}/v1"), "apiKey": "none",
        "api": "openai-completions", "models": [stub]});
    let config = json!({
        "gateway": {"mode": "local", "port": PORT, "auth": {"mode": "token", "token": TOKEN}},
        "models": {"providers": {"stub": provider}},
        "agents": {"defaults": {
            "model": {"primary": "stub/stub"},
            "workspace": home.join("workspace"),
            "skipBootstrap": true,
        }},
    });
    let state = home.join("state");
    fs::create_dir_all(&state)?;
    fs::create_dir_all(home.join("workspace"))?;
    Ok(fs::write(state.join("openclaw.json"), format!("{config:#}"))?)
}

/// It is killed with everything that it started when this is dropped.
pub struct Program {
    child: Child,
    log: PathBuf,
}

impl Program {
    pub fn start(home: &Path, words: &[String]) -> Result<Self> {
        let [program, arguments @ ..] = words else { return Err("a program is missing".into()) };
        let log = home.join("gateway.log");
        let out = File::create(&log)?;
        let child = Command::new(program)
            .args(arguments)
            // What the reference may leave out: it is neither to ring nor to wake by itself meanwhile.
            .envs([("OPENCLAW_SKIP_CHANNELS", "1"), ("OPENCLAW_SKIP_CRON", "1")])
            .stdin(Stdio::null())
            .stdout(out.try_clone()?)
            .stderr(out)
            .process_group(0)
            .spawn()
            .map_err(|error| format!("{program} cannot be started: {error}"))?;
        Ok(Self { child, log })
    }

    pub fn still_runs(&mut self) -> Result<()> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => Err(format!("the gateway ended with {status}: {}", self.said()).into()),
        }
    }

    fn said(&self) -> String {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(12)..].join("\n")
    }

    /// The memory of all its processes: the reference starts itself a second time, and both stay.
    pub fn memory(&self) -> Result<Memory> {
        let rollups = self.processes()?.into_iter().map(|process| read(&process.join("smaps_rollup")));
        let memory = rollups.map(|rollup| Memory::from_rollup(&rollup)).fold(Memory::default(), Memory::plus);
        if memory.total == 0 { Err("the gateway is gone".into()) } else { Ok(memory) }
    }

    /// How long its threads have kept a processor busy, in seconds.
    pub fn processor_time(&self) -> Result<f64> {
        let mut nanoseconds = 0.0;
        for process in self.processes()? {
            for thread in fs::read_dir(process.join("task")).into_iter().flatten().flatten() {
                let times = read(&thread.path().join("schedstat"));
                let busy = times.split_whitespace().next().and_then(|time| time.parse::<f64>().ok());
                nanoseconds += busy.unwrap_or_default();
            }
        }
        Ok(nanoseconds / 1e9)
    }

    /// How many bytes it has caused to be written to the disk.
    pub fn written(&self) -> Result<u64> {
        let written = |process: &PathBuf| {
            let counts = read(&process.join("io"));
            let line = counts.lines().find_map(|line| line.strip_prefix("write_bytes:"))?;
            line.trim().parse::<u64>().ok()
        };
        Ok(self.processes()?.iter().filter_map(written).sum())
    }

    /// The folders of its processes in `/proc`.
    fn processes(&self) -> Result<Vec<PathBuf>> {
        let folders = fs::read_dir("/proc")?.flatten().map(|folder| folder.path());
        let is_ours = |folder: &PathBuf| group(&read(&folder.join("stat"))) == Some(self.child.id());
        Ok(folders.filter(is_ours).collect())
    }
}

/// A file of `/proc`. Processes end while they are looked at.
fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// The process group in `/proc/<pid>/stat`. The name of a program may hold blanks and brackets.
fn group(stat: &str) -> Option<u32> {
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(2)?.parse().ok()
}

/// Memory in bytes.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Memory {
    /// Anonymous memory: what the program has written to, which the system cannot drop, also where it is swapped out.
    pub anonymous: u64,
    /// With the pages of files, such as its own code. What several processes share counts for each of them in part.
    pub total: u64,
}

impl Memory {
    fn from_rollup(rollup: &str) -> Self {
        let bytes = |name: &str| -> Option<u64> {
            let line = rollup.lines().find_map(|line| line.strip_prefix(name))?;
            let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse().ok()?;
            Some(kilobytes * 1024)
        };
        Self {
            anonymous: bytes("Pss_Anon:").unwrap_or_default() + bytes("SwapPss:").unwrap_or_default(),
            total: bytes("Pss:").unwrap_or_default(),
        }
    }

    fn plus(self, other: Self) -> Self {
        Self { anonymous: self.anonymous + other.anonymous, total: self.total + other.total }
    }

    /// The most of both.
    pub fn max(self, other: Self) -> Self {
        Self { anonymous: self.anonymous.max(other.anonymous), total: self.total.max(other.total) }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(pid, Signal::KILL);
        }
        let _ = self.child.wait();
    }
}
