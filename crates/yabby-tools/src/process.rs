//! `process`: looks after commands that run in the background, also those of an earlier run of the program.

use std::thread;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use rustix::process::Signal;
use serde_json::{Value, json};
use yabby_domain::json::Object;
use yabby_domain::seam::tool::{Company, Effect, Tool, ToolContext, ToolOutput, ToolSpec};
use yabby_domain::text;

use crate::arguments::Arguments;
use crate::commands::control::{self, MOST_INPUT, Order};
use crate::commands::record::{End, Record};
use crate::commands::{Kept, output, processes};
use crate::exec::{Leash, MOST_SHOWN, ending, fenced, notice, off_thread};

pub(crate) struct Process {
    pub(crate) leash: Leash,
}

#[async_trait]
impl Tool for Process {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "process".to_owned(),
            description: "Look after commands in the background: list; poll (new output, and whether it ended); \
                log (offset, limit: lines); write (data, eof); kill; clear (one that ended); remove (kill and clear)."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "action": {
                        "type": "string",
                        "enum": ["list", "poll", "log", "write", "kill", "clear", "remove"],
                    },
                    "sessionId": {"type": "string", "description": "As exec and list tell it; for all but list"},
                    "data": {"type": "string", "description": "For write"},
                    "eof": {"type": "boolean", "description": "For write: nothing more will come"},
                    "offset": {"type": "number", "description": "For log: the first line; the last ones if left out"},
                    "limit": {"type": "number", "description": "For log: how many lines (200)"},
                },
                "required": ["action"],
            }),
        }
    }

    fn effect(&self) -> Effect {
        Effect::Lasting
    }

    async fn call(&self, arguments: &Object, context: &ToolContext) -> ToolOutput {
        let arguments = Arguments(arguments);
        let action = match Action::of(arguments) {
            Ok(action) => action,
            Err(problem) => return ToolOutput::error(&problem),
        };
        let (leash, agent) = (self.leash.clone(), context.agent.as_str().to_owned());
        let id = arguments.text("sessionId").and_then(text::non_blank).map(|id| text::trim(id).to_owned());
        let notify = context.config.exec(&context.agent).notify_on_exit();
        let (office, session) = (context.office.clone(), context.session_key.clone());
        // What others started is none of the business of those who listen here.
        let sees_all = context.company == Company::OwnerAlone;
        let done = off_thread(move || {
            let shelf = leash.shelf();
            let of_agent = |record: &Record| {
                let is_own = sees_all || record.session_key == session.as_str();
                record.agent == agent && record.background && is_own
            };
            if matches!(action, Action::List) {
                let known = shelf.all().into_iter().filter(|(_, record)| of_agent(record));
                let known: Vec<(Kept, Record)> =
                    known.map(|(kept, record)| (kept, record.settled())).collect();
                // Those that ended while nobody was there to tell of it.
                for (kept, record) in known.iter().filter(|(_, record)| record.ended_at.is_some()) {
                    if record.session_key == session.as_str() && notify && kept.announce() {
                        office.notice(&session, &notice(kept, record));
                    }
                }
                return Ok(list(&known));
            }
            let id = id.ok_or("sessionId is required for this action.")?;
            let found = shelf.get(&id).and_then(|kept| Some((kept.record()?.settled(), kept)));
            let (record, kept) = found
                .filter(|(record, _)| of_agent(record))
                .ok_or_else(|| format!("No session found for {id}"))?;
            if record.ended_at.is_some() && matches!(action, Action::Poll | Action::Remove | Action::Clear) {
                // Whoever looks needs no notice any more.
                kept.announce();
            }
            act(&action, &kept, record)
        });
        done.await.unwrap_or_else(|problem| ToolOutput::error(&problem))
    }
}

enum Action {
    List,
    Poll,
    Log { offset: Option<usize>, limit: usize },
    Write { data: Vec<u8>, eof: bool },
    Kill,
    Clear,
    Remove,
}

impl Action {
    fn of(arguments: Arguments<'_>) -> Result<Self, String> {
        Ok(match arguments.required("action")? {
            "list" => Self::List,
            "poll" => Self::Poll,
            "log" => Self::Log {
                offset: arguments.count("offset", 0),
                limit: arguments.count("limit", 1).unwrap_or(200).min(2000),
            },
            "write" => {
                let data = text::to_outside(arguments.text("data").unwrap_or_default()).into_owned();
                Self::Write { data: data.into_bytes(), eof: arguments.flag("eof") }
            }
            "submit" => Self::Write { data: b"\n".to_vec(), eof: false },
            "kill" => Self::Kill,
            "clear" => Self::Clear,
            "remove" => Self::Remove,
            other => return Err(format!("Unknown action {other}")),
        })
    }
}

fn act(action: &Action, kept: &Kept, record: Record) -> Result<ToolOutput, String> {
    match action {
        Action::List => Ok(list(&[])),
        Action::Poll => Ok(poll(kept, &record)),
        Action::Log { offset, limit } => Ok(log(kept, &record, *offset, *limit)),
        Action::Write { data, eof } => write(kept, &record, data, *eof),
        Action::Kill if record.end.is_some() && record.end != Some(End::Lost) => {
            Err(format!("Session {} is not running; {}.", kept.id, lowered(&ending(&record))))
        }
        Action::Kill => {
            let record = kill(kept);
            Ok(said(&format!("Killed session {}.", kept.id), kept, &record))
        }
        Action::Clear if record.end.is_none() => {
            Err(format!("Session {} is still running; kill it, or use remove.", kept.id))
        }
        Action::Clear => {
            kept.ended();
            kept.remove();
            Ok(ToolOutput::text(&format!("Cleared session {}.", kept.id)))
        }
        Action::Remove => {
            kill(kept);
            kept.remove();
            Ok(ToolOutput::text(&format!("Removed session {}.", kept.id)))
        }
    }
}

