//! Every call gets exactly its result, right behind it (`transcripts.md` §8).

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;

use super::{answered_id, call_id};
use crate::json::Value;
use crate::message::{Message, Role, text_block};

/// The messages after the repair, and what it took.
#[derive(Clone, Debug, PartialEq)]
pub struct RepairedPairs {
    pub messages: Vec<Message>,
    pub added: usize,
    pub dropped_duplicates: usize,
    pub dropped_orphans: usize,
    /// False if the messages are the ones that came in.
    pub changed: bool,
}

/// Puts the results of each assistant message right behind it in the order of its calls, makes up the
/// missing ones and drops the ones that nobody asked for.
///
/// Results count up to the next assistant message. An id that a later message uses again is a new
/// call with a result of its own (`transcripts.md` §9). A history that needs nothing comes back as it
/// is, even with results out of order or given twice; unless `always` asks for it, since another part of the same
/// history needs it.
pub fn pair_results(messages: Vec<Message>, now: Timestamp, always: bool) -> RepairedPairs {
    let mut repair = Repair::default();
    let mut rest = messages.iter().enumerate().peekable();
    while let Some((at, message)) = rest.next() {
        let calls: Vec<&Value> = match message.role() {
            Role::Assistant => message.blocks().iter().filter(|block| call_id(block).is_some()).collect(),
            Role::ToolResult => {
                repair.dropped_orphans += 1;
                continue;
            }
            _ => Vec::new(),
        };
        repair.out.push(Placed::Old(at));
        if !calls.is_empty() {
            let mut span = Vec::new();
            while let Some(next) = rest.next_if(|(_, next)| next.role() != Role::Assistant) {
                span.push(next);
            }
            repair.answer(&calls, &span, now);
        }
    }
    let Repair { out, added, dropped_duplicates, dropped_orphans, moved } = repair;
    let changed = added + dropped_duplicates + dropped_orphans > 0 || moved;
    let messages = if changed || always { placed(messages, out) } else { messages };
    RepairedPairs { messages, added, dropped_duplicates, dropped_orphans, changed }
}

/// A message of the history by its place, or one that was made up.
enum Placed {
    Old(usize),
    Made(Message),
}

/// The messages in their new order. None is placed twice.
fn placed(messages: Vec<Message>, places: Vec<Placed>) -> Vec<Message> {
    let mut messages: Vec<Option<Message>> = messages.into_iter().map(Some).collect();
    let take = |place| match place {
        Placed::Old(at) => messages.get_mut(at).and_then(Option::take),
        Placed::Made(message) => Some(message),
    };
    places.into_iter().filter_map(take).collect()
}

#[derive(Default)]
struct Repair {
    out: Vec<Placed>,
    added: usize,
    dropped_duplicates: usize,
    dropped_orphans: usize,
    moved: bool,
}

impl Repair {
    /// Places the results of `calls` and then what else the span holds.
    fn answer(&mut self, calls: &[&Value], span: &[(usize, &Message)], now: Timestamp) {
        let asked: HashSet<&str> = calls.iter().filter_map(|call| call_id(call)).collect();
        let mut results: HashMap<&str, usize> = HashMap::new();
        let mut others = Vec::new();
        for (at, message) in span {
            if message.role() != Role::ToolResult {
                others.push(Placed::Old(*at));
                continue;
            }
            match answered_id(message).filter(|id| asked.contains(id)) {
                // The first answer counts. A second one alone is no reason to touch the history.
                Some(id) => _ = results.entry(id).or_insert(*at),
                None => self.dropped_orphans += 1,
            }
        }
        self.moved |= !results.is_empty() && !others.is_empty();
        let mut answered = HashSet::new();
        for call in calls {
            let Some(id) = call_id(call) else {
                continue;
            };
            let result = results.get(id).map(|at| Placed::Old(*at)).unwrap_or_else(|| {
                self.added += 1;
                Placed::Made(missing_result(id, call.get("name").and_then(Value::as_str), now))
            });
            if answered.insert(id) {
                self.out.push(result);
            } else {
                self.dropped_duplicates += 1;
            }
        }
        self.out.extend(others);
    }
}

const MISSING_RESULT: &str = "[openclaw] missing tool result in session history; inserted synthetic error result for transcript repair.";

/// The result of a tool that never answered.
pub fn missing_result(call_id: &str, tool: Option<&str>, now: Timestamp) -> Message {
    let mut message = Message::default();
    message.set("role", "toolResult");
    message.set("toolCallId", call_id);
    message.set("toolName", tool.unwrap_or("unknown"));
    message.set("content", vec![text_block(MISSING_RESULT)]);
    message.set("isError", true);
    message.set("timestamp", now.as_millisecond());
    message
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// `u` a user message, `A(ab)` an assistant calling a and b, `a` the result of a, `!` a made-up one.
    fn messages(sketch: &str) -> Vec<Message> {
        let mut out = Vec::new();
        let mut rest = sketch.chars();
        while let Some(c) = rest.next() {
            out.push(match c {
                'u' => json!({"role": "user", "content": "u"}),
                'A' => {
                    let ids = rest.by_ref().skip(1).take_while(|c| *c != ')');
                    let call = |id: char| json!({"type": "toolCall", "id": id.to_string(), "name": "n", "arguments": {}});
                    json!({"role": "assistant", "content": ids.map(call).collect::<Vec<_>>()})
                }
                id => json!({"role": "toolResult", "toolCallId": id.to_string(), "content": []}),
            });
        }
        out.into_iter().filter_map(Message::from_value).collect()
    }

    fn sketch(messages: &[Message]) -> String {
        let one = |message: &Message| match message.role() {
            Role::User => "u".to_owned(),
            Role::Assistant => {
                format!("A({})", message.blocks().iter().filter_map(call_id).collect::<String>())
            }
            _ if !message.blocks().is_empty() => "!".to_owned(),
            _ => message.text_field("toolCallId").unwrap_or_default().to_owned(),
        };
        messages.iter().map(one).collect()
    }

    #[test]
    fn results_stand_behind_their_calls() {
        //  before             after             added  duplicates  orphans  changed
        let table = [
            ("uA(ab)ab", "uA(ab)ab", 0, 0, 0, false),
            ("uA(ab)bau", "uA(ab)abu", 0, 0, 0, true), // a user message behind the results counts as interleaved
            ("A(ab)ba", "A(ab)ba", 0, 0, 0, false),
            ("A(a)aaA()", "A(a)aaA()", 0, 0, 0, false),
            ("A(ab)au", "A(ab)a!u", 1, 0, 0, true),
            ("A(a)ua", "A(a)au", 0, 0, 0, true),
            ("A(a)xa", "A(a)a", 0, 0, 1, true),
            ("aA()a", "A()", 0, 0, 2, true),
            ("A(a)A()a", "A(a)!A()", 1, 0, 1, true),
            ("A(a)auA(a)aA()", "A(a)auA(a)aA()", 0, 0, 0, true),
            ("A(aa)a", "A(aa)a", 0, 1, 0, true),
        ];
        for (before, after, added, duplicates, orphans, changed) in table {
            let repaired = pair_results(messages(before), Timestamp::UNIX_EPOCH, false);
            assert_eq!(sketch(&repaired.messages), after, "{before}");
            let counts =
                (repaired.added, repaired.dropped_duplicates, repaired.dropped_orphans, repaired.changed);
            assert_eq!(counts, (added, duplicates, orphans, changed), "{before}");
        }
    }
}
