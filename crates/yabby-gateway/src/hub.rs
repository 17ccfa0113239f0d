//! Everybody who is connected, and how they are told of what happens (`gateway.md` §4).
//!
//! One counter numbers what is told to all; it goes on also where somebody may not hear it. Whoever reads too
//! slowly misses what can be missed, and is cut off before anything else is lost. One large message makes nobody slow.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use axum::extract::ws::Utf8Bytes;
use tokio::sync::{Notify, Semaphore, SemaphorePermit};
use tokio_util::sync::CancellationToken;
use yabby_domain::device::Role;

use crate::frames::Event;
use crate::in_turn::InTurn;
use crate::unpoisoned;

/// How much may wait for somebody before they count as slow.
pub(crate) const MAX_BUFFERED: usize = 3 * 512 * 1024;
/// How much that must not be missed may wait for somebody, beside the largest message, before they are cut off. What is
/// told to all is kept once, however many it waits for.
const MAX_WAITING: usize = 16 * 1024 * 1024;
/// How much is written at once.
pub(crate) const WRITTEN_AT_ONCE: usize = 16 * 1024;
/// How many answers are made for somebody at once, of those that may be long.
const MADE_AT_ONCE: usize = 4;

/// Somebody who is connected and has said who they are.
#[derive(Debug)]
pub(crate) struct Client {
    /// The name of the connection.
    pub(crate) id: String,
    pub(crate) about: About,
    pub(crate) role: Role,
    pub(crate) scopes: Vec<String>,
    /// The device that signed for them.
    pub(crate) device: Option<String>,
    /// They were let in because they knew the secret that clients share.
    pub(crate) knew_secret: bool,
    /// The name under which others see that they are there.
    pub(crate) presence: Option<String>,
    pub(crate) out: Outgoing,
    /// Messages for a session are accepted in the order in which they came.
    pub(crate) accepting: InTurn,
}

/// What a client says about itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct About {
    pub(crate) id: String,
    pub(crate) mode: String,
    pub(crate) version: String,
    pub(crate) platform: String,
    pub(crate) display_name: Option<String>,
    pub(crate) device_family: Option<String>,
    pub(crate) model_identifier: Option<String>,
    pub(crate) instance: Option<String>,
    pub(crate) capabilities: Vec<String>,
}

impl About {
    /// A command line comes and goes; nobody is told.
    pub(crate) fn is_command_line(&self) -> bool {
        self.mode == "cli"
    }

    /// A conversation in a browser.
    pub(crate) fn is_webchat(&self) -> bool {
        self.mode == "webchat" || self.id == "webchat-ui"
    }

    pub(crate) fn is_control_ui(&self) -> bool {
        self.id == CONTROL_UI
    }

    pub(crate) fn takes_tool_events(&self) -> bool {
        self.capabilities.iter().any(|capability| capability == "tool-events")
    }
}

pub(crate) const CONTROL_UI: &str = "openclaw-control-ui";

impl Client {
    pub(crate) fn has_scope(&self, scope: &str) -> bool {
        self.scopes.iter().any(|own| own == scope || own == ADMIN)
    }
}

/// The scope that includes all others.
pub(crate) const ADMIN: &str = "operator.admin";
pub(crate) const APPROVALS: &str = "operator.approvals";
pub(crate) const PAIRING: &str = "operator.pairing";

/// What is on its way to somebody.
#[derive(Clone, Debug)]
pub(crate) struct Outgoing(Arc<Way>);

#[derive(Debug)]
struct Way {
    /// Whoever has something to say puts it here, and the one who writes takes it; nobody holds it for longer.
    queue: Mutex<Queue>,
    /// There is something to write.
    news: Notify,
    buffered: AtomicUsize,
    /// The size of the largest message since nothing waited.
    largest: AtomicUsize,
    drained: Notify,
    making: Semaphore,
    end: CancellationToken,
    why: OnceLock<Farewell>,
}

#[derive(Debug, Default)]
struct Queue {
    texts: VecDeque<Utf8Bytes>,
    bytes: usize,
    /// More is about to come.
    is_held: bool,
}

impl Queue {
    /// Whether it is to be written now.
    fn is_ready(&self) -> bool {
        !self.texts.is_empty() && (!self.is_held || self.bytes >= WRITTEN_AT_ONCE)
    }
}

/// How a connection ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Farewell {
    pub(crate) code: u16,
    pub(crate) reason: String,
}

impl Farewell {
    /// A reason fits into a frame, whatever it says.
    pub(crate) fn new(code: u16, reason: &str) -> Self {
        const LONGEST: usize = 120;
        let end = (0..=LONGEST.min(reason.len())).rev().find(|end| reason.is_char_boundary(*end));
        Self { code, reason: reason.get(..end.unwrap_or(0)).unwrap_or_default().to_owned() }
    }
}

