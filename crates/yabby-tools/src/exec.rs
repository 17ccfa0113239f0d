//! `exec`: a command in a shell, within the rules (`leash`) and, if the configuration says so, within walls.

mod permit;
mod place;

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, ChildStdin, Command};
use yabby_domain::config::Config;
use yabby_domain::config::tools::exec::AgentExec;
use yabby_domain::id::AgentId;
use yabby_domain::json::{Object, Value};
use yabby_domain::leash::environment;
use yabby_domain::seam::SessionStore;
use yabby_domain::seam::approvals::ApprovalBook;
use yabby_domain::seam::tool::{Company, Effect, Tool, ToolContext, ToolOutput, ToolSpec};
use yabby_domain::text;
use yabby_domain::untrusted;

use crate::arguments::Arguments;
use crate::commands::job::{BACKGROUND, Job, KEEP_COMMAND};
use crate::commands::record::{End, Record};
use crate::commands::{Kept, Shelf, output, processes, umask};

/// What commands are run with, and what file tools may see beside the workspace.
#[derive(Clone)]
pub struct Leash {
    /// The program that keeps commands: one that asks [`crate::keep_command`] before anything else.
    pub keeper: PathBuf,
    /// The folder of everything, which no confined command sees.
    pub state: PathBuf,
    pub home: PathBuf,
    /// The variables of this process. Few of them are given to commands.
    pub environment: Vec<(String, String)>,
    pub approvals: Arc<dyn ApprovalBook>,
    /// Folders that may be read, such as those of skills.
    pub readable: Vec<PathBuf>,
    /// What the settings of an agent's skills want its commands to know. It may wait for a disk.
    pub skill_variables: SkillVariables,
}

pub type SkillVariables = Arc<dyn Fn(&Config, &AgentId) -> Vec<(String, String)> + Send + Sync>;

impl Leash {
    pub(crate) fn shelf(&self) -> Shelf {
        Shelf::new(self.state.join("commands"))
    }
}

/// More is not shown at once.
pub(crate) const MOST_SHOWN: usize = 40_000;
const MOST_COMMAND: usize = 100_000;

pub(crate) struct Exec {
    pub(crate) leash: Leash,
    pub(crate) sessions: Arc<dyn SessionStore>,
}

#[async_trait]
impl Tool for Exec {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "exec".to_owned(),
            description:
                "Run a shell command. What takes longer than yieldMs goes on in the background; look \
                after it with process. Processes that a command leaves behind are ended with it."
                    .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "command": {"type": "string"},
                    "workdir": {"type": "string", "description": "Where it runs; the workspace if left out"},
                    "env": {"type": "object", "additionalProperties": {"type": "string"}},
                    "yieldMs": {"type": "number", "description": "How long to wait for it (10000)"},
                    "background": {"type": "boolean", "description": "Do not wait for it at all"},
                    "timeout": {"type": "number", "description": "Seconds after which it is killed (1800)"},
                    "pty": {"type": "boolean"},
                    "elevated": {"type": "boolean", "description": "Outside of the sandbox, if that is allowed"},
                    "host": {"type": "string", "description": "sandbox, gateway or node"},
                    "security": {"type": "string", "description": "deny, allowlist or full"},
                    "ask": {"type": "string", "description": "off, on-miss or always"},
                    "node": {"type": "string"},
                },
                "required": ["command"],
            }),
        }
    }

    fn effect(&self) -> Effect {
        Effect::Lasting
    }

    async fn call(&self, arguments: &Object, context: &ToolContext) -> ToolOutput {
        match self.run(Arguments(arguments), context).await {
            Ok(output) => output,
            Err(problem) => ToolOutput::error(&problem),
        }
    }
}

