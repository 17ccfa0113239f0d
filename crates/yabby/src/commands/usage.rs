//! `yabby usage`: what models used and cost, by day, model or session.

mod budget;

use std::io::Write as _;

use anstyle::{AnsiColor, Style};
use anyhow::Result;
use clap::{Args, Subcommand, ValueEnum, value_parser};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde_json::json;
use yabby_domain::id::AgentId;
use yabby_domain::json::{self, Value};
use yabby_domain::ledger::{CallRecord, Filter, Grouping, Row, Totals, rows};
use yabby_domain::reply::usage_line::{dollars, token_count};
use yabby_store::files::ledger;

use crate::book::Book;
use crate::setting::Setting;
use crate::terminal::{self, counted};

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// What to put together
    #[arg(long, value_name = "WHAT", default_value = "day")]
    by: By,
    /// The last so many days, of which today is one
    #[arg(long, value_name = "DAYS", default_value = "30", value_parser = value_parser!(u32).range(1..))]
    days: u32,
    /// From this day on
    #[arg(long, value_name = "DATE", conflicts_with = "days", value_parser = first_day)]
    since: Option<Date>,
    /// Only what this agent used
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// Only what this session used: its key, id or label
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A day that has begun: a date, `today` or `yesterday`.
fn first_day(raw: &str) -> Result<Date, String> {
    let today = jiff::Zoned::now().date();
    let day = match raw.trim().to_lowercase().as_str() {
        "today" => Some(today),
        "yesterday" => today.yesterday().ok(),
        "tomorrow" => return Err("tomorrow is in the future.".to_owned()),
        date => date.parse::<Date>().ok(),
    };
    let day = day.ok_or("It must be a day such as 2026-02-03, today or yesterday.")?;
    // Days begin earlier elsewhere.
    if today.tomorrow().is_ok_and(|tomorrow| day > tomorrow) {
        return Err(format!("{day} is in the future."));
    }
    Ok(day)
}

#[derive(Subcommand)]
enum Command {
    /// Show what may be spent, and change it
    Budget(budget::Arguments),
}

#[derive(Clone, Copy, ValueEnum)]
enum By {
    Day,
    Model,
    Session,
}

impl By {
    fn grouping(self) -> Grouping {
        match self {
            Self::Day => Grouping::Day,
            Self::Model => Grouping::Model,
            Self::Session => Grouping::Session,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Model => "model",
            Self::Session => "session",
        }
    }

    fn heading(self) -> &'static str {
        match self {
            Self::Day => "Day",
            Self::Model => "Model",
            Self::Session => "Session",
        }
    }
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    if let Some(Command::Budget(arguments)) = &arguments.command {
        return budget::run(setting, arguments);
    }
    let zone = TimeZone::system();
    let now = Timestamp::now().as_millisecond();
    let since = arguments.since.unwrap_or_else(|| Filter::first_of(arguments.days, now, &zone));
    let filter = Filter {
        since: Some(since),
        agent: arguments.agent.as_deref().map(|agent| AgentId::normalize(agent).as_str().to_owned()),
        session: arguments.session.as_deref().map(|session| key_of(setting, session)).transpose()?,
    };
    let calls = read(setting, &filter, &zone)?;
    let rows = rows(&calls, arguments.by.grouping(), &zone);
    let report = Report { since, totals: Totals::of(&calls), rows, by: arguments.by };
    if arguments.json { terminal::print_json(&report.json()) } else { report.print(arguments) }
}

/// The key of the session that is meant; one that is gone may still be in the ledger under its key or id.
fn key_of(setting: &Setting, session: &str) -> Result<String> {
    let book = Book::open(setting)?;
    Ok(book.find(session, None).map_or_else(|_| session.to_owned(), |found| found.key.as_str().to_owned()))
}

fn read(setting: &Setting, filter: &Filter, zone: &TimeZone) -> Result<Vec<CallRecord>> {
    let mut calls = Vec::new();
    for month in ledger::find(&setting.place.folder.usage(), filter, zone)? {
        if !month.damaged.is_empty() {
            let file = terminal::harmless(&setting.place.shortened(&month.path));
            let lines = counted(month.damaged.len(), "line");
            anstream::eprintln!("note: {file}: {lines} cannot be read and do not count");
        }
        calls.extend(month.calls);
    }
    Ok(calls)
}

