//! Sessions that requests name, and where they are kept.

use std::collections::HashMap;
use std::sync::Arc;

use yabby_domain::agent::{self, Agent};
use yabby_domain::id::AgentId;
use yabby_domain::model::ModelRef;
use yabby_domain::seam::{Choice, Newest, Selection};
use yabby_domain::session::address::Address;
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::key::{KeyPolicy, SessionKey};
use yabby_domain::session::listing;
use yabby_domain::session::path;
use yabby_domain::text;
use yabby_domain::transcript::file_name::TranscriptId;
use yabby_engine::{AgentHome, Engine};

use crate::Gateway;
use crate::frames::Refusal;

/// A session that a request names; it need not be there.
pub(crate) struct Session {
    /// The key in the store.
    pub(crate) key: SessionKey,
    pub(crate) agent: AgentId,
    pub(crate) home: Arc<AgentHome>,
    pub(crate) entry: Option<SessionEntry>,
}

impl Session {
    pub(crate) fn transcript(&self) -> Option<TranscriptId> {
        TranscriptId::of_record(self.entry.as_ref()?).ok()
    }

    /// Where a file of its conversation is, as clients are told.
    pub(crate) fn file(&self, name: &str) -> String {
        path::join(&self.home.conversations, name)
    }
}

/// A session that somebody looks into.
pub(crate) struct Looked {
    pub(crate) key: SessionKey,
    pub(crate) agent: AgentId,
    /// `None` if there is no such agent.
    pub(crate) session: Option<Session>,
}

impl Looked {
    pub(crate) fn entry(&self) -> Option<&SessionEntry> {
        self.session.as_ref()?.entry.as_ref()
    }
}

/// Who answers in sessions. What an agent's usual model is, is looked up once.
pub(crate) struct UsualModels<'g> {
    engine: &'g Engine,
    policy: Arc<KeyPolicy>,
    known: HashMap<AgentId, ModelRef>,
}

impl UsualModels<'_> {
    pub(crate) fn in_session(&mut self, key: &SessionKey, entry: &SessionEntry) -> ModelRef {
        let agent = self.policy.session_agent(key.as_str());
        let known = self.known.entry(agent);
        let usual = known.or_insert_with_key(|agent| self.engine.usual_model(agent));
        listing::model_of(Some(entry), usual)
    }
}

impl Gateway {
    /// What a client means by a key.
    pub(crate) fn address(&self, named: &str) -> Address {
        Address::of_client(named, &KeyPolicy::from_config(&self.config()))
    }

    /// The session that a client names. Turns are taken in the one whose key is in small letters; an older one whose key
    /// is not is found as long as there is no such session.
    pub(crate) async fn session(&self, named: &str) -> Result<Session, Refusal> {
        let named = text::non_blank(named).ok_or_else(|| Refusal::invalid("key required"))?;
        let Address { key, written, agent } = self.address(named);
        let home = self.engine.home(&agent)?;
        for key in std::iter::once(&key).chain(&written) {
            if let Some(entry) = home.sessions.get(key).await? {
                return Ok(Session { key: key.clone(), agent, home, entry: Some(entry) });
            }
        }
        Ok(Session { key, agent, home, entry: None })
    }

    /// The same for those who only look: nothing is opened for an agent that there is not.
    pub(crate) async fn look(&self, named: &str) -> Result<Looked, Refusal> {
        let Address { key, agent, .. } = self.address(named);
        if text::non_blank(named).is_some() && !self.knows_agent(&agent) {
            return Ok(Looked { key, agent, session: None });
        }
        let session = self.session(named).await?;
        Ok(Looked { key: session.key.clone(), agent, session: Some(session) })
    }

    /// Whether an agent is configured, or has a folder. What is opened for an agent stays open, so nothing is for one
    /// that somebody made up.
    pub(crate) fn knows_agent(&self, agent: &AgentId) -> bool {
        agent::listed(&self.config(), &[]).contains(agent)
            || self.place.folder.agents().unwrap_or_default().contains(agent)
    }

    /// The agents that clients may talk to.
    pub(crate) fn listed_agents(&self) -> Vec<AgentId> {
        let on_disk = self.place.folder.agents().unwrap_or_default();
        agent::listed(&self.config(), &on_disk)
    }

    /// The agents of the configuration, in its order.
    pub(crate) fn agents(&self) -> Vec<Agent> {
        let config = self.config();
        self.place.with_folders(|folders| agent::agents(&config, folders))
    }

    /// An agent of the configuration.
    pub(crate) fn agent(&self, id: &AgentId) -> Option<Agent> {
        self.agents().into_iter().find(|agent| agent.id == *id)
    }

    /// Where the sessions of an agent are.
    pub(crate) fn store_path(&self, agent: &AgentId) -> String {
        let config = self.config();
        let configured = config.session.store.as_deref();
        self.place.with_folders(|folders| path::store_path(configured, agent, folders))
    }

    /// The agents whose stores there are, each store once.
    pub(crate) fn stores(&self) -> Vec<(AgentId, String)> {
        let mut stores: Vec<(AgentId, String)> = Vec::new();
        for agent in self.listed_agents() {
            let path = self.store_path(&agent);
            if !stores.iter().any(|(_, known)| *known == path) {
                stores.push((agent, path));
            }
        }
        stores
    }

    /// The sessions of an agent that changed last; what everybody shares is left out.
    /// None, if they cannot be read: that hides nobody else's.
    pub(crate) async fn recent(&self, agent: &AgentId, most: usize) -> Newest {
        let keys = |key: &SessionKey| !key.is_shared();
        let choice = Choice { keys: Box::new(keys), records: None, most };
        self.newest(agent, choice).await.unwrap_or_else(|error| {
            tracing::warn!(%agent, %error, "the sessions of an agent cannot be listed");
            Newest { count: 0, entries: Vec::new() }
        })
    }

    /// Those that are wanted of an agent's sessions.
    pub(crate) async fn newest(&self, agent: &AgentId, choice: Choice) -> Result<Newest, Refusal> {
        Ok(self.engine.home(agent)?.sessions.newest(choice).await?)
    }

    /// The same, each parsed only when it is read.
    pub(crate) async fn select(&self, agent: &AgentId, choice: Choice) -> Result<Selection, Refusal> {
        Ok(self.engine.home(agent)?.sessions.select(choice).await?)
    }

    /// Who answers in a session.
    pub(crate) fn model_in(&self, key: &SessionKey, entry: Option<&SessionEntry>) -> ModelRef {
        let agent = KeyPolicy::from_config(&self.config()).session_agent(key.as_str());
        listing::model_of(entry, &self.engine.usual_model(&agent))
    }

    /// The same for many sessions.
    pub(crate) fn usual_models(&self) -> UsualModels<'_> {
        UsualModels {
            engine: &self.engine,
            policy: KeyPolicy::from_config(&self.config()),
            known: HashMap::new(),
        }
    }

    /// How much a model reads at once, in tokens.
    pub(crate) fn window_of(&self, model: &ModelRef) -> f64 {
        let configured = self.config().agents.defaults.context_tokens.map(f64::from);
        #[expect(clippy::cast_precision_loss, reason = "no model reads that much")]
        let known = || self.engine.model_info(model).map(|info| info.context_window as f64);
        configured.or_else(known).unwrap_or(yabby_domain::flush::DEFAULT_CONTEXT_TOKENS)
    }
}
