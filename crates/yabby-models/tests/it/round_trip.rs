//! What a service said goes back to it as it wants to see it.

use serde_json::{Value, json};
use yabby_domain::directive::level::ThinkLevel;
use yabby_domain::model::ModelRef;
use yabby_domain::seam::model::ModelRequest;
use yabby_domain::seam::settled::SettledMessages;
use yabby_models::presets::{ALL, preset};
use yabby_models::settings::{Api, ModelSettings, ProviderSettings, ThinkingStyle};
use yabby_models::{Http, Patience, RemoteProvider, Retries};
use yabby_testkit::stand_in::{Format, Reply, Said, Script, StandIn};

use crate::service::{PIXEL, Service, settings};

/// Thinking and two calls, their results with a picture, and the next request.
async fn second_request(service: &Service, script: Script) -> Value {
    let format = service.format;
    service.stand_in.will([format.answer(&script), format.answer(&Script::text(&["done"]))]);
    let question = json!({"role": "user", "content": "Look and note.", "timestamp": 1});
    let answer = service.ask(&service.request(json!([question]))).await.1.unwrap();
    let ids: Vec<Value> = answer
        .blocks
        .iter()
        .filter(|block| block["type"] == "toolCall")
        .map(|block| block["id"].clone())
        .collect();
    let result = |id: &Value, tool: &str, content: Value, is_error: bool| json!({"role": "toolResult", "toolCallId": id, "toolName": tool, "content": content, "isError": is_error, "timestamp": 3});
    let picture = json!([{"type": "text", "text": "a crab"}, {"type": "image", "data": PIXEL, "mimeType": "image/png"}]);
    let messages = json!([
        question,
        service.stored(&answer),
        result(&ids[0], "look", picture, false),
        result(&ids[1], "note", json!([{"type": "text", "text": "no pen"}]), true),
    ]);
    service.ask(&service.request(messages)).await.1.unwrap();
    service.stand_in.last_body()
}

fn two_calls(signature: &'static str) -> Script {
    Script::calls(&[("call_a", "look", &["{\"at\":\"sea\"}"]), ("call_b", "note", &["{\"text\":\"x\"}"])])
        .after_thinking(&["Hm."], signature)
}

#[tokio::test]
async fn anthropic_gets_its_signatures_and_cache_marks() {
    let service = Service::start(Format::Anthropic).await;
    let mut script = two_calls("c2ln");
    script.parts.insert(1, Said::Redacted("ZW5j"));
    let body = second_request(&service, script).await;
    let mark = json!({"type": "ephemeral"});
    let expected = json!([
        {"role": "user", "content": [{"type": "text", "text": "Look and note."}]},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
            {"type": "redacted_thinking", "data": "ZW5j"},
            {"type": "tool_use", "id": "call_a", "name": "look", "input": {"at": "sea"}},
            {"type": "tool_use", "id": "call_b", "name": "note", "input": {"text": "x"}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "call_a", "is_error": false, "content": [
                {"type": "text", "text": "a crab"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}},
            ]},
            {"type": "tool_result", "tool_use_id": "call_b", "is_error": true,
                "content": [{"type": "text", "text": "no pen"}], "cache_control": mark},
        ]},
    ]);
    assert_eq!(body["messages"], expected);
    assert_eq!(body["system"], json!([{"type": "text", "text": "You are a crab.", "cache_control": mark}]));
    assert_eq!(
        (&body["tools"][0]["cache_control"], &body["tools"][1]["cache_control"]),
        (&Value::Null, &mark)
    );
    assert_eq!(body["thinking"], json!({"type": "enabled", "budget_tokens": 2048}));
    assert_eq!((&body["max_tokens"], &body["stream"]), (&json!(34_048), &json!(true)));
    let seen = service.stand_in.seen();
    assert_eq!(seen[0].header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(seen[0].header("anthropic-beta"), Some("interleaved-thinking-2025-05-14"));
}

