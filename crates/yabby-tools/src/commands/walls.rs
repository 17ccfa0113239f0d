//! Confinement: what a command finds itself in, by bubblewrap or by Landlock.
//!
//! Between the walls there are the programs of the system to read, the folders of the job, and a `/tmp` of
//! its own; no home folder, no state folder, no other processes (bubblewrap) and, unless it is wanted, no
//! network. Walls that cannot be put up are an error; a command never runs without them instead.

use std::fs;
use std::io::Write as _;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};

use super::job::{Inside, Job, Walls};
use super::system_calls;

/// What of the system a confined command may read.
const SYSTEM: &[&str] =
    &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store", "/gnu/store"];
const SETTINGS: &[&str] = &[
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/group",
    "/etc/host.conf",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/passwd",
    "/etc/pki",
    "/etc/ssl",
];
/// Only with a network.
const NETWORK: &[&str] = &["/etc/hosts", "/etc/resolv.conf", "/etc/gai.conf", "/run/systemd/resolve"];
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// What of `/proc` speaks for the whole machine. To the kernel the files in it are root's, and root in a namespace of its
/// own is root all the same: these can be read, and the next ones not even that.
const PROC_READ_ONLY: &[&str] =
    &["/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/pressure"];
const PROC_HIDDEN: &[&str] = &[
    "/proc/acpi",
    "/proc/asound",
    "/proc/interrupts",
    "/proc/kallsyms",
    "/proc/kcore",
    "/proc/keys",
    "/proc/kmsg",
    "/proc/latency_stats",
    "/proc/mtrr",
    "/proc/sched_debug",
    "/proc/scsi",
    "/proc/timer_list",
];

/// Whom root is in a namespace.
const MAPPED_USER: &str = "1000";

/// The space of a confined `/tmp`, which is memory.
const TMP_BYTES: u64 = 512 * 1024 * 1024;

/// What becomes the command: the last process before the shell reads this and turns into it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Inner {
    /// Where it is noted that the command was not run, and why.
    refused: PathBuf,
    walls: Walls,
    arguments: Vec<String>,
    cwd: PathBuf,
    /// The control group to join.
    group: Option<PathBuf>,
    umask: Option<u32>,
}

/// The word for that process.
pub(crate) const INSIDE: &str = "inside";

/// How the shell is called; nothing of a person's own settings is read.
fn shell(script: &str) -> Vec<String> {
    let start: &[&str] = match Path::new("/bin/bash").exists() {
        true => &["/bin/bash", "--noprofile", "--norc", "-c", "--"],
        false => &["/bin/sh", "-c", "--"],
    };
    start.iter().map(|word| (*word).to_owned()).chain([script.to_owned()]).collect()
}

