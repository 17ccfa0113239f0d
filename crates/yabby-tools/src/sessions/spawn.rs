//! `sessions_spawn`: gives a task to an agent of its own, which announces its result.

use std::time::Duration;

use async_trait::async_trait;
use serde_json::json;
use yabby_domain::id::AgentId;
use yabby_domain::json::Object;
use yabby_domain::seam::office::Task;
use yabby_domain::seam::tool::{Effect, Tool, ToolContext, ToolOutput, ToolSpec};
use yabby_domain::text;

use super::as_json;
use crate::arguments::Arguments;

pub(crate) struct SessionsSpawn;

#[async_trait]
impl Tool for SessionsSpawn {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "sessions_spawn".to_owned(),
            description:
                "Give a task to a sub-agent in a session of its own. Returns at once; the result is announced here when it is done."
                    .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "task": {"type": "string"},
                    "label": {"type": "string"},
                    "agentId": {"type": "string"},
                    "model": {"type": "string"},
                    "thinking": {"type": "string"},
                    "runTimeoutSeconds": {"type": "number", "minimum": 0},
                    "cleanup": {"type": "string", "enum": ["delete", "keep"]},
                },
                "required": ["task"],
            }),
        }
    }

    fn effect(&self) -> Effect {
        Effect::Lasting
    }

    async fn call(&self, arguments: &Object, context: &ToolContext) -> ToolOutput {
        let arguments = Arguments(arguments);
        let given = |name: &str| arguments.text(name).and_then(text::non_blank).map(str::to_owned);
        let words = match arguments.required("task") {
            Ok(words) => words.to_owned(),
            Err(missing) => return ToolOutput::error(&missing),
        };
        let limit = arguments.count("runTimeoutSeconds", 0).or_else(|| arguments.count("timeoutSeconds", 0));
        let task = Task {
            words,
            label: given("label"),
            agent: given("agentId").map(|agent| AgentId::normalize(&agent)),
            model: given("model"),
            thinking: given("thinking"),
            time_limit: limit
                .filter(|seconds| *seconds > 0)
                .map(|seconds| Duration::from_secs(seconds as u64)),
            delete_after: arguments.text("cleanup") == Some("delete"),
        };
        let has_model = task.model.is_some();
        match context.office.spawn(task).await {
            Ok(spawned) => {
                let mut answer = json!({
                    "status": "accepted",
                    "childSessionKey": spawned.session.as_str(),
                    "runId": spawned.run,
                });
                if has_model {
                    answer["modelApplied"] = spawned.warning.is_none().into();
                }
                if let Some(warning) = spawned.warning {
                    answer["warning"] = warning.into();
                }
                as_json(&answer)
            }
            Err(why) => {
                let status = if why.contains("not allowed") { "forbidden" } else { "error" };
                ToolOutput { is_error: true, ..as_json(&json!({"status": status, "error": why})) }
            }
        }
    }
}
