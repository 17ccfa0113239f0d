//! `store.json`.

use serde_json::json;
use yabby_domain::channel::ChatType;
use yabby_domain::delivery::{DeliveryContext, RawContext, last_route};
use yabby_domain::json::{self, Object, Value};
use yabby_domain::session::entry::{Patch, SessionEntry};
use yabby_domain::session::group::{Group, resolve_group};
use yabby_domain::session::meta::{meta_patch, recorded};
use yabby_domain::session::store_text::parse_store;

use super::context::store_text;
use super::repair::mirrored;
use super::{context, rows};
use crate::vectors::{Case, Difference, Suite};

pub const SUITE: Suite = Suite { file: "store.json", cases: rows, answer, differences: &[KEPT_FIELDS] };

/// Writing a store brings delivery fields into one form. The reference drops whatever else stood in a
/// `deliveryContext`; ours keeps it where it was, and reads `target` and `account` as `to` and
/// `accountId`. So the answer is the one for plain contexts, with everything put back.
const KEPT_FIELDS: Difference = Difference {
    name: "delivery-unknown-fields-kept",
    applies: |case| WRITING.contains(&case.rule.as_str()) && plain(case).is_some(),
    expected: |case| {
        let Some((plain, stored)) = plain(case) else { return Value::Null };
        let mut promised = answer(&plain).unwrap_or_default();
        match promised.get("text").and_then(Value::as_str).and_then(|text| json::parse(text).ok()) {
            Some(Value::Object(mut store)) => {
                put_all_back(&mut store, &stored);
                let result =
                    case.text("sessionKey").and_then(|key| stored.get(key).map(|entry| (key, entry)));
                if let (Some((_, entry)), Some(result)) = (result, promised.get_mut("result")) {
                    // What the caller gets has not been written yet.
                    result["deliveryContext"] = entry["deliveryContext"].clone();
                }
                promised["text"] = json::stringify_pretty(&Value::Object(store)).into();
            }
            _ => {
                if let Value::Object(store) = &mut promised {
                    put_all_back(store, &stored);
                }
            }
        }
        promised
    },
};

/// Rules that end in a written store.
const WRITING: [&str; 5] = [
    "saveSessionStore",
    "updateSessionStore",
    "updateSessionStoreEntry",
    "updateLastRoute",
    "recordSessionMetaFromInbound",
];

const DELIVERY_FIELDS: [&str; 4] = ["channel", "to", "accountId", "threadId"];

/// The case with plain contexts, and the records as they were; `None` if they are plain already.
fn plain(case: &Case) -> Option<(Case, Object)> {
    let mut plain = case.clone();
    let mut stored = Object::new();
    if let Some(text) = case.text("fileText") {
        let mut store = parse_store(text)?;
        stored.extend(store.clone());
        store.values_mut().for_each(make_plain);
        plain.input["fileText"] = json::stringify_object(&store).into();
    }
    for field in ["store", "set"] {
        if let Some(store) = plain.input.get_mut(field).and_then(Value::as_object_mut) {
            stored.extend(store.clone());
            store.values_mut().for_each(make_plain);
        }
    }
    let has_more = |entry: &Value| {
        let context = entry.get("deliveryContext").and_then(Value::as_object);
        context.is_some_and(|context| context.keys().any(|field| !DELIVERY_FIELDS.contains(&field.as_str())))
    };
    stored.retain(|_, entry| has_more(entry));
    (!stored.is_empty()).then_some((plain, stored))
}

fn make_plain(entry: &mut Value) {
    if let Some(context) = entry.get_mut("deliveryContext").and_then(Value::as_object_mut) {
        for (old, new) in [("target", "to"), ("account", "accountId")] {
            if let Some(value) = context.get(old).cloned().filter(|_| !context.contains_key(new)) {
                context.insert(new.to_owned(), value);
            }
        }
        context.retain(|field, _| DELIVERY_FIELDS.contains(&field.as_str()));
    }
}

/// The stored contexts with the delivery fields of the plain answer.
fn put_all_back(store: &mut Object, stored: &Object) {
    for (key, stored) in stored {
        let Some(entry) = store.get_mut(key).and_then(Value::as_object_mut) else { continue };
        let answered = entry.get("deliveryContext").and_then(Value::as_object).cloned().unwrap_or_default();
        let mut context = stored["deliveryContext"].as_object().cloned().unwrap_or_default();
        context.retain(|field, _| !DELIVERY_FIELDS.contains(&field.as_str()) || answered.contains_key(field));
        context.extend(answered);
        entry.insert("deliveryContext".to_owned(), Value::Object(context));
    }
}

