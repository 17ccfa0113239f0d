//! What is particular to a terminal, and what must never reach one.

use std::io::{IsTerminal as _, Write as _};

use anyhow::Result;
use yabby_domain::json::{self, Value};
use yabby_domain::text;

/// How many columns the terminal has; `None` in a pipe.
pub fn width() -> Option<usize> {
    if !std::io::stdout().is_terminal() {
        return None;
    }
    let stated = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    stated.or_else(|| terminal_size::terminal_size().map(|(width, _)| usize::from(width.0))).or(Some(80))
}

/// What somebody wrote must not steer the reader's terminal, nor turn the direction of the text around it.
pub fn harmless(line: &str) -> String {
    let steers = |c: char| {
        let turns = matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        (c.is_control() && c != '\t') || turns
    };
    let shown = text::to_outside(line);
    shown.chars().map(|c| if steers(c) { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// How many columns a text takes.
pub fn columns(text: &str) -> usize {
    textwrap::core::display_width(text)
}

/// One line of at most so many columns; where the text has several, they follow one another.
pub fn short(text: &str, most: usize) -> String {
    let text = harmless(&text.replace("\r\n", " ").replace(['\n', '\t'], " "));
    if columns(&text) <= most {
        return text;
    }
    let mut cut = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += columns(c.encode_utf8(&mut [0; 4]));
        if used > most {
            break;
        }
        cut.push(c);
    }
    format!("{}…", cut.trim_end())
}

pub fn print_json(value: &Value) -> Result<()> {
    // Nothing in JSON can steer a terminal, so it needs no filter.
    Ok(writeln!(std::io::stdout(), "{}", json::stringify_pretty(value))?)
}

/// Rows below a heading, in columns two blanks apart; nothing written in them steers a terminal.
pub fn table<const N: usize>(heading: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let rows: Vec<[String; N]> = rows.into_iter().map(|row| row.map(|cell| harmless(&cell))).collect();
    let all = || std::iter::once(heading.map(str::to_owned)).chain(rows.iter().cloned());
    let widths: [usize; N] = std::array::from_fn(|at| all().map(|row| columns(&row[at])).max().unwrap_or(0));
    let line = |row: [String; N]| {
        let cells = row.iter().zip(widths).map(|(cell, width)| {
            let room = width.saturating_sub(columns(cell));
            format!("{cell}{:room$}", "")
        });
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    all().map(line).collect()
}

/// `1 message`, `2 messages`
pub fn counted(count: usize, thing: &str) -> String {
    if count == 1 { format!("1 {thing}") } else { format!("{count} {thing}s") }
}

/// Whether a printed text holds nothing that steers a terminal but our own styles.
#[cfg(test)]
pub fn only_styles(printed: &str) -> bool {
    let mut parts = printed.split("\u{1b}[");
    let first = parts.next().unwrap_or_default();
    let after = |part: &'_ str| {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';').strip_prefix('m');
        rest.map(str::to_owned)
    };
    let texts = std::iter::once(Some(first.to_owned())).chain(parts.map(after));
    texts.into_iter().all(|text| {
        text.is_some_and(|text| !text.contains(|c: char| c.is_control() && !matches!(c, '\n' | '\t')))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_written_steers_the_terminal() {
        let table = [
            ("a\u{1b}[2Jb", "a\u{fffd}[2Jb"),
            ("one\ntwo\u{7f}\u{9b}", "one\u{fffd}two\u{fffd}\u{fffd}"),
            ("tab\there", "tab\there"),
            ("user\u{202e}txt", "user\u{fffd}txt"),
            ("half \u{10d83d}", "half \u{fffd}"),
            ("Zürich 漢字 🦀", "Zürich 漢字 🦀"),
        ];
        for (written, shown) in table {
            assert_eq!(harmless(written), shown, "{written:?}");
        }
    }

    #[test]
    fn a_table_has_columns() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned);
        let told = table(["Key", "Age", "On"], [row(["漢字", "1m ago", ""]), row(["a", "x\u{1b}", "yes"])]);
        assert_eq!(told, "Key   Age     On\n漢字  1m ago\na     x\u{fffd}      yes\n");
    }

    #[test]
    fn a_short_text_fits_its_columns() {
        let table = [
            ("abc", 3, "abc"),
            ("abcd", 3, "ab…"),
            ("漢字漢", 5, "漢字…"),
            ("ab cd", 4, "ab…"),
            ("cd x\nls\r\n\tw", 9, "cd x ls…"),
            ("x", 0, "…"),
        ];
        for (text, most, shown) in table {
            assert_eq!(short(text, most), shown, "{text} {most}");
        }
    }
}
