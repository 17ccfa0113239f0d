//! `send-policy.json`.

use serde_json::json;
use yabby_domain::channel::ChatType;
use yabby_domain::command::normalize_body;
use yabby_domain::config::Config;
use yabby_domain::json::Value;
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::send_policy::{SendCommand, SendDecision, SendPolicy, SendQuery, parse_command};

use super::{dashed_keys, rows};
use crate::vectors::{Case, Difference, Suite};

pub const SUITE: Suite =
    Suite { file: "send-policy.json", cases: rows, answer, differences: &[DASHED_GROUPS] };

/// A key that names a group says what kind of chat it is, where nothing else does.
const DASHED_GROUPS: Difference = Difference {
    name: dashed_keys::NAME,
    applies: |case| with_chat_type(case).is_some(),
    expected: |case| with_chat_type(case).as_ref().and_then(answer).unwrap_or_default(),
};

fn with_chat_type(case: &Case) -> Option<Case> {
    let said = case.text("chatType").or_else(|| case.arg("entry").get("chatType")?.as_str());
    let known = said.is_some_and(|said| ChatType::parse(said).is_some());
    let group = dashed_keys::group_of(case.text("sessionKey")?)
        .filter(|_| case.rule == "resolveSendPolicy" && !known)?;
    let mut case = case.clone();
    case.input["chatType"] = json!(group.kind);
    Some(case)
}

fn answer(case: &Case) -> Option<Value> {
    let raw = case.text("raw").unwrap_or("");
    Some(match case.rule.as_str() {
        "normalizeSendPolicy" => json!(SendDecision::parse(raw).map(SendDecision::as_str)),
        "normalizeSendPolicyOverride" => json!(SendDecision::parse_override(raw).map(SendDecision::as_str)),
        "resolveSendPolicy" => {
            let entry = case.arg("entry").as_object().cloned().map(SessionEntry::new);
            let policy = SendPolicy::from_config(&Config::new(case.arg("cfg").clone()));
            let decision = policy.decide(&SendQuery {
                entry: entry.as_ref(),
                key: case.text("sessionKey"),
                channel: case.text("channel"),
                chat_type: case.text("chatType"),
            });
            json!(decision.as_str())
        }
        "parseSendPolicyCommand" => match parse_command(&normalize_body(raw, None)) {
            None => json!({"hasCommand": false}),
            Some(SendCommand::Show) => json!({"hasCommand": true}),
            Some(SendCommand::Inherit) => json!({"hasCommand": true, "mode": "inherit"}),
            Some(SendCommand::Set(decision)) => json!({"hasCommand": true, "mode": decision.as_str()}),
        },
        _ => return None,
    })
}
