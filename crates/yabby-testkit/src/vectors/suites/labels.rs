//! `labels.json`.

use serde_json::json;
use yabby_domain::json::Value;
use yabby_domain::session::label::parse_label;

use super::rows;
use crate::vectors::{Case, Suite};

pub const SUITE: Suite = Suite { file: "labels.json", cases: rows, answer, differences: &[] };

fn answer(case: &Case) -> Option<Value> {
    match case.rule.as_str() {
        "parseSessionLabel" => Some(match parse_label(case.text("raw")) {
            Ok(label) => json!({"ok": true, "label": label}),
            Err(error) => json!({"ok": false, "error": error.to_string()}),
        }),
        _ => None,
    }
}
