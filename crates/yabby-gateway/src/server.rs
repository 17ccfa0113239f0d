//! Listening, and what goes on beside the connections.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;
use yabby_domain::config::Config;
use yabby_domain::seam::StoreError;

use crate::auth::SecretKind;
use crate::http::{self, Source};
use crate::hub::{Farewell, Weight};
use crate::tls::{self, TlsError};
use crate::{FOLDER, Gateway, HEALTH, Parts, RestartWish, TICK};
use crate::{asking, runs};

/// How long somebody may take to say what they want.
const REQUEST: Duration = Duration::from_secs(10);
/// How many may wait at the door. Whoever finds no room there tries again a second later.
const WAITING: u32 = 4096;
/// How long the last frames may take.
const GOODBYE: Duration = Duration::from_secs(3);

/// Why a gateway did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("cannot listen on {address}: {source}")]
    Listen { address: SocketAddr, source: std::io::Error },
    #[error(
        "Gateway auth is set to token, but no token is configured.\nSet gateway.auth.token (or OPENCLAW_GATEWAY_TOKEN), or pass --token."
    )]
    NoToken,
    #[error(
        "Gateway auth is set to password, but no password is configured.\nSet gateway.auth.password (or OPENCLAW_GATEWAY_PASSWORD), or pass --password."
    )]
    NoPassword,
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// A gateway that listens.
pub struct Listening {
    gateway: Arc<Gateway>,
    pub addresses: Vec<SocketAddr>,
}

/// Who wants us to start anew.
pub type Restarts = mpsc::UnboundedReceiver<RestartWish>;

/// Starts to listen on these addresses; the first of them must be free.
pub async fn start(
    parts: Parts,
    addresses: &[IpAddr],
    port: u16,
) -> Result<(Listening, Restarts), StartError> {
    let (gateway, restarts) = Gateway::new(parts);
    let gateway = Arc::new(gateway);
    let secret = gateway.secret();
    match secret.kind {
        _ if secret.is_set() => {}
        SecretKind::Token => return Err(StartError::NoToken),
        SecretKind::Password => return Err(StartError::NoPassword),
    }
    let encryption = tls::acceptor(&gateway.config(), &gateway.place)?;
    let mut listeners = Vec::new();
    for address in addresses {
        let address = SocketAddr::new(*address, listeners.first().map_or(port, |_| gateway.port()));
        match listen(address) {
            Ok(listener) => {
                let port = listener.local_addr().map_or(port, |address| address.port());
                gateway.port.store(port, Ordering::Relaxed);
                listeners.push(listener);
            }
            // A machine without IPv6 is served all the same.
            Err(error) if !listeners.is_empty() => tracing::warn!(%address, %error, "not listened on"),
            Err(source) => return Err(StartError::Listen { address, source }),
        }
    }
    gateway.tasks.spawn(runs::watch(gateway.clone(), gateway.engine.subscribe()));
    resume(&gateway).await?;
    let addresses = listeners.iter().filter_map(|listener| listener.local_addr().ok()).collect();
    for listener in listeners {
        gateway.tasks.spawn(accept(gateway.clone(), listener, encryption.clone()));
    }
    gateway.tasks.spawn(beside(gateway.clone()));
    Ok((Listening { gateway, addresses }, restarts))
}

fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // A gateway that starts anew finds its port free, also where connections of the last one are still ending.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(WAITING)
}

impl Listening {
    /// What begins from now on is done with this configuration.
    pub fn set_config(&self, config: Arc<Config>) {
        self.gateway.engine.set_config(config.clone());
        self.gateway.set_config(config);
    }

    /// Waits until no turn goes on and the end of every run was told; gives up after `limit`.
    pub async fn idle(&self, limit: Duration) {
        let idle = async {
            self.gateway.engine.idle(limit).await;
            self.gateway.runs.all_ended().await;
        };
        let _ = tokio::time::timeout(limit, idle).await;
    }

    /// Tells everybody that we stop, and stops.
    pub async fn stop(self, reason: &str, restart_expected_ms: Option<u64>) {
        let payload = json!({"reason": reason, "restartExpectedMs": restart_expected_ms});
        self.gateway.tell("shutdown", &payload, Weight::Needed, None);
        self.gateway.ending.cancel();
        self.gateway.hub.end(&Farewell::new(1012, "service restart"), |_| true);
        self.gateway.tasks.close();
        let _ = tokio::time::timeout(GOODBYE, self.gateway.tasks.wait()).await;
    }
}

