//! Each client with its stand-in, through everything that a service may do.

use std::time::{Duration, Instant};

use serde_json::json;
use yabby_domain::message::{Message, text_block};
use yabby_domain::model::ModelRef;
use yabby_domain::seam::model::{ModelErrorKind, ModelEvent, ModelProvider as _, ModelRequest, Stop};
use yabby_models::settings::ProviderSettings;
use yabby_models::{Http, Patience, RemoteProvider, Retries};
use yabby_testkit::stand_in::{End, Format, Piece, Reply, Script, StandIn, USAGE};

use crate::service::{KEY, Service, settings};

fn said(events: &[ModelEvent]) -> String {
    let text = |event: &ModelEvent| match event {
        ModelEvent::Text(text) => text.clone(),
        ModelEvent::Thinking(text) => format!("({text})"),
        ModelEvent::ToolCall { name } => format!("<{name}>"),
        ModelEvent::ToolArguments { .. } => String::new(),
    };
    events.iter().map(text).collect()
}

#[tokio::test]
async fn text_is_heard_as_it_comes_and_counted_once() {
    for format in Format::ALL {
        let service = Service::start(format).await;
        service.stand_in.will([format.answer(&Script::text(&["Hel", "lo, ", "wörld"]))]);
        let (heard, answer) = service.ask(&service.question()).await;
        let answer = answer.unwrap();
        let pieces = ["Hel", "lo, ", "wörld"].map(|piece| ModelEvent::Text(piece.to_owned()));
        assert_eq!(heard, pieces, "{format:?}");
        assert_eq!(answer.blocks.len(), 1, "{format:?}");
        assert_eq!(answer.blocks[0]["text"], "Hello, wörld", "{format:?}");
        assert_eq!(answer.stop, Stop::Done, "{format:?}");
        let usage = answer.usage;
        let found = [usage.input, usage.output, usage.cache_read, usage.cache_write, usage.total];
        assert_eq!(found, USAGE.map(Some), "{format:?}");
    }
}

#[tokio::test]
async fn the_key_goes_where_the_service_looks_for_it() {
    let table = [
        (Format::Anthropic, "/v1/messages", "x-api-key", KEY.to_owned()),
        (Format::OpenAiChat, "/v1/chat/completions", "authorization", format!("Bearer {KEY}")),
        (Format::OpenAiResponses, "/v1/responses", "authorization", format!("Bearer {KEY}")),
        (
            Format::Gemini,
            "/v1beta/models/gemini-3-flash-test:streamGenerateContent?alt=sse",
            "x-goog-api-key",
            KEY.to_owned(),
        ),
    ];
    for (format, path, header, value) in table {
        let service = Service::start(format).await;
        service.stand_in.will([format.answer(&Script::text(&["ok"]))]);
        service.ask(&service.question()).await.1.unwrap();
        let seen = &service.stand_in.seen()[0];
        assert_eq!((seen.path.as_str(), seen.header(header)), (path, Some(value.as_str())), "{format:?}");
        assert!(seen.header("user-agent").unwrap().starts_with("yabby/"), "{format:?}");
    }
}

#[tokio::test]
async fn a_token_is_a_bearers_whatever_the_service_calls_its_keys() {
    for format in Format::ALL {
        let stand_in = StandIn::start().await;
        let settings = ProviderSettings { bearer: true, ..settings(format, stand_in.address()) };
        let model = settings.models[0].id.clone();
        let provider = RemoteProvider::new(settings, Http::new(Patience::default()), Retries::none());
        stand_in.will([format.answer(&Script::text(&["ok"]))]);
        let question = Message::from_value(json!({"role": "user", "content": "Hello?", "timestamp": 1}));
        let request = ModelRequest::new(ModelRef::new("p", model), question.into_iter().collect());
        provider.stream(&request, &mut |_| {}).await.unwrap();
        let seen = &stand_in.seen()[0];
        assert_eq!(seen.header("authorization"), Some(format!("Bearer {KEY}").as_str()), "{format:?}");
        assert_eq!((seen.header("x-api-key"), seen.header("x-goog-api-key")), (None, None), "{format:?}");
    }
}

