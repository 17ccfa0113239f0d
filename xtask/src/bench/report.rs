//! The table in `docs/benchmarks.md`: everything between two markers is written anew, the rest is kept.

use std::path::Path;

use anyhow::{Context, Result};

pub struct Row {
    pub what: String,
    pub yabby: String,
    pub reference: String,
    pub ratio: String,
    pub target: Target,
}

/// What is promised, in words, and whether it is kept.
pub enum Target {
    None,
    Wanted { text: String, is_met: bool },
}

impl Target {
    pub fn wanted(text: &str, is_met: bool) -> Self {
        Self::Wanted { text: text.to_owned(), is_met }
    }
}

pub fn table(rows: &[Row]) -> String {
    let mut text = "| | yabby | OpenClaw | ratio | target | met |\n|---|---:|---:|---:|---|---|\n".to_owned();
    for Row { what, yabby, reference, ratio, target } in rows {
        let (target, met) = match target {
            Target::None => ("", ""),
            Target::Wanted { text, is_met: true } => (text.as_str(), "yes"),
            Target::Wanted { text, is_met: false } => (text.as_str(), "**no**"),
        };
        text += &format!("| {what} | {yabby} | {reference} | {ratio} | {target} | {met} |\n");
    }
    text
}

/// Puts a section into the page of benchmarks.
pub fn publish(name: &str, section: &str) -> Result<()> {
    publish_in("docs/benchmarks.md", name, &format!("bench {name}"), section)
}

/// The same for a section of some page that another task writes.
pub fn publish_in(page: &str, name: &str, task: &str, section: &str) -> Result<()> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(page);
    let (begin, end) =
        (format!("<!-- {name}: written by `cargo xtask {task}` -->\n"), format!("<!-- end of {name} -->\n"));
    let text = std::fs::read_to_string(&page).unwrap_or_else(|_| "# Benchmarks\n".to_owned());
    let section = format!("{begin}{section}{end}");
    let text = match (text.find(&begin), text.find(&end)) {
        (Some(from), Some(to)) if from < to => {
            format!("{}{section}{}", &text[..from], &text[to + end.len()..])
        }
        _ => format!("{}\n\n{section}", text.trim_end()),
    };
    std::fs::write(&page, text).with_context(|| format!("writing {}", page.display()))
}

/// A time in the unit that suits it.
pub fn seconds(time: f64) -> String {
    match time {
        _ if time >= 1.0 => format!("{time:.2} s"),
        _ if time >= 1e-3 => format!("{:.2} ms", time * 1e3),
        _ => format!("{:.0} µs", time * 1e6),
    }
}

pub fn bytes(count: f64) -> String {
    if count < 1e6 { format!("{:.0} kB", count / 1e3) } else { format!("{:.0} MB", count / 1e6) }
}

pub fn times(ratio: f64) -> String {
    if ratio >= 10.0 { format!("{ratio:.0} ×") } else { format!("{ratio:.2} ×") }
}

pub fn per_second(rate: f64) -> String {
    if rate >= 10.0 { format!("{rate:.0}/s") } else { format!("{rate:.2}/s") }
}

pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
