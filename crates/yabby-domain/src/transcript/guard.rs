//! The tool-result guard: no tool call without its result in the transcript (`transcripts.md` §7.5).
//!
//! Providers refuse a history in which a call was never answered. The guard stands before the
//! appends of a run and answers for tools that did not.

use jiff::Timestamp;

use crate::json::Value;
use crate::message::{Message, Role};
use crate::repair::inputs::drop_calls_without_input;
use crate::repair::pairing::missing_result;
use crate::repair::{answered_id, call_id};

/// What the guard does about a call that was not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unanswered {
    /// Writes an error result in the tool's place.
    Synthesize,
    /// Forgets it: the provider does not mind.
    Ignore,
}

#[derive(Clone, Debug)]
pub struct ToolResultGuard {
    unanswered: Unanswered,
    /// Calls that wait for their result, oldest first: id and tool.
    pending: Vec<(String, Option<String>)>,
}

impl ToolResultGuard {
    pub fn new(unanswered: Unanswered) -> Self {
        Self { unanswered, pending: Vec::new() }
    }

    /// The messages to append, in order, because `message` is to be appended.
    pub fn admit(&mut self, message: Message, now: Timestamp) -> Vec<Message> {
        match message.role() {
            Role::ToolResult => {
                if let Some(id) = answered_id(&message) {
                    self.pending.retain(|(pending, _)| pending != id);
                }
                vec![message]
            }
            Role::Assistant => match drop_calls_without_input(vec![message]).messages.pop() {
                Some(message) => {
                    let mut admitted = self.settle(now);
                    for (id, name) in calls(&message) {
                        self.await_result(id, name);
                    }
                    admitted.push(message);
                    admitted
                }
                None => self.settle(now),
            },
            _ => {
                let mut admitted = self.settle(now);
                admitted.push(message);
                admitted
            }
        }
    }

    /// The results to append at the end of a run.
    pub fn flush(&mut self, now: Timestamp) -> Vec<Message> {
        let pending = std::mem::take(&mut self.pending);
        match self.unanswered {
            Unanswered::Synthesize => {
                pending.iter().map(|(id, name)| missing_result(id, name.as_deref(), now)).collect()
            }
            Unanswered::Ignore => Vec::new(),
        }
    }

    /// Another message comes before the results; calls that we do not answer keep waiting.
    fn settle(&mut self, now: Timestamp) -> Vec<Message> {
        match self.unanswered {
            Unanswered::Synthesize => self.flush(now),
            Unanswered::Ignore => Vec::new(),
        }
    }

    fn await_result(&mut self, id: &str, name: Option<&str>) {
        let name = name.map(str::to_owned);
        match self.pending.iter_mut().find(|(pending, _)| pending == id) {
            Some(known) => known.1 = name,
            None => self.pending.push((id.to_owned(), name)),
        }
    }
}

/// Id and tool of every call that can be answered.
fn calls(message: &Message) -> impl Iterator<Item = (&str, Option<&str>)> {
    message
        .blocks()
        .iter()
        .filter_map(|block| Some((call_id(block)?, block.get("name").and_then(Value::as_str))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    fn message(json: &str) -> Message {
        Message::from_value(json::parse(json).expect(json)).expect("an object")
    }

    fn calling(ids: &[&str]) -> Message {
        let blocks: Vec<_> = ids
            .iter()
            .map(|id| format!(r#"{{"type":"toolCall","id":"{id}","name":"t{id}","arguments":{{}}}}"#))
            .collect();
        message(&format!(r#"{{"role":"assistant","content":[{}]}}"#, blocks.join(",")))
    }

    fn result(id: &str) -> Message {
        message(&format!(r#"{{"role":"toolResult","toolCallId":"{id}","content":[]}}"#))
    }

    /// Each message told by its role, results by their call.
    fn told(messages: &[Message]) -> String {
        let one = |message: &Message| match message.text_field("toolCallId") {
            Some(id) => format!("{id}:{}", message.get("isError").is_some_and(json::truthy)),
            None => message.text_field("role").unwrap_or("?").to_owned(),
        };
        messages.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn calls_are_answered_before_anything_else_follows() {
        let now = Timestamp::UNIX_EPOCH;
        let user = || message(r#"{"role":"user","content":"x"}"#);
        let mut guard = ToolResultGuard::new(Unanswered::Synthesize);
        assert_eq!(told(&guard.admit(calling(&["1", "2", "3"]), now)), "assistant");
        assert_eq!(told(&guard.admit(result("2"), now)), "2:false");
        assert_eq!(told(&guard.admit(user(), now)), "1:true 3:true user");
        assert_eq!(told(&guard.admit(result("1"), now)), "1:false");
        assert_eq!(told(&guard.admit(calling(&["4"]), now)), "assistant");
        assert_eq!(told(&guard.admit(calling(&["5"]), now)), "4:true assistant");
        assert_eq!(told(&guard.flush(now)), "5:true");
        assert_eq!(told(&guard.flush(now)), "");
    }

    #[test]
    fn calls_without_input_are_not_written() {
        let now = Timestamp::UNIX_EPOCH;
        let mut guard = ToolResultGuard::new(Unanswered::Synthesize);
        let empty = r#"{"role":"assistant","content":[{"type":"toolUse","id":"1","input":null}]}"#;
        assert_eq!(told(&guard.admit(message(empty), now)), "");
        let mixed =
            r#"{"role":"assistant","content":[{"type":"text","text":"k"},{"type":"functionCall","id":"1"}]}"#;
        let admitted = guard.admit(message(mixed), now);
        assert_eq!(admitted[0].blocks().len(), 1);
        let silent = r#"{"role":"assistant","content":[]}"#;
        assert_eq!(told(&guard.admit(message(silent), now)), "assistant");
        assert_eq!(told(&guard.flush(now)), "");
    }

    #[test]
    fn a_provider_that_does_not_mind_gets_no_made_up_results() {
        let now = Timestamp::UNIX_EPOCH;
        let mut guard = ToolResultGuard::new(Unanswered::Ignore);
        guard.admit(calling(&["1"]), now);
        assert_eq!(told(&guard.admit(message(r#"{"role":"user"}"#), now)), "user");
        assert_eq!(told(&guard.flush(now)), "");
    }
}
