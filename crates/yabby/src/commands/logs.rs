//! `yabby logs`: what the gateway writes down (`cli.md` §15).

use std::io::Write as _;
use std::time::{Duration, Instant};

use anstyle::{AnsiColor, Style};
use anyhow::Result;
use clap::Args;
use serde_json::json;
use std::io::IsTerminal as _;
use tokio::runtime::Builder;
use yabby_domain::json::{self, Object, Value};

use crate::client::{CallError, Client, Mode, Target, TargetOptions, explain, limit};
use crate::failure::Failure;
use crate::setting::Setting;
use crate::terminal;

/// How long a gateway may be away while its log is followed: turns may come to their end before it begins anew.
const AWAY: Duration = Duration::from_secs(45);

#[derive(Args)]
pub struct Arguments {
    /// How many lines at most
    #[arg(long, value_name = "COUNT", default_value = "200")]
    limit: String,
    /// How much of the file to read at most
    #[arg(long, value_name = "BYTES", default_value = "250000")]
    max_bytes: String,
    /// Go on with what is written from now on
    #[arg(long)]
    follow: bool,
    /// How often to look, with --follow, in milliseconds
    #[arg(long, value_name = "MS", default_value = "1000")]
    interval: String,
    /// Print a JSON object for each line
    #[arg(long)]
    json: bool,
    /// Print lines as in a pipe: the whole time, and no colours
    #[arg(long)]
    plain: bool,
    #[command(flatten)]
    target: TargetOptions,
    /// How long to wait, in milliseconds [default: 30000]
    #[arg(long, value_name = "MS")]
    timeout: Option<String>,
    #[arg(long, hide = true)]
    expect_final: bool,
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    let target = Target::find(setting, &arguments.target)?;
    let limit = limit(arguments.timeout.as_deref(), 30_000)?;
    let wanted = Wanted {
        lines: positive("--limit", &arguments.limit)?,
        bytes: positive("--max-bytes", &arguments.max_bytes)?,
        interval: Duration::from_millis(positive("--interval", &arguments.interval)?),
    };
    let runtime = Builder::new_current_thread().enable_all().build()?;
    match runtime.block_on(show(arguments, &wanted, &target, limit)) {
        Err(error) => match error.downcast_ref::<CallError>() {
            Some(fault) => Err(unreachable(setting, arguments, &target, fault)),
            None => Err(error),
        },
        Ok(()) => Ok(()),
    }
}

/// How much is read at once, and how often.
struct Wanted {
    lines: u64,
    bytes: u64,
    interval: Duration,
}

async fn show(arguments: &Arguments, wanted: &Wanted, target: &Target, limit: Duration) -> Result<()> {
    let pretty = !arguments.json && !arguments.plain && std::io::stdout().is_terminal();
    let mut client = Client::open(target, Mode::Cli, limit).await?;
    let mut cursor = None;
    loop {
        let mut params = json!({"limit": wanted.lines, "maxBytes": wanted.bytes});
        if let Some(cursor) = &cursor {
            params["cursor"] = Value::clone(cursor);
        }
        let read = match client.call("logs.tail", params, limit).await {
            Err(error) if arguments.follow && is_away(&error) => {
                client = again(target, limit, error).await?;
                continue;
            }
            read => read?,
        };
        // Ticks and the like; nobody reads them.
        client.events.clear();
        print(&read, cursor.is_none(), arguments.json, pretty)?;
        cursor = read.get("cursor").filter(|cursor| cursor.is_number()).cloned().or(cursor);
        if !arguments.follow {
            client.close().await;
            return Ok(());
        }
        tokio::time::sleep(wanted.interval).await;
    }
}

/// Whether the gateway went away, as it does when it begins anew.
fn is_away(error: &CallError) -> bool {
    matches!(error, CallError::Unreachable { .. } | CallError::Closed { code: 1001 | 1006 | 1012, .. })
}

