//! The provider `offline`: answers by plain rules, without a network, a key or any state.
//!
//! It is no language model, and says so. What it can do it does as a model would, by calling tools: it
//! notes things, looks them up, lists and reads files, tells how the session is. Before a compaction it
//! writes down what a user said about themselves, and it summarises by picking out sentences. What
//! tools, files and the memory say is quoted and never obeyed: only a user's own words are looked at
//! for wishes.

mod facts;
mod flush;
mod prompt;
mod quote;
mod reply;
mod summary;
mod today;
mod turn;
mod wish;

use async_trait::async_trait;
use regex::Regex;
use serde_json::json;
use yabby_domain::compaction::tokens;
use yabby_domain::json::{self, Object, Value};
use yabby_domain::message::text_block;
use yabby_domain::reply::usage_line::Prices;
use yabby_domain::seam::model::{
    Answer, ModelError, ModelErrorKind, ModelEvent, ModelInfo, ModelProvider, ModelRequest, Purpose, Stop,
};
use yabby_domain::text;
use yabby_domain::usage::Usage;

/// The name in front of the slash.
pub const PROVIDER: &str = "offline";
/// The only model there is.
pub const MODEL: &str = "rules";

const CONTEXT_WINDOW: u64 = 32_000;
const MAX_OUTPUT: u64 = 4096;

/// The provider. It costs nothing and knows one model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offline {
    context_window: u64,
}

impl Default for Offline {
    fn default() -> Self {
        Self { context_window: CONTEXT_WINDOW }
    }
}

impl Offline {
    /// One that refuses longer requests, in tokens.
    pub fn with_context_window(context_window: u64) -> Self {
        Self { context_window }
    }
}

/// What an answer consists of.
#[derive(Clone, Debug, PartialEq)]
enum Move {
    Say(String),
    Call(Vec<Call>),
}

#[derive(Clone, Debug, PartialEq)]
struct Call {
    tool: &'static str,
    arguments: Object,
}

#[async_trait]
impl ModelProvider for Offline {
    fn id(&self) -> &str {
        PROVIDER
    }

    fn describe(&self, model: &str) -> Option<ModelInfo> {
        let free = Prices { input: 0.0, output: 0.0, cache_read: 0.0, cache_write: 0.0 };
        (model == MODEL).then(|| ModelInfo {
            api: PROVIDER.to_owned(),
            context_window: self.context_window,
            max_output: MAX_OUTPUT,
            reasoning: false,
            images: false,
            prices: Some(free),
        })
    }

    fn models(&self) -> Vec<String> {
        vec![MODEL.to_owned()]
    }

    async fn stream(
        &self,
        request: &ModelRequest,
        heard: &mut (dyn FnMut(ModelEvent) + Send),
    ) -> Result<Answer, ModelError> {
        let request = &request.unsettled();
        if request.model.model != MODEL {
            let message = format!("there is no model {}; use {PROVIDER}/{MODEL}", request.model.model);
            return Err(ModelError::new(ModelErrorKind::Unavailable, message));
        }
        let input = input_tokens(request);
        // A summary is what gets a conversation out of an overflow, and picking sentences has no limit.
        if input > self.context_window && request.purpose != Purpose::Summary {
            let message = format!("prompt is too long: {input} tokens > {} maximum", self.context_window);
            return Err(ModelError::new(ModelErrorKind::ContextOverflow, message));
        }
        let most = request.max_tokens.unwrap_or(MAX_OUTPUT).min(MAX_OUTPUT);
        let next = match request.purpose {
            Purpose::Turn => turn::next(request),
            Purpose::Flush => flush::next(request),
            Purpose::Summary => Move::Say(summary::of(request, most)),
        };
        let (blocks, stop) = match next {
            Move::Say(words) => {
                let (words, stop) = fitting(words, most);
                words
                    .split_inclusive(char::is_whitespace)
                    .for_each(|word| heard(ModelEvent::Text(word.to_owned())));
                (vec![text_block(&words)], stop)
            }
            Move::Call(calls) => {
                calls.iter().for_each(|call| heard(ModelEvent::ToolCall { name: call.tool.to_owned() }));
                (calls.iter().enumerate().map(|(at, call)| block(call, at, request)).collect(), Stop::ToolUse)
            }
        };
        Ok(Answer { usage: usage(input, &blocks), blocks, stop, cli_session_id: None })
    }
}

