//! The log of a gateway: lines for people on standard output, and JSON lines in a file, which OpenClaw's `logs`
//! reads, too (`cli.md` §7, §15). The file begins anew when it is large; its last versions stay beside it.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde_json::json;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer, filter::LevelFilter};
use yabby_domain::config::Config;
use yabby_domain::json;

use super::redacted;

/// How large the file may become.
const LARGEST: u64 = 10 * 1024 * 1024;
/// How many earlier files are kept.
const KEPT: usize = 5;

/// Begins to tell, on the console and in this file.
pub fn begin(config: &Config, file: &Path, verbose: bool) {
    let level = |name: &str| config.text(&["logging", name]).and_then(level_of);
    let in_file = level("level").unwrap_or(LevelFilter::INFO);
    let usual = if verbose { LevelFilter::DEBUG } else { in_file };
    let on_console = level("consoleLevel").filter(|_| !verbose).unwrap_or(usual);
    let ours = |filter: LevelFilter| {
        // Libraries tell what is wrong, and nothing else.
        tracing_subscriber::filter::Targets::new()
            .with_target("yabby", filter)
            .with_default(LevelFilter::WARN.min(filter))
    };
    let log = LogFile { path: file.to_owned(), open: Mutex::default() };
    let told = tracing_subscriber::registry()
        .with(Console.with_filter(ours(on_console)))
        .with(log.with_filter(ours(in_file)));
    // A second attempt changes nothing.
    let _ = told.try_init();
}

fn level_of(name: &str) -> Option<LevelFilter> {
    Some(match name {
        "silent" => LevelFilter::OFF,
        "fatal" | "error" => LevelFilter::ERROR,
        "warn" => LevelFilter::WARN,
        "info" => LevelFilter::INFO,
        "debug" => LevelFilter::DEBUG,
        "trace" => LevelFilter::TRACE,
        _ => return None,
    })
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

struct LogFile {
    path: PathBuf,
    open: Mutex<Option<(File, u64)>>,
}

impl<S: Subscriber> Layer<S> for LogFile {
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
        let _ = self.write(&format!("{}\n", json::stringify(&line)));
    }
}

impl LogFile {
    fn write(&self, line: &str) -> io::Result<()> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut file, size) = match open.take() {
            Some((_, size)) if size >= LARGEST => {
                self.turn_over()?;
                self.begin()?
            }
            Some(open) => open,
            None => self.begin()?,
        };
        file.write_all(line.as_bytes())?;
        *open = Some((file, size + line.len() as u64));
        Ok(())
    }

    fn begin(&self) -> io::Result<(File, u64)> {
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(&self.path)?;
        let size = file.metadata()?.len();
        Ok((file, size))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_log_begins_anew_and_the_last_ones_stay() {
        let folder = tempfile::tempdir().unwrap();
        let log = LogFile { path: folder.path().join("logs/gateway.log"), open: Mutex::default() };
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
    fn a_log_line_is_one_that_openclaw_reads_and_holds_no_secret() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("gateway.log");
        let log = LogFile { path: file.clone(), open: Mutex::default() };
        tracing::subscriber::with_default(tracing_subscriber::registry().with(log), || {
            tracing::warn!(key = "sk-abcdefghijklmnopqrstuv", "two\nlines");
        });
        let line: serde_json::Value =
            serde_json::from_str(std::fs::read_to_string(file).unwrap().trim()).unwrap();
        assert_eq!(line["1"], "two lines key=***");
        assert_eq!(line["_meta"]["logLevelName"], "WARN");
    }
}