/// The connection once the gateway is back, if that is soon.
async fn again(target: &Target, limit: Duration, mut error: CallError) -> Result<Client, CallError> {
    anstream::eprintln!(
        "note: the gateway went away ({}); waiting for it",
        terminal::harmless(&error.brief())
    );
    let begun = Instant::now();
    while begun.elapsed() < AWAY && is_away(&error) {
        tokio::time::sleep(Duration::from_millis(250)).await;
        match Client::open(target, Mode::Cli, limit).await {
            Ok(client) => return Ok(client),
            Err(next) => error = next,
        }
    }
    Err(error)
}

fn positive(option: &str, said: &str) -> Result<u64> {
    let number = said.trim().parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| Failure::bare(format!("{option} must be a positive integer")).into())
}

fn print(read: &Value, is_first: bool, as_json: bool, pretty: bool) -> Result<()> {
    const NOTICES: [(&str, &str); 2] = [
        ("truncated", "Log tail truncated (increase --max-bytes)."),
        ("reset", "Log cursor reset (file rotated)."),
    ];
    let lines = read.get("lines").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let notices =
        NOTICES.iter().filter(|(name, _)| read.get(*name) == Some(&Value::Bool(true))).map(|(_, text)| text);
    let field = |name: &str| read.get(name).cloned().unwrap_or_default();
    if as_json {
        let mut out = std::io::stdout().lock();
        let mut say = |value: &Value| writeln!(out, "{}", json::stringify(value));
        if is_first {
            say(
                &json!({"type": "meta", "file": field("file"), "cursor": field("cursor"), "size": field("size")}),
            )?;
        }
        for line in lines {
            say(&Line::parse(line)
                .map_or_else(|| json!({"type": "raw", "raw": line}), |parsed| parsed.to_json(line)))?;
        }
        for notice in notices {
            say(&json!({"type": "notice", "message": notice}))?;
        }
        return Ok(out.flush()?);
    }
    let mut out = anstream::stdout().lock();
    if let Some(file) = read.get("file").and_then(Value::as_str).filter(|_| is_first) {
        writeln!(out, "Log file: {}", terminal::harmless(file))?;
    }
    for line in lines {
        let shown =
            Line::parse(line).map_or_else(|| terminal::harmless(line), |parsed| parsed.shown(line, pretty));
        writeln!(out, "{shown}")?;
    }
    out.flush()?;
    notices.for_each(|notice| anstream::eprintln!("{notice}"));
    Ok(())
}

/// A line of the log, of ours or of OpenClaw's.
#[derive(Debug, PartialEq)]
struct Line {
    time: Option<String>,
    level: Option<String>,
    subsystem: Option<String>,
    module: Option<String>,
    message: String,
}

impl Line {
    fn parse(raw: &str) -> Option<Self> {
        let parsed = json::parse(raw).ok()?;
        let text = |path: &[&str]| json::at(&parsed, path).and_then(Value::as_str).map(str::to_owned);
        // Which part of the program it is stands there as JSON in a text.
        let name = text(&["_meta", "name"]).and_then(|name| json::parse(&name).ok()).unwrap_or_default();
        let part = |field: &str| name.get(field).and_then(Value::as_str).map(str::to_owned);
        let said = parsed.as_object().map(json::in_js_order).unwrap_or_default();
        let said = said
            .into_iter()
            .filter(|(key, _)| key.bytes().all(|byte| byte.is_ascii_digit()) && !key.is_empty());
        let words = said.filter_map(|(_, value)| match value {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other => Some(json::stringify(other)),
        });
        Some(Self {
            time: text(&["time"]).or_else(|| text(&["_meta", "date"])),
            level: text(&["_meta", "logLevelName"]).map(|level| level.to_lowercase()),
            subsystem: part("subsystem"),
            module: part("module"),
            message: words.collect::<Vec<_>>().join(" "),
        })
    }

