//! `repair.json`.

use jiff::Timestamp;
use serde_json::json;
use yabby_domain::id::AgentId;
use yabby_domain::inbound::ThreadId;
use yabby_domain::json::Value;
use yabby_domain::message::{Message, Role};
use yabby_domain::repair::ids::{self, IdForm};
use yabby_domain::repair::{inputs, pairing, turns};
use yabby_domain::sanitize::policy::{ModelTarget, SanitizeMode, TranscriptPolicy};
use yabby_domain::sanitize::sanitize;
use yabby_domain::sanitize::signatures::ThoughtSignatures;
use yabby_domain::session::path::transcript_path;
use yabby_domain::transcript::entry::Entry;
use yabby_domain::transcript::envelope::without_envelope;
use yabby_domain::transcript::mirror::{Delivered, mirrored_text};

use super::list_rows;
use crate::vectors::{Case, Difference, Suite};

pub const SUITE: Suite =
    Suite { file: "repair.json", cases, answer, differences: &[JOINED_TEXT, REUSED_CALL_IDS] };

/// What the rules are given as the time; recorded as `$nowMs`.
const NOW_MS: i64 = 1_800_000_000_000;

fn now() -> Timestamp {
    Timestamp::from_millisecond(NOW_MS).unwrap_or_default()
}

fn cases(document: &Value) -> Vec<Case> {
    list_rows(document, &[], |_, row| row["expected"].clone())
}

fn answer(case: &Case) -> Option<Value> {
    let messages = || messages(case.arg("messages"));
    Some(match case.rule.as_str() {
        "toolUseResultPairing" => {
            let repaired = pairing::pair_results(messages(), now(), false);
            json!({
                "messages": values(repaired.messages),
                "added": repaired.added,
                "droppedDuplicateCount": repaired.dropped_duplicates,
                "droppedOrphanCount": repaired.dropped_orphans,
                "moved": repaired.changed,
                "unchanged": !repaired.changed,
            })
        }
        "toolCallInputs" => {
            let repaired = inputs::drop_calls_without_input(messages());
            json!({
                "messages": values(repaired.messages),
                "droppedToolCalls": repaired.dropped_calls,
                "droppedAssistantMessages": repaired.dropped_messages,
            })
        }
        "sanitizeToolCallId" => ids::clean_id(case.text("id").unwrap_or_default(), id_form(case)?).into(),
        "sanitizeToolCallIds" => values(ids::rewrite_ids(messages(), id_form(case)?)),
        "validateAnthropicTurns" => values(turns::join_user_turns(messages())),
        "validateGeminiTurns" => values(turns::join_assistant_turns(messages())),
        "transcriptPolicy" => policy(&TranscriptPolicy::of(&target(case))),
        "sanitizeSessionHistory" => {
            let prior = case.arg("priorEntries").as_array()?.iter();
            let entries: Vec<Entry> =
                prior.filter_map(Value::as_object).cloned().map(Entry::from_object).collect();
            let sanitized = sanitize(messages(), &target(case), &entries, now());
            let appended: Vec<Value> = sanitized
                .to_append
                .into_iter()
                .map(|entry| json!({"type": "custom", "customType": entry.custom_type, "data": entry.data}))
                .map(|mut entry| {
                    entry["data"]["timestamp"] = shown_time(&entry["data"]["timestamp"]);
                    entry
                })
                .collect();
            json!({"messages": values(sanitized.messages), "appendedCustomEntries": appended})
        }
        "stripEnvelope" => {
            without_envelope(Message::new(case.arg("message").as_object()?.clone())).into_value()
        }
        "mirroredText" => mirrored(case),
        "transcriptPath" => {
            let agent = AgentId::normalize(case.text("agentId").unwrap_or_default());
            let topic = ThreadId::from_value(case.arg("topicId"));
            transcript_path("<stateDir>", &agent, case.text("sessionId").unwrap_or_default(), topic.as_ref())
                .into()
        }
        _ => return None,
    })
}

/// What a delivery leaves in the transcript; `store.json` has such cases, too.
pub fn mirrored(case: &Case) -> Value {
    let urls: Vec<&str> =
        case.arg("mediaUrls").as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    mirrored_text(Delivered { text: case.text("text"), media_urls: &urls }).into()
}

/// A null in a recorded list is a message without anything.
fn messages(list: &Value) -> Vec<Message> {
    let one = |value: &Value| Message::from_value(value.clone()).unwrap_or_default();
    list.as_array().into_iter().flatten().map(one).collect()
}

fn values(messages: Vec<Message>) -> Value {
    let one = |mut message: Message| {
        if message.as_object().is_empty() {
            return Value::Null;
        }
        if let Some(time) = message.get("timestamp").map(shown_time) {
            message.set("timestamp", time);
        }
        message.into_value()
    };
    messages.into_iter().map(one).collect()
}

fn shown_time(time: &Value) -> Value {
    if time.as_i64() == Some(NOW_MS) { "$nowMs".into() } else { time.clone() }
}

fn id_form(case: &Case) -> Option<IdForm> {
    match case.text("mode")? {
        "strict" => Some(IdForm::Strict),
        "strict9" => Some(IdForm::Strict9),
        _ => None,
    }
}

