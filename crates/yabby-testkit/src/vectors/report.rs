//! What the runner says: a line a file, then every failing case with a diff.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use similar::{ChangeTag, TextDiff};
use yabby_domain::json::{self, Value};

use super::{FileReport, Outcome, Standing};

/// Passed, failed and different by design over all files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub passed: usize,
    pub failed: usize,
    pub by_design: usize,
    pub not_yet: usize,
}

impl FileReport {
    fn totals(&self) -> Totals {
        let is_later = self.standing == Standing::NotYet;
        let mut totals = Totals { not_yet: usize::from(is_later), ..Totals::default() };
        totals.failed += usize::from(self.error.is_some());
        for (_, outcome) in &self.cases {
            match outcome {
                Outcome::Passed => totals.passed += 1,
                Outcome::ByDesign(_) => totals.by_design += 1,
                Outcome::Failed { .. } | Outcome::Panicked(_) | Outcome::UnknownRule => totals.failed += 1,
            }
        }
        totals
    }
}

pub fn totals(reports: &[FileReport]) -> Totals {
    reports.iter().map(FileReport::totals).fold(Totals::default(), |sum, one| Totals {
        passed: sum.passed + one.passed,
        failed: sum.failed + one.failed,
        by_design: sum.by_design + one.by_design,
        not_yet: sum.not_yet + one.not_yet,
    })
}

/// The whole report as text.
pub fn print_report(reports: &[FileReport]) -> String {
    let mut out = String::new();
    for report in reports {
        let _ = writeln!(out, "{}", line(report));
    }
    let _ = write!(out, "{}{}{}", failures(reports), designs(reports), later(reports));
    let sum = totals(reports);
    let _ =
        writeln!(out, "\ntotal: {} passed, {} failed, {} by design", sum.passed, sum.failed, sum.by_design);
    out
}

fn line(report: &FileReport) -> String {
    match report.standing {
        Standing::Run => {}
        Standing::NotYet => return format!("{}: not yet", report.file),
        Standing::Optional => return format!("{}: skipped (optional)", report.file),
    }
    let sum = report.totals();
    let by_design = if sum.by_design > 0 { format!(", {} by design", sum.by_design) } else { String::new() };
    format!("{}: {} passed, {} failed{by_design}", report.file, sum.passed, sum.failed)
}

fn failures(reports: &[FileReport]) -> String {
    let mut out = String::new();
    for report in reports {
        if let Some(error) = &report.error {
            let _ = writeln!(out, "\nFAILED {}: {error}", report.file);
        }
        for (name, outcome) in &report.cases {
            let what = match outcome {
                Outcome::Passed | Outcome::ByDesign(_) => continue,
                Outcome::UnknownRule => "unknown rule".to_owned(),
                Outcome::Panicked(text) => format!("panicked: {text}"),
                Outcome::Failed { expected, actual } => {
                    diff(&json::stringify_pretty(&sorted(expected)), &json::stringify_pretty(&sorted(actual)))
                }
            };
            let _ = writeln!(out, "\nFAILED {}#{name}\n{what}", report.file);
        }
    }
    out
}

/// The same value with the keys of objects in order, since their order does not count.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(sorted).collect(),
        Value::Object(object) => {
            let members: BTreeMap<_, _> =
                object.iter().map(|(key, value)| (key.clone(), sorted(value))).collect();
            Value::Object(members.into_iter().collect())
        }
        other => other.clone(),
    }
}

/// Expected lines with `-`, ours with `+`, and a little of what surrounds them.
fn diff(expected: &str, actual: &str) -> String {
    let diff = TextDiff::from_lines(expected, actual);
    let mut out = String::new();
    for (i, group) in diff.grouped_ops(2).iter().enumerate() {
        if i > 0 {
            out.push_str("  ...\n");
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let sign = match change.tag() {
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
                ChangeTag::Equal => ' ',
            };
            let _ = writeln!(out, "  {sign} {}", change.value().trim_end_matches('\n'));
        }
    }
    out
}

fn designs(reports: &[FileReport]) -> String {
    let mut counts = BTreeMap::<&str, usize>::new();
    for (_, outcome) in reports.iter().flat_map(|report| &report.cases) {
        if let Outcome::ByDesign(names) = outcome {
            names.iter().for_each(|name| *counts.entry(name).or_default() += 1);
        }
    }
    if counts.is_empty() {
        return String::new();
    }
    let lines: String = counts.iter().map(|(name, count)| format!("  {count:>4}  {name}\n")).collect();
    format!("\nby design, per rule (docs/compatibility.md):\n{lines}")
}

fn later(reports: &[FileReport]) -> String {
    let count = reports.iter().filter(|report| report.standing == Standing::NotYet).count();
    if count == 0 { String::new() } else { format!("\nnot yet: {count} files\n") }
}
