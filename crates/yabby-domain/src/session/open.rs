//! Opening a session for a message: which one, resumed or new, and what its record becomes
//! (`sessions.md` §9).
//!
//! Three steps, so that the caller can do its reading and writing in between: [`Target::of`] names the
//! session, [`Opening::decide`] looks at its record, [`Opening::record`] says what to write.

use std::borrow::Cow;

use jiff::tz::TimeZone;

use crate::body::{self, EscapedNewlines};
use crate::channel::ChatType;
use crate::config::Config;
use crate::delivery::{self, DeliveryContext, RawContext};
use crate::id::AgentId;
use crate::inbound::{InboundMessage, ThreadId};
use crate::json::{self, Value};
use crate::mention;
use crate::session::entry::{Patch, SessionEntry};
use crate::session::freshness::{ResetSettings, ThreadSigns, freshness, is_thread, reset_type};
use crate::session::group::{Group, message_key, resolve_group};
use crate::session::key::{KeyPolicy, SessionKey};
use crate::session::meta::meta_patch;
use crate::session::path::transcript_path;
use crate::session::reset::ResetTriggers;
use crate::text;

/// The session a message is for.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    pub key: SessionKey,
    pub agent: AgentId,
    pub group: Option<Group>,
    pub is_group: bool,
}

impl Target {
    pub fn of(message: &InboundMessage, policy: &KeyPolicy) -> Self {
        let message = addressed(message);
        let group = resolve_group(&message);
        let chat_type = message.chat_type.as_deref().and_then(ChatType::parse);
        // A direct chat type with an address that looks like a group is still a group.
        let is_group = matches!(chat_type, Some(ChatType::Group | ChatType::Channel)) || group.is_some();
        Self {
            key: message_key(policy.scope, &message, &policy.main_key),
            agent: policy.session_agent(message.session_key.as_deref().unwrap_or("")),
            group,
            is_group,
        }
    }
}

/// A command from a platform's own menu may be meant for another session than the one it came by.
/// The message, addressed to the session that a native command names.
fn addressed(message: &InboundMessage) -> Cow<'_, InboundMessage> {
    let native = message.command_source.as_deref() == Some("native");
    let named = message.command_target_session_key.as_deref().filter(|_| native).and_then(text::non_blank);
    match named {
        None => Cow::Borrowed(message),
        Some(key) => Cow::Owned(InboundMessage { session_key: Some(key.to_owned()), ..message.clone() }),
    }
}

/// What the decision depends on besides the message.
#[derive(Clone, Copy, Debug)]
pub struct OpenRequest<'m, 'a> {
    pub message: &'m InboundMessage,
    pub config: &'a Config,
    /// The record under the target's key, if there is one.
    pub entry: Option<&'a SessionEntry>,
    /// Whether the sender may reset sessions.
    pub authorized: bool,
    pub now: f64,
    pub zone: &'a TimeZone,
}

/// A session that is about to be used.
#[derive(Clone, Debug, PartialEq)]
pub struct Opening<'m> {
    pub target: &'m Target,
    message: Cow<'m, InboundMessage>,
    /// What followed a reset trigger; `None` if there was none.
    pub reset: Option<String>,
    /// The record goes on; a new session begins otherwise.
    resumed: Option<SessionEntry>,
    /// There is a record, whether it goes on or not.
    is_known: bool,
    /// The record before a reset.
    pub previous: Option<SessionEntry>,
    pub system_sent: bool,
    pub aborted_last_run: bool,
    /// The message as commands see it: without headers and history.
    pub trigger_body: String,
    /// The message as the agent sees it.
    pub body: String,
    now: f64,
}

/// A transcript that was branched off for a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fork {
    pub session_id: String,
    pub session_file: String,
}

impl<'m> Opening<'m> {
    pub fn decide(target: &'m Target, request: &OpenRequest<'m, '_>) -> Self {
        let message = request.message;
        let command_text =
            first([&message.body_for_commands, &message.command_body, &message.raw_body, &message.body]);
        let trigger_body = body::strip_structure(command_text);
        let reset =
            request.authorized.then(|| find_reset(target, request, command_text, &trigger_body)).flatten();
        let fresh = reset.is_none() && request.entry.is_some_and(|entry| is_fresh(target, request, entry));
        let resumed = request.entry.filter(|_| fresh).cloned();
        let words = reset.as_deref().unwrap_or_else(|| {
            first([
                &message.body_for_agent,
                &message.body,
                &message.command_body,
                &message.raw_body,
                &message.body_for_commands,
            ])
        });
        Self {
            body: message.signed(&body::normalize_newlines(words, EscapedNewlines::Keep)),
            previous: request.entry.filter(|_| reset.is_some()).cloned(),
            system_sent: resumed.as_ref().and_then(SessionEntry::system_sent).unwrap_or(false),
            aborted_last_run: resumed.as_ref().and_then(SessionEntry::aborted_last_run).unwrap_or(false),
            target,
            message: addressed(message),
            is_known: request.entry.is_some(),
            reset,
            resumed,
            trigger_body,
            now: request.now,
        }
    }

