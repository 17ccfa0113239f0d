//! The same conversation with every service, through the engine: a question, a round of tools with two
//! calls at once and a picture, thinking, and a question that follows up.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use yabby_domain::json::Object;
use yabby_domain::message::Message;
use yabby_domain::seam::tool::{Effect, Tool, ToolContext, ToolOutput, ToolSpec};
use yabby_engine::events::EventKind;
use yabby_testkit::stage::{Stage, direct, say, texts};
use yabby_testkit::stand_in::{Format, Piece, Reply, Script};

use crate::clients::after_first_words;
use crate::service::{PIXEL, Service, tools};

struct Known(ToolSpec);

#[async_trait]
impl Tool for Known {
    fn spec(&self) -> ToolSpec {
        self.0.clone()
    }

    fn effect(&self) -> Effect {
        Effect::None
    }

    async fn call(&self, arguments: &Object, _: &ToolContext) -> ToolOutput {
        let said = format!("{}: {}", self.0.name, Value::Object(arguments.clone()));
        let mut output = ToolOutput::text(&said);
        if self.0.name == "look" {
            output.blocks.push(json!({"type": "image", "data": PIXEL, "mimeType": "image/png"}));
        }
        output
    }
}

fn stage(service: &Service) -> Stage {
    let mut stage = Stage::new(json!({}));
    stage.providers.push(Arc::new(service.provider.clone()));
    stage.default_model = service.model.clone();
    stage.tools = tools().into_iter().map(|spec| Arc::new(Known(spec)) as Arc<dyn Tool>).collect();
    stage
}

fn signature(format: Format) -> &'static str {
    match format {
        Format::OpenAiChat => "reasoning_content",
        _ => "c2lnbmVk",
    }
}

const KEY: &str = "agent:main:main";

#[tokio::test]
async fn a_conversation_goes_on_over_thinking_tools_and_pictures() {
    for format in Format::ALL {
        let service = Service::start(format).await;
        let stage = stage(&service);
        let engine = stage.engine();
        service.stand_in.will([
            format.answer(
                &Script::text(&["Hello ", "Sam."]).after_thinking(&["A greeting."], signature(format)),
            ),
            format.answer(
                &Script::calls(&[
                    ("call_a", "look", &["{\"at\":", "\"sea\"}"]),
                    ("call_b", "note", &["{\"text\":\"crab\"}"]),
                ])
                .after_thinking(&["Two things."], signature(format)),
            ),
            format.answer(&Script::text(&["A crab; noted."])),
            format.answer(&Script::text(&["It was red."])),
        ]);
        for (question, answer) in
            [("hi", "Hello Sam."), ("look and note", "A crab; noted."), ("which colour?", "It was red.")]
        {
            let report = say(&engine, direct(question)).await;
            assert_eq!(texts(&report), [answer], "{format:?}");
        }
        let said = stage.said(KEY).await;
        let expected = [
            "user: hi",
            "assistant: (A greeting.) Hello Sam.",
            "user: look and note",
            "assistant: (Two things.) <look> <note>",
            "toolResult: look: {\"at\":\"sea\"} *",
            "toolResult: note: {\"text\":\"crab\"}",
            "assistant: A crab; noted.",
            "user: which colour?",
            "assistant: It was red.",
        ];
        assert_eq!(said.len(), expected.len(), "{format:?} {said:#?}");
        for (said, expected) in said.iter().zip(expected) {
            let (role, words) = expected.split_once(": ").unwrap();
            assert!(said.starts_with(role) && said.ends_with(words), "{format:?} {said}");
        }
        // Everything that was said is in the last request, the picture and what was signed included.
        let last = service.stand_in.last_body().to_string();
        for part in ["Hello Sam.", "A crab; noted.", PIXEL, "Two things.", "which colour?"] {
            assert!(last.contains(part), "{format:?} {part} {last}");
        }
        if format != Format::OpenAiChat {
            assert_eq!(last.matches(signature(format)).count(), 2, "{format:?} {last}");
        }
        let calls = stage.calls.calls();
        assert_eq!(calls.len(), 4, "{format:?}");
        let used = |call: &yabby_domain::ledger::CallRecord| (call.input, call.output, call.cache_read);
        assert!(calls.iter().all(|call| used(call) == (40, 20, 60)), "{format:?}");
    }
}

