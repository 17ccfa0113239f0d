//! What must be on the disk, from what the workers said.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Map, Value};

use super::foreign::Foreign;

/// What everybody puts a field into.
pub const SHARED: &str = "agent:main:shared";

/// A thread of a worker.
pub type Owner = (usize, usize);

#[derive(Default)]
pub struct Model {
    records: BTreeMap<String, Map<String, Value>>,
    pub(super) conversations: BTreeMap<String, Conversation>,
    /// What was put away, by the name of its file; it must stay as it is once it was seen.
    pub(super) archives: BTreeMap<String, Archive>,
    /// What each thread was about to do and did not say it had done.
    pub(super) under_way: BTreeMap<Owner, Value>,
}

#[derive(Clone)]
pub struct Conversation {
    pub owner: Owner,
    pub entries: Vec<Known>,
    /// A fork writes labels anew, from here on, with ids that we are not told.
    pub unseen_labels: Option<usize>,
    /// Ends that were cut off when a worker was killed.
    pub torn: Vec<String>,
}

pub enum Archive {
    Unseen(Conversation),
    Seen(Vec<u8>),
}

/// An entry that must be there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    pub id: String,
    /// `None` at the root.
    pub parent: Option<String>,
    pub says: Says,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Says {
    /// Exactly this line.
    Line(String),
    /// A marker, and so many letters after it.
    Text {
        marker: String,
        size: usize,
        is_label: bool,
    },
    AnyLabel,
}

/// What became of what was under way.
#[derive(Default)]
pub struct Outcome {
    pub under_way: u64,
    pub kept: u64,
    pub fenced: u64,
}

impl Known {
    pub fn planted(id: &str, parent: Option<&str>, line: &str) -> Self {
        Self { id: id.to_owned(), parent: parent.map(str::to_owned), says: Says::Line(line.to_owned()) }
    }

    pub fn is_label(&self) -> bool {
        matches!(self.says, Says::AnyLabel | Says::Text { is_label: true, .. })
    }
}

impl Conversation {
    pub fn new(owner: Owner, entries: Vec<Known>) -> Self {
        Self { owner, entries, unseen_labels: None, torn: Vec::new() }
    }

    /// The entries from the root to this one.
    fn path_to(&self, id: &str) -> Vec<&Known> {
        let mut path = Vec::new();
        let mut next = Some(id);
        while let Some(id) = next {
            let found = self.entries.iter().rfind(|entry| entry.id == id);
            // Something below a label that a fork wrote: they hang from the last entry before them.
            let before_labels = || self.entries.get(self.unseen_labels?.checked_sub(1)?);
            let Some(entry) = found.or_else(before_labels) else { break };
            path.push(entry);
            next = entry.parent.as_deref();
        }
        path.reverse();
        path
    }
}

impl Model {
    pub fn plant_record(&mut self, key: String, record: Value) {
        if let Value::Object(record) = record {
            self.records.insert(key, record);
        }
    }

    pub fn plant_conversation(&mut self, name: String, thread: usize, entries: Vec<Known>) {
        self.conversations.insert(name, Conversation::new((0, thread), entries));
    }

    pub fn records(&self) -> impl Iterator<Item = (String, Value)> {
        self.records.iter().map(|(key, record)| (key.clone(), Value::Object(record.clone())))
    }

    pub fn transcripts_of(&self, who: usize, thread: usize) -> Vec<&String> {
        let own = self.conversations.iter().filter(|(_, conversation)| conversation.owner == (who, thread));
        own.map(|(name, _)| name).collect()
    }

    /// Takes down what a worker said; which operation was acknowledged, if one was.
    pub fn hear(&mut self, who: usize, said: &Value) -> Result<Option<String>> {
        if let Some(error) = said["failed"].as_str() {
            bail!("an operation failed: {error}");
        }
        let owner = (who, usize::try_from(said["thread"].as_u64().context("a thread says who it is")?)?);
        if let Some(name) = said["opened"].as_str() {
            self.ensure_opened_at_its_end(name, said["leaf"].as_str())?;
        } else if let Some(what) = said.get("try") {
            self.begin(owner, what)?;
        } else if let Some(done) = said.get("done") {
            let what = self.under_way.remove(&owner).context("it did what it had not begun")?;
            self.acknowledge(owner, &what, done).with_context(|| what.to_string())?;
            return Ok(Some(text(&what, "op")?.to_owned()));
        } else {
            bail!("it said {said}");
        }
        Ok(None)
    }

