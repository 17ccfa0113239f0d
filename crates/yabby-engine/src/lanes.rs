//! The lanes that are open: one for each session in which something goes on.

use std::collections::HashMap;
use std::sync::Mutex;

use tokio::sync::{Notify, mpsc, oneshot};
use yabby_domain::session::key::SessionKey;
use yabby_domain::turn::TurnId;

use crate::lane::{Lane, LaneMessage};
use crate::services::{HoldMode, SessionHold};
use crate::steering::QueuedTurn;
use crate::{Engine, unpoisoned};

/// Shared, since every channel sends to lanes and every lane closes itself.
#[derive(Default)]
pub(crate) struct Lanes {
    open: Mutex<HashMap<SessionKey, Open>>,
    /// Something ended.
    ended: Notify,
}

struct Open {
    mailbox: mpsc::UnboundedSender<LaneMessage>,
    /// Messages that were sent and are not done with.
    busy: usize,
}

impl Lanes {
    /// Sends a message to its lane, which is opened if need be. A lane takes every message at once: what
    /// has to wait waits there, and the drop policy of the session says how much.
    pub(crate) fn send(&self, engine: &Engine, asked: QueuedTurn) {
        let key = asked.inbound.key().clone();
        self.open_and_send(engine, key, LaneMessage::Take(Box::new(asked)));
    }

    /// Holds a session once no turn runs in it. That counts as one message until the session is let go of.
    pub(crate) fn hold(
        &self,
        engine: &Engine,
        key: &SessionKey,
        mode: HoldMode,
    ) -> oneshot::Receiver<SessionHold> {
        let (reply, held) = oneshot::channel();
        self.open_and_send(engine, key.clone(), LaneMessage::Hold { mode, reply });
        held
    }

    fn open_and_send(&self, engine: &Engine, key: SessionKey, message: LaneMessage) {
        let mut lanes = unpoisoned(&self.open);
        let lane = lanes.entry(key.clone()).or_insert_with(|| {
            let (mailbox, receiver) = mpsc::unbounded_channel();
            tokio::spawn(Lane::new(engine.clone(), key, receiver).run());
            Open { mailbox, busy: 0 }
        });
        lane.busy += 1;
        // The lane is open as long as it stands in the map.
        let _ = lane.mailbox.send(message);
    }

    /// Stops what goes on in a session; whether anything did. It is on its way once this returns: what is sent to
    /// the session after that is not stopped.
    pub(crate) fn abort(&self, key: &SessionKey) -> impl Future<Output = bool> + Send + use<> {
        let (reply, done) = oneshot::channel();
        self.tell(key, LaneMessage::Abort { reply });
        async move { done.await.unwrap_or(false) }
    }

    /// The same for one turn of a session; whether it ran or waited.
    pub(crate) fn abort_turn(
        &self,
        key: &SessionKey,
        turn: &TurnId,
    ) -> impl Future<Output = bool> + Send + use<> {
        let (reply, done) = oneshot::channel();
        self.tell(key, LaneMessage::AbortTurn { turn: turn.clone(), reply });
        async move { done.await.unwrap_or(false) }
    }

    /// A session that has no lane does nothing: the message is dropped, and that is the answer.
    fn tell(&self, key: &SessionKey, message: LaneMessage) {
        if let Some(lane) = unpoisoned(&self.open).get(key) {
            let _ = lane.mailbox.send(message);
        }
    }

    /// A lane is done with some messages.
    pub(crate) fn done(&self, key: &SessionKey, messages: usize) {
        if let Some(lane) = unpoisoned(&self.open).get_mut(key) {
            lane.busy = lane.busy.saturating_sub(messages);
        }
        self.ended.notify_waiters();
    }

    /// Closes a lane that has nothing to do; not if something goes on beside it, or something was sent to
    /// it in this very moment.
    pub(crate) fn close(&self, key: &SessionKey, mailbox: &mpsc::UnboundedReceiver<LaneMessage>) -> bool {
        let mut lanes = unpoisoned(&self.open);
        let is_idle = mailbox.is_empty() && lanes.get(key).is_none_or(|lane| lane.busy == 0);
        if is_idle {
            lanes.remove(key);
        }
        is_idle
    }

    /// How many messages of a session are not done with.
    pub(crate) fn messages(&self, key: &SessionKey) -> usize {
        unpoisoned(&self.open).get(key).map_or(0, |lane| lane.busy)
    }

    /// How many lanes are open.
    pub(crate) fn count(&self) -> usize {
        unpoisoned(&self.open).len()
    }

    /// The sessions in which something goes on or waits.
    pub(crate) fn keys(&self) -> Vec<SessionKey> {
        let lanes = unpoisoned(&self.open);
        lanes.iter().filter(|(_, lane)| lane.busy > 0).map(|(key, _)| key.clone()).collect()
    }

    /// Comes back when nothing goes on.
    pub(crate) async fn idle(&self) {
        loop {
            let ended = self.ended.notified();
            tokio::pin!(ended);
            ended.as_mut().enable();
            if self.keys().is_empty() {
                return;
            }
            ended.await;
        }
    }
}
