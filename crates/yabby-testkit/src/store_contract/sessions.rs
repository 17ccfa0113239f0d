//! Stories about records.

use yabby_domain::json::{self, Value};
use yabby_domain::seam::{Change, Choice, SessionStore, StoreError};
use yabby_domain::session::entry::{Patch, SessionEntry};
use yabby_domain::session::glance::Field;
use yabby_domain::session::key::SessionKey;

use super::Backend;

/// Tells every story; `backend` gives an empty place to each.
pub async fn tell(backend: impl Fn() -> Box<dyn Backend>) {
    nothing_is_there_at_first(&*backend()).await;
    a_record_is_begun_changed_and_removed(&*backend()).await;
    records_keep_the_order_in_which_they_were_begun(&*backend()).await;
    what_nobody_knows_is_kept_where_it_stood(&*backend()).await;
    everybody_sees_what_was_promised_to_anybody(&*backend()).await;
    everybody_sees_what_was_noted(&*backend()).await;
    no_change_undoes_another_one(&*backend()).await;
    a_change_that_fails_leaves_everything_as_it_was(&*backend()).await;
    delivery_fields_are_brought_into_one_form(&*backend()).await;
    those_that_changed_last_come_first(&*backend()).await;
    the_newest_are_told_as_everybody_left_them(&*backend()).await;
}

fn key(text: &str) -> SessionKey {
    SessionKey::new(text)
}

fn entry(text: &str) -> SessionEntry {
    let Ok(Value::Object(object)) = json::parse(text) else { panic!("{text}") };
    SessionEntry::new(object)
}

fn text(entry: Option<&SessionEntry>) -> Option<String> {
    entry.map(|entry| json::stringify_object(entry.as_object()))
}

fn begin(text: &str) -> Change {
    let new = entry(text);
    Box::new(move |record| *record = Some(new))
}

fn set(field: &str, value: impl Into<Value>) -> Change {
    let mut patch = Patch::default();
    patch.put(field, Some(value.into()));
    Box::new(move |record| record.get_or_insert_default().apply(&patch))
}

async fn keys(store: &dyn SessionStore) -> Vec<String> {
    let all = store.list().await.expect("a list");
    all.into_iter().map(|(key, _)| key.as_str().to_owned()).collect()
}

async fn nothing_is_there_at_first(backend: &dyn Backend) {
    let store = backend.sessions();
    assert_eq!(store.get(&key("k")).await.unwrap(), None);
    assert_eq!(store.list().await.unwrap(), vec![]);
    assert_eq!(store.update(&key("k"), Box::new(|record| assert_eq!(*record, None))).await.unwrap(), None);
    assert_eq!(store.list().await.unwrap(), vec![]);
}