    pub fn is_new(&self) -> bool {
        self.resumed.is_none()
    }

    /// The session whose transcript a new one should branch off from, if it is in the store. A thread branches off once:
    /// one that begins anew begins empty.
    pub fn fork_from(&self) -> Option<SessionKey> {
        let parent = self.message.parent_session_key.as_deref().and_then(text::non_blank)?;
        (!self.is_known && parent != self.target.key.as_str()).then(|| SessionKey::new(parent))
    }

    /// What to write over the record under the key.
    ///
    /// A new session clears the settings listed here; whatever else the record holds (tokens, label,
    /// snapshot, profile) outlives the reset.
    pub fn record(
        &self,
        fork: Option<&Fork>,
        state_folder: &str,
        new_id: &mut dyn FnMut() -> String,
    ) -> Patch {
        let mut patch = Patch::default();
        let resumed_id = self.resumed.as_ref().and_then(SessionEntry::session_id).map(str::to_owned);
        let session_id = fork.map(|fork| fork.session_id.clone()).or(resumed_id).unwrap_or_else(new_id);
        patch.set_session_id(Some(&session_id));
        patch.set_updated_at(Some(self.now));
        patch.set_system_sent(Some(self.system_sent));
        patch.set_aborted_last_run(Some(self.aborted_last_run));
        if self.is_new() {
            CLEARED.iter().for_each(|field| patch.put(field, None));
        }
        patch.overlay(&self.delivery());
        let (message, Target { group, key, .. }) = (&*self.message, self.target);
        patch.overlay(&meta_patch(message, group.as_ref(), key.as_str(), self.resumed.as_ref()));
        let known = |field: &str| {
            patch.get(field).or_else(|| self.resumed.as_ref()?.get(field)).is_some_and(json::truthy)
        };
        if !known("chatType") {
            patch.set_chat_type(Some(ChatType::Direct.as_str()));
        }
        if let Some(label) = message.thread_label.as_deref().and_then(text::non_blank) {
            patch.set_display_name(Some(label));
        }
        if let Some(file) = self.new_transcript(fork, state_folder, &session_id) {
            patch.set_session_file(Some(&file));
        }
        if self.is_new() {
            patch.set_compaction_count(Some(0.0));
            patch.set_memory_flush_compaction_count(None);
            patch.set_memory_flush_at(None);
        }
        patch
    }

    /// The transcript to note in the record: the fork's, or a new one where none is noted yet.
    fn new_transcript(&self, fork: Option<&Fork>, state_folder: &str, session_id: &str) -> Option<String> {
        if let Some(fork) = fork {
            return Some(fork.session_file.clone());
        }
        let noted = self.resumed.as_ref().and_then(|entry| entry.get("sessionFile"));
        let topic = self.message.message_thread_id.as_ref();
        let path = || transcript_path(state_folder, &self.target.agent, session_id, topic);
        (!noted.is_some_and(json::truthy)).then(path)
    }

    /// Where the conversation now is: where this message came from, else where the last one did.
    fn delivery(&self) -> Patch {
        let message = &*self.message;
        let last = |field: &str| self.resumed.as_ref().and_then(|entry| entry.get(field)).cloned();
        let said = |text: &Option<String>| text.clone().filter(|text| !text.is_empty()).map(Value::String);
        let thread = message.message_thread_id.as_ref().filter(|id| id.is_truthy()).map(ThreadId::to_value);
        let parts = [
            ("lastChannel", said(&message.originating_channel).or_else(|| last("lastChannel"))),
            (
                "lastTo",
                said(&message.originating_to).or_else(|| said(&message.to)).or_else(|| last("lastTo")),
            ),
            ("lastAccountId", said(&message.account_id).or_else(|| last("lastAccountId"))),
            ("lastThreadId", thread.or_else(|| last("lastThreadId"))),
        ];
        let [channel, to, account, thread] = [0, 1, 2, 3].map(|at: usize| parts[at].1.as_ref());
        let context = DeliveryContext::normalize(&RawContext { channel, to, account, thread });
        let kept = self.resumed.as_ref().and_then(SessionEntry::delivery_context_object);
        let mut patch = delivery::mirror(context.as_ref(), kept);
        for (field, raw) in parts {
            if patch.get(field).is_none() {
                patch.put(field, raw);
            }
        }
        patch
    }
}