impl Exec {
    async fn run(&self, arguments: Arguments<'_>, context: &ToolContext) -> Result<ToolOutput, String> {
        let command =
            arguments.text("command").and_then(text::non_blank).ok_or("Provide a command to start.")?;
        let command = text::to_outside(command).into_owned();
        if command.contains('\0') {
            return Err("exec denied: a command cannot contain NUL".to_owned());
        }
        if command.len() > MOST_COMMAND {
            return Err("exec denied: the command is longer than 100000 bytes; put it into a file".to_owned());
        }
        let times = Times::of(arguments, context);
        let wanted = environment::wanted(arguments.0.get("env")).map_err(denied)?;
        let first = path_first(&context.config, &context.agent, &self.leash.home.to_string_lossy());
        let environment = environment::environment(self.leash.environment.clone(), &first, &wanted);
        let environment = environment.map_err(denied)?;
        let record =
            self.sessions.get(&context.session_key).await.map_err(|error| denied(error.to_string()))?;
        let record = record.unwrap_or_default();
        let permit = permit::Asking {
            leash: &self.leash,
            context,
            command: &command,
            environment: &environment,
            wanted: &wanted,
        };
        let confinement = permit.confinement()?;
        let rules = permit.rules(arguments, &record, confinement.is_some()).await?;
        let confinement = confinement.filter(|_| rules.confined);
        let among_others = context.company != Company::OwnerAlone;
        if among_others
            && !rules.confined
            && !rules.is_elevated
            && !context.config.runs_among_others(&context.agent)
        {
            return Err(denied(
                "others are in this conversation, and commands that are not confined read what is the owner's; \
                set agents.defaults.sandbox.mode, or tools.exec.amongOthers to allow it",
            ));
        }
        // What skills are given is the owner's: it is neither for others nor for what is walled in.
        let knows_skills = context.sender_is_owner && confinement.is_none();
        let spot = place::Spot::find(arguments.text("workdir"), confinement, context, &self.leash).await?;
        let script = permit.obtain(&rules, &spot.cwd).await?;
        let (shelf, settings) = (self.leash.shelf(), self.leash.skill_variables.clone());
        let (config, agent) = (context.config.clone(), context.agent.clone());
        let (now, keep_for) = (context.now.as_millisecond(), times.keep_for);
        let kept = off_thread(move || {
            shelf.tidy(now, keep_for);
            let given = if knows_skills { settings(&config, &agent) } else { Vec::new() };
            let kept = shelf.begin();
            let failed = |error| format!("exec failed: no folder for the command: {error}");
            Ok((kept.map_err(failed)?, given))
        });
        let (kept, given) = kept.await?;
        let mut environment = environment;
        environment::add_missing(&mut environment, given);
        environment.insert(processes::MARK.to_owned(), kept.id.clone());
        let walls = spot.walls(&kept, &mut environment)?;
        let job = Job {
            id: kept.id.clone(),
            folder: kept.folder.clone(),
            command,
            script,
            cwd: spot.cwd,
            agent: context.agent.as_str().to_owned(),
            session_key: context.session_key.as_str().to_owned(),
            environment,
            timeout_ms: times.limit,
            background: times.wait.is_none(),
            walls,
            umask: umask::found(),
        };
        let note =
            if arguments.flag("pty") { "Note: there is no terminal; pty was ignored.\n\n" } else { "" };
        let begun = Begun::start(&self.leash, &job, kept).await?;
        begun.wait(times.wait, context, note).await
    }
}

pub(crate) fn denied(why: impl std::fmt::Display) -> String {
    format!("exec denied: {why}")
}

/// Does what waits for a disk or a process where it holds nobody up.
pub(crate) async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| Err("exec failed in the middle".to_owned()))
}

fn path_first(config: &Config, agent: &AgentId, home: &str) -> Vec<String> {
    let listed = config.exec(agent).path_prepend.unwrap_or_default();
    let folders = listed.iter().filter_map(|folder| text::non_blank(folder));
    let folders = folders.map(|folder| match text::trim(folder).strip_prefix("~/") {
        Some(below) => format!("{}/{below}", home.trim_end_matches('/')),
        None => text::trim(folder).to_owned(),
    });
    folders.filter(|folder| folder.starts_with('/') && !folder.contains(':')).collect()
}

/// How long things take.
struct Times {
    /// `None` if nobody waits.
    wait: Option<Duration>,
    limit: u64,
    keep_for: i64,
}

