//! What a tool answers, as the protocol carries it: JSON, once for models to read and once for programs.

use rmcp::model::{CallToolResult, ContentBlock};
use yabby_domain::json::{self, Value};
use yabby_domain::text;

pub(super) fn answer(done: Result<Value, String>) -> CallToolResult {
    match done {
        Ok(mut value) => {
            to_outside(&mut value);
            let words = json::stringify_pretty(&value);
            let mut result = CallToolResult::success(vec![ContentBlock::text(words)]);
            result.structured_content = Some(value);
            result
        }
        Err(problem) => {
            CallToolResult::error(vec![ContentBlock::text(text::to_outside(&problem).into_owned())])
        }
    }
}

/// Every text as others can read it: half a character of a transcript is none to them.
fn to_outside(value: &mut Value) {
    match value {
        Value::String(said) => {
            if text::has_stand_ins(said) {
                *said = text::to_outside(said).into_owned();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(to_outside),
        Value::Object(members) => members.values_mut().for_each(to_outside),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
