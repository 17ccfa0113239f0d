//! What a model said, as it stands in the transcript (`transcripts.md` §1.3).

use yabby_domain::json::{self, Object, Value, number};
use yabby_domain::message::{Block, Message, text_block};
use yabby_domain::reply::usage_line::Prices;
use yabby_domain::seam::model::Answer;
use yabby_domain::usage::Usage;

use super::model::ModelChoice;

/// A tool call of an answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: Option<Object>,
}

/// A complete answer.
pub(crate) fn answered(answer: &Answer, choice: &ModelChoice, prices: Option<&Prices>, now: i64) -> Message {
    let blocks = answer.blocks.iter().cloned().map(with_readable_arguments).collect();
    let mut message = said(blocks, choice, &answer.usage, prices);
    message.set("stopReason", answer.stop.as_str());
    message.set("timestamp", now);
    message
}

/// An answer that somebody stopped: what was said of it so far.
pub(crate) fn aborted(text: &str, choice: &ModelChoice, now: i64) -> Message {
    ended(text, choice, "aborted", "Request was aborted.", now)
}

/// No answer, and why.
pub(crate) fn failed(text: &str, choice: &ModelChoice, error: &str, now: i64) -> Message {
    ended(text, choice, "error", error, now)
}

fn ended(text: &str, choice: &ModelChoice, stop: &str, error: &str, now: i64) -> Message {
    let blocks = if text.is_empty() { Vec::new() } else { vec![text_block(text)] };
    let mut message = said(blocks, choice, &Usage::default(), None);
    message.set("stopReason", stop);
    message.set("errorMessage", error);
    message.set("timestamp", now);
    message
}

/// What reached somebody of an answer that broke off.
pub(crate) fn interrupted(text: &str, choice: &ModelChoice, now: i64) -> Message {
    let mut message = said(vec![text_block(text)], choice, &Usage::default(), None);
    message.set("stopReason", "stop");
    message.set("timestamp", now);
    message
}

fn said(blocks: Vec<Value>, choice: &ModelChoice, usage: &Usage, prices: Option<&Prices>) -> Message {
    let mut message = Message::default();
    message.set("role", "assistant");
    message.set("content", blocks);
    message.set("api", choice.info.api.as_str());
    message.set("provider", choice.model.provider.as_str());
    message.set("model", choice.model.model.as_str());
    message.set("usage", Value::Object(usage_object(usage, prices)));
    message
}

fn usage_object(usage: &Usage, prices: Option<&Prices>) -> Object {
    let count = |tokens: Option<f64>| number(tokens.unwrap_or(0.0));
    let parts = [usage.input, usage.output, usage.cache_read, usage.cache_write];
    let total = usage.total.unwrap_or_else(|| parts.iter().map(|part| part.unwrap_or(0.0)).sum());
    let mut object = Object::new();
    object.insert("input".into(), count(usage.input));
    object.insert("output".into(), count(usage.output));
    object.insert("cacheRead".into(), count(usage.cache_read));
    object.insert("cacheWrite".into(), count(usage.cache_write));
    object.insert("totalTokens".into(), number(total));
    object.insert("cost".into(), Value::Object(cost_object(usage, prices)));
    object
}

/// What an answer cost, part by part.
fn cost_object(usage: &Usage, prices: Option<&Prices>) -> Object {
    let parts = prices.map_or([0.0; 4], |prices| prices.parts_of(usage));
    let total = parts.iter().sum();
    let names = ["input", "output", "cacheRead", "cacheWrite", "total"];
    let costs = parts.into_iter().chain([total]).map(number);
    names.into_iter().map(str::to_owned).zip(costs).collect()
}

/// What a model wrote where the arguments of a call should be.
const UNREADABLE: &str = "unreadableArguments";

/// A call whose arguments are no object would make every later request one that no provider takes, whoever
/// reads the transcript: it gets none, and keeps what was written beside them.
fn with_readable_arguments(mut block: Value) -> Value {
    if let Block::ToolCall(call) = Block::of(&block)
        && let Some(written) = call.arguments.filter(|arguments| !arguments.is_object())
    {
        let written = written.as_str().map_or_else(|| json::stringify(written), str::to_owned);
        block["arguments"] = Value::Object(Object::new());
        block[UNREADABLE] = written.into();
    }
    block
}

/// The tools that an answer asks for.
pub(crate) fn calls(message: &Message) -> Vec<Call> {
    let call = |block: &Value| match Block::of(block) {
        Block::ToolCall(call) => Some(Call {
            id: call.id.unwrap_or_default().to_owned(),
            name: call.name.unwrap_or_default().to_owned(),
            arguments: call
                .arguments
                .filter(|_| block.get(UNREADABLE).is_none())
                .and_then(Value::as_object)
                .cloned(),
        }),
        _ => None,
    };
    message.blocks().iter().filter_map(call).collect()
}

/// The text of a message, its blocks one after the other.
pub(crate) fn text_of(message: &Message) -> String {
    let text = |block: &Value| match Block::of(block) {
        Block::Text(text) => Some(text.to_owned()),
        _ => None,
    };
    message.to_blocks().iter().filter_map(text).collect::<Vec<_>>().join("\n")
}

/// What the model thought, as far as it tells.
pub(crate) fn thinking_of(message: &Message) -> String {
    let text = |block: &Value| match Block::of(block) {
        Block::Thinking { text, .. } => Some(text.to_owned()),
        _ => None,
    };
    message.blocks().iter().filter_map(text).collect::<Vec<_>>().join("\n")
}