    fn begin(&mut self, owner: Owner, what: &Value) -> Result<()> {
        if what["op"] == "append" {
            let name = text(what, "file")?;
            let new = || Conversation::new(owner, Vec::new());
            self.conversations.entry(name.to_owned()).or_insert_with(new);
        }
        ensure!(self.under_way.insert(owner, what.clone()).is_none(), "it did two things at once");
        Ok(())
    }

    fn acknowledge(&mut self, owner: Owner, what: &Value, done: &Value) -> Result<()> {
        match text(what, "op")? {
            "update" => {
                let key = text(what, "key")?;
                let record = self.updated(key, what);
                let told: Value = serde_json::from_str(text(done, "record")?)?;
                ensure!(
                    told == Value::Object(record.clone()),
                    "the record is {told}, not {}",
                    Value::Object(record)
                );
                self.records.insert(key.to_owned(), record);
            }
            "remove" => {
                self.records.remove(text(what, "key")?);
            }
            "share" => {
                let shared = self.records.get_mut(SHARED).context("the shared record is planted")?;
                shared.insert(text(what, "field")?.to_owned(), what["value"].clone());
            }
            "fold" => {}
            "append" => {
                let ids: Vec<String> = serde_json::from_value(done["ids"].clone())?;
                let planned = planned(what)?;
                ensure!(ids.len() == planned.len(), "{} ids for {} entries", ids.len(), planned.len());
                let entries = chained(what["parent"].as_str(), planned, ids);
                self.conversation(text(what, "file")?)?.entries.extend(entries);
            }
            "fork" => {
                let fork = self.forked(owner, what)?;
                self.conversations.insert(text(done, "file")?.to_owned(), fork);
            }
            "archive" => {
                let conversation = self.conversations.remove(text(what, "file")?);
                match done["archived"].as_str() {
                    Some(archived) => {
                        let name = archived.rsplit('/').next().unwrap_or(archived).to_owned();
                        let conversation = conversation.context("it is known")?;
                        self.archives.insert(name, Archive::Unseen(conversation));
                    }
                    // Nothing was said in it yet.
                    None => ensure!(
                        conversation.is_none_or(|known| known.entries.is_empty()),
                        "it was archived nowhere"
                    ),
                }
            }
            other => bail!("no operation is called {other}"),
        }
        Ok(())
    }

    pub(super) fn conversation(&mut self, name: &str) -> Result<&mut Conversation> {
        self.conversations.get_mut(name).with_context(|| format!("no conversation is called {name}"))
    }

    fn ensure_opened_at_its_end(&self, name: &str, leaf: Option<&str>) -> Result<()> {
        let conversation = self.conversations.get(name);
        let ends_in_labels =
            conversation.is_some_and(|known| known.unseen_labels == Some(known.entries.len()));
        let end = conversation.and_then(|known| known.entries.last()).map(|last| last.id.as_str());
        ensure!(ends_in_labels || leaf == end, "{name} was opened at {leaf:?}, its end is {end:?}");
        Ok(())
    }

    fn updated(&self, key: &str, what: &Value) -> Map<String, Value> {
        let object = |value: &Value| value.as_object().cloned().unwrap_or_default();
        let mut record = self.records.get(key).cloned().unwrap_or_else(|| object(&what["begin"]));
        record.extend(object(&what["set"]));
        for field in what["remove"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            record.remove(field);
        }
        record
    }

