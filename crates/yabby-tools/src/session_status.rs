//! `session_status`: how the session is, as `/status` tells it.

use async_trait::async_trait;
use serde_json::json;
use yabby_domain::json::Object;
use yabby_domain::seam::tool::{Effect, Tool, ToolContext, ToolOutput, ToolSpec};

pub(crate) struct ShowStatus;

#[async_trait]
impl Tool for ShowStatus {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "session_status".to_owned(),
            description:
                "Show how this session is: model, how full its context is, compactions, settings, queue."
                    .to_owned(),
            parameters: json!({"type": "object", "properties": {}}),
        }
    }

    fn effect(&self) -> Effect {
        Effect::None
    }

    async fn call(&self, _: &Object, context: &ToolContext) -> ToolOutput {
        ToolOutput::text(&context.status.text())
    }
}
