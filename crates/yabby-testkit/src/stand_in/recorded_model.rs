//! The model that was asked while the gateway and the command line were recorded: what it answers depends on
//! the last thing that was said to it, and its words come slowly (`vectors/gateway/README.md` §4).

use std::io;
use std::net::TcpListener;
use std::time::Duration;

use axum::Router;
use axum::body::to_bytes;
use axum::extract::Request;
use axum::response::Response;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::embeddings;
use super::reply::{Piece, Reply};
use super::server::response;

/// A service on loopback. It is gone when this is dropped.
pub struct RecordedModel {
    serving: JoinHandle<()>,
}

impl RecordedModel {
    /// Serves whoever connects to this.
    pub fn on(listener: TcpListener) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let serving = tokio::spawn(async move {
            // It ends with the test.
            let _ = axum::serve(listener, Router::new().fallback(answer)).await;
        });
        Ok(Self { serving })
    }
}

impl Drop for RecordedModel {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn answer(request: Request) -> Response {
    let path = request.uri().path().to_owned();
    let body = to_bytes(request.into_body(), usize::MAX).await.unwrap_or_default();
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let streams = body["stream"] == true;
    let reply = if path.ends_with("/messages") {
        match Answer::to(&body) {
            Answer::Failure { status, kind, words } => failure(status, kind, words),
            Answer::Said(said) if streams => said.anthropic_events(&body["model"]),
            Answer::Said(said) => Reply::json(200, &said.anthropic_message(&body["model"])),
        }
    } else if path.ends_with("/chat/completions") {
        match Answer::to(&body) {
            Answer::Failure { status, kind, words } => failure(status, kind, words),
            Answer::Said(said) if streams => said.openai_chunks(&body["model"]),
            Answer::Said(said) => Reply::json(200, &said.openai_message(&body["model"])),
        }
    } else if path.ends_with("/embeddings") {
        Reply::json(200, &embeddings_of(&body))
    } else {
        Reply::json(404, &json!({"error": {"message": "unknown address"}}))
    };
    response(reply)
}

fn failure(status: u16, kind: &str, words: &str) -> Reply {
    Reply::json(status, &json!({"type": "error", "error": {"type": kind, "message": words}}))
}

fn embeddings_of(body: &Value) -> Value {
    let texts = body["input"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let vectors: Vec<Vec<f64>> = texts.map(embeddings::vector).collect();
    let item = |(index, vector): (usize, &Vec<f64>)| json!({"object": "embedding", "index": index, "embedding": vector});
    json!({"object": "list", "model": body["model"], "data": vectors.iter().enumerate().map(item).collect::<Vec<_>>(),
        "usage": {"prompt_tokens": 1, "total_tokens": 1}})
}

enum Answer {
    Said(Said),
    Failure { status: u16, kind: &'static str, words: &'static str },
}

struct Said {
    thinking: Option<&'static str>,
    text: &'static str,
    calls_tool: bool,
    input_tokens: u64,
    pace: Pace,
}

/// How the words come.
#[derive(Clone, Copy)]
enum Pace {
    InThree,
    WordByWord,
}

const GREETING: &str = "Hello from the stub model. This is a fixed reply.";
const OUTPUT_TOKENS: u64 = 12;
const ARGUMENTS: &str = r#"{"command":"echo yabby-tool"}"#;

impl Said {
    const fn text(text: &'static str) -> Self {
        Self { thinking: None, text, calls_tool: false, input_tokens: 120, pace: Pace::InThree }
    }
}

impl Answer {
    /// The first row of the table that fits.
    fn to(body: &Value) -> Self {
        let Some(said) = last_said(body) else { return Self::Said(Said::text("Tool finished. Done.")) };
        let asks_for_summary = said.chars().count() > 400 && said.to_lowercase().contains("summar");
        Self::Said(if asks_for_summary {
            Said::text("## Goal\nstub summary of the conversation")
        } else if said.contains("TOOLCALL") {
            Said { calls_tool: true, ..Said::text("Running a command.") }
        } else if said.contains("SLOW") {
            let words = "slow one two three four five six seven eight nine ten";
            Said { pace: Pace::WordByWord, ..Said::text(words) }
        } else if said.contains("THINK") {
            Said { thinking: Some("Let me think about it."), ..Said::text("Thought about it.") }
        } else if said.contains("ERR500") {
            return Self::Failure { status: 500, kind: "api_error", words: "stub error 500" };
        } else if said.contains("ERR400") {
            return Self::Failure { status: 400, kind: "invalid_request_error", words: "stub error 400" };
        } else if said.contains("BIGUSAGE") {
            Said { input_tokens: 195_000, ..Said::text(GREETING) }
        } else {
            Said::text(GREETING)
        })
    }
}

/// The text of what a user said last; `None` if that was the result of a tool.
fn last_said(body: &Value) -> Option<String> {
    let messages = body["messages"].as_array().map_or(&[][..], Vec::as_slice);
    let last = messages.iter().rev().find(|message| message["role"] == "user" || message["role"] == "tool");
    let Some(last) = last else { return Some(String::new()) };
    if last["role"] == "tool" {
        return None;
    }
    match &last["content"] {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) if parts.iter().any(|part| part["type"] == "tool_result") => None,
        Value::Array(parts) => {
            let texts: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
            Some(texts.join("\n"))
        }
        _ => Some(String::new()),
    }
}

impl Said {
    fn chunks(&self) -> Vec<String> {
        let words: Vec<&str> = self.text.split_inclusive(' ').collect();
        let size = match self.pace {
            Pace::InThree => words.len().div_ceil(3),
            Pace::WordByWord => 1,
        };
        words.chunks(size.max(1)).map(<[&str]>::concat).collect()
    }

