//! A provider with several keys: one that does not work, or is used up, is put to rest, and the next one
//! is tried (`sessions.md` §15).

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use secrecy::SecretString;
use yabby_domain::id::AgentId;
use yabby_domain::seam::model::{
    Answer, ModelError, ModelErrorKind, ModelEvent, ModelInfo, ModelProvider, ModelRequest,
};

use crate::http::Http;
use crate::remote::RemoteProvider;
use crate::retry::Retries;
use crate::settings::ProviderSettings;

/// The keys of one provider, and what becomes of them.
pub trait Keys: Send + Sync {
    /// Those that an agent may use now, the first to be tried first; `pinned` is the only one a session
    /// wants.
    fn usable(&self, agent: &AgentId, pinned: Option<&str>) -> Result<Vec<Key>, NoKey>;

    /// Whether they are had by a look at small files. Otherwise a program may be asked.
    fn is_quick(&self) -> bool {
        false
    }

    /// It was answered with this one.
    fn worked(&self, agent: &AgentId, profile: &str);

    /// It was not, for a reason that is the key's.
    fn failed(&self, agent: &AgentId, profile: &str, why: ModelErrorKind);
}

/// A key.
#[derive(Clone, Debug)]
pub struct Key {
    /// Its name; a key of the environment or the configuration has none, and is never put to rest.
    pub profile: Option<String>,
    /// `None` for servers that ask for none.
    pub secret: Option<SecretString>,
    /// It is a token that somebody got by signing in.
    pub bearer: bool,
}

/// Why there is no key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoKey {
    /// There is none; what to do about it.
    Missing(String),
    /// All of them rest; none of them is paid for, or for some other reason.
    Resting { for_another: Duration, unpaid: bool },
}

/// A service and all of its keys.
pub struct Rotating {
    /// Without a key.
    settings: ProviderSettings,
    http: Http,
    retries: Retries,
    keys: Arc<dyn Keys>,
}

impl Rotating {
    pub fn new(settings: ProviderSettings, http: Http, retries: Retries, keys: Arc<dyn Keys>) -> Self {
        Self { settings, http, retries, keys }
    }

    /// Does something with the keys where waiting holds nobody up: they are in files, or known to a
    /// program that is asked.
    async fn with_keys<T: Send + 'static>(
        &self,
        act: impl FnOnce(&dyn Keys) -> T + Send + 'static,
    ) -> Result<T, ModelError> {
        let keys = self.keys.clone();
        let broken = |_| ModelError::new(ModelErrorKind::Broken, "The keys could not be read; try again.");
        tokio::task::spawn_blocking(move || act(&*keys)).await.map_err(broken)
    }

    fn resting(&self, for_another: Duration, unpaid: bool) -> ModelError {
        let (id, minutes) = (self.id(), for_another.as_secs().div_ceil(60).max(1));
        match unpaid {
            true => ModelError::new(
                ModelErrorKind::Billing,
                format!(
                    "No account of {id} is paid for, and its keys rest for another {} h: add credit and another key, or choose another model with /model.",
                    minutes.div_ceil(60)
                ),
            ),
            false => ModelError::new(
                ModelErrorKind::RateLimited { retry_after: Some(for_another) },
                format!(
                    "Every key of {id} rests after failures, for another {minutes} min; wait, add a key, or choose another model with /model."
                ),
            ),
        }
    }

    fn with(&self, key: &Key, model: &str) -> RemoteProvider {
        let settings = self.settings.to_ask(model, key.secret.clone(), key.bearer);
        RemoteProvider::new(settings, self.http.clone(), self.retries)
    }
}

/// Whether the next key may do better.
fn is_the_keys_fault(kind: ModelErrorKind) -> bool {
    match kind {
        ModelErrorKind::Auth
        | ModelErrorKind::Billing
        | ModelErrorKind::RateLimited { .. }
        | ModelErrorKind::TimedOut => true,
        ModelErrorKind::ContextOverflow
        | ModelErrorKind::Overloaded
        | ModelErrorKind::Refused
        | ModelErrorKind::BadRequest
        | ModelErrorKind::Unavailable
        | ModelErrorKind::Broken => false,
    }
}

#[async_trait]
impl ModelProvider for Rotating {
    fn id(&self) -> &str {
        &self.settings.id
    }

    fn describe(&self, model: &str) -> Option<ModelInfo> {
        self.settings.describe(model)
    }

    fn models(&self) -> Vec<String> {
        self.settings.models.iter().map(|model| model.id.clone()).collect()
    }

    async fn stream(
        &self,
        request: &ModelRequest,
        heard: &mut (dyn FnMut(ModelEvent) + Send),
    ) -> Result<Answer, ModelError> {
        let usable = match self.keys.is_quick() {
            true => self.keys.usable(&request.agent, request.profile.as_deref()),
            false => {
                let (agent, pinned) = (request.agent.clone(), request.profile.clone());
                self.with_keys(move |keys| keys.usable(&agent, pinned.as_deref())).await?
            }
        };
        let keys = match usable {
            Ok(keys) => keys,
            Err(NoKey::Missing(remedy)) => return Err(ModelError::new(ModelErrorKind::Auth, remedy)),
            Err(NoKey::Resting { for_another, unpaid }) => return Err(self.resting(for_another, unpaid)),
        };
        let mut last = None;
        for key in keys {
            let mut said = false;
            let mut listen = |event: ModelEvent| {
                said = true;
                heard(event);
            };
            match self.with(&key, &request.model.model).stream(request, &mut listen).await {
                Ok(answer) => {
                    if let Some(profile) = key.profile {
                        let (agent, keys) = (request.agent.clone(), self.keys.clone());
                        // Nobody waits for that to be written down.
                        tokio::task::spawn_blocking(move || keys.worked(&agent, &profile));
                    }
                    return Ok(answer);
                }
                Err(error) => {
                    let may_go_on = is_the_keys_fault(error.kind);
                    if let Some(profile) = key.profile.filter(|_| may_go_on) {
                        let agent = request.agent.clone();
                        self.with_keys(move |keys| keys.failed(&agent, &profile, error.kind)).await?;
                    }
                    if !may_go_on || said {
                        return Err(error);
                    }
                    last = Some(error);
                }
            }
        }
        let none = || ModelError::new(ModelErrorKind::Auth, format!("There is no key for {}.", self.id()));
        Err(last.unwrap_or_else(none))
    }
}
