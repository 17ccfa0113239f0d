//! The records of a store, in order (`sessions.md` §6).
//!
//! A record is a text until it is changed: it is parsed when it is wanted, and only what changed is serialised. Only the
//! records that were changed last are kept parsed, which takes several times as much memory as their text. So a store of
//! ten thousand sessions costs little more than its own size.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, OnceLock};
use std::thread;

use indexmap::IndexMap;
use yabby_domain::json::Value;
use yabby_domain::seam::{Keys, Records, StoredRecord};
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::glance::{Field, Glance};
use yabby_domain::session::key::SessionKey;
use yabby_domain::session::store_text::{
    self, brief, is_well_written, join_store, read_brief_record, read_record, record_text,
};

/// Cheap to copy: the copies share their records.
#[derive(Clone, Debug, Default)]
pub(super) struct Catalog {
    records: Arc<IndexMap<Arc<str>, Arc<Record>>>,
    /// How many records there ever were.
    begun: u64,
    /// The keys of records that are kept parsed, those that were changed last at the end.
    parsed: VecDeque<Arc<str>>,
}

/// How many records are kept parsed.
const MAX_PARSED: usize = 64;

#[derive(Clone, Debug)]
pub(super) struct Record {
    /// As which it was begun. Records stand in this order.
    number: u64,
    content: Content,
    /// As it is written; empty if that is as it was read. Made when it is first needed.
    written: OnceLock<String>,
    /// When it changed last; `None` if it is no record at all. Looked up when it is first needed.
    changed_at: OnceLock<Option<f64>>,
}

#[derive(Clone, Debug)]
enum Content {
    /// As it was read.
    Text(Part),
    /// As somebody changed it. Who changes it again need not read it again.
    Entry(SessionEntry),
}

/// A part of the text of a store, which all of its records share.
#[derive(Clone, Debug)]
struct Part {
    store: Arc<String>,
    place: Range<usize>,
}

impl Part {
    fn as_str(&self) -> &str {
        self.store.get(self.place.clone()).unwrap_or_default()
    }
}

/// A record has more levels than we read. It stays as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooDeep;

impl Catalog {
    /// The records in the text of a store, or why it is none. Blank text holds nothing, which is no
    /// damage.
    pub(super) fn read(text: String) -> Result<Self, String> {
        if text.trim_start_matches('\u{feff}').trim().is_empty() {
            return Ok(Self::default());
        }
        let parts = store_text::split_store(text)?;
        let store = Arc::new(parts.text);
        let record = |(number, (key, place))| {
            let text = Part { store: store.clone(), place };
            (key, Arc::new(Record::new(number, Content::Text(text))))
        };
        let records: IndexMap<_, _> = (0..).zip(parts.records).map(record).collect();
        Ok(Self { begun: records.len() as u64, records: Arc::new(records), parsed: VecDeque::new() })
    }

    /// A record; `None` also for a value that is none, such as null.
    pub(super) fn entry(&self, key: &str) -> Result<Option<SessionEntry>, TooDeep> {
        self.records.get(key).map_or(Ok(None), |record| record.entry())
    }

    /// All records that can be read.
    pub(super) fn entries(&self) -> Vec<(SessionKey, SessionEntry)> {
        let records = self.records.iter();
        records
            .filter_map(|(key, record)| Some((SessionKey::new(key.clone()), record.entry().ok()??)))
            .collect()
    }

    /// Some records that are looked at one by one, those that changed last first.
    pub(super) fn chosen(
        &self,
        keys: &Keys,
        records: &Records,
        most: usize,
    ) -> Vec<(SessionKey, Arc<Record>)> {
        let mut meant: Vec<(f64, SessionKey, &Arc<Record>)> = Vec::new();
        for (key, record) in self.records.iter() {
            let key = SessionKey::new(key.clone());
            let is_meant = || record.glance().is_some_and(|glance| records(&key, &glance));
            if keys(&key) && is_meant() {
                meant.extend(record.changed_at().map(|at| (at, key, record)));
            }
        }
        meant.sort_by(|(a, ..), (b, ..)| b.total_cmp(a));
        meant.truncate(most);
        meant.into_iter().map(|(_, key, record)| (key, record.clone())).collect()
    }

    pub(super) fn record(&self, key: &str) -> Option<&Arc<Record>> {
        self.records.get(key)
    }

    pub(super) fn records(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<Record>)> {
        self.records.iter()
    }

