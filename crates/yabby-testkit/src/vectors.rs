//! The vector runner: recorded input → output cases of the reference, run against our rules.
//!
//! A folder has the layout of `vectors/` (its READMEs give the schemas). Every file we implement has
//! a suite in `suites/`; a case is passed, failed, or different by design. A difference by design is
//! code, too: a predicate on the input and the value that we promise instead.

pub mod cli;
mod compare;
pub mod gateway;
pub mod ratchet;
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

    /// A field of the input that is a list of texts.
    pub fn texts(&self, field: &str) -> Vec<String> {
        texts(self.arg(field))
    }
}

/// The texts of a recorded list.
pub fn texts(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
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
    /// Our answer is the promised one, and not the recorded one: the differences that make it so.
    ByDesign(Vec<&'static str>),
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
    pub standing: Standing,
    /// The file could not be read.
    pub error: Option<String>,
}

/// Whether a file is one to be judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Run,
    /// Nobody implements this file yet.
    NotYet,
    /// It tells what another version does, and nobody has to do so.
    Optional,
}

/// The name of every deliberate difference, whether or not a case met it.
pub fn differences() -> BTreeSet<&'static str> {
    let suites = suites::ALL.iter().chain(suites::memory::ALL).chain([&suites::transcripts::SUITE]);
    let of_rules = suites.flat_map(|suite| suite.differences).map(|difference| difference.name);
    of_rules.chain(cli::differences()).chain(gateway::differences()).collect()
}

/// Files that tell what another version does.
const OPTIONAL: [&str; 1] = ["memory/latest-2026.9.6.json"];

/// Runs what is at `path`: a folder with the layout of `vectors/`, or one file or folder of it. Recorded
/// command lines and scenarios need a program; without one they are left out.
pub fn run(path: &Path, program: Option<&cli::Program>) -> std::io::Result<Vec<FileReport>> {
    let name = name_of(&path.canonicalize()?);
    if path.is_file() {
        let folder = path.canonicalize()?.parent().map(name_of).unwrap_or_default();
        let below = format!("{folder}/{name}");
        if gateway::is_scenario(path) {
            return Ok(scenarios(vec![path.to_owned()], program));
        }
        return Ok(match program.filter(|_| folder == "cli") {
            Some(program) => vec![cli::run_file(path, &below, program)],
            None if suite_of(&below).is_some() || OPTIONAL.contains(&below.as_str()) => {
                vec![run_file(path, &below)]
            }
            None => vec![run_file(path, &name)],
        });
    }
    // A folder is what it holds, whatever it is called.
    if sorted(path)?.iter().any(|file| gateway::is_scenario(file)) {
        return Ok(run_part(path, "gateway", program)?.unwrap_or_default());
    }
    let files: Vec<String> = sorted(path)?.iter().map(|inner| name_of(inner)).collect();
    let holds_files_of = |here: &str, elsewhere: &str| {
        let is_there = |folder: &str, name: &String| suite_of(&format!("{folder}{name}")).is_some();
        files.iter().any(|name| is_there(here, name) && !is_there(elsewhere, name))
    };
    let reports = match (holds_files_of("", "memory/"), holds_files_of("memory/", "")) {
        (true, _) => None,
        (false, true) => run_part(path, "memory", program)?,
        (false, false) => run_part(path, &name, program)?,
    };
    match reports {
        Some(reports) => Ok(reports),
        None => run_top(path, program),
    }
}

fn run_top(folder: &Path, program: Option<&cli::Program>) -> std::io::Result<Vec<FileReport>> {
    let mut reports = Vec::new();
    for inner in sorted(folder)? {
        let name = name_of(&inner);
        if inner.is_dir() {
            reports.extend(run_part(&inner, &name, program)?.into_iter().flatten());
        } else if is_json(&inner) {
            reports.push(run_file(&inner, &name));
        }
    }
    if reports.is_empty() {
        return Err(std::io::Error::other("no recorded cases are in it"));
    }
    Ok(reports)
}

/// A folder below the top, by its name; `None` if it is none of them.
fn run_part(
    folder: &Path,
    name: &str,
    program: Option<&cli::Program>,
) -> std::io::Result<Option<Vec<FileReport>>> {
    if folder.join("expected.json").is_file() {
        return Ok(Some(vec![run_transcript_case(folder, &format!("transcripts/{name}"))]));
    }
    let inner = || sorted(folder).map(Vec::into_iter);
    Ok(match name {
        "transcripts" => {
            let cases = inner()?.filter(|case| case.is_dir());
            Some(
                cases
                    .map(|case| run_transcript_case(&case, &format!("transcripts/{}", name_of(&case))))
                    .collect(),
            )
        }
        "cli" => {
            let files = inner()?.filter(|file| file.is_file() && is_json(file));
            let run = |file: PathBuf| {
                program.map(|program| cli::run_file(&file, &format!("cli/{}", name_of(&file)), program))
            };
            Some(files.filter_map(run).collect())
        }
        "memory" => {
            let files = inner()?.filter(|file| file.is_file() && is_json(file));
            Some(files.map(|file| run_file(&file, &format!("memory/{}", name_of(&file)))).collect())
        }
        "gateway" => {
            let files = inner()?.filter(|file| file.is_file() && is_json(file));
            Some(scenarios(files.collect(), program))
        }
        _ => None,
    })
}

/// Plays recorded scenarios of the gateway; without a gateway they wait for one.
fn scenarios(files: Vec<PathBuf>, program: Option<&cli::Program>) -> Vec<FileReport> {
    match program.map(cli::Program::replay) {
        Some(Some(replay)) => gateway::run(&files, &replay),
        Some(None) => files.iter().map(|file| not_yet(&format!("gateway/{}", name_of(file)))).collect(),
        None => Vec::new(),
    }
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn is_json(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "json" || extension == "jsonl")
}

fn not_yet(file: &str) -> FileReport {
    FileReport { file: file.to_owned(), cases: Vec::new(), standing: Standing::NotYet, error: None }
}

fn suite_of(file: &str) -> Option<&'static Suite> {
    suites::ALL.iter().chain(suites::memory::ALL).find(|suite| suite.file == file)
}

fn sorted(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut paths =
        std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

fn run_file(path: &Path, file: &str) -> FileReport {
    if OPTIONAL.contains(&file) {
        return FileReport {
            file: file.to_owned(),
            cases: Vec::new(),
            standing: Standing::Optional,
            error: None,
        };
    }
    let Some(suite) = suite_of(file) else {
        return broken(file, "no suite knows this file".to_owned());
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
    FileReport { file: file.to_owned(), cases: Vec::new(), standing: Standing::Run, error: Some(error) }
}

fn run_cases(suite: &Suite, file: &str, cases: Vec<Case>) -> FileReport {
    if cases.is_empty() {
        return broken(file, "no cases are in it".to_owned());
    }
    // A transcript case has one of each section, so the section names it.
    let name = |case: &Case| match file.starts_with("transcripts/") {
        true => case.rule.clone(),
        false => format!("{}[{}]", case.rule, case.name),
    };
    let cases = cases.iter().map(|case| (name(case), judge(suite, case))).collect();
    FileReport { file: file.to_owned(), cases, standing: Standing::Run, error: None }
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
    // Which cases a difference touches must not depend on what was recorded.
    let blind = Case { expected: Value::Null, ..case.clone() };
    let difference = suite.differences.iter().find(|difference| (difference.applies)(&blind));
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
                Outcome::ByDesign(vec![difference.name])
            }
        }
    }
}
