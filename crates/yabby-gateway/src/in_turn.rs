//! One at a time for each name, in the order in which they came: messages that one client sends to one session one
//! after the other, and requests that are the same.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use tokio::sync::oneshot;

use crate::unpoisoned;

/// Who has the turn of a name, and who waits for it. Shared, since whoever is done calls the next.
#[derive(Clone, Debug, Default)]
pub(crate) struct InTurn(Arc<Mutex<HashMap<String, VecDeque<oneshot::Sender<Turn>>>>>);

/// The turn of a name; the next one gets it when this is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    queues: InTurn,
    name: String,
}

impl InTurn {
    /// Waits for its turn. The place in the queue is taken as soon as this is called.
    pub(crate) fn turn(&self, name: &str) -> impl Future<Output = Option<Turn>> + Send + use<> {
        let (call, called) = oneshot::channel();
        let mut queues = unpoisoned(&self.0);
        match queues.get_mut(name) {
            Some(waiting) => waiting.push_back(call),
            None => {
                queues.insert(name.to_owned(), VecDeque::new());
                let _ = call.send(Turn { queues: self.clone(), name: name.to_owned() });
            }
        }
        drop(queues);
        async move { called.await.ok() }
    }

    /// The next one who waits for a name; nobody has it any more if there is none.
    fn next(&self, name: &str) -> Option<oneshot::Sender<Turn>> {
        let mut queues = unpoisoned(&self.0);
        let next = queues.get_mut(name).and_then(VecDeque::pop_front);
        if next.is_none() {
            queues.remove(name);
        }
        next
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(next) = self.queues.next(&self.name) {
            let turn = Self { queues: self.queues.clone(), name: self.name.clone() };
            // Whoever waits no longer drops it again, and calls the next.
            drop(next.send(turn));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn everybody_gets_the_turn_in_the_order_in_which_they_came() {
        let queues = InTurn::default();
        let first = queues.turn("a").await;
        let (second, left, third) = (queues.turn("a"), queues.turn("a"), queues.turn("a"));
        let other = queues.turn("b").await;
        assert!(first.is_some() && other.is_some(), "names do not wait for each other");
        drop(left);
        let order = Mutex::new(Vec::new());
        let take = async |number: u8, turn: std::pin::Pin<Box<dyn Future<Output = Option<Turn>> + Send>>| {
            let turn = turn.await;
            unpoisoned(&order).push(number);
            drop(turn);
        };
        let done = async {
            tokio::task::yield_now().await;
            unpoisoned(&order).push(1);
            drop(first);
        };
        tokio::join!(take(3, Box::pin(third)), take(2, Box::pin(second)), done);
        assert_eq!(*unpoisoned(&order), [1, 2, 3]);
        drop(other);
        assert!(unpoisoned(&queues.0).is_empty(), "nothing is kept of those who are done");
    }
}
