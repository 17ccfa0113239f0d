//! `titles.json`.

use serde_json::json;
use yabby_domain::json::Value;
use yabby_domain::session::title::{TitleSource, derive_title, truncate};

use super::rows;
use crate::vectors::{Case, Suite};

pub const SUITE: Suite = Suite { file: "titles.json", cases: rows, answer, differences: &[] };

fn answer(case: &Case) -> Option<Value> {
    let entry = case.arg("entry");
    let field = |name: &str| entry.get(name).and_then(Value::as_str);
    Some(match case.rule.as_str() {
        "deriveSessionTitle" if entry.is_null() => Value::Null,
        "deriveSessionTitle" => json!(derive_title(&TitleSource {
            display_name: field("displayName"),
            subject: field("subject"),
            first_user_message: case.text("firstUserMessage"),
            session_id: field("sessionId"),
            updated_at: entry.get("updatedAt").and_then(Value::as_f64),
        })),
        "truncateTitle" => {
            let max = case.arg("maxLen").as_u64().and_then(|max| usize::try_from(max).ok())?;
            json!(truncate(case.text("text")?, max))
        }
        _ => return None,
    })
}
