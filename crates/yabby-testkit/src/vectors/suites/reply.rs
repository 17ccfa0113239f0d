//! `reply.json`.

use serde_json::json;
use yabby_domain::channel::ChatType;
use yabby_domain::config::Config;
use yabby_domain::id::AccountId;
use yabby_domain::json::{self, Object, Value};
use yabby_domain::reply::build::{BlockKey, Streamed, TurnReply, build};
use yabby_domain::reply::deliverable::{DeliveryOptions, PrefixValues, deliverable};
use yabby_domain::reply::duplicates::{
    ReplyOrigin, SentTarget, answered_by_tool, comparable, without_duplicates,
};
use yabby_domain::reply::media::MediaSplit;
use yabby_domain::reply::parse::ParsedReply;
use yabby_domain::reply::payload::ReplyPayload;
use yabby_domain::reply::reference::ReferencePlanner;
use yabby_domain::reply::stream::{DirectiveStream, Piece};
use yabby_domain::reply::threading::{ReplyToFilter, ReplyToMode, apply_tags, thread};
use yabby_domain::reply::tokens::{self, SILENT_TOKEN, TokenContext};

use super::rows;
use crate::vectors::{Case, Suite, texts};

pub const SUITE: Suite = Suite { file: "reply.json", cases: rows, answer, differences: &[] };

fn answer(case: &Case) -> Option<Value> {
    let text = |field: &str| case.text(field).unwrap_or_default();
    let current = case.text("currentMessageId");
    Some(match case.rule.as_str() {
        "isSilentReplyText" => {
            tokens::is_silent(text("text"), case.text("token").unwrap_or(SILENT_TOKEN)).into()
        }
        "isHeartbeatContentEffectivelyEmpty" => {
            case.text("content").is_some_and(tokens::heartbeat_file_is_empty).into()
        }
        "stripHeartbeatToken" => stripped(case),
        "splitMediaFromOutput" => recorded_split(MediaSplit::of(text("raw"))),
        "parseReplyDirectives" => {
            let token = case.text("silentToken").unwrap_or(SILENT_TOKEN);
            recorded_parse(ParsedReply::of(text("raw"), current, token))
        }
        "createStreamingDirectiveAccumulator" => streamed(case),
        "isRenderablePayload" => payload(case.arg("payload")).is_renderable().into(),
        "applyReplyTagsToPayload" => recorded(apply_tags(payload(case.arg("payload")), current)),
        "createReplyToModeFilter" => {
            let tags_count = case.arg("allowTagsWhenOff") == &Value::Bool(true);
            let mut filter = ReplyToFilter::new(ReplyToMode::parse(text("mode")), tags_count);
            payloads(case).into_iter().map(|payload| recorded(filter.apply(payload))).collect()
        }
        "applyReplyThreading" => {
            let mode = ReplyToMode::parse(text("replyToMode"));
            let filter = ReplyToFilter::for_channel(mode, case.text("replyToChannel"));
            thread(payloads(case), filter, current).into_iter().map(recorded).collect()
        }
        "resolveReplyToMode" => {
            let config = Config::new(case.arg("cfg").clone());
            let account = case.text("accountId").map(AccountId::normalize);
            let chat_type = case.text("chatType").and_then(ChatType::parse);
            ReplyToMode::from_config(&config, text("channel"), account.as_ref(), chat_type).as_str().into()
        }
        "createReplyReferencePlanner" => planned(case),
        "normalizeTextForComparison" => comparable(text("text")).into(),
        "filterMessagingToolDuplicates" => {
            let left = without_duplicates(payloads(case), &case.texts("sentTexts"));
            left.into_iter().map(recorded).collect()
        }
        "shouldSuppressMessagingToolReplies" => answered_by_tool(origin(case), &targets(case)).into(),
        "buildReplyPayloads" => built(case),
        "normalizeReplyPayload" => delivered(case),
        _ => return None,
    })
}

