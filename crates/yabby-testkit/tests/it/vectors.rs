//! Every recorded case, and the runner itself.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use yabby_testkit::vectors::{differences, print_report, run, totals};

use crate::project;

#[test]
fn every_recorded_case_passes() {
    let reports = run(&project("vectors")).expect("the vectors can be read");
    let sum = totals(&reports);
    assert_eq!(sum.failed, 0, "{}", print_report(&reports));
    assert!(sum.passed > 3000, "only {} cases were run", sum.passed);
    let later = ["memory/", "gateway/", "cli/"];
    for report in reports.iter().filter(|report| report.not_yet) {
        assert!(later.iter().any(|folder| report.file.starts_with(folder)), "{} is not run", report.file);
    }
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
    let output = runner(&folder);
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
    let output = runner(&folder);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stdout).unwrap().contains("unknown rule"));
}

#[test]
fn files_of_later_issues_are_listed_and_not_passed() {
    let folder = scratch("later");
    fs::create_dir_all(folder.join("memory")).unwrap();
    fs::write(folder.join("memory/cosine.json"), "[]").unwrap();
    let output = runner(&folder);
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(shown.contains("memory/cosine.json: not yet") && shown.contains("total: 0 passed"), "{shown}");
}

#[test]
fn any_part_of_the_folder_can_be_run() {
    //  part                                  cases at least
    let table = [
        ("vectors/labels.json", 10),
        ("vectors/transcripts", 500),
        ("vectors/transcripts/v1-basic", 10),
        ("vectors/cli", 0),
    ];
    for (part, cases) in table {
        let sum = totals(&run(&project(part)).unwrap());
        assert!(sum.failed == 0 && sum.passed >= cases, "{part}: {sum:?}");
        assert_eq!(sum.not_yet > 0, part == "vectors/cli", "{part}");
    }
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let output = runner(Path::new("no-such-folder"));
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("no-such-folder"));
}

fn runner(folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_vectors")).arg(folder).output().expect("the runner starts")
}

/// An empty folder of this test's own.
fn scratch(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}
