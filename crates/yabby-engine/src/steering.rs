//! Reaching a run that is going on: to stop it, or to slip a message into it.

use std::collections::VecDeque;
use std::sync::Mutex;

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use yabby_domain::queue::LaneState;
use yabby_domain::turn::TurnId;

use crate::inbound::Inbound;
use crate::report::TurnReport;
use crate::unpoisoned;

/// A message, and who waits for what becomes of it.
pub(crate) struct QueuedTurn {
    pub(crate) inbound: Inbound,
    pub(crate) done: Option<oneshot::Sender<TurnReport>>,
}

/// The run of a lane, as the lane sees it.
#[derive(Default)]
pub(crate) struct RunControl {
    pub(crate) cancel: CancellationToken,
    steering: Mutex<Steering>,
}

#[derive(Default)]
struct Steering {
    /// The model is being asked, and can still be told something.
    open: bool,
    waiting: VecDeque<QueuedTurn>,
    /// Messages that the run took along; it answers for them.
    taken: Vec<QueuedTurn>,
}

impl RunControl {
    pub(crate) fn state(&self) -> LaneState {
        LaneState::Running { accepts_steering: unpoisoned(&self.steering).open }
    }

    /// Slips a message into the run; it comes back if the run takes none.
    pub(crate) fn steer(&self, asked: QueuedTurn) -> Result<(), Box<QueuedTurn>> {
        let mut steering = unpoisoned(&self.steering);
        if !steering.open {
            return Err(Box::new(asked));
        }
        steering.waiting.push_back(asked);
        Ok(())
    }

    /// Takes back a message that was slipped in, if the run did not get to it yet.
    pub(crate) fn take_back(&self, turn: &TurnId) -> Option<QueuedTurn> {
        let mut steering = unpoisoned(&self.steering);
        let at = steering.waiting.iter().position(|asked| asked.inbound.turn == *turn)?;
        steering.waiting.remove(at)
    }

    /// The run takes messages from now on.
    pub(crate) fn open(&self) {
        unpoisoned(&self.steering).open = true;
    }

    /// What was slipped in since this was last asked: between two calls of the model.
    pub(crate) fn steered(&self) -> Vec<Inbound> {
        unpoisoned(&self.steering).take()
    }

    /// The same at the end of a run: if nothing was slipped in, nothing is taken any more.
    pub(crate) fn followed_up(&self) -> Vec<Inbound> {
        let mut steering = unpoisoned(&self.steering);
        let taken = steering.take();
        steering.open = !taken.is_empty();
        taken
    }

    /// The messages that the run took along.
    pub(crate) fn taken(&self) -> Vec<Inbound> {
        unpoisoned(&self.steering).taken.iter().map(|asked| asked.inbound.clone()).collect()
    }

    /// The run begins again, and is told these messages once more.
    pub(crate) fn tell_again(&self, turns: &[TurnId]) {
        let mut steering = unpoisoned(&self.steering);
        let taken = std::mem::take(&mut steering.taken);
        let (again, taken): (Vec<QueuedTurn>, Vec<QueuedTurn>) =
            taken.into_iter().partition(|asked| turns.contains(&asked.inbound.turn));
        steering.taken = taken;
        again.into_iter().rev().for_each(|asked| steering.waiting.push_front(asked));
    }

    /// Ends the run: the messages that it took along, and those that it did not get to.
    pub(crate) fn close(&self) -> (Vec<QueuedTurn>, VecDeque<QueuedTurn>) {
        let mut steering = unpoisoned(&self.steering);
        steering.open = false;
        (std::mem::take(&mut steering.taken), std::mem::take(&mut steering.waiting))
    }
}

impl Steering {
    fn take(&mut self) -> Vec<Inbound> {
        let asked: Vec<QueuedTurn> = self.waiting.drain(..).collect();
        let inbound = asked.iter().map(|asked| asked.inbound.clone()).collect();
        self.taken.extend(asked);
        inbound
    }
}
