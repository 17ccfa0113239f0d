//! `cargo xtask real-systemd`: the gateway as a service of the real systemd, in a user manager of its own.
//!
//! Nothing of it is seen outside: it has its own processes, its own network with nothing but a loopback, its own `/run`
//! and its own home. It needs root, since it mounts, and the packages `systemd` and `dbus-user-session`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::program::{Build, yabby};
use crate::reference::cache;

const UNIT: &str = "yabby-gateway.service";

pub fn run() -> Result<()> {
    let manager = Manager::start(yabby(Build::Quick)?)?;
    installed(&manager)?;
    comes_back(&manager)?;
    stops_and_starts(&manager)?;
    says_why_it_does_not_start(&manager)?;
    uninstalled(&manager)?;
    println!("systemd installed, started, restarted, revived, stopped and removed the gateway");
    Ok(())
}

fn installed(manager: &Manager) -> Result<()> {
    for (setting, value) in [("gateway.mode", "local"), ("gateway.auth.token", "real-systemd")] {
        manager.yabby(&["config", "set", setting, value])?;
    }
    manager.yabby(&["gateway", "install"])?;
    ensure!(manager.asked("is-active") == "active", "it does not run");
    ensure!(manager.asked("is-enabled") == "enabled", "it would not run after the next login");
    let status = manager.yabby(&["gateway", "status"])?;
    for told in ["Service: systemd (enabled)", "Runtime: running", "RPC probe: ok"] {
        ensure!(status.contains(told), "{told} is not told by {status}");
    }
    let health = manager.yabby(&["health"])?;
    ensure!(!health.is_empty(), "nothing is told of its health");
    Ok(())
}

/// After a death that nobody wished for.
fn comes_back(manager: &Manager) -> Result<()> {
    let before = manager.main_pid()?;
    manager.inside(&["kill", "-9", &before]).status()?;
    manager.until("it comes back", || {
        manager.asked("is-active") == "active" && manager.main_pid().is_ok_and(|now| now != before)
    })?;
    manager.until("it answers", || manager.yabby(&["health"]).is_ok())
}

fn stops_and_starts(manager: &Manager) -> Result<()> {
    let before = manager.main_pid()?;
    manager.yabby(&["gateway", "restart"])?;
    ensure!(manager.main_pid()? != before, "it was not restarted");
    manager.yabby(&["gateway", "stop"])?;
    ensure!(manager.asked("is-active") == "inactive", "it was not stopped");
    ensure!(manager.yabby(&["health"]).is_err(), "somebody answers who was stopped");
    manager.yabby(&["gateway", "start"])?;
    manager.yabby(&["health"])?;
    Ok(())
}

fn says_why_it_does_not_start(manager: &Manager) -> Result<()> {
    manager.yabby(&["gateway", "stop"])?;
    let config = manager.home.path().join(".yabby/yabby.json");
    let good = fs::read(&config)?;
    fs::write(&config, "{\"gateway\": {\"port\": \"no number\"}}")?;
    let started = manager.run(&["gateway", "start"])?;
    let told = both(&started);
    ensure!(!started.status.success(), "a gateway that cannot run was said to be started: {told}");
    fs::write(&config, good)?;
    manager.yabby(&["gateway", "start"])?;
    Ok(())
}

fn uninstalled(manager: &Manager) -> Result<()> {
    manager.yabby(&["gateway", "uninstall"])?;
    ensure!(manager.asked("is-active") == "inactive", "it still runs");
    let unit = manager.home.path().join(".config/systemd/user").join(UNIT);
    ensure!(!unit.exists(), "{} is still there", unit.display());
    Ok(())
}

/// A user manager, with whatever it starts. All of it ends when this is dropped.
struct Manager {
    /// Of the first process in its namespaces.
    pid: String,
    holder: Child,
    home: tempfile::TempDir,
    yabby: PathBuf,
}

/// The first process must not be systemd: it would take itself for the manager of the machine.
const FIRST: &str = "
set -e
mount -t tmpfs tmpfs /run
mkdir -p /run/systemd/system /run/user/0
chmod 700 /run/user/0
ip link set lo up
for top in /sys/fs/cgroup/systemd /sys/fs/cgroup; do
    if [ -e $top/cgroup.procs ] && mkdir -p $top/$GROUP; then
        echo 0 > $top/$GROUP/cgroup.procs
        break
    fi