/// Settings of a session that end with it.
const CLEARED: [&str; 19] = [
    "thinkingLevel",
    "verboseLevel",
    "reasoningLevel",
    "ttsAuto",
    "responseUsage",
    "modelOverride",
    "providerOverride",
    "sendPolicy",
    "queueMode",
    "queueDebounceMs",
    "queueCap",
    "queueDrop",
    "displayName",
    "chatType",
    "channel",
    "groupId",
    "subject",
    "groupChannel",
    "space",
];

/// The first text that is there; an empty one counts.
fn first<const N: usize>(texts: [&Option<String>; N]) -> &str {
    texts.into_iter().flatten().next().map_or("", String::as_str)
}

fn find_reset(target: &Target, request: &OpenRequest<'_, '_>, raw: &str, stripped: &str) -> Option<String> {
    let triggers = ResetTriggers::from_config(request.config);
    if !target.is_group {
        return triggers.find(raw, stripped);
    }
    let patterns = mention::mention_patterns(request.config, Some(&target.agent));
    triggers.find(raw, &mention::strip_mentions(stripped, request.message, &patterns))
}

/// Whether a session goes on with its record, as far as the record's age decides that.
pub fn is_fresh(target: &Target, request: &OpenRequest<'_, '_>, entry: &SessionEntry) -> bool {
    let message = request.message;
    let thread = is_thread(&ThreadSigns {
        key: Some(target.key.as_str()),
        thread_id: message.message_thread_id.as_ref(),
        thread_label: message.thread_label.as_deref(),
        starter_body: message.thread_starter_body.as_deref(),
        parent_key: message.parent_session_key.as_deref(),
    });
    let settings = ResetSettings::from_config(request.config);
    let group_channel = target.group.as_ref().map(|group| &group.channel);
    let said = [&message.originating_channel, &message.surface, &message.provider];
    let channel = group_channel.or_else(|| said.into_iter().flatten().next());
    let own = channel.and_then(|channel| settings.for_channel(channel));
    let policy = settings.policy(reset_type(Some(&target.key), target.is_group, thread), own);
    freshness(entry.updated_at(), request.now, &policy, request.zone).fresh
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Opens the session of a message, and looks at what became of its record.
    fn open(entry: &Value, body: &str, look: impl FnOnce(&Opening<'_>, &SessionEntry)) {
        let message = InboundMessage { body: Some(body.to_owned()), ..InboundMessage::default() };
        let config = Config::default();
        let entry = SessionEntry::new(entry.as_object().unwrap().clone());
        let target = Target::of(&message, &KeyPolicy::from_config(&config));
        let now = 1_770_120_000_000.0;
        let request = OpenRequest {
            message: &message,
            config: &config,
            entry: Some(&entry),
            authorized: true,
            now,
            zone: &TimeZone::UTC,
        };
        let opening = Opening::decide(&target, &request);
        let mut record = entry.clone();
        record.apply(&opening.record(None, "/s", &mut || "new".to_owned()));
        look(&opening, &record);
    }

    #[test]
    fn a_reset_clears_settings_and_keeps_the_rest() {
        let entry = json!({
            "sessionId": "old", "updatedAt": 1_770_119_999_000_i64, "thinkingLevel": "high", "queueMode": "steer",
            "label": "work", "totalTokens": 7, "sessionFile": "/s/old.jsonl", "compactionCount": 3, "memoryFlushAt": 1,
        });
        open(&entry, "/new hello", |opening, record| {
            assert!(opening.is_new());
            assert_eq!(opening.body, "hello");
            assert_eq!(record.session_id(), Some("new"));
            assert_eq!(
                (record.thinking_level(), record.queue_mode(), record.memory_flush_at()),
                (None, None, None)
            );
            assert_eq!(
                (record.label(), record.total_tokens(), record.compaction_count()),
                (Some("work"), Some(7.0), Some(0.0))
            );
            assert_eq!(record.session_file(), Some("/s/agents/main/sessions/new.jsonl"));
        });
    }

    #[test]
    fn a_fresh_session_goes_on() {
        let entry = json!({"sessionId": "old", "updatedAt": 1_770_119_999_000_i64, "thinkingLevel": "high", "systemSent": true});
        open(&entry, "hello", |opening, record| {
            assert!(!opening.is_new() && opening.system_sent);
            assert_eq!((record.session_id(), record.thinking_level()), (Some("old"), Some("high")));
        });
    }
}
