//! An answer while it is being written.

use serde_json::json;
use yabby_domain::json::{self, Object, Value};
use yabby_domain::message::text_block;
use yabby_domain::seam::model::{ModelEvent, Stop};
use yabby_domain::text;

use crate::wire::Heard;

#[derive(Default)]
pub(crate) struct Writing(Vec<Part>);

/// A piece of an answer, with what its provider wants to see again.
pub(crate) enum Part {
    Text {
        text: String,
        signature: Option<String>,
    },
    Thinking {
        text: String,
        signature: Option<String>,
    },
    /// Thinking that nobody but the provider can read.
    Redacted(Value),
    Call(CallPart),
}

#[derive(Default)]
pub(crate) struct CallPart {
    pub(crate) id: String,
    pub(crate) name: String,
    /// JSON, as far as it came.
    pub(crate) arguments: String,
    pub(crate) signature: Option<String>,
}

impl Part {
    pub(crate) fn text() -> Self {
        Self::Text { text: String::new(), signature: None }
    }

    pub(crate) fn thinking() -> Self {
        Self::Thinking { text: String::new(), signature: None }
    }
}

impl Writing {
    pub(crate) fn last_mut(&mut self) -> Option<&mut Part> {
        self.0.last_mut()
    }

    pub(crate) fn get_mut(&mut self, at: usize) -> Option<&mut Part> {
        self.0.get_mut(at)
    }

    pub(crate) fn calls_mut(&mut self) -> impl Iterator<Item = &mut CallPart> {
        self.0.iter_mut().filter_map(|part| match part {
            Part::Call(call) => Some(call),
            _ => None,
        })
    }

    /// Begins a part; where it stands.
    pub(crate) fn begin(&mut self, part: Part, heard: Heard<'_>) -> usize {
        if let Part::Call(call) = &part {
            heard(ModelEvent::ToolCall { name: call.name.clone() });
            tell_arguments(call.arguments.len(), heard);
        }
        self.0.push(part);
        self.0.len() - 1
    }

    /// More of the text or the thinking at `at`.
    pub(crate) fn append(&mut self, at: usize, delta: &str, heard: Heard<'_>) {
        match self.0.get_mut(at) {
            Some(Part::Text { text, .. }) => {
                text.push_str(delta);
                tell(delta, ModelEvent::Text, heard);
            }
            Some(Part::Thinking { text, .. }) => {
                text.push_str(delta);
                tell(delta, ModelEvent::Thinking, heard);
            }
            Some(Part::Call(call)) => {
                call.arguments.push_str(delta);
                tell_arguments(delta.len(), heard);
            }
            Some(Part::Redacted(_)) | None => {}
        }
    }

    /// More text at the end.
    pub(crate) fn say(&mut self, delta: &str, heard: Heard<'_>) {
        let at = match self.0.last() {
            Some(Part::Text { .. }) => self.0.len() - 1,
            _ => self.begin(Part::text(), heard),
        };
        self.append(at, delta, heard);
    }

    /// More thinking at the end.
    pub(crate) fn think(&mut self, delta: &str, heard: Heard<'_>) {
        let at = match self.0.last() {
            Some(Part::Thinking { .. }) => self.0.len() - 1,
            _ => self.begin(Part::thinking(), heard),
        };
        self.append(at, delta, heard);
    }

    /// Why it ends here: services do not agree on what to call an answer that wants tools.
    pub(crate) fn stop(&self, told: Stop) -> Stop {
        let calls = self.0.iter().any(|part| matches!(part, Part::Call(_)));
        match told {
            Stop::Length => Stop::Length,
            Stop::Done | Stop::ToolUse if calls => Stop::ToolUse,
            Stop::Done | Stop::ToolUse => Stop::Done,
        }
    }

    pub(crate) fn into_blocks(self) -> Vec<Value> {
        self.0.into_iter().filter_map(block).collect()
    }
}

