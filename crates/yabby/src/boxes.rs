//! Tables in boxes, as wide as the terminal, as the reference draws them.

use crate::terminal::{self, columns, harmless};

/// A column, and how it takes its part of the width.
pub struct Column {
    pub heading: &'static str,
    /// It does not become narrower, as long as another can.
    pub least: usize,
    /// It takes what is left, and gives up first.
    pub stretches: bool,
}

pub const fn fixed(heading: &'static str, least: usize) -> Column {
    Column { heading, least, stretches: false }
}

pub const fn wide(heading: &'static str, least: usize) -> Column {
    Column { heading, least, stretches: true }
}

/// How wide a table is where there is no terminal.
const USUAL_WIDTH: usize = 120;
/// On either side of a text.
const PADDING: usize = 1;

/// Draws a table; nothing written in it steers a terminal.
pub fn table<const N: usize>(heads: &[Column; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let width = terminal::width().unwrap_or(USUAL_WIDTH).saturating_sub(1).max(60);
    drawn(heads, rows.into_iter().map(|row| row.map(|cell| harmless(&cell))).collect(), width)
}

fn drawn<const N: usize>(heads: &[Column; N], rows: Vec<[String; N]>, width: usize) -> String {
    let widths = widths(heads, &rows, width);
    let rule = |left: &str, middle: &str, right: &str| {
        format!("{left}{}{right}\n", widths.map(|width| "─".repeat(width)).join(middle))
    };
    let mut text = rule("┌", "┬", "┐");
    text.push_str(&row(std::array::from_fn(|at| heads[at].heading.to_owned()), widths));
    text.push_str(&rule("├", "┼", "┤"));
    rows.into_iter().for_each(|cells| text.push_str(&row(cells, widths)));
    text + &rule("└", "┴", "┘")
}

/// A row, on as many lines as its longest text needs.
fn row<const N: usize>(cells: [String; N], widths: [usize; N]) -> String {
    let room: [usize; N] = widths.map(|width| width.saturating_sub(2 * PADDING).max(1));
    let cells: [Vec<String>; N] = std::array::from_fn(|at| wrapped(&cells[at], room[at]));
    let height = cells.iter().map(Vec::len).max().unwrap_or(1);
    let line = |line: usize| {
        let parts: [String; N] = std::array::from_fn(|at| {
            let text = cells[at].get(line).map(String::as_str).unwrap_or_default();
            let blank = room[at].saturating_sub(columns(text));
            format!(" {text}{:blank$} ", "")
        });
        format!("│{}│\n", parts.join("│"))
    };
    (0..height).map(line).collect()
}

fn widths<const N: usize>(heads: &[Column; N], rows: &[[String; N]], width: usize) -> [usize; N] {
    let heading: [usize; N] = std::array::from_fn(|at| columns(heads[at].heading) + 2 * PADDING);
    let mut widths: [usize; N] = std::array::from_fn(|at| {
        let longest = rows.iter().map(|row| columns(&row[at]) + 2 * PADDING).max().unwrap_or(0);
        longest.max(heading[at]).max(heads[at].least)
    });
    let borders = N + 1;
    let total = |widths: &[usize; N]| widths.iter().sum::<usize>() + borders;
    // The widest first.
    let mut order: [usize; N] = std::array::from_fn(|at| at);
    order.sort_by_key(|at| std::cmp::Reverse(widths[*at]));
    let least: [usize; N] = std::array::from_fn(|at| heading[at].max(heads[at].least).max(3));
    for (stretches, least) in [(true, &least), (true, &heading), (false, &least), (false, &heading)] {
        let chosen: Vec<usize> =
            order.iter().copied().filter(|at| heads[*at].stretches == stretches).collect();
        while total(&widths) > width {
            let before = total(&widths);
            for at in &chosen {
                if total(&widths) > width && widths[*at] > least[*at] {
                    widths[*at] -= 1;
                }
            }
            if total(&widths) == before {
                break;
            }
        }
    }
    let stretching: Vec<usize> = (0..N).filter(|at| heads[*at].stretches).collect();
    let mut left = width.saturating_sub(total(&widths));
    for at in stretching.iter().cycle() {
        if left == 0 {
            break;
        }
        widths[*at] += 1;
        left -= 1;
    }
    widths
}

/// A text on lines of so many columns, broken behind a blank, `/`, `-`, `_` or `.` where there is one.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line: Vec<char> = Vec::new();
    let mut broken_at = None;
    let mut push = |line: &[char]| {
        let line: String = line.iter().collect();
        if !line.trim().is_empty() {
            lines.push(line.trim_end().to_owned());
        }
    };
    for c in text.chars() {
        if line.len() + 1 > width && !line.is_empty() {
            let at = broken_at.take().unwrap_or(line.len());
            push(&line[..at]);
            line.drain(..at);
            let blanks = line.iter().take_while(|c| matches!(c, ' ' | '\t')).count();
            line.drain(..blanks);
        }
        line.push(c);
        if matches!(c, ' ' | '\t' | '/' | '-' | '_' | '.') {
            broken_at = Some(line.len());
        }
    }
    push(&line);
    if lines.is_empty() { vec![String::new()] } else { lines }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_fills_its_width() {
        let heads = [fixed("Code", 10), wide("Id", 4)];
        let drawn = drawn(&heads, vec![["ABCD".to_owned(), "42".to_owned()]], 24);
        let expected = "┌──────────┬───────────┐\n│ Code     │ Id        │\n├──────────┼───────────┤\n│ ABCD     │ 42        │\n└──────────┴───────────┘\n";
        assert_eq!(drawn, expected);
    }

    #[test]
    fn long_texts_go_on_below() {
        let table: [(&str, usize, &[&str]); 5] = [
            ("one two", 7, &["one two"]),
            ("one two three", 8, &["one two", "three"]),
            ("abcdefgh", 3, &["abc", "def", "gh"]),
            ("a/b/c", 4, &["a/b/", "c"]),
            ("", 4, &[""]),
        ];
        for (text, width, lines) in table {
            assert_eq!(wrapped(text, width), lines, "{text:?}");
        }
    }
}
