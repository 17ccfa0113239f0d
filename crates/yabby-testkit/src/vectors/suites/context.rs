//! What many recorded cases share: a message context (`{"Body": …, "From": …}`) as our
//! [`InboundMessage`], and the store that a rule read.

use yabby_domain::inbound::media::MediaFields;
use yabby_domain::inbound::{InboundMessage, ThreadId};
use yabby_domain::json::{self, Object, Value};
use yabby_domain::session::store_text::{join_store, parse_store, record_text};

/// The message that the recorded context `ctx` describes; fields of an odd type count as not given.
pub fn inbound(ctx: &Value) -> InboundMessage {
    let text = |field: &str| ctx.get(field).and_then(Value::as_str).map(str::to_owned);
    InboundMessage {
        body: text("Body"),
        raw_body: text("RawBody"),
        command_body: text("CommandBody"),
        body_for_agent: text("BodyForAgent"),
        body_for_commands: text("BodyForCommands"),
        body_stripped: text("BodyStripped"),
        transcript: text("Transcript"),
        thread_starter_body: text("ThreadStarterBody"),
        untrusted_context: texts(ctx, "UntrustedContext").into_iter().flatten().collect(),
        media: media(ctx).attachments(),
        from: text("From"),
        to: text("To"),
        provider: text("Provider"),
        surface: text("Surface"),
        account_id: text("AccountId"),
        chat_type: text("ChatType"),
        originating_channel: text("OriginatingChannel"),
        originating_to: text("OriginatingTo"),
        message_id: text("MessageSid"),
        message_thread_id: ctx.get("MessageThreadId").and_then(ThreadId::from_value),
        session_key: text("SessionKey"),
        parent_session_key: text("ParentSessionKey"),
        command_source: text("CommandSource"),
        command_target_session_key: text("CommandTargetSessionKey"),
        command_authorized: ctx.get("CommandAuthorized") == Some(&Value::Bool(true)),
        conversation_label: text("ConversationLabel"),
        thread_label: text("ThreadLabel"),
        group_subject: text("GroupSubject"),
        group_channel: text("GroupChannel"),
        group_space: text("GroupSpace"),
        sender_name: text("SenderName"),
        sender_username: text("SenderUsername"),
        sender_tag: text("SenderTag"),
        sender_e164: text("SenderE164"),
        sender_id: text("SenderId"),
    }
}

/// A recorded store, given as what is in the file or as its text, after it was read from disk.
pub fn stored(store: &Value) -> Object {
    let text = match store {
        Value::String(text) => text.clone(),
        store => json::stringify(store),
    };
    parse_store(&text).unwrap_or_default()
}

/// A store as it reads after it was written.
pub fn rewritten(store: &Object) -> Object {
    parse_store(&store_text(store)).unwrap_or_default()
}

fn media(ctx: &Value) -> MediaFields {
    let text = |field: &str| ctx.get(field).and_then(Value::as_str).map(str::to_owned);
    let index = |seen: &Value| seen["attachmentIndex"].as_u64().and_then(|at| usize::try_from(at).ok());
    let succeeded = |seen: &Value| seen["outcome"] == "success";
    let decided = list(ctx, "MediaUnderstandingDecisions")
        .filter(|decision| succeeded(decision))
        .flat_map(|decision| list(decision, "attachments"))
        .filter(|attachment| succeeded(&attachment["chosen"]));
    MediaFields {
        path: text("MediaPath"),
        content_type: text("MediaType"),
        url: text("MediaUrl"),
        paths: texts(ctx, "MediaPaths").into_iter().map(Option::unwrap_or_default).collect(),
        content_types: texts(ctx, "MediaTypes"),
        urls: texts(ctx, "MediaUrls"),
        understood: list(ctx, "MediaUnderstanding").chain(decided).filter_map(index).collect(),
    }
}

fn list<'v>(value: &'v Value, field: &str) -> impl Iterator<Item = &'v Value> {
    value.get(field).and_then(Value::as_array).into_iter().flatten()
}

fn texts(ctx: &Value, field: &str) -> Vec<Option<String>> {
    list(ctx, field).map(|entry| entry.as_str().map(str::to_owned)).collect()
}

/// A store as its writer puts it together.
pub fn store_text(store: &Object) -> String {
    let records: Vec<(&str, String)> =
        store.iter().map(|(key, record)| (key.as_str(), record_text(record))).collect();
    join_store(records.iter().map(|(key, record)| (*key, record.as_str())))
}