/// What the keeper starts.
pub(crate) fn command(job: &Job, keeper: &Path, group: Option<PathBuf>) -> Result<Command, String> {
    let refused = job.folder.join("refused");
    let mut arguments = shell(&job.script);
    let mut start: Vec<String> = Vec::new();
    match &job.walls {
        Walls::None => {}
        Walls::Bubblewrap(inside) => arguments = [bubblewrap(inside, job)?, arguments].concat(),
        Walls::Landlock(inside) => start = own_namespaces(inside.has_network),
    }
    let inner =
        Inner { refused, walls: job.walls.clone(), arguments, cwd: job.cwd.clone(), group, umask: job.umask };
    let inner = serde_json::to_string(&inner).map_err(|error| error.to_string())?;
    start.push(keeper.to_string_lossy().into_owned());
    let mut command = Command::new(&start[0]);
    command.args(&start[1..]).args([super::job::KEEP_COMMAND, INSIDE, &inner]);
    Ok(command)
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// What a command is started with that Landlock confines. It knows nothing of UDP: only a network of its own has nobody in
/// it. And root can do more to the machine than it can be kept from, unless it is root of a namespace only.
fn own_namespaces(has_network: bool) -> Vec<String> {
    let needs_one = !has_network || is_root();
    let user = needs_one.then_some(["unshare", "--user", "--map-current-user"]);
    let network = (!has_network).then_some("--net");
    let words = user.into_iter().flatten().chain(network).chain(needs_one.then_some("--"));
    words.map(str::to_owned).collect()
}

fn bubblewrap(inside: &Inside, job: &Job) -> Result<Vec<String>, String> {
    let mut words: Vec<String> = [
        "bwrap",
        "--unshare-user",
        "--unshare-all",
        "--die-with-parent",
        "--new-session",
        "--cap-drop",
        "ALL",
    ]
    .map(str::to_owned)
    .into();
    let mut add = |more: &[&str]| words.extend(more.iter().map(|word| (*word).to_owned()));
    if inside.has_network {
        add(&["--share-net"]);
    }
    if is_root() {
        add(&["--uid", MAPPED_USER, "--gid", MAPPED_USER]);
    }
    for path in SYSTEM {
        match fs::read_link(path) {
            Ok(target) => add(&["--symlink", &target.to_string_lossy(), path]),
            Err(_) => add(&["--ro-bind-try", path, path]),
        }
    }
    let network: &[&str] = if inside.has_network { NETWORK } else { &[] };
    for path in SETTINGS.iter().chain(network) {
        add(&["--ro-bind-try", path, path]);
    }
    let tmp = TMP_BYTES.to_string();
    add(&["--proc", "/proc"]);
    for path in PROC_READ_ONLY.iter().filter(|path| Path::new(path).exists()) {
        add(&["--ro-bind", path, path]);
    }
    for path in PROC_HIDDEN {
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => add(&["--tmpfs", path, "--remount-ro", path]),
            Ok(_) => add(&["--ro-bind", "/dev/null", path]),
            Err(_) => {}
        }
    }
    add(&["--dev", "/dev", "--size", &tmp, "--tmpfs", "/dev/shm", "--remount-ro", "/dev"]);
    add(&["--size", &tmp, "--tmpfs", "/tmp"]);
    let cwd = job.cwd.to_string_lossy();
    // It may be one of which only some entries are there.
    add(&["--dir", &cwd]);
    for (flag, folders) in [("--ro-bind", &inside.readable), ("--bind", &inside.writable)] {
        for folder in folders {
            let folder = folder.to_str().ok_or("the name of the workspace is not UTF-8")?;
            add(&[flag, folder, folder]);
        }
    }
    add(&["--remount-ro", "/", "--setenv", "TMPDIR", "/tmp", "--setenv", "HOME", "/tmp"]);
    add(&["--chdir", &cwd, "--"]);
    Ok(words)
}

/// Turns this process into the command. Comes back only if that is not possible.
pub(crate) fn become_command(written: &str) -> String {
    let inner: Inner = match serde_json::from_str(written) {
        Ok(inner) => inner,
        Err(error) => return format!("cannot read what to run: {error}"),
    };
    let note = fs::OpenOptions::new().create(true).append(true).open(&inner.refused);
    let why = match enter(&inner) {
        Err(why) => why,
        Ok(filter) => {
            super::umask::restore(inner.umask);
            let mut command = Command::new(&inner.arguments[0]);
            if let Some(filter) = &filter {
                command.args(["--seccomp", &filter.as_raw_fd().to_string()]);
            }
            command.args(&inner.arguments[1..]);
            format!("{} cannot be run: {}", inner.arguments[0], command.exec())
        }
    };
    if let Ok(mut note) = note {
        let _ = note.write_all(why.as_bytes());
    }
    why
}

/// Does what comes before the command; the answer is the filter that bubblewrap is given.
fn enter(inner: &Inner) -> Result<Option<OwnedFd>, String> {
    // Whoever kills the keeper takes the shell along.
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    if let Some(group) = &inner.group {
        fs::write(group, "0").map_err(|error| format!("the limits cannot be set: {error}"))?;
    }
    if let Some(inside) = inner.walls.inside() {
        limit(inside)?;
    }
    match &inner.walls {
        // Bubblewrap changes there by itself.
        Walls::Bubblewrap(_) => {}
        Walls::None | Walls::Landlock(_) => std::env::set_current_dir(&inner.cwd)
            .map_err(|error| format!("{} cannot be used: {error}", inner.cwd.display()))?,
    }
    match &inner.walls {
        Walls::None => Ok(None),
        Walls::Bubblewrap(_) => filter_to_read(),
        Walls::Landlock(inside) => landlocked(inside).map(|()| None),
    }
}

/// The filter of system calls, in a pipe that the next program inherits.
fn filter_to_read() -> Result<Option<OwnedFd>, String> {
    let Some(filter) = system_calls::filter() else { return Ok(None) };
    let failed =
        |error: &dyn std::fmt::Display| format!("the filter of system calls cannot be passed on: {error}");
    let (reader, writer) = rustix::pipe::pipe().map_err(|error| failed(&error))?;
    // A pipe holds more than that.
    fs::File::from(writer).write_all(&filter).map_err(|error| failed(&error))?;
    Ok(Some(reader))
}