fn answer(case: &Case) -> Option<Value> {
    let store = || case.arg("store").as_object().cloned().unwrap_or_default();
    Some(match case.rule.as_str() {
        "saveSessionStore" => saved(&store()),
        "loadSessionStore" => json!(parse_store(case.text("fileText").unwrap_or("")).unwrap_or_default()),
        "updateSessionStore" => saved(&updated(case)),
        "updateSessionStoreEntry" => entry_update(case),
        "mergeSessionEntry" => {
            let existing = case.arg("existing").as_object().cloned().map(SessionEntry::new);
            json!(merged(case, existing.as_ref(), &object_patch(case.arg("patch"))).into_object())
        }
        "updateLastRoute" => after_last_route(case),
        "recordSessionMetaFromInbound" => meta_recorded(case),
        "deriveSessionMetaPatch" => {
            let existing = case.arg("existing").as_object().cloned().map(SessionEntry::new);
            let patch = meta_said(&case.input, case.text("sessionKey").unwrap_or(""), existing.as_ref());
            if patch.is_empty() { Value::Null } else { Value::Object(patch.into_object()) }
        }
        "resolveMirroredTranscriptText" => mirrored(case),
        _ => return None,
    })
}

fn saved(store: &Object) -> Value {
    json!({"text": store_text(store), "mode": "600", "files": ["sessions.json"]})
}

/// The recorded mutator deletes keys, then merges, then assigns.
fn updated(case: &Case) -> Object {
    let mut store = parse_store(case.text("fileText").unwrap_or("")).unwrap_or_default();
    let given = |field: &str| case.arg(field).as_object().cloned().unwrap_or_default();
    for key in case.arg("delete").as_array().into_iter().flatten().filter_map(Value::as_str) {
        store.shift_remove(key);
    }
    for (key, patch) in given("merge") {
        let mut entry =
            SessionEntry::new(store.get(&key).and_then(Value::as_object).cloned().unwrap_or_default());
        entry.apply(&object_patch(&patch));
        store.insert(key, Value::Object(entry.into_object()));
    }
    store.extend(given("set"));
    store
}

fn entry_update(case: &Case) -> Value {
    let mut store = context::stored(case.arg("store"));
    let unchanged = json::stringify(case.arg("store"));
    let key = case.text("sessionKey").unwrap_or("");
    let Some(entry) = store.get(key).and_then(Value::as_object).cloned().map(SessionEntry::new) else {
        return json!({"result": null, "text": unchanged});
    };
    if case.arg("patch").is_null() {
        return json!({"result": entry.into_object(), "text": unchanged});
    }
    let next = merged(case, Some(&entry), &object_patch(case.arg("patch"))).into_object();
    store.insert(key.to_owned(), Value::Object(next.clone()));
    json!({"result": next, "text": store_text(&store)})
}

fn after_last_route(case: &Case) -> Value {
    let mut store = context::stored(case.arg("store"));
    let key = case.text("sessionKey").unwrap_or("");
    let existing = store.get(key).and_then(Value::as_object).cloned().map(SessionEntry::new);
    let params = case.arg("params").as_object().cloned().unwrap_or_default();
    let explicit = params.get("deliveryContext").and_then(Value::as_object).map(RawContext::of_object);
    let given = DeliveryContext::normalize(&RawContext::of_object(&params));
    let mut patch =
        last_route(existing.as_ref(), explicit.as_ref().and_then(DeliveryContext::normalize), given);
    if case.arg("params").get("ctx").is_some_and(Value::is_object) {
        patch.overlay(&meta_said(case.arg("params"), key, existing.as_ref()));
    }
    let next = merged(case, existing.as_ref(), &patch).into_object();
    store.insert(key.to_owned(), Value::Object(next));
    json!(context::rewritten(&store))
}

fn meta_recorded(case: &Case) -> Value {
    let mut store = context::stored(case.arg("store"));
    let key = case.text("sessionKey").unwrap_or("");
    let existing = store.get(key).and_then(Value::as_object).cloned().map(SessionEntry::new);
    let patch = meta_said(&case.input, key, existing.as_ref());
    let may_create = case.arg("createIfMissing").as_bool().unwrap_or(true);
    if let Some(next) = recorded(existing.as_ref(), &patch, may_create, now(case), &mut fresh_id) {
        store.insert(key.to_owned(), Value::Object(next.into_object()));
    }
    json!(context::rewritten(&store))
}

/// What the message in `params` says about its conversation; its group may be given beside it.
fn meta_said(params: &Value, key: &str, existing: Option<&SessionEntry>) -> Patch {
    let message = context::inbound(&params["ctx"]);
    let given = params.get("groupResolution").filter(|group| group.is_object()).map(|group| {
        let text = |field: &str| group[field].as_str().unwrap_or_default().to_owned();
        let chat_type = ChatType::parse(&text("chatType")).unwrap_or(ChatType::Group);
        Group { key: text("key"), channel: text("channel"), id: text("id"), chat_type }
    });
    meta_patch(&message, given.or_else(|| resolve_group(&message)).as_ref(), key, existing)
}

fn merged(case: &Case, existing: Option<&SessionEntry>, patch: &Patch) -> SessionEntry {
    SessionEntry::merged(existing, patch, now(case), &mut fresh_id)
}

fn now(case: &Case) -> f64 {
    case.arg("now").as_f64().unwrap_or(0.0)
}

fn fresh_id() -> String {
    "$UUID1".to_owned()
}

fn object_patch(patch: &Value) -> Patch {
    patch.as_object().map(Patch::from_object).unwrap_or_default()
}