#[tokio::test]
async fn chat_servers_get_thinking_in_the_field_that_it_came_in() {
    let service = Service::start(Format::OpenAiChat).await;
    let body = second_request(&service, two_calls("reasoning_content")).await;
    let call = |id: &str, name: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    let expected = json!([
        {"role": "developer", "content": "You are a crab."},
        {"role": "user", "content": "Look and note."},
        {"role": "assistant", "content": null, "reasoning_content": "Hm.", "tool_calls": [
            call("call_a", "look", "{\"at\":\"sea\"}"), call("call_b", "note", "{\"text\":\"x\"}"),
        ]},
        {"role": "tool", "tool_call_id": "call_a", "content": "a crab"},
        {"role": "tool", "tool_call_id": "call_b", "content": "no pen"},
        {"role": "user", "content": [
            {"type": "text", "text": "The pictures that belong to the tool results above:"},
            {"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{PIXEL}")}},
        ]},
    ]);
    assert_eq!(body["messages"], expected);
    assert_eq!(body["prompt_cache_key"], "0a1b2c3d-0000-4000-8000-000000000000");
    assert_eq!((&body["reasoning_effort"], &body["store"]), (&json!("low"), &json!(false)));
    assert_eq!((&body["max_completion_tokens"], &body["max_tokens"]), (&json!(32_000), &Value::Null));
    assert_eq!(body["stream_options"], json!({"include_usage": true}));
}

#[tokio::test]
async fn responses_get_their_items_back() {
    let service = Service::start(Format::OpenAiResponses).await;
    let mut script = two_calls("gAAA");
    script.parts.insert(1, Said::Text(vec!["On it."]));
    let body = second_request(&service, script).await;
    let expected = json!([
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Look and note."}]},
        {"type": "reasoning", "id": "rs_0", "summary": [{"type": "summary_text", "text": "Hm."}], "encrypted_content": "gAAA"},
        {"type": "message", "role": "assistant", "id": "msg_1", "status": "completed",
            "content": [{"type": "output_text", "text": "On it.", "annotations": []}]},
        {"type": "function_call", "id": "fc_2", "call_id": "call_a", "name": "look", "arguments": "{\"at\":\"sea\"}"},
        {"type": "function_call", "id": "fc_3", "call_id": "call_b", "name": "note", "arguments": "{\"text\":\"x\"}"},
        {"type": "function_call_output", "call_id": "call_a", "output": [
            {"type": "input_text", "text": "a crab"},
            {"type": "input_image", "detail": "auto", "image_url": format!("data:image/png;base64,{PIXEL}")},
        ]},
        {"type": "function_call_output", "call_id": "call_b", "output": "no pen"},
    ]);
    assert_eq!(body["input"], expected);
    assert_eq!((&body["store"], &body["instructions"]), (&json!(false), &json!("You are a crab.")));
    assert_eq!(body["include"], json!(["reasoning.encrypted_content"]));
    assert_eq!(body["reasoning"], json!({"effort": "low", "summary": "auto"}));
    assert_eq!(body["prompt_cache_key"], "0a1b2c3d-0000-4000-8000-000000000000");
    assert_eq!(body["tools"][0]["strict"], false);
}

#[tokio::test]
async fn gemini_gets_its_thought_signatures() {
    let service = Service::start(Format::Gemini).await;
    let mut script = two_calls("dGhpbms=");
    if let Some(Said::Call { signature, .. }) = script.parts.get_mut(1) {
        *signature = Some("Y2FsbA==");
    }
    let body = second_request(&service, script).await;
    let expected = json!([
        {"role": "user", "parts": [{"text": "Look and note."}]},
        {"role": "model", "parts": [
            {"thought": true, "text": "Hm.", "thoughtSignature": "dGhpbms="},
            {"functionCall": {"id": "call_a", "name": "look", "args": {"at": "sea"}}, "thoughtSignature": "Y2FsbA=="},
            {"functionCall": {"id": "call_b", "name": "note", "args": {"text": "x"}}},
        ]},
        {"role": "user", "parts": [
            {"functionResponse": {"id": "call_a", "name": "look", "response": {"output": "a crab"},
                "parts": [{"inlineData": {"mimeType": "image/png", "data": PIXEL}}]}},
            {"functionResponse": {"id": "call_b", "name": "note", "response": {"error": "no pen"}}},
        ]},
    ]);
    assert_eq!(body["contents"], expected);
    assert_eq!(body["systemInstruction"], json!({"parts": [{"text": "You are a crab."}]}));
    let thinking = json!({"includeThoughts": true, "thinkingLevel": "LOW"});
    assert_eq!(body["generationConfig"], json!({"maxOutputTokens": 32_000, "thinkingConfig": thinking}));
    assert_eq!(body["tools"][0]["functionDeclarations"][0]["parametersJsonSchema"]["type"], "object");
}