impl Outgoing {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Way {
            queue: Mutex::default(),
            news: Notify::new(),
            buffered: AtomicUsize::new(0),
            largest: AtomicUsize::new(0),
            drained: Notify::new(),
            making: Semaphore::new(MADE_AT_ONCE),
            end: CancellationToken::new(),
            why: OnceLock::new(),
        }))
    }

    pub(crate) fn send(&self, text: impl Into<Utf8Bytes>) {
        let text = text.into();
        self.0.buffered.fetch_add(text.len(), Ordering::Relaxed);
        self.0.largest.fetch_max(text.len(), Ordering::Relaxed);
        let mut queue = unpoisoned(&self.0.queue);
        queue.bytes += text.len();
        queue.texts.push_back(text);
        if queue.is_ready() {
            self.0.news.notify_one();
        }
    }

    /// Does something, and has what is sent meanwhile written together: all of it, or so much as is written at once.
    pub(crate) fn together<T>(&self, act: impl FnOnce() -> T) -> T {
        let _held = Held::begin(&self.0);
        act()
    }

    /// What is to be written, once there is something.
    pub(crate) async fn waiting(&self) -> VecDeque<Utf8Bytes> {
        loop {
            let waiting = self.take();
            if !waiting.is_empty() {
                return waiting;
            }
            self.0.news.notified().await;
        }
    }

    /// What is to be written by now.
    fn take(&self) -> VecDeque<Utf8Bytes> {
        let mut queue = unpoisoned(&self.0.queue);
        if !queue.is_ready() {
            return VecDeque::new();
        }
        queue.bytes = 0;
        std::mem::take(&mut queue.texts)
    }

    /// So many bytes were written.
    pub(crate) fn written(&self, bytes: usize) {
        if self.0.buffered.fetch_sub(bytes, Ordering::Relaxed) == bytes {
            self.0.largest.store(0, Ordering::Relaxed);
        }
        if !self.is_slow() {
            self.0.drained.notify_waiters();
        }
    }

    pub(crate) fn is_slow(&self) -> bool {
        self.0.buffered.load(Ordering::Relaxed) > MAX_BUFFERED
    }

    /// Whether so much waits that they will not catch up.
    fn is_overrun(&self) -> bool {
        let largest = self.0.largest.load(Ordering::Relaxed);
        self.0.buffered.load(Ordering::Relaxed) > MAX_WAITING + largest
    }

    /// Comes back when not too much waits any more.
    pub(crate) async fn drained(&self) {
        loop {
            let drained = self.0.drained.notified();
            tokio::pin!(drained);
            drained.as_mut().enable();
            if !self.is_slow() {
                return;
            }
            drained.await;
        }
    }

    /// Room to make an answer that may be long. Whoever does not read gets no more of them until they do.
    pub(crate) async fn room(&self) -> Option<SemaphorePermit<'_>> {
        let permit = self.0.making.acquire().await.ok();
        tokio::select! {
            () = self.drained() => {}
            _ = self.ended() => {}
        }
        permit
    }

    /// Ends the connection. What waits is still written, unless nobody reads it.
    pub(crate) fn end(&self, farewell: Farewell) {
        let _ = self.0.why.set(farewell);
        self.0.end.cancel();
    }

    /// Comes back when somebody ended the connection.
    pub(crate) async fn ended(&self) -> Farewell {
        self.0.end.cancelled().await;
        self.0.why.get().cloned().unwrap_or(Farewell { code: 1000, reason: String::new() })
    }
}

/// As long as it is there, nothing is written.
struct Held<'w>(&'w Way);

impl<'w> Held<'w> {
    fn begin(way: &'w Way) -> Self {
        unpoisoned(&way.queue).is_held = true;
        Self(way)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        unpoisoned(&self.0.queue).is_held = false;
        self.0.news.notify_one();
    }
}

/// Whether an event may be missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    /// The next one makes up for it.
    Droppable,
    Needed,
}

#[derive(Default)]
pub(crate) struct Hub(Mutex<Connected>);

#[derive(Default)]
struct Connected {
    seq: u64,
    clients: HashMap<String, Arc<Client>>,
}

impl Hub {
    /// Lets somebody in. What `greeting` sends them comes before anything that is told to all.
    pub(crate) fn join_after(&self, client: Arc<Client>, greeting: impl FnOnce()) {
        let mut connected = unpoisoned(&self.0);
        greeting();
        connected.clients.insert(client.id.clone(), client);
    }

    pub(crate) fn leave(&self, id: &str) {
        unpoisoned(&self.0).clients.remove(id);
    }

    /// How many events were told.
    pub(crate) fn told(&self) -> u64 {
        unpoisoned(&self.0).seq
    }

