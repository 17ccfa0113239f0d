//! From a message to a reply.
//!
//! [`Engine::submit`] takes a message and answers once it cannot be lost; [`lane`] decides when its turn
//! comes; [`turn`] is the turn, step by step; [`agent`] talks to the model. Stores, models, channels and
//! tools are seen through the doors of the domain only.

mod agent;
pub mod approvals;
mod arrivals;
mod commands;
mod durability;
pub mod events;
mod group;
mod home;
pub mod hooks;
mod inbound;
mod lane;
mod lanes;
mod log;
mod office;
mod recovery;
mod report;
pub mod services;
mod steering;
mod subagents;
mod submit;
mod turn;
mod unanswered;

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::tz::TimeZone;
use tokio::sync::{Semaphore, watch};
use yabby_domain::config::Config;
use yabby_domain::config::agents::defaults::{AgentDefaults, SubagentDefaults};
use yabby_domain::config::cron::Cron;
use yabby_domain::history::HistoryBook;
use yabby_domain::id::AgentId;
use yabby_domain::model::ModelRef;
use yabby_domain::seam::channel::Channel;
use yabby_domain::seam::journal::Journal;
use yabby_domain::seam::ledger::Ledger;
use yabby_domain::seam::model::ModelProvider;
use yabby_domain::seam::{Clock, StoreError};
use yabby_domain::secrets::Secrets;
use yabby_domain::session::key::SessionKey;
use yabby_domain::system_events::SystemEvents;
use yabby_domain::turn::{LaneClass, TurnId};

pub use home::{AgentHome, Tools};
pub use report::TurnReport;
pub use submit::{Origin, Submission, SubmitOutcome, TurnHandle};

use agent::prepared::PreparedContexts;
use approvals::Approvals;
use arrivals::Arrivals;
use events::{EventKind, Events, Listener};
use hooks::Hooks;
use lanes::Lanes;
use log::TurnLog;
use services::ServiceState;

/// What an engine is made of.
pub struct Parts {
    pub config: Arc<Config>,
    pub clock: Arc<dyn Clock>,
    /// Where the host is: days begin there.
    pub zone: TimeZone,
    pub version: String,
    /// Where an agent lives.
    pub homes: Homes,
    pub journal: Arc<dyn Journal>,
    pub ledger: Arc<dyn Ledger>,
    pub models: Vec<Arc<dyn ModelProvider>>,
    /// Who answers if the configuration names nobody.
    pub default_model: ModelRef,
    pub channels: Vec<Arc<dyn Channel>>,
    pub hooks: Hooks,
    /// What must never be seen in a transcript or by a model.
    pub secrets: Arc<Secrets>,
}

/// Finds the home of an agent.
pub type Homes = Box<dyn Fn(&Config, &AgentId) -> Result<AgentHome, StoreError> + Send + Sync>;

/// Takes turns. Copies are the same engine.
#[derive(Clone)]
pub struct Engine(Arc<Inner>);

pub(crate) struct Inner {
    config: watch::Sender<Arc<Config>>,
    clock: Arc<dyn Clock>,
    zone: TimeZone,
    version: String,
    homes: Homes,
    /// The homes that were opened; an agent has one for as long as the engine lives.
    opened_homes: Mutex<HashMap<AgentId, Arc<AgentHome>>>,
    log: TurnLog,
    ledger: Arc<dyn Ledger>,
    models: Vec<Arc<dyn ModelProvider>>,
    default_model: ModelRef,
    channels: Vec<Arc<dyn Channel>>,
    hooks: Hooks,
    events: Events,
    lanes: Lanes,
    classes: Classes,
    /// When the last message was accepted.
    last_accepted: AtomicI64,
    arrivals: Arrivals,
    prepared: PreparedContexts,
    /// What groups said since the agent last spoke there. Shared, since a turn clears what channels add.
    history: Mutex<HistoryBook>,
    /// Notices for the next prompt of each session. Shared, since anybody may leave one.
    notices: Mutex<HashMap<SessionKey, SystemEvents>>,
    approvals: Approvals,
    services: ServiceState,
    secrets: Arc<Secrets>,
}

/// How many turns of each class are taken at once.
struct Classes {
    main: Arc<Semaphore>,
    subagent: Arc<Semaphore>,
    nested: Arc<Semaphore>,
    cron: Arc<Semaphore>,
}

/// How many runs may work for others that wait for them.
const NESTED: usize = 16;

impl Classes {
    fn from_config(config: &Config) -> Self {
        let defaults = &config.agents.defaults;
        let size = |asked: f64, usual: f64| {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "at least one, and saturates"
            )]
            let size = if asked >= 1.0 { asked as usize } else { usual as usize };
            Arc::new(Semaphore::new(size.min(Semaphore::MAX_PERMITS)))
        };
        Self {
            main: size(defaults.max_concurrent(), AgentDefaults::default().max_concurrent()),
            subagent: size(defaults.subagents.max_concurrent(), SubagentDefaults::default().max_concurrent()),
            nested: Arc::new(Semaphore::new(NESTED)),
            cron: size(config.cron.max_concurrent_runs(), Cron::default().max_concurrent_runs()),
        }
    }

    fn of(&self, class: LaneClass) -> &Arc<Semaphore> {
        match class {
            LaneClass::Main => &self.main,
            LaneClass::Subagent => &self.subagent,
            LaneClass::Nested => &self.nested,
            LaneClass::Cron => &self.cron,
        }
    }
}