fn lowered(ending: &str) -> String {
    ending.replacen("Command", "the command", 1)
}

fn status(record: &Record) -> &'static str {
    match (record.end, record.exit_code) {
        (None, _) => "running",
        (Some(End::Exited), Some(0)) => "completed",
        (Some(_), _) => "failed",
    }
}

fn said(text: &str, kept: &Kept, record: &Record) -> ToolOutput {
    let details = json!({
        "status": status(record),
        "sessionId": kept.id,
        "exitCode": record.exit_code,
        "exitSignal": record.signal,
    });
    ToolOutput { details: Some(details), ..ToolOutput::text(text) }
}

fn list(known: &[(Kept, Record)]) -> ToolOutput {
    let now = jiff::Timestamp::now().as_millisecond();
    let line = |(kept, record): &(Kept, Record)| {
        let seconds = (record.ended_at.unwrap_or(now) - record.started_at) / 1000;
        let name: String = text::collapse_spaces(&record.command).chars().take(80).collect();
        format!("{} {:<9} {seconds}s :: {name}", kept.id, status(record))
    };
    let details = |(kept, record): &(Kept, Record)| {
        json!({
            "sessionId": kept.id,
            "status": status(record),
            "pid": record.pid,
            "startedAt": record.started_at,
            "endedAt": record.ended_at,
            "cwd": record.cwd,
            "command": record.command,
            "exitCode": record.exit_code,
        })
    };
    let lines: Vec<String> = known.iter().map(line).collect();
    let text = if lines.is_empty() { "No running or recent sessions.".to_owned() } else { lines.join("\n") };
    let sessions: Vec<Value> = known.iter().map(details).collect();
    let details = json!({"status": "completed", "sessions": sessions});
    ToolOutput { details: Some(details), ..ToolOutput::text(&text) }
}

fn poll(kept: &Kept, record: &Record) -> ToolOutput {
    let from = kept.told();
    let parts = output::read(&kept.folder, from);
    kept.set_told(output::end(&parts, from));
    let fresh = output::shown(&parts, from, MOST_SHOWN);
    let fresh = match fresh.trim().is_empty() {
        true => "(no new output)".to_owned(),
        false => fenced(fresh.trim_end()),
    };
    let state = match record.end {
        None => "Process still running.".to_owned(),
        Some(_) => format!("{}.", ending(record).replacen("Command", "Process", 1)),
    };
    let refused = record.refused.as_deref().map(|why| format!(" {why}")).unwrap_or_default();
    said(&format!("{fresh}\n\n{state}{refused}"), kept, record)
}

fn log(kept: &Kept, record: &Record, offset: Option<usize>, limit: usize) -> ToolOutput {
    let text = output::shown(&output::read(&kept.folder, 0), 0, usize::MAX);
    let lines: Vec<&str> = text.lines().collect();
    let first = offset.unwrap_or_else(|| lines.len().saturating_sub(limit)).min(lines.len());
    let chosen = &lines[first..(first + limit).min(lines.len())];
    let shown = output::shortened(&chosen.join("\n"), MOST_SHOWN);
    let shown = if shown.is_empty() { "(no output)".to_owned() } else { fenced(&shown) };
    let place = format!("[lines {}-{} of {}]", first + 1, first + chosen.len(), lines.len());
    said(&format!("{shown}\n\n{place}"), kept, record)
}

fn write(kept: &Kept, record: &Record, data: &[u8], eof: bool) -> Result<ToolOutput, String> {
    if record.end.is_some() {
        return Err(format!("Session {} is not running.", kept.id));
    }
    let failed = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::WouldBlock => format!("Session {} does not read its input.", kept.id),
        _ => format!("Session {} cannot be reached: {error}", kept.id),
    };
    for piece in data.chunks(MOST_INPUT) {
        control::send(&kept.folder, &Order::Input(piece.to_vec())).map_err(failed)?;
    }
    if eof {
        control::send(&kept.folder, &Order::EndOfInput).map_err(failed)?;
    }
    let ended = if eof { " (stdin closed)" } else { "" };
    Ok(said(&format!("Wrote {} bytes to session {}{ended}.", data.len(), kept.id), kept, record))
}

/// Ends a command and everything that it started; its record.
fn kill(kept: &Kept) -> Record {
    let is_running = || kept.record().is_some_and(|record| record.is_running());
    let wait = |longest: u64| {
        let until = Instant::now() + Duration::from_secs(longest);
        while is_running() && Instant::now() < until {
            thread::sleep(Duration::from_millis(20));
        }
        !is_running()
    };
    if control::send(&kept.folder, &Order::Kill).is_err() || !wait(25) {
        for signal in [Signal::TERM, Signal::KILL] {
            if let Some(record) = kept.record().filter(Record::is_running) {
                processes::send(record.pid, signal);
            }
            if wait(5) {
                break;
            }
        }
    }
    kept.ended()
}
