//! A server that is there: a program with everything that it started, or a session somewhere else.

use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

#[cfg(windows)]
use process_wrap::tokio::JobObject;
#[cfg(unix)]
use process_wrap::tokio::ProcessGroup;
use process_wrap::tokio::{ChildWrapper, CommandWrap};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use rmcp::model::{ClientCapabilities, ClientConfig, Implementation};
use rmcp::service::{NotificationContext, RunningService, serve_client};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientHandler, RoleClient};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{ChildStdin, ChildStdout};
use yabby_domain::text;

use crate::settings::Way;

pub(crate) struct Connection {
    pub(crate) running: RunningService<RoleClient, Client>,
    /// The server has other tools than it had.
    pub(crate) changed: Arc<AtomicBool>,
    _group: Option<Group>,
}

/// A program with all of its children, which end with this.
struct Group(Box<dyn ChildWrapper>);

impl Drop for Group {
    fn drop(&mut self) {
        // It may have ended by itself, and its children not.
        let _ = self.0.start_kill();
    }
}

/// What a server hears from us: nothing but calls. It cannot ask our models, nor look at our files.
pub(crate) struct Client {
    changed: Arc<AtomicBool>,
}

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        let yabby = Implementation::new("yabby", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), yabby)
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changed.store(true, Ordering::Relaxed);
    }
}

impl Connection {
    pub(crate) async fn open(way: &Way) -> Result<Self, String> {
        let changed = Arc::new(AtomicBool::new(false));
        let client = Client { changed: changed.clone() };
        match way {
            Way::Program { .. } => {
                let mut started = Started::start(way)?;
                let served = serve_client(client, (started.stdout, started.stdin)).await;
                let running = served.map_err(|error| {
                    // It often says itself what is wrong.
                    let _ = started.group.0.start_kill();
                    let last = started.last_words.lock().unwrap_or_else(PoisonError::into_inner).clone();
                    match text::non_blank(&last) {
                        Some(last) => format!("{error}; it said: {last}"),
                        None => error.to_string(),
                    }
                })?;
                Ok(Self { running, changed, _group: Some(started.group) })
            }
            Way::Address { url, headers } => {
                let transport = transport(url, headers)?;
                let running = serve_client(client, transport).await.map_err(|error| error.to_string())?;
                Ok(Self { running, changed, _group: None })
            }
        }
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.running.is_closed() || self.running.is_transport_closed()
    }
}

struct Started {
    group: Group,
    stdin: ChildStdin,
    stdout: ChildStdout,
    last_words: Arc<Mutex<String>>,
}

impl Started {
    fn start(way: &Way) -> Result<Self, String> {
        let Way::Program { command, arguments, environment, folder } = way else {
            return Err("it is no program".to_owned());
        };
        let mut wrapped = CommandWrap::with_new(command, |program| {
            program.args(arguments).env_clear().envs(environment);
            program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            if let Some(folder) = folder {
                program.current_dir(folder);
            }
        });
        #[cfg(unix)]
        wrapped.wrap(ProcessGroup::leader());
        #[cfg(windows)]
        wrapped.wrap(JobObject);
        let started = wrapped.spawn();
        let mut group = Group(started.map_err(|error| format!("{command} cannot be started: {error}"))?);
        let (stdin, stdout) = (group.0.stdin().take(), group.0.stdout().take());
        let (Some(stdin), Some(stdout)) = (stdin, stdout) else {
            return Err(format!("{command} cannot be talked to"));
        };
        let last_words = Arc::new(Mutex::new(String::new()));
        if let Some(stderr) = group.0.stderr().take() {
            tokio::spawn(hear_out(stderr, last_words.clone()));
        }
        Ok(Self { group, stdin, stdout, last_words })
    }
}

/// Listens to what a program says about itself, so that it can go on, and keeps the end of it.
async fn hear_out(mut stderr: impl AsyncRead + Unpin, last_words: Arc<Mutex<String>>) {
    const KEPT: usize = 400;
    let mut buffer = vec![0; 4096];
    let mut kept: Vec<u8> = Vec::new();
    while let Ok(read) = stderr.read(&mut buffer).await {
        if read == 0 {
            break;
        }
        kept.extend_from_slice(&buffer[..read]);
        let from = kept.len().saturating_sub(KEPT);
        kept.drain(..from);
        let said = text::lossy(&kept);
        let line = said.trim().lines().next_back().unwrap_or_default().trim().to_owned();
        *last_words.lock().unwrap_or_else(PoisonError::into_inner) = line;
    }
}

fn transport(
    url: &str,
    headers: &std::collections::BTreeMap<String, String>,
) -> Result<StreamableHttpClientTransport<reqwest::Client>, String> {
    // Somebody else may have chosen one already, and then that is the one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut given = HeaderMap::new();
    for (name, value) in headers {
        let unfit = |_| format!("the header {name} cannot be sent");
        let mut value = HeaderValue::from_str(value).map_err(|_| unfit(()))?;
        value.set_sensitive(true);
        given.insert(name.parse::<HeaderName>().map_err(|_| unfit(()))?, value);
    }
    let builder = reqwest::Client::builder()
        .user_agent(concat!("yabby/", env!("CARGO_PKG_VERSION")))
        .default_headers(given)
        .pool_max_idle_per_host(0)
        // Headers may be secrets, which belong to one address.
        .redirect(reqwest::redirect::Policy::none());
    let host = url.split("://").nth(1).unwrap_or_default();
    let is_local = ["localhost", "127.", "[::1]"].iter().any(|local| host.starts_with(local));
    let builder = if is_local { builder.no_proxy() } else { builder };
    let client = builder.build().map_err(|error| error.to_string())?;
    Ok(StreamableHttpClientTransport::with_client(client, StreamableHttpClientTransportConfig::with_uri(url)))
}
