//! `cargo xtask crash store`: a worker is killed at random instants, and everything that it was told is
//! safe must be there.
//!
//! The worker says what it is about to do and what was acknowledged (`churn` in the store worker). From
//! that [`Model`] knows what must be on the disk: all that was acknowledged, and of what each thread was
//! doing at the end all, nothing, or the first entries of several. A folder is used for many rounds, so
//! that damage would add up.

mod foreign;
mod memory;
mod model;
mod transcripts;
mod turns;

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value, json};

use crate::dice::Dice;
use crate::program::Build;
use crate::worker::Worker;
use foreign::Foreign;
use model::Model;

pub use memory::memory;
pub use turns::turns;

const DEFAULT_ROUNDS: u64 = 1000;

/// A new folder begins after so many.
const ROUNDS_PER_FOLDER: u64 = 50;
const THREADS: usize = 3;
const KEYS_PER_THREAD: usize = 6;
/// The longest that a worker lives after its first word.
const LONGEST_LIFE: Duration = Duration::from_millis(50);

pub fn store(words: &[&str]) -> Result<()> {
    let Options { rounds, seed } = Options::read("store", words, DEFAULT_ROUNDS)?;
    let worker = Worker::build(Build::Quick)?;
    println!("seed {seed}");
    let mut dice = Dice::new(seed);
    let mut tally = Tally::default();
    let begin = Instant::now();
    let mut at = 0;
    while at < rounds {
        let folder = tempfile::Builder::new().prefix("yabby-crash-").tempdir()?;
        let mut field = Field::sown(folder.path().canonicalize()?)?;
        for _ in 0..ROUNDS_PER_FOLDER.min(rounds - at) {
            at += 1;
            if let Err(error) = field.round(at, &worker, &mut dice, &mut tally) {
                let kept = folder.keep();
                bail!("round {at} of seed {seed}: {error:#}\nsee {}", kept.display());
            }
        }
        let is_draft = |name: &&String| name.ends_with(".tmp") && !Foreign::is_file(name);
        tally.drafts += crate::snapshot::names(folder.path())?.iter().filter(is_draft).count() as u64;
        println!("{at} rounds, {} operations acknowledged, {:.0?}", tally.acknowledged, begin.elapsed());
    }
    println!("{tally}");
    Ok(())
}

/// What a crash test is asked for.
struct Options {
    rounds: u64,
    seed: u64,
}

impl Options {
    fn read(task: &str, words: &[&str], rounds: u64) -> Result<Self> {
        let mut options = Self { rounds, seed: fresh_seed() };
        for option in words.chunks(2) {
            let number = |text: &str| text.parse().with_context(|| format!("{text} is no number"));
            match option {
                ["--rounds", rounds] => options.rounds = number(rounds)?,
                ["--seed", seed] => options.seed = number(seed)?,
                _ => bail!("crash {task} takes --rounds N and --seed S, not {}", option.join(" ")),
            }
        }
        Ok(options)
    }
}

fn fresh_seed() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(1, |now| u64::from(now.subsec_nanos()) ^ now.as_secs())
}

#[derive(Default)]
struct Tally {
    rounds: u64,
    acknowledged: u64,
    unacknowledged: u64,
    kept_all_the_same: u64,
    before_a_fold: u64,
    in_a_fold: u64,
    after_a_fold: u64,
    in_pairs: u64,
    fenced: u64,
    drafts: u64,
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { rounds, acknowledged, unacknowledged, kept_all_the_same, fenced, drafts, .. } = self;
        writeln!(
            f,
            "{rounds} rounds ({} with two workers), nothing lost, nothing foreign touched",
            self.in_pairs
        )?;
        writeln!(
            f,
            "{acknowledged} operations acknowledged, {unacknowledged} under way ({kept_all_the_same} of them kept)"
        )?;
        writeln!(
            f,
            "{fenced} torn lines fenced off, {drafts} drafts of the dead left at the end of a folder's rounds"
        )?;
        write!(
            f,
            "killed before a fold {}, in one {}, after one {}",
            self.before_a_fold, self.in_a_fold, self.after_a_fold
        )
    }
}

/// A folder over its rounds.
struct Field {
    folder: PathBuf,
    foreign: Foreign,
    model: Model,
}

impl Field {
    fn sown(folder: PathBuf) -> Result<Self> {
        let (foreign, model) = Foreign::sow(&folder)?;
        Ok(Self { folder, foreign, model })
    }

    fn round(&mut self, number: u64, worker: &Worker, dice: &mut Dice, tally: &mut Tally) -> Result<()> {
        let workers = if dice.below(5) == 0 { 2 } else { 1 };
        let files = transcripts::Files::of(&self.folder)?;
        let mut victims = Vec::new();
        for who in 0..workers {
            victims.push(Victim::start(&mut worker.command(&["churn"]), &self.orders(number, who, dice))?);
        }
        let mut has_folded = false;
        for (who, victim) in victims.into_iter().enumerate() {
            let life = LONGEST_LIFE.mul_f64(dice.fraction());
            for said in victim.kill_after(life).with_context(|| format!("worker {who}"))? {
                let acknowledged = self.model.hear(who, &said)?;
                tally.acknowledged += u64::from(acknowledged.is_some());
                has_folded |= acknowledged.as_deref() == Some("fold");
            }
        }
        tally.rounds += 1;
        tally.in_pairs += u64::from(workers == 2);
        tally.note_fold(&self.folder, has_folded)?;
        self.age_lock()?;
        self.check(&files, worker, dice, tally)
    }

