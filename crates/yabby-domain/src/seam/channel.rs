//! The door to messaging platforms: what is sent back, and where (`sessions.md` §8, §16).

use async_trait::async_trait;

use crate::delivery::DeliveryContext;
use crate::reply::payload::ReplyPayload;

/// A messaging platform.
#[async_trait]
pub trait Channel: Send + Sync {
    /// Its name, as in `channels.<id>`.
    fn id(&self) -> &str;

    fn capabilities(&self) -> Capabilities;

    /// Does something there, and comes back when the platform has taken it; the id of a message that
    /// was sent, if the platform tells.
    async fn perform(&self, action: Action) -> Result<Option<String>, ChannelError>;
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// A message that is sent again under the same delivery id appears once.
    pub knows_deliveries: bool,
    /// People there like to get a long answer in blocks while it is being written.
    pub likes_blocks: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    Send(Outgoing),
    /// The agent is at work.
    Typing {
        to: DeliveryContext,
    },
}

/// A message to be sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Outgoing {
    pub to: DeliveryContext,
    pub payload: ReplyPayload,
    /// The same for every attempt to send it.
    pub delivery: String,
}

/// Why something was not sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChannelError {
    /// It was certainly not sent, and may be tried again.
    #[error("{0}")]
    NotSent(String),
    /// It will never be sent.
    #[error("{0}")]
    Refused(String),
    /// Nobody knows whether it was sent.
    #[error("{0}")]
    InDoubt(String),
}
