//! What the agent can do.
//!
//! Each tool is a file of its own and a line in [`all`]. File tools see the disk through `workspace.rs`
//! only, which nothing leads out of; commands run under a keeper (`commands.rs`).

mod arguments;
mod commands;
mod edit;
mod exec;
mod find;
mod grep;
mod ignored;
mod image;
mod list_files;
mod locked_file;
mod memory_get;
mod memory_search;
mod message;
pub mod notes;
mod picture;
mod places;
mod process;
mod read;
mod session_status;
mod sessions;
mod sessions_search;
mod walk;
mod web_cache;
pub mod web_client;
mod web_fetch;
mod web_page;
mod web_search;
mod workspace;
mod write;

use std::sync::Arc;

use yabby_domain::config::Config;
pub use yabby_domain::seam::office::Conversations;
use yabby_domain::seam::tool::{Tool, ToolOutput};
use yabby_memory::memory::Memory;

use crate::web_client::{SystemLookup, Web};

pub use commands::job::KEEP_COMMAND;
pub use commands::keeper::keep_command;
pub use commands::umask::keep_files_private;
pub use exec::{Leash, SkillVariables};
pub use web_fetch::web_fetch;
pub use web_search::{Ask, web_search};

/// The tools of one agent. Their order never changes: providers cache the beginning of a request.
/// An agent without a memory has no tools for it.
pub fn all(conversations: Conversations, leash: Leash, memory: Option<&Memory>) -> Vec<Arc<dyn Tool>> {
    let readable = || leash.readable.clone();
    let mut tools: Vec<Arc<dyn Tool>> = vec![
        Arc::new(read::Read { readable: readable() }),
        Arc::new(list_files::ListFiles { readable: readable() }),
        Arc::new(write::Write),
        Arc::new(edit::Edit),
        Arc::new(grep::Grep { readable: readable() }),
        Arc::new(find::Find { readable: readable() }),
        Arc::new(exec::Exec { leash: leash.clone(), sessions: conversations.sessions.clone() }),
        Arc::new(process::Process { leash: leash.clone() }),
        Arc::new(image::Image { readable: readable() }),
    ];
    if let Some(memory) = memory {
        tools.push(Arc::new(memory_search::MemorySearch { memory: memory.clone() }));
        tools.push(Arc::new(memory_get::MemoryGet { memory: memory.clone() }));
        tools.push(Arc::new(sessions_search::SessionsSearch { memory: memory.clone() }));
    }
    let others: [Arc<dyn Tool>; 6] = [
        Arc::new(message::Message { readable: readable() }),
        Arc::new(sessions::list::SessionsList),
        Arc::new(sessions::history::SessionsHistory),
        Arc::new(sessions::send::SessionsSend),
        Arc::new(sessions::spawn::SessionsSpawn),
        Arc::new(session_status::ShowStatus),
    ];
    tools.extend(others);
    tools
}

/// The tools that reach the web, as far as the configuration wants them; `variable` looks up keys in the
/// environment. All agents share them, and what they remember.
pub fn web(
    config: &Config,
    variable: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
) -> Vec<Arc<dyn Tool>> {
    let search = web_search(config, Ask::real(variable));
    let fetch = web_fetch(config, Arc::new(Web::new(Arc::new(SystemLookup))));
    search.into_iter().chain(fetch).collect()
}

/// Runs work that waits for a disk where it holds nobody up.
async fn blocking(work: impl FnOnce() -> Result<ToolOutput, String> + Send + 'static) -> ToolOutput {
    found(work).await.unwrap_or_else(|problem| ToolOutput::error(&problem))
}

/// The same for work that finds something.
async fn found<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let broke_off = |_| Err("the tool broke off in the middle; its work may be half done".to_owned());
    tokio::task::spawn_blocking(work).await.unwrap_or_else(broke_off)
}