impl Times {
    fn of(arguments: Arguments<'_>, context: &ToolContext) -> Self {
        let exec = context.config.exec(&context.agent);
        let wait = arguments.number("yieldMs").unwrap_or_else(|| exec.background_ms());
        let is_limit = |limit: &f64| *limit > 0.0;
        let limit = arguments.number("timeout").filter(is_limit);
        let limit = limit.or_else(|| Some(exec.timeout_sec()).filter(is_limit));
        let limit = limit.unwrap_or_else(|| AgentExec::default().timeout_sec());
        let keep_for = exec.cleanup_ms().clamp(60_000.0, 10_800_000.0);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within bounds")]
        Self {
            wait: (!arguments.flag("background"))
                .then(|| Duration::from_millis(wait.clamp(10.0, 120_000.0) as u64)),
            // A week is for ever.
            limit: (limit.min(604_800.0) * 1000.0) as u64,
            keep_for: keep_for as i64,
        }
    }
}

/// A command that has a keeper. Whoever drops it ends it.
struct Begun {
    kept: Kept,
    keeper: Child,
    lifeline: ChildStdin,
}

impl Begun {
    async fn start(leash: &Leash, job: &Job, kept: Kept) -> Result<Self, String> {
        let failed = |what: &str, error: &dyn std::fmt::Display| format!("exec failed: {what}: {error}");
        processes::hide_own_secrets();
        let mut command = Command::new(&leash.keeper);
        // Whoever looks at the keeper sees nothing that the command does not know.
        command.arg(KEEP_COMMAND).env_clear().envs(&job.environment).current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut keeper = command.spawn().map_err(|error| {
            failed(&format!("the keeper {} cannot be started", leash.keeper.display()), &error)
        })?;
        watch(keeper.id(), &kept.id);
        let mut lifeline = keeper.stdin.take().ok_or("exec failed: the keeper has no input")?;
        let mut line =
            serde_json::to_string(job).map_err(|error| failed("the job cannot be written", &error))?;
        line.push('\n');
        lifeline.write_all(line.as_bytes()).await.map_err(|error| failed("the keeper is gone", &error))?;
        Ok(Self { kept, keeper, lifeline })
    }

    async fn wait(
        mut self,
        longest: Option<Duration>,
        context: &ToolContext,
        note: &str,
    ) -> Result<ToolOutput, String> {
        let ended = match longest {
            Some(longest) => tokio::time::timeout(longest, self.keeper.wait()).await.is_ok(),
            None => false,
        };
        if !ended {
            return self.leave(context, note).await;
        }
        let kept = self.kept;
        let output = off_thread(move || {
            let record = kept.ended();
            let shown = finished(&kept, &record);
            kept.remove();
            Ok(shown)
        });
        let (text, is_error, details) = output.await?;
        let text = format!("{note}{text}");
        let output = if is_error { ToolOutput::error(&text) } else { ToolOutput::text(&text) };
        Ok(ToolOutput { details: Some(details), ..output })
    }

    /// Lets it go on in the background.
    async fn leave(mut self, context: &ToolContext, note: &str) -> Result<ToolOutput, String> {
        let said = self.lifeline.write_all(format!("{BACKGROUND}\n").as_bytes()).await;
        let is_noted = said.is_ok() && self.is_noted().await;
        let Self { kept, mut keeper, lifeline } = self;
        let pid = keeper.id();
        let told = json!({"status": "running", "sessionId": kept.id, "pid": pid, "cwd": kept.record().map(|r| r.cwd)});
        let text = format!(
            "{note}Command still running (session {}, pid {}). Use process (list/poll/log/write/kill/clear/remove) for follow-up.",
            kept.id,
            pid.map_or_else(|| "n/a".to_owned(), |pid| pid.to_string()),
        );
        let notify = context.config.exec(&context.agent).notify_on_exit();
        let (office, session) = (context.office.clone(), context.session_key.clone());
        tokio::spawn(async move {
            // Until it knows that it is alone, it hangs on this.
            let lifeline = if is_noted {
                drop(lifeline);
                None
            } else {
                Some(lifeline)
            };
            let _ = keeper.wait().await;
            drop(lifeline);
            let notice = off_thread(move || {
                let record = kept.ended();
                Ok((notify && kept.announce()).then(|| notice(&kept, &record)))
            });
            if let Ok(Some(notice)) = notice.await {
                office.notice(&session, &notice);
            }
        });
        Ok(ToolOutput { details: Some(told), ..ToolOutput::text(&text) })
    }

