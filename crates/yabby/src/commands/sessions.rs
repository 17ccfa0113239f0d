//! `yabby sessions`: what sessions there are (`cli.md` §2), and what a person can do with one.

mod acting;
mod compact;
mod delete;
mod export;
mod fork;
mod label;
mod reset;
mod undo_compaction;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anstyle::{AnsiColor, Style};
use anyhow::Result;
use clap::{Args, Subcommand, ValueEnum};
use jiff::Timestamp;
use yabby_domain::config::Config;
use yabby_domain::id::AgentId;
use yabby_domain::json::{self, Value};
use yabby_domain::model::{ModelRef, configured_model};
use yabby_domain::session::key::SessionKind;
use yabby_domain::session::row::{KEY_WIDTH, Row, RowDefaults, RowFilter, age_text, newest_first, short_key};
use yabby_domain::text;

use crate::book::{self, Book};
use crate::cli;
use crate::earlier::{self, EarlierConversation};
use crate::failure::{self, Failure};
use crate::setting::Setting;
use crate::terminal;
use crate::wire::models::{default_model, main_folder, offered};

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    list: List,
}

#[derive(Args)]
struct List {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Print more about what is read
    #[arg(long)]
    verbose: bool,
    /// The store to read [default: the one of the agent `main`]
    #[arg(long, value_name = "PATH", conflicts_with = "agent")]
    store: Option<String>,
    /// The agent whose sessions to list; `all` for every agent
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// List earlier conversations as well: what was said before a reset, and what was deleted
    #[arg(long)]
    all: bool,
    /// Only sessions that changed within so many minutes
    #[arg(long, value_name = "MINUTES", allow_hyphen_values = true)]
    active: Option<String>,
    /// Only sessions of this kind; may be given several times
    #[arg(long, value_name = "KIND")]
    kind: Vec<Kind>,
    /// Only sessions with this label
    #[arg(long, value_name = "LABEL")]
    label: Option<String>,
    /// Only sessions with this text in their key, id, names or labels
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
    /// At most so many, the newest first
    #[arg(long, value_name = "COUNT", value_parser = cli::count, allow_negative_numbers = true)]
    limit: Option<usize>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    Direct,
    Group,
    Global,
    Unknown,
}

#[derive(Subcommand)]
enum Command {
    /// Show or change what a session is called
    Label(label::Arguments),
    /// Begin a session anew: an empty conversation under the same key
    Reset(reset::Arguments),
    /// Remove a session; its conversation is kept under another name
    Delete(delete::Arguments),
    /// Shorten a conversation to its last lines; the whole is kept under another name
    Compact(compact::Arguments),
    /// Go back to what the last compaction summarised or dropped; nothing is deleted
    UndoCompaction(undo_compaction::Arguments),
    /// Go on from a conversation in a new session
    Fork(fork::Arguments),
    /// Write a conversation as Markdown or HTML
    Export(export::Arguments),
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    match &arguments.command {
        None => list(setting, &arguments.list),
        Some(Command::Label(arguments)) => label::run(setting, arguments),
        Some(Command::Reset(arguments)) => reset::run(setting, arguments),
        Some(Command::Delete(arguments)) => delete::run(setting, arguments),
        Some(Command::Compact(arguments)) => compact::run(setting, arguments),
        Some(Command::UndoCompaction(arguments)) => undo_compaction::run(setting, arguments),
        Some(Command::Fork(arguments)) => fork::run(setting, arguments),
        Some(Command::Export(arguments)) => export::run(setting, arguments),
    }
}

/// Which session a command is about.
#[derive(Args)]
struct Which {
    /// Its key, its id (or how that begins), or its label
    session: String,
    /// Look only in the sessions of this agent
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
}

impl Which {
    fn find(&self, book: &Book<'_>) -> Result<book::Found> {
        let agent = self.agent.as_deref().map(|agent| book.agent(agent)).transpose()?;
        book.find(&self.session, agent.as_ref())
    }
}

/// The time of a change, as records have it.
#[expect(clippy::cast_precision_loss, reason = "times are exact for 285,000 years")]
fn now() -> f64 {
    Timestamp::now().as_millisecond() as f64
}

