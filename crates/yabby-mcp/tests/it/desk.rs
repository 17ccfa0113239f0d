//! Somebody who uses the tools of servers.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use yabby_domain::config::Config;
use yabby_domain::seam::tool::{Tool, ToolContext, ToolOutput, ToolSource as _};
use yabby_mcp::McpServers;
use yabby_testkit::desk::owners_call;
use yabby_testkit::note_office::NoteOffice;

/// The server of the tests.
pub const STAND_IN: &str = env!("CARGO_BIN_EXE_mcp_stand_in");

pub struct Desk {
    pub servers: McpServers,
    context: ToolContext,
}

impl Desk {
    pub fn with(servers: Value) -> Self {
        let config = Config::new(json!({"tools": {"mcp": {"servers": servers}}}));
        let variable = |name: &str| match name {
            "ANTHROPIC_API_KEY" => Some("our-own-secret".to_owned()),
            name => std::env::var(name).ok(),
        };
        let context = owners_call(Arc::new(config.clone()), &NoteOffice::default(), PathBuf::new());
        Self { servers: McpServers::new(&config, variable), context }
    }

    /// With one server, the stand-in, called `s`.
    pub fn new() -> Self {
        Self::with(json!({"s": {"command": STAND_IN}}))
    }

    pub async fn names(&self) -> Vec<String> {
        self.servers.tools().await.iter().map(|tool| tool.spec().name).collect()
    }

    pub async fn tool(&self, name: &str) -> Arc<dyn Tool> {
        let tools = self.servers.tools().await;
        tools
            .into_iter()
            .find(|tool| tool.spec().name == name)
            .unwrap_or_else(|| panic!("{name} is not there"))
    }

    pub async fn use_tool(&self, tool: &Arc<dyn Tool>, arguments: Value) -> ToolOutput {
        tool.call(arguments.as_object().unwrap(), &self.context).await
    }

    pub async fn call(&self, name: &str, arguments: Value) -> ToolOutput {
        self.use_tool(&self.tool(name).await, arguments).await
    }

    /// What a call says inside its fence.
    pub async fn told(&self, name: &str) -> String {
        inside(&self.call(name, json!({})).await)
    }
}

pub fn words(output: &ToolOutput) -> String {
    output.blocks.iter().filter_map(|block| block["text"].as_str()).collect()
}

pub fn inside(output: &ToolOutput) -> String {
    let words = words(output);
    let (_, rest) = words.split_once("]]]\n").unwrap_or_else(|| panic!("not fenced: {words}"));
    rest.rsplit_once("\n[[[ END OF FENCED TEXT ]]]").unwrap().0.to_owned()
}