    /// A look at each record. Many are looked at by several threads.
    pub(super) fn glances(&self) -> Vec<(SessionKey, Glance)> {
        const ENOUGH_FOR_A_THREAD: usize = 2000;
        let records: Vec<(&Arc<str>, &Arc<Record>)> = self.records.iter().collect();
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let share = records.len().div_ceil(threads).max(ENOUGH_FOR_A_THREAD);
        let look = |records: &[(&Arc<str>, &Arc<Record>)]| -> Vec<(SessionKey, Glance)> {
            let look = |(key, record): &(&Arc<str>, &Arc<Record>)| {
                Some((SessionKey::new(Arc::clone(key)), record.glance()?))
            };
            records.iter().filter_map(look).collect()
        };
        thread::scope(|scope| {
            let (mine, others) = records.split_at(share.min(records.len()));
            let others: Vec<_> = others.chunks(share).map(|some| scope.spawn(move || look(some))).collect();
            let mut glances = look(mine);
            for other in others {
                match other.join() {
                    Ok(some) => glances.extend(some),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            glances
        })
    }

    /// Sets or removes a record; its key, what it was and what it is.
    pub(super) fn put(&mut self, key: &str, entry: Option<SessionEntry>) -> Put {
        let known = self.records.get_key_value(key);
        let (key, before) =
            known.map_or((key.into(), None), |(key, before)| (key.clone(), Some(before.clone())));
        let after = entry.map(|entry| {
            let number = before.as_ref().map_or(self.begun, |before| before.number);
            self.begun = self.begun.max(number + 1);
            Arc::new(Record::new(number, Content::Entry(entry)))
        });
        match &after {
            Some(record) => {
                self.records_mut().insert(key.clone(), record.clone());
                self.parsed.push_back(key.clone());
                self.keep_few_parsed();
            }
            None => drop(self.records_mut().shift_remove(&key)),
        }
        Put { key, before, after }
    }

    /// Keeps the records that were changed long ago as text.
    fn keep_few_parsed(&mut self) {
        while self.parsed.len() > MAX_PARSED {
            let Some(key) = self.parsed.pop_front() else { return };
            if self.parsed.contains(&key) {
                continue;
            }
            let as_text = self.records.get(&key).and_then(|record| record.as_text());
            if let Some(record) = as_text {
                self.records_mut().insert(key, Arc::new(record));
            }
        }
    }

    /// Takes over the records of another store, save those whose keys are known here.
    pub(super) fn adopt(&mut self, other: Self) {
        for (key, record) in Arc::unwrap_or_clone(other.records) {
            if !self.records.contains_key(&key) {
                let record = Record::new(self.begun, Arc::unwrap_or_clone(record).content);
                self.begun += 1;
                self.records_mut().insert(key, Arc::new(record));
            }
        }
    }

    /// Whoever looks at a copy goes on seeing what was there.
    fn records_mut(&mut self) -> &mut IndexMap<Arc<str>, Arc<Record>> {
        Arc::make_mut(&mut self.records)
    }

    /// The text of the store.
    pub(super) fn text(&self) -> String {
        join_store(self.records.iter().map(|(key, record)| (&**key, record.written())))
    }
}

/// What became of a record.
pub(super) struct Put {
    pub(super) key: Arc<str>,
    pub(super) before: Option<Arc<Record>>,
    pub(super) after: Option<Arc<Record>>,
}

impl Record {
    fn new(number: u64, content: Content) -> Self {
        Self { number, content, written: OnceLock::new(), changed_at: OnceLock::new() }
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// A parsed record as its text; `None` if it is not parsed.
    fn as_text(&self) -> Option<Self> {
        let Content::Entry(_) = &self.content else { return None };
        let store = Arc::new(self.written().to_owned());
        let place = 0..store.len();
        let changed_at = OnceLock::from(self.changed_at());
        Some(Self { changed_at, ..Self::new(self.number, Content::Text(Part { store, place })) })
    }

    pub(super) fn changed_at(&self) -> Option<f64> {
        *self.changed_at.get_or_init(|| {
            let told = match &self.content {
                Content::Entry(entry) => entry.updated_at(),
                Content::Text(text) => Glance::at(&text.store, text.place.clone())?.number(Field::UpdatedAt),
            };
            Some(told.unwrap_or(0.0))
        })
    }

    pub(super) fn entry(&self) -> Result<Option<SessionEntry>, TooDeep> {
        match &self.content {
            Content::Entry(entry) => Ok(Some(entry.clone())),
            Content::Text(text) => match read_record(text.as_str()).ok_or(TooDeep)? {
                Value::Object(entry) => Ok(Some(SessionEntry::new(entry))),
                _ => Ok(None),
            },
        }
    }

    fn glance(&self) -> Option<Glance> {
        match &self.content {
            Content::Entry(entry) => Some(Glance::of(entry)),
            Content::Text(text) => Glance::at(&text.store, text.place.clone()),
        }
    }

    fn written(&self) -> &str {
        match &self.content {
            Content::Entry(entry) => {
                self.written.get_or_init(|| record_text(&Value::Object(entry.as_object().clone())))
            }
            Content::Text(text) => {
                // What is nested deeper than we read stays as it is, and so does what is well written.
                let read = text.as_str();
                let written = self.written.get_or_init(|| match is_well_written(read) {
                    true => String::new(),
                    false => {
                        let other = read_record(read).map(|record| record_text(&record));
                        other.filter(|text| text != read).unwrap_or_default()
                    }
                });
                if written.is_empty() { read } else { written }
            }
        }
    }
}

impl StoredRecord for Record {
    /// Without what only runs of the session need; `None` for what is no record, or cannot be read.
    fn read(&self) -> Option<SessionEntry> {
        match &self.content {
            Content::Entry(entry) => Some(brief(entry)),
            Content::Text(text) => read_brief_record(text.as_str()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use yabby_domain::json;

    #[test]
    fn what_did_not_change_goes_back_as_it_is() {
        let store = json::parse(
            r#"{"b":{"sessionId":"1","x":{"y":[]}},"a":null,"7":{"sessionId":"2","lone":"\ud83d"},"c":[3.5]}"#,
        )
        .unwrap();
        let text = json::stringify_pretty(&store);
        let mut catalog = Catalog::read(text.clone()).unwrap();
        assert_eq!(catalog.text(), text);
        let mut entry = catalog.entry("b").unwrap().unwrap();
        let mut patch = yabby_domain::session::entry::Patch::default();
        patch.set_label(Some("new"));
        entry.apply(&patch);
        catalog.put("b", Some(entry));
        catalog.put("c", None);
        let keys: Vec<String> =
            catalog.entries().into_iter().map(|(key, _)| key.as_str().to_owned()).collect();
        assert_eq!(keys, ["7", "b"]);
        let read_again = json::parse(&catalog.text()).unwrap();
        assert_eq!(read_again["b"]["label"], "new");
        assert_eq!(read_again["7"], store["7"]);
        assert_eq!(read_again.get("c"), None);
    }

    #[test]
    fn records_that_were_changed_long_ago_are_kept_as_text() {
        let mut catalog = Catalog::default();
        let entry = |at: usize| {
            let mut patch = yabby_domain::session::entry::Patch::default();
            patch.set_label(Some(&format!("label {at}")));
            patch.set_updated_at(Some(at as f64));
            let mut entry = SessionEntry::default();
            entry.apply(&patch);
            entry
        };
        let count = 3 * MAX_PARSED;
        for round in 0..2 {
            for at in 0..count {
                catalog.put(&at.to_string(), Some(entry(at + round)));
            }
        }
        let is_parsed = |record: &&Arc<Record>| matches!(record.content, Content::Entry(_));
        assert_eq!(catalog.records.values().filter(is_parsed).count(), MAX_PARSED);
        for at in 0..count {
            let key = at.to_string();
            assert_eq!(catalog.entry(&key).unwrap(), Some(entry(at + 1)));
            assert_eq!(catalog.record(&key).unwrap().changed_at(), Some((at + 1) as f64));
            let glance = catalog.record(&key).unwrap().glance().unwrap();
            assert_eq!(glance.number(Field::UpdatedAt), Some((at + 1) as f64));
        }
        let keys: Vec<String> = (0..count).map(|at| at.to_string()).collect();
        assert_eq!(catalog.records.keys().map(|key| key.to_string()).collect::<Vec<_>>(), keys);
    }

    #[test]
    fn any_spelling_is_read_and_the_reference_s_is_written() {
        let catalog =
            Catalog::read("\u{feff}// mine\n{k: {sessionId: 's', room: 'x',},}".to_owned()).unwrap();
        let written = "{\n  \"k\": {\n    \"sessionId\": \"s\",\n    \"groupChannel\": \"x\"\n  }\n}";
        assert_eq!(catalog.text(), written);
        assert_eq!(Catalog::read(" \n".to_owned()).unwrap().text(), "{}");
        let damage = Catalog::read("{\n\"k\": {\"sessionId\"\n".to_owned()).unwrap_err();
        assert!(damage.contains("line 3"), "{damage}");
        assert!(Catalog::read("[]".to_owned()).is_err());
    }

    #[test]
    fn records_of_an_older_store_are_added_unless_they_are_known() {
        let mut catalog = Catalog::read(r#"{"a":{"sessionId":"new"}}"#.to_owned()).unwrap();
        catalog
            .adopt(Catalog::read(r#"{"a":{"sessionId":"old"},"b":{"sessionId":"b"}}"#.to_owned()).unwrap());
        assert_eq!(catalog.entry("a").unwrap().unwrap().session_id(), Some("new"));
        assert_eq!(catalog.entry("b").unwrap().unwrap().session_id(), Some("b"));
    }
}
