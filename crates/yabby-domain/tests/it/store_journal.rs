//! The journal of a store: what is written is read, and replaying it gives what was promised.

use proptest::prelude::*;
use yabby_domain::json::{self, Object, Value};
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::store_journal::{Change, Journal, Line, difference};
use yabby_domain::session::store_text::{
    join_store, parse_store, read_record, record_text, split_store, store_text,
};

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "\\PC{0,6}".prop_map(Value::from),
        // A lone surrogate, as it travels here.
        Just(Value::from("\u{10d83d}")),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::Array),
            prop::collection::vec(("[a-c]", inner), 0..3)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn record() -> impl Strategy<Value = Option<SessionEntry>> {
    let fields = prop::collection::vec(("sessionId|label|x|y|7", value()), 0..5);
    let entry = fields.prop_map(|fields| SessionEntry::new(fields.into_iter().collect::<Object>()));
    prop::option::of(entry)
}

proptest! {
    #[test]
    fn replaying_every_change_gives_the_last_record(records in prop::collection::vec(record(), 1..8)) {
        let mut text = Line::Header { id: "j".to_owned() }.text();
        let mut now: Option<SessionEntry> = None;
        let mut number = 0;
        for next in records {
            let Some(kind) = difference(now.as_ref(), next.as_ref()) else { continue };
            number += 1;
            prop_assert!(kind.apply(&mut now).is_ok());
            let fields = |entry: &Option<SessionEntry>| {
                let mut fields: Vec<_> = entry.iter().flat_map(|entry| entry.as_object().clone()).collect();
                fields.sort_by(|one, other| one.0.cmp(&other.0));
                fields
            };
            prop_assert_eq!(fields(&now), fields(&next));
            let change = Change { number, at: jiff::Timestamp::UNIX_EPOCH, key: "k".to_owned(), kind };
            text.push_str(&Line::Change(change).text());
        }
        let journal = Journal::read(text.as_bytes(), |_| false);
        prop_assert_eq!((journal.changes.len() as u64, journal.damaged.len()), (number, 0));
        let mut replayed = None;
        for change in journal.changes {
            prop_assert!(change.kind.apply(&mut replayed).is_ok());
        }
        prop_assert_eq!(replayed, now);
    }

    #[test]
    fn any_bytes_are_a_journal(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let journal = Journal::read(&bytes, |_| true);
        prop_assert!(journal.whole <= bytes.len());
        prop_assert!(bytes[journal.whole..].iter().all(|byte| *byte != b'\n'));
    }

    #[test]
    fn a_store_taken_apart_and_put_together_is_the_same(records in prop::collection::vec(("k[0-9]|[0-9]", value()), 0..6)) {
        let store = Value::Object(records.into_iter().collect());
        for text in [json::stringify(&store), json::stringify_pretty(&store)] {
            let parts = split_store(text.clone()).unwrap();
            let written: Vec<(String, String)> = parts
                .records
                .into_iter()
                .map(|(key, place)| (key.to_string(), record_text(&read_record(&parts.text[place]).unwrap())))
                .collect();
            let joined = join_store(written.iter().map(|(key, record)| (key.as_str(), record.as_str())));
            prop_assert_eq!(joined, store_text(&parse_store(&text).unwrap()));
        }
    }
}