    fn to_json(&self, raw: &str) -> Value {
        let mut told = Object::from_iter([("type".to_owned(), Value::from("log"))]);
        let parts = [
            ("time", &self.time),
            ("level", &self.level),
            ("subsystem", &self.subsystem),
            ("module", &self.module),
        ];
        for (name, value) in parts {
            if let Some(value) = value {
                told.insert(name.to_owned(), value.clone().into());
            }
        }
        told.insert("message".to_owned(), self.message.clone().into());
        told.insert("raw".to_owned(), raw.into());
        Value::Object(told)
    }

    fn shown(&self, raw: &str, pretty: bool) -> String {
        let time = self.time.as_deref().map(|time| match time.parse::<jiff::Timestamp>() {
            Ok(at) if pretty => format!("{}", at.strftime("%H:%M:%S")),
            Ok(at) => format!("{at:.3}"),
            Err(_) => time.to_owned(),
        });
        let level = self.level.as_deref().unwrap_or_default();
        let style = if pretty { style(level) } else { Style::new() };
        // It begins with the part of the program, which stands in front of it already.
        let message = match self.message.strip_prefix('{').and_then(|rest| rest.split_once("} ")) {
            Some((name, message)) if name.starts_with("\"subsystem\"") && self.subsystem.is_some() => message,
            _ if self.message.is_empty() => raw,
            _ => &self.message,
        };
        let part = self.subsystem.as_ref().or(self.module.as_ref()).cloned().unwrap_or_default();
        let head = [time.unwrap_or_default(), level.to_owned(), part];
        let head: Vec<String> =
            head.into_iter().filter(|part| !part.is_empty()).map(|part| terminal::harmless(&part)).collect();
        let body = format!("{style}{}{style:#}", terminal::harmless(message));
        let line = head.into_iter().chain([body]).collect::<Vec<_>>().join(" ");
        line.trim().to_owned()
    }
}

fn style(level: &str) -> Style {
    match level {
        "error" | "fatal" => AnsiColor::Red.on_default(),
        "warn" => AnsiColor::Yellow.on_default(),
        "debug" | "trace" => Style::new().dimmed(),
        _ => Style::new(),
    }
}

/// The gateway cannot be asked.
fn unreachable(
    setting: &Setting,
    arguments: &Arguments,
    target: &Target,
    fault: &CallError,
) -> anyhow::Error {
    let message = "Gateway not reachable. Is it running and accessible?";
    let hint = format!("Hint: run `{}`.", setting.command("doctor"));
    if !arguments.json {
        return match fault {
            CallError::Unreachable { .. } | CallError::NoGateway { .. }
                if !setting.keeps_reference_text() =>
            {
                explain(setting, fault.clone(), false)
            }
            // Nobody was asked: whether somebody is there is not the question.
            CallError::NoCredentials { .. } | CallError::Misconfigured { .. } => fault.clone().into(),
            _ => Failure::bare(format!("{message}\n{}\n{hint}", target.details())).into(),
        };
    }
    let told = json!({
        "type": "error",
        "message": message,
        "error": fault.to_string(),
        "details": target.details_json(),
        "hint": hint,
    });
    Failure::bare(json::stringify(&told)).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_log_are_read_and_others_shown_as_they_are() {
        let raw = r#"{"0":"{\"subsystem\":\"gateway\"}","1":"listening","2":{"port":1},"_meta":{"name":"{\"subsystem\":\"gateway\"}","logLevelName":"INFO","date":"2026-02-03T12:00:00.000Z"},"time":"2026-02-03T12:00:01.5Z"}"#;
        let line = Line::parse(raw).unwrap();
        assert_eq!((line.level.as_deref(), line.subsystem.as_deref()), (Some("info"), Some("gateway")));
        assert_eq!(line.message, r#"{"subsystem":"gateway"} listening {"port":1}"#);
        let plain = line.shown(raw, false);
        assert_eq!(plain, "2026-02-03T12:00:01.500Z info gateway listening {\"port\":1}");
        assert!(line.shown(raw, true).starts_with("12:00:01 info gateway"));
        assert_eq!(line.to_json(raw)["raw"], raw);
        assert_eq!(Line::parse("not JSON"), None);
    }
}
