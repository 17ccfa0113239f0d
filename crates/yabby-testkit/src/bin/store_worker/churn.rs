//! Works on a folder until it is killed. What it is about to do and what was acknowledged goes to its
//! pipe, each in its own line, so that whoever killed it knows what must be there.
//!
//! Its threads share the handles of the stores, as the tasks of a gateway do, but every session and
//! every conversation is the work of one thread; only one record is everybody's.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::json;
use yabby_domain::json::{self, Value};
use yabby_domain::message::Message;
use yabby_domain::seam::Fork;
use yabby_domain::session::entry::{Patch, SessionEntry};
use yabby_domain::session::key::SessionKey;
use yabby_domain::transcript::entry::EntryKind;
use yabby_domain::transcript::file_name::{ArchiveReason, TranscriptId};
use yabby_domain::transcript::tree::{BranchSummary, NewCompaction, NewEntry};
use yabby_store::files::sessions::{SessionFile, Settings};
use yabby_store::files::transcripts::{TranscriptFolder, Writer};

use crate::serve::{begin, conversations, object};
use crate::{Result, say};

/// What everybody puts a field into.
const SHARED: &str = "agent:main:shared";

/// The one line that it is told.
#[derive(Deserialize)]
struct Orders {
    folder: PathBuf,
    /// No other worker and no earlier one has this name.
    name: String,
    seed: u64,
    /// What each thread works on.
    threads: Vec<Share>,
}

#[derive(Deserialize)]
struct Share {
    keys: Vec<String>,
    transcripts: Vec<String>,
}

pub fn churn() -> Result<()> {
    let mut orders = String::new();
    std::io::stdin().read_line(&mut orders)?;
    let orders: Orders = serde_json::from_str(&orders)?;
    let sessions = SessionFile::open(orders.folder.join("sessions.json"), Settings::default())?;
    let transcripts = conversations(&orders.folder)?;
    let threads: Vec<_> = orders.threads.into_iter().zip(0_u64..).collect();
    std::thread::scope(|scope| {
        for (share, number) in threads {
            let worker = Worker {
                name: format!("{}-{number}", orders.name),
                number,
                done: 0,
                dice: Dice(orders.seed ^ (number << 32)),
                sessions: sessions.clone(),
                transcripts: transcripts.clone(),
                keys: share.keys,
                files: share.transcripts,
                open: BTreeMap::new(),
            };
            scope.spawn(move || {
                if let Err(error) = worker.work() {
                    // Whoever reads it is gone if this fails.
                    let _ = say(&json!({ "failed": error.to_string() }));
                }
            });
        }
    });
    Ok(())
}

struct Worker {
    name: String,
    number: u64,
    /// How many things it began to do.
    done: u64,
    dice: Dice,
    sessions: SessionFile,
    transcripts: TranscriptFolder,
    keys: Vec<String>,
    files: Vec<String>,
    open: BTreeMap<String, Writer>,
}

impl Worker {
    fn work(mut self) -> Result<()> {
        loop {
            self.done += 1;
            match self.dice.below(100) {
                0..35 => self.update()?,
                35..40 => self.remove()?,
                40..50 => self.share()?,
                50..54 => self.fold()?,
                54..82 => self.append()?,
                82..90 => self.branch()?,
                90..94 => self.fork()?,
                94..97 => self.archive()?,
                _ => self.let_go(),
            }
        }
    }

    /// Says what is about to be done, does it, and says what came of it.
    fn report(&mut self, what: Value, act: impl FnOnce(&mut Self) -> Result<Value>) -> Result<()> {
        say(&json!({ "try": what, "thread": self.number }))?;
        let done = act(self)?;
        say(&json!({ "done": done, "thread": self.number }))
    }

    fn update(&mut self) -> Result<()> {
        let key = self.dice.choose(&self.keys).clone();
        let text = "x".repeat(self.dice.below(2000));
        let set = json!({ "updatedAt": 1_768_469_400_000 + self.done, "by": self.name, "number": self.done, "text": text });
        let begin = json!({ "sessionId": format!("{}-{}", self.name, self.done) });
        let remove = if self.dice.below(4) == 0 { vec!["text"] } else { Vec::new() };
        self.report(
            json!({ "op": "update", "key": key, "begin": begin, "set": set, "remove": remove }),
            |worker| {
                let mut patch = Patch::from_object(&object(set.clone()));
                remove.iter().for_each(|field| patch.put(field, None));
                let change = Box::new(move |record: &mut Option<SessionEntry>| {
                    record.get_or_insert_with(|| SessionEntry::new(object(begin))).apply(&patch);
                });
                let record = worker.sessions.update_blocking(&SessionKey::new(key.as_str()), change)?;
                let record = record.ok_or("the record is gone at once")?;
                Ok(json!({ "record": json::stringify_object(record.as_object()) }))
            },
        )
    }

