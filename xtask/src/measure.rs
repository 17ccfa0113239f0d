//! What the source is like, in figures: how its modules depend on each other, what its signatures leave untyped, what it
//! depends on. `docs/benchmarks.md` has the last ones.

mod cycles;
mod dependencies;
mod untyped;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::bench::publish_in;
use crate::sources::{self, Calls, Module};

/// From `Engine::submit` to the provider, in `yabby-engine/src`: each calls the next.
const SPINE: [(&str, &str); 6] = [
    ("submit.rs", "takes a message in, once, and records it"),
    ("lanes.rs", "finds the lane of its session"),
    ("lane.rs", "decides when its turn comes"),
    ("turn.rs", "names the steps of the turn: prepare, commit"),
    ("agent/run.rs", "the loop: context, model, tools, again"),
    ("agent/call.rs", "one call of the provider"),
];
/// Where the program is put together, in `yabby/src`.
const BOOTSTRAP: [&str; 2] = ["wire.rs", "wire"];

/// One figure.
struct Figure {
    what: String,
    value: usize,
    /// What it shall come to, if anything is promised.
    aim: Option<usize>,
    /// What it consists of, for whoever wants to lower it.
    details: Vec<String>,
}

/// How the figures are printed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Print {
    Table,
    /// With what each figure consists of.
    Details,
    Json,
}

/// Prints the figures.
pub fn run(print: Print) -> Result<()> {
    let figures = figures()?;
    match print {
        Print::Json => println!("{}", serde_json::to_string_pretty(&as_json(&figures))?),
        Print::Table => print!("{}", table(&figures)),
        Print::Details => {
            for figure in &figures {
                println!("{}: {}", figure.what, figure.value);
                figure.details.iter().for_each(|line| println!("    {line}"));
            }
        }
    }
    Ok(())
}

/// Writes the figures to `docs/benchmarks.md`.
pub fn write() -> Result<()> {
    let text = format!("\n## The source\n\n{}", table(&figures()?));
    publish_in("docs/benchmarks.md", "measure", "measure --write", &text)?;
    publish_in("ARCHITECTURE.md", "spine", "measure --write", &spine_table()?)
}

/// The files that a message passes.
fn spine_table() -> Result<String> {
    let mut text = "\n| `yabby-engine/src/` | lines | |\n|---|---:|---|\n".to_owned();
    let mut sum = 0;
    for (file, does) in SPINE {
        let count = lines(&sources::project().join("crates/yabby-engine/src").join(file))?;
        sum += count;
        text.push_str(&format!("| `{file}` | {count} | {does} |\n"));
    }
    text.push_str(&format!("| {} files | {sum} | |\n", SPINE.len()));
    Ok(text)
}

fn figures() -> Result<Vec<Figure>> {
    let crates = sources::crates_of_program()?;
    let mut modules = Vec::new();
    for folder in &crates {
        modules.extend(sources::modules(folder)?);
    }
    let mut figures = Vec::new();
    for (name, label) in [("yabby_domain", "yabby-domain"), ("yabby_engine", "yabby-engine")] {
        figures.extend(cycles::figures(name, label, &modules));
    }
    let lines = lines_of(&modules)?;
    figures.push(Figure {
        what: "lines of the program, without files of tests".to_owned(),
        value: lines,
        aim: None,
        details: Vec::new(),
    });
    figures.extend(untyped::figures(&modules, lines));
    let uncalled = Calls::of(&modules, "yabby::main").all_uncalled();
    figures.push(Figure {
        what: "functions and constants that nothing calls".to_owned(),
        value: uncalled.len(),
        aim: None,
        details: uncalled,
    });
    figures.extend(dependencies::figures()?);
    let crates = sources::project().join("crates");
    let spine = SPINE.iter().map(|(file, _)| crates.join("yabby-engine/src").join(file));
    figures.extend(of_files("the spine, from a message heard to the provider", spine, Some(6))?);
    let bootstrap = BOOTSTRAP.iter().map(|file| crates.join("yabby/src").join(file));
    let mut of_bootstrap = of_files("putting the program together", bootstrap, None)?;
    of_bootstrap
        .iter_mut()
        .filter(|figure| figure.what.starts_with("lines"))
        .for_each(|figure| figure.aim = Some(300));
    figures.extend(of_bootstrap);
    Ok(figures)
}

/// The lines of all files that modules are in.
fn lines_of(modules: &[Module]) -> Result<usize> {
    let files = modules.iter().filter(|module| module.is_file).map(|module| lines(&module.file));
    files.sum()
}

fn lines(file: &Path) -> Result<usize> {
    Ok(fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?.lines().count())
}

/// How many files these are, and their lines; those that are not there any more count for nothing.
fn of_files(
    what: &str,
    paths: impl Iterator<Item = std::path::PathBuf>,
    most: Option<usize>,
) -> Result<Vec<Figure>> {
    let mut files = Vec::new();
    for path in paths {
        match path.is_dir() {
            true => {
                let inner = fs::read_dir(&path).with_context(|| format!("listing {}", path.display()))?;
                for entry in inner {
                    files.push(entry?.path());
                }
            }
            false if path.is_file() => files.push(path),
            false => {}
        }
    }
    files.sort();
    let mut details = Vec::new();
    let mut sum = 0;
    for file in &files {
        let count = lines(file)?;
        sum += count;
        let name = file.strip_prefix(sources::project()).unwrap_or(file);
        details.push(format!("{count:>5}  {}", name.display()));
    }
    let figure = |unit: &str, value, aim| Figure {
        what: format!("{unit} of {what}"),
        value,
        aim,
        details: details.clone(),
    };
    Ok(vec![figure("files", files.len(), most), figure("lines", sum, None)])
}

fn as_json(figures: &[Figure]) -> Value {
    let rows = figures.iter().map(|figure| {
        json!({"what": figure.what, "value": figure.value, "aim": figure.aim, "details": figure.details})
    });
    rows.collect()
}

fn table(figures: &[Figure]) -> String {
    let mut text = "| | now | at most |\n|---|---:|---:|\n".to_owned();
    for figure in figures {
        let aim = figure.aim.map(|aim| aim.to_string()).unwrap_or_default();
        text.push_str(&format!("| {} | {} | {aim} |\n", figure.what, figure.value));
    }
    text
}
