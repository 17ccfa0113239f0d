//! "A transcript cannot break": whatever a file holds, and whatever a crash left of it, the next turn asks
//! something that the provider accepts.

use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::Arc;
use yabby_domain::inbound::InboundMessage;
use yabby_domain::provider_rules::{Recipient, violations};
use yabby_domain::sanitize::policy::ModelTarget;
use yabby_domain::seam::SessionStore;
use yabby_domain::seam::journal::{Journal, Promise};
use yabby_domain::seam::tool::Effect;
use yabby_domain::session::entry::{Patch, SessionEntry};
use yabby_domain::session::key::SessionKey;
use yabby_domain::transcript::file_name::TranscriptId;
use yabby_domain::turn::{Accepted, Opened, Outcome, Record, Step, TurnId};
use yabby_testkit::scripted_model::{Line, ScriptedModel, told};
use yabby_testkit::stage::{NOON, Stage, direct, say};

use crate::props::{MAIN, Probe, assert_settled};

const TARGETS: [ModelTarget<'_>; 6] = [
    target("anthropic-messages", "anthropic", "claude-sonnet-4"),
    target("openai-completions", "groq", "llama"),
    target("openai-responses", "openai", "gpt-5.2"),
    target("google-generative-ai", "google", "gemini-2.5-pro"),
    target("google-generative-ai", "google", "gemini-3-pro-preview"),
    target("openai-completions", "mistral", "mistral-large"),
];

const fn target<'t>(api: &'t str, provider: &'t str, model: &'t str) -> ModelTarget<'t> {
    ModelTarget { api: Some(api), provider: Some(provider), model: Some(model) }
}

fn any_target() -> impl Strategy<Value = ModelTarget<'static>> {
    prop::sample::select(&TARGETS[..])
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![6 => "[a-c ]{0,4}", 1 => Just(String::new()), 1 => Just(" \n".to_owned()), 1 => any::<String>()]
}

fn any_id() -> impl Strategy<Value = Value> {
    let known = vec!["a", "b", "call_1", "call_1|fc_1", "abcdefgh9", "--", ""];
    prop_oneof![
        8 => prop::sample::select(known).prop_map(Value::from),
        1 => "[a-z|]{30,80}".prop_map(Value::from),
        1 => Just(Value::Null),
    ]
}

fn any_block() -> impl Strategy<Value = Value> {
    let signature =
        || prop::sample::select(vec!["QUJD", "msg_1", "{\"id\":\"rs_1\",\"type\":\"reasoning\"}", ""]);
    let arguments =
        prop::sample::select(vec![json!({}), json!({"x": 1}), json!("{\"x\":1}"), Value::Null, json!([])]);
    prop_oneof![
        4 => any_text().prop_map(|text| json!({"type": "text", "text": text})),
        3 => (any_text(), signature()).prop_map(|(text, signature)| json!({"type": "thinking", "thinking": text, "thinkingSignature": signature})),
        5 => (any_id(), arguments, prop::sample::select(vec!["read", "my tool!", ""])).prop_map(|(id, arguments, name)| json!({"type": "toolCall", "id": id, "name": name, "arguments": arguments})),
        1 => Just(json!({"type": "image", "data": "", "mimeType": "image/png"})),
        1 => Just(json!({"type": "unheard-of"})),
        1 => Just(Value::Null),
    ]
}

fn any_message(target: ModelTarget<'static>) -> impl Strategy<Value = Value> {
    let role = prop::sample::select(vec![
        "user",
        "user",
        "user",
        "assistant",
        "assistant",
        "assistant",
        "assistant",
        "toolResult",
        "toolResult",
        "toolResult",
        "bashExecution",
        "custom",
        "compactionSummary",
        "system",
    ]);
    let content = prop_oneof![
        6 => prop::collection::vec(any_block(), 0..4).prop_map(Value::from),
        2 => any_text().prop_map(Value::from),
        1 => Just(Value::Null),
    ];
    let stop = prop::sample::select(vec!["stop", "toolUse", "error", "aborted"]);
    let author = prop_oneof![3 => Just(Some(target)), 1 => any_target().prop_map(Some), 1 => Just(None)];
    (role, content, stop, author, any_id(), 0..4_i64).prop_map(|(role, content, stop, author, id, at)| {
        let mut message = json!({"role": role, "content": content, "timestamp": at});
        match role {
            "assistant" => message["stopReason"] = stop.into(),
            "toolResult" => message["toolCallId"] = id,
            _ => {}
        }
        if let Some(author) = author.filter(|_| role == "assistant") {
            message["api"] = author.api.into();
            message["provider"] = author.provider.into();
            message["model"] = author.model.into();
        }
        message
    })
}

/// What an entry is, and how many entries back it hangs; zero is a new root.
fn any_entry(target: ModelTarget<'static>) -> impl Strategy<Value = (Value, usize)> {
    let back = prop_oneof![12 => Just(1_usize), 2 => 2..6_usize, 1 => Just(0_usize)];
    let entry = prop_oneof![
        14 => any_message(target).prop_map(|message| json!({"type": "message", "message": message})),
        1 => (0..8_usize).prop_map(|kept| json!({"type": "compaction", "summary": "S", "tokensBefore": 1, "firstKeptEntryId": format!("e{kept}")})),
        1 => any_text().prop_map(|summary| json!({"type": "branch_summary", "summary": summary, "fromId": "root"})),
        1 => Just(json!({"type": "custom_message", "customType": "x", "content": "c", "display": true})),
        1 => Just(json!({"type": "model_change", "provider": "p", "modelId": "m"})),
        1 => Just(json!({"type": "custom", "customType": "memory-flush"})),
        1 => Just(json!({"type": "custom", "customType": "model-snapshot", "data": {"modelId": "other"}})),
    ];
    (entry, back)
}