struct Report {
    since: Date,
    totals: Totals,
    rows: Vec<Row>,
    by: By,
}

impl Report {
    fn json(&self) -> Value {
        let rows = self.rows.iter().map(|row| with_totals(json!({"name": row.name}), &row.totals));
        json!({
            "since": self.since.to_string(),
            "by": self.by.as_str(),
            "totals": with_totals(json!({}), &self.totals),
            "rows": rows.collect::<Vec<_>>(),
        })
    }

    fn print(&self, arguments: &Arguments) -> Result<()> {
        let mut out = std::io::BufWriter::new(anstream::stdout().lock());
        let time = match arguments.since {
            Some(day) => format!("since {day}"),
            None => format!("in the last {}", counted(arguments.days as usize, "day")),
        };
        if self.rows.is_empty() {
            writeln!(out, "No model was called {time}.")?;
            return Ok(out.flush()?);
        }
        let Totals { calls, output, unpriced, .. } = self.totals;
        let calls = counted(usize::try_from(calls).unwrap_or(usize::MAX), "call");
        writeln!(
            out,
            "{BOLD}{calls} {time}: {} in{}, {} out, {}{BOLD:#}",
            tokens(self.totals.prompt()),
            self.totals
                .cache_share()
                .map_or_else(String::new, |share| format!(" ({} cached)", percent(share))),
            tokens(output),
            cost(&self.totals),
        )?;
        for line in Table::of(self).lines(terminal::width()) {
            writeln!(out, "{line}")?;
        }
        if unpriced > 0 {
            let unpriced = counted(usize::try_from(unpriced).unwrap_or(usize::MAX), "call");
            writeln!(
                out,
                "{FAINT}{unpriced} without a known price; see models.providers.<id>.models[].cost{FAINT:#}"
            )?;
        }
        Ok(out.flush()?)
    }
}

fn with_totals(mut row: Value, totals: &Totals) -> Value {
    if let (Value::Object(row), Ok(Value::Object(totals))) = (&mut row, serde_json::to_value(totals)) {
        row.extend(totals);
    }
    row["cacheShare"] = totals.cache_share().map_or(Value::Null, json::number);
    row
}

const BOLD: Style = Style::new().bold();
const FAINT: Style = Style::new().dimmed();
const BAR: Style = AnsiColor::Cyan.on_default();

/// The rows in columns: names to the left, numbers to the right.
struct Table {
    cells: Vec<[String; 6]>,
    /// How much of the largest each row is, from 0 to 1.
    shares: Vec<f64>,
}

impl Table {
    fn of(report: &Report) -> Self {
        let heading = [report.by.heading(), "Calls", "In", "Cached", "Out", "Cost"].map(str::to_owned);
        let row = |Row { name, totals }: &Row| {
            [
                terminal::harmless(name),
                totals.calls.to_string(),
                tokens(totals.prompt()),
                totals.cache_share().map_or_else(|| "-".to_owned(), percent),
                tokens(totals.output),
                cost(totals),
            ]
        };
        let cells = std::iter::once(heading).chain(report.rows.iter().map(row)).collect();
        // Where nothing has a price, rows are measured by their tokens.
        #[expect(clippy::cast_precision_loss, reason = "a bar is never that exact")]
        let size = |totals: &Totals| match report.totals.cost > 0.0 {
            true => totals.cost,
            false => totals.tokens() as f64,
        };
        let most = report.rows.iter().map(|row| size(&row.totals)).fold(0.0, f64::max);
        let share = |row: &Row| if most > 0.0 { size(&row.totals) / most } else { 0.0 };
        Self { cells, shares: report.rows.iter().map(share).collect() }
    }

