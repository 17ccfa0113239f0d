//! `lifecycle.json`.

use jiff::tz::TimeZone;
use serde_json::json;
use yabby_domain::access::command_auth::command_authority;
use yabby_domain::config::Config;
use yabby_domain::json::{Object, Value};
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::key::{KeyPolicy, Scope};
use yabby_domain::session::open::{Fork, OpenRequest, Opening, Target};
use yabby_domain::session::store_text::{parse_store, store_text};

use super::session_keys::group_value;
use super::{context, rows};
use crate::vectors::{Case, Suite};

pub const SUITE: Suite = Suite { file: "lifecycle.json", cases: rows, answer, differences: &[] };

fn answer(case: &Case) -> Option<Value> {
    match case.rule.as_str() {
        "initSessionState" => Some(opened(case)),
        "initSessionState.fork" => forked(case),
        _ => None,
    }
}

struct Run {
    opening: Opening,
    store: Object,
    session_id: String,
}

/// Opens the session of a case; `fork` branches off a transcript where one is wanted.
fn run(case: &Case, mut store: Object, fork: impl FnOnce(&Opening) -> Option<Fork>) -> Run {
    let message = context::inbound(case.arg("ctx"));
    let config = Config::new(case.input.get("cfg").cloned().unwrap_or_else(|| json!({})));
    let zone = case.text("tz").and_then(|name| TimeZone::get(name).ok()).unwrap_or(TimeZone::UTC);
    let target = Target::of(&message, &KeyPolicy::from_config(&config));
    let key = target.key.as_str().to_owned();
    let entry = store.get(&key).and_then(Value::as_object).cloned().map(SessionEntry::new);
    let authorized = case.input.get("commandAuthorized").and_then(Value::as_bool).unwrap_or(true);
    let opening = Opening::decide(
        target,
        &OpenRequest {
            message: &message,
            config: &config,
            entry: entry.as_ref(),
            authorized: command_authority(&message, &config, authorized).is_authorized,
            now: case.arg("now").as_f64().unwrap_or(0.0),
            zone: &zone,
        },
    );
    let fork =
        opening.fork_from().filter(|parent| store.contains_key(parent.as_str())).and_then(|_| fork(&opening));
    let patch = opening.record(fork.as_ref(), "$STATE", &mut || "$UUID1".to_owned());
    let mut record = entry.unwrap_or_default();
    record.apply(&patch);
    let session_id = record.session_id().unwrap_or_default().to_owned();
    store.insert(key, Value::Object(record.into_object()));
    Run { opening, store: parse_store(&store_text(&store)).unwrap_or_default(), session_id }
}

fn opened(case: &Case) -> Value {
    // A case may give the text of the file instead of what is in it.
    let stored = match case.arg("store") {
        Value::String(text) => parse_store(text),
        store => store.as_object().cloned(),
    };
    let stored = stored.unwrap_or_default();
    let config = Config::new(case.input.get("cfg").cloned().unwrap_or_else(|| json!({})));
    let Run { opening, store, session_id } = run(case, stored, |_| None);
    let scope = if KeyPolicy::from_config(&config).scope == Scope::Global { "global" } else { "per-sender" };
    let mut value = json!({
        "sessionKey": opening.target.key.as_str(),
        "sessionId": session_id,
        "isNewSession": opening.is_new(),
        "resetTriggered": opening.reset.is_some(),
        "systemSent": opening.system_sent,
        "abortedLastRun": opening.aborted_last_run,
        "isGroup": opening.target.is_group,
        "sessionScope": scope,
        "triggerBodyNormalized": opening.trigger_body,
        "BodyStripped": opening.body,
        "IsNewSession": opening.is_new().to_string(),
        "SessionId": session_id,
        "storeAfter": store,
    });
    if let Some(group) = opening.target.group.clone() {
        value["groupResolution"] = group_value(group);
    }
    if let Some(rest) = &opening.reset {
        value["bodyStripped"] = json!(rest);
    }
    if let Some(previous) = &opening.previous {
        value["previousSessionEntry"] = json!(previous.as_object());
    }
    value
}

fn forked(_case: &Case) -> Option<Value> {
    None
}
