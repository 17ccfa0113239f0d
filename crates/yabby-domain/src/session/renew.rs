//! A session begun anew by hand: `sessions.reset` and a fork (`gateway.md` §6).

use crate::channel::ChatType;
use crate::json::Value;
use crate::session::cli_session;
use crate::session::entry::{Patch, SessionEntry};

/// The record of a session that starts over under its key. What was set for the session is kept;
/// what was said, counted and chosen for a run is not.
pub fn renewed(before: Option<&SessionEntry>, session_id: &str, now: f64) -> SessionEntry {
    const KEPT: [&str; 11] = [
        "thinkingLevel",
        "verboseLevel",
        "reasoningLevel",
        "responseUsage",
        "model",
        "contextTokens",
        "sendPolicy",
        "label",
        "origin",
        "lastChannel",
        "lastTo",
    ];
    // Ours: labels are the person's own, and that many listen must not be forgotten.
    let is_shared =
        before.is_some_and(|before| before.chat_type().is_some_and(|kind| kind != ChatType::Direct));
    let ours = ["labels"].into_iter().chain(is_shared.then_some("chatType"));
    let mut record = begun(session_id, now);
    for tokens in ["inputTokens", "outputTokens", "totalTokens"] {
        record.put(tokens, Some(0.into()));
    }
    carry(&mut record, before, KEPT.into_iter().chain(["skillsSnapshot"]).chain(ours));
    finished(record)
}

/// The record of a conversation that goes on from another one under a key of its own.
///
/// Where its replies would go is not carried over: two sessions that answer one person would talk
/// across each other. Who may listen is.
pub fn forked(from: Option<&SessionEntry>, session_id: &str, now: f64) -> SessionEntry {
    const CARRIED: [&str; 11] = [
        "thinkingLevel",
        "verboseLevel",
        "reasoningLevel",
        "elevatedLevel",
        "responseUsage",
        "modelProvider",
        "model",
        "contextTokens",
        "providerOverride",
        "modelOverride",
        "chatType",
    ];
    let mut record = begun(session_id, now);
    carry(&mut record, from, CARRIED.into_iter());
    finished(record)
}

/// What changes in a record when its conversation became another one by hand, shorter or longer: what was
/// counted says nothing about it, save what it is estimated to be now.
pub fn recounted(tokens: Option<f64>) -> Patch {
    let mut patch = Patch::default();
    patch.set_input_tokens(None);
    patch.set_output_tokens(None);
    patch.set_total_tokens(tokens);
    // A program would remember what it was.
    cli_session::forget(&mut patch);
    patch
}

fn begun(session_id: &str, now: f64) -> Patch {
    let mut record = Patch::default();
    record.set_session_id(Some(session_id));
    record.set_updated_at(Some(now));
    record.set_system_sent(Some(false));
    record.set_aborted_last_run(Some(false));
    record
}

fn carry<'f>(record: &mut Patch, from: Option<&SessionEntry>, fields: impl Iterator<Item = &'f str>) {
    let Some(from) = from else { return };
    for field in fields {
        if let Some(value) = from.get(field) {
            record.put(field, Some(Value::clone(value)));
        }
    }
}

fn finished(record: Patch) -> SessionEntry {
    SessionEntry::new(record.into_object())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    fn entry(record: &str) -> SessionEntry {
        SessionEntry::new(json::parse(record).unwrap().as_object().unwrap().clone())
    }

    #[test]
    fn a_reset_keeps_the_settings_and_forgets_the_rest() {
        let before = entry(
            r#"{"sessionId":"old","updatedAt":1,"systemSent":true,"thinkingLevel":"high","modelOverride":"x",
            "label":"work","labels":["a"],"totalTokens":9,"sessionFile":"/old.jsonl","lastTo":"+1"}"#,
        );
        let expected = r#"{"sessionId":"new","updatedAt":7,"systemSent":false,"abortedLastRun":false,"inputTokens":0,"outputTokens":0,"totalTokens":0,"thinkingLevel":"high","label":"work","lastTo":"+1","labels":["a"]}"#;
        let after = renewed(Some(&before), "new", 7.0);
        assert_eq!(json::stringify_object(after.as_object()), expected);
    }

    #[test]
    fn a_reset_does_not_forget_that_many_listen() {
        for (kind, kept) in [("group", true), ("channel", true), ("direct", false)] {
            let before = entry(&format!(r#"{{"sessionId":"old","chatType":"{kind}"}}"#));
            assert_eq!(renewed(Some(&before), "new", 7.0).get("chatType").is_some(), kept, "{kind}");
        }
    }

    #[test]
    fn a_fork_answers_nobody_by_itself() {
        let from =
            entry(r#"{"sessionId":"old","chatType":"group","lastTo":"+1","label":"work","model":"m"}"#);
        let expected = r#"{"sessionId":"new","updatedAt":7,"systemSent":false,"abortedLastRun":false,"model":"m","chatType":"group"}"#;
        assert_eq!(json::stringify_object(forked(Some(&from), "new", 7.0).as_object()), expected);
    }
}