    /// What a fork of a conversation holds.
    pub(super) fn forked(&self, owner: Owner, what: &Value) -> Result<Conversation> {
        let source = self.conversations.get(text(what, "file")?).context("the source is known")?;
        let Some(at) = what["at"].as_str() else {
            let whole = Conversation::new(owner, source.entries.clone());
            return Ok(Conversation { unseen_labels: source.unseen_labels, ..whole });
        };
        let mut entries: Vec<Known> = Vec::new();
        for entry in source.path_to(at).into_iter().filter(|entry| !entry.is_label()) {
            let parent = entries.last().map(|last| last.id.clone());
            entries.push(Known { parent, ..entry.clone() });
        }
        ensure!(!entries.is_empty(), "nothing leads to {at}");
        Ok(Conversation { unseen_labels: Some(entries.len()), ..Conversation::new(owner, entries) })
    }

    /// Holds what yabby lists against what must be there.
    pub fn settle_records(&mut self, seen: &[(String, String)], foreign: &Foreign) -> Result<Outcome> {
        let mut listed = BTreeMap::new();
        for (key, text) in seen {
            let record: Map<String, Value> = serde_json::from_str(text)?;
            ensure!(listed.insert(key.clone(), record).is_none(), "{key} is listed twice");
        }
        for (key, record) in foreign.listed() {
            let now = listed.remove(key).map(Value::Object);
            ensure!(now.as_ref() == Some(record), "the foreign record {key} is listed as {now:?}");
        }
        let mut outcome = Outcome::default();
        let (here, elsewhere) = std::mem::take(&mut self.under_way).into_iter().partition(|(_, what)| {
            matches!(what["op"].as_str(), Some("update" | "remove" | "share" | "fold"))
        });
        self.under_way = elsewhere;
        for what in BTreeMap::into_values(here) {
            outcome.under_way += 1;
            outcome.kept += u64::from(self.adopt(&what, &listed)?);
        }
        for (key, record) in &self.records {
            let now = listed.remove(key);
            ensure!(now.as_ref() == Some(record), "{key} is {now:?}, it must be {record:?}");
        }
        ensure!(listed.is_empty(), "nobody made {:?}", listed.keys());
        Ok(outcome)
    }

    /// Whether what was under way is there all the same.
    fn adopt(&mut self, what: &Value, listed: &BTreeMap<String, Map<String, Value>>) -> Result<bool> {
        let key = what["key"].as_str().unwrap_or_default();
        let now = listed.get(key);
        match text(what, "op")? {
            "update" => {
                let updated = self.updated(key, what);
                if now != Some(&updated) {
                    return Ok(false);
                }
                self.records.insert(key.to_owned(), updated);
            }
            "remove" => {
                if now.is_some() {
                    return Ok(false);
                }
                self.records.remove(key);
            }
            "share" => {
                let field = text(what, "field")?;
                if now.and_then(|record| record.get(field)) != Some(&what["value"]) {
                    return Ok(false);
                }
                let shared = self.records.get_mut(SHARED).context("the shared record is planted")?;
                shared.insert(field.to_owned(), what["value"].clone());
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    pub fn ensure_saved(&self, saved: &Map<String, Value>) -> Result<()> {
        for (key, record) in &self.records {
            let now = saved.get(key).and_then(Value::as_object);
            ensure!(now == Some(record), "sessions.json has {now:?} for {key}, it must be {record:?}");
        }
        Ok(())
    }
}

pub fn text<'v>(value: &'v Value, field: &str) -> Result<&'v str> {
    value[field].as_str().with_context(|| format!("{value} has no {field}"))
}

/// What the entries of an append say.
pub fn planned(what: &Value) -> Result<Vec<Says>> {
    let entries = what["entries"].as_array().context("an append has entries")?;
    let says = |entry: &Value| {
        Ok(Says::Text {
            marker: text(entry, "marker")?.to_owned(),
            size: usize::try_from(entry["size"].as_u64().context("an entry has a size")?)?,
            is_label: entry["label"] == true,
        })
    };
    entries.iter().map(says).collect()
}

/// Entries below each other.
pub fn chained(parent: Option<&str>, says: Vec<Says>, ids: Vec<String>) -> Vec<Known> {
    let mut parent = parent.map(str::to_owned);
    let mut entries = Vec::new();
    for (says, id) in says.into_iter().zip(ids) {
        let above = parent.replace(id.clone());
        entries.push(Known { id, parent: above, says });
    }
    entries
}