    /// With a bar behind each row, if there is a terminal with room for it.
    fn lines(&self, terminal: Option<usize>) -> Vec<String> {
        const BARS: std::ops::RangeInclusive<usize> = 4..=40;
        const NAME: usize = 20;
        let width =
            |at: usize| self.cells.iter().map(|cells| terminal::columns(&cells[at])).max().unwrap_or(0);
        let mut widths: [usize; 6] = std::array::from_fn(width);
        let numbers: usize = widths[1..].iter().map(|width| width + 2).sum();
        if let Some(terminal) = terminal {
            let room = terminal.saturating_sub(numbers + 2 + BARS.start());
            widths[0] = widths[0].min(room.max(NAME));
        }
        let room = terminal.map_or(0, |terminal| terminal.saturating_sub(widths[0] + numbers + 2));
        let bars = room.min(*BARS.end());
        let mut lines = Vec::new();
        for (at, cells) in self.cells.iter().enumerate() {
            let name = terminal::short(&cells[0], widths[0]);
            let mut line = format!("{name}{:1$}", "", widths[0].saturating_sub(terminal::columns(&name)));
            for (cell, width) in cells.iter().zip(widths).skip(1) {
                line.push_str(&format!("  {cell:>width$}"));
            }
            match at.checked_sub(1).and_then(|row| self.shares.get(row)) {
                None => lines.push(format!("{FAINT}{line}{FAINT:#}")),
                Some(share) if bars >= *BARS.start() => {
                    lines.push(format!("{line}  {BAR}{}{BAR:#}", bar(*share, bars)).trim_end().to_owned());
                }
                Some(_) => lines.push(line),
            }
        }
        lines
    }
}

/// A bar of so many columns at most, to an eighth of one. What is something is seen.
fn bar(share: f64, columns: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a bar of a few columns"
    )]
    let length = (share.clamp(0.0, 1.0) * columns as f64 * 8.0).ceil() as usize;
    format!("{}{}", "█".repeat(length / 8), EIGHTHS[length % 8])
}

#[expect(clippy::cast_precision_loss, reason = "three digits of it are shown")]
fn tokens(count: u64) -> String {
    token_count(count as f64)
}

fn percent(share: f64) -> String {
    format!("{}%", json::fixed(share * 100.0, 0))
}

fn cost(totals: &Totals) -> String {
    match totals.cost {
        _ if totals.unpriced == totals.calls => "?".to_owned(),
        0.0 => "$0".to_owned(),
        little if little < 0.0001 => "<$0.0001".to_owned(),
        cost => dollars(cost),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn amounts_have_as_many_digits_as_they_need() {
        let totals = |cost, unpriced| Totals { calls: 2, cost, unpriced, ..Totals::default() };
        let table = [
            (totals(0.0, 2), "?"),
            (totals(0.0, 1), "$0"),
            (totals(0.000_04, 0), "<$0.0001"),
            (totals(0.0042, 0), "$0.0042"),
            (totals(1.239, 1), "$1.24"),
            (totals(1234.5, 0), "$1234.50"),
        ];
        for (totals, told) in table {
            assert_eq!(cost(&totals), told);
        }
    }

    #[test]
    fn a_bar_is_as_long_as_its_share() {
        let table = [(0.0, ""), (0.000_1, "▏"), (0.5, "██"), (0.53, "██▏"), (1.0, "████"), (7.0, "████")];
        for (share, drawn) in table {
            assert_eq!(bar(share, 4), drawn, "{share}");
        }
    }

    proptest! {
        #[test]
        fn whatever_was_called_fits_the_terminal(
            names in prop::collection::vec("[\\x00-\\x9f漢]{0,40}", 0..5),
            cost in prop::option::of(0.0..1e9),
            width in prop::option::of(0_usize..200),
        ) {
            let call = |name: &String| CallRecord { session_key: name.clone(), cost, input: 7, ..CallRecord::default() };
            let calls: Vec<CallRecord> = names.iter().map(call).collect();
            let report = Report {
                since: Date::MIN,
                totals: Totals::of(&calls),
                rows: rows(&calls, Grouping::Session, &TimeZone::UTC),
                by: By::Session,
            };
            for line in Table::of(&report).lines(width) {
                prop_assert!(terminal::only_styles(&line), "{line:?}");
                let plain = anstream::adapter::strip_str(&line).to_string();
                prop_assert!(width.is_none_or(|width| width < 80 || terminal::columns(&plain) <= width), "{line}");
            }
        }
    }
}
