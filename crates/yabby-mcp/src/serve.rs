//! Our own server: what an agent remembers, for other programs.
//!
//! It only reads. What is seen is decided by the memory's [`Viewer`] and nowhere here. The index is opened
//! when somebody first asks, so that a program that starts us need not wait.

mod answer;
mod arguments;
mod conversations;
mod http;
mod memory_get;
mod memory_search;
mod notes;
mod sessions_history;
mod sessions_list;
mod sessions_search;

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, Implementation, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities,
    ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::{RequestContext, ServerInitializeError};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt as _};
use serde_json::Value;
use tokio::sync::OnceCell;
use yabby_domain::config::Config;
use yabby_domain::json::Object;
use yabby_domain::seam::SessionStore;
use yabby_domain::session::key::SessionKey;
use yabby_memory::audience::{Audience, Viewer};
use yabby_memory::memory::Memory;
use yabby_memory::upkeep::Upkeep;

use self::arguments::Arguments;
pub use self::http::{HttpServer, PATH};

const INSTRUCTIONS: &str = "What a yabby agent remembers: its notes and everything that was said to it. \
    memory_search finds what answers a question, sessions_search finds every message with certain words; \
    memory_get and sessions_history show more around a result. Nothing can be changed.";

/// What is shown.
pub struct Opened {
    pub memory: Memory,
    pub sessions: Arc<dyn SessionStore>,
    pub config: Arc<Config>,
    /// What keeps it up with its files; without it each question looks at all of them.
    pub upkeep: Option<Upkeep>,
}

/// Opens it, or says why it cannot be opened. May take its time.
pub type Open = Box<dyn Fn() -> Result<Opened, String> + Send + Sync>;

/// To whom it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShownTo {
    /// The owner, who started us on their own machine.
    Owner,
    /// Whoever reads along in a session, and nobody more.
    Session(SessionKey),
}

/// A server of what an agent remembers. Copies are the same.
#[derive(Clone)]
pub struct MemoryServer(Arc<Inner>);

struct Inner {
    open: Arc<Open>,
    opened: OnceCell<Opened>,
    shown_to: ShownTo,
}

/// One look at the memory, and who looks.
struct Look<'s> {
    opened: &'s Opened,
    viewer: Viewer,
}

impl MemoryServer {
    pub fn new(open: Open, shown_to: ShownTo) -> Self {
        Self(Arc::new(Inner { open: Arc::new(open), opened: OnceCell::new(), shown_to }))
    }

    /// Serves whoever started us, until they close our standard input.
    pub async fn run_stdio(self) -> Result<(), String> {
        let running = match self.serve(rmcp::transport::stdio()).await {
            Ok(running) => running,
            // Nobody said a word.
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(format!("the other side does not keep to the protocol: {error}")),
        };
        running.waiting().await.map(|_| ()).map_err(|error| error.to_string())
    }

    async fn look(&self) -> Result<Look<'_>, String> {
        let opened = self.0.opened.get_or_try_init(|| async {
            let open = self.0.open.clone();
            let opened = tokio::task::spawn_blocking(move || open()).await;
            opened.unwrap_or_else(|_| Err("the memory could not be opened".to_owned()))
        });
        let opened = opened.await?;
        Ok(Look { viewer: self.viewer(opened).await?, opened })
    }

    /// Asked again each time: a session may become a group's, or go.
    async fn viewer(&self, opened: &Opened) -> Result<Viewer, String> {
        let key = match &self.0.shown_to {
            ShownTo::Owner => return Ok(Viewer::owner_with(&opened.config)),
            ShownTo::Session(key) => key,
        };
        // A key alone does not always tell a group from the owner.
        let record = opened.sessions.get(key).await.map_err(|error| error.to_string())?;
        if record.is_none() {
            return Err(format!(
                "the session {key}, for which this server was started, is not there any more"
            ));
        }
        let seen_by = async |is_owner_alone: bool| {
            opened.memory.viewer(key, is_owner_alone).await.map_err(|error| error.to_string())
        };
        let others = seen_by(false).await?;
        if others.audience == Audience::Owner { seen_by(true).await } else { Ok(others) }
    }

    /// What a tool answers; an error is for whoever called it.
    async fn called(&self, tool: CallTool, arguments: &Object) -> Result<Value, String> {
        let look = self.look().await?;
        let arguments = Arguments(arguments);
        match tool {
            CallTool::MemorySearch => memory_search::call(&look, arguments).await,
            CallTool::MemoryGet => memory_get::call(&look, arguments).await,
            CallTool::SessionsList => sessions_list::call(&look, arguments).await,
            CallTool::SessionsHistory => sessions_history::call(&look, arguments).await,
            CallTool::SessionsSearch => sessions_search::call(&look, arguments).await,
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum CallTool {
    MemorySearch,
    MemoryGet,
    SessionsList,
    SessionsHistory,
    SessionsSearch,
}

impl CallTool {
    const ALL: [Self; 5] = [
        Self::MemorySearch,
        Self::MemoryGet,
        Self::SessionsList,
        Self::SessionsHistory,
        Self::SessionsSearch,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::MemorySearch => "memory_search",
            Self::MemoryGet => "memory_get",
            Self::SessionsList => "sessions_list",
            Self::SessionsHistory => "sessions_history",
            Self::SessionsSearch => "sessions_search",
        }
    }

    fn spec(self) -> Tool {
        let (title, description, schema) = match self {
            Self::MemorySearch => memory_search::spec(),
            Self::MemoryGet => memory_get::spec(),
            Self::SessionsList => sessions_list::spec(),
            Self::SessionsHistory => sessions_history::spec(),
            Self::SessionsSearch => sessions_search::spec(),
        };
        let schema = schema.as_object().cloned().unwrap_or_default();
        let only_reads = ToolAnnotations::with_title(title).read_only(true).open_world(false);
        Tool::new(self.name(), description, schema).with_annotations(only_reads)
    }
}

/// The title, the description and the schema of a tool.
type Spec = (&'static str, &'static str, Value);

impl ServerHandler for MemoryServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_resources().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("yabby", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(CallTool::ALL.map(CallTool::spec).to_vec()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = CallTool::ALL.into_iter().find(|tool| tool.name() == request.name) else {
            return Err(ErrorData::invalid_params(format!("there is no tool {:?}", request.name), None));
        };
        let arguments = request.arguments.unwrap_or_default();
        Ok(answer::answer(self.called(tool, &arguments).await).into())
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let look = self.look().await.map_err(unopened)?;
        Ok(ListResourcesResult::with_all_items(notes::list(&look).await?))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let look = self.look().await.map_err(unopened)?;
        Ok(notes::read(&look, &request.uri).await?.into())
    }
}

fn unopened(why: String) -> ErrorData {
    ErrorData::internal_error(why, None)
}
