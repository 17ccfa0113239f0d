//! Every recorded case, and the runner itself.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use yabby_testkit::vectors::ratchet::{self, Ratchet};
use yabby_testkit::vectors::{FileReport, Outcome, Standing, differences, print_report, run, totals};

use crate::project;

#[test]
fn every_recorded_case_passes() {
    let reports = run(&project("vectors"), None).expect("the vectors can be read");
    let sum = totals(&reports);
    assert_eq!(sum.failed, 0, "{}", print_report(&reports));
    let written = Ratchet::parse(&fs::read_to_string(ratchet::file()).unwrap()).unwrap();
    let of_rules = |suite: &str| !suite.starts_with("cli/") && !suite.starts_with("gateway/");
    let held = Ratchet::of(&reports).hold(&written.of_suites(of_rules));
    assert!(held.is_ok(), "{}", held.unwrap_err());
    let waits = |report: &&FileReport| report.standing == Standing::NotYet;
    let waiting: Vec<&str> = reports.iter().filter(waits).map(|report| report.file.as_str()).collect();
    assert!(waiting.is_empty(), "{waiting:?} are not run");
}

/// How often each difference met a recorded case. A predicate that grows too wide changes a count.
#[test]
fn differences_touch_the_cases_they_are_meant_for() {
    let expected = [
        ("a-fork-is-a-session-of-its-own", 1),
        ("a-run-keeps-earlier-lines", 1),
        ("escaped-newlines-in-commands", 1),
        ("injected-notes-hang-from-the-leaf", 1),
        ("joined-user-turns-keep-text", 1),
        ("line-compaction-keeps-the-header", 2),
        ("lines-that-are-no-objects-are-skipped", 3),
        ("nothing-appended-is-lost", 9),
        ("reused-call-ids-pair-per-message", 1),
        ("usage-without-cache-fields", 3),
    ];
    let reports = run(&project("vectors"), None).unwrap();
    let mut counts = BTreeMap::<&str, usize>::new();
    for (_, outcome) in reports.iter().flat_map(|report| &report.cases) {
        if let Outcome::ByDesign(names) = outcome {
            names.iter().for_each(|name| *counts.entry(name).or_default() += 1);
        }
    }
    assert_eq!(counts, BTreeMap::from(expected));
}

/// The values in `tests/promises` are written by hand: what we promise, not what was recorded.
#[test]
fn promises_are_kept_to_the_letter() {
    let reports = run(&project("crates/yabby-testkit/tests/promises"), None).unwrap();
    for report in &reports {
        assert_eq!(report.error, None, "{}", report.file);
        for (case, outcome) in &report.cases {
            assert_eq!(*outcome, Outcome::Passed, "{}#{case}", report.file);
        }
    }
    assert!(totals(&reports).passed >= 25);
}

#[test]
fn every_deliberate_difference_is_explained() {
    let page = fs::read_to_string(project("docs/compatibility.md")).expect("the page exists");
    let names = differences();
    assert!(!names.is_empty());
    for name in names {
        assert!(page.contains(&format!("`{name}`")), "docs/compatibility.md does not explain `{name}`");
    }
}

#[test]
fn a_wrong_answer_fails_with_a_diff() {
    let folder = scratch("wrong");
    fs::write(
        folder.join("labels.json"),
        r#"[{"fn":"parseSessionLabel","name":"right","input":{"raw":"a"},"expected":{"ok":true,"label":"a"}},
            {"fn":"parseSessionLabel","name":"wrong","input":{"raw":"a"},"expected":{"ok":true,"label":"b"}}]"#,
    )
    .unwrap();
    let output = runner(&folder, &[]);
    let shown = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1));
    for part in [
        "labels.json: 1 passed, 1 failed",
        "labels.json#parseSessionLabel[wrong]",
        "-   \"label\": \"b\"",
        "+   \"label\": \"a\"",
    ] {
        assert!(shown.contains(part), "{part:?} is missing in:\n{shown}");
    }
}

#[test]
fn an_unknown_rule_fails() {
    let folder = scratch("unknown");
    fs::write(folder.join("labels.json"), r#"[{"fn":"noSuchRule","name":"x","input":{},"expected":null}]"#)
        .unwrap();
    let output = runner(&folder, &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stdout).unwrap().contains("unknown rule"));
}

/// Who plays them is told beside the program.
#[test]
fn scenarios_wait_for_a_gateway() {
    let folder = scratch("scenarios");
    fs::write(folder.join("one.jsonl"), "{\"meta\":{\"name\":\"one\",\"home\":\"empty\"}}\n").unwrap();
    let output = runner(&folder, &["--gateway", "no-such-program"]);
    let shown = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{shown}");
    assert!(shown.contains("FAILED gateway/one.jsonl: no-such-program cannot be started"), "{shown}");
}

#[test]
fn what_another_version_does_is_neither_passed_nor_failed() {
    let reports = run(&project("vectors/memory/latest-2026.9.6.json"), None).unwrap();
    let shown = print_report(&reports);
    assert!(shown.contains("memory/latest-2026.9.6.json: skipped (optional)"), "{shown}");
    assert!(shown.contains("total: 0 passed, 0 failed"), "{shown}");
}

#[test]
fn any_part_of_the_folder_can_be_run() {
    //  part                                  cases at least
    let table = [
        ("vectors/labels.json", 10),
        ("vectors/transcripts", 500),
        ("vectors/transcripts/v1-basic", 10),
        ("vectors/memory", 200),
        ("vectors/memory/cosine.json", 5),
        ("vectors/gateway", 0),
    ];
    for (part, cases) in table {
        let sum = totals(&run(&project(part), None).unwrap());
        assert!(sum.failed == 0 && sum.passed >= cases, "{part}: {sum:?}");
        assert_eq!(sum.not_yet, 0, "{part}");
    }
}

#[test]
fn what_holds_no_cases_does_not_pass() {
    let folder = scratch("no-cases");
    assert_eq!(runner(&folder, &[]).status.code(), Some(2), "an empty folder");
    for (file, text) in
        [("labels.json", "{}"), ("labels.json", "[]"), ("labels.json", "not JSON"), ("unknown.json", "[]")]
    {
        let folder = scratch("no-cases");
        fs::write(folder.join(file), text).unwrap();
        assert_eq!(runner(&folder, &[]).status.code(), Some(1), "{file}: {text}");
    }
}

/// A folder is what it holds, not what it is called.
#[test]
fn a_folder_of_cases_may_have_any_name() {
    let folder = scratch("cli");
    fs::copy(project("vectors/labels.json"), folder.join("labels.json")).unwrap();
    let output = runner(&folder, &[]);
    assert!(String::from_utf8(output.stdout).unwrap().contains("labels.json: 16 passed"));
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let output = runner(Path::new("no-such-folder"), &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("no-such-folder"));
}

fn runner(folder: &Path, options: &[&str]) -> Output {
    // The program and its recorded command lines are tested beside the program.
    let mut runner = Command::new(env!("CARGO_BIN_EXE_vectors"));
    runner.args(options).arg(folder).env("YABBY_BIN", "none").output().expect("the runner starts")
}

/// An empty folder of this test's own.
fn scratch(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}
