//! `inbound.json`.

use jiff::tz::TimeZone;
use yabby_domain::body::{self, EscapedNewlines};
use yabby_domain::channel::ChatType;
use yabby_domain::config::Config;
use yabby_domain::envelope::{Envelope, EnvelopeOptions, Origin, body_with_author};
use yabby_domain::id::AgentId;
use yabby_domain::inbound::conversation_label::conversation_label;
use yabby_domain::inbound::{InboundMessage, Rederive, debounce_ms, media};
use yabby_domain::json::{Object, Value};
use yabby_domain::mention::{self, ExplicitMention, Mentions};
use yabby_domain::sender::{Sender, with_sender_line};
use yabby_domain::zone;

use super::{context, rows};
use crate::vectors::{Case, Difference, Suite};

pub const SUITE: Suite =
    Suite { file: "inbound.json", cases: rows, answer, differences: &[ESCAPED_NEWLINES_IN_COMMANDS] };

/// Messages of platforms have no spelt-out line feed left when commands are read; what is typed keeps its own.
const ESCAPED_NEWLINES_IN_COMMANDS: Difference = Difference {
    name: "escaped-newlines-in-commands",
    applies: |case| {
        case.rule == "stripStructuralPrefixes" && case.text("text").is_some_and(|text| text.contains("\\n"))
    },
    expected: |case| case.text("text").unwrap_or_default().into(),
};

fn answer(case: &Case) -> Option<Value> {
    let text = |field: &str| case.text(field).unwrap_or_default();
    let message = context::inbound(case.arg("ctx"));
    let config = Config::new(case.arg("cfg").clone());
    let agent = case.text("agentId").map(AgentId::normalize);
    Some(match case.rule.as_str() {
        "normalizeInboundTextNewlines" => {
            body::normalize_newlines(text("input"), EscapedNewlines::Unescape).into()
        }
        "stripStructuralPrefixes" => body::strip_structure(text("text")).into(),
        "appendUntrustedContext" => {
            body::with_untrusted_context(text("base"), &case.texts("untrusted")).into()
        }
        "resolveSenderLabel" => sender(&case.input).label().into(),
        "listSenderLabelCandidates" => sender(&case.input).labels().into(),
        "formatInboundBodyWithSenderMeta" => {
            let chat_type = message.chat_type.as_deref().and_then(ChatType::parse);
            with_sender_line(text("body"), chat_type, &message.sender()).into()
        }
        "resolveConversationLabel" => conversation_label(&message).into(),
        "finalizeInboundContext" => finalized(case, message),
        "buildInboundDedupeKey" => message.dedupe_key().into(),
        "buildInboundMediaNote" => media::media_note(&message.media).into(),
        "resolveInboundDebounceMs" => {
            debounce_ms(&config, text("channel"), case.arg("overrideMs").as_f64()).into()
        }
        "deriveMentionPatterns" => {
            let part = |name: &str| case.arg("identity").get(name).and_then(Value::as_str);
            mention::derived_patterns(part("name"), part("emoji")).into()
        }
        "matchesMentionPatterns" => {
            let patterns = mention::mention_patterns(&config, agent.as_ref());
            Mentions::new(patterns).occur_in_or_told(text("text"), ExplicitMention::default()).into()
        }
        "matchesMentionWithExplicit" => {
            let told = |name: &str| case.arg("explicit").get(name) == Some(&Value::Bool(true));
            let explicit = ExplicitMention {
                of_agent: told("isExplicitlyMentioned"),
                of_anyone: told("hasAnyMention"),
                reliable: told("canResolveExplicit"),
            };
            Mentions::new(case.texts("patterns")).occur_in_or_told(text("text"), explicit).into()
        }
        "stripMentions" => {
            let patterns = mention::mention_patterns(&config, agent.as_ref());
            mention::strip_mentions(text("text"), &message, &patterns).into()
        }
        "formatAgentEnvelope" => {
            envelope(case, case.text("from"), text("body")).format(&options(case), &host(case)).into()
        }
        "formatThreadStarterEnvelope" => {
            envelope(case, case.text("author"), text("body")).format(&options(case), &host(case)).into()
        }
        "formatInboundEnvelope" => {
            let chat_type = case.text("chatType").and_then(ChatType::parse);
            let author = sender(case.arg("sender"));
            let body = body_with_author(text("body"), chat_type, case.text("senderLabel"), &author);
            envelope(case, case.text("from"), &body).format(&options(case), &host(case)).into()
        }
        "formatInboundFromLabel" => origin(case).label().into(),
        "resolveEnvelopeFormatOptions" => recorded_options(EnvelopeOptions::from_config(&config)),
        _ => return None,
    })
}

