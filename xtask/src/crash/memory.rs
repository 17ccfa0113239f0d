//! `cargo xtask crash memory`: `yabby memory index` is killed at random instants. Whatever it leaves, a search
//! finds everything that was said, each thing once.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::Options;
use crate::dice::Dice;
use crate::program::{Build, yabby};
use crate::reference::state_folder;

const DEFAULT_ROUNDS: u64 = 200;
/// A new folder begins after so many.
const ROUNDS_PER_FOLDER: u64 = 10;
const CONVERSATIONS: usize = 80;
const MESSAGES: usize = 20;
/// The longest that an index lives.
const LONGEST_LIFE: f64 = 0.25;

pub fn memory(words: &[&str]) -> Result<()> {
    let Options { rounds, seed } = Options::read("memory", words, DEFAULT_ROUNDS)?;
    let yabby = yabby(Build::Quick)?;
    println!("seed {seed}");
    let mut dice = Dice::new(seed);
    let begin = Instant::now();
    let (mut at, mut killed) = (0, 0);
    while at < rounds {
        let home = tempfile::Builder::new().prefix("yabby-crash-").tempdir()?;
        let mut said = 0;
        for round in 0..ROUNDS_PER_FOLDER.min(rounds - at) {
            at += 1;
            said += say(home.path(), round, &mut dice)?;
            killed += u64::from(kill(&yabby, home.path(), &mut dice)?);
            if let Err(error) = check(&yabby, home.path(), round, said) {
                let kept = home.keep();
                bail!("round {at} of seed {seed}: {error:#}\nsee {}", kept.display());
            }
        }
        println!("{at} rounds, {killed} killed, {:.0?}", begin.elapsed());
    }
    ensure!(killed > 0, "nobody was killed: nothing was tried");
    Ok(())
}

/// Everybody says something more; how much that is.
fn say(home: &Path, round: u64, dice: &mut Dice) -> Result<usize> {
    let folder = state_folder(home).join("agents/main/sessions");
    fs::create_dir_all(&folder)?;
    for conversation in 0..CONVERSATIONS {
        let path = folder.join(format!("c{conversation}.jsonl"));
        let is_new = !path.exists();
        let mut file = fs::OpenOptions::new().create(true).append(true).open(&path)?;
        if is_new {
            writeln!(file, "{}", json!({"type": "session", "version": 3, "id": format!("c{conversation}")}))?;
        }
        for at in 0..MESSAGES {
            let text =
                format!("heron{round}x{conversation}x{at} saw {} of {}", dice.below(1000), dice.below(50));
            let message = json!({"role": "user", "content": text});
            let id = format!("{round}-{at}");
            writeln!(
                file,
                "{}",
                json!({"type": "message", "id": id, "timestamp": "2026-02-03T12:00:00.000Z", "message": message})
            )?;
        }
    }
    Ok(CONVERSATIONS * MESSAGES)
}

fn command(yabby: &Path, home: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(yabby);
    command.args(words).env_clear().env("HOME", home).env("OPENCLAW_STATE_DIR", state_folder(home));
    command
}

/// Whether it was killed before it was done.
fn kill(yabby: &Path, home: &Path, dice: &mut Dice) -> Result<bool> {
    let mut child =
        command(yabby, home, &["memory", "index"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    std::thread::sleep(Duration::from_secs_f64(LONGEST_LIFE * dice.fraction()));
    let was_done = child.try_wait()?.is_some();
    child.kill()?;
    child.wait()?;
    Ok(!was_done)
}

fn check(yabby: &Path, home: &Path, round: u64, said: usize) -> Result<()> {
    let told = |words: &[&str]| -> Result<Value> {
        let output = command(yabby, home, words).output()?;
        ensure!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).with_context(|| format!("{words:?} prints JSON"))
    };
    let word = format!("heron{round}x{}x{}", CONVERSATIONS - 1, MESSAGES - 1);
    let found = told(&["memory", "search", &word, "--json"])?;
    let snippet = found["results"][0]["snippet"].as_str().unwrap_or_default();
    ensure!(snippet.contains(&word), "{word} is not found: {found}");
    let stats = told(&["memory", "stats", "--json"])?;
    let messages = count_of(&stats).with_context(|| format!("{stats} counts messages"))?;
    ensure!(messages == said as u64, "{said} things were said, and {messages} are remembered");
    let aside =
        fs::read_dir(state_folder(home).join("recall"))?.filter_map(|entry| Some(entry.ok()?.file_name()));
    let damaged: Vec<_> = aside.filter(|name| name.to_string_lossy().contains("damaged")).collect();
    ensure!(damaged.is_empty(), "a death damaged the index: {damaged:?}");
    Ok(())
}

/// The messages of the main agent, wherever they stand.
fn count_of(stats: &Value) -> Option<u64> {
    match stats {
        Value::Array(agents) => agents.iter().find_map(count_of),
        Value::Object(fields) => {
            fields.get("messages").and_then(Value::as_u64).or_else(|| fields.values().find_map(count_of))
        }
        _ => None,
    }
}