impl Engine {
    pub fn new(parts: Parts) -> Self {
        let classes = Classes::from_config(&parts.config);
        Self(Arc::new(Inner {
            config: watch::Sender::new(parts.config),
            clock: parts.clock.clone(),
            zone: parts.zone,
            version: parts.version,
            homes: parts.homes,
            opened_homes: Mutex::default(),
            log: TurnLog::new(parts.journal, parts.clock),
            ledger: parts.ledger,
            models: parts.models,
            default_model: parts.default_model,
            channels: parts.channels,
            hooks: parts.hooks,
            events: Events::default(),
            lanes: Lanes::default(),
            classes,
            last_accepted: AtomicI64::new(i64::MIN),
            arrivals: Arrivals::default(),
            prepared: PreparedContexts::default(),
            history: Mutex::default(),
            notices: Mutex::default(),
            approvals: Approvals::default(),
            services: ServiceState::default(),
            secrets: parts.secrets,
        }))
    }

    /// Everything that happens from now on.
    pub fn subscribe(&self) -> Listener {
        self.0.events.subscribe()
    }

    /// Turns that begin from now on are taken with this configuration.
    pub fn set_config(&self, config: Arc<Config>) {
        self.0.config.send_replace(config);
    }

    /// Leaves a notice for the next prompt of a session.
    pub fn notice(&self, session: &SessionKey, notice: &str) {
        let now = self.now_ms();
        unpoisoned(&self.0.notices).entry(session.clone()).or_default().push(notice, now);
    }

    /// The same for a notice about somebody; `notice` is told whether the one before was about them, too.
    pub fn notice_about(&self, session: &SessionKey, who: &str, notice: impl FnOnce(bool) -> String) {
        let now = self.now_ms();
        let mut notices = unpoisoned(&self.0.notices);
        let waiting = notices.entry(session.clone()).or_default();
        let notice = notice(waiting.is_about(who));
        waiting.push_about(Some(who), &notice, now);
    }

    pub(crate) fn has_notices(&self, session: &SessionKey) -> bool {
        unpoisoned(&self.0.notices).contains_key(session)
    }

    /// The notices that wait for the next prompt of a session.
    pub fn waiting_notices(&self, session: &SessionKey) -> Vec<String> {
        let notices = unpoisoned(&self.0.notices);
        notices.get(session).map(SystemEvents::texts).unwrap_or_default()
    }

    /// Stops what goes on in a session and forgets what waits there; whether anything did. Messages that come after
    /// this was called, and before it is awaited, are not forgotten.
    pub fn abort(&self, session: &SessionKey) -> impl Future<Output = bool> + Send + use<> {
        self.0.lanes.abort(session)
    }

    /// Stops one turn of a session, and leaves what else goes on there; whether it ran or waited. One that the run
    /// of another has taken along already is answered by that.
    pub fn abort_turn(
        &self,
        session: &SessionKey,
        turn: &TurnId,
    ) -> impl Future<Output = bool> + Send + use<> {
        self.0.lanes.abort_turn(session, turn)
    }

    /// The sessions in which something goes on or waits.
    pub fn busy(&self) -> Vec<SessionKey> {
        self.0.lanes.keys()
    }

    /// How many sessions are held in memory: those in use, and those used a short while ago.
    pub fn open_lanes(&self) -> usize {
        self.0.lanes.count()
    }

    /// Waits until nothing goes on any more; whether that was within `limit`. What still goes on then is
    /// in the journal, and is taken up by the next start.
    pub async fn idle(&self, limit: Duration) -> bool {
        tokio::time::timeout(limit, self.0.lanes.idle()).await.is_ok()
    }

    fn config(&self) -> Arc<Config> {
        self.0.config.borrow().clone()
    }

    fn now(&self) -> jiff::Timestamp {
        self.0.clock.now()
    }

    fn now_ms(&self) -> i64 {
        self.now().as_millisecond()
    }

    /// Where an agent lives.
    pub fn home(&self, agent: &AgentId) -> Result<Arc<AgentHome>, StoreError> {
        let mut homes = unpoisoned(&self.0.opened_homes);
        if let Some(home) = homes.get(agent) {
            return Ok(home.clone());
        }
        let home = Arc::new((self.0.homes)(&self.config(), agent)?);
        homes.insert(agent.clone(), home.clone());
        Ok(home)
    }

    fn tell(&self, session: &SessionKey, turn: Option<&TurnId>, kind: EventKind) {
        self.0.events.tell(self.now_ms(), session, turn, kind);
    }

    fn channel(&self, id: &str) -> Option<&Arc<dyn Channel>> {
        self.0.channels.iter().find(|channel| channel.id() == id)
    }
}

/// A time from `at` on that is later than the last one.
fn later_than(last: &AtomicI64, at: i64) -> i64 {
    let later = |last: i64| at.max(last.saturating_add(1));
    let before = last.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| Some(later(last)));
    later(before.unwrap_or_else(|last| last))
}

/// A fresh name.
fn fresh_id() -> String {
    uuid::Uuid::new_v4().to_string()
}

/// Nobody leaves anything half done while holding one of these.
fn unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