fn sender(value: &Value) -> Sender<'_> {
    let part = |name: &str| value.get(name).and_then(Value::as_str);
    Sender {
        name: part("name"),
        username: part("username"),
        tag: part("tag"),
        e164: part("e164"),
        id: part("id"),
    }
}

fn finalized(case: &Case, message: InboundMessage) -> Value {
    let force = |name: &str| case.arg("opts").get(name) == Some(&Value::Bool(true));
    // Forcing chat type or label changes nothing that anybody could see.
    let rederive = Rederive {
        body_for_agent: force("forceBodyForAgent"),
        body_for_commands: force("forceBodyForCommands"),
    };
    let message = message.finalize(rederive, EscapedNewlines::Unescape);
    // Fields that finalizing does not touch go back as they came.
    let mut object = case.arg("ctx").as_object().cloned().unwrap_or_default();
    let mut set = |field: &str, value: Option<String>| match value {
        Some(value) => {
            object.insert(field.to_owned(), value.into());
        }
        None => {
            object.remove(field);
        }
    };
    set("Body", message.body);
    set("RawBody", message.raw_body);
    set("CommandBody", message.command_body);
    set("Transcript", message.transcript);
    set("ThreadStarterBody", message.thread_starter_body);
    set("BodyForAgent", message.body_for_agent);
    set("BodyForCommands", message.body_for_commands);
    set("ChatType", message.chat_type);
    set("ConversationLabel", message.conversation_label);
    if case.arg("ctx").get("UntrustedContext").is_some_and(Value::is_array) {
        object.insert("UntrustedContext".to_owned(), message.untrusted_context.into());
    }
    object.insert("CommandAuthorized".to_owned(), message.command_authorized.into());
    Value::Object(object)
}

fn envelope<'c>(case: &'c Case, from: Option<&'c str>, body: &'c str) -> Envelope<'c> {
    Envelope {
        channel: case.text("channel").unwrap_or_default(),
        from,
        host: case.text("host"),
        ip: case.text("ip"),
        timestamp: case.arg("timestamp").as_i64(),
        previous_timestamp: case.arg("previousTimestamp").as_i64(),
        body,
    }
}

fn options(case: &Case) -> EnvelopeOptions {
    let given = case.arg("envelope");
    let text = |name: &str| given.get(name).and_then(Value::as_str).map(str::to_owned);
    EnvelopeOptions {
        zone: text("timezone"),
        user_zone: text("userTimezone"),
        with_timestamp: given.get("includeTimestamp") != Some(&Value::Bool(false)),
        with_elapsed: given.get("includeElapsed") != Some(&Value::Bool(false)),
    }
}

fn recorded_options(options: EnvelopeOptions) -> Value {
    let mut object = Object::new();
    object.extend(options.zone.map(|zone| ("timezone".to_owned(), zone.into())));
    object.insert("includeTimestamp".to_owned(), options.with_timestamp.into());
    object.insert("includeElapsed".to_owned(), options.with_elapsed.into());
    object.extend(options.user_zone.map(|zone| ("userTimezone".to_owned(), zone.into())));
    Value::Object(object)
}

/// The host's zone at the time of the call.
fn host(case: &Case) -> TimeZone {
    case.text("tz").and_then(zone::find).unwrap_or(TimeZone::UTC)
}

fn origin(case: &Case) -> Origin<'_> {
    if case.arg("isGroup") == &Value::Bool(true) {
        let (label, id) = (case.text("groupLabel"), case.text("groupId"));
        Origin::Group { label, id, fallback: case.text("groupFallback") }
    } else {
        Origin::Direct { label: case.text("directLabel").unwrap_or_default(), id: case.text("directId") }
    }
}