    fn remove(&mut self) -> Result<()> {
        let key = self.dice.choose(&self.keys).clone();
        self.report(json!({ "op": "remove", "key": key }), |worker| {
            worker
                .sessions
                .update_blocking(&SessionKey::new(key.as_str()), Box::new(|record| *record = None))?;
            Ok(Value::Null)
        })
    }

    fn share(&mut self) -> Result<()> {
        let field = format!("of {}", self.name);
        let number = self.done;
        self.report(json!({ "op": "share", "key": SHARED, "field": field, "value": number }), |worker| {
            let change = Box::new(move |record: &mut Option<SessionEntry>| {
                let mut patch = Patch::default();
                patch.put(&field, Some(number.into()));
                if let Some(record) = record {
                    record.apply(&patch);
                }
            });
            let record = worker.sessions.update_blocking(&SessionKey::new(SHARED), change)?;
            record.ok_or("the shared record is gone")?;
            Ok(Value::Null)
        })
    }

    fn fold(&mut self) -> Result<()> {
        self.report(json!({ "op": "fold" }), |worker| {
            worker.sessions.flush()?;
            Ok(Value::Null)
        })
    }

    /// Some entries at the end of a conversation, perhaps of a new one.
    fn append(&mut self) -> Result<()> {
        let known = self.dice.pick(&self.files).cloned().filter(|_| self.dice.below(6) > 0);
        let file = known.unwrap_or_else(|| {
            let new = format!("{}-{}", self.name, self.done);
            self.files.push(new.clone());
            new
        });
        let leaf = self.writer(&file)?.transcript().leaf_id().map(str::to_owned);
        let count = 1 + self.dice.below(3);
        let entries: Vec<Planned> =
            (0..count).map(|at| self.plan(at, leaf.as_deref().filter(|_| at == 0))).collect();
        self.write(&file, None, leaf, entries)
    }

    /// The same from an earlier entry on, with or without a summary of what is left.
    fn branch(&mut self) -> Result<()> {
        let Some(file) = self.dice.pick(&self.files).cloned() else { return Ok(()) };
        let ids: Vec<String> = self
            .writer(&file)?
            .transcript()
            .entries()
            .iter()
            .filter_map(|entry| entry.id().map(str::to_owned))
            .collect();
        let Some(to) = self.dice.pick(&ids).cloned() else { return Ok(()) };
        if self.dice.below(2) == 0 {
            let planned = self.plan(0, None);
            return self.write(&file, Some(to.clone()), Some(to), vec![planned]);
        }
        let marker = self.marker(0);
        let planned = json!([{ "marker": marker, "size": 0 }]);
        self.report(json!({ "op": "append", "file": file, "parent": to, "entries": planned }), |worker| {
            let left = BranchSummary { summary: text(&marker, 0), ..BranchSummary::default() };
            let id = worker.writer(&file)?.branch(Some(&to), left)?;
            Ok(json!({ "ids": [id] }))
        })
    }

    fn write(
        &mut self,
        file: &str,
        to: Option<String>,
        parent: Option<String>,
        entries: Vec<Planned>,
    ) -> Result<()> {
        let planned: Vec<Value> = entries.iter().map(Planned::told).collect();
        self.report(json!({ "op": "append", "file": file, "parent": parent, "entries": planned }), |worker| {
            let writer = worker.writer(file)?;
            if to.is_some() {
                writer.move_leaf(to.as_deref())?;
            }
            let entries = entries.into_iter().map(|planned| planned.entry).collect();
            Ok(json!({ "ids": writer.append(entries)? }))
        })
    }