#[tokio::test]
async fn thinking_is_not_asked_for_when_it_is_off() {
    for format in Format::ALL {
        let service = Service::start(format).await;
        service.stand_in.will([format.answer(&Script::text(&["ok"]))]);
        let mut request = service.question();
        request.thinking = ThinkLevel::Off;
        request.tools.clear();
        request.system.clear();
        request.max_tokens = Some(500);
        service.ask(&request).await.1.unwrap();
        let body = service.stand_in.last_body();
        for field in [
            "thinking",
            "reasoning",
            "reasoning_effort",
            "tools",
            "system",
            "instructions",
            "systemInstruction",
        ] {
            assert_eq!(body.get(field), None, "{format:?} {field}");
        }
        let most = match format {
            Format::Anthropic => &body["max_tokens"],
            Format::OpenAiChat => &body["max_completion_tokens"],
            Format::OpenAiResponses => &body["max_output_tokens"],
            Format::Gemini => &body["generationConfig"]["maxOutputTokens"],
        };
        assert_eq!(most, &json!(500), "{format:?}");
        assert_eq!(body["generationConfig"].get("thinkingConfig"), None, "{format:?}");
    }
}

/// The judge looks at these too.
#[tokio::test]
async fn pictures_of_a_user_are_shown_at_every_level_of_thinking() {
    use ThinkLevel::{High, Low, Medium, Minimal, Off, Xhigh};
    for format in Format::ALL {
        let service = Service::start(format).await;
        for level in [Off, Minimal, Low, Medium, High, Xhigh] {
            service.stand_in.will([format.answer(&Script::text(&["ok"]))]);
            let picture = json!([{"type": "text", "text": "What is it?"}, {"type": "image", "data": PIXEL, "mimeType": "image/png"}]);
            let answer = json!({"role": "assistant", "content": [{"type": "text", "text": "A crab."}], "api": "other", "provider": "other", "model": "other"});
            let mut request = service.request(
                json!([{"role": "user", "content": picture}, answer, {"role": "user", "content": "Sure?"}]),
            );
            request.thinking = level;
            service.ask(&request).await.1.unwrap();
            let body = service.stand_in.last_body();
            assert!(body.to_string().contains(PIXEL), "{format:?}");
            let asked = match format {
                Format::Anthropic => &body["thinking"]["budget_tokens"],
                Format::OpenAiChat => &body["reasoning_effort"],
                Format::OpenAiResponses => &body["reasoning"]["effort"],
                Format::Gemini => &body["generationConfig"]["thinkingConfig"]["thinkingLevel"],
            };
            let expected = match (format, level) {
                (_, Off) => Value::Null,
                (Format::Anthropic, Minimal) => json!(1024),
                (Format::Anthropic, Low) => json!(2048),
                (Format::Anthropic, Medium) => json!(8192),
                (Format::Anthropic, High) => json!(16_384),
                (Format::Anthropic, Xhigh) => json!(32_768),
                (Format::Gemini, Minimal) => json!("MINIMAL"),
                (Format::Gemini, Low) => json!("LOW"),
                (Format::Gemini, Medium) => json!("MEDIUM"),
                (Format::Gemini, High | Xhigh) => json!("HIGH"),
                (_, Minimal) => json!("minimal"),
                (_, Low) => json!("low"),
                (_, Medium) => json!("medium"),
                // Only some models know more than that.
                (_, High | Xhigh) => json!("high"),
            };
            assert_eq!(asked, &expected, "{format:?} {level:?}");
        }
    }
}