fn payloads(case: &Case) -> Vec<ReplyPayload> {
    case.arg("payloads").as_array().into_iter().flatten().map(payload).collect()
}

fn payload(value: &Value) -> ReplyPayload {
    let text = |field: &str| value.get(field).and_then(Value::as_str).map(str::to_owned);
    let flag = |field: &str| value.get(field).and_then(Value::as_bool);
    ReplyPayload {
        text: text("text"),
        media_url: text("mediaUrl"),
        media_urls: value.get("mediaUrls").filter(|urls| urls.is_array()).map(texts),
        reply_to_id: text("replyToId"),
        reply_to_tag: flag("replyToTag"),
        reply_to_current: flag("replyToCurrent"),
        audio_as_voice: flag("audioAsVoice"),
        is_error: flag("isError"),
        channel_data: value.get("channelData").and_then(Value::as_object).cloned(),
    }
}

fn recorded(payload: ReplyPayload) -> Value {
    let fields = [
        ("text", payload.text.map(Value::from)),
        ("mediaUrl", payload.media_url.map(Value::from)),
        ("mediaUrls", payload.media_urls.map(Value::from)),
        ("replyToId", payload.reply_to_id.map(Value::from)),
        ("replyToTag", payload.reply_to_tag.map(Value::from)),
        ("replyToCurrent", payload.reply_to_current.map(Value::from)),
        ("audioAsVoice", payload.audio_as_voice.map(Value::from)),
        ("isError", payload.is_error.map(Value::from)),
        ("channelData", payload.channel_data.map(Value::from)),
    ];
    present(fields)
}

/// An object of the fields that are there.
fn present<const N: usize>(fields: [(&str, Option<Value>); N]) -> Value {
    let known = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Value::Object(known.collect::<Object>())
}

fn sources(sources: Vec<String>) -> [(&'static str, Option<Value>); 2] {
    let first = sources.first().cloned().map(Value::from);
    [("mediaUrls", first.is_some().then(|| sources.into())), ("mediaUrl", first)]
}

fn recorded_split(split: MediaSplit) -> Value {
    let [urls, url] = sources(split.sources);
    let audio = split.audio_as_voice.then(|| true.into());
    present([("text", Some(split.text.into())), urls, url, ("audioAsVoice", audio)])
}

fn recorded_parse(parsed: ParsedReply) -> Value {
    let [urls, url] = sources(parsed.sources);
    present([
        ("text", Some(parsed.text.into())),
        urls,
        url,
        ("replyToId", parsed.tags.reply_to_id.map(Value::from)),
        ("replyToCurrent", Some(parsed.tags.current.into())),
        ("replyToTag", Some(parsed.tags.any.into())),
        ("audioAsVoice", parsed.audio_as_voice.then(|| true.into())),
        ("isSilent", Some(parsed.is_silent.into())),
    ])
}

fn stripped(case: &Case) -> Value {
    let context = match case.text("mode") {
        Some("heartbeat") => TokenContext::of_heartbeat(case.input.get("maxAckChars")),
        _ => TokenContext::Message,
    };
    let stripped = tokens::strip_heartbeat(case.text("raw").unwrap_or_default(), context);
    let skip = stripped.text.is_none();
    json!({ "shouldSkip": skip, "text": stripped.text.unwrap_or_default(), "didStrip": stripped.found })
}

fn streamed(case: &Case) -> Value {
    let mut stream = DirectiveStream::default();
    let pieces = case.texts("chunks");
    let read = |(at, piece): (usize, &String)| {
        let position = if at + 1 == pieces.len() { Piece::Last } else { Piece::More };
        let parsed = stream.read(piece, position, SILENT_TOKEN)?;
        let explicit = parsed.tags.explicit_id.clone();
        let mut value = recorded_parse(parsed);
        if let Some(id) = explicit {
            value["replyToExplicitId"] = id.into();
        }
        Some(value)
    };
    pieces.iter().enumerate().map(read).map(|value| value.unwrap_or(Value::Null)).collect()
}

fn planned(case: &Case) -> Value {
    let options = case.arg("options");
    let text = |field: &str| options.get(field).and_then(Value::as_str);
    let mode = ReplyToMode::parse(text("replyToMode").unwrap_or_default());
    let mut planner = ReferencePlanner::new(mode, text("existingId"), text("startId"));
    if options.get("allowReference") == Some(&Value::Bool(false)) {
        planner = planner.without_references();
    }
    if options.get("hasReplied") == Some(&Value::Bool(true)) {
        planner.mark_sent();
    }
    let count = case.arg("uses").as_u64().unwrap_or_default();
    let uses: Vec<Option<String>> = (0..count).map(|_| planner.next_reference().map(str::to_owned)).collect();
    json!({ "uses": uses, "hasReplied": planner.has_replied() })
}

fn origin(case: &Case) -> ReplyOrigin<'_> {
    ReplyOrigin {
        provider: case.text("messageProvider"),
        to: case.text("originatingTo"),
        account: case.text("accountId"),
    }
}

