//! The server that people leave running: WebSocket and HTTP on one port (`gateway.md`).
//!
//! [`start`] listens; [`connection`] is one client, from the handshake to its last request; [`methods`] is the
//! table of what can be asked for, with a file for each; [`runs`] turns what the engine does into what clients
//! are told.

mod approvals;
mod asking;
mod assistant;
mod auth;
mod back_off;
mod coalesced;
mod connection;
mod control_ui;
mod dedupe;
mod frames;
mod handshake;
mod health;
mod http;
mod hub;
mod in_turn;
mod kept;
mod logs;
mod machine;
mod methods;
mod metrics;
mod presence;
mod runs;
mod schema;
mod server;
mod sessions;
mod tls;

use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use yabby_domain::config::Config;
use yabby_domain::device::Devices;
use yabby_domain::id::AgentId;
use yabby_domain::json::Value;
use yabby_domain::node::Nodes;
use yabby_domain::seam::{Clock, StoreError};
use yabby_domain::session::key::KeyPolicy;
use yabby_engine::Engine;
use yabby_memory::memory::Memory;
use yabby_store::files::devices::DeviceFiles;
use yabby_store::files::nodes::NodeFiles;
use yabby_store::paths::Place;
use yabby_store::state_disk::{KnownFolder, StateDisk};

pub use assistant::identity_in;

use approvals::Approvals;
use auth::SharedSecret;
use back_off::BackOff;
use coalesced::Coalesced;
use dedupe::Dedupe;
use frames::{Event, Refusal, StateVersion};
use health::Health;
use hub::{Farewell, Hearers, Hub, Weight};
use kept::Kept;
use metrics::Counts;
use presence::Presence;
use runs::Runs;

pub use control_ui::base_path;
pub use logs::log_file;
pub use methods::page as methods_page;
pub use methods::response_to_fault;
pub use server::{Listening, StartError, start};
pub use tls::{TlsError, self_signed};

/// How often everybody hears that we are there.
pub(crate) const TICK: Duration = Duration::from_secs(30);
/// How often we look how we are.
const HEALTH: Duration = Duration::from_secs(60);
/// How often it is looked whether the state folder is still where it was.
const FOLDER: Duration = Duration::from_secs(1);

/// What a gateway is made of.
pub struct Parts {
    pub engine: Engine,
    pub config: Arc<Config>,
    pub clock: Arc<dyn Clock>,
    pub place: Place,
    pub version: String,
    pub memories: Memories,
}

/// Finds what an agent remembers; some remember nothing.
pub type Memories = Box<dyn Fn(&AgentId) -> Option<Memory> + Send + Sync>;

/// Somebody wants the gateway to start anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestartWish {
    pub reason: String,
    pub delay: Duration,
}

/// What all connections share.
pub(crate) struct Gateway {
    pub(crate) engine: Engine,
    config: RwLock<Arc<Config>>,
    clock: Arc<dyn Clock>,
    pub(crate) place: Place,
    /// The state folder as it was when we began.
    pub(crate) folder: KnownFolder,
    pub(crate) version: String,
    started: Instant,
    port: AtomicU16,
    pub(crate) hub: Hub,
    pub(crate) presence: Presence,
    pub(crate) health: Health,
    presence_version: AtomicU64,
    presence_news: Coalesced,
    pub(crate) runs: Runs,
    pub(crate) dedupe: Dedupe,
    pub(crate) kept: Kept,
    pub(crate) counts: Counts,
    /// Who showed wrong secrets.
    pub(crate) back_off: BackOff,
    devices: Arc<DeviceFiles>,
    nodes: Arc<NodeFiles>,
    pub(crate) approvals: Approvals,
    pub(crate) memories: Memories,
    /// Who is told that the gateway shall start anew.
    pub(crate) restarts: mpsc::UnboundedSender<RestartWish>,
    /// Ends everything that goes on beside the connections.
    pub(crate) ending: CancellationToken,
    /// Everything that goes on.
    pub(crate) tasks: TaskTracker,
}

impl Gateway {
    fn new(parts: Parts) -> (Self, mpsc::UnboundedReceiver<RestartWish>) {
        let folder = KnownFolder::at(parts.place.folder.path());
        let disk = Arc::new(StateDisk(folder.clone()));
        let devices = DeviceFiles::of(&parts.place.folder, disk.clone());
        let nodes = NodeFiles::of(&parts.place.folder, disk);
        let (restarts, wishes) = mpsc::unbounded_channel();
        let gateway = Self {
            engine: parts.engine,
            config: RwLock::new(parts.config),
            clock: parts.clock,
            place: parts.place,
            folder,
            presence: Presence::new(machine::this()),
            version: parts.version,
            started: Instant::now(),
            port: AtomicU16::new(0),
            hub: Hub::default(),
            health: Health::default(),
            presence_version: AtomicU64::new(1),
            presence_news: Coalesced::default(),
            runs: Runs::default(),
            dedupe: Dedupe::default(),
            kept: Kept::default(),
            counts: Counts::default(),
            back_off: BackOff::default(),
            devices: Arc::new(devices),
            nodes: Arc::new(nodes),
            approvals: Approvals::default(),
            memories: parts.memories,
            restarts,
            ending: CancellationToken::new(),
            tasks: TaskTracker::new(),
        };
        (gateway, wishes)
    }