    fn wait(&self) -> Piece {
        Piece::Wait(Duration::from_millis(match self.pace {
            Pace::InThree => 200,
            Pace::WordByWord => 700,
        }))
    }

    fn anthropic_usage(&self, output: u64) -> Value {
        json!({"input_tokens": self.input_tokens, "output_tokens": output,
            "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0})
    }

    fn anthropic_stop(&self) -> &'static str {
        if self.calls_tool { "tool_use" } else { "end_turn" }
    }

    fn anthropic_events(&self, model: &Value) -> Reply {
        let mut stream = Stream::default();
        stream.named(&json!({"type": "message_start", "message": {
            "id": "msg_stub_0001", "type": "message", "role": "assistant", "model": model, "content": [],
            "stop_reason": null, "stop_sequence": null, "usage": self.anthropic_usage(1)}}));
        let mut index = 0;
        if let Some(thinking) = self.thinking {
            let start = json!({"type": "thinking", "thinking": "", "signature": ""});
            stream.block(&mut index, &start, |stream, index| {
                stream.delta(index, &json!({"type": "thinking_delta", "thinking": thinking}));
                stream.delta(index, &json!({"type": "signature_delta", "signature": "c3R1Yg=="}));
            });
        }
        stream.block(&mut index, &json!({"type": "text", "text": ""}), |stream, index| {
            for chunk in self.chunks() {
                stream.delta(index, &json!({"type": "text_delta", "text": chunk}));
                stream.0.push(self.wait());
            }
        });
        if self.calls_tool {
            let start = json!({"type": "tool_use", "id": "toolu_stub_0001", "name": "exec", "input": {}});
            stream.block(&mut index, &start, |stream, index| {
                stream.delta(index, &json!({"type": "input_json_delta", "partial_json": ARGUMENTS}));
            });
        }
        stream.named(&json!({"type": "message_delta",
            "delta": {"stop_reason": self.anthropic_stop(), "stop_sequence": null},
            "usage": {"output_tokens": OUTPUT_TOKENS}}));
        stream.named(&json!({"type": "message_stop"}));
        stream.into_reply()
    }

    fn anthropic_message(&self, model: &Value) -> Value {
        let mut content = Vec::new();
        if let Some(thinking) = self.thinking {
            content.push(json!({"type": "thinking", "thinking": thinking, "signature": "c3R1Yg=="}));
        }
        content.push(json!({"type": "text", "text": self.text}));
        if self.calls_tool {
            content.push(json!({"type": "tool_use", "id": "toolu_stub_0001", "name": "exec",
                "input": {"command": "echo yabby-tool"}}));
        }
        json!({"id": "msg_stub_0001", "type": "message", "role": "assistant", "model": model,
            "content": content, "stop_reason": self.anthropic_stop(), "stop_sequence": null,
            "usage": self.anthropic_usage(OUTPUT_TOKENS)})
    }

    fn openai_usage(&self) -> Value {
        json!({"prompt_tokens": self.input_tokens, "completion_tokens": OUTPUT_TOKENS,
            "total_tokens": self.input_tokens + OUTPUT_TOKENS})
    }

    fn openai_call(&self) -> Value {
        json!({"id": "call_stub_0001", "type": "function",
            "function": {"name": "exec", "arguments": ARGUMENTS}})
    }

    fn openai_finish(&self) -> &'static str {
        if self.calls_tool { "tool_calls" } else { "stop" }
    }