#[tokio::test]
async fn thinking_is_told_apart_and_signed() {
    let table = [
        (Format::Anthropic, "c2ln", json!("c2ln")),
        (Format::OpenAiChat, "reasoning_content", json!("reasoning_content")),
        (
            Format::OpenAiResponses,
            "gAAA",
            json!(
                r#"{"type":"reasoning","id":"rs_0","summary":[{"type":"summary_text","text":"Let me see"}],"encrypted_content":"gAAA"}"#
            ),
        ),
        (Format::Gemini, "c2ln", json!("c2ln")),
    ];
    for (format, signature, stored) in table {
        let service = Service::start(format).await;
        let script = Script::text(&["Yes"]).after_thinking(&["Let me ", "see"], signature);
        service.stand_in.will([format.answer(&script)]);
        let (heard, answer) = service.ask(&service.question()).await;
        assert_eq!(said(&heard), "(Let me )(see)Yes", "{format:?}");
        let blocks = answer.unwrap().blocks;
        assert_eq!(
            blocks[0],
            json!({"type": "thinking", "thinking": "Let me see", "thinkingSignature": stored}),
            "{format:?}"
        );
        assert_eq!(blocks[1]["text"], "Yes", "{format:?}");
    }
}

#[tokio::test]
async fn calls_are_put_together_however_they_are_cut() {
    for format in Format::ALL {
        let service = Service::start(format).await;
        let script = Script::calls(&[
            ("call_a", "look", &["{\"a", "t\":\"the s", "ea\"}"]),
            ("call_b", "note", &["{\"text\":\"\\u00", "fc😀\"}"]),
        ]);
        service.stand_in.will([format.answer(&script)]);
        let (heard, answer) = service.ask(&service.question()).await;
        let answer = answer.unwrap();
        assert_eq!(said(&heard), "<look><note>", "{format:?}");
        assert_eq!(answer.stop, Stop::ToolUse, "{format:?}");
        let ids = match format {
            Format::OpenAiResponses => ["call_a|fc_0", "call_b|fc_1"],
            _ => ["call_a", "call_b"],
        };
        let expected = [
            json!({"type": "toolCall", "id": ids[0], "name": "look", "arguments": {"at": "the sea"}}),
            json!({"type": "toolCall", "id": ids[1], "name": "note", "arguments": {"text": "ü😀"}}),
        ];
        assert_eq!(answer.blocks, expected, "{format:?}");
    }
}

#[tokio::test]
async fn characters_may_be_cut_anywhere() {
    for format in Format::ALL {
        let service = Service::start(format).await;
        let script = Script::text(&["Grüße 🦀", " — 日本", "語"]);
        for size in [1, 3, 7] {
            service.stand_in.will([format.answer(&script).in_pieces_of(size)]);
            let (heard, answer) = service.ask(&service.question()).await;
            assert_eq!(said(&heard), "Grüße 🦀 — 日本語", "{format:?} {size}");
            assert_eq!(answer.unwrap().blocks[0]["text"], "Grüße 🦀 — 日本語", "{format:?} {size}");
        }
    }
}

#[tokio::test]
async fn an_empty_answer_is_an_answer() {
    for format in Format::ALL {
        let service = Service::start(format).await;
        service.stand_in.will([format.answer(&Script::default())]);
        let (heard, answer) = service.ask(&service.question()).await;
        let answer = answer.unwrap();
        assert_eq!((heard, answer.blocks, answer.stop), (vec![], vec![], Stop::Done), "{format:?}");
    }
}

#[tokio::test]
async fn an_answer_that_is_cut_off_says_so() {
    for format in Format::ALL {
        let service = Service::start(format).await;
        let script = Script { end: End::Length, ..Script::text(&["Once upon"]) };
        service.stand_in.will([format.answer(&script)]);
        let answer = service.ask(&service.question()).await.1.unwrap();
        assert_eq!(
            (answer.stop, &answer.blocks[0]["text"]),
            (Stop::Length, &json!("Once upon")),
            "{format:?}"
        );
    }
}

