//! Which model answers: the session's choice, else the agent's, else everybody's (`sessions.md` §15).

use std::sync::{Arc, OnceLock};

use yabby_domain::config::Config;
use yabby_domain::flush::context_window;
use yabby_domain::id::AgentId;
use yabby_domain::model::choice::{StoredChoice, stored_choice};
use yabby_domain::model::select::Choices;
use yabby_domain::model::{
    AllowedModels, CatalogModel, ModelAliases, ModelRef, configured_model, normalize_provider,
};
use yabby_domain::provider_rules::Recipient;
use yabby_domain::reply::usage_line::Prices;
use yabby_domain::sanitize::policy::ModelTarget;
use yabby_domain::seam::model::{ModelError, ModelErrorKind, ModelInfo, ModelProvider};
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::key::SessionKey;
use yabby_domain::text;

use super::failover::fallbacks;
use crate::Engine;
use crate::home::AgentHome;
use crate::inbound::Inbound;

/// A model that was chosen, and who has it.
#[derive(Clone)]
pub(crate) struct ModelChoice {
    pub(crate) provider: Arc<dyn ModelProvider>,
    pub(crate) model: ModelRef,
    pub(crate) info: ModelInfo,
}

impl ModelChoice {
    pub(crate) fn target(&self) -> ModelTarget<'_> {
        ModelTarget {
            api: Some(&self.info.api),
            provider: Some(&self.model.provider),
            model: Some(&self.model.model),
        }
    }

    pub(crate) fn recipient(&self) -> Recipient<'_> {
        Recipient::of(self.target())
    }

    pub(crate) fn catalogued(&self) -> CatalogModel {
        CatalogModel { model: self.model.clone(), reasoning: self.info.reasoning }
    }

    /// What the configuration says it costs, else what its provider says.
    pub(crate) fn prices(&self, config: &Config) -> Option<Prices> {
        Prices::from_config(config, &self.model.provider, &self.model.model).or(self.info.prices)
    }

    /// How much it can read at once, in tokens.
    pub(crate) fn window(&self, config: &Config) -> u64 {
        #[expect(clippy::cast_precision_loss, reason = "no model reads that much")]
        let known = (self.info.context_window > 0).then_some(self.info.context_window as f64);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        let window = context_window(known, config) as u64;
        window
    }
}

/// What there is to choose from for an agent.
pub(crate) struct Models<'e> {
    engine: &'e Engine,
    config: &'e Config,
    agent: AgentId,
    pub(crate) default: ModelRef,
    pub(crate) aliases: ModelAliases,
    /// Made when somebody looks at it.
    allowed: OnceLock<Vec<String>>,
}

impl<'e> Models<'e> {
    pub(crate) fn of(engine: &'e Engine, config: &'e Config, agent: &AgentId) -> Self {
        let default = default_model(config, agent, &engine.0.default_model);
        let aliases = ModelAliases::from_config(config, &default.provider);
        Self { engine, config, agent: agent.clone(), default, aliases, allowed: OnceLock::new() }
    }

    /// `provider/model` texts.
    pub(crate) fn allowed(&self) -> &[String] {
        self.allowed.get_or_init(|| {
            let catalog = self.engine.catalog();
            let ModelRef { provider, model } = &self.default;
            let allowed = AllowedModels::from_config(self.config, &catalog, provider, model);
            allowed.models.iter().map(ToString::to_string).collect()
        })
    }

