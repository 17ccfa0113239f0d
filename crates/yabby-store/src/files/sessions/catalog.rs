//! The records of a store, in order (`sessions.md` §6).
//!
//! A record is a text until somebody changes it: it is parsed when it is wanted, and only what changed
//! is serialised. So a store of ten thousand sessions costs little more than its own size.

use std::ops::Range;
use std::sync::{Arc, OnceLock};
use std::thread;

use indexmap::IndexMap;
use yabby_domain::json::Value;
use yabby_domain::seam::{Choice, Newest, Records};
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::glance::{Field, Glance};
use yabby_domain::session::key::SessionKey;
use yabby_domain::session::store_text::{self, join_store, read_record, record_text};

/// Cheap to copy: the copies share their records.
#[derive(Clone, Debug, Default)]
pub(super) struct Catalog(Arc<IndexMap<Arc<str>, Arc<Record>>>);

#[derive(Debug)]
struct Record {
    content: Content,
    /// As it is written; empty if that is as it was read. Made when it is first needed.
    written: OnceLock<String>,
    /// When it changed last; `None` if it is no record at all. Looked up when it is first needed.
    changed_at: OnceLock<Option<f64>>,
}

#[derive(Debug)]
enum Content {
    /// As it was read.
    Text(Part),
    /// As somebody changed it. Who changes it again need not read it again.
    Entry(SessionEntry),
}

/// A part of the text of a store, which all of its records share.
#[derive(Debug)]
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
        let record = |place| {
            let text = Part { store: store.clone(), place };
            Arc::new(Record::new(Content::Text(text)))
        };
        Ok(Self(Arc::new(parts.records.into_iter().map(|(key, place)| (key, record(place))).collect())))
    }

    /// A record; `None` also for a value that is none, such as null.
    pub(super) fn entry(&self, key: &str) -> Result<Option<SessionEntry>, TooDeep> {
        self.0.get(key).map_or(Ok(None), |record| record.entry())
    }

    /// All records that can be read.
    pub(super) fn entries(&self) -> Vec<(SessionKey, SessionEntry)> {
        let records = self.0.iter();
        records
            .filter_map(|(key, record)| Some((SessionKey::new(key.clone()), record.entry().ok()??)))
            .collect()
    }

    /// Some records, those that changed last first. Nothing is parsed but what is asked for; when a record
    /// changed is looked up once.
    pub(super) fn newest(&self, choice: &Choice) -> Newest {
        let mut meant: Vec<(f64, usize)> = Vec::new();
        for (at, (key, record)) in self.0.iter().enumerate() {
            let key = SessionKey::new(key.clone());
            if !(choice.keys)(&key) {
                continue;
            }
            let Some(changed) = record.changed_at() else { continue };
            let is_meant = |records: &Records| record.glance().is_some_and(|glance| records(&key, &glance));
            if choice.records.as_ref().is_none_or(is_meant) {
                meant.push((changed, at));
            }
        }
        let newest_first = |(a, i): &(f64, usize), (b, j): &(f64, usize)| b.total_cmp(a).then(i.cmp(j));
        let count = meant.len();
        if choice.most < count {
            meant.select_nth_unstable_by(choice.most, newest_first);
            meant.truncate(choice.most);
        }
        meant.sort_unstable_by(newest_first);
        let entry = |(_, at): (f64, usize)| {
            let (key, record) = self.0.get_index(at)?;
            Some((SessionKey::new(key.clone()), record.entry().ok()??))
        };
        Newest { count, entries: meant.into_iter().filter_map(entry).collect() }
    }

    /// A look at each record. Many are looked at by several threads.
    pub(super) fn glances(&self) -> Vec<(SessionKey, Glance)> {
        const ENOUGH_FOR_A_THREAD: usize = 2000;
        let records: Vec<(&Arc<str>, &Arc<Record>)> = self.0.iter().collect();
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

    /// Sets or removes a record.
    pub(super) fn put(&mut self, key: &str, entry: Option<SessionEntry>) {
        match entry {
            Some(entry) => {
                self.records().insert(key.into(), Arc::new(Record::new(Content::Entry(entry))));
            }
            None => {
                self.records().shift_remove(key);
            }
        }
    }

    /// Takes over the records of another store, save those whose keys are known here.
    pub(super) fn adopt(&mut self, other: Self) {
        let records = self.records();
        for (key, record) in Arc::unwrap_or_clone(other.0) {
            records.entry(key).or_insert(record);
        }
    }

    /// Whoever looks at a copy goes on seeing what was there.
    fn records(&mut self) -> &mut IndexMap<Arc<str>, Arc<Record>> {
        Arc::make_mut(&mut self.0)
    }

    /// The text of the store.
    pub(super) fn text(&self) -> String {
        join_store(self.0.iter().map(|(key, record)| (&**key, record.written())))
    }
}

impl Record {
    fn new(content: Content) -> Self {
        Self { content, written: OnceLock::new(), changed_at: OnceLock::new() }
    }

    fn changed_at(&self) -> Option<f64> {
        *self.changed_at.get_or_init(|| {
            let told = match &self.content {
                Content::Entry(entry) => entry.updated_at(),
                Content::Text(text) => Glance::at(&text.store, text.place.clone())?.number(Field::UpdatedAt),
            };
            Some(told.unwrap_or(0.0))
        })
    }

    fn entry(&self) -> Result<Option<SessionEntry>, TooDeep> {
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
                let other =
                    || read_record(read).map(|record| record_text(&record)).filter(|text| text != read);
                let written = self.written.get_or_init(|| other().unwrap_or_default());
                if written.is_empty() { read } else { written }
            }
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
