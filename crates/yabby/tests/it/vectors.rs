//! The recorded command lines of the reference.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use yabby_testkit::vectors::cli::Program;
use yabby_testkit::vectors::ratchet::{self, Ratchet};
use yabby_testkit::vectors::{FileReport, Outcome, print_report, run, totals};

use crate::home::{YABBY, project};

#[test]
fn every_recorded_command_line_passes() {
    let program = Program::new(PathBuf::from(YABBY), project("vectors/cli/homes"));
    let reports = run(&project("vectors/cli"), Some(&program)).unwrap();
    let sum = totals(&reports);
    assert_eq!(sum.failed, 0, "{}", print_report(&reports));
    hold(&reports, "cli/");
    let by_design: BTreeSet<&str> = reports
        .iter()
        .flat_map(|report| &report.cases)
        .flat_map(|(_, outcome)| match outcome {
            Outcome::ByDesign(names) => names.as_slice(),
            _ => &[],
        })
        .copied()
        .collect();
    let expected = [
        "a-new-home-gets-our-own-folder",
        "config-edits-keep-references",
        "every-error-is-told-alike",
        "memory-status-tells-of-both-indexes",
        "secrets-are-not-shown",
        "usage-is-what-the-ledger-has",
    ];
    assert_eq!(by_design, BTreeSet::from(expected));
}

/// They wait while there is no `gateway run`.
#[test]
fn every_recorded_scenario_of_the_gateway_passes() {
    let program = Program::new(PathBuf::from(YABBY), project("vectors/cli/homes"));
    let reports = run(&project("vectors/gateway"), Some(&program)).unwrap();
    let sum = totals(&reports);
    assert_eq!(sum.failed, 0, "{}", print_report(&reports));
    assert_eq!(sum.passed + sum.by_design + sum.not_yet, reports.len(), "{}", print_report(&reports));
    hold(&reports, "gateway/");
}

/// As many as are written pass, and no more.
fn hold(reports: &[FileReport], part: &str) {
    let written = Ratchet::parse(&fs::read_to_string(ratchet::file()).unwrap()).unwrap();
    let held = Ratchet::of(reports).hold(&written.of_suites(|suite| suite.starts_with(part)));
    assert!(held.is_ok(), "{}", held.unwrap_err());
}