#[tokio::test]
async fn a_refusal_is_told_as_one() {
    for format in Format::ALL {
        let service = Service::start(format).await;
        service.stand_in.will([format.answer(&Script { parts: Vec::new(), end: End::Refused })]);
        let error = service.ask(&service.question()).await.1.unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::Refused, "{format:?}");
        assert!(error.message.contains("declined to answer"), "{error}");
        assert_eq!(service.stand_in.seen().len(), 1, "{format:?}");
    }
}

/// How many pieces come before the second piece of the text.
pub fn after_first_words(format: Format) -> usize {
    match format {
        Format::Anthropic | Format::OpenAiResponses => 4,
        Format::OpenAiChat => 2,
        Format::Gemini => 1,
    }
}

#[tokio::test]
async fn a_line_that_is_cut_after_the_first_words_is_not_tried_again() {
    for format in Format::ALL {
        let service = Service::start(format).await;
        let whole = || format.answer(&Script::text(&["Hel", "lo"]));
        let at = after_first_words(format);
        // The line is cut, or it ends as if all had been said.
        let mut ended = whole().then(at, Piece::Wait(Duration::ZERO));
        ended = ended.then(at, Piece::Bytes(Vec::new()));
        for reply in [whole().then(at, Piece::Cut), ended] {
            let before = service.stand_in.seen().len();
            service.stand_in.will([reply]);
            let (heard, answer) = service.ask(&service.question()).await;
            let error = answer.unwrap_err();
            assert_eq!(said(&heard), "Hel", "{format:?}");
            assert_eq!(error.kind, ModelErrorKind::Broken, "{format:?} {error}");
            assert!(error.message.contains("broke off"), "{format:?} {error}");
            assert_eq!(service.stand_in.seen().len(), before + 1, "{format:?}");
        }
    }
}

#[tokio::test]
async fn a_line_that_is_cut_when_all_was_said_does_no_harm() {
    for format in Format::ALL {
        let service = Service::start(format).await;
        let whole = format.answer(&Script::text(&["Hello"]));
        let last = match format {
            // The usage and the end are missing.
            Format::OpenAiChat => whole.len() - 2,
            Format::Anthropic => whole.len() - 1,
            Format::OpenAiResponses | Format::Gemini => whole.len(),
        };
        service.stand_in.will([whole.then(last, Piece::Cut)]);
        let answer = service.ask(&service.question()).await.1.unwrap();
        assert_eq!((answer.stop, &answer.blocks[0]["text"]), (Stop::Done, &json!("Hello")), "{format:?}");
    }
}

#[tokio::test]
async fn what_fails_before_the_first_word_is_tried_again() {
    for format in Format::ALL {
        let whole = || format.answer(&Script::text(&["ok"]));
        let table: [(&str, Reply); 7] = [
            ("cut", whole().then(0, Piece::Cut)),
            ("overloaded", format.overloaded()),
            ("limited", format.rate_limited().with_header("retry-after", "0")),
            ("midway", whole().then_event(0, &format.overloaded_midway().to_string())),
            ("malformed", whole().then_event(0, "{\"type\": oops")),
            ("broken", Reply::json(500, &json!({"error": {"message": "Internal"}}))),
            ("page", Reply::json(502, &json!("<html>")).with_header("server", "gateway")),
        ];
        for (name, reply) in table {
            let service = Service::start(format).await;
            service.stand_in.will([reply, whole()]);
            let (heard, answer) = service.ask(&service.question()).await;
            assert_eq!(said(&heard), "ok", "{format:?} {name}");
            assert!(answer.is_ok(), "{format:?} {name}");
            let seen = service.stand_in.seen();
            assert_eq!(seen.len(), 2, "{format:?} {name}");
            assert_eq!(seen[0].body, seen[1].body, "{format:?} {name}");
        }
    }
}

