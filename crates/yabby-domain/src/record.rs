//! `SessionEntry`, one record of `sessions.json` (`sessions.md` §7).
//!
//! The record is shared with other programs and other versions: a field we do not know, a null, even
//! a value of the wrong type goes back to disk where it stood. So the entry holds the object it was
//! read from, and every field of the specification is a typed view of it, listed once in `fields!`.

use std::sync::Arc;

use crate::channel::ChatType;
use crate::inbound::ThreadId;
use crate::json::{self, Object, Value};
use crate::unique::unique;

/// Copies share the object until one of them is changed: a record is passed around far more often than
/// it is changed, and some are long.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionEntry(Arc<Object>);

/// What is to change in an entry: fields in order, `None` for a field that is to go.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Patch(Vec<(String, Option<Value>)>);

macro_rules! fields {
    ($($kind:ident { $($name:literal $get:ident, $set:ident;)* })*) => {
        impl SessionEntry {
            $($(fields!(@get $kind $name $get);)*)*
        }

        impl Patch {
            $($(fields!(@set $kind $name $set);)*)*
        }
    };
    (@get Text $name:literal $get:ident) => {
        pub fn $get(&self) -> Option<&str> { self.0.get($name)?.as_str() }
    };
    (@get Number $name:literal $get:ident) => {
        pub fn $get(&self) -> Option<f64> { self.0.get($name)?.as_f64() }
    };
    (@get Flag $name:literal $get:ident) => {
        pub fn $get(&self) -> Option<bool> { self.0.get($name)?.as_bool() }
    };
    (@get TextOrNumber $name:literal $get:ident) => {
        pub fn $get(&self) -> Option<ThreadId> { ThreadId::from_value(self.0.get($name)?) }
    };
    (@get Object $name:literal $get:ident) => {
        pub fn $get(&self) -> Option<&Object> { self.0.get($name)?.as_object() }
    };
    (@get List $name:literal $get:ident) => {
        pub fn $get(&self) -> Option<&[Value]> { self.0.get($name)?.as_array().map(Vec::as_slice) }
    };
    (@set Text $name:literal $set:ident) => {
        pub fn $set(&mut self, value: Option<&str>) { self.put($name, value.map(Value::from)); }
    };
    (@set Number $name:literal $set:ident) => {
        pub fn $set(&mut self, value: Option<f64>) { self.put($name, value.map(json::number)); }
    };
    (@set Flag $name:literal $set:ident) => {
        pub fn $set(&mut self, value: Option<bool>) { self.put($name, value.map(Value::from)); }
    };
    (@set TextOrNumber $name:literal $set:ident) => {
        pub fn $set(&mut self, value: Option<&ThreadId>) { self.put($name, value.map(ThreadId::to_value)); }
    };
    (@set Object $name:literal $set:ident) => {
        pub fn $set(&mut self, value: Option<Object>) { self.put($name, value.map(Value::Object)); }
    };
    (@set List $name:literal $set:ident) => {
        pub fn $set(&mut self, value: Option<Vec<Value>>) { self.put($name, value.map(Value::Array)); }
    };
}

