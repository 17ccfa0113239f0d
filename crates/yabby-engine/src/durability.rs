//! Whether a message is on record, as a type.
//!
//! While the journal is written, the turn reads what it will need. Whatever could not be taken back, such as a change of
//! the session or a question to the model, takes a [`Recorded`], and only waiting for the journal gives one.

use futures_util::FutureExt as _;
use futures_util::future::Shared;
use tokio::sync::oneshot;

/// A promise that a message is on record, or that it never will be.
#[derive(Clone, Debug, Default)]
pub(crate) struct Durable(Option<Shared<oneshot::Receiver<()>>>);

/// Proof that a message is in the journal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recorded(());

/// The message could not be written down. Its sender was told so, and nothing else happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the message was not accepted, since it could not be written down")]
pub(crate) struct NotAccepted;

impl Durable {
    /// A message on its way to the journal: it is there when the sender is used, and never will be if that is dropped.
    pub(crate) fn pending() -> (oneshot::Sender<()>, Self) {
        let (written, waiting) = oneshot::channel();
        (written, Self(Some(waiting.shared())))
    }

    pub(crate) async fn wait(&self) -> Result<Recorded, NotAccepted> {
        match self.0.clone() {
            Some(waiting) => waiting.await.map(Recorded).map_err(|_| NotAccepted),
            // It was read from the journal.
            None => Ok(Recorded(())),
        }
    }
}