/// One store with what is listed of it.
struct Listed {
    path: String,
    rows: Vec<Row>,
    /// `None` if they were not asked for.
    earlier: Option<Vec<EarlierConversation>>,
}

fn list(setting: &Setting, arguments: &List) -> Result<()> {
    let book = Book::open(setting)?;
    let active_minutes = arguments.active.as_deref().map(minutes).transpose()?;
    let filter = RowFilter {
        active_minutes,
        kinds: arguments.kind.iter().map(|kind| kind.of_session()).collect(),
        label: arguments.label.clone(),
        search: arguments.search.clone(),
    };
    let now = Timestamp::now().as_millisecond() as f64;
    let mut listed = Listed { path: String::new(), rows: Vec::new(), earlier: arguments.all.then(Vec::new) };
    let paths = stores(&book, arguments)?;
    let mut unread = Vec::new();
    for path in &paths {
        let rows = match noticed_rows(path) {
            Ok(rows) => rows,
            Err(error) if paths.len() == 1 => return Err(error),
            Err(error) => {
                unread.push(error);
                continue;
            }
        };
        if let Some(earlier) = &mut listed.earlier {
            let mut found = earlier::list(&book::open(path)?, &setting.place.folder.usage())?;
            found.retain(|earlier| is_meant(earlier, &filter, now));
            earlier.extend(found);
        }
        listed.rows.extend(rows.into_iter().filter(|row| filter.keeps(row, now)));
    }
    listed.path = match paths.as_slice() {
        [path] => path.display().to_string(),
        _ => "(multiple)".to_owned(),
    };
    newest_first(&mut listed.rows);
    listed.rows.truncate(arguments.limit.unwrap_or(usize::MAX));
    if let Some(earlier) = &mut listed.earlier {
        earlier.sort_by(|one, other| other.updated_at.total_cmp(&one.updated_at));
        earlier.truncate(arguments.limit.unwrap_or(usize::MAX));
    }
    if arguments.json {
        print_json(&listed, active_minutes, &defaults(book.config()), now)?;
    } else {
        let config = Arc::new(book.config().clone());
        let room = match terminal::width() {
            Some(width) => Room::Terminal(width),
            None if setting.keeps_reference_text() => Room::Reference,
            None => Room::Unbounded,
        };
        let defaults = match room {
            Room::Reference => defaults(&config),
            Room::Terminal(_) | Room::Unbounded => answering_defaults(setting, &config),
        };
        print_text(room, &listed, active_minutes, &defaults, now)?;
    }
    // One agent's damage hides no other's sessions, but nobody should take this for all there are.
    for error in &unread {
        anstream::eprintln!("Error: {}", failure::told(error));
    }
    if unread.is_empty() { Ok(()) } else { Err(Failure::silent().into()) }
}

/// Whether an earlier conversation meets the conditions; it has no labels.
fn is_meant(earlier: &EarlierConversation, filter: &RowFilter, now: f64) -> bool {
    let kind = earlier.key.as_ref().map_or(SessionKind::Unknown, |key| key.kind(None));
    let is_recent = |minutes: f64| now - earlier.updated_at <= minutes * 60_000.0;
    filter.label.is_none()
        && filter.active_minutes.is_none_or(is_recent)
        && (filter.kinds.is_empty() || filter.kinds.contains(&kind))
        && filter.search.as_ref().is_none_or(|wanted| earlier.contains(wanted))
}

fn noticed_rows(path: &Path) -> Result<Vec<Row>> {
    let store = book::open(path)?;
    let rows = book::rows(&store)?;
    for notice in store.notices()? {
        anstream::eprintln!("note: {}", notice.0);
    }
    Ok(rows)
}