async fn a_record_is_begun_changed_and_removed(backend: &dyn Backend) {
    let store = backend.sessions();
    let main = key("agent:main:main");
    let begun = store.update(&main, begin(r#"{"sessionId":"s","updatedAt":1}"#)).await.unwrap();
    assert_eq!(text(begun.as_ref()).unwrap(), r#"{"sessionId":"s","updatedAt":1}"#);
    store.update(&main, set("label", "x")).await.unwrap();
    let seen = store.get(&main).await.unwrap();
    assert_eq!(text(seen.as_ref()).unwrap(), r#"{"sessionId":"s","updatedAt":1,"label":"x"}"#);
    assert_eq!(store.update(&main, Box::new(|record| *record = None)).await.unwrap(), None);
    assert_eq!(store.get(&main).await.unwrap(), None);
}

async fn records_keep_the_order_in_which_they_were_begun(backend: &dyn Backend) {
    let store = backend.sessions();
    for name in ["b", "a", "c", "d"] {
        store.update(&key(name), set("sessionId", name)).await.unwrap();
    }
    store.update(&key("b"), set("label", "x")).await.unwrap();
    store.update(&key("a"), Box::new(|record| *record = None)).await.unwrap();
    assert_eq!(keys(&*store).await, ["b", "c", "d"]);
    assert_eq!(keys(&*backend.sessions()).await, ["b", "c", "d"]);
}

async fn what_nobody_knows_is_kept_where_it_stood(backend: &dyn Backend) {
    const ODD: &str =
        r#"{"x":{"y":[1,null,"\ud83d"]},"sessionId":"s","label":null,"totalTokens":"many","ü":"日本"}"#;
    let store = backend.sessions();
    store.update(&key("k"), begin(ODD)).await.unwrap();
    store.update(&key("k"), set("updatedAt", 5)).await.unwrap();
    let seen = backend.sessions().get(&key("k")).await.unwrap();
    assert_eq!(text(seen.as_ref()).unwrap(), ODD.replace("\"日本\"}", "\"日本\",\"updatedAt\":5}"));
}

async fn everybody_sees_what_was_promised_to_anybody(backend: &dyn Backend) {
    let (one, other) = (backend.sessions(), backend.sessions());
    for round in 0..3 {
        one.update(&key("one"), set("round", round)).await.unwrap();
        other.update(&key("other"), set("round", round)).await.unwrap();
        for store in [&one, &other, &backend.sessions()] {
            for name in ["one", "other"] {
                let seen = store.get(&key(name)).await.unwrap().expect(name);
                assert_eq!(seen.get("round"), Some(&Value::from(round)), "{name}");
            }
        }
    }
}

async fn everybody_sees_what_was_noted(backend: &dyn Backend) {
    let (one, other) = (backend.sessions(), backend.sessions());
    for round in 0..3 {
        let noted = one.note(&key("k"), set("noted", round)).await.unwrap();
        assert_eq!(noted.and_then(|entry| entry.get("noted").cloned()), Some(Value::from(round)));
        other.update(&key("k"), set("changed", round)).await.unwrap();
        for store in [&one, &other, &backend.sessions()] {
            let seen = text(store.get(&key("k")).await.unwrap().as_ref());
            assert_eq!(seen, Some(format!(r#"{{"noted":{round},"changed":{round}}}"#)));
        }
    }
}

async fn no_change_undoes_another_one(backend: &dyn Backend) {
    let stores = [backend.sessions(), backend.sessions()];
    let count_up = || -> Change {
        Box::new(|record| {
            let record = record.get_or_insert_default();
            let count = record.total_tokens().unwrap_or(0.0);
            let mut patch = Patch::default();
            patch.set_total_tokens(Some(count + 1.0));
            record.apply(&patch);
        })
    };
    let mut tasks = Vec::new();
    for at in 0..32 {
        let store = stores[at % 2].clone();
        let change = count_up();
        tasks.push(tokio::spawn(async move { store.update(&key("k"), change).await }));
    }
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    assert_eq!(stores[0].get(&key("k")).await.unwrap().and_then(|entry| entry.total_tokens()), Some(32.0));
}

async fn a_change_that_fails_leaves_everything_as_it_was(backend: &dyn Backend) {
    let store = backend.sessions();
    store.update(&key("k"), begin(r#"{"sessionId":"s"}"#)).await.unwrap();
    let failed = store
        .update(
            &key("k"),
            Box::new(|record| {
                *record = None;
                panic!("a change may fail");
            }),
        )
        .await;
    assert!(matches!(failed, Err(StoreError::ChangePanicked { .. })), "{failed:?}");
    assert_eq!(text(store.get(&key("k")).await.unwrap().as_ref()).unwrap(), r#"{"sessionId":"s"}"#);
    store.update(&key("k"), set("label", "x")).await.unwrap();
}

async fn delivery_fields_are_brought_into_one_form(backend: &dyn Backend) {
    let store = backend.sessions();
    let written =
        store.update(&key("k"), begin(r#"{"sessionId":"s","lastChannel":"IMSG","lastTo":" 1 "}"#)).await;
    let mirrored = r#"{"sessionId":"s","lastChannel":"imessage","lastTo":"1","deliveryContext":{"channel":"imessage","to":"1"}}"#;
    assert_eq!(text(written.unwrap().as_ref()).unwrap(), mirrored);
    assert_eq!(text(backend.sessions().get(&key("k")).await.unwrap().as_ref()).unwrap(), mirrored);
}

/// The keys of the newest, and how many sessions there are.
async fn newest(store: &dyn SessionStore, choice: impl Fn() -> Choice) -> (Vec<String>, usize) {
    let newest = store.newest(choice()).await.expect("a list");
    let selection = store.select(choice()).await.expect("a selection");
    let read = selection.records.iter().map(|selected| {
        let entry = selected.record.read().expect("a record");
        assert_eq!(selected.updated_at.to_bits(), entry.updated_at().unwrap_or(0.0).to_bits());
        (selected.key.clone(), entry)
    });
    assert_eq!(read.collect::<Vec<_>>(), newest.entries, "the same records, read one by one");
    assert_eq!(selection.count, newest.count);
    (newest.entries.into_iter().map(|(key, _)| key.as_str().to_owned()).collect(), newest.count)
}

fn most(most: usize) -> Choice {
    Choice { keys: Box::new(|_| true), records: None, most }
}

async fn those_that_changed_last_come_first(backend: &dyn Backend) {
    let store = backend.sessions();
    let begun = [("b", 20.0), ("a", 10.0), ("global", 50.0), ("c", 20.0), ("d", -1.0), ("e", 30.5)];
    for (name, at) in begun {
        store.update(&key(name), set("updatedAt", at)).await.unwrap();
    }
    store.update(&key("never"), set("label", "x")).await.unwrap();
    let all = ["global", "e", "b", "c", "a", "never", "d"].map(str::to_owned);
    assert_eq!(newest(&*store, || most(usize::MAX)).await, (all.to_vec(), 6), "what is shared is no session");
    assert_eq!(newest(&*store, || most(3)).await, (all[..3].to_vec(), 6));
    assert_eq!(newest(&*store, || most(0)).await, (vec![], 6));
    let own = |most| Choice { keys: Box::new(|key| !key.is_shared()), records: None, most };
    assert_eq!(newest(&*store, || own(2)).await.0, all[1..3]);
    let labelled = |most| Choice {
        records: Some(Box::new(|key, glance| {
            key.as_str() == "a" || glance.text(Field::Label).as_deref() == Some("x")
        })),
        ..own(most)
    };
    assert_eq!(newest(&*store, || labelled(9)).await, (vec!["a".to_owned(), "never".to_owned()], 6));
    assert_eq!(newest(&*store, || labelled(1)).await, (vec!["a".to_owned()], 6));
}

async fn the_newest_are_told_as_everybody_left_them(backend: &dyn Backend) {
    let (one, other) = (backend.sessions(), backend.sessions());
    for (name, at) in [("a", 1), ("b", 2), ("c", 3)] {
        one.update(&key(name), set("updatedAt", at)).await.unwrap();
    }
    assert_eq!(newest(&*one, || most(2)).await, (vec!["c".to_owned(), "b".to_owned()], 3));
    other.update(&key("a"), set("updatedAt", 4)).await.unwrap();
    other.update(&key("c"), Box::new(|record| *record = None)).await.unwrap();
    assert_eq!(newest(&*one, || most(2)).await, (vec!["a".to_owned(), "b".to_owned()], 2));
    // Whoever comes back was begun anew, and stands behind those who were there all the time.
    one.update(&key("c"), set("updatedAt", 2)).await.unwrap();
    let all = ["a", "b", "c"].map(str::to_owned).to_vec();
    for store in [&one, &other, &backend.sessions()] {
        assert_eq!(newest(&**store, || most(9)).await, (all.clone(), 3));
    }
    let seen = one.newest(most(1)).await.unwrap().entries;
    assert_eq!(seen[0].1.get("updatedAt"), Some(&Value::from(4)));
}
