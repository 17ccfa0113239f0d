//! `yabby usage budget`: what may be spent in a day, in a session, by a sender.

use std::collections::HashSet;
use std::io::Write as _;

use anyhow::{Result, anyhow};
use clap::{Args, Subcommand, ValueEnum};
use indexmap::IndexMap;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde_json::json;
use yabby_domain::budget::{Amount, Budgets, Limit};
use yabby_domain::json::{self, Value};
use yabby_domain::ledger::{CallRecord, Filter, Totals, day};
use yabby_domain::reply::usage_line::dollars;
use yabby_store::disk::LocalDisk;
use yabby_store::files::ledger::budget;

use super::{FAINT, cost, percent, read, tokens};
use crate::setting::Setting;
use crate::terminal;

#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  yabby usage budget\n  yabby usage budget set day 5\n  yabby usage budget set session 200k tokens\n  yabby usage budget clear sender"
)]
pub struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Subcommand)]
enum Command {
    /// Allow no more than this
    #[command(
        after_help = "Examples:\n  yabby usage budget set day 5\n  yabby usage budget set sender '$0.50'\n  yabby usage budget set session 200k tokens"
    )]
    Set {
        scope: Scope,
        /// Dollars (5, $5, 5usd) or tokens (200000tokens, 200k tokens)
        #[arg(required = true, allow_hyphen_values = true)]
        amount: Vec<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Allow anything again
    #[command(after_help = "Examples:\n  yabby usage budget clear\n  yabby usage budget clear day")]
    Clear {
        /// Only this one
        scope: Option<Scope>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Clone, Copy, ValueEnum)]
enum Scope {
    /// By everybody, from midnight to midnight
    Day,
    /// In one session, from its beginning to its reset
    Session,
    /// By one sender in a day
    Sender,
}

impl Scope {
    const ALL: [Self; 3] = [Self::Day, Self::Session, Self::Sender];

    fn as_str(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Session => "session",
            Self::Sender => "sender",
        }
    }

    fn of(self, budgets: &mut Budgets) -> &mut Option<Limit> {
        match self {
            Self::Day => &mut budgets.day,
            Self::Session => &mut budgets.session,
            Self::Sender => &mut budgets.sender,
        }
    }
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    let folder = setting.place.folder.usage();
    let as_json = match &arguments.command {
        None => arguments.json,
        Some(Command::Set { scope, amount, json }) => {
            let amount = Amount::parse(&amount.join(" ")).map_err(|why| anyhow!("{why}"))?;
            budget::update(&folder, &LocalDisk, |budgets| {
                let limit = scope.of(budgets);
                *limit = Some(limit.unwrap_or_default().with(amount));
            })?;
            *json
        }
        Some(Command::Clear { scope: None, json }) => {
            // A file that cannot be read refuses every call: this must be a way out.
            budget::clear(&folder, &LocalDisk)?;
            *json
        }
        Some(Command::Clear { scope: Some(scope), json }) => {
            budget::update(&folder, &LocalDisk, |budgets| *scope.of(budgets) = None)?;
            *json
        }
    };
    let mut budgets = budget::read(&folder)?;
    let zone = TimeZone::system();
    let today = day(Timestamp::now().as_millisecond(), &zone);
    let spent =
        Spent::of(&read(setting, &Filter { since: None, agent: None, session: None }, &zone)?, today, &zone);
    if as_json {
        return terminal::print_json(&spent.json(&budgets, today));
    }
    let mut out = anstream::stdout().lock();
    for line in Scope::ALL.into_iter().flat_map(|scope| spent.lines(scope, *scope.of(&mut budgets))) {
        writeln!(out, "{line}")?;
    }
    if budgets.is_empty() {
        let command = setting.command("usage budget set day 5");
        writeln!(out, "{FAINT}Nothing is limited; `{command}` allows $5 a day.{FAINT:#}")?;
    }
    Ok(())
}

/// What was spent, as far as budgets are concerned.
struct Spent {
    day: Totals,
    /// Those in which something was said today, with all that they took since they began.
    sessions: Vec<(String, Totals)>,
    /// Of today.
    senders: Vec<(String, Totals)>,
}

