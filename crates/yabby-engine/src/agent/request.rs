//! What a run is for: who asks what, of which model, with which tools.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::time::Instant;
use yabby_domain::bootstrap::{self, Injected, Reader};
use yabby_domain::config::Config;
use yabby_domain::config::agents::defaults::AgentDefaults;
use yabby_domain::delivery::DeliveryContext;
use yabby_domain::directive::level::ThinkLevel;
use yabby_domain::id::AgentId;
use yabby_domain::leash::confinement::Confinement;
use yabby_domain::message::Message;
use yabby_domain::model::ModelRef;
use yabby_domain::seam::model::{ModelError, ModelRequest, Purpose};
use yabby_domain::seam::tool::{Company, Tool};
use yabby_domain::status::SessionStatus;
use yabby_domain::turn::{Progress, TurnId};

use super::context::Extent;
use super::model::{ModelChoice, Models};
use super::system_prompt::{overhead, system_prompt};
use super::toolbox::{Toolbox, User};
use crate::Engine;
use crate::events::EventKind;
use crate::home::Known;
use crate::inbound::Inbound;
use crate::lane::address;
use crate::steering::RunControl;
use crate::turn::blocks::Blocks;
use crate::turn::flush::may_flush;
use crate::turn::open::Opened;
use crate::turn::prompt::Prompt;

/// What a run is for.
pub(crate) struct RunRequest<'r> {
    pub(crate) engine: &'r Engine,
    pub(crate) turn: &'r TurnId,
    pub(crate) opened: Arc<Opened>,
    pub(crate) agent: AgentId,
    pub(crate) choice: ModelChoice,
    /// Who is asked next if this one cannot answer.
    pub(super) fallbacks: VecDeque<ModelRef>,
    pub(crate) thinking: ThinkLevel,
    pub(crate) prompt: Prompt,
    pub(crate) purpose: Purpose,
    /// What only this run's system prompt says.
    pub(crate) extra_system: Option<String>,
    pub(crate) control: &'r RunControl,
    pub(crate) sender: Option<String>,
    pub(crate) sender_is_owner: bool,
    /// Where the session talks.
    pub(crate) address: Option<DeliveryContext>,
    pub(crate) resume: Option<Arc<Progress>>,
    pub(crate) status: Arc<SessionStatus>,
    pub(crate) deadline: Instant,
    /// Where pieces of the answer go while it is being written.
    pub(crate) blocks: Option<Blocks>,
    pub(crate) may_flush: bool,
    pub(super) extent: Extent,
    inbound: &'r Inbound,
    tools: Toolbox,
    /// The files of the workspace that the system prompt tells.
    pub(crate) files: Arc<Vec<Injected>>,
    /// Made when it is first wanted.
    opening: OnceLock<Opening>,
}

/// What a run says before anybody asks anything.
#[derive(Clone)]
pub(crate) struct Opening {
    pub(crate) system: String,
    pub(crate) tools: Vec<Known>,
    /// About how many tokens all of it takes.
    pub(crate) overhead: u64,
}

impl<'r> RunRequest<'r> {
    /// Whether nobody asked: the agent looks by itself whether there is something to do.
    pub(crate) fn is_heartbeat(&self) -> bool {
        self.inbound.principal.is_heartbeat()
    }

    /// What is told when it begins.
    pub(super) fn started(&self) -> EventKind {
        let run_id = self.inbound.options.run_id.clone();
        EventKind::RunStarted { model: self.choice.model.clone(), run_id }
    }

    /// The run of a turn.
    pub(crate) async fn turn(
        engine: &'r Engine,
        inbound: &'r Inbound,
        opened: Arc<Opened>,
        prompt: Prompt,
        control: &'r RunControl,
    ) -> Result<Self, ModelError> {
        let request = Self {
            blocks: Blocks::start(engine, inbound, &opened),
            resume: inbound.resume.clone(),
            extra_system: inbound.options.extra_system_prompt.clone(),
            ..Self::new(engine, inbound, opened, prompt, control, Purpose::Turn).await?
        };
        // Now, while the conversation is being read.
        request.opening();
        Ok(request)
    }