fn limit(inside: &Inside) -> Result<(), String> {
    // The system counts all threads of a user, those outside, too; more of them may come. The keeper counts
    // for itself, since root is not limited at all.
    let others = super::processes::own_threads() + 256;
    let table = [
        (Resource::Nproc, inside.processes.saturating_add(others)),
        // Many reserve far more than they use; what is used the keeper looks at.
        (Resource::As, inside.memory.saturating_mul(8)),
        (Resource::Fsize, inside.file_size),
        (Resource::Nofile, inside.open_files),
        (Resource::Core, 0),
    ];
    for (resource, limit) in table {
        let most = getrlimit(resource).maximum.map_or(limit, |most| most.min(limit));
        let limits = Rlimit { current: Some(most), maximum: Some(most) };
        setrlimit(resource, limits).map_err(|error| format!("the limits cannot be set: {error}"))?;
    }
    Ok(())
}

#[cfg(target_os = "linux")]
fn landlocked(inside: &Inside) -> Result<(), String> {
    use landlock::{
        ABI, Access as _, AccessFs, AccessNet, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _,
        RulesetCreatedAttr as _, RulesetStatus, Scope, path_beneath_rules,
    };
    let failed = |error: &dyn std::fmt::Display| {
        format!("it cannot be confined with Landlock here: {error}; install bubblewrap")
    };
    let least = ABI::V3;
    let newest = ABI::V6;
    let build = || -> Result<_, landlock::RulesetError> {
        let mut rules = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_all(least))?
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(newest))?
            .scope(Scope::from_all(newest))?;
        if !inside.has_network {
            rules = rules.handle_access(AccessNet::from_all(newest))?;
        }
        let network: &[&str] = if inside.has_network { NETWORK } else { &[] };
        let system = SYSTEM.iter().chain(SETTINGS).chain(network);
        let rules = rules
            .create()?
            .add_rules(path_beneath_rules(system, AccessFs::from_read(newest)))?
            .add_rules(path_beneath_rules(&inside.readable, AccessFs::from_read(newest)))?
            .add_rules(path_beneath_rules(DEVICES, AccessFs::ReadFile | AccessFs::WriteFile))?
            .add_rules(path_beneath_rules(&inside.writable, AccessFs::from_all(newest)))?;
        rules.restrict_self()
    };
    let status = build().map_err(|error| failed(&error))?;
    match status.ruleset {
        RulesetStatus::NotEnforced => Err(failed(&"the kernel does not have it")),
        RulesetStatus::PartiallyEnforced | RulesetStatus::FullyEnforced => Ok(()),
    }
}

#[cfg(not(target_os = "linux"))]
fn landlocked(_: &Inside) -> Result<(), String> {
    Err("there is no Landlock on this system".to_owned())
}

/// Whether bubblewrap works here; if not, why.
pub(crate) fn bubblewrap_works() -> Result<(), String> {
    static FOUND: OnceLock<Result<(), String>> = OnceLock::new();
    let filter = system_calls::filter();
    let filtered: &[&str] = if filter.is_some() { &["--seccomp", "0"] } else { &[] };
    let probe = [
        "--unshare-user",
        "--unshare-all",
        "--die-with-parent",
        "--ro-bind",
        "/",
        "/",
        "--proc",
        "/proc",
        "--ro-bind",
        "/proc/sys",
        "/proc/sys",
        "--",
        "true",
    ];
    let words = [filtered, &probe].concat();
    FOUND.get_or_init(|| works("bwrap", &words, &filter.unwrap_or_default())).clone()
}

/// Whether a command can have the namespaces that Landlock needs.
pub(crate) fn own_namespaces_work(has_network: bool) -> Result<(), String> {
    static FOUND: [OnceLock<Result<(), String>>; 2] = [OnceLock::new(), OnceLock::new()];
    let probe = || {
        let words = own_namespaces(has_network);
        let Some((program, arguments)) = words.split_first() else { return Ok(()) };
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).chain(["true"]).collect();
        works(program, &arguments, &[])
    };
    FOUND[usize::from(has_network)].get_or_init(probe).clone()
}

fn works(program: &str, arguments: &[&str], input: &[u8]) -> Result<(), String> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let made = command.spawn().and_then(|mut running| {
        // One that does not read it says why not.
        let _ = running.stdin.take().map(|mut stdin| stdin.write_all(input));
        running.wait_with_output()
    });
    match made {
        Err(error) => Err(format!("{program}: {error}")),
        Ok(made) if made.status.success() => Ok(()),
        Ok(made) => Err(format!("{program}: {}", String::from_utf8_lossy(&made.stderr).trim())),
    }
}
