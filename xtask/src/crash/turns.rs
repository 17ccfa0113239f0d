//! `cargo xtask crash turns`: a gateway is killed at random instants while messages stream in.
//!
//! We are the platform: we send messages until they are accepted, again after a kill if nobody said so,
//! and keep what is sent back. In the end every message that was accepted stands in a transcript once,
//! with one answer; no tool that leaves something behind ran twice for it; no reply was sent twice; and a
//! platform that recognises repeated deliveries got every reply.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::{Options, Victim};
use crate::dice::Dice;
use crate::program::{Build, built};

const DEFAULT_ROUNDS: u64 = 500;
/// A new folder begins after so many.
const ROUNDS_PER_FOLDER: u64 = 25;
/// The longest that a worker lives after its first word.
const LONGEST_LIFE: Duration = Duration::from_millis(120);
const MESSAGES_PER_ROUND: u64 = 12;
const PEERS: u64 = 4;
/// All journals of a folder together are never longer.
const LONGEST_JOURNALS: u64 = 512 * 1024;

pub fn turns(words: &[&str]) -> Result<()> {
    let Options { rounds, seed } = Options::read("turns", words, DEFAULT_ROUNDS)?;
    let worker = built("yabby-testkit", "turn_worker", Build::Quick)?;
    println!("seed {seed}");
    let mut dice = Dice::new(seed);
    let mut tally = Tally::default();
    let begin = Instant::now();
    while tally.rounds < rounds {
        let folder = tempfile::Builder::new().prefix("yabby-crash-").tempdir()?;
        let mut town = Town { folder: folder.path().to_owned(), worker: worker.clone(), ..Town::default() };
        let count = ROUNDS_PER_FOLDER.min(rounds - tally.rounds);
        if let Err(error) = town.live(count, &mut dice, &mut tally) {
            let kept = folder.keep();
            bail!("round {} of seed {seed}: {error:#}\nsee {}", tally.rounds, kept.display());
        }
        println!("{} rounds, {} messages accepted, {:.0?}", tally.rounds, tally.accepted, begin.elapsed());
    }
    println!("{tally}");
    Ok(())
}

#[derive(Default)]
struct Tally {
    rounds: u64,
    accepted: usize,
    taken_up: u64,
    interrupted_tools: usize,
    in_doubt: usize,
    longest_journals: u64,
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(
            f,
            "{} kills; {} messages accepted, each answered once; no tool ran twice, no reply was sent twice",
            self.rounds, self.accepted
        )?;
        write!(
            f,
            "{} turns were taken up after a kill; {} tools were interrupted; {} replies may not have arrived where nobody can know; journals never longer than {} KiB",
            self.taken_up,
            self.interrupted_tools,
            self.in_doubt,
            self.longest_journals / 1024
        )
    }
}

/// A folder, and the people who write to it.
#[derive(Default)]
struct Town {
    folder: PathBuf,
    worker: PathBuf,
    /// Every message that was ever sent.
    messages: BTreeMap<String, Order>,
    /// Those of which somebody said that they were accepted.
    accepted: BTreeSet<String>,
}

#[derive(Clone)]
struct Order {
    name: String,
    channel: &'static str,
    peer: u64,
}

impl Order {
    fn told(&self) -> Value {
        json!({"name": self.name, "channel": self.channel, "peer": self.peer.to_string()})
    }
}

impl Town {
    fn live(&mut self, rounds: u64, dice: &mut Dice, tally: &mut Tally) -> Result<()> {
        for _ in 0..rounds {
            tally.rounds += 1;
            self.round(tally.rounds, dice, tally)?;
        }
        self.finish(tally)?;
        self.check(tally)
    }

    fn round(&mut self, number: u64, dice: &mut Dice, tally: &mut Tally) -> Result<()> {
        let again: Vec<Value> = self
            .messages
            .values()
            .filter(|order| !self.accepted.contains(&order.name))
            .map(Order::told)
            .collect();
        let mut messages = Vec::new();
        for at in 0..MESSAGES_PER_ROUND {
            let mark = if dice.below(2) == 0 { "t" } else { "" };
            let channel = if dice.below(2) == 0 { "telegram" } else { "discord" };
            let order = Order { name: format!("m{number}-{at}{mark}"), channel, peer: dice.below(PEERS) };
            messages.push(order);
        }
        let told: Vec<Value> = messages.iter().map(Order::told).collect();
        let orders = json!({"folder": self.folder, "again": again, "messages": told});
        self.messages.extend(messages.into_iter().map(|order| (order.name.clone(), order)));
        let mut command = std::process::Command::new(&self.worker);
        command.arg("churn");
        let victim = Victim::start(&mut command, &orders)?;
        for said in victim.kill_after(LONGEST_LIFE.mul_f64(dice.fraction()))? {
            // A message that is known already was accepted, even if we never heard of it.
            if let Some(name) = said["accepted"].as_str().or_else(|| said["repeated"].as_str()) {
                self.accepted.insert(name.to_owned());
            }
            tally.taken_up += said["recovered"].as_u64().unwrap_or(0);
        }
        let journals = self.length_of_journals()?;
        tally.longest_journals = tally.longest_journals.max(journals);
        ensure!(journals <= LONGEST_JOURNALS, "the journals hold {journals} bytes");
        Ok(())
    }

