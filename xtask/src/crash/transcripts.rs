//! Holds the transcripts of a folder against what must be in them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::foreign::Foreign;
use super::model::{Archive, Conversation, Known, Model, Outcome, Says, chained, planned, text};
use crate::peer::Peer;

/// The bytes of every transcript of a folder, by its name without `.jsonl`.
pub struct Files(BTreeMap<String, Vec<u8>>);

impl Files {
    pub fn of(folder: &Path) -> Result<Self> {
        let mut files = BTreeMap::new();
        for name in crate::snapshot::names(folder)? {
            if let Some(stem) = name.strip_suffix(".jsonl").filter(|_| !Foreign::is_file(&name)) {
                files.insert(stem.to_owned(), fs::read(folder.join(&name))?);
            }
        }
        Ok(Self(files))
    }
}

/// An entry as it was read.
struct Seen {
    line: String,
    entry: Value,
}

impl Model {
    pub fn settle_transcripts(
        &mut self,
        folder: &Path,
        before: &Files,
        reader: &mut Peer,
    ) -> Result<Outcome> {
        let now = Files::of(folder)?;
        let mut outcome = Outcome::default();
        for ((who, thread), what) in std::mem::take(&mut self.under_way) {
            outcome.under_way += 1;
            let kept = match text(&what, "op")? {
                "append" => self.settle_append(folder, &what, reader)?,
                "fork" => self.settle_fork(folder, (who, thread), &what, &now, reader)?,
                "archive" => self.settle_archive(folder, &what)?,
                other => bail!("{other} is no operation on transcripts"),
            };
            outcome.kept += u64::from(kept);
        }
        for (name, conversation) in &mut self.conversations {
            let seen = read(folder, name, reader)?;
            conversation.ensure_seen(&seen).with_context(|| name.clone())?;
            if let Some(bytes) = now.0.get(name) {
                outcome.fenced += conversation.ensure_whole(bytes).with_context(|| name.clone())?;
            }
        }
        for name in now.0.keys() {
            ensure!(self.conversations.contains_key(name), "nobody made {name}.jsonl");
        }
        self.settle_archives(folder)?;
        self.ensure_only_appended(folder, before, &now)?;
        Ok(outcome)
    }

    /// Of an append that was under way nothing is there, or all, or its first entries.
    fn settle_append(&mut self, folder: &Path, what: &Value, reader: &mut Peer) -> Result<bool> {
        let name = text(what, "file")?;
        let seen = read(folder, name, reader)?;
        self.conversation(name)?.learn_labels(&seen);
        let known = self.conversation(name)?.entries.len();
        let ids: Vec<String> =
            seen.iter().skip(known).filter_map(|seen| seen.entry["id"].as_str().map(str::to_owned)).collect();
        let kept = !ids.is_empty();
        let entries = chained(what["parent"].as_str(), planned(what)?, ids);
        self.conversation(name)?.entries.extend(entries);
        if self.conversation(name)?.entries.is_empty() {
            self.conversations.remove(name);
        }
        Ok(kept)
    }

