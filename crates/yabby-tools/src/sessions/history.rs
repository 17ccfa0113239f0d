//! `sessions_history`: what was said in a session.

use async_trait::async_trait;
use serde_json::json;
use yabby_domain::json::Object;
use yabby_domain::seam::tool::{Effect, Tool, ToolContext, ToolOutput, ToolSpec};

use super::{find, messages, overheard, shown};
use crate::arguments::Arguments;

pub(crate) struct SessionsHistory;

const USUAL: usize = 50;
const MOST: usize = 200;

#[async_trait]
impl Tool for SessionsHistory {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "sessions_history".to_owned(),
            description: "Read the last messages of a session.".to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "sessionKey": {"type": "string", "description": "A key or sessionId from sessions_list"},
                    "limit": {"type": "number", "minimum": 1},
                    "includeTools": {"type": "boolean"},
                },
                "required": ["sessionKey"],
            }),
        }
    }

    fn effect(&self) -> Effect {
        Effect::None
    }

    async fn call(&self, arguments: &Object, context: &ToolContext) -> ToolOutput {
        let arguments = Arguments(arguments);
        let named = match arguments.required("sessionKey") {
            Ok(named) => named,
            Err(missing) => return ToolOutput::error(&missing),
        };
        let limit = arguments.count("limit", 1).unwrap_or(USUAL).min(MOST);
        let with_tools = arguments.flag("includeTools");
        let seen = match find(context, named).await {
            Ok(seen) => seen,
            Err(not) => return not.output(json!({})),
        };
        match messages(&seen, limit, with_tools).await {
            Ok(said) => {
                overheard(&json!({"sessionKey": shown(&context.config, &seen.key), "messages": said}))
            }
            Err(not) => not.output(json!({})),
        }
    }
}