    pub(crate) fn count(&self) -> usize {
        unpoisoned(&self.0).clients.len()
    }

    pub(crate) fn find(&self, id: &str) -> Option<Arc<Client>> {
        unpoisoned(&self.0).clients.get(id).cloned()
    }

    /// Tells whoever may hear it.
    pub(crate) fn tell(&self, event: &Event, weight: Weight, hearers: Hearers<'_>) {
        let mut connected = unpoisoned(&self.0);
        connected.seq += 1;
        let text = Utf8Bytes::from(event.numbered(connected.seq));
        for client in connected.clients.values().filter(|client| hearers.include(client)) {
            match weight {
                Weight::Droppable if client.out.is_slow() => {}
                Weight::Needed if client.out.is_overrun() => {
                    client.out.end(Farewell::new(1008, "slow consumer"));
                }
                Weight::Droppable | Weight::Needed => client.out.send(text.clone()),
            }
        }
    }

    /// Ends the connections of such clients.
    pub(crate) fn end(&self, farewell: &Farewell, which: impl Fn(&Client) -> bool) {
        for client in unpoisoned(&self.0).clients.values().filter(|client| which(client)) {
            client.out.end(farewell.clone());
        }
    }
}

/// Who hears of something.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Hearers<'h> {
    Everybody,
    /// Everybody but nodes: a camera or a screen has no part in what people say.
    Operators,
    /// Operators with a scope.
    With(&'h str),
}

impl Hearers<'_> {
    fn include(self, client: &Client) -> bool {
        match self {
            Self::Everybody => true,
            Self::Operators => client.role == Role::Operator,
            Self::With(scope) => client.role == Role::Operator && client.has_scope(scope),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn client(id: &str, scopes: &[&str]) -> Arc<Client> {
        Arc::new(Client {
            id: id.to_owned(),
            about: About::default(),
            role: Role::Operator,
            scopes: scopes.iter().map(|&scope| scope.to_owned()).collect(),
            device: None,
            knew_secret: true,
            presence: None,
            out: Outgoing::new(),
            accepting: InTurn::default(),
        })
    }

    #[test]
    fn what_needs_a_scope_is_heard_by_those_who_have_it_and_counted_by_all() {
        let hub = Hub::default();
        let (owner, guest) = (client("a", &[ADMIN]), client("b", &["operator.read"]));
        hub.join_after(owner.clone(), || {});
        hub.join_after(guest.clone(), || {});
        hub.tell(&Event::new("secret", &json!({}), None), Weight::Needed, Hearers::With(PAIRING));
        hub.tell(&Event::new("tick", &json!({}), None), Weight::Droppable, Hearers::Everybody);
        let seq = |text: &Utf8Bytes| serde_json::from_str::<serde_json::Value>(text).unwrap()["seq"].as_u64();
        let heard = |client: &Client| -> Vec<_> { client.out.take().iter().filter_map(seq).collect() };
        assert_eq!(heard(&owner), [1, 2]);
        assert_eq!(heard(&guest), [2]);
    }

    #[tokio::test]
    async fn whoever_reads_too_slowly_misses_ticks_and_is_cut_off_before_missing_more() {
        let hub = Hub::default();
        let slow = client("a", &[]);
        hub.join_after(slow.clone(), || {});
        let large = "x".repeat(MAX_WAITING / 4);
        slow.out.send(large.clone());
        hub.tell(&Event::new("tick", &json!({}), None), Weight::Droppable, Hearers::Everybody);
        assert_eq!(slow.out.take().len(), 1, "the tick was not sent");
        hub.tell(&Event::new("agent", &json!({}), None), Weight::Needed, Hearers::Everybody);
        assert_eq!(slow.out.take().len(), 1, "one large message makes nobody slow");
        for _ in 0..5 {
            slow.out.send(large.clone());
        }
        hub.tell(&Event::new("agent", &json!({}), None), Weight::Needed, Hearers::Everybody);
        assert_eq!(slow.out.ended().await, Farewell::new(1008, "slow consumer"));
    }

    #[tokio::test]
    async fn what_is_sent_together_is_written_together_and_in_order() {
        let out = Outgoing::new();
        out.together(|| {
            out.send("1");
            out.send("2");
            assert!(out.take().is_empty(), "nothing is written before the rest is there");
        });
        out.send("3");
        assert_eq!(out.waiting().await, ["1", "2", "3"].map(Utf8Bytes::from));
        let writer = out.clone();
        let writing = tokio::spawn(async move { writer.waiting().await });
        tokio::task::yield_now().await;
        out.send("4");
        assert_eq!(writing.await.unwrap(), [Utf8Bytes::from("4")]);
        out.together(|| {
            out.send("x".repeat(WRITTEN_AT_ONCE));
            assert_eq!(out.take().len(), 1, "as much as this is not held up");
        });
    }
}
