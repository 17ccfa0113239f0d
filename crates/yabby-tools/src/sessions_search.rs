//! `sessions_search`: every message with certain words, and the conversation around it (`memory.md` §16).

use async_trait::async_trait;
use serde_json::json;
use yabby_domain::json::{self, Object, Value};
use yabby_domain::seam::tool::{Company, Effect, Tool, ToolContext, ToolOutput, ToolSpec};
use yabby_memory::memory::{Memory, MemoryError};
use yabby_memory::recall::{Filter, Wanted};
use yabby_memory::shown;
use yabby_memory::unit::Role;

use crate::arguments::Arguments;

const DEFAULT_RESULTS: usize = 10;
const MAX_RESULTS: usize = 50;
/// How much of the conversation is shown around a message.
const AROUND: u32 = 6;

pub(crate) struct SessionsSearch {
    pub(crate) memory: Memory,
}

#[async_trait]
impl Tool for SessionsSearch {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "sessions_search".to_owned(),
            description:
                "Find every message with certain words in your conversations, the latest first: all \
                words must occur, \"quoted words\" as they stand. With sessionId + messageId of a result \
                instead of a query: what was said around it."
                    .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "query": {"type": "string"},
                    "sessionKey": {"type": "string", "description": "Only this conversation"},
                    "role": {"type": "string", "enum": ["user", "assistant"]},
                    "limit": {"type": "number"},
                    "sessionId": {"type": "string"},
                    "messageId": {"type": "string"},
                },
            }),
        }
    }

    fn effect(&self) -> Effect {
        Effect::None
    }

    async fn call(&self, arguments: &Object, context: &ToolContext) -> ToolOutput {
        let arguments = Arguments(arguments);
        let text = |name: &str| arguments.text(name).map(str::to_owned);
        let done = match (text("sessionId"), text("messageId"), text("query")) {
            (Some(session), Some(message), _) => self.around(session, message, context).await,
            (_, _, Some(query)) if !query.trim().is_empty() => {
                self.messages(query, &arguments, context).await
            }
            _ => return ToolOutput::error("query required, or sessionId and messageId of a message"),
        };
        match done {
            Ok(payload) => {
                let text = json::stringify_pretty(&payload);
                ToolOutput { details: Some(payload), ..ToolOutput::text(&text) }
            }
            Err(problem) => ToolOutput::error(&problem),
        }
    }
}

impl SessionsSearch {
    async fn messages(
        &self,
        query: String,
        arguments: &Arguments<'_>,
        context: &ToolContext,
    ) -> Result<Value, String> {
        let viewer = self.viewer(context).await?;
        let wanted = Wanted {
            words: query,
            viewer,
            filter: Filter {
                session_key: arguments.text("sessionKey").map(str::to_owned),
                kind: Some("sessions".to_owned()),
                current_session: Some(context.session_id.clone()),
                ..Filter::default()
            },
            role: match arguments.text("role") {
                Some("user") => Some(Role::User),
                Some("assistant") => Some(Role::Assistant),
                _ => None,
            },
            since: None,
            until: None,
            most: arguments.count("limit", 1).unwrap_or(DEFAULT_RESULTS).min(MAX_RESULTS),
            skip: 0,
        };
        let (messages, unread) = self.memory.messages(wanted).await.map_err(told)?;
        let mut payload = json!({"results": messages.iter().map(shown::message).collect::<Vec<_>>()});
        if !unread.is_empty() {
            payload["unread"] = unread.into();
        }
        Ok(payload)
    }

    async fn around(&self, session: String, entry: String, context: &ToolContext) -> Result<Value, String> {
        let viewer = self.viewer(context).await?;
        let (id, wanted) = (session.clone(), entry.clone());
        let found = self
            .memory
            .blocking(move |memory| memory.recall().around_entry(&viewer, &id, &wanted, AROUND, AROUND + 1))
            .await
            .map_err(told)?;
        match found {
            Some(units) => Ok(
                json!({"sessionId": session, "messages": units.iter().map(shown::said).collect::<Vec<_>>()}),
            ),
            None => Err(format!("no message {entry:?} in a session {session:?} that can be seen from here")),
        }
    }

    async fn viewer(&self, context: &ToolContext) -> Result<yabby_memory::audience::Viewer, String> {
        let is_owner_alone = context.company == Company::OwnerAlone && context.sender_is_owner;
        self.memory.viewer(&context.session_key, is_owner_alone).await.map_err(told)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn told(error: MemoryError) -> String {
    error.to_string()
}