#[tokio::test]
async fn thinking_between_tags_is_thinking() {
    for format in Format::ALL {
        let service = Service::start(format).await;
        let stage = stage(&service);
        let engine = stage.engine();
        let mut events = engine.subscribe();
        let thought = ["<thi", "nk>Who is", " that?</th", "ink>\n\nHello ", "Sam."];
        service.stand_in.will([
            format.answer(&Script::text(&thought)),
            format.answer(&Script::text(&["Tags are <think> and </think>."])),
        ]);
        let report = say(&engine, direct("hi")).await;
        assert_eq!(texts(&report), ["Hello Sam."], "{format:?}");
        let (mut text, mut thinking) = (String::new(), String::new());
        while let Ok(event) = events.try_recv() {
            match event.kind {
                EventKind::Text(more) => text.push_str(&more),
                EventKind::Thinking(more) => thinking.push_str(&more),
                _ => {}
            }
        }
        assert_eq!((text.as_str(), thinking.as_str()), ("Hello Sam.", "Who is that?"), "{format:?}");
        let report = say(&engine, direct("how?")).await;
        assert_eq!(texts(&report), ["Tags are <think> and </think>."], "{format:?}");
        let said = stage.said(KEY).await;
        assert_eq!(said[1], "assistant: (Who is that?) Hello Sam.", "{format:?}");
        let last = service.stand_in.last_body().to_string();
        assert!(last.contains("Hello Sam.") && !last.contains("<think>Who"), "{format:?} {last}");
    }
}

#[tokio::test]
async fn arguments_that_cannot_be_read_are_told_of_and_spoil_no_request() {
    // Gemini's arguments are no text: what it sends is an object, or no event at all.
    for format in Format::ALL.into_iter().filter(|format| *format != Format::Gemini) {
        for written in ["{\"at\": \"se", "[\"sea\"]", "sea"] {
            let service = Service::start(format).await;
            let stage = stage(&service);
            let engine = stage.engine();
            let call = Script::calls(&[("call_a", "look", &[written])]);
            service.stand_in.will([format.answer(&call), format.answer(&Script::text(&["I see."]))]);
            assert_eq!(texts(&say(&engine, direct("look")).await), ["I see."], "{format:?} {written}");
            let told = service.stand_in.last_body().to_string();
            assert!(told.contains("The arguments could not be read"), "{format:?} {written} {told}");

            let transcript = stage.transcript(KEY).await.unwrap();
            let said: Vec<Message> = transcript.branch().iter().filter_map(|entry| entry.message()).collect();
            let mut blocks = said.iter().flat_map(Message::blocks);
            let call = blocks.find(|block| block["type"] == "toolCall").unwrap();
            assert_eq!(call["arguments"], json!({}), "{format:?} {written}");
            assert_eq!(call["unreadableArguments"], written, "{format:?}");
        }
    }
}

#[tokio::test]
async fn the_beginning_of_a_request_never_changes() {
    for format in Format::ALL {
        let service = Service::start(format).await;
        let stage = stage(&service);
        let engine = stage.engine();
        for _ in 0..3 {
            service.stand_in.will([format.answer(&Script::text(&["ok"]))]);
            say(&engine, direct("and?")).await;
        }
        let bodies: Vec<Value> = service.stand_in.seen().into_iter().map(|seen| seen.body).collect();
        for field in ["system", "instructions", "systemInstruction", "tools"] {
            assert!(bodies.iter().all(|body| body.get(field) == bodies[0].get(field)), "{format:?} {field}");
        }
    }
}

#[tokio::test]
async fn a_request_that_is_too_long_is_compacted_and_asked_again() {
    for format in Format::ALL {
        let service = Service::start(format).await;
        let stage = stage(&service);
        let engine = stage.engine();
        let answer = |text: &'static str| format.answer(&Script::text(&[text]));
        service.stand_in.will([answer("one"), answer("two")]);
        say(&engine, direct(&"first ".repeat(16_000))).await;
        say(&engine, direct(&"second ".repeat(16_000))).await;
        // The overflow; the flush; the summary; the answer. Whatever else is asked is answered alike.
        service.stand_in.will([format.overflow()]);
        service.stand_in.will((0..6).map(|_| answer("three")));
        let report = say(&engine, direct("third")).await;
        assert_eq!(texts(&report), ["three"], "{format:?}");
        let last = service.stand_in.last_body().to_string();
        assert!(last.contains("compacted into the following summary"), "{format:?}");
    }
}

#[tokio::test]
async fn what_goes_wrong_is_told_in_a_sentence_and_the_conversation_goes_on() {
    for format in Format::ALL {
        let service = Service::start(format).await;
        let stage = stage(&service);
        let engine = stage.engine();
        let cut = format.answer(&Script::text(&["Hel", "lo"]));
        let table: [(Reply, &str); 2] = [
            (format.denied("k"), "does not accept the key"),
            (cut.then(after_first_words(format), Piece::Cut), "broke off"),
        ];
        for (reply, words) in table {
            service.stand_in.will([reply]);
            let report = say(&engine, direct("hello?")).await;
            let told = texts(&report).join("\n");
            assert!(told.contains(words), "{format:?} {told}");
        }
        service.stand_in.will([format.answer(&Script::text(&["fine"]))]);
        let report = say(&engine, direct("better?")).await;
        assert_eq!(texts(&report), ["fine"], "{format:?}");
    }
}
