//! `send-policy.json`.

use serde_json::json;
use yabby_domain::command::normalize_body;
use yabby_domain::config::Config;
use yabby_domain::json::Value;
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::send_policy::{SendCommand, SendDecision, SendPolicy, SendQuery, parse_command};

use super::rows;
use crate::vectors::{Case, Suite};

pub const SUITE: Suite = Suite { file: "send-policy.json", cases: rows, answer, differences: &[] };

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
