//! A channel that leads back to the test: it keeps what is sent.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use yabby_domain::seam::channel::{Action, Capabilities, Channel, ChannelError, Outgoing};

/// Copies are the same channel.
#[derive(Clone)]
pub struct Loopback {
    id: String,
    capabilities: Capabilities,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    sent: Vec<Outgoing>,
    failures: Vec<ChannelError>,
}

impl Loopback {
    pub fn new(id: &str, capabilities: Capabilities) -> Self {
        Self { id: id.to_owned(), capabilities, state: Arc::default() }
    }

    /// What was sent, in order.
    pub fn sent(&self) -> Vec<Outgoing> {
        self.state().sent.clone()
    }

    /// The texts of what was sent.
    pub fn texts(&self) -> Vec<String> {
        self.state().sent.iter().map(|sent| sent.payload.text.clone().unwrap_or_default()).collect()
    }

    /// The next messages fail like this, the last one first.
    pub fn fail(&self, failures: Vec<ChannelError>) {
        self.state().failures = failures;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Channel for Loopback {
    fn id(&self) -> &str {
        &self.id
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    async fn perform(&self, action: Action) -> Result<Option<String>, ChannelError> {
        let Action::Send(outgoing) = action else { return Ok(None) };
        let mut state = self.state();
        if let Some(failure) = state.failures.pop() {
            return Err(failure);
        }
        let known = state.sent.iter().any(|sent| sent.delivery == outgoing.delivery);
        if !(known && self.capabilities.knows_deliveries) {
            state.sent.push(outgoing);
        }
        Ok(Some(state.sent.len().to_string()))
    }
}
