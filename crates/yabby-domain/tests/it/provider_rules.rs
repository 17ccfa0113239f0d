//! "A transcript cannot break": whatever the messages are, the request is one the provider accepts.

use proptest::prelude::*;
use serde_json::{Value, json};
use yabby_domain::message::Message;
use yabby_domain::provider_rules::{ProviderFamily, Recipient, make_acceptable, violations};
use yabby_domain::sanitize::policy::{ModelTarget, TranscriptPolicy};
use yabby_domain::sanitize::{join_turns, sanitize};

const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// Every family, and Gemini before and after it began to sign calls.
const TARGETS: [ModelTarget<'_>; 6] = [
    target("anthropic-messages", "anthropic", "claude-sonnet-4"),
    target("openai-completions", "groq", "llama"),
    target("openai-responses", "openai", "gpt-5.2"),
    target("google-generative-ai", "google", "gemini-2.5-pro"),
    target("google-generative-ai", "google", "gemini-3-pro"),
    target("openai-completions", "mistral", "mistral-large"),
];

const fn target<'t>(api: &'t str, provider: &'t str, model: &'t str) -> ModelTarget<'t> {
    ModelTarget { api: Some(api), provider: Some(provider), model: Some(model) }
}

fn any_target() -> impl Strategy<Value = ModelTarget<'static>> {
    prop::sample::select(&TARGETS[..])
}

// ---- Any messages at all ----

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => "[a-c ]{0,4}",
        1 => Just(String::new()),
        1 => Just(" \n\u{feff}".to_owned()),
        1 => Just("a\u{10d83d}".to_owned()), // half a surrogate pair
        1 => Just("\u{10d83d}\u{10de00}".to_owned()), // two halves that belong together
        1 => any::<String>(),
    ]
}

fn any_id() -> impl Strategy<Value = Value> {
    prop_oneof![
        6 => prop::sample::select(vec!["a", "b", "call_1", "call_1|fc_1", "call_1|rs_1", "abcdefgh9", "a-b", "a_b", "--", "__", ""])
            .prop_map(Value::from),
        1 => "[a-z|]{30,80}".prop_map(Value::from),
        1 => any_text().prop_map(Value::from),
        1 => Just(Value::Null),
        1 => Just(json!(7)),
    ]
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any_text().prop_map(Value::from),
        Just(json!("{\"x\":1}")),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec((any_text(), inner), 0..3)
                .prop_map(|members| members.into_iter().collect::<Value>()),
        ]
    })
}

/// An object that has each of the fields, or not.
fn some_of(fields: Vec<(&'static str, BoxedStrategy<Value>)>) -> impl Strategy<Value = Value> {
    let fields: Vec<_> = fields
        .into_iter()
        .map(|(name, value)| prop::option::weighted(0.85, value).prop_map(move |value| (name, value)))
        .collect();
    fields.prop_map(|fields| {
        fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    })
}

fn typed(kind: &'static str, fields: Vec<(&'static str, BoxedStrategy<Value>)>) -> BoxedStrategy<Value> {
    let with_type = move |mut block: Value| {
        block["type"] = kind.into();
        block
    };
    some_of(fields).prop_map(with_type).boxed()
}

fn text_value() -> BoxedStrategy<Value> {
    any_text().prop_map(Value::from).boxed()
}

fn any_signature() -> BoxedStrategy<Value> {
    let known = [
        json!("QUJD"),
        json!("msg_1"),
        json!("{\"id\":\"rs_1\",\"type\":\"reasoning\"}"),
        json!({"id": "rs_1", "type": "reasoning"}),
        json!("skip_thought_signature_validator"),
        json!(""),
        Value::Null,
    ];
    prop::sample::select(known.to_vec()).boxed()
}

