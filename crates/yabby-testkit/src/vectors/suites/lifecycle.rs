//! `lifecycle.json`.

use jiff::tz::TimeZone;
use serde_json::json;
use yabby_domain::access::command_auth::command_authority;
use yabby_domain::config::Config;
use yabby_domain::id::AgentId;
use yabby_domain::inbound::InboundMessage;
use yabby_domain::json::{self, Object, Value};
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::key::{KeyPolicy, Scope};
use yabby_domain::session::open::{Fork, OpenRequest, Opening, Target};
use yabby_domain::transcript::file::TranscriptFile;
use yabby_domain::transcript::time::iso;
use yabby_domain::transcript::{Stamp, fork};

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

struct Run<'m> {
    opening: Opening<'m>,
    store: Object,
    session_id: String,
}

/// The message of a case, and the session that it is for.
fn message_and_target(case: &Case, config: &Config) -> (InboundMessage, Target) {
    let message = context::inbound(case.arg("ctx"));
    let target = Target::of(&message, &KeyPolicy::from_config(config));
    (message, target)
}

fn config_of(case: &Case) -> Config {
    Config::new(case.input.get("cfg").cloned().unwrap_or_else(|| json!({})))
}

/// Opens the session of a case; `fork` branches off a transcript where one is wanted.
fn run<'m>(
    case: &Case,
    config: &'m Config,
    (message, target): &'m (InboundMessage, Target),
    mut store: Object,
    fork: impl FnOnce(&Opening<'_>) -> Option<Fork>,
) -> Run<'m> {
    let zone = case.text("tz").and_then(|name| TimeZone::get(name).ok()).unwrap_or(TimeZone::UTC);
    // The recorded store is one agent's; every other agent begins with an empty one.
    if target.agent != AgentId::normalize(case.text("agentId").unwrap_or("")) {
        store.clear();
    }
    let key = target.key.as_str().to_owned();
    let entry = store.get(&key).and_then(Value::as_object).cloned().map(SessionEntry::new);
    let authorized = case.input.get("commandAuthorized").and_then(Value::as_bool).unwrap_or(true);
    let opening = Opening::decide(
        target,
        &OpenRequest {
            message,
            config,
            entry: entry.as_ref(),
            authorized: command_authority(message, config, authorized).is_authorized,
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
    Run { opening, store: context::rewritten(&store), session_id }
}

fn opened(case: &Case) -> Value {
    let stored = context::stored(case.arg("store"));
    let config = config_of(case);
    let message = message_and_target(case, &config);
    let Run { opening, store, session_id } = run(case, &config, &message, stored, |_| None);
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

/// A thread whose parent has a transcript: the new session begins with its history.
fn forked(case: &Case) -> Option<Value> {
    const PARENT: &str = "$STATE/agents/main/sessions/par-id.jsonl";
    let lines = case.arg("parentLines").as_array()?;
    let text: String = lines.iter().map(|line| format!("{}\n", json::stringify(line))).collect();
    let now = case.arg("now").as_i64().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok())?;
    let mut fresh_id = || "$UUID2".to_owned();
    let mut stamp = Stamp { now, fresh_id: &mut fresh_id };
    let (parent, _) = TranscriptFile::open(Some(&text), "$CWD", &mut stamp);
    let fork = fork::thread(&parent, PARENT, &mut stamp);
    let file = format!("$STATE/agents/main/sessions/{}", fork.name);
    let store = json!({case.text("parentKey")?: {"sessionId": "par-id", "updatedAt": case.arg("now"), "sessionFile": PARENT}});
    let branched = Fork { session_id: fork.file.transcript().session_id().to_owned(), session_file: file };
    let config = config_of(case);
    let message = message_and_target(case, &config);
    let run = run(case, &config, &message, store.as_object()?.clone(), |_| Some(branched));
    let record = run.store.get(run.opening.target.key.as_str())?;
    let written: Vec<Value> = fork.text.lines().filter_map(|line| json::parse(line).ok()).collect();
    let result = json!({
        "sessionId": run.session_id,
        "isNewSession": run.opening.is_new(),
        "sessionFile": record["sessionFile"],
        "fileLines": written,
    });
    // The recorded case gives the wall clock by name.
    let shown = json::stringify(&result).replace(&iso(now).replace([':', '.'], "-"), "$FILETS").replace(
        &format!("\"id\":\"$UUID2\",\"timestamp\":\"{}\"", iso(now)),
        "\"id\":\"$UUID2\",\"timestamp\":\"$ISO\"",
    );
    json::parse(&shown).ok()
}