#[tokio::test]
async fn models_that_decide_themselves_are_given_an_effort() {
    let stand_in = StandIn::start().await;
    let mut settings = settings(Format::Anthropic, stand_in.address());
    settings.models[0].compat.thinking = ThinkingStyle::Adaptive;
    let model = ModelRef::new("anthropic", "claude-test");
    let provider = RemoteProvider::new(settings, Http::new(Patience::default()), Retries::none());
    let service = Service { format: Format::Anthropic, stand_in, provider, model };
    service.stand_in.will([Format::Anthropic.answer(&Script::text(&["ok"]))]);
    service.ask(&service.question()).await.1.unwrap();
    let body = service.stand_in.last_body();
    assert_eq!(body["thinking"], json!({"type": "adaptive"}));
    assert_eq!(body["output_config"], json!({"effort": "low"}));
}

#[tokio::test]
async fn half_a_character_never_leaves_the_house() {
    for format in Format::ALL {
        let service = Service::start(format).await;
        service.stand_in.will([format.answer(&Script::text(&["ok"]))]);
        let half = yabby_domain::json::parse(r#""a\ud83db 🦀""#).unwrap();
        let mut request = service.request(json!([{"role": "user", "content": half.clone()}]));
        request.system = half.as_str().unwrap().to_owned();
        service.ask(&request).await.1.unwrap();
        let body = service.stand_in.last_body().to_string();
        assert!(body.contains("a\u{fffd}b 🦀") && body.contains("ab 🦀"), "{format:?} {body}");
    }
}

/// What a server that speaks Chat Completions with an accent is asked, after a round of tools.
async fn asked_of(id: &str, model: &str) -> Value {
    let known = preset(id).unwrap();
    let stand_in = StandIn::start().await;
    let model = ModelSettings { reasoning: true, ..known.model(model) };
    // The judge of requests to OpenAI has nothing to say about these.
    let settings = ProviderSettings {
        base_url: format!("{}/like", stand_in.address()),
        ..known.settings(None, vec![model.clone()])
    };
    let model = ModelRef::new(id, model.id);
    let provider = RemoteProvider::new(settings, Http::new(Patience::default()), Retries::none());
    let service = Service { format: Format::OpenAiChat, stand_in, provider, model };
    second_request(&service, two_calls("reasoning_content")).await
}

#[tokio::test]
async fn servers_get_what_they_know_and_nothing_else() {
    for preset in ALL.iter().filter(|preset| preset.api == Api::OpenAiCompletions) {
        let body = asked_of(preset.id, "some-model").await;
        let id = preset.id;
        assert_eq!(body["messages"][0]["role"], "system", "{id}");
        for field in ["store", "prompt_cache_key"] {
            assert_eq!(body.get(field), None, "{id} {field}");
        }
        let fields = [body.get("max_tokens").is_some(), body.get("max_completion_tokens").is_some()];
        assert_eq!(fields, [id != "groq", id == "groq"], "{id}");
        assert_eq!(body.get("stream_options").is_some(), id != "mistral", "{id}");
        let effort = matches!(id, "groq" | "ollama" | "vllm" | "lmstudio");
        assert_eq!(body.get("reasoning_effort").is_some(), effort, "{id}");
        // The model does not see pictures, and is told so.
        let result =
            body["messages"].as_array().unwrap().iter().find(|message| message["role"] == "tool").unwrap();
        assert!(result["content"].as_str().unwrap().contains("[image left out"), "{id} {result}");
    }
}

#[tokio::test]
async fn routers_and_mistral_get_what_they_want() {
    let mark = json!({"type": "ephemeral"});
    let body = asked_of("openrouter", "anthropic/claude-test").await;
    assert_eq!(body["reasoning"], json!({"effort": "low"}));
    assert_eq!(body["messages"][0]["content"][0]["cache_control"], mark);
    assert_eq!(body["messages"][1]["content"][0]["cache_control"], mark);
    assert_eq!(asked_of("openrouter", "meta/llama").await["messages"][1]["content"], "Look and note.");

    let body = asked_of("mistral", "mistral-large").await;
    let messages = body["messages"].as_array().unwrap();
    let answer = messages.iter().find(|message| message["role"] == "assistant").unwrap();
    assert_eq!((&answer["content"], answer.get("reasoning_content")), (&json!("Hm."), None));
    let result = messages.iter().find(|message| message["role"] == "tool").unwrap();
    assert_eq!(result["name"], "look");
    assert_eq!(result["tool_call_id"].as_str().unwrap().len(), 9);
    assert_eq!(result["tool_call_id"], answer["tool_calls"][0]["id"]);
}

#[tokio::test]
async fn what_a_router_encrypts_goes_back_with_the_call() {
    let service = Service::start(Format::OpenAiChat).await;
    let chunk = |delta: Value| format!("data: {}\n\n", json!({"choices": [{"delta": delta}]}));
    let detail = json!({"type": "reasoning.encrypted", "id": "call_a", "data": "ZW5j", "format": "google"});
    service.stand_in.will([Reply::events(vec![
        chunk(json!({"tool_calls": [{"index": 0, "id": "call_a", "function": {"name": "look", "arguments": "{}"}}]})),
        chunk(json!({"reasoning_details": [detail]})),
        "data: [DONE]\n\n".to_owned(),
    ])]);
    let answer = service.ask(&service.question()).await.1.unwrap();
    assert_eq!(answer.blocks[0]["thoughtSignature"], detail.to_string());
    service.stand_in.will([Format::OpenAiChat.answer(&Script::text(&["ok"]))]);
    service
        .ask(&service.request(json!([{"role": "user", "content": "?"}, service.stored(&answer)])))
        .await
        .1
        .unwrap();
    assert_eq!(service.stand_in.last_body()["messages"][2]["reasoning_details"], json!([detail]));
}

/// What was said long ago is sent in the same bytes, whether it was settled or not.
#[tokio::test]
async fn what_is_settled_is_sent_as_if_it_were_not() {
    for format in [Format::Anthropic, Format::OpenAiChat, Format::OpenAiResponses, Format::Gemini] {
        let service = Service::start(format).await;
        service.stand_in.otherwise(format.answer(&Script::text(&["done"])));
        let author =
            json!({"api": service.api(), "provider": service.model.provider, "model": service.model.model});
        let answer = |content: Value, stop: &str| {
            let mut answer =
                json!({"role": "assistant", "content": content, "stopReason": stop, "timestamp": 2});
            answer.as_object_mut().unwrap().extend(author.as_object().unwrap().clone());
            answer
        };
        let turn = |number: usize| {
            let call = format!("call{number}");
            let arguments = json!({"at": "sea \u{10d83d} 🦀", "depth": 1.0, "n": 1e21});
            let text = |text: &str| json!([{"type": "text", "text": text}]);
            let picture = json!([{"type": "image", "data": PIXEL, "mimeType": "image/png"}]);
            [
                json!({"role": "user", "content": format!("Look {number} \u{10d83d}"), "timestamp": 1}),
                answer(
                    json!([{"type": "toolCall", "id": call, "name": "look", "arguments": arguments}]),
                    "toolUse",
                ),
                json!({"role": "toolResult", "toolCallId": call, "toolName": "look", "content": picture, "timestamp": 3}),
                answer(text("a crab"), "stop"),
            ]
        };
        let turns: Vec<Value> = (0..4).flat_map(turn).collect();
        let question = json!({"role": "user", "content": "And now?", "timestamp": 4});
        let whole = service.request([turns.as_slice(), &[question]].concat().into());
        let (settled, rest) = whole.messages.split_at(turns.len() - 4);
        let settled = settled.chunks(4).map(|turn| SettledMessages::new(turn).into()).collect();
        let parts = ModelRequest { settled, messages: rest.to_vec(), ..whole.clone() };
        // Once more, when the text of what is settled is known.
        for request in [&whole, &parts, &parts] {
            service.ask(request).await.1.unwrap();
        }
        let seen = service.stand_in.seen();
        for again in &seen[1..] {
            assert_eq!(again.body.to_string(), seen[0].body.to_string(), "{format:?}");
            assert_eq!(again.header("content-length"), seen[0].header("content-length"), "{format:?}");
        }
        assert_eq!(parts.unsettled(), whole);
    }
}