done
/lib/systemd/systemd --user &
wait";

impl Manager {
    fn start(yabby: PathBuf) -> Result<Self> {
        let home = tempfile::Builder::new().prefix("systemd-").tempdir_in(cache()?)?;
        let mut first = Command::new("unshare");
        first.args([
            "--mount",
            "--propagation",
            "private",
            "--net",
            "--pid",
            "--fork",
            "--kill-child",
            "--mount-proc",
        ]);
        first.args(["sh", "-c", FIRST]).stdin(Stdio::null()).stdout(Stdio::null());
        surroundings(&mut first, home.path());
        first.env("GROUP", group());
        let holder = first.spawn().context("unshare was not run; install util-linux")?;
        let mut manager = Self { pid: String::new(), holder, home, yabby };
        let children = format!("/proc/{0}/task/{0}/children", manager.holder.id());
        let begun = Instant::now();
        while manager.pid.is_empty() && begun.elapsed() < Duration::from_secs(5) {
            manager.pid = fs::read_to_string(&children).unwrap_or_default().trim().to_owned();
        }
        let is_there = || {
            let told = manager.inside(&["systemctl", "--user", "is-system-running"]).output();
            told.is_ok_and(|told| said(&told.stdout) == "running")
        };
        manager.until(
            "systemd runs; this needs root, and the packages systemd and dbus-user-session",
            is_there,
        )?;
        Ok(manager)
    }

    /// A program among its processes.
    fn inside(&self, words: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.pid, "--mount", "--net", "--pid", "--"]).args(words);
        surroundings(&mut command, self.home.path());
        command
    }

    fn run(&self, words: &[&str]) -> Result<Output> {
        let mut command = self.inside(&[]);
        command.arg(&self.yabby).args(words);
        command.output().context("yabby was not run")
    }

    /// What one of our commands says, which must succeed.
    fn yabby(&self, words: &[&str]) -> Result<String> {
        let output = self.run(words)?;
        let told = both(&output);
        ensure!(output.status.success(), "yabby {} failed: {told}", words.join(" "));
        Ok(told)
    }

    /// What systemd says of the gateway, in a word.
    fn asked(&self, what: &str) -> String {
        let output = self.inside(&["systemctl", "--user", what, UNIT]).output();
        output.map(|output| said(&output.stdout)).unwrap_or_default()
    }

    fn main_pid(&self) -> Result<String> {
        let words = ["systemctl", "--user", "show", "--property", "MainPID", "--value", UNIT];
        let pid = said(&self.inside(&words).output()?.stdout);
        ensure!(!pid.is_empty() && pid != "0", "systemd knows of no process");
        Ok(pid)
    }

    fn until(&self, what: &str, is_so: impl Fn() -> bool) -> Result<()> {
        let begun = Instant::now();
        while !is_so() {
            ensure!(begun.elapsed() < Duration::from_secs(30), "waited in vain until {what}");
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
        for top in ["/sys/fs/cgroup/systemd", "/sys/fs/cgroup"] {
            remove_groups(&Path::new(top).join(group()));
        }
    }
}

/// What its processes are counted under.
fn group() -> String {
    format!("yabby-real-systemd-{}", std::process::id())
}

/// Removes a control group and those below it; those that still hold somebody stay.
fn remove_groups(group: &Path) {
    for below in fs::read_dir(group).into_iter().flatten().flatten() {
        if below.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_groups(&below.path());
        }
    }
    let _ = fs::remove_dir(group);
}

fn surroundings(command: &mut Command, home: &Path) {
    let path = std::env::var_os("PATH").unwrap_or_default();
    command
        .env_clear()
        .env("PATH", path)
        .env("HOME", home)
        .env("XDG_RUNTIME_DIR", "/run/user/0")
        .env("NO_COLOR", "1");
}

fn said(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

fn both(output: &Output) -> String {
    format!("{}\n{}", said(&output.stdout), said(&output.stderr))
}