/// Goes on with what was accepted and not answered when somebody stopped us.
async fn resume(gateway: &Arc<Gateway>) -> Result<(), StartError> {
    let tickets = gateway.engine.recover().await?;
    if !tickets.is_empty() {
        tracing::info!(messages = tickets.len(), "going on with messages that were interrupted");
    }
    for ticket in tickets {
        let id = ticket.run_id.clone().unwrap_or_else(|| ticket.turn.as_str().to_owned());
        let key = ticket.session_key.clone();
        let run = gateway.runs.begin(&id, &ticket.turn, &key);
        gateway.tasks.spawn(asking::see_off(gateway.clone(), ticket, run));
    }
    Ok(())
}

async fn accept(gateway: Arc<Gateway>, listener: TcpListener, encryption: Option<TlsAcceptor>) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = gateway.ending.cancelled() => return,
        };
        match accepted {
            Ok((stream, address)) => {
                gateway.tasks.spawn(welcome(gateway.clone(), stream, address, encryption.clone()));
            }
            Err(error) => {
                // Most likely there are too many open files: others may leave in a moment.
                tracing::warn!(%error, "a connection was not accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

/// Waits until somebody says something, and serves them then: whoever is silent takes next to nothing.
async fn welcome(
    gateway: Arc<Gateway>,
    stream: TcpStream,
    address: SocketAddr,
    encryption: Option<TlsAcceptor>,
) {
    let _ = stream.set_nodelay(true);
    let served = async {
        match tokio::time::timeout(REQUEST, stream.peek(&mut [0])).await {
            // The rest of the way is large, and has its place only from here on.
            Ok(Ok(1)) => Box::pin(hear_out(gateway.clone(), stream, address, encryption)).await,
            _ => tracing::debug!(%address, "nothing was said"),
        }
    };
    tokio::select! {
        () = served => {}
        () = gateway.ending.cancelled() => {}
    }
}

/// Serves a connection, encrypted if it is to be.
async fn hear_out(
    gateway: Arc<Gateway>,
    stream: TcpStream,
    address: SocketAddr,
    encryption: Option<TlsAcceptor>,
) {
    let Some(encryption) = encryption else {
        return serve(gateway, stream, Source { address, is_encrypted: false }).await;
    };
    match tokio::time::timeout(REQUEST, encryption.accept(stream)).await {
        Ok(Ok(stream)) => serve(gateway, stream, Source { address, is_encrypted: true }).await,
        Ok(Err(error)) => tracing::debug!(%address, %error, "no encryption could be agreed on"),
        Err(_) => tracing::debug!(%address, "no encryption was agreed on in time"),
    }
}

async fn serve<S>(gateway: Arc<Gateway>, stream: S, source: Source)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let gateway = gateway.clone();
        async move {
            let request = request.map(axum::body::Body::new);
            Ok::<_, Infallible>(http::answer(gateway, source, request).await)
        }
    });
    let mut builder = hyper::server::conn::http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(REQUEST).max_buf_size(64 * 1024);
    let serving = builder.serve_connection(TokioIo::new(stream), service).with_upgrades();
    if let Err(error) = serving.await {
        tracing::debug!(address = %source.address, %error, "a connection broke off");
    }
}

/// Ticks, and looks at our health.
async fn beside(gateway: Arc<Gateway>) {
    gateway.look_at_health().await;
    let later = |period: Duration| tokio::time::interval_at(tokio::time::Instant::now() + period, period);
    let (mut ticks, mut looks, mut folder_looks) = (later(TICK), later(HEALTH), later(FOLDER));
    let mut is_away = false;
    loop {
        tokio::select! {
            _ = ticks.tick() => gateway.tell("tick", &json!({"ts": gateway.now()}), Weight::Droppable, None),
            _ = looks.tick() => drop(gateway.look_at_health().await),
            _ = folder_looks.tick() => match (gateway.folder.check(), is_away) {
                (Err(moved), false) => {
                    tracing::error!("{moved}; until then every request is refused");
                    is_away = true;
                }
                (Ok(()), true) => {
                    tracing::info!("the state folder is back; requests are answered again");
                    is_away = false;
                }
                _ => {}
            },
            () = gateway.ending.cancelled() => return,
        }
    }
}