#[tokio::test]
async fn attempts_are_bounded_and_what_is_asked_for_is_waited_for() {
    for format in Format::ALL {
        let service = Service::start(format).await;
        service.stand_in.will((0..9).map(|_| format.overloaded()));
        let error = service.ask(&service.question()).await.1.unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::Overloaded, "{format:?}");
        assert_eq!(service.stand_in.seen().len(), 3, "{format:?}");

        let service = Service::start(format).await;
        let limited = |name: &str, value: &str| format.rate_limited().with_header(name, value);
        service.stand_in.will([limited("retry-after-ms", "300"), format.answer(&Script::text(&["ok"]))]);
        let began = Instant::now();
        assert!(service.ask(&service.question()).await.1.is_ok(), "{format:?}");
        assert!(began.elapsed() >= Duration::from_millis(300), "{format:?}");

        // Longer than anybody waits: whoever asked is told, and how long it will take.
        service.stand_in.will([limited("retry-after", "90")]);
        let error = service.ask(&service.question()).await.1.unwrap_err();
        let retry_after = Some(Duration::from_secs(90));
        assert_eq!(error.kind, ModelErrorKind::RateLimited { retry_after }, "{format:?}");
        assert!(error.message.contains("try again in 90 s"), "{error}");
    }
}

#[tokio::test]
async fn what_will_not_help_is_not_tried_again() {
    for format in Format::ALL {
        let table = [
            (format.denied(KEY), ModelErrorKind::Auth),
            (format.overflow(), ModelErrorKind::ContextOverflow),
            (format.bad_request(), ModelErrorKind::BadRequest),
            (Reply::json(404, &json!({"error": {"message": "no such model"}})), ModelErrorKind::Unavailable),
            (Reply::json(402, &json!({"error": {"message": "pay"}})), ModelErrorKind::Billing),
        ];
        for (reply, kind) in table {
            let service = Service::start(format).await;
            service.stand_in.will([reply]);
            let error = service.ask(&service.question()).await.1.unwrap_err();
            assert_eq!(error.kind, kind, "{format:?}");
            assert_eq!(service.stand_in.seen().len(), 1, "{format:?}");
            assert!(!error.message.contains(KEY), "{error}");
            assert!(error.message.ends_with('.') && !error.message.contains('\n'), "{error}");
        }
    }
}

#[tokio::test]
async fn a_malformed_event_after_words_is_an_error() {
    for format in Format::ALL {
        let service = Service::start(format).await;
        let whole = format.answer(&Script::text(&["Hel", "lo"]));
        service.stand_in.will([whole.then_event(after_first_words(format), "{\"half\":")]);
        let (heard, answer) = service.ask(&service.question()).await;
        assert_eq!(said(&heard), "Hel", "{format:?}");
        let error = answer.unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::Broken, "{format:?}");
        assert!(error.message.contains("not JSON"), "{error}");
    }
}

#[tokio::test]
async fn silence_ends_but_slowness_does_not() {
    for format in Format::ALL {
        let service = Service::start(format).await;
        let whole = format.answer(&Script::text(&["Hel", "lo"]));
        service.stand_in.will([whole.then(after_first_words(format), Piece::Wait(Duration::from_secs(30)))]);
        let began = Instant::now();
        let (heard, answer) = service.ask(&service.question()).await;
        assert_eq!(said(&heard), "Hel", "{format:?}");
        assert_eq!(answer.unwrap_err().kind, ModelErrorKind::TimedOut, "{format:?}");
        assert!(began.elapsed() < Duration::from_secs(5), "{format:?}");
    }
    // A line that is never silent for long may take as long as it wants.
    let format = Format::OpenAiChat;
    let service = Service::start(format).await;
    let events: Vec<String> =
        (0..8).map(|_| "data: {\"choices\":[{\"delta\":{\"content\":\".\"}}]}\n\n".into()).collect();
    let mut slow = Reply::events(Vec::new());
    for event in events {
        let at = slow.len();
        slow = slow.then(at, Piece::Wait(Duration::from_millis(100)));
        let at = slow.len();
        slow = slow.then(at, Piece::Bytes(event.into_bytes()));
    }
    let at = slow.len();
    service.stand_in.will([slow.then_event(at, "[DONE]")]);
    let (_, answer) = service.ask(&service.question()).await;
    assert_eq!(answer.unwrap().blocks, [text_block("........")]);
}

