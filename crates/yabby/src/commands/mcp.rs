//! `yabby mcp`: a server of the Model Context Protocol for what an agent remembers.

use std::sync::Arc;

use anyhow::{Context as _, Result, anyhow, bail};
use clap::Args;
use uuid::Uuid;
use yabby_domain::id::AgentId;
use yabby_domain::session::key::default_agent;
use yabby_domain::text;
use yabby_mcp::serve::{HttpServer, MemoryServer, Open, Opened, PATH, ShownTo};

use crate::book::Book;
use crate::failure;
use crate::setting::Setting;
use crate::wire::memory::AgentMemory;

/// The variable that may hold the token.
const TOKEN: &str = "YABBY_MCP_TOKEN";

#[derive(Args)]
pub struct Arguments {
    /// Whose memory it is [default: the default agent's]
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// Show what may be seen in this session and nothing else [default: what the owner may see]
    #[arg(long = "as", value_name = "SESSION")]
    seen_from: Option<String>,
    /// Listen on this machine, over HTTP, instead of standard input and output
    #[arg(long)]
    http: bool,
    /// The port to listen on; 0 takes any that is free
    #[arg(long, value_name = "PORT", requires = "http", default_value_t = 18797)]
    port: u16,
    /// What callers have to know [default: $YABBY_MCP_TOKEN, else a new one, which is told]
    #[arg(long, value_name = "TOKEN", requires = "http")]
    token: Option<String>,
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    let book = Book::open(setting)?;
    let (agent, shown_to) = whose(&book, arguments)?;
    let server = MemoryServer::new(opening(setting, &book, &agent), shown_to);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let done = runtime.block_on(async {
        match arguments.http {
            true => over_http(setting, arguments, server, &agent).await,
            false => server.run_stdio().await.map_err(|error| anyhow!(error)),
        }
    });
    // Nothing was written that would have to be waited for.
    runtime.shutdown_background();
    done
}

/// Whose memory is shown, and to whom. A session has to be there: a key that nobody knows would be taken for
/// the owner's.
fn whose(book: &Book<'_>, arguments: &Arguments) -> Result<(AgentId, ShownTo)> {
    let agent = arguments.agent.as_deref().map(|named| book.agent(named)).transpose()?;
    match &arguments.seen_from {
        None => Ok((agent.unwrap_or_else(|| default_agent(book.config())), ShownTo::Owner)),
        Some(wanted) => {
            let found = book.find(wanted, agent.as_ref())?;
            if let Some(agent) = agent.filter(|agent| *agent != found.agent) {
                bail!("the session {} is not one of the agent {agent}, but of {}", found.key, found.agent);
            }
            Ok((found.agent, ShownTo::Session(found.key)))
        }
    }
}

fn opening(setting: &Setting, book: &Book<'_>, agent: &AgentId) -> Open {
    let (place, config, agent) = (setting.place.clone(), Arc::new(book.config().clone()), agent.clone());
    Box::new(move || {
        let opened = AgentMemory::open(&place, &config, &agent).map_err(|error| failure::told(&error))?;
        let opened = opened.ok_or_else(|| {
            format!("the memory of the agent {agent} is switched off: memorySearch.enabled is false")
        })?;
        // The server stays for as long as its caller.
        let upkeep = Some(opened.upkeep());
        Ok(Opened { memory: opened.memory, sessions: opened.sessions, config: config.clone(), upkeep })
    })
}

async fn over_http(
    setting: &Setting,
    arguments: &Arguments,
    server: MemoryServer,
    agent: &AgentId,
) -> Result<()> {
    let given = arguments.token.as_deref().or_else(|| setting.place.environment.get(TOKEN));
    let token = match given.map(text::non_blank) {
        Some(Some(token)) => token.to_owned(),
        Some(None) => bail!("the token is blank; leave it out to have one made"),
        // Random enough for nobody to guess.
        None => format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple()),
    };
    let listening = HttpServer::bind(server, arguments.port, &token).await;
    let listening = listening.with_context(|| {
        format!("cannot listen on port {} of this machine; --port takes another one", arguments.port)
    })?;
    anstream::eprintln!("What {agent} remembers is at http://{}{PATH}", listening.address());
    if given.is_none() {
        anstream::eprintln!("Token, told this once: {token}");
    }
    tokio::select! {
        ended = listening.run() => Ok(ended?),
        asked = tokio::signal::ctrl_c() => Ok(asked?),
    }
}
