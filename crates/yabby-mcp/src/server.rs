//! One server: reached when it is needed, kept, and tried again when it is gone.

use std::sync::atomic::Ordering;
use std::sync::{self, Arc, PoisonError};
use std::time::Duration;

use rmcp::ServiceError;
use rmcp::model::{CallToolRequestParams, CallToolResult, PaginatedRequestParams, Tool};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};
use yabby_domain::json::Object;
use yabby_domain::text;
use yabby_domain::untrusted::fence;

use crate::connection::Connection;
use crate::settings::{CONNECT_TIME, ServerSettings};

/// A server that fails again and again is left alone for no longer than this.
const LONGEST_REST: Duration = Duration::from_secs(300);

/// How long somebody who asked before waits for news of the tools. What was known then serves as well, and a
/// request whose beginning stays the same is cheaper.
const PATIENCE: Duration = Duration::from_secs(1);

/// More tools of one server are not looked at: a list may have no end.
const MOST_TOOLS: usize = 200;

pub(crate) struct Server {
    settings: ServerSettings,
    /// Held while somebody connects, so that others wait for the same connection.
    state: Mutex<State>,
    /// What was known when somebody last asked; locked for a few lines, never while anything is waited for.
    offer: sync::Mutex<Offer>,
}

#[derive(Clone, Default)]
enum Offer {
    #[default]
    NotAsked,
    NeverReached,
    Tools(Arc<Vec<Tool>>),
}

#[derive(Default)]
struct State {
    connection: Option<Arc<Connection>>,
    tools: Arc<Vec<Tool>>,
    /// How often it failed in a row, and since when it is tried again.
    failures: u32,
    rests_until: Option<Instant>,
    last_trouble: String,
}

impl Server {
    pub(crate) fn new(settings: ServerSettings) -> Self {
        Self { settings, state: Mutex::default(), offer: sync::Mutex::default() }
    }

    pub(crate) fn name(&self) -> &str {
        &self.settings.name
    }

    /// The tools that a turn is told of. Nobody waits for a silent server twice: one that was there is still
    /// offered, and a call finds out.
    pub(crate) async fn offered(self: &Arc<Self>) -> Result<Arc<Vec<Tool>>, String> {
        let server = self.clone();
        let asking = tokio::spawn(async move { server.tools().await });
        let before = self.offer().clone();
        let now = match before {
            Offer::NotAsked => asking.await.ok(),
            Offer::NeverReached | Offer::Tools(_) => {
                timeout(PATIENCE, asking).await.ok().and_then(Result::ok)
            }
        };
        let slow = || format!("The MCP server {} does not answer.", self.name());
        match (now.unwrap_or_else(|| Err(slow())), before) {
            (Ok(tools), _) => Ok(tools),
            (Err(_), Offer::Tools(tools)) => Ok(tools),
            (Err(why), Offer::NotAsked | Offer::NeverReached) => Err(why),
        }
    }

    fn offer(&self) -> sync::MutexGuard<'_, Offer> {
        self.offer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The tools that it has and that are used, by name.
    pub(crate) async fn tools(&self) -> Result<Arc<Vec<Tool>>, String> {
        let tools = self.present_tools().await;
        let mut offer = self.offer();
        match (&tools, &*offer) {
            (Ok(tools), _) => *offer = Offer::Tools(tools.clone()),
            (Err(_), Offer::NotAsked) => *offer = Offer::NeverReached,
            (Err(_), Offer::NeverReached | Offer::Tools(_)) => {}
        }
        tools
    }

    async fn present_tools(&self) -> Result<Arc<Vec<Tool>>, String> {
        let mut state = self.state.lock().await;
        let connection = self.connected(&mut state).await?;
        if connection.changed.swap(false, Ordering::Relaxed) {
            let slow = || Err(format!("The MCP server {} does not tell its tools.", self.name()));
            match timeout(CONNECT_TIME, self.list(&connection)).await.unwrap_or_else(|_| slow()) {
                Ok(tools) => state.tools = Arc::new(tools),
                Err(why) => {
                    connection.changed.store(true, Ordering::Relaxed);
                    return Err(why);
                }
            }
        }
        Ok(state.tools.clone())
    }

