//! `cargo xtask bench memory`: what it costs to index and to search what is remembered.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::machine;
use super::models::Form;
use super::report::{self, Row, Target, median, seconds, times};
use crate::dice::Dice;
use crate::judge::minilm_package;
use crate::peer::Peer;
use crate::program::{Build, cargo, yabby};
use crate::reference::{self, Reference, state_folder};

/// A chunk of the reference goes on by so many characters.
const CHUNK: usize = 1280;
const CHUNKS_IN_A_FILE: usize = 25;
const SEARCHES: usize = 7;
/// The reference writes every chunk by itself: it is not waited for longer than this.
const LIMIT: Duration = Duration::from_secs(7 * 60);

impl Form {
    /// Chunks of notes, with the reference beside us.
    fn chunks(self) -> &'static [usize] {
        match self {
            Self::Whole => &[10_000, 100_000],
            Self::Short => &[500],
        }
    }

    /// Messages, for us alone.
    fn messages(self) -> &'static [usize] {
        match self {
            Self::Whole => &[10_000, 100_000, 1_000_000],
            Self::Short => &[5_000],
        }
    }
}

pub fn memory(form: Form) -> Result<()> {
    let reference = Reference::installed()?;
    let yabby = yabby(Build::Shipped)?;
    let folder = tempfile::Builder::new().prefix("bench-").tempdir_in(reference::cache()?)?;
    let mut rows = Vec::new();
    for chunks in form.chunks() {
        rows.extend(beside(&reference, &yabby, &folder.path().join(format!("notes-{chunks}")), *chunks)?);
    }
    for messages in form.messages() {
        rows.extend(alone(&folder.path().join(format!("messages-{messages}")), *messages)?);
    }
    let table = report::table(&rows);
    if form == Form::Short {
        println!("{table}\nnothing is written: this was the short form");
        return Ok(());
    }
    let section = format!(
        "\n## Memory\n\n{}.\nyabby {} beside OpenClaw {} on Node {}, {}.\n\n{EXPLANATION}\n\n{table}",
        machine::describe(folder.path())?,
        machine::version()?,
        reference::OPENCLAW,
        reference.node_version()?.trim_start_matches('v'),
        machine::today()?,
    );
    report::publish("memory", &section)?;
    println!("{table}\nwritten to docs/benchmarks.md");
    Ok(())
}

const EXPLANATION: &str = "\
Notes: the same workspace for both, made of words that are as unevenly frequent as in real texts; the whole command from its
start to its end, `memory index` once and `memory search` seven times (median). OpenClaw has a service for embeddings on
loopback that costs next to nothing; yabby works by words. OpenClaw is stopped after seven minutes. Messages: our index in one process, 300 questions of three to eight
words; with the local model the question is embedded for real, and the vectors of the messages are made up.";

/// Both index and search the same notes.
fn beside(reference: &Reference, yabby: &Path, home: &Path, chunks: usize) -> Result<Vec<Row>> {
    let workspace = home.join("workspace");
    write_notes(&workspace, chunks)?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bench/reference_memory.mjs");
    fs::create_dir_all(state_folder(home))?;
    let mut room = Peer::start("OpenClaw", &mut reference.script_with_loopback(&script, home))?;
    room.be_patient(LIMIT * 2);
    let address = room.ask(&json!({"do": "address"}))?;
    let remote = json!({"baseUrl": address, "apiKey": "none", "batch": {"enabled": false}});
    configure(home, &workspace, json!({"provider": "openai", "model": "numbers", "remote": remote}))?;
    let own = home.join("own");
    configure(&own, &workspace, json!({}))?;
    let ours = |room: &mut Peer, words: &[&str]| {
        let environment = json!({"HOME": own, "OPENCLAW_STATE_DIR": state_folder(&own)});
        let errand = json!({"do": "other", "program": yabby, "words": words, "environment": environment});
        took(&room.ask(&errand)?, words)
    };
    let theirs = |room: &mut Peer, words: &[&str]| {
        let told = room.ask(&json!({"do": "openclaw", "words": words, "limit": LIMIT.as_secs()}))?;
        match told["late"] == true {
            true => Ok(None),
            false => took(&told, words).map(Some),
        }
    };
    let index = ["memory", "index"];
    let (our_index, their_index) = (ours(&mut room, &index)?, theirs(&mut room, &index)?);
    let mut dice = Dice::new(7);
    let (mut our_searches, mut their_searches) = (Vec::new(), Vec::new());
    for _ in 0..SEARCHES {
        let question = sentence(&mut dice, 4);
        let search = ["memory", "search", question.as_str()];
        our_searches.push(ours(&mut room, &search)?);
        // Without an index there is nothing to search.
        if their_index.is_some() {
            their_searches.extend(theirs(&mut room, &search)?);
        }
    }
    room.end()?;
    let their_search = (!their_searches.is_empty()).then(|| median(their_searches));
    Ok(vec![
        compared(
            format!("`memory index`, notes that are {chunks} chunks to OpenClaw"),
            our_index,
            their_index,
            |faster| Target::wanted("≥ 10 × faster", faster >= 10.0),
        ),
        match their_search {
            None => {
                let what = format!("`memory search`, the same notes, {chunks} chunks");
                row(what, seconds(median(our_searches)), String::new(), String::new(), Target::None)
            }
            Some(_) => compared(
                format!("`memory search`, the same notes, {chunks} chunks"),
                median(our_searches),
                their_search,
                |_| Target::None,
            ),
        },
    ])
}

