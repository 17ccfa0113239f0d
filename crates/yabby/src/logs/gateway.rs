//! The log of a gateway: lines for people on standard output, and JSON lines in a file, which OpenClaw's `logs`
//! reads, too (`cli.md` §7, §15). The file begins anew when it is large; its last versions stay beside it.

use std::fmt::Write as _;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::json;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer, reload};
use yabby_domain::config::Config;
use yabby_domain::config::logging::LogLevel;
use yabby_domain::json;

use super::redacted;

/// How large the file may become.
const LARGEST: u64 = 10 * 1024 * 1024;
/// How many earlier files are kept.
const KEPT: usize = 5;

/// What is told, and where, which may change while we run.
pub struct Telling {
    verbose: bool,
    file: Arc<LogFile>,
    in_file: Change,
    on_console: Change,
}

/// Puts another filter in place of the one that is there.
type Change = Box<dyn Fn(Targets)>;

/// Begins to tell, on the console and in this file.
pub fn begin(config: &Config, file: &Path, verbose: bool) -> Telling {
    let log = Arc::new(LogFile::new(file));
    let levels = Levels::of(config, verbose);
    let (on_console, console) = reload::Layer::new(ours(levels.on_console));
    let (in_file, filed) = reload::Layer::new(ours(levels.in_file));
    let told = tracing_subscriber::registry()
        .with(Console.with_filter(on_console))
        .with(Filed(log.clone()).with_filter(in_file));
    // A second attempt changes nothing.
    let _ = told.try_init();
    Telling {
        verbose,
        file: log,
        // Whoever lets go of the log has nothing to change any more.
        in_file: Box::new(move |filter| drop(filed.reload(filter))),
        on_console: Box::new(move |filter| drop(console.reload(filter))),
    }
}

impl Telling {
    /// From now on, as this configuration says.
    pub fn follow(&self, config: &Config, file: &Path) {
        let levels = Levels::of(config, self.verbose);
        (self.on_console)(ours(levels.on_console));
        (self.in_file)(ours(levels.in_file));
        self.file.move_to(file);
    }
}

/// How much is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Levels {
    in_file: LevelFilter,
    on_console: LevelFilter,
}

impl Levels {
    fn of(config: &Config, verbose: bool) -> Self {
        let in_file = level_of(config.logging.level());
        let usual = if verbose { LevelFilter::DEBUG } else { in_file };
        let on_console = config.logging.console_level.filter(|_| !verbose).map_or(usual, level_of);
        Self { in_file, on_console }
    }
}

fn ours(filter: LevelFilter) -> Targets {
    // Libraries tell what is wrong, and nothing else.
    Targets::new().with_target("yabby", filter).with_default(LevelFilter::WARN.min(filter))
}

fn level_of(level: LogLevel) -> LevelFilter {
    match level {
        LogLevel::Silent => LevelFilter::OFF,
        LogLevel::Fatal | LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    }
}

/// The part of the program that tells something.
fn subsystem(target: &str) -> &'static str {
    match target.split("::").next().unwrap_or_default() {
        "yabby_gateway" | "yabby" => "gateway",
        "yabby_engine" => "agent",
        "yabby_models" => "models",
        "yabby_memory" => "memory",
        "yabby_tools" => "tools",
        "yabby_store" => "store",
        "yabby_mcp" => "mcp",
        _ => "library",
    }
}

/// What an event says, on one line.
#[derive(Default)]
struct Said {
    message: String,
    fields: String,
}

impl Visit for Said {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
    }
}

impl Said {
    fn by(event: &Event<'_>) -> String {
        let mut said = Self::default();
        event.record(&mut said);
        let line = format!("{}{}", said.message, said.fields).replace(['\n', '\r'], " ");
        redacted(&line)
    }
}

fn now() -> String {
    format!("{:.3}", jiff::Timestamp::now())
}

struct Console;

impl<S: Subscriber> Layer<S> for Console {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let said = Said::by(event);
        let level = match *event.metadata().level() {
            Level::ERROR => "error: ",
            Level::WARN => "warning: ",
            _ => "",
        };
        let line = format!("{} [{}] {level}{said}\n", now(), subsystem(event.metadata().target()));
        // Nobody is left to tell that nobody can be told.
        let _ = io::stdout().lock().write_all(line.as_bytes());
    }
}

/// The file, which others may send elsewhere.
struct Filed(Arc<LogFile>);

/// A file of lines. Every thread writes to it: the lock is held while one line is written.
struct LogFile(Mutex<Log>);

struct Log {
    path: PathBuf,
    open: Option<Open>,
}

struct Open {
    file: File,
    size: u64,
    /// How large it may become before another one is begun.
    largest: u64,
}

