//! A server that is there: a program with everything that it started, or a session somewhere else.

use std::error::Error;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

#[cfg(windows)]
use process_wrap::tokio::JobObject;
#[cfg(unix)]
use process_wrap::tokio::ProcessGroup;
use process_wrap::tokio::{ChildWrapper, CommandWrap};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use rmcp::model::{ClientCapabilities, ClientConfig, Implementation};
use rmcp::service::{ClientInitializeError, NotificationContext, RunningService, serve_client};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientHandler, RoleClient};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use yabby_domain::text;

use crate::settings::Way;

/// How long a program that fails may take to say why.
const FAREWELL: Duration = Duration::from_millis(500);

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
                let running = match serve_client(client, (started.stdout, started.stdin)).await {
                    Ok(running) => running,
                    Err(error) => {
                        let _ = started.group.0.start_kill();
                        // It often says itself what is wrong, and perhaps a moment later.
                        let last = timeout(FAREWELL, started.last_words).await.ok().and_then(Result::ok);
                        let what = what_is_wrong(&error, "it ended before it was ready");
                        return Err(match last.as_deref().and_then(text::non_blank) {
                            Some(last) => format!("{what}; it said: {last}"),
                            None => what,
                        });
                    }
                };
                Ok(Self { running, changed, _group: Some(started.group) })
            }
            Way::Address { url, headers } => {
                let transport = transport(url, headers)?;
                let running = serve_client(client, transport).await;
                let running = running.map_err(|error| what_is_wrong(&error, "it does not answer"))?;
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
    /// The last line that it says about itself.
    last_words: JoinHandle<String>,
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
        let stderr = group.0.stderr().take();
        let last_words = tokio::spawn(async move {
            match stderr {
                Some(stderr) => hear_out(stderr).await,
                None => String::new(),
            }
        });
        Ok(Self { group, stdin, stdout, last_words })
    }
}

/// Listens to what a program says about itself, so that it can go on; the last line of it is kept.
async fn hear_out(mut stderr: impl AsyncRead + Unpin) -> String {
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
    }
    text::lossy(&kept).trim().lines().next_back().unwrap_or_default().trim().to_owned()
}

/// Why a server is not there, without the names of our types.
fn what_is_wrong(error: &ClientInitializeError, gone: &str) -> String {
    match error {
        ClientInitializeError::ConnectionClosed(_) => gone.to_owned(),
        ClientInitializeError::TransportError { error, .. } => {
            let mut cause: &dyn Error = error.error.as_ref();
            while let Some(deeper) = cause.source() {
                cause = deeper;
            }
            format!("{gone} ({cause})")
        }
        ClientInitializeError::JsonRpcError(error) => format!("it refuses: {}", error.message),
        other => format!("it does not keep to the protocol: {other}"),
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
