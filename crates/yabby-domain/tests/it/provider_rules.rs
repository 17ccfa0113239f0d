//! "A transcript cannot break": whatever the messages are, the request is one the provider accepts.

use proptest::prelude::*;
use serde_json::{Value, json};
use yabby_domain::history_limit::limit_turns;
use yabby_domain::message::Message;
use yabby_domain::prepared::PreparedContext;
use yabby_domain::provider_rules::{ProviderFamily, Recipient, Violation, make_acceptable, violations};
use yabby_domain::sanitize::policy::{ModelTarget, TranscriptPolicy};
use yabby_domain::sanitize::{join_turns, sanitize};
use yabby_domain::transcript::Transcript;
use yabby_domain::transcript::context::for_model;

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
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

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

// ---- Files, and what a crash leaves of them ----

/// What is wrong with the request that a file makes, from reading it to the wire.
fn request_of(file: &str, target: &ModelTarget<'_>, limit: Option<f64>) -> Vec<Violation> {
    let recipient = Recipient::of(*target);
    let (messages, entries) = match Transcript::read(file) {
        Some(transcript) => (for_model(transcript.context().messages), transcript.entries().to_vec()),
        None => (Vec::new(), Vec::new()),
    };
    let sanitized = sanitize(messages, target, &entries, jiff::Timestamp::UNIX_EPOCH).messages;
    let joined = join_turns(sanitized, &TranscriptPolicy::of(target));
    let mut request = limit_turns(joined, limit);
    // The same history is asked to go on, and is asked something.
    let mut broken = violations(&make_acceptable(request.clone(), &recipient), &recipient);
    request.extend(Message::from_value(json!({"role": "user", "content": "and now?", "timestamp": 3})));
    broken.extend(violations(&make_acceptable(request, &recipient), &recipient));
    broken
}

/// What an entry is, and how many entries back it hangs; zero is a new root.
fn any_entry(target: ModelTarget<'static>) -> impl Strategy<Value = (Value, usize)> {
    let back = prop_oneof![12 => Just(1_usize), 2 => 2..6_usize, 1 => Just(0_usize)];
    let entry = prop_oneof![
        12 => any_message(target).prop_map(|message| json!({"type": "message", "message": message})),
        1 => (0..8_usize).prop_map(|kept| json!({"type": "compaction", "summary": "S", "tokensBefore": 1, "firstKeptEntryId": format!("e{kept}")})),
        1 => (0..8_usize).prop_map(|count| json!({"type": "compaction", "summary": " ", "removedCount": count})),
        1 => text_value().prop_map(|summary| json!({"type": "branch_summary", "summary": summary, "fromId": "root"})),
        1 => any_content().prop_map(|content| json!({"type": "custom_message", "customType": "x", "content": content, "display": true})),
        1 => Just(json!({"type": "model_change", "provider": "p", "modelId": "m"})),
        1 => Just(json!({"type": "custom", "customType": "model-snapshot", "data": {"modelId": "other"}})),
        1 => Just(json!({"type": "label", "targetId": "e0", "label": "L"})),
    ];
    (entry, back)
}

/// A file with branches; now and then a line has no name and is part of a list.
fn any_file() -> impl Strategy<Value = (ModelTarget<'static>, Vec<String>)> {
    let entries = |target| {
        let list = prop::collection::vec((any_entry(target), prop::bool::weighted(0.95)), 0..14);
        list.prop_map(move |entries| {
            let header = json!({"type": "session", "version": 3, "id": "s", "cwd": "/w"});
            let mut lines = vec![header.to_string()];
            for (at, ((mut entry, back), is_named)) in entries.into_iter().enumerate() {
                if is_named {
                    let parent = at.checked_sub(back).filter(|_| back > 0);
                    entry["id"] = format!("e{at}").into();
                    entry["parentId"] = parent.map_or(Value::Null, |parent| format!("e{parent}").into());
                }
                lines.push(yabby_domain::json::stringify(&entry));
            }
            (target, lines)
        })
    };
    any_target().prop_flat_map(entries)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 250, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_prefix_of_every_file_makes_an_acceptable_request((target, lines) in any_file(), limit in prop::option::of(0.0..4.0_f64), torn in 0.0..1.0_f64) {
        for end in 0..=lines.len() {
            let whole = lines[..end].join("\n");
            prop_assert_eq!(request_of(&whole, &target, limit), []);
            // The crash came in the middle of the next line.
            let next = lines.get(end).map_or("", String::as_str).as_bytes();
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "a place in the line")]
            let cut = &next[..(next.len() as f64 * torn) as usize];
            let crashed = format!("{whole}\n{}", String::from_utf8_lossy(cut));
            prop_assert_eq!(request_of(&crashed, &target, limit), []);
        }
    }
}

