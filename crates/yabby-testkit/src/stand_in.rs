//! Stand-ins for the services that have models, on loopback: they say what they were told to say, in the
//! wire format of the service, and remember what they were asked.

mod anthropic;
pub mod embeddings;
mod gemini;
mod openai_chat;
mod openai_responses;
pub mod recorded_model;
mod reply;
pub mod search;
mod server;

pub use reply::{Piece, Reply};
pub use server::{Seen, StandIn};

use serde_json::Value;

/// The wire formats that there are stand-ins for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Anthropic,
    OpenAiChat,
    OpenAiResponses,
    Gemini,
}

/// An answer, whatever it looks like on the wire.
#[derive(Clone, Debug, Default)]
pub struct Script {
    pub parts: Vec<Said>,
    pub end: End,
}

/// A part of an answer; what is a list comes in so many pieces.
#[derive(Clone, Debug)]
pub enum Said {
    Text(Vec<&'static str>),
    /// With what the service wants to see again.
    Thinking(Vec<&'static str>, &'static str),
    Redacted(&'static str),
    Call {
        id: &'static str,
        name: &'static str,
        arguments: Vec<&'static str>,
        /// What Gemini signs calls with.
        signature: Option<&'static str>,
    },
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum End {
    #[default]
    Done,
    Length,
    Tools,
    Refused,
}

/// What every answer is said to have used: 100 tokens read, 60 of them from a cache, and 20 written.
pub const USAGE: [f64; 5] = [40.0, 20.0, 60.0, 0.0, 120.0];

impl Script {
    pub fn text(pieces: &[&'static str]) -> Self {
        Self { parts: vec![Said::Text(pieces.to_vec())], end: End::Done }
    }

    pub fn calls(calls: &[(&'static str, &'static str, &[&'static str])]) -> Self {
        let call = |(id, name, arguments): &(&'static str, &'static str, &[&'static str])| Said::Call {
            id,
            name,
            arguments: arguments.to_vec(),
            signature: None,
        };
        Self { parts: calls.iter().map(call).collect(), end: End::Tools }
    }

    /// The same behind some thinking.
    pub fn after_thinking(mut self, pieces: &[&'static str], signature: &'static str) -> Self {
        self.parts.insert(0, Said::Thinking(pieces.to_vec(), signature));
        self
    }
}

impl Format {
    pub const ALL: [Self; 4] = [Self::Anthropic, Self::OpenAiChat, Self::OpenAiResponses, Self::Gemini];

    /// The events of an answer, one piece each.
    pub fn answer(self, script: &Script) -> Reply {
        Reply::events(match self {
            Self::Anthropic => anthropic::events(script),
            Self::OpenAiChat => openai_chat::events(script),
            Self::OpenAiResponses => openai_responses::events(script),
            Self::Gemini => gemini::events(script),
        })
    }

    pub fn rate_limited(self) -> Reply {
        self.failure(429, "rate_limit_error", "RESOURCE_EXHAUSTED", "Slow down")
    }

    pub fn overloaded(self) -> Reply {
        let status = if self == Self::Anthropic { 529 } else { 503 };
        self.failure(status, "overloaded_error", "UNAVAILABLE", "Overloaded")
    }

    /// Whoever asks is not known; the key is repeated, as some do.
    pub fn denied(self, key: &str) -> Reply {
        let words = format!("Incorrect key: {key}");
        self.failure(401, "authentication_error", "UNAUTHENTICATED", &words)
    }

    pub fn bad_request(self) -> Reply {
        self.failure(400, "invalid_request_error", "INVALID_ARGUMENT", "messages.0: nonsense")
    }

    /// The request is too long, in the words of the service.
    pub fn overflow(self) -> Reply {
        let words = match self {
            Self::Anthropic => "prompt is too long: 213462 tokens > 200000 maximum",
            Self::OpenAiChat => {
                "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens."
            }
            Self::OpenAiResponses => {
                "Your input exceeds the context window of this model. Please adjust your input and try again."
            }
            Self::Gemini => {
                "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)."
            }
        };
        self.failure(400, "invalid_request_error", "INVALID_ARGUMENT", words)
    }

    fn failure(self, status: u16, kind: &str, google: &str, words: &str) -> Reply {
        Reply::json(status, &self.error(status, kind, google, words))
    }

    /// An overload that is told within a stream that had begun well.
    pub fn overloaded_midway(self) -> Value {
        self.error(503, "overloaded_error", "UNAVAILABLE", "Overloaded")
    }

    fn error(self, status: u16, kind: &str, google: &str, words: &str) -> Value {
        use serde_json::json;
        match self {
            Self::Anthropic => json!({"type": "error", "error": {"type": kind, "message": words}}),
            Self::OpenAiChat => {
                json!({"error": {"message": words, "type": kind, "param": null, "code": null}})
            }
            Self::OpenAiResponses => {
                json!({"type": "error", "error": {"message": words, "type": kind, "param": null, "code": kind}})
            }
            Self::Gemini => json!({"error": {"code": status, "message": words, "status": google}}),
        }
    }
}