impl<S: Subscriber> Layer<S> for Filed {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let metadata = event.metadata();
        let (number, name) = match *metadata.level() {
            Level::ERROR => (5, "ERROR"),
            Level::WARN => (4, "WARN"),
            Level::INFO => (3, "INFO"),
            Level::DEBUG => (2, "DEBUG"),
            Level::TRACE => (1, "TRACE"),
        };
        let subsystem = json::stringify(&json!({"subsystem": subsystem(metadata.target())}));
        let time = now();
        let meta = json!({"runtime": "yabby", "name": subsystem, "date": time, "logLevelId": number, "logLevelName": name});
        let line = json!({"0": subsystem, "1": Said::by(event), "_meta": meta, "time": time});
        // Whoever reads the console knows as much.
        let _ = self.0.write(&format!("{}\n", json::stringify(&line)));
    }
}

impl LogFile {
    fn new(path: &Path) -> Self {
        Self(Mutex::new(Log { path: path.to_owned(), open: None }))
    }

    /// The next line is written there.
    fn move_to(&self, path: &Path) {
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if log.path != path {
            *log = Log { path: path.to_owned(), open: None };
        }
    }

    fn write(&self, line: &str) -> io::Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(line)
    }
}

impl Log {
    fn write(&mut self, line: &str) -> io::Result<()> {
        let open = match self.open.take() {
            Some(open) if open.is_at(&self.path) => open,
            // Whoever moved its folder away moved the file with it, and wants no other in its place.
            Some(open) if !self.path.parent().is_some_and(Path::is_dir) => open,
            // Somebody put it aside, or nobody has opened it yet.
            _ => self.begin()?,
        };
        let open = match open.size >= open.largest {
            true => self.another(open)?,
            false => open,
        };
        let open = self.open.insert(open);
        open.file.write_all(line.as_bytes())?;
        open.size += line.len() as u64;
        Ok(())
    }

    fn begin(&self) -> io::Result<Open> {
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(&self.path)?;
        let size = file.metadata()?.len();
        Ok(Open { file, size, largest: LARGEST })
    }

    /// The next file; where this one cannot be put aside, it is written on, and the next attempt is made later.
    fn another(&self, full: Open) -> io::Result<Open> {
        match self.turn_over() {
            Ok(()) => self.begin(),
            Err(_) => Ok(Open { largest: full.size + LARGEST / 10, ..full }),
        }
    }

    /// Puts the file aside, and the oldest one away.
    fn turn_over(&self) -> io::Result<()> {
        let numbered = |number: usize| self.path.with_added_extension(number.to_string());
        for number in (1..KEPT).rev() {
            if numbered(number).exists() {
                std::fs::rename(numbered(number), numbered(number + 1))?;
            }
        }
        std::fs::rename(&self.path, numbered(1))
    }
}

impl Open {
    /// Whether this is still the file at the path: another program may have put it aside or away.
    fn is_at(&self, path: &Path) -> bool {
        let same = |there: Metadata, here: Metadata| (there.dev(), there.ino()) == (here.dev(), here.ino());
        let there = std::fs::metadata(path);
        there.is_ok_and(|there| self.file.metadata().is_ok_and(|here| same(there, here)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_log_begins_anew_and_the_last_ones_stay() {
        let folder = tempfile::tempdir().unwrap();
        let log = LogFile::new(&folder.path().join("logs/gateway.log"));
        let line = format!("{}\n", "x".repeat(4 * 1024 * 1024));
        for _ in 0..30 {
            log.write(&line).unwrap();
        }
        let names: Vec<_> =
            std::fs::read_dir(folder.path().join("logs")).unwrap().map(|file| file.unwrap()).collect();
        assert_eq!(names.len(), KEPT + 1);
        assert!(names.iter().all(|file| file.metadata().unwrap().len() < 2 * LARGEST));
    }

    #[test]
    fn a_log_that_cannot_be_put_aside_or_was_taken_away_loses_no_line() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("gateway.log");
        // A folder stands where the oldest file should go.
        std::fs::create_dir_all(folder.path().join("gateway.log.5/full")).unwrap();
        std::fs::write(folder.path().join("gateway.log.4"), "old\n").unwrap();
        let log = LogFile::new(&file);
        let line = format!("{}\n", "x".repeat(4 * 1024 * 1024));
        for _ in 0..6 {
            log.write(&line).unwrap();
        }
        assert_eq!(std::fs::metadata(&file).unwrap().len(), 6 * line.len() as u64);
        std::fs::rename(&file, folder.path().join("aside")).unwrap();
        log.write("after\n").unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "after\n");
        log.move_to(&folder.path().join("elsewhere.log"));
        log.write("there\n").unwrap();
        assert_eq!(std::fs::read_to_string(folder.path().join("elsewhere.log")).unwrap(), "there\n");
    }

    #[test]
    fn a_log_line_is_one_that_openclaw_reads_and_holds_no_secret() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("gateway.log");
        let log = Filed(Arc::new(LogFile::new(&file)));
        tracing::subscriber::with_default(tracing_subscriber::registry().with(log), || {
            tracing::warn!(key = "sk-abcdefghijklmnopqrstuv", "two\nlines");
        });
        let line: serde_json::Value =
            serde_json::from_str(std::fs::read_to_string(file).unwrap().trim()).unwrap();
        assert_eq!(line["1"], "two lines key=***");
        assert_eq!(line["_meta"]["logLevelName"], "WARN");
    }
}