fn targets(case: &Case) -> Vec<SentTarget> {
    let target = |value: &Value| {
        let text = |field: &str| value.get(field).and_then(Value::as_str).map(str::to_owned);
        Some(SentTarget { provider: text("provider")?, to: text("to"), account: text("accountId") })
    };
    case.arg("messagingToolSentTargets").as_array().into_iter().flatten().filter_map(target).collect()
}

fn built(case: &Case) -> Value {
    // A pipeline of blocks is not data: a recorded run that streams has none, and nothing went out.
    // Without streaming, blocks may have been sent directly.
    let streaming = case.arg("blockStreamingEnabled") == &Value::Bool(true);
    let sent: Vec<BlockKey> = case
        .texts("directlySentBlockKeys")
        .iter()
        .filter(|_| !streaming)
        .filter_map(|key| json::parse(key).ok())
        .map(|key| sent_block(&key))
        .collect();
    let tool_targets = targets(case);
    let tool_texts = case.texts("messagingToolSentTexts");
    let turn = TurnReply {
        is_heartbeat: case.arg("isHeartbeat") == &Value::Bool(true),
        mode: ReplyToMode::parse(case.text("replyToMode").unwrap_or_default()),
        channel: case.text("replyToChannel"),
        current_message: case.text("currentMessageId"),
        streamed: Streamed::Some(&sent),
        origin: origin(case),
        tool_texts: &tool_texts,
        tool_targets: &tool_targets,
    };
    build(payloads(case), &turn).into_iter().map(recorded).collect()
}

/// A recorded key names the parts of the payload that it stands for.
fn sent_block(key: &Value) -> BlockKey {
    BlockKey::of(&ReplyPayload {
        text: key["text"].as_str().map(str::to_owned),
        media_urls: Some(texts(&key["mediaList"])),
        reply_to_id: key["replyToId"].as_str().map(str::to_owned),
        ..ReplyPayload::default()
    })
}

fn delivered(case: &Case) -> Value {
    let options = case.arg("opts");
    let text = |field: &str| options.get(field).and_then(Value::as_str);
    let values = options.get("responsePrefixContext").filter(|values| values.is_object());
    let prefix = text("responsePrefix").map(|prefix| match values {
        Some(values) => {
            let value = |name: &str| values.get(name).and_then(Value::as_str);
            let values = PrefixValues {
                model: value("model"),
                model_full: value("modelFull"),
                provider: value("provider"),
                thinking_level: value("thinkingLevel"),
                identity_name: value("identityName"),
            };
            values.fill_in(prefix)
        }
        None => prefix.to_owned(),
    });
    let options = DeliveryOptions {
        silent_token: text("silentToken").unwrap_or(SILENT_TOKEN),
        strip_heartbeat: options.get("stripHeartbeat") != Some(&Value::Bool(false)),
        prefix: prefix.as_deref(),
    };
    deliverable(payload(case.arg("payload")), &options).map_or(Value::Null, recorded)
}
