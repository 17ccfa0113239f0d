//! What is particular to a terminal, and what must never reach one.

use std::io::{IsTerminal as _, Write as _};

use anyhow::Result;
use yabby_domain::json::{self, Value};

/// How many columns the terminal has; `None` in a pipe.
pub fn width() -> Option<usize> {
    if !std::io::stdout().is_terminal() {
        return None;
    }
    let stated = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    stated.or_else(|| terminal_size::terminal_size().map(|(width, _)| usize::from(width.0))).or(Some(80))
}

/// What somebody wrote must not steer the reader's terminal.
pub fn harmless(line: &str) -> String {
    line.chars().map(|c| if c.is_control() && c != '\t' { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

pub fn print_json(value: &Value) -> Result<()> {
    // Nothing in JSON can steer a terminal, so it needs no filter.
    Ok(writeln!(std::io::stdout(), "{}", json::stringify_pretty(value))?)
}

/// `1 message`, `2 messages`
pub fn counted(count: usize, thing: &str) -> String {
    if count == 1 { format!("1 {thing}") } else { format!("{count} {thing}s") }
}