    /// Calls a tool.
    pub(crate) async fn call(&self, tool: &str, arguments: &Object) -> Result<CallToolResult, String> {
        let name = self.name();
        let connection = {
            let mut state = self.state.lock().await;
            self.connected(&mut state).await?
        };
        let call = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments.clone());
        // Whoever stops waiting says so to the server.
        match timeout(self.settings.call_time, connection.running.call_tool(call)).await {
            Ok(Ok(result)) => Ok(result),
            Ok(Err(ServiceError::McpError(error))) => {
                let words = fence(&format!("the MCP server {name}"), &text::head(&error.message, 4000));
                Err(format!("The call was refused (code {}). {words}", error.code.0))
            }
            Ok(Err(
                ServiceError::TransportClosed
                | ServiceError::Cancelled { .. }
                | ServiceError::TransportSend(_),
            )) => {
                self.forget(&connection).await;
                Err(format!(
                    "The MCP server {name} ended during the call, which may have been done or not; it is started again when it is next needed."
                ))
            }
            Ok(Err(error)) => Err(format!("The MCP server {name} did not keep to the protocol: {error}.")),
            Err(_) => Err(format!(
                "The MCP server {name} did not answer within {} seconds, and was told that nobody waits any more.",
                self.settings.call_time.as_secs()
            )),
        }
    }

    async fn forget(&self, connection: &Arc<Connection>) {
        let mut state = self.state.lock().await;
        if state.connection.as_ref().is_some_and(|known| Arc::ptr_eq(known, connection)) {
            state.connection = None;
        }
    }

    /// The connection that there is, or a new one.
    async fn connected(&self, state: &mut State) -> Result<Arc<Connection>, String> {
        if let Some(connection) = state.connection.take_if(|connection| connection.is_gone()) {
            // Its children end with it.
            drop(connection);
        }
        if let Some(connection) = &state.connection {
            return Ok(connection.clone());
        }
        let name = self.name();
        if let Some(until) = state.rests_until.filter(|until| *until > Instant::now()) {
            let seconds = until.duration_since(Instant::now()).as_secs() + 1;
            return Err(format!(
                "The MCP server {name} is not there ({}); it is tried again in {seconds} seconds.",
                state.last_trouble
            ));
        }
        let opening = async {
            let connection = Connection::open(&self.settings.way).await?;
            let tools = self.list(&connection).await?;
            Ok((connection, tools))
        };
        let slow = || format!("it was not ready within {} seconds", CONNECT_TIME.as_secs());
        match timeout(CONNECT_TIME, opening).await.unwrap_or_else(|_| Err(slow())) {
            Ok((connection, tools)) => {
                let connection = Arc::new(connection);
                *state = State {
                    connection: Some(connection.clone()),
                    tools: Arc::new(tools),
                    ..State::default()
                };
                Ok(connection)
            }
            Err(trouble) => {
                let trouble = text::head(trouble.trim_end_matches('.'), 500).into_owned();
                let rest = Duration::from_secs(1 << state.failures.min(9)).min(LONGEST_REST);
                state.failures += 1;
                state.rests_until = Some(Instant::now() + rest);
                state.last_trouble.clone_from(&trouble);
                Err(format!("The MCP server {name} is not there: {trouble}."))
            }
        }
    }

    async fn list(&self, connection: &Connection) -> Result<Vec<Tool>, String> {
        let mut tools: Vec<Tool> = Vec::new();
        let mut cursor = None;
        loop {
            let mut asked = PaginatedRequestParams::default();
            asked.cursor = cursor;
            let page = connection.running.list_tools(Some(asked)).await.map_err(|error| error.to_string())?;
            let is_empty = page.tools.is_empty();
            tools.extend(page.tools.into_iter().filter(|tool| self.settings.uses(&tool.name)));
            cursor = page.next_cursor;
            if cursor.is_none() || is_empty || tools.len() >= MOST_TOOLS {
                break;
            }
        }
        tools.truncate(MOST_TOOLS);
        // The order never changes, for providers cache the beginning of a request.
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        tools.dedup_by(|a, b| a.name == b.name);
        Ok(tools)
    }
}