    fn length_of_journals(&self) -> Result<u64> {
        let Ok(files) = fs::read_dir(self.folder.join("turns")) else { return Ok(0) };
        files.map(|file| Ok(file?.metadata().map_or(0, |found| found.len()))).sum()
    }

    /// The turns in the journals that nobody settled.
    fn unsettled(&self) -> Result<BTreeSet<String>> {
        let mut waiting = BTreeSet::new();
        let Ok(files) = fs::read_dir(self.folder.join("turns")) else { return Ok(waiting) };
        for file in files {
            for record in lines(&file?.path())? {
                let turn = record["turn"].as_str().unwrap_or_default().to_owned();
                match record["step"].as_str() {
                    Some("accepted") => drop(waiting.insert(turn)),
                    Some("settled") => drop(waiting.remove(&turn)),
                    _ => {}
                }
            }
        }
        Ok(waiting)
    }

    fn finish(&self, tally: &mut Tally) -> Result<()> {
        let mut command = std::process::Command::new(&self.worker);
        let output = command.arg("finish").arg(&self.folder).stderr(Stdio::inherit()).output()?;
        ensure!(output.status.success(), "what was left was not finished");
        let told: Value = serde_json::from_slice(&output.stdout).context("it says what it did")?;
        tally.taken_up += told["recovered"].as_u64().unwrap_or(0);
        let waiting = self.unsettled()?;
        ensure!(waiting.is_empty(), "{waiting:?} are not settled although everything was finished");
        Ok(())
    }

    fn check(&self, tally: &mut Tally) -> Result<()> {
        let said = Said::read(&self.folder.join("state/agents/main/sessions"))?;
        let marks = names(&self.folder.join("marks"), |line| line["name"].as_str().map(str::to_owned))?;
        let mut sent = BTreeMap::new();
        for channel in ["telegram", "discord"] {
            let path = self.folder.join(format!("{channel}.sent"));
            let deliveries = names(&path, |line| line["delivery"].as_str().map(str::to_owned))?;
            for (delivery, count) in deliveries {
                ensure!(count == 1, "{delivery} was sent {count} times to {channel}");
            }
            let texts = lines(&path)?;
            let answered = texts.iter().filter_map(|line| line["text"].as_str()).flat_map(answers);
            for name in answered {
                *sent.entry(name).or_insert(0) += 1;
            }
        }
        for (name, order) in &self.messages {
            let count = |counts: &BTreeMap<String, usize>| counts.get(name).copied().unwrap_or(0);
            let (asked, answered, marked, sent) =
                (count(&said.asked), count(&said.answered), count(&marks), count(&sent));
            ensure!(asked <= 1, "{name} stands {asked} times in the transcripts");
            ensure!(answered <= 1, "{name} was answered {answered} times in the transcripts");
            ensure!(marked <= 1, "the tool ran {marked} times for {name}");
            ensure!(sent <= 1, "the answer to {name} was sent {sent} times");
            if self.accepted.contains(name) {
                ensure!(asked == 1, "{name} was accepted and is in no transcript");
                ensure!(answered == 1, "{name} was accepted and has no answer");
                ensure!(sent == 1 || order.channel == "telegram", "the answer to {name} was not sent");
                tally.in_doubt += usize::from(sent == 0);
            }
            if name.ends_with('t') && answered == 1 && marked == 0 {
                tally.interrupted_tools += 1;
            }
        }
        tally.interrupted_tools += said.interrupted;
        tally.accepted += self.accepted.len();
        Ok(())
    }
}

/// What the transcripts say about each message.
#[derive(Default)]
struct Said {
    asked: BTreeMap<String, usize>,
    answered: BTreeMap<String, usize>,
    interrupted: usize,
}

impl Said {
    fn read(folder: &Path) -> Result<Self> {
        let mut said = Self::default();
        for file in fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))? {
            let path = file?.path();
            if path.extension().is_some_and(|ending| ending == "jsonl") {
                lines(&path)?.iter().for_each(|line| said.hear(&line["message"]));
            }
        }
        Ok(said)
    }

    fn hear(&mut self, message: &Value) {
        let blocks = message["content"].as_array().into_iter().flatten();
        let texts: Vec<&str> = blocks.filter_map(|block| block["text"].as_str()).collect();
        for text in texts {
            match message["role"].as_str() {
                Some("user") => {
                    let parts = text.split('<').skip(1).filter_map(|part| part.split_once('>'));
                    parts.for_each(|(name, _)| *self.asked.entry(name.to_owned()).or_default() += 1);
                }
                Some("assistant") => {
                    answers(text).for_each(|name| *self.answered.entry(name).or_default() += 1);
                }
                Some("toolResult") if text.contains("interrupted") => self.interrupted += 1,
                _ => {}
            }
        }
    }
}

/// The names in `done a; done b;`.
fn answers(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split("done ").skip(1).filter_map(|part| part.split_once(';')).map(|(name, _)| name.to_owned())
}

fn lines(path: &Path) -> Result<Vec<Value>> {
    let Ok(text) = fs::read_to_string(path) else { return Ok(Vec::new()) };
    text.lines()
        .map(|line| serde_json::from_str(line).with_context(|| format!("{}: {line}", path.display())))
        .collect()
}

fn names(path: &Path, name: impl Fn(&Value) -> Option<String>) -> Result<BTreeMap<String, usize>> {
    let mut counts = BTreeMap::new();
    for name in lines(path)?.iter().filter_map(name) {
        *counts.entry(name).or_default() += 1;
    }
    Ok(counts)
}