    pub(crate) fn config(&self) -> Arc<Config> {
        self.config.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What begins from now on is done with this configuration. Whoever came in by a secret that is none any more has
    /// to come in again.
    pub(crate) fn set_config(&self, config: Arc<Config>) {
        let before = self.secret();
        *self.config.write().unwrap_or_else(PoisonError::into_inner) = config;
        if !self.secret().is_same(&before) {
            let kind = self.secret().kind.as_str();
            let farewell = Farewell::new(1008, &format!("unauthorized: the gateway {kind} has changed"));
            self.hub.end(&farewell, |client| client.knew_secret);
        }
    }

    pub(crate) fn secret(&self) -> SharedSecret {
        SharedSecret::of(&self.config(), &self.place.environment)
    }

    pub(crate) fn timestamp(&self) -> jiff::Timestamp {
        self.clock.now()
    }

    /// Milliseconds since 1970.
    pub(crate) fn now(&self) -> i64 {
        self.clock.now().as_millisecond()
    }

    /// The same as records have it.
    #[expect(clippy::cast_precision_loss, reason = "times are exact for 285,000 years")]
    pub(crate) fn now_ms(&self) -> f64 {
        self.now() as f64
    }

    #[expect(clippy::cast_precision_loss, reason = "times are exact for 285,000 years")]
    pub(crate) fn uptime_ms(&self) -> f64 {
        self.started.elapsed().as_millis() as f64
    }

    pub(crate) fn port(&self) -> u16 {
        self.port.load(Ordering::Relaxed)
    }

    pub(crate) fn state_version(&self) -> StateVersion {
        StateVersion {
            presence: self.presence_version.load(Ordering::Relaxed),
            health: self.health.version(),
        }
    }

    pub(crate) fn presence_changed(&self) {
        self.presence_version.fetch_add(1, Ordering::Relaxed);
    }

    /// Which sessions clients begin with.
    pub(crate) fn session_defaults(&self) -> Value {
        let config = self.config();
        let policy = KeyPolicy::from_config(&config);
        let scope = config.session.scope().word();
        serde_json::json!({
            "defaultAgentId": policy.default_agent.as_str(),
            "mainKey": policy.main_key.as_str(),
            "mainSessionKey": policy.main_session().as_str(),
            "scope": scope,
        })
    }

    /// Tells everybody, or everybody with a scope.
    pub(crate) fn tell(&self, event: &str, payload: &Value, weight: Weight, scope: Option<&str>) {
        let hearers = scope.map_or(Hearers::Everybody, Hearers::With);
        self.hub.tell(&Event::new(event, payload, None), weight, hearers);
    }

    /// Tells of what is said: everybody but nodes.
    pub(crate) fn tell_talk(&self, event: &str, payload: &Value, weight: Weight) {
        self.hub.tell(&Event::new(event, payload, None), weight, Hearers::Operators);
    }

    /// Tells everybody about presence or health.
    pub(crate) fn tell_state(&self, event: &str, payload: &Value, weight: Weight) {
        let event = Event::new(event, payload, Some(self.state_version()));
        self.hub.tell(&event, weight, Hearers::Everybody);
    }

    /// Tells everybody who is there; nobody waits for it. Those who leave at once are told of by one event.
    pub(crate) fn refresh_presence(self: &Arc<Self>) {
        let gateway = self.clone();
        tokio::spawn(async move {
            let tell = || async {
                let payload = serde_json::json!({"presence": gateway.presence.list(gateway.now_ms())});
                gateway.tell_state("presence", &payload, Weight::Droppable);
            };
            gateway.presence_news.announce(tell).await;
        });
    }

    /// Changes the devices, away from the runtime's own threads.
    pub(crate) async fn change_devices<T: Send + 'static>(
        &self,
        change: impl FnOnce(&mut Devices, f64) -> T + Send + 'static,
    ) -> Result<T, StoreError> {
        let (devices, now) = (self.devices.clone(), self.now_ms());
        let changing =
            tokio::task::spawn_blocking(move || devices.update(now, |devices| change(devices, now)));
        changing.await.unwrap_or_else(|_| Err(StoreError::Closed { path: "devices".to_owned() }))
    }
}

impl Gateway {
    /// Changes the nodes, away from the runtime's own threads.
    pub(crate) async fn change_nodes<T: Send + 'static>(
        &self,
        change: impl FnOnce(&mut Nodes, f64) -> T + Send + 'static,
    ) -> Result<T, StoreError> {
        let (nodes, now) = (self.nodes.clone(), self.now_ms());
        let changing = tokio::task::spawn_blocking(move || nodes.update(now, |nodes| change(nodes, now)));
        changing.await.unwrap_or_else(|_| Err(StoreError::Closed { path: "nodes".to_owned() }))
    }
}

/// Does something that waits for the disk, away from the runtime's own threads.
pub(crate) async fn on_disk<T: Send + 'static>(
    act: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Refusal> {
    tokio::task::spawn_blocking(act).await.map_err(|_| Refusal::unavailable("Error: it was interrupted"))
}

/// Nobody leaves anything half done while holding one of these.
fn unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