fn tell(delta: &str, event: impl Fn(String) -> ModelEvent, heard: Heard<'_>) {
    if !delta.is_empty() {
        heard(event(delta.to_owned()));
    }
}

fn tell_arguments(bytes: usize, heard: Heard<'_>) {
    if bytes > 0 {
        heard(ModelEvent::ToolArguments { bytes });
    }
}

fn block(part: Part) -> Option<Value> {
    match part {
        Part::Text { text, .. } if text.is_empty() => None,
        Part::Text { text, signature } => {
            let mut block = text_block(&whole(text));
            sign(&mut block, "textSignature", signature);
            Some(block)
        }
        Part::Thinking { text, signature: None } if text.is_empty() => None,
        Part::Thinking { text, signature } => {
            let mut block = json!({"type": "thinking", "thinking": whole(text)});
            sign(&mut block, "thinkingSignature", signature);
            Some(block)
        }
        Part::Redacted(block) => Some(block),
        Part::Call(call) => {
            let arguments = arguments(&call.arguments);
            let mut block =
                json!({"type": "toolCall", "id": call.id, "name": call.name, "arguments": arguments});
            sign(&mut block, "thoughtSignature", call.signature);
            Some(block)
        }
    }
}

fn sign(block: &mut Value, field: &str, signature: Option<String>) {
    if let Some(signature) = signature {
        block[field] = signature.into();
    }
}

/// Halves of characters that came in different events are put together.
fn whole(text: String) -> String {
    match text::has_stand_ins(&text) {
        true => text::from_units(&text::to_units(&text)),
        false => text,
    }
}

/// The arguments of a call. What is no object stays text: whoever runs the tool has to say so.
fn arguments(written: &str) -> Value {
    if text::non_blank(written).is_none() {
        return Value::Object(Object::new());
    }
    match json::parse(written) {
        Ok(arguments @ Value::Object(_)) => arguments,
        Ok(Value::Null) => Value::Object(Object::new()),
        Ok(_) | Err(_) => Value::from(written),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_an_object_or_what_was_written() {
        let table = [
            ("", json!({})),
            ("null", json!({})),
            (r#"{"a":1}"#, json!({"a": 1})),
            (r#"{"a":"#, json!(r#"{"a":"#)),
            ("[1]", json!("[1]")),
        ];
        for (written, expected) in table {
            assert_eq!(arguments(written), expected, "{written}");
        }
    }

    #[test]
    fn arguments_count_as_they_are_written() {
        let mut writing = Writing::default();
        let mut bytes = 0;
        let mut heard = |event| {
            if let ModelEvent::ToolArguments { bytes: more } = event {
                bytes += more;
            }
        };
        let call = CallPart { name: "write".into(), arguments: "{}".into(), ..CallPart::default() };
        let at = writing.begin(Part::Call(call), &mut heard);
        writing.append(at, "more", &mut heard);
        assert_eq!(bytes, "{}more".len());
    }

    #[test]
    fn halves_of_a_character_become_whole() {
        let mut writing = Writing::default();
        for half in [r#""\ud83d""#, r#""\ude00""#] {
            let half = json::parse(half).unwrap();
            writing.say(half.as_str().unwrap(), &mut |_| {});
        }
        assert_eq!(writing.into_blocks(), [text_block("😀")]);
    }

    #[test]
    fn empty_parts_are_left_out_and_calls_decide_how_it_stops() {
        let mut writing = Writing::default();
        writing.say("", &mut |_| {});
        assert_eq!(writing.stop(Stop::ToolUse), Stop::Done);
        writing.begin(
            Part::Call(CallPart { id: "a".into(), name: "b".into(), ..Default::default() }),
            &mut |_| {},
        );
        assert_eq!(writing.stop(Stop::Done), Stop::ToolUse);
        assert_eq!(writing.stop(Stop::Length), Stop::Length);
        assert_eq!(
            writing.into_blocks(),
            [json!({"type": "toolCall", "id": "a", "name": "b", "arguments": {}})]
        );
    }
}