    fn fork(&mut self) -> Result<()> {
        let Some(file) = self.dice.pick(&self.files).cloned() else { return Ok(()) };
        let transcript = self.writer(&file)?.transcript();
        let entries = transcript.entries().iter().filter(|entry| entry.kind() != EntryKind::Label);
        let ids: Vec<String> = entries.filter_map(|entry| entry.id().map(str::to_owned)).collect();
        let Some(at) = self.dice.pick(&ids).cloned() else { return Ok(()) };
        let (fork, at) = match self.dice.below(3) {
            0 => (Fork::Whole { cwd: "/elsewhere".to_owned() }, None),
            _ => (Fork::At(at.clone()), Some(at)),
        };
        self.report(json!({ "op": "fork", "file": file, "at": at }), |worker| {
            let fork = worker.transcripts.fork_blocking(&TranscriptId::new(&file, None)?, &fork)?;
            worker.files.push(fork.as_str().to_owned());
            Ok(json!({ "file": fork.as_str() }))
        })
    }

    fn archive(&mut self) -> Result<()> {
        let Some(file) = self.dice.pick(&self.files).cloned() else { return Ok(()) };
        self.open.remove(&file);
        self.files.retain(|other| *other != file);
        self.report(json!({ "op": "archive", "file": file }), |worker| {
            let id = TranscriptId::new(&file, None)?;
            let archived = worker.transcripts.archive_blocking(&id, ArchiveReason::Deleted)?;
            Ok(json!({ "archived": archived }))
        })
    }

    /// Closes a conversation; whoever goes on with it opens it again.
    fn let_go(&mut self) {
        if let Some(file) = self.dice.pick(&self.files) {
            self.open.remove(file);
        }
    }

    /// Whoever opens a conversation says where it found its end.
    fn writer(&mut self, file: &str) -> Result<&mut Writer> {
        if !self.open.contains_key(file) {
            let id = TranscriptId::new(file, None)?;
            let writer = self.transcripts.open_blocking(&id, &begin(&id, None, None))?;
            say(&json!({ "opened": file, "leaf": writer.transcript().leaf_id(), "thread": self.number }))?;
            self.open.insert(file.to_owned(), writer);
        }
        self.open.get_mut(file).ok_or_else(|| "it was just opened".into())
    }

    /// An entry of some kind. `leaf` is the entry before it, if that is known.
    fn plan(&mut self, at: usize, leaf: Option<&str>) -> Planned {
        let marker = self.marker(at);
        // Now and then more than a page, which the kernel may write in part.
        let size = if self.dice.below(8) == 0 { self.dice.below(30_000) } else { self.dice.below(500) };
        let text = text(&marker, size);
        let message = |role: &str, content: Value| {
            NewEntry::Message(Message::new(object(
                json!({ "role": role, "content": content, "timestamp": 1 }),
            )))
        };
        let entry = match (self.dice.below(12), leaf) {
            (0, _) => NewEntry::Custom { custom_type: "churn".to_owned(), data: Some(text.into()) },
            (1, _) => NewEntry::SessionInfo { name: text },
            (2, _) => NewEntry::ThinkingLevelChange(text),
            (3, Some(leaf)) => NewEntry::Label { target: leaf.to_owned(), label: Some(text) },
            (4, Some(leaf)) => NewEntry::Compaction(NewCompaction {
                summary: text,
                first_kept: leaf.to_owned(),
                ..NewCompaction::default()
            }),
            (5..9, _) => message("user", text.into()),
            _ => message("assistant", json!([{ "type": "text", "text": text }])),
        };
        Planned { marker, size, entry }
    }

    fn marker(&self, at: usize) -> String {
        format!("{}/{}/{at}", self.name, self.done)
    }
}

struct Planned {
    marker: String,
    size: usize,
    entry: NewEntry,
}

impl Planned {
    fn told(&self) -> Value {
        let is_label = matches!(self.entry, NewEntry::Label { .. });
        json!({ "marker": self.marker, "size": self.size, "label": is_label })
    }
}

/// What an entry says: its marker, and as many letters as it is long.
fn text(marker: &str, size: usize) -> String {
    format!("<{marker}>{}", "y".repeat(size))
}

/// Chance that can be repeated.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) >> 32).unwrap_or_default() % limit.max(1)
    }

    fn pick<'l, T>(&mut self, list: &'l [T]) -> Option<&'l T> {
        list.get(self.below(list.len()))
    }

    fn choose<'l, T>(&mut self, list: &'l [T]) -> &'l T {
        &list[self.below(list.len())]
    }
}
