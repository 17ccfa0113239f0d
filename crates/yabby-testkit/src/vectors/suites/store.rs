//! `store.json`.

use serde_json::json;
use yabby_domain::channel::ChatType;
use yabby_domain::delivery::{DeliveryContext, RawContext, last_route};
use yabby_domain::json::{self, Object, Value};
use yabby_domain::session::entry::{Patch, SessionEntry};
use yabby_domain::session::group::{Group, resolve_group};
use yabby_domain::session::meta::{meta_patch, recorded};
use yabby_domain::session::store_text::{parse_store, store_text};

use super::repair::mirrored;
use super::{context, rows};
use crate::vectors::{Case, Difference, Suite};

pub const SUITE: Suite = Suite { file: "store.json", cases: rows, answer, differences: &[KEPT_FIELDS] };

/// Writing a store brings delivery fields into one form. The reference drops whatever else stood in a
/// `deliveryContext`; ours keeps it where it was.
const KEPT_FIELDS: Difference = Difference {
    name: "delivery-unknown-fields-kept",
    applies: |case| case.rule == "saveSessionStore" && has_unknown_delivery_fields(case.arg("store")),
    expected: |case| {
        let recorded =
            case.expected["text"].as_str().and_then(|text| json::parse(text).ok()).unwrap_or_default();
        let mut store = recorded.as_object().cloned().unwrap_or_default();
        for (key, entry) in &mut store {
            let stored = &case.arg("store")[key.as_str()]["deliveryContext"];
            put_back(entry, stored);
        }
        json!({"text": json::stringify_pretty(&Value::Object(store)), "mode": "600", "files": ["sessions.json"]})
    },
};

const DELIVERY_FIELDS: [&str; 4] = ["channel", "to", "accountId", "threadId"];

fn has_unknown_delivery_fields(store: &Value) -> bool {
    let unknown = |context: &Object| context.keys().any(|field| !DELIVERY_FIELDS.contains(&field.as_str()));
    let entries = store.as_object().into_iter().flat_map(Object::values);
    entries.filter_map(|entry| entry.get("deliveryContext")?.as_object()).any(unknown)
}

/// The recorded context with the fields it lost, in the order of the stored one.
fn put_back(entry: &mut Value, stored: &Value) {
    let (Some(stored), Some(recorded)) =
        (stored.as_object(), entry.get("deliveryContext").and_then(Value::as_object))
    else {
        return;
    };
    let own = |field: &str| DELIVERY_FIELDS.contains(&field);
    let mut context: Object = stored
        .iter()
        .filter(|(field, _)| !own(field) || recorded.contains_key(field.as_str()))
        .map(|(field, value)| (field.clone(), recorded.get(field).unwrap_or(value).clone()))
        .collect();
    for (field, value) in recorded {
        context.insert(field.clone(), value.clone());
    }
    entry["deliveryContext"] = Value::Object(context);
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
            if patch.is_empty() { Value::Null } else { Value::Object(patch.to_object()) }
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
