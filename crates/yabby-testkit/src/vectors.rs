//! The vector runner: recorded input → output cases of the reference, run against our rules.
//!
//! A folder has the layout of `vectors/` (its READMEs give the schemas). Every file we implement has
//! a suite in `suites/`; a case is passed, failed, or different by design. A difference by design is
//! code, too: a predicate on the input and the value that we promise instead.

mod compare;
mod report;
mod suites;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use yabby_domain::json::{self, Value};

pub use report::{print_report, totals};

/// One recorded call.
#[derive(Clone, Debug)]
pub struct Case {
    /// The function or the list that the case belongs to.
    pub rule: String,
    /// The name of the case within its rule.
    pub name: String,
    pub input: Value,
    pub expected: Value,
}

impl Case {
    /// A field of the input; null where it is absent.
    pub fn arg(&self, field: &str) -> &Value {
        self.input.get(field).unwrap_or(&Value::Null)
    }

    /// A text field of the input.
    pub fn text(&self, field: &str) -> Option<&str> {
        self.arg(field).as_str()
    }
}

/// How one vector file is read and answered.
pub struct Suite {
    /// The path of the file below the vector folder; for transcripts, the folder of the cases.
    pub file: &'static str,
    /// The cases in the parsed file.
    pub cases: fn(&Value) -> Vec<Case>,
    /// Our answer to a case; `None` if the rule is unknown.
    pub answer: fn(&Case) -> Option<Value>,
    pub differences: &'static [Difference],
}

/// A deliberate difference from the reference, explained in `docs/compatibility.md`.
pub struct Difference {
    /// The name under which `docs/compatibility.md` explains it.
    pub name: &'static str,
    /// Which cases it touches, judged by rule and input alone.
    pub applies: fn(&Case) -> bool,
    /// The full value that we promise for such a case.
    pub expected: fn(&Case) -> Value,
}

/// What became of one case.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    Passed,
    /// Our answer is the promised one, and not the recorded one.
    ByDesign(&'static str),
    Failed {
        expected: Value,
        actual: Value,
    },
    Panicked(String),
    UnknownRule,
}

/// What became of one file.
pub struct FileReport {
    pub file: String,
    pub cases: Vec<(String, Outcome)>,
    /// Nobody implements this file yet.
    pub not_yet: bool,
    /// The file could not be read.
    pub error: Option<String>,
}

/// The name of every deliberate difference, whether or not a case met it.
pub fn differences() -> BTreeSet<&'static str> {
    let suites = suites::ALL.iter().chain([&suites::transcripts::SUITE]);
    suites.flat_map(|suite| suite.differences).map(|difference| difference.name).collect()
}

/// Runs every file at `path`: a folder with the layout of `vectors/`, or any one part of it.
pub fn run(path: &Path) -> std::io::Result<Vec<FileReport>> {
    run_at(path, &name_of(path))
}

/// `name` is the path below the vector folder, as reports show it.
fn run_at(path: &Path, name: &str) -> std::io::Result<Vec<FileReport>> {
    if path.is_file() {
        return Ok(vec![run_file(path, name)]);
    }
    if path.join("expected.json").is_file() {
        return Ok(vec![run_transcript_case(path, &format!("transcripts/{}", name_of(path)))]);
    }
    let mut reports = Vec::new();
    for inner in sorted(path)? {
        let is_case_file = inner.extension().is_some_and(|e| e == "json" || e == "jsonl");
        let inner_name = match name_of(path).as_str() {
            // A list of the cases, not a case.
            "transcripts" if inner.is_file() => continue,
            // What later issues need stands below folders of its own, which are named; so are parts
            // of a case that is not run yet.
            folder @ ("memory" | "gateway" | "cli") if is_case_file => {
                format!("{folder}/{}", name_of(&inner))
            }
            "memory" | "gateway" | "cli" => continue,
            _ => name_of(&inner),
        };
        if inner.is_dir() || is_case_file {
            reports.extend(run_at(&inner, &inner_name)?);
        }
    }
    Ok(reports)
}

fn name_of(path: &Path) -> String {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn sorted(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut paths =
        std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

fn run_file(path: &Path, file: &str) -> FileReport {
    let Some(suite) = suites::ALL.iter().find(|suite| suite.file == file) else {
        return FileReport { file: file.to_owned(), cases: Vec::new(), not_yet: true, error: None };
    };
    let parsed = std::fs::read_to_string(path)
        .map_err(|e| e.to_string())
        .and_then(|text| json::parse(&text).map_err(|e| e.to_string()));
    match parsed {
        Ok(document) => run_cases(suite, file, (suite.cases)(&document)),
        Err(error) => broken(file, error),
    }
}

fn run_transcript_case(folder: &Path, file: &str) -> FileReport {
    match suites::transcripts::load(folder) {
        Ok(cases) => run_cases(&suites::transcripts::SUITE, file, cases),
        Err(error) => broken(file, error.to_string()),
    }
}

fn broken(file: &str, error: String) -> FileReport {
    FileReport { file: file.to_owned(), cases: Vec::new(), not_yet: false, error: Some(error) }
}

fn run_cases(suite: &Suite, file: &str, cases: Vec<Case>) -> FileReport {
    // A transcript case has one of each section, so the section names it.
    let name = |case: &Case| match file.starts_with("transcripts/") {
        true => case.rule.clone(),
        false => format!("{}[{}]", case.rule, case.name),
    };
    let cases = cases.iter().map(|case| (name(case), judge(suite, case))).collect();
    FileReport { file: file.to_owned(), cases, not_yet: false, error: None }
}

fn judge(suite: &Suite, case: &Case) -> Outcome {
    let actual = match catch_unwind(AssertUnwindSafe(|| (suite.answer)(case))) {
        Ok(Some(actual)) => actual,
        Ok(None) => return Outcome::UnknownRule,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            return Outcome::Panicked(
                text.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned())).unwrap_or_default(),
            );
        }
    };
    let difference = suite.differences.iter().find(|difference| (difference.applies)(case));
    match difference {
        None if compare::matches(&case.expected, &actual) => Outcome::Passed,
        None => Outcome::Failed { expected: case.expected.clone(), actual },
        Some(difference) => {
            let promised = (difference.expected)(case);
            if !compare::matches(&promised, &actual) {
                Outcome::Failed { expected: promised, actual }
            } else if compare::matches(&case.expected, &actual) {
                Outcome::Passed
            } else {
                Outcome::ByDesign(difference.name)
            }
        }
    }
}