fn any_file() -> impl Strategy<Value = (ModelTarget<'static>, Vec<String>)> {
    let entries = |target| {
        let list = prop::collection::vec(any_entry(target), 0..10);
        list.prop_map(move |entries| {
            let mut lines =
                vec![json!({"type": "session", "version": 3, "id": "s", "cwd": "/w"}).to_string()];
            for (at, (mut entry, back)) in entries.into_iter().enumerate() {
                let parent = at.checked_sub(back).filter(|_| back > 0);
                entry["id"] = format!("e{at}").into();
                entry["parentId"] = parent.map_or(Value::Null, |parent| format!("e{parent}").into());
                entry["timestamp"] = "2026-02-03T10:00:00.000Z".into();
                lines.push(yabby_domain::json::stringify(&entry));
            }
            (target, lines)
        })
    };
    any_target().prop_flat_map(entries)
}

/// A stage on which this conversation was had with this model.
async fn stage(target: &ModelTarget<'_>, text: &str) -> Stage {
    let (api, provider, model) = (target.api.unwrap(), target.provider.unwrap(), target.model.unwrap());
    let stage = Stage {
        model: ScriptedModel::describing(provider, &[model], ScriptedModel::info(api, 100_000)),
        tools: vec![std::sync::Arc::new(Probe::new("read", Effect::None))],
        ..Stage::new(json!({"agents": {"defaults": {"model": format!("{provider}/{model}")}}}))
    };
    stage.transcripts.put(&TranscriptId::of_file("s.jsonl").unwrap(), text);
    let change = |entry: &mut Option<SessionEntry>| {
        let mut patch = Patch::default();
        patch.set_session_id(Some("s"));
        patch.set_session_file(Some("/state/agents/main/sessions/s.jsonl"));
        #[expect(clippy::cast_precision_loss, reason = "times are exact")]
        patch.set_updated_at(Some(NOON as f64));
        entry.get_or_insert_default().apply(&patch);
    };
    stage.sessions.update(&SessionKey::new(MAIN), Box::new(change)).await.unwrap();
    stage
}

fn refused(stage: &Stage, target: &ModelTarget<'_>) -> Vec<String> {
    let recipient = Recipient::of(*target);
    let mut wrong = Vec::new();
    for request in stage.model.asked() {
        let broken = violations(&request.messages, &recipient);
        if !broken.is_empty() {
            let list: Vec<String> = request.messages.iter().map(told).collect();
            wrong.push(format!("{broken:?} in {list:#?}"));
        }
    }
    wrong
}

/// Asks something, with a tool, and something else.
async fn goes_on(target: &ModelTarget<'_>, text: &str) -> Result<(), TestCaseError> {
    let stage = stage(target, text).await;
    let engine = stage.engine();
    stage.model.will([Line::call("read", json!({})), Line::say("fine")]);
    for question in ["and now?", "sure?"] {
        let report = say(&engine, direct(question)).await;
        prop_assert_eq!(report.outcome, Outcome::Answered, "{:?}", report);
    }
    prop_assert_eq!(refused(&stage, target), Vec::<String>::new());
    Ok(())
}

/// Takes a turn up that was going on when the file was left like this.
async fn is_taken_up(
    target: &ModelTarget<'_>,
    text: &str,
    asked_at: i64,
    tools: bool,
) -> Result<(), TestCaseError> {
    let stage = stage(target, text).await;
    let turn = TurnId::new("t");
    let message = InboundMessage { session_key: Some(MAIN.to_owned()), ..direct("and now?").message };
    let accepted = Accepted {
        session_key: MAIN.to_owned(),
        message: message
            .finalize(yabby_domain::inbound::Rederive::default(), yabby_domain::body::EscapedNewlines::Keep),
        ..Accepted::default()
    };
    let opened = Opened {
        session_key: MAIN.to_owned(),
        session_id: "s".to_owned(),
        transcript: "s".to_owned(),
        asked_at,
    };
    let mut steps =
        vec![Step::Accepted(Arc::new(accepted)), Step::Begun { run: turn.clone() }, Step::Opened(opened)];
    if tools {
        steps.push(Step::ToolBegun { call: "a".to_owned(), tool: "read".to_owned() });
        steps.push(Step::ToolBegun { call: "b".to_owned(), tool: "write".to_owned() });
        steps.push(Step::ToolEnded { call: "b".to_owned() });
    }
    let records = steps.into_iter().map(|step| Record::new(&turn, asked_at, step)).collect();
    stage.journal.append(records, Promise::Durable).await.unwrap();
    let stage = stage.killed();
    let engine = stage.engine();
    for ticket in engine.recover().await.unwrap() {
        let report = ticket.done.await.unwrap();
        prop_assert!(matches!(report.outcome, Outcome::Answered), "{:?}", report);
    }
    say(&engine, direct("sure?")).await;
    prop_assert_eq!(refused(&stage, target), Vec::<String>::new());
    assert_settled(&stage);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_prefix_of_every_transcript_can_be_gone_on_with(
        (target, lines) in any_file(), torn in 0.0..1.0_f64, asked_at in 0..5_i64, tools in any::<bool>()
    ) {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        for end in 1..=lines.len() {
            let whole = lines[..end].join("\n") + "\n";
            // The crash came in the middle of the next line.
            let next = lines.get(end).map_or("", String::as_str).as_bytes();
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "a place in the line")]
            let cut = &next[..(next.len() as f64 * torn) as usize];
            let crashed = format!("{whole}{}", String::from_utf8_lossy(cut));
            runtime.block_on(async {
                goes_on(&target, &crashed).await?;
                is_taken_up(&target, &whole, asked_at, tools).await
            })?;
        }
    }
}
