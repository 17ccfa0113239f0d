//! `sessions_history`: what was said in a conversation, last or around a message.

use serde_json::{Value, json};
use yabby_memory::recall::Listed;
use yabby_memory::unit::Unit;

use super::arguments::Arguments;
use super::conversations::fitting;
use super::{Look, Spec};

const USUAL: usize = 50;
/// How many come with one message that is asked for.
const USUAL_AROUND: usize = 13;
const MOST: usize = 200;

pub(super) fn spec() -> Spec {
    (
        "Read a conversation",
        "Read the last messages of a conversation, or with messageId of a search result those around it.",
        json!({
            "type": "object",
            "properties": {
                "sessionKey": {"type": "string", "description": "A key or sessionId of sessions_list or of a search result"},
                "limit": {"type": "number", "description": "How many messages (default 50, around a message 13)"},
                "messageId": {"type": "string", "description": "Show what was said around this message"},
            },
            "required": ["sessionKey"],
        }),
    )
}

pub(super) async fn call(look: &Look<'_>, arguments: Arguments<'_>) -> Result<Value, String> {
    let named = arguments.required("sessionKey")?;
    match arguments.text("messageId")? {
        Some(message) => around(look, named, message, arguments.count("limit", USUAL_AROUND, MOST)?).await,
        None => last(look, named, arguments.count("limit", USUAL, MOST)?).await,
    }
}

async fn last(look: &Look<'_>, named: &str, limit: usize) -> Result<Value, String> {
    let (listed, unread) = look.named(named).await?;
    let Some(latest) = listed.first() else { return Err(super::conversations::no_session(named)) };
    let (viewer, path) = (look.viewer.clone(), latest.path.clone());
    let count = u32::try_from(limit).unwrap_or(u32::MAX);
    let units = look.recalled(move |memory| memory.recall().last(&viewer, &path, count)).await?;
    let units = units.unwrap_or_default();
    let answer = answer(latest, &units, units.len().saturating_sub(1));
    Ok(look.with_unread(answer, unread))
}

/// What was said around a message of a session, in whichever of its transcripts it is.
pub(super) async fn around(
    look: &Look<'_>,
    named: &str,
    message: &str,
    limit: usize,
) -> Result<Value, String> {
    let (listed, unread) = look.named(named).await?;
    let before = u32::try_from(limit / 2).unwrap_or(u32::MAX);
    let count = u32::try_from(limit.div_ceil(2)).unwrap_or(u32::MAX);
    for one in &listed {
        let Some(session) = one.session_id.clone() else { continue };
        let (viewer, entry) = (look.viewer.clone(), message.to_owned());
        let found = look
            .recalled(move |memory| memory.recall().around_entry(&viewer, &session, &entry, before, count));
        if let Some(units) = found.await? {
            let matters = units.iter().position(|unit| unit.entry.as_deref() == Some(message));
            return Ok(look.with_unread(answer(one, &units, matters.unwrap_or(0)), unread));
        }
    }
    Err(format!("no message {message:?} can be seen in the session {named:?}"))
}

fn answer(listed: &Listed, units: &[Unit], matters: usize) -> Value {
    json!({
        "sessionKey": listed.session_key,
        "sessionId": listed.session_id,
        "messages": fitting(units, matters),
        "messagesInAll": listed.messages,
    })
}
