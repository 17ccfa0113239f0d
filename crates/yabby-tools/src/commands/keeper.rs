//! The keeper of a command: a process that outlives whoever began it, and that the command does not.
//!
//! It is the leader of a session and adopts what the processes below it leave behind, so that all of them
//! can be found and ended: when somebody says so, when time is up, when they use up too much, and, for a
//! command that somebody waits for, when that one goes away and its end of a pipe with it.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ExitCode, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, WaitOptions};

use super::control::{self, Order};
use super::group::Group;
use super::job::{BACKGROUND, Job, KEEP_COMMAND, Walls};
use super::output;
use super::processes;
use super::record::{End, Record};
use super::walls;

/// More output than this is nobody's to read.
const MOST_OUTPUT: u64 = 256 * 1024 * 1024;
/// How long processes get to go by themselves.
const GRACE: Duration = Duration::from_secs(2);
/// How often a command is looked at: one with limits, and one without.
const LOOK: Duration = Duration::from_millis(100);
const GLANCE: Duration = Duration::from_secs(1);
/// Without limits of its own a command may start so many threads.
const MOST_THREADS: u64 = 20_000;
/// When so little is left of a disk, the command that fills it is ended.
const LEAST_SPACE: u64 = 256 * 1024 * 1024;

/// Keeps a command, if that is what the program was started for; `None` if it was not. To be asked before
/// anything else is done, since a keeper has to be small, and to have no threads when it begins.
pub fn keep_command(arguments: &[OsString]) -> Option<ExitCode> {
    let words: Vec<&str> = arguments.iter().map(|word| word.to_str().unwrap_or_default()).collect();
    match words.as_slice() {
        [KEEP_COMMAND] => Some(match keep() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                complain(&error);
                ExitCode::FAILURE
            }
        }),
        [KEEP_COMMAND, walls::INSIDE, inner] => {
            complain(&walls::become_command(inner));
            Some(ExitCode::from(126))
        }
        _ => None,
    }
}

fn complain(problem: &str) {
    let _ = writeln!(io::stderr(), "{problem}");
}

/// Something that happened.
enum Event {
    /// The command itself ended.
    Ended(ExitStatus),
    /// Whoever began it is gone.
    Alone,
    Background,
    Order(Order),
    TooMuchOutput,
}

fn keep() -> Result<(), String> {
    let mut lifeline = BufReader::new(io::stdin());
    let mut first = String::new();
    lifeline.read_line(&mut first).map_err(|error| error.to_string())?;
    let job: Job = serde_json::from_str(&first).map_err(|error| format!("no job: {error}"))?;
    // Of a group of its own already; then it is no leader of a session yet, but of the group.
    let _ = rustix::process::setsid();
    adopt_orphans()?;
    let signalled = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT, signal_hook::consts::SIGHUP] {
        let _ = signal_hook::flag::register(signal, signalled.clone());
    }
    let mut record = begun(&job);
    let control = control::open(&job.folder).map_err(|error| format!("no control: {error}"))?;
    record.write(&job.folder).map_err(|error| format!("no record: {error}"))?;
    let group = job.walls.inside().and_then(|inside| Group::make(&job.id, inside.processes));
    let ended = match Running::start(&job, lifeline, control, group.as_ref().map(Group::door)) {
        Ok(running) => running.attend(&job, &mut record, &signalled),
        Err(why) => {
            record.refused = Some(why);
            End::Refused
        }
    };
    record.end = Some(ended);
    if let Some(why) = fs::read_to_string(job.folder.join("refused")).ok().filter(|why| !why.is_empty()) {
        record.refused = Some(why);
        record.end = Some(End::Refused);
    }
    record.ended_at = Some(now());
    record.write(&job.folder).map_err(|error| format!("no record: {error}"))?;
    let _ = fs::remove_file(job.folder.join("control"));
    // What only the command needed.
    let _ = fs::remove_dir_all(job.folder.join("tmp"));
    Ok(())
}

#[cfg(target_os = "linux")]
fn adopt_orphans() -> Result<(), String> {
    let own = Some(rustix::process::getpid());
    rustix::process::set_child_subreaper(own).map_err(|error| format!("orphans cannot be adopted: {error}"))
}