    fn openai_chunks(&self, model: &Value) -> Reply {
        let chunk = |delta: Value, finish: Value| {
            json!({"id": "chatcmpl-stub-0001", "object": "chat.completion.chunk", "created": 1_700_000_000,
                "model": model, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
        };
        let mut stream = Stream::default();
        stream.unnamed(&chunk(json!({"role": "assistant", "content": ""}), Value::Null).to_string());
        for piece in self.chunks() {
            stream.unnamed(&chunk(json!({"content": piece}), Value::Null).to_string());
            stream.0.push(self.wait());
        }
        if self.calls_tool {
            let mut call = self.openai_call();
            call["index"] = json!(0);
            stream.unnamed(&chunk(json!({"tool_calls": [call]}), Value::Null).to_string());
        }
        let mut last = chunk(json!({}), self.openai_finish().into());
        last["usage"] = self.openai_usage();
        stream.unnamed(&last.to_string());
        stream.unnamed("[DONE]");
        stream.into_reply()
    }

    fn openai_message(&self, model: &Value) -> Value {
        let mut message = json!({"role": "assistant", "content": self.text});
        if self.calls_tool {
            message["tool_calls"] = json!([self.openai_call()]);
        }
        json!({"id": "chatcmpl-stub-0001", "object": "chat.completion", "created": 1_700_000_000, "model": model,
            "choices": [{"index": 0, "message": message, "finish_reason": self.openai_finish()}],
            "usage": self.openai_usage()})
    }
}

/// The events of an answer, and the waits between them.
#[derive(Default)]
struct Stream(Vec<Piece>);

impl Stream {
    fn named(&mut self, event: &Value) {
        let name = event["type"].as_str().unwrap_or_default();
        self.0.push(Piece::Bytes(format!("event: {name}\ndata: {event}\n\n").into_bytes()));
    }

    fn unnamed(&mut self, data: &str) {
        self.0.push(Piece::Bytes(format!("data: {data}\n\n").into_bytes()));
    }

    fn delta(&mut self, index: usize, delta: &Value) {
        self.named(&json!({"type": "content_block_delta", "index": index, "delta": delta}));
    }

    fn block(&mut self, index: &mut usize, start: &Value, deltas: impl FnOnce(&mut Self, usize)) {
        self.named(&json!({"type": "content_block_start", "index": *index, "content_block": start}));
        deltas(self, *index);
        self.named(&json!({"type": "content_block_stop", "index": *index}));
        *index += 1;
    }

    fn into_reply(self) -> Reply {
        Reply { pieces: self.0, ..Reply::events(Vec::new()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_in_the_recorded_chunks() {
        let three = Said::text(GREETING).chunks();
        assert_eq!(three, ["Hello from the stub ", "model. This is a ", "fixed reply."]);
        let slow = Said { pace: Pace::WordByWord, ..Said::text("slow one two") };
        assert_eq!(slow.chunks(), ["slow ", "one ", "two"]);
    }

    #[test]
    fn what_was_said_last_decides() {
        let long = format!("Please summarize this: {}", "word ".repeat(100));
        let user = |content: Value| json!({"messages": [{"role": "user", "content": "SLOW"}, {"role": "assistant", "content": "x"}, {"role": "user", "content": content}]});
        //  request                                                                        begins with
        let table = [
            (user(json!("hi")), "Hello"),
            (user(json!([{"type": "text", "text": "a"}, {"type": "text", "text": "TOOLCALL"}])), "Running"),
            (user(json!([{"type": "tool_result", "content": "x"}])), "Tool finished"),
            (
                json!({"messages": [{"role": "user", "content": "SLOW"}, {"role": "tool", "content": "x"}]}),
                "Tool finished",
            ),
            (user(json!(long)), "## Goal"),
            (user(json!("THINK TOOLCALL")), "Running"),
            (user(json!("THINK")), "Thought"),
        ];
        for (request, expected) in table {
            let Answer::Said(said) = Answer::to(&request) else { panic!("{request} fails") };
            assert!(said.text.starts_with(expected), "{request}: {}", said.text);
        }
        assert!(matches!(Answer::to(&user(json!("ERR400"))), Answer::Failure { status: 400, .. }));
    }
}
