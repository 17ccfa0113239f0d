//! The lines of JSON that the program prints, and the answer that is made of them.

use yabby_domain::json::{self, Value};
use yabby_domain::message::text_block;
use yabby_domain::seam::model::{Answer, ModelEvent, Stop};
use yabby_domain::text;
use yabby_domain::usage::Usage;

use super::failing::Trouble;
use crate::wire::{Heard, count, text_at};

/// What was printed so far.
#[derive(Default)]
pub(super) struct Lines {
    texts: Vec<String>,
    /// Words are told as they are written, not when a message is complete.
    tells_pieces: bool,
    /// Something was told since the last message ended.
    in_message: bool,
    told: bool,
    stop: Option<Stop>,
    /// What the service said last that it read, and that was written.
    read: Option<f64>,
    written: f64,
    session: Option<String>,
    result: Option<Result<Usage, Trouble>>,
}

impl Lines {
    /// Takes a line; whether it was the last that counts.
    pub(super) fn read(&mut self, line: &str, heard: Heard<'_>) -> bool {
        // It may warn about something in between.
        let Ok(event) = json::parse(text::trim(line)) else { return false };
        // What its helpers say among themselves is no answer.
        let is_helper = event.get("parent_tool_use_id").is_some_and(Value::is_string);
        if let Some(id) = event.get("session_id").and_then(Value::as_str) {
            self.session = Some(id.to_owned());
        }
        match text_at(&event, "type") {
            "stream_event" if !is_helper => {
                self.piece(event.get("event").unwrap_or(&Value::Null), heard);
                false
            }
            "assistant" if !is_helper => {
                self.message(event.get("message").unwrap_or(&Value::Null), heard);
                false
            }
            "result" => {
                self.result = Some(self.end(&event));
                true
            }
            _ => false,
        }
    }

    pub(super) fn answer(self, errors: &str) -> Result<Answer, Trouble> {
        let ended = match text::non_blank(errors) {
            None => Trouble::CutOff(String::new()),
            Some(words) => match Trouble::of_words(words) {
                Trouble::Said(yabby_domain::seam::model::ModelErrorKind::Broken, words) => {
                    Trouble::CutOff(words)
                }
                other => other,
            },
        };
        let usage = self.result.ok_or(ended)??;
        Ok(Answer {
            blocks: self.texts.iter().map(|text| text_block(text)).collect(),
            stop: self.stop.unwrap_or_default(),
            usage,
            cli_session_id: self.session,
        })
    }

    fn piece(&mut self, event: &Value, heard: Heard<'_>) {
        match text_at(event, "type") {
            "content_block_delta" => {
                let delta = event.get("delta").unwrap_or(&Value::Null);
                self.tells_pieces = true;
                self.tell(text_at(delta, "text"), heard);
                let thought = text_at(delta, "thinking");
                if !thought.is_empty() {
                    heard(ModelEvent::Thinking(thought.to_owned()));
                }
            }
            "message_delta" => {
                let delta = event.get("delta").unwrap_or(&Value::Null);
                self.stop = match text_at(delta, "stop_reason") {
                    "max_tokens" => Some(Stop::Length),
                    _ => None,
                };
                self.written = self.written.max(count(event, &["usage", "output_tokens"]));
            }
            _ => {}
        }
    }

    fn message(&mut self, message: &Value, heard: Heard<'_>) {
        let read = ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"]
            .map(|field| count(message, &["usage", field]));
        self.read = Some(read.iter().sum()).filter(|read| *read > 0.0);
        self.written = count(message, &["usage", "output_tokens"]);
        let blocks = message.get("content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        for block in blocks.iter().filter(|block| text_at(block, "type") == "text") {
            let said = text_at(block, "text");
            if text::non_blank(said).is_none() {
                continue;
            }
            self.texts.push(said.to_owned());
            if !self.tells_pieces {
                self.tell(said, heard);
            }
        }
        self.in_message = false;
    }

    /// Between two messages, in which tools were at work, there is a gap.
    fn tell(&mut self, words: &str, heard: Heard<'_>) {
        if words.is_empty() {
            return;
        }
        if self.told && !self.in_message {
            heard(ModelEvent::Text("\n\n".to_owned()));
        }
        (self.told, self.in_message) = (true, true);
        heard(ModelEvent::Text(words.to_owned()));
    }

    fn end(&mut self, event: &Value) -> Result<Usage, Trouble> {
        let failed = event.get("is_error") == Some(&Value::Bool(true));
        let subtype = text_at(event, "subtype");
        if failed || (subtype.starts_with("error") && self.texts.is_empty()) {
            let errors = event.get("errors").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            let errors: Vec<&str> = errors.iter().filter_map(Value::as_str).collect();
            let words = match (text_at(event, "result"), errors.is_empty()) {
                ("", true) => subtype.to_owned(),
                ("", false) => errors.join("; "),
                (result, _) => result.to_owned(),
            };
            return Err(Trouble::of_words(&words));
        }
        let result = text_at(event, "result");
        if self.texts.is_empty() && text::non_blank(result).is_some() {
            self.texts.push(result.to_owned());
        }
        let usage = event.get("usage").unwrap_or(&Value::Null);
        let parts =
            ["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"]
                .map(|field| count(usage, &[field]));
        let [input, output, read, written] = parts;
        Ok(Usage {
            input: Some(input),
            output: Some(output),
            cache_read: Some(read),
            cache_write: Some(written),
            // The parts are the sum of all that it asked for; the last time shows how much it keeps in mind.
            total: Some(self.read.map_or(parts.iter().sum(), |read| read + self.written)),
        })
    }
}