impl Spent {
    fn of(calls: &[CallRecord], today: Date, zone: &TimeZone) -> Self {
        let is_today = |call: &&CallRecord| day(call.at, zone) == today;
        let mut sessions: IndexMap<&str, (String, Totals)> = IndexMap::new();
        for call in calls {
            let name = || (call.session_key.clone(), Totals::default());
            sessions.entry(&call.session_id).or_insert_with(name).1.add(call);
        }
        let mut senders: IndexMap<String, Totals> = IndexMap::new();
        for call in calls.iter().filter(is_today) {
            if let Some(sender) = &call.sender {
                senders.entry(sender.clone()).or_default().add(call);
            }
        }
        let live: HashSet<&str> =
            calls.iter().filter(is_today).map(|call| call.session_id.as_str()).collect();
        let sessions = sessions.into_iter().filter(|(id, _)| live.contains(id)).map(|(_, spent)| spent);
        Self {
            day: Totals::of(calls.iter().filter(is_today)),
            sessions: dearest_first(sessions.collect()),
            senders: dearest_first(senders.into_iter().collect()),
        }
    }

    fn lines(&self, scope: Scope, limit: Option<Limit>) -> Vec<String> {
        /// More than these are in the JSON.
        const MOST: usize = 5;
        let mut lines =
            vec![format!("{:8}{}", scope.as_str(), limit.map_or_else(|| "no limit".to_owned(), told))];
        let of = |spent: &Totals| match limit {
            Some(limit) => format!(" ({})", percent(limit.share(spent))),
            None => String::new(),
        };
        let amount =
            |spent: &Totals| format!("{}, {} tokens{}", cost(spent), tokens(spent.tokens()), of(spent));
        match scope {
            Scope::Day if self.day.calls == 0 => lines.push("  nothing spent today".to_owned()),
            Scope::Day => lines.push(format!("  spent today: {}", amount(&self.day))),
            Scope::Session | Scope::Sender => {
                let all = if matches!(scope, Scope::Session) { &self.sessions } else { &self.senders };
                let line = |(name, spent): &(String, Totals)| {
                    format!("  {}: {}", terminal::harmless(name), amount(spent))
                };
                lines.extend(all.iter().take(MOST).map(line));
            }
        }
        lines
    }

    fn json(&self, budgets: &Budgets, today: Date) -> Value {
        let amounts = |spent: &Totals, limit: &Option<Limit>| {
            json!({
                "calls": spent.calls,
                "dollars": json::number(spent.cost),
                "tokens": spent.tokens(),
                "unpriced": spent.unpriced,
                "share": limit.map(|limit| limit.share(spent)),
            })
        };
        let named = |all: &[(String, Totals)], limit: &Option<Limit>| -> Vec<Value> {
            let row = |(name, spent): &(String, Totals)| {
                let mut row = amounts(spent, limit);
                row["name"] = name.as_str().into();
                row
            };
            all.iter().map(row).collect()
        };
        json!({
            "budgets": budgets,
            "today": today.to_string(),
            "spent": {
                "day": amounts(&self.day, &budgets.day),
                "sessions": named(&self.sessions, &budgets.session),
                "senders": named(&self.senders, &budgets.sender),
            },
        })
    }
}

fn dearest_first(mut all: Vec<(String, Totals)>) -> Vec<(String, Totals)> {
    let size = |totals: &Totals| (totals.cost, totals.tokens());
    all.sort_by(|(_, one), (_, other)| {
        size(other).partial_cmp(&size(one)).unwrap_or(std::cmp::Ordering::Equal)
    });
    all
}

/// `$5.00 or 200k tokens`
fn told(limit: Limit) -> String {
    let money = limit.dollars.map(dollars);
    let count = limit.tokens.map(|count| format!("{} tokens", tokens(count)));
    let both: Vec<String> = money.into_iter().chain(count).collect();
    if both.is_empty() { "no limit".to_owned() } else { both.join(" or ") }
}
