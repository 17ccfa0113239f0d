//! The examples of the documentation, run on the sample folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A `$ yabby …` line, and what stands below it.
struct Example {
    command: String,
    shown: String,
}

fn project(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file)
}

/// The examples in the `console` blocks of a page.
fn examples(page: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    for block in page.split("```console\n").skip(1) {
        for line in block.split("```").next().unwrap_or_default().lines() {
            match line.strip_prefix("$ ") {
                Some(command) => {
                    examples.push(Example { command: command.to_owned(), shown: String::new() });
                }
                None => {
                    let example = examples.last_mut().expect("a command before its output");
                    example.shown.push_str(line);
                    example.shown.push('\n');
                }
            }
        }
    }
    examples
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Runs the examples of a page one after another, in a home with the sample folder, under the name it has there.
fn run(page: &str, folder: &str) {
    let home = tempfile::tempdir().unwrap();
    copy(&project("fixtures/home-sample"), &home.path().join(folder));
    let program = Path::new(env!("CARGO_BIN_EXE_yabby")).parent().unwrap();
    let examples = examples(&fs::read_to_string(project(page)).unwrap());
    assert!(!examples.is_empty(), "{page} has no examples");
    for Example { command, shown } in examples {
        let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
        let output = Command::new("sh")
            .args(["-c", &command])
            .current_dir(home.path())
            .env_clear()
            // Nobody listens there, whatever runs on this machine.
            .envs([
                ("PATH", path.as_str()),
                ("TZ", "UTC"),
                ("COLUMNS", "100"),
                ("OPENCLAW_GATEWAY_PORT", "1"),
            ])
            .env("HOME", home.path())
            .output()
            .expect("a shell");
        let told = String::from_utf8(output.stdout).unwrap();
        let told =
            told.replace(&home.path().display().to_string(), "/home/sam").replace(&today(), "2026-02-03");
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{page}: {command}\n{complaint}");
        assert_eq!(without_ages(&told), without_ages(&shown), "{page}: {command}\n{complaint}");
    }
}

/// What is remembered today stands in the file of today.
fn today() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%d").to_string()
}

/// The sample stays where it is in time, and we do not.
fn without_ages(text: &str) -> String {
    let is_age =
        |word: &str| word.len() > 1 && word.ends_with('d') && word[..word.len() - 1].parse::<u32>().is_ok();
    let words = text.split(' ').map(|word| if is_age(word) { "…d" } else { word });
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn the_readme_shows_what_yabby_prints() {
    run("README.md", ".yabby");
}

#[test]
fn the_page_of_skills_shows_what_commands_print() {
    run("docs/skills.md", ".openclaw");
}

#[test]
fn the_page_of_the_memory_shows_what_commands_print() {
    run("docs/memory.md", ".openclaw");
}

#[test]
fn the_page_of_commands_shows_what_they_print() {
    run("docs/commands.md", ".openclaw");
}
