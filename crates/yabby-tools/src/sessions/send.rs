//! `sessions_send`: says something in another session, and waits for the answer.

use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use yabby_domain::id::AgentId;
use yabby_domain::json::Object;
use yabby_domain::seam::office::Told;
use yabby_domain::seam::tool::{Effect, Tool, ToolContext, ToolOutput, ToolSpec};
use yabby_domain::text;

use super::{NotSeen, Seen, agents, as_json, find, may_talk, shown, sight, told};
use crate::arguments::Arguments;

pub(crate) struct SessionsSend;

const USUAL_WAIT: usize = 30;
const LONGEST_WAIT: usize = 600;

#[async_trait]
impl Tool for SessionsSend {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "sessions_send".to_owned(),
            description: "Say something in another session, named by key or label, and get its answer. timeoutSeconds 0 does not wait."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "sessionKey": {"type": "string"},
                    "label": {"type": "string"},
                    "agentId": {"type": "string", "description": "Whose session the label names"},
                    "message": {"type": "string"},
                    "timeoutSeconds": {"type": "number", "minimum": 0},
                },
                "required": ["message"],
            }),
        }
    }

    fn effect(&self) -> Effect {
        Effect::Lasting
    }

    async fn call(&self, arguments: &Object, context: &ToolContext) -> ToolOutput {
        let arguments = Arguments(arguments);
        let message = match arguments.required("message") {
            Ok(message) => message,
            Err(missing) => return ToolOutput::error(&missing),
        };
        let seen = match target(arguments, context).await {
            Ok(seen) => seen,
            Err(not) => return not.output(json!({})),
        };
        let wait = arguments.count("timeoutSeconds", 0).unwrap_or(USUAL_WAIT).min(LONGEST_WAIT);
        let told = context.office.tell(&seen.key, message, Duration::from_secs(wait as u64)).await;
        let mut answer = match told {
            Ok(Told::Answered { run, reply }) => json!({"runId": run, "status": "ok", "reply": reply}),
            Ok(Told::Accepted { run }) => json!({"runId": run, "status": "accepted"}),
            Ok(Told::TimedOut { run }) => json!({
                "runId": run,
                "status": "timeout",
                "error": format!("No answer within {wait} seconds; it goes on, and sessions_history will show it."),
            }),
            Ok(Told::Failed { run, error }) => json!({"runId": run, "status": "error", "error": error}),
            Err(why) => json!({"status": "error", "error": why}),
        };
        answer["sessionKey"] = shown(&context.config, &seen.key).into();
        let is_error = matches!(answer.get("status").and_then(Value::as_str), Some("error"));
        ToolOutput { is_error, ..as_json(&answer) }
    }
}

async fn target(arguments: Arguments<'_>, context: &ToolContext) -> Result<Seen, NotSeen> {
    let given = |name: &str| arguments.text(name).and_then(text::non_blank);
    match (given("sessionKey"), given("label")) {
        (Some(_), Some(_)) => Err(NotSeen::error("Provide either sessionKey or label (not both).")),
        (Some(key), None) => find(context, key).await,
        (None, Some(label)) => labelled(context, label, given("agentId").map(AgentId::normalize)).await,
        (None, None) => Err(NotSeen::error("Either sessionKey or label is required")),
    }
}

async fn labelled(context: &ToolContext, label: &str, agent: Option<AgentId>) -> Result<Seen, NotSeen> {
    if let Some(agent) = &agent {
        may_talk(&context.config, &context.agent, agent)?;
    }
    let sight = sight(context);
    let agents = agent.map_or_else(|| agents(context), |agent| vec![agent]);
    let mut found = Vec::new();
    for agent in agents {
        let Ok(conversations) = context.office.conversations(&agent) else { continue };
        for (key, entry) in conversations.sessions.list().await.map_err(told)? {
            if entry.label() == Some(label) && sight.shows(context, &key, &entry) {
                found.push(Seen { key, entry, conversations: conversations.clone() });
            }
        }
    }
    match found.len() {
        0 => Err(NotSeen::error(format!("No session found with label: {label}"))),
        1 => Ok(found.remove(0)),
        count => Err(NotSeen::error(format!("{count} sessions have the label {label}; use the key of one."))),
    }
}