#[test]
fn a_conversation_cut_at_any_byte_makes_an_acceptable_request() {
    for target in &TARGETS {
        let mut calls = 0;
        let mut file = json!({"type": "session", "version": 3, "id": "s", "cwd": "/w"}).to_string();
        let mut last = Value::Null;
        let mut add = |kind: &str, field: &str, value: Value| {
            let id = Value::from(format!("e{}", file.len()));
            let parent = std::mem::replace(&mut last, id.clone());
            file.push_str(&format!(
                "\n{}",
                json!({"type": kind, "id": id, "parentId": parent, field: value})
            ));
        };
        for words in ["héllo 😀", "go on"] {
            add("message", "message", json!({"role": "user", "content": words, "timestamp": 1}));
            for calls_made in [2, 0] {
                let step = Step { thinks: calls_made > 0, text: Some(words.to_owned()), calls: calls_made };
                for message in answered(&step, target, &mut calls) {
                    add("message", "message", message);
                }
            }
            add("compaction", "summary", "what was said".into());
        }
        let bytes = file.as_bytes();
        let mut entries = usize::MAX;
        for cut in 0..=bytes.len() {
            let text = String::from_utf8_lossy(&bytes[..cut]);
            let read = Transcript::read(&text).map_or(0, |transcript| 1 + transcript.entries().len());
            // Within a line nothing changes but the torn end, which is not read.
            if read != entries || cut % 97 == 0 {
                entries = read;
                assert_eq!(request_of(&text, target, None), [], "{target:?} {cut}");
            }
        }
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
        let mut shown = vec![json!({"type": "text", "text": "r"})];
        // Mistral is shown no more than eight images.
        if *calls <= 8 {
            shown.push(json!({"type": "image", "data": PNG, "mimeType": "image/png"}));
        }
        results.push(json!({"role": "toolResult", "toolCallId": id, "toolName": "read", "isError": false, "content": shown}));
    }
    let answer = json!({"role": "assistant", "content": blocks, "api": target.api, "provider": target.provider,
        "model": target.model, "stopReason": "stop", "timestamp": 1});
    [vec![answer], results].concat()
}

// ---- A context that is kept from request to request ----

/// Asks the same question at every entry of a transcript: once with everything prepared anew, once with what was
/// prepared before. How often the latter was possible.
fn compare_both_ways(transcript: &mut Transcript, target: ModelTarget<'_>) -> usize {
    let recipient = Recipient::of(target);
    let now = jiff::Timestamp::UNIX_EPOCH;
    let mut prepared = PreparedContext::default();
    let ids: Vec<String> =
        transcript.entries().iter().filter_map(|entry| entry.id()).map(str::to_owned).collect();
    let question = Message::from_value(json!({"role": "user", "content": "and now?", "timestamp": 3}));
    let question = question.into_iter().collect::<Vec<_>>();
    let mut kept = 0;
    for id in ids {
        transcript.move_leaf(&id).unwrap();
        // A run asks with a new question first, and again after each result of a tool.
        for pending in [question.as_slice(), &[]] {
            let Some(found) = prepared.prepare(transcript, pending, &recipient, now) else { continue };
            let messages = transcript.context().messages;
            let sanitized = sanitize(messages, &target, transcript.entries(), now);
            let mut whole = join_turns(sanitized.messages, &TranscriptPolicy::of(&target));
            whole.extend_from_slice(pending);
            let whole = make_acceptable(whole, &recipient);
            let settled = found.settled.iter().flat_map(|part| part.messages());
            let parts: Vec<Message> = settled.chain(found.messages).collect();
            assert!(parts == whole, "{target:?} at {id}: {parts:#?} is not {whole:#?}");
            assert_eq!(found.to_append, sanitized.to_append, "{target:?} at {id}");
            let tokens: u64 = found.settled.iter().map(|part| part.tokens()).sum();
            assert!(tokens > 0, "nothing is settled");
            kept += 1;
        }
    }
    kept
}

/// Questions and answers, with calls of tools, and now and then anything at all.
fn any_long_file() -> impl Strategy<Value = (ModelTarget<'static>, Vec<String>)> {
    let turn = |target: ModelTarget<'static>| {
        let step = (any::<bool>(), prop::option::of("[a-c]{1,3}"), 0..3_usize)
            .prop_map(|(thinks, text, calls)| Step { thinks, text, calls });
        let last = Step { thinks: false, text: Some("done".to_owned()), calls: 0 };
        let steps = prop::collection::vec(step, 0..3).prop_map(move |mut steps| {
            steps.push(Step { text: last.text.clone(), ..last });
            steps
        });
        prop_oneof![
            6 => steps.prop_map(Some),
            1 => Just(None),
        ]
        .prop_flat_map(move |steps| (Just(steps), any_message(target)))
    };
    any_target().prop_flat_map(move |target| {
        prop::collection::vec(turn(target), 1..8).prop_map(move |turns| {
            let mut calls = 0;
            let mut messages = Vec::new();
            for (steps, odd) in turns {
                let Some(steps) = steps else {
                    messages.push(odd);
                    continue;
                };
                messages.push(json!({"role": "user", "content": "go", "timestamp": 1}));
                for step in &steps {
                    messages.extend(answered(step, &target, &mut calls));
                }
            }
            let mut lines = vec![json!({"type": "session", "version": 3, "id": "s", "cwd": "/w"}).to_string()];
            for (at, message) in messages.into_iter().enumerate() {
                let parent = at.checked_sub(1).map_or(Value::Null, |at| format!("e{at}").into());
                let entry =
                    json!({"type": "message", "id": format!("e{at}"), "parentId": parent, "message": message});
                lines.push(yabby_domain::json::stringify(&entry));
            }
            (target, lines)
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 250, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_file_is_prepared_part_by_part_as_it_is_at_once((target, lines) in prop_oneof![any_file(), any_long_file()]) {
        if let Some(mut transcript) = Transcript::read(&lines.join("\n")) {
            compare_both_ways(&mut transcript, target);
        }
    }
}

#[test]
fn recorded_transcripts_are_prepared_part_by_part_as_they_are_at_once() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors");
    let (mut read, mut kept) = (0, 0);
    for file in files_in(&folder) {
        let Some(mut transcript) =
            std::fs::read(&file).ok().and_then(|bytes| Transcript::read(&yabby_domain::text::lossy(&bytes)))
        else {
            continue;
        };
        read += 1;
        for target in TARGETS {
            kept += compare_both_ways(&mut transcript, target);
        }
    }
    assert!(read > 20 && kept > 100, "{read} transcripts, {kept} requests");
}

fn files_in(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_in(&path));
        } else if path.extension().is_some_and(|extension| extension == "jsonl") {
            files.push(path);
        }
    }
    files
}