#[tokio::test]
async fn nobody_there_is_told_with_the_address_to_check() {
    for format in Format::ALL {
        let service = Service::with_retries(format, Retries::none()).await;
        let request = service.question();
        let Service { stand_in, provider, .. } = service;
        drop(stand_in);
        // The port is free again once the server is gone.
        tokio::time::sleep(Duration::from_millis(20)).await;
        use yabby_domain::seam::model::ModelProvider as _;
        let error = provider.stream(&request, &mut |_| {}).await.unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::Broken, "{format:?}");
        assert!(error.message.contains("cannot be reached"), "{error}");
    }
}

#[tokio::test]
async fn whoever_stops_waiting_hangs_up() {
    for format in Format::ALL {
        let service = Service::start(format).await;
        let whole = format.answer(&Script::text(&["Hel", "lo"]));
        service.stand_in.will([whole.then(after_first_words(format), Piece::Wait(Duration::from_secs(30)))]);
        let request = service.question();
        let asking = service.ask(&request);
        let given_up = tokio::time::timeout(Duration::from_millis(100), asking).await;
        assert!(given_up.is_err(), "{format:?}");
    }
}

#[tokio::test]
async fn unknown_models_are_not_asked_for() {
    let service = Service::start(Format::OpenAiChat).await;
    let mut request = service.question();
    request.model.model = "other".to_owned();
    let error = service.ask(&request).await.1.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Unavailable);
    assert_eq!(service.stand_in.seen().len(), 0);
}

#[tokio::test]
async fn servers_that_speak_chat_with_an_accent_are_understood() {
    let chunk = |delta: serde_json::Value| format!("data: {}\n\n", json!({"choices": [{"delta": delta}]}));
    let service = Service::start(Format::OpenAiChat).await;
    // Every call is the first, arguments are an object, there are no ids, and there is no end but the end.
    let call = |id: &str, n: u64| json!({"tool_calls": [{"index": 0, "id": id, "function": {"name": "note", "arguments": {"n": n}}}]});
    let end = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}".to_owned();
    service.stand_in.will([Reply::events(vec![
        ": hello\n\n".into(),
        chunk(call("a", 1)),
        chunk(call("b", 2)),
        end,
    ])]);
    let answer = service.ask(&service.question()).await.1.unwrap();
    assert_eq!(answer.stop, Stop::ToolUse);
    let calls: Vec<_> =
        answer.blocks.iter().map(|block| (block["id"].clone(), block["arguments"].clone())).collect();
    assert_eq!(calls, [(json!("a"), json!({"n": 1})), (json!("b"), json!({"n": 2}))]);
    // An error with a friendly face.
    service
        .stand_in
        .will([Reply::json(200, &json!({"error": {"message": "invalid key", "code": "invalid_api_key"}}))]);
    let error = service.ask(&service.question()).await.1.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Auth);
    // Calls that come interleaved.
    let piece = |index: u64, id: serde_json::Value, text: &str| {
        chunk(
            json!({"tool_calls": [{"index": index, "id": id, "function": {"name": "note", "arguments": text}}]}),
        )
    };
    service.stand_in.will([Reply::events(vec![
        piece(0, json!("a"), "{\"n\""),
        piece(1, json!("b"), "{\"n\""),
        piece(0, json!(null), ":1}"),
        piece(1, json!(null), ":2}"),
        "data: [DONE]\n\n".into(),
    ])]);
    let answer = service.ask(&service.question()).await.1.unwrap();
    let arguments: Vec<_> = answer.blocks.iter().map(|block| block["arguments"].clone()).collect();
    assert_eq!(arguments, [json!({"n": 1}), json!({"n": 2})]);
}
