//! `yabby turns`: which messages were accepted and are not settled, and how far each of them came.

use std::io::Write as _;

use anstyle::{AnsiColor, Style};
use anyhow::Result;
use clap::Args;
use jiff::tz::TimeZone;
use serde_json::json;
use yabby_domain::json::Value;
use yabby_domain::turn::DeliveryState;
use yabby_domain::turn::stage::Stage;
use yabby_domain::zone::{Precision, StampZone};
use yabby_store::files::turns::{JournalLook, TurnLook, look};

use crate::setting::Setting;
use crate::terminal::{self, counted};

#[derive(Args)]
pub struct Arguments {
    /// Also those that are settled and still on file
    #[arg(long)]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A turn, and whose it is.
struct Listed<'j> {
    journal: &'j JournalLook,
    turn: &'j TurnLook,
    stage: Stage,
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    let folder = setting.place.folder.turns();
    let journals = look(&folder)?;
    for journal in journals.iter().filter(|journal| !journal.damaged.is_empty()) {
        let file = terminal::harmless(&setting.place.shortened(&journal.path));
        let lines = counted(journal.damaged.len(), "line");
        anstream::eprintln!("note: {file}: {lines} cannot be read and are skipped");
    }
    let mut turns: Vec<Listed<'_>> = Vec::new();
    for journal in &journals {
        turns.extend(journal.turns.iter().map(|turn| Listed {
            journal,
            turn,
            stage: Stage::of(&turn.id, &turn.progress),
        }));
    }
    turns.retain(|listed| arguments.all || listed.turn.progress.settled.is_none());
    turns.sort_by_key(|listed| listed.turn.progress.accepted_at);
    if arguments.json {
        let rows: Vec<Value> = turns.iter().map(Listed::json).collect();
        return terminal::print_json(&json!({"path": folder, "count": rows.len(), "turns": rows}));
    }
    print(&turns, arguments)
}

impl Listed<'_> {
    fn json(&self) -> Value {
        let TurnLook { id, progress, last_at } = self.turn;
        let JournalLook { path, owner, is_alive, .. } = self.journal;
        let running = progress.tools.iter().filter(|(_, ended)| !**ended).map(|(call, _)| call);
        let deliveries = progress.deliveries.values();
        let sent = deliveries.filter(|state| **state == DeliveryState::Done).count();
        json!({
            "id": id,
            "sessionKey": progress.accepted.session_key,
            "sessionId": progress.opened.as_ref().map(|opened| &opened.session_id),
            "channel": progress.accepted.message.originating_channel,
            "stage": self.stage.as_str(),
            "outcome": progress.settled.map(|outcome| outcome.as_str()),
            "acceptedAt": progress.accepted_at,
            "lastAt": last_at,
            "runningTools": running.collect::<Vec<_>>(),
            "sent": sent,
            "inDoubt": progress.deliveries.len() - sent,
            "process": {"kind": owner.kind.as_str(), "pid": owner.pid, "alive": is_alive},
            "file": path,
        })
    }
}

const HEADING: Style = Style::new().bold();
const FAINT: Style = Style::new().dimmed();
const GONE: Style = AnsiColor::Yellow.on_default();

fn print(turns: &[Listed<'_>], arguments: &Arguments) -> Result<()> {
    /// What a process takes, and the least that is shown of a key.
    const PROCESS: usize = "gateway 1234567, gone".len();
    const KEY: usize = 16;
    let mut out = std::io::BufWriter::new(anstream::stdout().lock());
    if turns.is_empty() {
        let which =
            if arguments.all { "No turn is on file." } else { "Every message that was accepted is settled." };
        writeln!(out, "{which}")?;
        return Ok(out.flush()?);
    }
    let zone = StampZone::Local(TimeZone::system());
    let row = |listed: &Listed<'_>| {
        let progress = &listed.turn.progress;
        let since = zone.stamp(progress.accepted_at, Precision::Minutes).unwrap_or_else(|| "?".to_owned());
        let key = terminal::harmless(&progress.accepted.session_key);
        [since, key, listed.stage.to_string()]
    };
    let rows: Vec<[String; 3]> = turns.iter().map(row).collect();
    let heading = ["Since", "Session", "How far"].map(str::to_owned);
    let width = |at: usize| {
        let widths = rows.iter().chain([&heading]).map(|row| terminal::columns(&row[at]));
        widths.max().unwrap_or(0)
    };
    let mut widths: [usize; 3] = std::array::from_fn(width);
    if let Some(terminal) = terminal::width() {
        let others = widths[0] + widths[2] + 6 + PROCESS;
        widths[1] = widths[1].min(terminal.saturating_sub(others).max(KEY));
    }
    let line = |row: &[String; 3]| {
        let cells = row.iter().zip(widths).map(|(cell, width)| {
            let cell = terminal::short(cell, width);
            let room = width.saturating_sub(terminal::columns(&cell));
            format!("{cell}{:room$}  ", "")
        });
        cells.collect::<String>()
    };
    writeln!(out, "{HEADING}{}Process{HEADING:#}", line(&heading))?;
    for (listed, row) in turns.iter().zip(&rows) {
        let JournalLook { owner, is_alive, .. } = listed.journal;
        let (style, gone) = if *is_alive { (FAINT, "") } else { (GONE, ", gone") };
        writeln!(out, "{}{style}{} {}{gone}{style:#}", line(row), owner.kind, owner.pid)?;
    }
    let is_left = |listed: &&Listed<'_>| !listed.journal.is_alive && listed.turn.progress.settled.is_none();
    let left = turns.iter().filter(is_left).count();
    if left > 0 {
        let left = counted(left, "turn");
        writeln!(out, "{FAINT}{left} without a process; finished when yabby next takes turns.{FAINT:#}")?;
    }
    Ok(out.flush()?)
}
