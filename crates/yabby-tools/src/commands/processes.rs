//! Processes as `/proc` tells of them, and how to end all that come from one.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// A variable that every process of a command has, unless it took care not to.
pub(crate) const MARK: &str = "YABBY_COMMAND";

struct Stat {
    parent: u32,
    session: u32,
    threads: u64,
    started: u64,
    pages: u64,
    is_dead: bool,
    /// Somebody sent it `SIGSTOP`: it does nothing until somebody lets it go on.
    is_stopped: bool,
}

fn stat(pid: u32) -> Option<Stat> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program, in parentheses, may hold anything.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some(Stat {
        is_dead: matches!(fields.first(), Some(&("Z" | "X"))),
        is_stopped: matches!(fields.first(), Some(&("T" | "t"))),
        parent: u32::try_from(number(1)?).ok()?,
        session: u32::try_from(number(3)?).ok()?,
        threads: number(17)?,
        started: number(19)?,
        pages: number(21)?,
    })
}

/// When a process started, in ticks since the machine did. One that ended is gone.
pub(crate) fn started(pid: u32) -> Option<u64> {
    stat(pid).filter(|stat| !stat.is_dead).map(|stat| stat.started)
}

/// Whether the process that started then is there and does nothing, since it was stopped.
pub(crate) fn is_stopped(pid: u32, started: u64) -> bool {
    stat(pid).is_some_and(|stat| stat.started == started && stat.is_stopped)
}

fn all() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Hides what this process was started with, keys for models perhaps, from other processes of its user: from
/// `/proc/<pid>/environ`, debuggers and core dumps. Root sees it all the same.
pub(crate) fn hide_own_secrets() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        #[cfg(target_os = "linux")]
        let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
    });
}

/// How many threads there are of our user.
pub(crate) fn own_threads() -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    let own = rustix::process::getuid().as_raw();
    let is_own = |pid: &u32| fs::metadata(format!("/proc/{pid}")).is_ok_and(|found| found.uid() == own);
    all().filter(is_own).filter_map(stat).map(|stat| stat.threads).sum()
}

/// What the processes below one use.
#[derive(Default)]
pub(crate) struct Family {
    pub(crate) members: Vec<u32>,
    pub(crate) threads: u64,
    pub(crate) memory: u64,
}

/// The living processes below one, however deep.
pub(crate) fn family(root: u32) -> Family {
    let known: HashMap<u32, Stat> = all().filter_map(|pid| Some((pid, stat(pid)?))).collect();
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for (pid, stat) in &known {
        children.entry(stat.parent).or_default().push(*pid);
    }
    let page = rustix::param::page_size() as u64;
    let (mut family, mut open) = (Family::default(), vec![root]);
    while let Some(pid) = open.pop() {
        for child in children.get(&pid).into_iter().flatten() {
            open.push(*child);
            let stat = &known[child];
            if !stat.is_dead {
                family.members.push(*child);
                family.threads += stat.threads;
                family.memory += stat.pages * page;
            }
        }
    }
    family
}

/// Those that belong to a command without a keeper: of its session, or with its mark.
///
/// A number that is in use as that of a session is given to no process. So if there is a process of the
/// keeper's number that is not the keeper, the session is another one, and none of our business.
fn strays(keeper: u32, keeper_started: u64, id: &str) -> Vec<u32> {
    let is_another = stat(keeper).is_some_and(|found| found.started != keeper_started);
    let session = (!is_another && keeper != 0).then_some(keeper);
    let mark = format!("{MARK}={id}");
    let own = std::process::id();
    let is_marked = |pid: u32| {
        let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environ.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
    };
    let belongs = |pid: &u32| match stat(*pid) {
        Some(stat) => !stat.is_dead && (Some(stat.session) == session || is_marked(*pid)),
        None => false,
    };
    all().filter(|pid| *pid != own).filter(belongs).collect()
}

pub(crate) fn send(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        // It may be gone already.
        let _ = kill_process(pid, signal);
    }
}

/// Ends every process below one. Those that were asked get so long to go by themselves.
pub(crate) fn end_family(root: u32, grace: Duration) {
    end_all(|| family(root).members, grace);
}

/// Ends what is left of a command whose keeper was killed, or stopped: then it goes, too, after what it knows of.
pub(crate) fn end_strays(keeper: u32, keeper_started: u64, id: &str) {
    if started(keeper) == Some(keeper_started) {
        end_family(keeper, Duration::ZERO);
        send(keeper, Signal::KILL);
    }
    end_all(|| strays(keeper, keeper_started, id), Duration::ZERO);
}

/// What is left after so long belongs to the kernel: nobody can end a process that waits for a broken disk.
const LONGEST: Duration = Duration::from_secs(20);

fn end_all(find: impl Fn() -> Vec<u32>, grace: Duration) {
    if !grace.is_zero() {
        let asked = find();
        asked.iter().for_each(|pid| send(*pid, Signal::TERM));
        // One that is stopped hears nothing.
        asked.iter().for_each(|pid| send(*pid, Signal::CONT));
        let until = Instant::now() + grace;
        while Instant::now() < until && !find().is_empty() {
            thread::sleep(Duration::from_millis(20));
        }
    }
    let until = Instant::now() + LONGEST;
    // Whoever is the first of a namespace takes all others along; the nearest come first.
    find().iter().take(3).for_each(|pid| send(*pid, Signal::KILL));
    while Instant::now() < until {
        // Whoever is stopped starts no more of them: first all are, then all go.
        let mut stopped = HashSet::new();
        loop {
            let fresh: Vec<u32> = find().into_iter().filter(|pid| !stopped.contains(pid)).collect();
            if fresh.is_empty() || Instant::now() > until {
                break;
            }
            fresh.iter().for_each(|pid| send(*pid, Signal::STOP));
            stopped.extend(fresh);
        }
        if stopped.is_empty() {
            return;
        }
        stopped.iter().for_each(|pid| send(*pid, Signal::KILL));
        thread::sleep(Duration::from_millis(5));
    }
}