/// No more than so many tokens of an answer, by the same count as everywhere.
fn fitting(words: String, tokens: u64) -> (String, Stop) {
    let most = usize::try_from(tokens.saturating_mul(4)).unwrap_or(usize::MAX);
    match quote::cut(&words, most) {
        shorter if shorter.len() < words.len() => (shorter.to_owned(), Stop::Length),
        _ => (words, Stop::Done),
    }
}

fn input_tokens(request: &ModelRequest) -> u64 {
    let tool_units = |tool: &std::sync::Arc<yabby_domain::seam::tool::ToolSpec>| {
        text::units(&tool.name)
            + text::units(&tool.description)
            + text::units(&json::stringify(&tool.parameters))
    };
    let units = text::units(&request.system) + request.tools.iter().map(tool_units).sum::<usize>();
    units.div_ceil(4) as u64 + tokens::estimate_all(&request.messages)
}

#[expect(clippy::cast_precision_loss, reason = "nobody has so many tokens")]
fn usage(input: u64, blocks: &[Value]) -> Usage {
    let answer = json!({"role": "assistant", "content": blocks});
    let output =
        yabby_domain::message::Message::from_value(answer).map_or(0, |answer| tokens::estimate(&answer));
    Usage {
        input: Some(input as f64),
        output: Some(output as f64),
        cache_read: Some(0.0),
        cache_write: Some(0.0),
        total: Some((input + output) as f64),
    }
}

fn block(call: &Call, at: usize, request: &ModelRequest) -> Value {
    let id = call_id(call, at, request);
    json!({"type": "toolCall", "id": id, "name": call.tool, "arguments": call.arguments})
}

/// A name for a call that no other one of the conversation has; the same for the same request.
fn call_id(call: &Call, at: usize, request: &ModelRequest) -> String {
    let last = request.messages.last().map(|message| json::stringify_object(message.as_object()));
    let facts = [
        request.session_id.as_str(),
        &request.messages.len().to_string(),
        last.as_deref().unwrap_or_default(),
        call.tool,
        &json::stringify_object(&call.arguments),
    ];
    // FNV-1a: it has to be the same in every release, and nobody gains from a collision.
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in facts.join("\0").bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    format!("offline{hash:016x}{at}")
}

/// A pattern that is part of our own source, for a static: if it does not compile, the first use says so.
fn pattern(source: &str) -> Regex {
    Regex::new(source).expect("a constant pattern compiles")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_cut_between_characters() {
        let table = [
            ("abcdefgh", 2, "abcdefgh", Stop::Done),
            ("abcdefghi", 2, "abcdefgh", Stop::Length),
            ("ééé😀é", 1, "ééé", Stop::Length),
            ("", 0, "", Stop::Done),
        ];
        for (words, tokens, expected, stop) in table {
            assert_eq!(fitting(words.to_owned(), tokens), (expected.to_owned(), stop), "{words}");
        }
    }

    #[test]
    fn one_model_is_known_and_it_is_free() {
        let offline = Offline::with_context_window(500);
        let info = offline.describe("rules").unwrap();
        assert_eq!((info.context_window, info.reasoning, info.images), (500, false, false));
        assert_eq!(info.prices.unwrap().of(&Usage { input: Some(1e9), ..Usage::default() }), 0.0);
        assert_eq!(offline.describe("gpt"), None);
        assert_eq!(Offline::default().describe("rules").unwrap().context_window, 32_000);
    }
}
