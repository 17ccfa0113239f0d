//! `sessions_search`: every message with certain words, and the conversation around one.

use serde_json::{Value, json};
use yabby_memory::recall::{Filter, Wanted};
use yabby_memory::shown;
use yabby_memory::unit::Role;

use super::arguments::Arguments;
use super::conversations::shortened;
use super::{Look, Spec, sessions_history};

const USUAL: usize = 10;
const MOST: usize = 50;
/// How much of the conversation is shown with a message.
const AROUND: usize = 13;

pub(super) fn spec() -> Spec {
    (
        "Search conversations for words",
        "Find every message with certain words, the latest first: all words must occur, \"quoted words\" as \
         they stand. With sessionId and messageId of a result instead of a query: what was said around it.",
        json!({
            "type": "object",
            "properties": {
                "query": {"type": "string"},
                "limit": {"type": "number", "description": "Max results (default 10)"},
                "sessionKey": {"type": "string", "description": "Only this conversation"},
                "role": {"type": "string", "enum": ["user", "assistant"], "description": "Only what people said, or what the agent said"},
                "sessionId": {"type": "string"},
                "messageId": {"type": "string"},
            },
        }),
    )
}

pub(super) async fn call(look: &Look<'_>, arguments: Arguments<'_>) -> Result<Value, String> {
    look.ensure_conversations()?;
    let session = arguments.text("sessionId")?.or(arguments.text("sessionKey")?);
    match (arguments.text("query")?, session, arguments.text("messageId")?) {
        (_, Some(session), Some(message)) => sessions_history::around(look, session, message, AROUND).await,
        (Some(query), _, None) => messages(look, query, arguments).await,
        (Some(_), None, Some(_)) | (None, _, _) => {
            Err("query is required, or sessionId and messageId of a message".to_owned())
        }
    }
}

async fn messages(look: &Look<'_>, query: &str, arguments: Arguments<'_>) -> Result<Value, String> {
    let wanted = Wanted {
        words: query.to_owned(),
        viewer: look.viewer.clone(),
        filter: Filter {
            session_key: arguments.text("sessionKey")?.map(|named| look.key(named)),
            kind: Some("sessions".to_owned()),
            ..Filter::default()
        },
        role: match arguments.text("role")? {
            None => None,
            Some("user") => Some(Role::User),
            Some("assistant") => Some(Role::Assistant),
            Some(_) => return Err("role has to be user or assistant".to_owned()),
        },
        since: None,
        until: None,
        most: arguments.count("limit", USUAL, MOST)?,
        skip: 0,
    };
    let found = look.opened.memory.messages(wanted).await;
    let (messages, unread) = found.map_err(|error| error.to_string())?;
    let results: Vec<Value> = messages.iter().map(shown::message).map(shortened).collect();
    Ok(look.with_unread(json!({"results": results}), unread))
}
