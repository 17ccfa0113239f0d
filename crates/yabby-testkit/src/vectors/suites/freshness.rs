//! `freshness.json`.

use jiff::tz::TimeZone;
use serde_json::json;
use yabby_domain::channel::normalize_channel;
use yabby_domain::config::Config;
use yabby_domain::inbound::ThreadId;
use yabby_domain::json::{Object, Value, number};
use yabby_domain::session::freshness::{
    Reset, ResetMode, ResetPolicy, ResetSettings, ResetType, ThreadSigns, daily_boundary, freshness,
    is_thread, normalize_hour, reset_type,
};
use yabby_domain::session::key::SessionKey;

use super::{dashed_keys, rows};
use crate::vectors::{Case, Difference, Suite};

pub const SUITE: Suite = Suite { file: "freshness.json", cases: rows, answer, differences: &[DASHED_GROUPS] };

const DASHED_GROUPS: Difference = Difference {
    name: dashed_keys::NAME,
    applies: |case| {
        let key = case.text("sessionKey").unwrap_or("").to_lowercase();
        let is_thread = case.arg("isThread") == true || key.contains(":thread:") || key.contains(":topic:");
        case.rule == "resolveSessionResetType" && !is_thread && dashed_keys::group_of(&key).is_some()
    },
    expected: |_| json!("group"),
};

/// One `reset` object.
fn reset(object: &Value) -> Option<Reset> {
    let config = Config::new(json!({"session": {"resetByChannel": {"telegram": object}}}));
    ResetSettings::from_config(&config).for_channel("telegram")
}

fn answer(case: &Case) -> Option<Value> {
    let section = || ResetSettings::from_config(&Config::new(json!({ "session": case.arg("sessionCfg") })));
    Some(match case.rule.as_str() {
        "resolveDailyResetAtMs" => {
            let hour = normalize_hour(case.arg("atHour").as_f64());
            daily_boundary(case.arg("now").as_f64()?, hour, &zone(case)).map_or(Value::Null, number)
        }
        "normalizeResetAtHour" => json!(normalize_hour(case.arg("value").as_f64())),
        "resolveSessionResetPolicy" => {
            let policy = section().policy(kind(case)?, reset(case.arg("resetOverride")));
            let mut value = Object::new();
            value.insert("mode".to_owned(), json!(policy.mode.word()));
            value.insert("atHour".to_owned(), json!(policy.at_hour));
            put(&mut value, "idleMinutes", policy.idle_minutes);
            Value::Object(value)
        }
        // The recorded answer is the object as configured; ours is the setting it was read into, so the
        // object is shown only if it reads as that setting.
        "resolveChannelResetConfig" => {
            let channel = case.text("channel").unwrap_or("");
            let object = normalize_channel(channel)
                .and_then(|name| case.arg("sessionCfg").get("resetByChannel")?.get(name));
            let found = section().for_channel(channel);
            object.filter(|object| found.is_some() && reset(object) == found).cloned().unwrap_or_default()
        }
        "evaluateSessionFreshness" => {
            let verdict = freshness(
                case.arg("updatedAt").as_f64(),
                case.arg("now").as_f64()?,
                &policy(case),
                &zone(case),
            );
            let mut value = Object::new();
            value.insert("fresh".to_owned(), json!(verdict.fresh));
            put(&mut value, "dailyResetAt", verdict.daily_reset_at);
            put(&mut value, "idleExpiresAt", verdict.idle_expires_at);
            Value::Object(value)
        }
        "resolveSessionResetType" => {
            let flag = |field: &str| case.arg(field).as_bool().unwrap_or(false);
            let key = case.text("sessionKey").map(SessionKey::new);
            json!(reset_type(key.as_ref(), flag("isGroup"), flag("isThread")).as_str())
        }
        "resolveThreadFlag" => json!(is_thread(&ThreadSigns {
            key: case.text("sessionKey"),
            thread_id: ThreadId::from_value(case.arg("messageThreadId")).as_ref(),
            thread_label: case.text("threadLabel"),
            starter_body: case.text("threadStarterBody"),
            parent_key: case.text("parentSessionKey"),
        })),
        "isThreadSessionKey" => json!(SessionKey::new(case.text("sessionKey").unwrap_or("")).is_thread()),
        _ => return None,
    })
}

fn zone(case: &Case) -> TimeZone {
    case.text("tz").and_then(|name| TimeZone::get(name).ok()).unwrap_or(TimeZone::UTC)
}

fn kind(case: &Case) -> Option<ResetType> {
    [ResetType::Dm, ResetType::Group, ResetType::Thread]
        .into_iter()
        .find(|kind| Some(kind.as_str()) == case.text("resetType"))
}

fn policy(case: &Case) -> ResetPolicy {
    let policy = case.arg("policy");
    let mode = if policy["mode"] == "daily" { ResetMode::Daily } else { ResetMode::Idle };
    ResetPolicy {
        mode,
        at_hour: normalize_hour(policy["atHour"].as_f64()),
        idle_minutes: policy["idleMinutes"].as_f64(),
    }
}

fn put(object: &mut Object, field: &str, value: Option<f64>) {
    if let Some(value) = value {
        object.insert(field.to_owned(), number(value));
    }
}