    /// A fork that was under way is there as a whole, or not at all.
    fn settle_fork(
        &mut self,
        folder: &Path,
        owner: (usize, usize),
        what: &Value,
        now: &Files,
        reader: &mut Peer,
    ) -> Result<bool> {
        let expected = self.forked(owner, what)?;
        let unknown: Vec<&String> =
            now.0.keys().filter(|name| !self.conversations.contains_key(*name)).collect();
        for name in unknown {
            let mut fork = expected.clone();
            if fork.ensure_seen(&read(folder, name, reader)?).is_ok() {
                self.conversations.insert(name.clone(), fork);
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn settle_archive(&mut self, folder: &Path, what: &Value) -> Result<bool> {
        let name = text(what, "file")?;
        let beginning = format!("{name}.jsonl.deleted.");
        let archived = crate::snapshot::names(folder)?
            .into_iter()
            .find(|name| name.starts_with(&beginning) && !self.archives.contains_key(name));
        let is_there = folder.join(format!("{name}.jsonl")).exists();
        match archived {
            Some(_) if is_there => bail!("{name} is archived, and there all the same"),
            Some(archived) => {
                let conversation = self.conversations.remove(name).context("it is known")?;
                self.archives.insert(archived, Archive::Unseen(conversation));
                Ok(true)
            }
            None => Ok(false),
        }
    }

    fn settle_archives(&mut self, folder: &Path) -> Result<()> {
        for (name, archive) in &mut self.archives {
            let bytes = fs::read(folder.join(name)).with_context(|| format!("reading {name}"))?;
            match archive {
                Archive::Seen(before) => ensure!(*before == bytes, "{name} has changed"),
                Archive::Unseen(conversation) => {
                    conversation.ensure_whole(&bytes).with_context(|| name.clone())?;
                    let lines = String::from_utf8_lossy(&bytes).into_owned();
                    let seen: Vec<Seen> = lines.lines().skip(1).filter_map(Seen::of).collect();
                    conversation.ensure_seen(&seen).with_context(|| name.clone())?;
                    *archive = Archive::Seen(bytes);
                }
            }
        }
        Ok(())
    }

    /// Whatever was in a file before still is, at the same place.
    fn ensure_only_appended(&self, folder: &Path, before: &Files, now: &Files) -> Result<()> {
        let archived = |name: &String| {
            let beginning = format!("{name}.jsonl.deleted.");
            let archive = self.archives.keys().find(|archive| archive.starts_with(&beginning))?;
            fs::read(folder.join(archive)).ok()
        };
        for (name, bytes) in &before.0 {
            let now = now.0.get(name).cloned().or_else(|| archived(name));
            let now = now.with_context(|| format!("{name}.jsonl is gone"))?;
            ensure!(now.starts_with(bytes), "{name}.jsonl no longer begins as it did");
        }
        Ok(())
    }
}

fn read(folder: &Path, name: &str, reader: &mut Peer) -> Result<Vec<Seen>> {
    let file = folder.join(format!("{name}.jsonl"));
    let answer = reader.ask(&json!({ "do": "entries", "file": file })).with_context(|| name.to_owned())?;
    let lines = answer["lines"].as_array().into_iter().flatten().filter_map(Value::as_str);
    lines.map(|line| Seen::of(line).with_context(|| format!("{name}: this is no entry: {line}"))).collect()
}

impl Seen {
    fn of(line: &str) -> Option<Self> {
        // Half of a surrogate pair is JSON, but no text of ours.
        let entry: Value = serde_json::from_str(&line.replace("\\ud83d", "?")).ok()?;
        entry.is_object().then(|| Self { line: line.trim_end_matches('\r').to_owned(), entry })
    }

    fn is(&self, known: &Known) -> bool {
        let id_fits = self.entry["id"] == known.id;
        let parent_fits = self.entry["parentId"].as_str() == known.parent.as_deref();
        let says_so = match &known.says {
            Says::Line(line) => {
                self.line == *line || self.entry == Self::of(line).map_or(Value::Null, |seen| seen.entry)
            }
            Says::Text { marker, size, .. } => says(&self.entry, &format!("<{marker}>{}", "y".repeat(*size))),
            Says::AnyLabel => self.entry["type"] == "label",
        };
        id_fits && parent_fits && says_so
    }
}

fn says(value: &Value, text: &str) -> bool {
    match value {
        Value::String(said) => said == text,
        Value::Array(items) => items.iter().any(|item| says(item, text)),
        Value::Object(members) => members.values().any(|member| says(member, text)),
        _ => false,
    }
}

impl Conversation {
    /// The entries are those that must be there, in order, and no others.
    fn ensure_seen(&mut self, seen: &[Seen]) -> Result<()> {
        self.learn_labels(seen);
        for (at, known) in self.entries.iter().enumerate() {
            let Some(seen) = seen.get(at) else {
                bail!("{} entries of {} are there; the next is {known:?}", seen.len(), self.entries.len())
            };
            ensure!(seen.is(known), "entry {at} is {}, it must be {known:?}", seen.line);
        }
        let more = seen.get(self.entries.len());
        ensure!(more.is_none(), "nobody wrote {}", more.map(|seen| seen.line.as_str()).unwrap_or_default());
        Ok(())
    }

    /// The labels that a fork wrote are known from when they were first seen.
    fn learn_labels(&mut self, seen: &[Seen]) {
        let Some(at) = self.unseen_labels.take() else { return };
        let is_unknown_label = |seen: &&Seen| {
            seen.entry["type"] == "label" && !self.entries.iter().any(|known| seen.entry["id"] == known.id)
        };
        let labels = seen.iter().skip(at).take_while(is_unknown_label).map(|seen| {
            let field = |name: &str| seen.entry[name].as_str().map(str::to_owned);
            Known { id: field("id").unwrap_or_default(), parent: field("parentId"), says: Says::AnyLabel }
        });
        let labels: Vec<Known> = labels.collect();
        self.entries.splice(at..at, labels);
    }

    /// Every line of the file is JSON, except what others wrote and ends that were torn off by a kill; how
    /// many of those are new.
    fn ensure_whole(&mut self, bytes: &[u8]) -> Result<u64> {
        let file = String::from_utf8_lossy(bytes);
        let mut lines: Vec<&str> = file.split('\n').collect();
        let rest = lines.pop().unwrap_or_default();
        for line in lines {
            let is_known = Foreign::is_planted(line) || self.torn.iter().any(|torn| torn == line);
            ensure!(is_known || Seen::of(line).is_some(), "this line is no JSON: {line}");
        }
        let is_torn = !rest.is_empty() && Seen::of(rest).is_none() && !Foreign::is_planted(rest);
        if is_torn && !self.torn.iter().any(|torn| torn == rest) {
            self.torn.push(rest.to_owned());
            return Ok(1);
        }
        Ok(0)
    }
}