/// A row for both. Whoever was not waited for took longer than the limit.
fn compared(what: String, ours: f64, theirs: Option<f64>, target: impl FnOnce(f64) -> Target) -> Row {
    let limit = LIMIT.as_secs_f64();
    let faster = theirs.unwrap_or(limit) / ours;
    let (shown, ratio) = match theirs {
        Some(theirs) => (seconds(theirs), times(faster)),
        None => (format!("> {} min, stopped", limit / 60.0), format!("> {}", times(faster))),
    };
    row(what, seconds(ours), shown, ratio, target(faster))
}

fn took(told: &Value, words: &[&str]) -> Result<f64> {
    ensure!(told["status"] == 0, "{words:?}: {}", told["printed"].as_str().unwrap_or_default());
    told["seconds"].as_f64().context("how long it took is told")
}

fn configure(home: &Path, workspace: &Path, mut search: Value) -> Result<()> {
    search["sync"] = json!({"watch": false, "onSessionStart": false, "onSearch": false});
    let config = json!({"agents": {"defaults": {"workspace": workspace, "memorySearch": search}}});
    fs::create_dir_all(state_folder(home))?;
    Ok(fs::write(state_folder(home).join("openclaw.json"), config.to_string())?)
}

/// Notes that make so many chunks, of paragraphs of forty words.
fn write_notes(workspace: &Path, chunks: usize) -> Result<()> {
    fs::create_dir_all(workspace.join("memory"))?;
    let mut dice = Dice::new(42);
    for (number, first) in (0..chunks).step_by(CHUNKS_IN_A_FILE).enumerate() {
        let wanted = CHUNK * CHUNKS_IN_A_FILE.min(chunks - first);
        let mut text = format!("# Notes {number}\n");
        while text.len() < wanted {
            text.push_str(&format!("\n{}.\n", sentence(&mut dice, 40)));
        }
        fs::write(workspace.join(format!("memory/{number:05}.md")), text)?;
    }
    Ok(())
}

/// Words of which few are frequent and most are rare.
fn sentence(dice: &mut Dice, length: usize) -> String {
    const SYLLABLES: [&str; 16] =
        ["ba", "ko", "ri", "ne", "tu", "sha", "lo", "mi", "ver", "dan", "pe", "gol", "fi", "ra", "zu", "wen"];
    let word = |dice: &mut Dice| {
        let chance = dice.fraction();
        let mut left = (60_000_f64.powf(chance) as usize).wrapping_mul(2_654_435_761) % 1_048_573;
        let mut word = String::new();
        for _ in 0..4 {
            word.push_str(SYLLABLES[left % SYLLABLES.len()]);
            left /= SYLLABLES.len();
        }
        word
    };
    (0..length).map(|_| word(dice)).collect::<Vec<_>>().join(" ")
}

/// Our index alone, with messages.
fn alone(folder: &Path, messages: usize) -> Result<Vec<Row>> {
    let mut command = cargo();
    command.args([
        "run",
        "--quiet",
        "--release",
        "--locked",
        "-p",
        "yabby-memory",
        "--example",
        "measure",
        "--",
    ]);
    command.arg(folder).arg(messages.to_string()).arg(minilm_package()?);
    let output = command.output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let told: Value = serde_json::from_slice(&output.stdout).context("it tells what it measured")?;
    let list = |name: &str| -> Result<Vec<f64>> {
        let times = told[name].as_array().with_context(|| format!("{name} is told"))?;
        let mut times: Vec<f64> = times.iter().filter_map(Value::as_f64).collect();
        times.sort_by(f64::total_cmp);
        Ok(times)
    };
    let at = |times: &[f64], share: f64| times[((times.len() as f64 * share) as usize).min(times.len() - 1)];
    let (words, meaning, found) = (list("byWords")?, list("byMeaning")?, list("untilFound")?);
    let number = |name: &str| told[name].as_f64().with_context(|| format!("{name} is told"));
    let limit = |time: f64, most: f64| match messages {
        100_000 => Target::wanted(&format!("≤ {most} ms"), time * 1000.0 <= most),
        _ => Target::None,
    };
    let own = |what: &str, yabby: String, target: Target| {
        row(format!("{what}, {messages} messages"), yabby, String::new(), String::new(), target)
    };
    Ok(vec![
        own("indexing", seconds(number("indexing")?), Target::None),
        own("search by words, median", seconds(at(&words, 0.5)), Target::None),
        own("search by words, 99th percentile", seconds(at(&words, 0.99)), limit(at(&words, 0.99), 50.0)),
        own("search with the local model, median", seconds(at(&meaning, 0.5)), Target::None),
        own(
            "search with the local model, 99th percentile",
            seconds(at(&meaning, 0.99)),
            limit(at(&meaning, 0.99), 120.0),
        ),
        own(
            "until a new message is found, 99th percentile",
            seconds(at(&found, 0.99)),
            Target::wanted("≤ 100 ms", at(&found, 0.99) <= 0.1),
        ),
        own("most memory, model and index", report::bytes(number("mostMemory")?), Target::None),
    ])
}

fn row(what: String, yabby: String, reference: String, ratio: String, target: Target) -> Row {
    Row { what, yabby, reference, ratio, target }
}