    /// The dead are given some time before their lock is removed. We have no time.
    fn age_lock(&self) -> Result<()> {
        const SOME_TIME: Duration = Duration::from_secs(3);
        match std::fs::File::options().write(true).open(self.folder.join("sessions.json.lock")) {
            Ok(lock) => Ok(lock.set_modified(std::time::SystemTime::now() - SOME_TIME)?),
            Err(_) => Ok(()),
        }
    }

    fn orders(&self, round: u64, who: usize, dice: &mut Dice) -> Value {
        let threads: Vec<Value> = (0..THREADS)
            .map(|thread| {
                let keys: Vec<String> = (0..KEYS_PER_THREAD).map(|key| own_key(who, thread, key)).collect();
                json!({ "keys": keys, "transcripts": self.model.transcripts_of(who, thread) })
            })
            .collect();
        json!({ "folder": self.folder, "name": format!("w{who}r{round}"), "seed": dice.next(), "threads": threads })
    }

    fn check(
        &mut self,
        before: &transcripts::Files,
        worker: &Worker,
        dice: &mut Dice,
        tally: &mut Tally,
    ) -> Result<()> {
        let mut reader = worker.serve()?;
        let store = self.folder.join("sessions.json");
        saved(&store).context("as it was left")?;
        let seen = crate::interop::records(&mut reader, &store)?;
        let outcome = self.model.settle_records(&seen, &self.foreign)?;
        tally.unacknowledged += outcome.under_way;
        tally.kept_all_the_same += outcome.kept;
        // Now and then the next worker finds a journal that nobody has folded.
        if dice.below(3) > 0 {
            reader.ask(&json!({ "do": "close", "store": store }))?;
            let saved = saved(&store)?;
            self.foreign.ensure_in_store(&saved)?;
            self.model.ensure_saved(&saved)?;
        }
        let outcome = self.model.settle_transcripts(&self.folder, before, &mut reader)?;
        tally.unacknowledged += outcome.under_way;
        tally.kept_all_the_same += outcome.kept;
        tally.fenced += outcome.fenced;
        reader.end()?;
        self.foreign.ensure_untouched(&self.folder)
    }
}

fn own_key(who: usize, thread: usize, key: usize) -> String {
    format!("agent:main:w{who}-{thread}:{key}")
}

/// `sessions.json` as strict JSON.
fn saved(store: &Path) -> Result<Map<String, Value>> {
    let text = std::fs::read_to_string(store).with_context(|| format!("reading {}", store.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{} does not parse", store.display()))
}

impl Tally {
    /// Where the kill fell: a fold holds the lock, and has a draft until it ends.
    fn note_fold(&mut self, folder: &Path, has_folded: bool) -> Result<()> {
        let is_part_of_fold = |name: &String| {
            name == "sessions.json.lock" || (name.starts_with("sessions.json.") && name.ends_with(".tmp"))
        };
        let count = if crate::snapshot::names(folder)?.iter().any(is_part_of_fold) {
            &mut self.in_a_fold
        } else if has_folded {
            &mut self.after_a_fold
        } else {
            &mut self.before_a_fold
        };
        *count += 1;
        Ok(())
    }
}

/// A worker that is going to be killed.
struct Victim {
    child: Child,
    lines: Receiver<String>,
}

impl Victim {
    fn start(command: &mut Command, orders: &Value) -> Result<Self> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut stdin = child.stdin.take().context("a pipe was asked for")?;
        stdin.write_all(format!("{orders}\n").as_bytes())?;
        let stdout = child.stdout.take().context("a pipe was asked for")?;
        let (send, lines) = channel();
        std::thread::spawn(move || {
            let mut stdout = BufReader::new(stdout);
            let mut line = String::new();
            // A line that was cut off was not said.
            while stdout.read_line(&mut line).is_ok_and(|read| read > 0) && line.ends_with('\n') {
                if send.send(std::mem::take(&mut line)).is_err() {
                    break;
                }
            }
        });
        Ok(Self { child, lines })
    }

    /// Kills it so long after its first word; everything that it said.
    fn kill_after(mut self, life: Duration) -> Result<Vec<Value>> {
        let first = self.lines.recv_timeout(Duration::from_secs(60)).context("it says nothing")?;
        std::thread::sleep(life);
        let ended = self.child.try_wait()?;
        self.child.kill()?;
        self.child.wait()?;
        let said: Vec<String> = std::iter::once(first).chain(self.lines.iter()).collect();
        if let Some(status) = ended {
            bail!("it ended by itself ({status}) after saying {:?}", said.last());
        }
        said.iter()
            .map(|line| serde_json::from_str(line).with_context(|| format!("it said {line}")))
            .collect()
    }
}