fn any_block() -> impl Strategy<Value = Value> {
    let call = |kind| {
        typed(
            kind,
            vec![
                ("id", any_id().boxed()),
                (
                    "name",
                    prop_oneof![Just(json!("read")), Just(json!("my tool!")), Just(json!("9")), text_value()]
                        .boxed(),
                ),
                ("arguments", any_json().boxed()),
                ("input", any_json().boxed()),
                ("thoughtSignature", any_signature()),
            ],
        )
    };
    prop_oneof![
        4 => typed("text", vec![("text", text_value()), ("textSignature", any_signature()), ("thought_signature", any_signature())]),
        3 => typed("thinking", vec![("thinking", text_value()), ("thinkingSignature", any_signature()), ("redacted", Just(json!(true)).boxed())]),
        2 => prop::sample::select(vec![
            json!({"type": "thinking", "thinking": "hm", "thinkingSignature": "QUJD"}),
            json!({"type": "thinking", "thinking": "hm", "thinkingSignature": "{\"id\":\"rs_1\",\"type\":\"reasoning\"}"}),
        ]),
        1 => typed("redacted_thinking", vec![("data", text_value())]),
        4 => call("toolCall"),
        1 => call("toolUse"),
        1 => call("functionCall"),
        1 => typed("image", vec![
            ("data", prop::sample::select(vec![json!(PNG), json!(""), json!("AAAA"), json!(format!("{PNG} ")), json!(3)]).boxed()),
            ("mimeType", prop::sample::select(vec![json!("image/png"), json!("image/jpeg"), Value::Null]).boxed()),
        ]),
        1 => any_json(),
    ]
}

fn any_content() -> BoxedStrategy<Value> {
    prop_oneof![
        6 => prop::collection::vec(any_block(), 0..5).prop_map(Value::from),
        1 => text_value(),
        1 => any_json(),
    ]
    .boxed()
}

fn any_message(target: ModelTarget<'static>) -> impl Strategy<Value = Value> {
    let role = prop_oneof![
        4 => Just("user"), 6 => Just("assistant"), 5 => Just("toolResult"), 1 => Just("bashExecution"),
        1 => Just("custom"), 1 => Just("branchSummary"), 1 => Just("compactionSummary"), 1 => Just("system"),
    ];
    let author = prop_oneof![3 => Just(Some(target)), 1 => any_target().prop_map(Some), 1 => Just(None)];
    let fields = some_of(vec![
        ("content", any_content()),
        ("summary", text_value()),
        ("command", text_value()),
        ("output", text_value()),
        ("timestamp", any::<u32>().prop_map(Value::from).boxed()),
        ("toolCallId", any_id().boxed()),
        ("toolUseId", any_id().boxed()),
        ("toolName", text_value()),
        (
            "stopReason",
            prop::sample::select(vec![
                json!("stop"),
                json!("toolUse"),
                json!("error"),
                json!("aborted"),
                json!(1),
            ])
            .boxed(),
        ),
    ]);
    (role, author, fields).prop_map(|(role, author, mut message)| {
        message["role"] = role.into();
        if let Some(author) = author {
            message["api"] = author.api.into();
            message["provider"] = author.provider.into();
            message["model"] = author.model.into();
        }
        message
    })
}