    pub(crate) fn choices(&self) -> Choices<'_> {
        Choices { default: &self.default, aliases: &self.aliases, allowed: self.allowed() }
    }

    /// The model for a session, which a thread may have from its parent.
    pub(crate) async fn chosen(
        &self,
        entry: &SessionEntry,
        inbound: &Inbound,
        home: &AgentHome,
    ) -> Result<ModelChoice, ModelError> {
        let key = inbound.key().as_str();
        let named = inbound.message.parent_session_key.as_deref();
        let parent_key = named.and_then(text::non_blank).map(SessionKey::new);
        let parent_key = parent_key.or_else(|| inbound.key().thread_parent());
        let parent = match parent_key {
            Some(parent) => home.sessions.get(&parent).await.ok().flatten(),
            None => None,
        };
        self.find(stored_choice(Some(entry), key, named, |_| parent.as_ref()))
    }

    fn find(&self, stored: Option<StoredChoice>) -> Result<ModelChoice, ModelError> {
        let model = match stored {
            Some(choice) => {
                ModelRef::new(choice.provider.unwrap_or_else(|| self.default.provider.clone()), choice.model)
            }
            None => self.default.clone(),
        };
        self.engine.find_model(&model).or_else(|error| {
            // A model that is not here at all is passed over like one that does not answer.
            let others = fallbacks(self.config, &self.agent, &model, &self.default);
            others.iter().find_map(|other| self.engine.find_model(other).ok()).ok_or(error)
        })
    }

    /// The models to try if the chosen one cannot answer.
    pub(crate) fn fallbacks(&self, chosen: &ModelRef) -> Vec<ModelRef> {
        fallbacks(self.config, &self.agent, chosen, &self.default)
    }
}

impl Engine {
    pub(crate) fn find_model(&self, model: &ModelRef) -> Result<ModelChoice, ModelError> {
        let wanted = normalize_provider(&model.provider);
        let provider = self.0.models.iter().find(|provider| normalize_provider(provider.id()) == wanted);
        let found = provider.and_then(|provider| Some((provider.clone(), provider.describe(&model.model)?)));
        match found {
            Some((provider, info)) => Ok(ModelChoice { provider, model: model.clone(), info }),
            None => {
                let known: Vec<&str> = self.0.models.iter().map(|provider| provider.id()).collect();
                Err(ModelError::new(
                    ModelErrorKind::Unavailable,
                    format!(
                        "{model} cannot be reached: there is no such provider or model here (there is: {}). Choose another with /model, or in `agents.defaults.model`.",
                        known.join(", ")
                    ),
                ))
            }
        }
    }

    fn catalog(&self) -> Vec<CatalogModel> {
        let known = self.known_models().into_iter();
        known.map(|(model, info)| CatalogModel { model, reasoning: info.reasoning }).collect()
    }

    /// Every model that could be asked.
    pub fn known_models(&self) -> Vec<(ModelRef, ModelInfo)> {
        let models = self.0.models.iter().flat_map(|provider| {
            let described = |name: String| {
                let info = provider.describe(&name)?;
                Some((ModelRef::new(provider.id(), name), info))
            };
            provider.models().into_iter().filter_map(described).collect::<Vec<_>>()
        });
        models.collect()
    }

    /// What is known about a model; `None` if nobody here has it.
    pub fn model_info(&self, model: &ModelRef) -> Option<ModelInfo> {
        self.find_model(model).ok().map(|choice| choice.info)
    }

    /// Who answers in sessions of an agent that say nothing about it.
    pub fn usual_model(&self, agent: &AgentId) -> ModelRef {
        default_model(&self.config(), agent, &self.0.default_model)
    }

    /// Who answers for agents of which the configuration says nothing.
    pub fn common_model(&self) -> ModelRef {
        configured_model(&self.config(), &self.0.default_model)
    }
}

/// The agent's own model, else the one for all agents, else the given one.
fn default_model(config: &Config, agent: &AgentId, usual: &ModelRef) -> ModelRef {
    let own = config.agent(agent).and_then(|entry| entry.model.as_ref()?.primary());
    match own.and_then(text::non_blank) {
        Some(own) => {
            let aliases = ModelAliases::from_config(config, "anthropic");
            aliases.resolve(own, "anthropic").map_or_else(|| usual.clone(), |(model, _)| model)
        }
        None => configured_model(config, usual),
    }
}
