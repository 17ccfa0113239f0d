//! The Model Context Protocol, both sides: the tools of servers that the owner names in
//! `tools.mcp.servers`, and a server of our own for what an agent remembers ([`serve`]).
//!
//! A server of others is a program that we start, or one that runs somewhere already. It is reached when it is first
//! needed and kept; one that is gone is tried again at the next need, with longer and longer rests. What
//! it says is text of strangers, and it sees nothing of our environment.

mod connection;
mod names;
mod outcome;
pub mod serve;
mod server;
mod settings;
mod tool;

use std::sync::Arc;

use async_trait::async_trait;
use yabby_domain::config::Config;
use yabby_domain::seam::tool::{Tool, ToolSource};

use crate::names::Names;
use crate::server::Server;
use crate::settings::ServerSettings;
use crate::tool::McpTool;

/// All servers of a configuration.
pub struct McpServers {
    /// By name.
    servers: Vec<Arc<Server>>,
}

impl McpServers {
    /// `variable` looks a variable of our environment up, of which a server sees a few harmless ones.
    pub fn new(config: &Config, variable: impl Fn(&str) -> Option<String>) -> Self {
        let servers = ServerSettings::all(config, &variable);
        Self { servers: servers.into_iter().map(|settings| Arc::new(Server::new(settings))).collect() }
    }

    /// Whether there is any.
    pub fn is_empty(&self) -> bool {
        self.servers.is_empty()
    }

    /// What cannot be reached, and why, for people.
    pub async fn troubles(&self) -> Vec<(String, String)> {
        let mut troubles = Vec::new();
        for server in &self.servers {
            if let Err(why) = server.tools().await {
                troubles.push((server.name().to_owned(), why));
            }
        }
        troubles
    }
}

#[async_trait]
impl ToolSource for McpServers {
    async fn tools(&self) -> Vec<Arc<dyn Tool>> {
        // All at once: one that does not answer holds nobody up for longer than itself.
        let asked: Vec<_> = self
            .servers
            .iter()
            .map(|server| {
                let server = server.clone();
                tokio::spawn(async move { server.offered().await })
            })
            .collect();
        let mut names = Names::default();
        let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
        for (server, asked) in self.servers.iter().zip(asked) {
            match asked.await {
                Ok(Ok(offered)) => {
                    for tool in offered.iter() {
                        let name = names.name(server.name(), &tool.name);
                        tools.push(Arc::new(McpTool::new(server.clone(), name, tool)));
                    }
                }
                Ok(Err(why)) => tracing::warn!(server = server.name(), "{why}"),
                Err(_) => {}
            }
        }
        tools
    }
}