/// A target, and messages many of which its model wrote.
fn any_history() -> impl Strategy<Value = (ModelTarget<'static>, Vec<Message>)> {
    let messages = |target| {
        let list = prop::collection::vec(any_message(target), 0..12);
        list.prop_map(move |list| (target, list.into_iter().filter_map(Message::from_value).collect()))
    };
    any_target().prop_flat_map(messages)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_messages_become_acceptable_and_stay_so((target, messages) in any_history()) {
        let recipient = Recipient::of(target);
        let accepted = make_acceptable(messages, &recipient);
        prop_assert_eq!(violations(&accepted, &recipient), []);
        prop_assert_eq!(make_acceptable(accepted.clone(), &recipient), accepted);
    }

    #[test]
    fn every_prefix_of_a_sanitised_history_becomes_acceptable((target, messages) in any_history()) {
        let recipient = Recipient::of(target);
        for end in 0..=messages.len() {
            let sanitized = sanitize(messages[..end].to_vec(), &target, &[], jiff::Timestamp::UNIX_EPOCH).messages;
            let joined = join_turns(sanitized, &TranscriptPolicy::of(&target));
            prop_assert_eq!(violations(&make_acceptable(joined, &recipient), &recipient), []);
        }
    }

    #[test]
    fn a_well_formed_conversation_is_left_alone(conversation in any_conversation()) {
        let Conversation { target, messages } = conversation;
        let recipient = Recipient::of(target);
        prop_assert_eq!(violations(&messages, &recipient), []);
        prop_assert_eq!(make_acceptable(messages.clone(), &recipient), messages);
    }
}

// ---- Conversations as a provider and we would have had them ----

#[derive(Debug)]
struct Conversation {
    target: ModelTarget<'static>,
    messages: Vec<Message>,
}

/// One answer: whether the model thought first, what it said, and how many calls it made.
#[derive(Clone, Debug)]
struct Step {
    thinks: bool,
    text: Option<String>,
    calls: usize,
}

fn any_conversation() -> impl Strategy<Value = Conversation> {
    let words = || "[a-z]{1,8}( [a-z]{1,8}){0,3}";
    let step = (any::<bool>(), prop::option::of(words()), 1..4usize).prop_map(|(thinks, text, calls)| Step {
        thinks,
        text,
        calls,
    });
    let turn = (words(), prop::collection::vec(step, 0..3), words());
    (any_target(), prop::collection::vec(turn, 0..4), words()).prop_map(|(target, turns, prompt)| {
        let mut calls = 0;
        let mut messages = Vec::new();
        for (question, steps, answer) in turns {
            messages.push(json!({"role": "user", "content": question, "timestamp": 1}));
            let last = Step { thinks: true, text: Some(answer), calls: 0 };
            for step in steps.into_iter().chain([last]) {
                messages.extend(answered(&step, &target, &mut calls));
            }
        }
        messages.push(json!({"role": "user", "content": [{"type": "text", "text": prompt}], "timestamp": 2}));
        Conversation { target, messages: messages.into_iter().filter_map(Message::from_value).collect() }
    })
}

/// The answer of one step and the results of its calls.
fn answered(step: &Step, target: &ModelTarget<'_>, calls: &mut usize) -> Vec<Value> {
    let family = ProviderFamily::of(target);
    let mut blocks = Vec::new();
    if step.thinks {
        let signature = match family {
            ProviderFamily::OpenAiResponses => "{\"id\":\"rs_1\",\"type\":\"reasoning\"}",
            _ => "QUJD",
        };
        blocks.push(json!({"type": "thinking", "thinking": "well", "thinkingSignature": signature}));
    }
    blocks.extend(step.text.as_ref().map(|text| json!({"type": "text", "text": text})));
    let mut results = Vec::new();
    for _ in 0..step.calls {
        *calls += 1;
        let id = match family {
            ProviderFamily::OpenAiResponses => format!("call_{calls}|fc_{calls}"),
            ProviderFamily::Mistral => format!("{calls:09}"),
            _ => format!("toolu_{calls}"),
        };
        blocks.push(json!({"type": "toolCall", "id": id, "name": "read", "arguments": {"path": "a"}, "thoughtSignature": "QUJD"}));
        results.push(json!({"role": "toolResult", "toolCallId": id, "toolName": "read", "isError": false,
            "content": [{"type": "text", "text": "r"}, {"type": "image", "data": PNG, "mimeType": "image/png"}]}));
    }
    let answer = json!({"role": "assistant", "content": blocks, "api": target.api, "provider": target.provider,
        "model": target.model, "stopReason": "stop", "timestamp": 1});
    [vec![answer], results].concat()
}