fn target(case: &Case) -> ModelTarget<'_> {
    ModelTarget { api: case.text("modelApi"), provider: case.text("provider"), model: case.text("modelId") }
}

fn policy(policy: &TranscriptPolicy) -> Value {
    let mut value = json!({
        "sanitizeMode": match policy.mode {
            SanitizeMode::Full => "full",
            SanitizeMode::ImagesOnly => "images-only",
        },
        "sanitizeToolCallIds": policy.rewrite_ids,
        "repairToolUseResultPairing": policy.pair_results,
        "preserveSignatures": policy.keep_signatures,
        "normalizeAntigravityThinkingBlocks": policy.antigravity_thinking,
        "applyGoogleTurnOrdering": policy.google_turn_order,
        "validateGeminiTurns": policy.join_assistant_turns,
        "validateAnthropicTurns": policy.join_user_turns,
        "allowSyntheticToolResults": policy.pair_results,
    });
    match policy.id_form {
        Some(IdForm::Strict) => value["toolCallIdMode"] = "strict".into(),
        Some(IdForm::Strict9) => value["toolCallIdMode"] = "strict9".into(),
        None => {}
    }
    if policy.thought_signatures == ThoughtSignatures::OnlyBase64 {
        value["sanitizeThoughtSignatures"] = json!({"allowBase64Only": true, "includeCamelCase": true});
    }
    value
}

/// Joined user turns keep text that is not in a block; the reference loses it.
const JOINED_TEXT: Difference = Difference {
    name: "joined-user-turns-keep-text",
    applies: |case| case.rule == "validateAnthropicTurns" && with_text_in_blocks(case).input != case.input,
    expected: |case| answer(&with_text_in_blocks(case)).unwrap_or_default(),
};

/// The case with the text of neighbouring user messages in blocks, where the reference keeps it.
fn with_text_in_blocks(case: &Case) -> Case {
    let mut case = case.clone();
    let list = case.input["messages"].as_array_mut().into_iter().flatten().collect::<Vec<_>>();
    let is_user = |value: &Value| value["role"] == "user";
    let users: Vec<bool> = list.iter().map(|value| is_user(value)).collect();
    for (at, message) in list.into_iter().enumerate() {
        let has_neighbour = (at > 0 && users[at - 1]) || users.get(at + 1).copied().unwrap_or_default();
        if let Some(text) = message["content"].as_str().filter(|_| users[at] && has_neighbour) {
            let blocks = if text.is_empty() { json!([]) } else { json!([{"type": "text", "text": text}]) };
            message["content"] = blocks;
        }
    }
    case
}

/// A call id that a later message uses again is a new call; the reference loses its result.
const REUSED_CALL_IDS: Difference = Difference {
    name: "reused-call-ids-pair-per-message",
    applies: |case| {
        let pairs = match case.rule.as_str() {
            "toolUseResultPairing" => true,
            "sanitizeSessionHistory" => TranscriptPolicy::of(&target(case)).pair_results,
            _ => false,
        };
        pairs && with_own_ids(case).input != case.input
    },
    expected: |case| {
        let mut promised = answer(&with_own_ids(case)).unwrap_or_default();
        for_each_id(&mut promised["messages"], |_, id| {
            id.rsplit_once(OWN_ID).map_or_else(|| id.to_owned(), |(original, _)| original.to_owned())
        });
        promised
    },
};

/// Letters alone: these stay whatever form ids are given.
const OWN_ID: &str = "zUsedInMessagez";

/// The case with ids that each assistant message has for itself, where the reference pairs as we do.
fn with_own_ids(case: &Case) -> Case {
    let mut reused = case.clone();
    for_each_id(&mut reused.input["messages"], |turn, id| format!("{id}{OWN_ID}{turn}"));
    let ids_of = |case: &Case| {
        let mut ids = Vec::new();
        for message in messages(case.arg("messages")).iter().filter(|m| m.role() == Role::Assistant) {
            let mut own: Vec<String> =
                message.blocks().iter().filter_map(|block| Some(block["id"].as_str()?.to_owned())).collect();
            own.sort();
            own.dedup();
            ids.extend(own);
        }
        let count = ids.len();
        ids.sort();
        ids.dedup();
        count - ids.len()
    };
    if ids_of(case) > 0 { reused } else { case.clone() }
}

/// Rewrites every call id in a list of messages, given the number of assistant messages so far.
fn for_each_id(list: &mut Value, rewrite: impl Fn(usize, &str) -> String) {
    let mut turn = 0;
    for message in list.as_array_mut().into_iter().flatten() {
        if message["role"] == "assistant" {
            turn += 1;
            for block in message["content"].as_array_mut().into_iter().flatten() {
                if let Some(id) = block["id"].as_str().filter(|id| !id.is_empty()) {
                    block["id"] = rewrite(turn, id).into();
                }
            }
        }
        for field in ["toolCallId", "toolUseId"] {
            if let Some(id) = message.get(field).and_then(Value::as_str).filter(|id| !id.is_empty()) {
                message[field] = rewrite(turn, id).into();
            }
        }
    }
}
