//! Nobody but this crate looks a setting up by its path: a section has a field for it, and a misspelt field does not compile.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use regex::{Captures, Regex};
use yabby_config::read::Read as _;
use yabby_config::sections::Sections;

/// The crates that may: they read the configuration, stand below it, or hold rules against recordings.
const OURS: [&str; 4] = ["yabby-base", "yabby-config", "yabby-config-derive", "yabby-testkit"];

#[test]
fn settings_are_read_by_their_fields() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let patterns = patterns();
    let mut found = Vec::new();
    for entry in fs::read_dir(&crates).unwrap().chain(fs::read_dir(crates.join("../xtask")).unwrap()) {
        let folder = entry.unwrap();
        if !OURS.contains(&folder.file_name().to_str().unwrap()) {
            for file in sources(&folder.path().join("src")) {
                let source = fs::read_to_string(&file).unwrap();
                found.extend(lookups(&source, &patterns).into_iter().map(|at| {
                    let file = file.strip_prefix(&crates).unwrap().display();
                    format!("{file}:{}: {}", at.line, at.text)
                }));
            }
        }
    }
    assert!(found.is_empty(), "settings that are looked up by their paths:\n{}", found.join("\n"));
}

#[test]
fn lookups_are_recognised() {
    let table = [
        (r#"let store = config.raw().get("session");"#, 1),
        ("let all = config\n    .raw()\n    .pointer(\"/session/store\");", 1),
        (r#"config.raw()["gateway"]["port"].as_u64()"#, 1),
        (r#"json::at(config.raw(), &path)"#, 1),
        (r#"json::at(&raw, &["session", "store"])"#, 1),
        (r#"config.text(&["agents", "defaults", "workspace"])"#, 1),
        (r#"let path = ["tools", "web", key];"#, 1),
        (r#"config.session.store.as_deref()"#, 0),
        (r#"KeyPath::of(["gateway", "auth", name])"#, 0),
        (r#"["agents", "list"].join("/")"#, 1),
        ("#[cfg(test)]\nmod tests {\n  config.raw().get(\"session\")\n}", 0),
        (r#"// config.raw().get("session")"#, 0),
    ];
    for (source, count) in table {
        assert_eq!(lookups(source, &patterns()).len(), count, "{source}");
    }
}

struct Lookup {
    line: usize,
    text: String,
}

/// A value of the whole that is taken apart, and a list of keys that begins with a section's.
fn patterns() -> Vec<Regex> {
    let sections: Vec<&str> = Sections::PARTS.iter().map(|part| part.key).collect();
    [
        r"\.raw\(\)\s*(?:\.(?:get|pointer)\(|\[)".to_owned(),
        r"json::at\(\s*&?[\w.]*(?:config|raw)\b".to_owned(),
        format!(r#"\[\s*"({})",\s*(?:"(\w+)"|\w+)\s*[,\]]"#, sections.join("|")),
    ]
    .iter()
    .map(|pattern| Regex::new(pattern).unwrap())
    .collect()
}

fn lookups(source: &str, patterns: &[Regex]) -> Vec<Lookup> {
    let program = source.split("\n#[cfg(test)]").next().unwrap_or_default();
    let program = if program.starts_with("#[cfg(test)]") { "" } else { program };
    let found = patterns.iter().flat_map(|pattern| pattern.captures_iter(program));
    // Other lists of words may begin with the name of a section.
    let is_path = |found: &Captures<'_>| match (found.get(1), found.get(2)) {
        (Some(section), Some(key)) => {
            Sections::shape().knows(&[section, key].map(|word| word.as_str().to_owned()))
        }
        _ => true,
    };
    let is_lookup = |start: &usize| {
        let before = &program[..*start];
        let line = before.rsplit('\n').next().unwrap_or_default().trim_start();
        // Whoever writes a setting names its path.
        !line.starts_with("//") && !before.ends_with("KeyPath::of(")
    };
    let starts = found.filter(is_path).filter_map(|found| found.get(0)).map(|found| found.start());
    let line = |start: usize| program[..start].matches('\n').count();
    let lines: BTreeSet<usize> = starts.filter(is_lookup).map(line).collect();
    let text = |line: usize| program.lines().nth(line).unwrap_or_default().trim().to_owned();
    lines.into_iter().map(|line| Lookup { line: line + 1, text: text(line) }).collect()
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.map(|entry| entry.unwrap().path());
    let of_path = |path: PathBuf| match path.is_dir() {
        true => sources(&path),
        false => vec![path],
    };
    let mut files: Vec<PathBuf> = paths.flat_map(of_path).collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "rs"));
    files
}