    /// Whether the keeper has written down that it is in the background; it does so at once.
    async fn is_noted(&mut self) -> bool {
        for _ in 0..200 {
            if self.kept.record().is_some_and(|record| record.background) {
                return true;
            }
            let pause = tokio::time::timeout(Duration::from_millis(10), self.keeper.wait());
            if pause.await.is_ok() {
                return true;
            }
        }
        false
    }
}

/// How often a keeper is looked at.
const GLANCE: Duration = Duration::from_secs(1);

/// Ends a command whose keeper was stopped: it would not notice that time is up, nor that nobody waits any more. Looks
/// until the keeper is gone, also if the call is given up.
fn watch(keeper: Option<u32>, id: &str) {
    let Some(keeper) = keeper else { return };
    let Some(started) = processes::started(keeper) else { return };
    let id = id.to_owned();
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(GLANCE).await;
            if processes::started(keeper) != Some(started) {
                return;
            }
            if processes::is_stopped(keeper, started) {
                let ended = off_thread(move || {
                    processes::end_strays(keeper, started, &id);
                    Ok(())
                });
                let _ = ended.await;
                return;
            }
        }
    });
}

/// What a command came to: a text, whether it is an error, and the details.
fn finished(kept: &Kept, record: &Record) -> (String, bool, Value) {
    if let Some(why) = &record.refused {
        return (format!("exec failed: {why}"), true, json!({"status": "failed"}));
    }
    let mut text = output::shown(&output::read(&kept.folder, 0), 0, MOST_SHOWN);
    let is_error = record.end != Some(End::Exited) || record.exit_code != Some(0);
    text = match text.trim().is_empty() {
        true => "(no output)".to_owned(),
        false => fenced(&text),
    };
    if record.left_behind > 0 {
        let left = match record.left_behind {
            1 => "A process that it left running was".to_owned(),
            count => format!("{count} processes that it left running were"),
        };
        text.push_str(&format!("\n\n[{left} ended; use background to keep a command running.]"));
    }
    if is_error {
        text.push_str(&format!("\n\n{}", ending(record)));
    }
    let details = json!({
        "status": if is_error { "failed" } else { "completed" },
        "exitCode": record.exit_code,
        "durationMs": record.ended_at.map(|ended| ended - record.started_at),
        "cwd": record.cwd,
    });
    (text, is_error, details)
}

/// What a command wrote: it may be a file or a page that somebody else made.
pub(crate) fn fenced(output: &str) -> String {
    untrusted::fence("a command", output)
}

/// How a command ended, in words.
pub(crate) fn ending(record: &Record) -> String {
    match (record.end, record.exit_code, record.signal) {
        (Some(End::Exited), Some(code), _) => format!("Command exited with code {code}"),
        (Some(End::Exited), None, Some(signal)) => format!("Command was ended by signal {signal}"),
        (Some(end), _, _) => format!("Command {}", end.told()),
        (None, _, _) => "Command still running".to_owned(),
    }
}

/// What the session is told when a command in the background ended.
pub(crate) fn notice(kept: &Kept, record: &Record) -> String {
    let status =
        if record.end == Some(End::Exited) && record.exit_code == Some(0) { "completed" } else { "failed" };
    let label = match (record.end, record.exit_code, record.signal) {
        (Some(End::Exited), Some(code), _) => format!("code {code}"),
        (Some(End::Exited), None, Some(signal)) => format!("signal {signal}"),
        (Some(end), _, _) => end.told().to_owned(),
        (None, _, _) => "?".to_owned(),
    };
    let text = output::shown(&output::read(&kept.folder, 0), 0, MOST_SHOWN);
    let tail = text::collapse_spaces(&text::tail(&text, 400));
    let tail = text::trim(&tail);
    match tail.is_empty() {
        true => format!("Exec {status} ({}, {label})", kept.id),
        false => {
            // Notices are the program's own words, on one line each; these are not.
            let tail = untrusted::fence("the end of its output", tail).replace('\n', " ");
            format!("Exec {status} ({}, {label}) :: {tail}", kept.id)
        }
    }
}