fn stores(book: &Book<'_>, arguments: &List) -> Result<Vec<PathBuf>> {
    if let Some(store) = &arguments.store {
        return Ok(vec![book.named_store(store)]);
    }
    let agents = match arguments.agent.as_deref() {
        None => vec![AgentId::default()],
        Some("all") => book.agents()?,
        Some(agent) => vec![book.agent(agent)?],
    };
    let mut paths = Vec::new();
    for path in agents.iter().map(|agent| book.store_path(agent)) {
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    Ok(paths)
}

impl Kind {
    fn of_session(self) -> SessionKind {
        match self {
            Self::Direct => SessionKind::Direct,
            Self::Group => SessionKind::Group,
            Self::Global => SessionKind::Global,
            Self::Unknown => SessionKind::Unknown,
        }
    }
}

fn minutes(raw: &str) -> Result<f64> {
    let minutes = json::leading_integer(raw).filter(|minutes| *minutes > 0.0);
    minutes.ok_or_else(|| Failure::bare("--active must be a positive integer (minutes)").into())
}

/// What a record that says nothing about its model is taken to use.
pub fn defaults(config: &Config) -> RowDefaults {
    const CONTEXT_TOKENS: f64 = 200_000.0;
    let model = configured_model(config, &ModelRef::new("anthropic", "claude-opus-4-5"));
    let stated = config.agents.defaults.context_tokens.map(f64::from);
    RowDefaults { model: model.model, context_tokens: stated.unwrap_or(CONTEXT_TOKENS) }
}

/// The same for people: the model that really answers, which is another one where there is no key for the usual one.
pub fn answering_defaults(setting: &Setting, config: &Arc<Config>) -> RowDefaults {
    let usual = default_model(&setting.place, config);
    let model = configured_model(config, &usual);
    let stated = config.agents.defaults.context_tokens.map(f64::from);
    let offered = offered(&setting.place, config, &main_folder(&setting.place));
    let known = offered.into_iter().find(|offered| offered.model == model);
    #[expect(clippy::cast_precision_loss, reason = "a count of tokens")]
    let window = known.map(|known| known.context_window as f64);
    let context_tokens = stated.or(window).unwrap_or_else(|| defaults(config).context_tokens);
    RowDefaults { model: model.model, context_tokens }
}

fn print_json(listed: &Listed, active_minutes: Option<f64>, defaults: &RowDefaults, now: f64) -> Result<()> {
    /// What is printed at a time.
    const MUCH: usize = 1 << 16;
    let mut text = String::from("{\n  \"path\": ");
    json::push_string(&mut text, &listed.path);
    let minutes = active_minutes.map_or_else(|| "null".to_owned(), json::number_text);
    text.push_str(&format!(
        ",\n  \"count\": {},\n  \"activeMinutes\": {minutes},\n  \"sessions\": [",
        listed.rows.len()
    ));
    // Nothing in JSON can steer a terminal, so it needs no filter.
    let mut out = std::io::stdout().lock();
    for (at, row) in listed.rows.iter().enumerate() {
        text.push_str(if at == 0 { "\n    " } else { ",\n    " });
        json::push_pretty_object(&mut text, &row.members(defaults, now), 2);
        if text.len() > MUCH {
            out.write_all(text.as_bytes())?;
            text.clear();
        }
    }
    text.push_str(if listed.rows.is_empty() { "]" } else { "\n  ]" });
    if let Some(earlier) = &listed.earlier {
        let earlier: Value = earlier.iter().map(|earlier| earlier.to_json(now)).collect();
        let earlier = json::stringify_pretty(&earlier).replace('\n', "\n  ");
        text.push_str(&format!(",\n  \"earlier\": {earlier}"));
    }
    text.push_str("\n}\n");
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

const HEADING: Style = Style::new().bold();
const FAINT: Style = Style::new().dimmed();
const PLAIN: Style = Style::new();

fn print_text(
    room: Room,
    listed: &Listed,
    active_minutes: Option<f64>,
    defaults: &RowDefaults,
    now: f64,
) -> Result<()> {
    let mut out = std::io::BufWriter::new(anstream::stdout().lock());
    writeln!(out, "Session store: {}", terminal::harmless(&listed.path))?;
    writeln!(out, "Sessions listed: {}", listed.rows.len())?;
    if let Some(minutes) = active_minutes {
        writeln!(out, "Filtered to last {minutes} minute(s)")?;
    }
    if listed.rows.is_empty() {
        writeln!(out, "No sessions found.")?;
        print_earlier(&mut out, listed, now)?;
        return Ok(out.flush()?);
    }
    let table = Table::of(&listed.rows, defaults, now, room);
    let heading =
        table.line(["Kind", "Key", "Age", "Model", "Tokens (ctx %)"].map(|name| (name, PLAIN)), "Flags");
    writeln!(out, "{HEADING}{heading}{HEADING:#}")?;
    for (row, cells) in listed.rows.iter().zip(&table.cells) {
        let styles = [
            kind_style(row.kind),
            AnsiColor::Cyan.on_default(),
            FAINT,
            PLAIN,
            fullness_style(row.fullness(defaults)),
        ];
        let cells = std::array::from_fn(|at| (cells[at].as_str(), styles[at]));
        writeln!(out, "{}", table.line(cells, &table.flags(row)))?;
    }
    print_earlier(&mut out, listed, now)?;
    Ok(out.flush()?)
}

fn print_earlier(out: &mut impl std::io::Write, listed: &Listed, now: f64) -> Result<()> {
    let Some(earlier) = &listed.earlier else { return Ok(()) };
    writeln!(out)?;
    writeln!(out, "Earlier conversations: {}", earlier.len())?;
    if earlier.is_empty() {
        return Ok(());
    }
    let rows = earlier.iter().map(|one| {
        let title = one.title.as_deref().unwrap_or_default();
        let title: String = title.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(60).collect();
        [
            one.key.as_ref().map_or("(unknown)", |key| key.as_str()).to_owned(),
            age_text(Some(now - one.updated_at)),
            one.state.as_str().to_owned(),
            one.session_id.clone(),
            title,
        ]
    });
    write!(out, "{}", terminal::table(["Key", "Age", "State", "Id", "Begins with"], rows))?;
    Ok(())
}

/// How much room a line has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    Terminal(usize),
    /// A pipe of our own: as wide as what is in it.
    Unbounded,
    /// A script of the reference counts on its columns.
    Reference,
}

/// What is listed, in columns that are as wide as they need to be; those of the reference where it is expected.
struct Table {
    cells: Vec<[String; 5]>,
    widths: [usize; 5],
    room: Room,
}

impl Table {
    const WIDTHS: [usize; 5] = [6, KEY_WIDTH, 9, 14, 20];

    fn of(rows: &[Row], defaults: &RowDefaults, now: f64, room: Room) -> Self {
        let mut table = Self { cells: Vec::new(), widths: Self::WIDTHS, room };
        let cells = rows.iter().map(|row| {
            let told = [
                row.kind.as_str(),
                row.key.as_str(),
                &age_text(row.age(now)),
                &row.model(defaults),
                &row.tokens_text(defaults),
            ];
            told.map(terminal::harmless)
        });
        table.cells = cells.collect();
        table.widen();
        for (cells, row) in table.cells.iter_mut().zip(rows) {
            if table.widths[1] < terminal::columns(&cells[1]) {
                cells[1] = terminal::harmless(&short_key(row.key.as_str()));
            }
        }
        // No more than is filled.
        if matches!(room, Room::Terminal(_)) {
            let longest = table.cells.iter().map(|cells| terminal::columns(&cells[1])).max().unwrap_or(0);
            table.widths[1] = longest.max(KEY_WIDTH);
        }
        table
    }

    /// Columns hold their longest cell. Whole keys are worth their room, as long as some is left for the flags.
    fn widen(&mut self) {
        const FLAGS: usize = 24;
        if self.room == Room::Reference {
            return;
        }
        for (at, width) in self.widths.iter_mut().enumerate() {
            let longest = self.cells.iter().map(|cells| terminal::columns(&cells[at])).max().unwrap_or(0);
            *width = longest.max(*width);
        }
        let others: usize = self.widths.iter().map(|width| width + 1).sum::<usize>() - self.widths[1];
        self.widths[1] = match self.room {
            Room::Terminal(width) => self.widths[1].min(width.saturating_sub(others + FLAGS).max(KEY_WIDTH)),
            Room::Unbounded | Room::Reference => self.widths[1],
        };
    }

    /// First what the person calls the session; on a terminal, of its id as much as finds it again.
    fn flags(&self, row: &Row) -> String {
        const OF_AN_ID: usize = "id:".len() + 8;
        let labels = if self.room == Room::Reference { Vec::new() } else { row.glance.labels() };
        let named = labels.into_iter().map(|label| format!("\"{label}\""));
        let flags = row.flags().into_iter().map(|flag| match (flag.starts_with("id:"), self.room) {
            (true, Room::Terminal(_)) => flag.chars().take(OF_AN_ID).collect(),
            _ => flag,
        });
        named.chain(flags).collect::<Vec<_>>().join(" ")
    }

    /// Cells in columns; without trailing blanks.
    fn line(&self, cells: [(&str, Style); 5], flags: &str) -> String {
        // The reference counts UTF-16 units; eyes count columns.
        let measure = if self.room == Room::Reference { text::units } else { terminal::columns };
        let mut line = String::new();
        for ((cell, style), width) in cells.into_iter().zip(self.widths) {
            let room = width.saturating_sub(measure(cell));
            line.push_str(&format!("{style}{cell}{style:#}{:room$} ", ""));
        }
        if flags.is_empty() {
            return line.trim_end().to_owned();
        }
        line.push_str(&format!("{FAINT}{}{FAINT:#}", terminal::harmless(flags)));
        line
    }
}

fn kind_style(kind: SessionKind) -> Style {
    match kind {
        SessionKind::Group => AnsiColor::Magenta.on_default(),
        SessionKind::Global => AnsiColor::Yellow.on_default(),
        SessionKind::Direct => PLAIN,
        SessionKind::Unknown => FAINT,
    }
}

fn fullness_style(percent: f64) -> Style {
    match percent {
        full if full >= 95.0 => AnsiColor::Red.on_default(),
        high if high >= 80.0 => AnsiColor::Yellow.on_default(),
        some if some >= 60.0 => AnsiColor::Green.on_default(),
        _ => FAINT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn record() -> impl Strategy<Value = String> {
        let field = "(sessionId|updatedAt|chatType|systemSent|thinkingLevel|totalTokens|inputTokens|model|contextTokens|label|labels)";
        let value = prop_oneof![
            any::<f64>().prop_map(json::number_text),
            "[\\x00-\\x9f漢]{0,8}".prop_map(|text| json::stringify(&text.into())),
            "(null|true|-0|1e999|\\[\"a\",1\\]|\\{\\}|\"\\\\ud83d\")",
        ];
        let member = (field, value).prop_map(|(field, value)| format!("\"{field}\":{value}"));
        prop::collection::vec(member, 0..6).prop_map(|members| format!("{{{}}}", members.join(",")))
    }

    fn store() -> impl Strategy<Value = Vec<u8>> {
        let member = ("[\\x00-\\x9f漢]{0,40}", prop_oneof![4 => record(), 1 => "(null|7|\\[\\]|\\{)"]);
        let member = member.prop_map(|(key, record)| format!("{}:{record}", json::stringify(&key.into())));
        let records =
            prop::collection::vec(member, 0..8).prop_map(|members| format!("{{{}}}", members.join(",")));
        prop_oneof![4 => records.prop_map(String::into_bytes), 1 => prop::collection::vec(any::<u8>(), 0..80)]
    }

    proptest! {
        #[test]
        fn whatever_a_store_holds_can_be_listed(bytes in store(), terminal in prop::option::of(0_usize..200), now in any::<f64>()) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("sessions.json");
            std::fs::write(&path, bytes).unwrap();
            let Ok(mut rows) = book::open(&path).and_then(|store| book::rows(&store)) else { return Ok(()) };
            newest_first(&mut rows);
            let defaults = RowDefaults { model: "m".to_owned(), context_tokens: 200_000.0 };
            let room = terminal.map_or(Room::Reference, Room::Terminal);
            let table = Table::of(&rows, &defaults, now, room);
            for (row, cells) in rows.iter().zip(&table.cells) {
                let cells = cells.each_ref().map(|cell| (cell.as_str(), PLAIN));
                let line = table.line(cells, &table.flags(row));
                prop_assert!(terminal::only_styles(&line), "{line:?}");
                let mut text = String::new();
                json::push_pretty_object(&mut text, &row.members(&defaults, now), 0);
                prop_assert!(json::parse(&text).is_ok(), "{text}");
            }
        }
    }
}