fields! {
    Text {
        "sessionId" session_id, set_session_id;
        "lastHeartbeatText" last_heartbeat_text, set_last_heartbeat_text;
        "sessionFile" session_file, set_session_file;
        "spawnedBy" spawned_by, set_spawned_by;
        "chatType" chat_type_text, set_chat_type;
        "thinkingLevel" thinking_level, set_thinking_level;
        "verboseLevel" verbose_level, set_verbose_level;
        "reasoningLevel" reasoning_level, set_reasoning_level;
        "elevatedLevel" elevated_level, set_elevated_level;
        "ttsAuto" tts_auto, set_tts_auto;
        "execHost" exec_host, set_exec_host;
        "execSecurity" exec_security, set_exec_security;
        "execAsk" exec_ask, set_exec_ask;
        "execNode" exec_node, set_exec_node;
        "responseUsage" response_usage, set_response_usage;
        "providerOverride" provider_override, set_provider_override;
        "modelOverride" model_override, set_model_override;
        "authProfileOverride" auth_profile_override, set_auth_profile_override;
        "authProfileOverrideSource" auth_profile_override_source, set_auth_profile_override_source;
        "groupActivation" group_activation, set_group_activation;
        "sendPolicy" send_policy, set_send_policy;
        "queueMode" queue_mode, set_queue_mode;
        "queueDrop" queue_drop, set_queue_drop;
        "modelProvider" model_provider, set_model_provider;
        "model" model, set_model;
        "claudeCliSessionId" claude_cli_session_id, set_claude_cli_session_id;
        "label" label, set_label;
        "displayName" display_name, set_display_name;
        "channel" channel, set_channel;
        "groupId" group_id, set_group_id;
        "subject" subject, set_subject;
        "groupChannel" group_channel, set_group_channel;
        "space" space, set_space;
        "lastChannel" last_channel, set_last_channel;
        "lastTo" last_to, set_last_to;
        "lastAccountId" last_account_id, set_last_account_id;
    }
    Number {
        "updatedAt" updated_at, set_updated_at;
        // Only older folders have it; the reference keeps no time of creation.
        "createdAt" created_at, set_created_at;
        "lastHeartbeatSentAt" last_heartbeat_sent_at, set_last_heartbeat_sent_at;
        "authProfileOverrideCompactionCount" auth_profile_override_compaction_count, set_auth_profile_override_compaction_count;
        "queueDebounceMs" queue_debounce_ms, set_queue_debounce_ms;
        "queueCap" queue_cap, set_queue_cap;
        "inputTokens" input_tokens, set_input_tokens;
        "outputTokens" output_tokens, set_output_tokens;
        "totalTokens" total_tokens, set_total_tokens;
        "contextTokens" context_tokens, set_context_tokens;
        "compactionCount" compaction_count, set_compaction_count;
        "memoryFlushAt" memory_flush_at, set_memory_flush_at;
        "memoryFlushCompactionCount" memory_flush_compaction_count, set_memory_flush_compaction_count;
    }
    Flag {
        "systemSent" system_sent, set_system_sent;
        "abortedLastRun" aborted_last_run, set_aborted_last_run;
        "groupActivationNeedsSystemIntro" group_activation_needs_system_intro, set_group_activation_needs_system_intro;
    }
    TextOrNumber {
        "lastThreadId" last_thread_id, set_last_thread_id;
    }
    Object {
        "cliSessionIds" cli_session_ids, set_cli_session_ids;
        "origin" origin, set_origin;
        "deliveryContext" delivery_context_object, set_delivery_context_object;
        "skillsSnapshot" skills_snapshot, set_skills_snapshot;
        "systemPromptReport" system_prompt_report, set_system_prompt_report;
    }
    List {
        // Only older folders have a list; the reference keeps one `label`.
        "labels" label_list, set_label_list;
    }
}

impl SessionEntry {
    pub fn new(object: Object) -> Self {
        Self(Arc::new(object))
    }

    pub fn as_object(&self) -> &Object {
        &self.0
    }

    pub fn into_object(self) -> Object {
        Arc::unwrap_or_clone(self.0)
    }

    pub fn get(&self, field: &str) -> Option<&Value> {
        self.0.get(field)
    }

    pub fn chat_type(&self) -> Option<ChatType> {
        self.chat_type_text().and_then(ChatType::parse)
    }

    /// All labels: the one the reference keeps, then those of an older list.
    pub fn labels(&self) -> Vec<&str> {
        let listed = self.label_list().unwrap_or_default().iter().filter_map(Value::as_str);
        unique(self.label().into_iter().chain(listed))
    }

    /// Applies a patch: given fields overlay, `None` removes; a field that exists keeps its place.
    pub fn apply(&mut self, patch: &Patch) {
        self.take(patch.clone());
    }

    /// The same with a patch that nobody needs any more.
    pub fn take(&mut self, patch: Patch) {
        let object = Arc::make_mut(&mut self.0);
        for (field, value) in patch.0 {
            match value {
                Some(value) => {
                    object.insert(field, value);
                }
                None => {
                    object.shift_remove(&field);
                }
            }
        }
    }