#[cfg(not(target_os = "linux"))]
fn adopt_orphans() -> Result<(), String> {
    Err("commands run on Linux only, as yet".to_owned())
}

fn begun(job: &Job) -> Record {
    let pid = std::process::id();
    Record {
        version: 1,
        id: job.id.clone(),
        command: job.command.clone(),
        cwd: job.cwd.to_string_lossy().into_owned(),
        agent: job.agent.clone(),
        session_key: job.session_key.clone(),
        pid,
        pid_started: processes::started(pid).unwrap_or_default(),
        background: job.background,
        confined_by: job.walls.name().map(str::to_owned),
        started_at: now(),
        timeout_ms: job.timeout_ms,
        ..Record::default()
    }
}

fn now() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

struct Running {
    events: Receiver<Event>,
    input: Option<Sender<Order>>,
    written: Arc<AtomicU64>,
    reader: thread::JoinHandle<()>,
}

impl Running {
    fn start(
        job: &Job,
        lifeline: BufReader<io::Stdin>,
        control: File,
        group: Option<PathBuf>,
    ) -> Result<Self, String> {
        let keeper = std::env::current_exe().map_err(|error| error.to_string())?;
        let (output, sink) = io::pipe().map_err(|error| error.to_string())?;
        let mut command = walls::command(job, &keeper, group)?;
        let other_sink = sink.try_clone().map_err(|error| error.to_string())?;
        command.env_clear().envs(&job.environment).stdin(std::process::Stdio::piped());
        command.stdout(sink).stderr(other_sink).process_group(0);
        let mut child = command.spawn().map_err(|error| {
            let program = command.get_program().to_string_lossy().into_owned();
            format!("{program} cannot be run: {error}")
        })?;
        // Its ends of the pipe would keep the pipe open.
        drop(command);
        let (tell, events) = mpsc::channel();
        let written = Arc::new(AtomicU64::new(0));
        let input = child.stdin.take().map(feed);
        bury(child.id(), tell.clone());
        hold(lifeline, tell.clone());
        listen(control, tell.clone());
        let reader = gather(output, &job.folder, written.clone(), tell);
        Ok(Self { events, input, written, reader })
    }

    /// Waits for the end, or brings it about.
    fn attend(mut self, job: &Job, record: &mut Record, signalled: &AtomicBool) -> End {
        let until = Instant::now() + Duration::from_millis(job.timeout_ms);
        let own = std::process::id();
        let had_space = space(&job.cwd);
        let pause = if job.walls.inside().is_some() { LOOK } else { GLANCE };
        let mut next_look = Instant::now() + pause;
        let (end, grace) = loop {
            let wait = until.min(next_look).min(Instant::now() + LOOK);
            match self.events.recv_timeout(wait.saturating_duration_since(Instant::now())) {
                Ok(Event::Ended(status)) => {
                    record.exit_code = status.code();
                    record.signal = status.signal();
                    break (End::Exited, Duration::ZERO);
                }
                Ok(Event::Background) => {
                    record.background = true;
                    let _ = record.write(&job.folder);
                }
                Ok(Event::Alone) if !record.background => break (End::Abandoned, Duration::ZERO),
                Ok(Event::Order(Order::Kill)) => break (End::Killed, GRACE),
                Ok(Event::Order(Order::EndOfInput)) => self.input = None,
                Ok(Event::Order(order)) => {
                    if let Some(input) = &self.input {
                        let _ = input.send(order);
                    }
                }
                Ok(Event::TooMuchOutput) => break (End::TooMuchOutput, Duration::ZERO),
                Ok(Event::Alone) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break (End::Lost, Duration::ZERO),
            }
            if signalled.load(Ordering::Relaxed) {
                break (End::Killed, GRACE);
            }
            if Instant::now() >= until {
                break (End::TimedOut, GRACE);
            }
            if Instant::now() >= next_look {
                if let Some(end) = too_much(job, own, had_space) {
                    break (end, Duration::ZERO);
                }
                next_look = Instant::now() + pause;
            }
        };
        if end == End::Exited {
            record.left_behind = left_behind(job, own);
        }
        processes::end_family(own, grace);
        // Whoever still holds the pipe is none of ours.
        let until = Instant::now() + Duration::from_secs(2);
        while !self.reader.is_finished() && Instant::now() < until {
            thread::sleep(Duration::from_millis(2));
        }
        record.output_bytes = self.written.load(Ordering::Relaxed);
        end
    }
}

