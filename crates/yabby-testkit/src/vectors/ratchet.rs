//! The exact number of recorded cases that pass, of each suite, as a file that tests are held to: one case that is lost
//! fails, and so does one more, until the file says so.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::{FileReport, Outcome, Standing};

const HEAD: &str = "\
# How many recorded cases pass, and how many differ by design, of each suite. The tests hold the runner to exactly these
# numbers; `cargo xtask ratchet` writes them, and lowers none unless it is told to.
";
const PASSED: &str = "passed";
const NOT_YET: &str = "not yet";

/// What came out of the cases of each suite, counted: passed, waiting, and each difference by its name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ratchet(BTreeMap<String, BTreeMap<String, usize>>);

/// Where the numbers of this project are kept.
pub fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ratchet.txt")
}

impl Ratchet {
    /// The numbers of what was run.
    pub fn of(reports: &[FileReport]) -> Self {
        let mut suites = BTreeMap::<String, BTreeMap<String, usize>>::new();
        for report in reports {
            // Each transcript is a folder; together they are a suite.
            let is_transcript = report.file.starts_with("transcripts/");
            let name = if is_transcript { "transcripts" } else { report.file.as_str() };
            let counts = suites.entry(name.to_owned()).or_default();
            match report.standing {
                Standing::Run => drop(counts.entry(PASSED.to_owned()).or_default()),
                Standing::NotYet => *counts.entry(NOT_YET.to_owned()).or_default() += 1,
                Standing::Optional => {}
            }
            for (_, outcome) in &report.cases {
                let counted: &[&str] = match outcome {
                    Outcome::Passed => &[PASSED],
                    Outcome::ByDesign(names) => names,
                    Outcome::Failed { .. } | Outcome::Panicked(_) | Outcome::UnknownRule => &[],
                };
                for name in counted {
                    *counts.entry((*name).to_owned()).or_default() += 1;
                }
            }
        }
        suites.retain(|_, counts| !counts.is_empty());
        Self(suites)
    }

    /// The numbers in the text of the file.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut suites = BTreeMap::new();
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let count = |told: &str| {
                let (name, count) = told.rsplit_once(' ')?;
                Some((name.to_owned(), count.parse::<usize>().ok()?))
            };
            let parsed = line.split_once(": ").and_then(|(suite, told)| {
                Some((suite.to_owned(), told.split(", ").map(count).collect::<Option<BTreeMap<_, _>>>()?))
            });
            let (suite, counts) = parsed.ok_or_else(|| format!("{line:?} is no line of numbers"))?;
            suites.insert(suite, counts);
        }
        Ok(Self(suites))
    }

    /// The text of the file.
    pub fn text(&self) -> String {
        let mut text = HEAD.to_owned();
        for (suite, counts) in &self.0 {
            let told: Vec<String> = counts.iter().map(|(name, count)| format!("{name} {count}")).collect();
            let _ = writeln!(text, "{suite}: {}", told.join(", "));
        }
        text
    }

    /// The suites whose names are accepted.
    pub fn of_suites(&self, is_meant: impl Fn(&str) -> bool) -> Self {
        Self(
            self.0
                .iter()
                .filter(|(suite, _)| is_meant(suite))
                .map(|(suite, counts)| (suite.clone(), counts.clone()))
                .collect(),
        )
    }

    /// Suites of which fewer cases pass than `before`, a line each.
    pub fn lost(&self, before: &Self) -> Vec<String> {
        let passed = |numbers: &Self, suite: &str| {
            numbers.0.get(suite).and_then(|counts| counts.get(PASSED)).copied().unwrap_or_default()
        };
        let is_lost = |suite: &&String| passed(self, suite) < passed(before, suite);
        let line = |suite: &String| {
            format!("{suite}: {} cases pass, {} did", passed(self, suite), passed(before, suite))
        };
        before.0.keys().filter(is_lost).map(line).collect()
    }

    /// Whether the numbers are exactly those that are `written`; else what to do about each that is not.
    pub fn hold(&self, written: &Self) -> Result<(), String> {
        let mut suites: Vec<&String> = self.0.keys().chain(written.0.keys()).collect();
        suites.sort();
        suites.dedup();
        let mut told = String::new();
        for suite in suites {
            let (now, then) = (self.0.get(suite), written.0.get(suite));
            if now != then {
                let _ = writeln!(told, "{suite}: {} (written: {})", shown(now), shown(then));
            }
        }
        if told.is_empty() {
            return Ok(());
        }
        let lost = self.lost(written);
        let advice = match lost.is_empty() {
            true => {
                "No case is lost: `cargo xtask ratchet` writes the new numbers; commit them with the change."
                    .to_owned()
            }
            false => format!("Cases are lost:\n{}", lost.join("\n")),
        };
        Err(format!("the numbers in {} do not hold:\n{told}{advice}", file().display()))
    }
}

fn shown(counts: Option<&BTreeMap<String, usize>>) -> String {
    let told = |counts: &BTreeMap<String, usize>| {
        counts.iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
    };
    counts.map_or_else(|| "nothing".to_owned(), told)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(text: &str) -> Ratchet {
        Ratchet::parse(text).expect("it can be read")
    }

    #[test]
    fn one_case_less_or_more_fails_and_says_what_to_do() {
        let written = numbers("# a note\na.json: a-difference 2, passed 10\nb.json: passed 1\n");
        assert_eq!(numbers(&written.text()), written);
        assert_eq!(written.hold(&written), Ok(()));
        //  now                                                                 told
        let table = [
            ("a.json: a-difference 2, passed 9\nb.json: passed 1\n", "a.json: 9 cases pass, 10 did"),
            ("a.json: a-difference 2, passed 11\nb.json: passed 1\n", "`cargo xtask ratchet` writes"),
            ("a.json: a-difference 3, passed 10\nb.json: passed 1\n", "a-difference 3"),
            ("a.json: a-difference 2, passed 10\n", "b.json: nothing (written: passed 1)"),
            ("a.json: a-difference 2, passed 10\nb.json: passed 1\nc.json: passed 4\n", "written: nothing"),
        ];
        for (now, told) in table {
            let problem = numbers(now).hold(&written).expect_err(now);
            assert!(problem.contains(told), "{problem}");
        }
        assert!(Ratchet::parse("a.json: many\n").is_err());
    }
}
