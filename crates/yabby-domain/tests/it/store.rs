//! Any text may stand in `sessions.json`, and any record in a store.

use proptest::prelude::*;
use yabby_domain::json::{self, Value};
use yabby_domain::session::entry::{Patch, SessionEntry};
use yabby_domain::session::salvage::Survey;
use yabby_domain::session::store_text::{parse_store, store_text};

use crate::texts::{any_json, any_text};

proptest! {
    #[test]
    fn any_text_is_a_store_or_is_none(text in any_text()) {
        let _ = parse_store(&text);
        let _ = parse_store(&format!("{{{text}}}"));
    }

    /// Whatever stands between two records, they are found.
    #[test]
    fn records_are_found_beside_any_garbage(garbage in any_text(), before in any_text()) {
        // What has a colon behind it is a name, and a record may be called anything.
        let (garbage, before) = (garbage.replace(':', ";"), before.replace(':', ";"));
        let record = |name: &str| format!("\"agent:main:{name}\": {{\"sessionId\": \"{name}\", \"updatedAt\": 1}}");
        let text = format!("{before}\n{{\n{},\n{garbage}\n{},\n", record("a"), record("b"));
        let survey = Survey::of(&text);
        let keys: Vec<&str> = survey.records.iter().map(|found| found.key.as_str()).collect();
        prop_assert_eq!(keys, ["agent:main:a", "agent:main:b"]);
    }

    /// What is written can be read, and writing it again changes nothing.
    #[test]
    fn a_written_store_is_stable(value in any_json()) {
        let Value::Object(store) = value else { return Ok(()) };
        let once = store_text(&store);
        let read = parse_store(&once).expect("a written store is a store");
        let twice = store_text(&read);
        prop_assert_eq!(store_text(&parse_store(&twice).unwrap()), twice);
    }

    /// A patch touches its own fields and no other.
    #[test]
    fn other_fields_survive_a_patch(value in any_json(), label in any_text()) {
        let Value::Object(object) = value else { return Ok(()) };
        let entry = SessionEntry::new(object.clone());
        let mut patch = Patch::default();
        patch.set_label(Some(&label));
        let merged = SessionEntry::merged(Some(&entry), &patch, 1.0, &mut || "id".to_owned());
        for (field, old) in object.iter().filter(|(field, _)| !["label", "sessionId", "updatedAt"].contains(&field.as_str())) {
            prop_assert_eq!(merged.get(field), Some(old));
        }
    }

    /// Our JSON text reads back as the same value, numbers as JavaScript keeps them.
    #[test]
    fn json_text_reads_back(value in any_json()) {
        let text = json::stringify(&value);
        let again = json::parse(&text).expect("our own text is JSON");
        prop_assert_eq!(json::stringify(&again), text);
    }
}
