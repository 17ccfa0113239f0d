//! `history-limits.json`.

use serde_json::json;
use yabby_domain::config::Config;
use yabby_domain::history_limit::{cap_json_bytes, dm_limit, limit_turns};
use yabby_domain::json::Value;
use yabby_domain::message::Message;

use super::list_rows;
use crate::vectors::{Case, Suite};

pub const SUITE: Suite = Suite { file: "history-limits.json", cases, answer, differences: &[] };

fn cases(document: &Value) -> Vec<Case> {
    let mut cases = list_rows(document, &[("set", "sets")], |rule, row| match rule {
        "limitHistoryTurns" => row["droppedFromFront"].clone(),
        "dmHistoryLimit" => row["limit"].clone(),
        _ => json!({"kept": row["kept"], "bytes": row["bytes"]}),
    });
    for case in cases.iter_mut().filter(|case| case.rule == "dmHistoryLimit") {
        case.input["config"] = document["config"].clone();
    }
    cases
}

fn answer(case: &Case) -> Option<Value> {
    Some(match case.rule.as_str() {
        "limitHistoryTurns" => {
            let set = case.arg("set").as_array()?;
            let messages: Vec<Message> = set.iter().cloned().filter_map(Message::from_value).collect();
            let count = messages.len();
            (count - limit_turns(messages, case.arg("limit").as_f64()).len()).into()
        }
        "dmHistoryLimit" => {
            let config = Config::new(case.arg("config").clone());
            dm_limit(case.text("sessionKey")?, &config).map_or(Value::Null, yabby_domain::json::number)
        }
        "capArrayByJsonBytes" => {
            let max_bytes = usize::try_from(case.arg("maxBytes").as_u64()?).ok()?;
            let capped = cap_json_bytes(case.arg("items").as_array()?, max_bytes);
            json!({"kept": capped.items.len(), "bytes": capped.bytes})
        }
        _ => return None,
    })
}