    /// Merges a patch as the store does: the id is kept or made, and time never goes back.
    pub fn merged(
        existing: Option<&Self>,
        patch: &Patch,
        now: f64,
        new_id: &mut dyn FnMut() -> String,
    ) -> Self {
        let given = |value: Option<&Value>| value.filter(|value| !value.is_null()).cloned();
        let id = given(patch.get("sessionId")).or_else(|| given(existing?.get("sessionId")));
        let id = id.unwrap_or_else(|| Value::String(new_id()));
        let earlier = existing.and_then(Self::updated_at).unwrap_or(0.0);
        let patched = patch.get("updatedAt").and_then(Value::as_f64).unwrap_or(0.0);
        let mut merged = existing.cloned().unwrap_or_default();
        merged.apply(patch);
        let object = Arc::make_mut(&mut merged.0);
        object.insert("sessionId".to_owned(), id);
        object.insert("updatedAt".to_owned(), json::number(earlier.max(patched).max(now)));
        merged
    }
}

impl Patch {
    /// Sets a field, or has it removed. A field set again keeps its first place.
    pub fn put(&mut self, field: &str, value: Option<Value>) {
        match self.0.iter_mut().find(|(name, _)| name == field) {
            Some((_, old)) => *old = value,
            None => self.0.push((field.to_owned(), value)),
        }
    }

    /// The value a field is to have.
    pub fn get(&self, field: &str) -> Option<&Value> {
        self.0.iter().find(|(name, _)| name == field)?.1.as_ref()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Lays the fields of `other` over this patch.
    pub fn overlay(&mut self, other: &Patch) {
        for (field, value) in &other.0 {
            self.put(field, value.clone());
        }
    }

    /// The fields that are set, as an object.
    pub fn into_object(self) -> Object {
        self.0.into_iter().filter_map(|(field, value)| Some((field, value?))).collect()
    }

    /// The fields that are to go.
    pub fn removed(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter(|(_, value)| value.is_none()).map(|(field, _)| field.as_str())
    }

    /// A patch that sets every field of `object`.
    pub fn from_object(object: &Object) -> Self {
        Self(object.iter().map(|(field, value)| (field.clone(), Some(value.clone()))).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(text: &str) -> SessionEntry {
        SessionEntry::new(json::parse(text).unwrap().as_object().unwrap().clone())
    }

    #[test]
    fn unknown_and_odd_fields_stay_where_they_are() {
        let text = r#"{"x":{"y":[1]},"sessionId":"s","totalTokens":"many","label":null,"updatedAt":5}"#;
        let mut entry = entry(text);
        assert_eq!(entry.total_tokens(), None);
        assert_eq!(entry.session_id(), Some("s"));
        let mut patch = Patch::default();
        patch.set_updated_at(Some(6.0));
        entry.apply(&patch);
        assert_eq!(json::stringify_object(entry.as_object()), text.replace(":5}", ":6}"));
    }

    #[test]
    fn a_merge_keeps_the_id_and_never_turns_back_time() {
        let existing = entry(r#"{"sessionId":"s","updatedAt":100}"#);
        let mut patch = Patch::default();
        patch.set_label(Some("x"));
        patch.set_updated_at(Some(7.0));
        let merged = SessionEntry::merged(Some(&existing), &patch, 50.0, &mut || "new".to_owned());
        assert_eq!(
            json::stringify_object(merged.as_object()),
            r#"{"sessionId":"s","updatedAt":100,"label":"x"}"#
        );
        let fresh = SessionEntry::merged(None, &Patch::default(), 50.0, &mut || "new".to_owned());
        assert_eq!(json::stringify_object(fresh.as_object()), r#"{"sessionId":"new","updatedAt":50}"#);
    }

    #[test]
    fn one_label_and_a_list_of_them_are_both_read() {
        assert_eq!(entry(r#"{"label":"a","labels":["work","a",3]}"#).labels(), ["a", "work"]);
    }
}