    pub(crate) async fn new(
        engine: &'r Engine,
        inbound: &'r Inbound,
        opened: Arc<Opened>,
        prompt: Prompt,
        control: &'r RunControl,
        purpose: Purpose,
    ) -> Result<Self, ModelError> {
        let limit = time_limit(inbound, &opened.config);
        let mut request = Self {
            engine,
            turn: &inbound.turn,
            agent: inbound.target().agent.clone(),
            fallbacks: {
                let models = Models::of(engine, &opened.config, &inbound.target().agent);
                models.fallbacks(&opened.model.clone()?.model).into()
            },
            choice: opened.model.clone()?,
            thinking: opened.thinking(),
            prompt,
            purpose,
            extra_system: None,
            control,
            sender: inbound.message.sender().label(),
            sender_is_owner: inbound.is_owner(),
            address: address(inbound).or_else(|| opened.entry.delivery()),
            resume: None,
            status: Arc::new(engine.status_of(inbound, &opened)),
            deadline: Instant::now() + limit,
            blocks: None,
            may_flush: may_flush(inbound),
            extent: Extent::Whole,
            inbound,
            tools: Toolbox::open(&opened).await,
            files: Arc::default(),
            opening: OnceLock::new(),
            opened,
        };
        request.files = Arc::new(request.workspace_files().await);
        request.equip();
        Ok(request)
    }

    /// Takes the tools that may be used with the model.
    pub(super) fn equip(&mut self) {
        let user = User { company: self.company(), is_confined: self.is_confined(), purpose: self.purpose };
        self.tools.restrict(self.inbound, &self.opened, &self.choice.model, user);
        self.opening = OnceLock::new();
    }

    pub(crate) fn opening(&self) -> &Opening {
        self.opening.get_or_init(|| {
            let tools: Vec<Known> = self.tools.allowed().cloned().collect();
            let system = system_prompt(self, &tools);
            Opening { overhead: overhead(&system, &tools), system, tools }
        })
    }

    /// The time that the turn may take begins now.
    pub(crate) fn start_clock(&mut self) {
        self.deadline = Instant::now() + time_limit(self.inbound, &self.opened.config);
    }

    /// A memory flush before this run, or in the midst of it.
    pub(crate) fn flush_of(&self, prompt: Prompt, system: String, extent: Extent) -> RunRequest<'_> {
        let mut flush = RunRequest {
            engine: self.engine,
            turn: self.turn,
            opened: self.opened.clone(),
            agent: self.agent.clone(),
            choice: self.choice.clone(),
            fallbacks: self.fallbacks.clone(),
            thinking: self.thinking,
            prompt,
            purpose: Purpose::Flush,
            extra_system: Some(system),
            control: self.control,
            sender: self.sender.clone(),
            sender_is_owner: self.sender_is_owner,
            address: self.address.clone(),
            resume: None,
            status: self.status.clone(),
            deadline: self.deadline,
            blocks: None,
            may_flush: false,
            extent,
            inbound: self.inbound,
            tools: self.tools.clone(),
            files: self.files.clone(),
            opening: OnceLock::new(),
        };
        flush.equip();
        flush
    }

    /// Who hears what is said here, or what becomes of it elsewhere.
    pub(crate) fn company(&self) -> Company {
        self.inbound.company(Some(&self.opened.entry))
    }

    async fn workspace_files(&self) -> Vec<Injected> {
        let reader = match self.company() {
            _ if self.opened.key.is_subagent() => Reader::Subagent,
            Company::OwnerAlone => Reader::OwnersAgent,
            Company::Others | Company::OthersNoted => Reader::AmongOthers,
        };
        let files = self.opened.home.shelf.workspace_files().await;
        bootstrap::injected(&files, reader, bootstrap::max_chars(&self.opened.config))
    }

    /// Whether commands run behind walls here.
    pub(crate) fn is_confined(&self) -> bool {
        // Who writes a word that nobody knows wanted walls, most likely.
        !matches!(Confinement::of(&self.opened.config, &self.agent, &self.opened.key), Ok(None))
    }

    pub(crate) fn tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.tools.find(name)
    }

    /// What every question of the run says about itself.
    pub(super) fn question(&self, messages: Vec<Message>) -> ModelRequest {
        ModelRequest {
            session_id: self.opened.session_id.clone(),
            agent: self.agent.clone(),
            profile: self.opened.pinned_profile(),
            workspace: Some(self.opened.home.workspace.clone()),
            ..ModelRequest::new(self.choice.model.clone(), messages)
        }
    }
}

/// How long a turn may take.
pub(crate) fn time_limit(inbound: &Inbound, config: &Config) -> Duration {
    let configured = match config.agents.defaults.timeout_seconds() {
        seconds if seconds >= 1.0 => seconds,
        _ => AgentDefaults::default().timeout_seconds(),
    }
    .min(86_400.0);
    inbound.options.timeout_ms.map_or_else(|| Duration::from_secs_f64(configured), Duration::from_millis)
}