/// How many processes a command left. The first one of a namespace goes a moment after its command, and all
/// others with it.
fn left_behind(job: &Job, own: u32) -> usize {
    let longest = if matches!(job.walls, Walls::Bubblewrap(_)) { 500 } else { 0 };
    let until = Instant::now() + Duration::from_millis(longest);
    loop {
        let left = processes::family(own).members.len();
        if left == 0 || Instant::now() >= until {
            return left;
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// What a command uses up that it should not.
fn too_much(job: &Job, own: u32, had_space: Option<u64>) -> Option<End> {
    let family = processes::family(own);
    let inside = job.walls.inside();
    let is_full = |space: u64| space < LEAST_SPACE && had_space.is_some_and(|before| before > LEAST_SPACE);
    match inside {
        _ if family.threads >= inside.map_or(MOST_THREADS, |inside| inside.processes) => {
            Some(End::TooManyProcesses)
        }
        Some(inside) if family.memory > inside.memory => Some(End::TooMuchMemory),
        Some(_) if space(&job.cwd).is_some_and(is_full) => Some(End::DiskFull),
        _ => None,
    }
}

fn space(folder: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(folder).ok()?;
    Some(found.f_bavail.saturating_mul(found.f_frsize))
}

/// Waits for the command, and for what it left behind: a process that nobody waits for stays in the table.
fn bury(child: u32, tell: Sender<Event>) {
    thread::spawn(move || {
        loop {
            match rustix::process::wait(WaitOptions::empty()) {
                Ok(Some((pid, status))) if Some(pid) == Pid::from_raw(child.cast_signed()) => {
                    let _ = tell.send(Event::Ended(ExitStatus::from_raw(status.as_raw())));
                }
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                // Nobody is left; somebody may be adopted yet.
                Err(_) => thread::sleep(Duration::from_millis(20)),
            }
        }
    });
}

/// Holds the pipe to whoever began the command.
fn hold(mut lifeline: BufReader<io::Stdin>, tell: Sender<Event>) {
    thread::spawn(move || {
        let mut line = String::new();
        while matches!(lifeline.read_line(&mut line), Ok(count) if count > 0) {
            if line.trim() == BACKGROUND {
                let _ = tell.send(Event::Background);
            }
            line.clear();
        }
        let _ = tell.send(Event::Alone);
    });
}

fn listen(control: File, tell: Sender<Event>) {
    thread::spawn(move || {
        for line in BufReader::new(control).lines().map_while(Result::ok) {
            if let Some(order) = Order::parse(&line) {
                let _ = tell.send(Event::Order(order));
            }
        }
    });
}

/// Feeds the command, which may be slow to read.
fn feed(mut stdin: ChildStdin) -> Sender<Order> {
    let (send, orders) = mpsc::channel::<Order>();
    thread::spawn(move || {
        while let Ok(Order::Input(bytes)) = orders.recv() {
            if stdin.write_all(&bytes).and_then(|()| stdin.flush()).is_err() {
                return;
            }
        }
    });
    send
}

fn gather(
    mut output: io::PipeReader,
    folder: &Path,
    written: Arc<AtomicU64>,
    tell: Sender<Event>,
) -> thread::JoinHandle<()> {
    let mut writer = output::Writer::new(folder);
    thread::spawn(move || {
        let mut bytes = vec![0; 64 * 1024];
        let mut was_told = false;
        loop {
            match output.read(&mut bytes) {
                Ok(0) => return,
                // A full disk keeps nobody from reading on: a command that cannot write never ends.
                Ok(count) => drop(writer.write(&bytes[..count])),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return,
            }
            written.store(writer.position(), Ordering::Relaxed);
            if writer.position() > MOST_OUTPUT && !was_told {
                was_told = true;
                let _ = tell.send(Event::TooMuchOutput);
            }
        }
    })
}
