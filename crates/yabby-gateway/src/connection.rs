//! One connection: a challenge, a handshake, then requests and what is told (`gateway.md` §1, §2).

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket};
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, SplitSink, SplitStream};
use futures_util::{FutureExt as _, SinkExt as _, StreamExt as _};
use serde_json::json;
use tokio_tungstenite::tungstenite;
use yabby_domain::json::{self, Object, Value};
use yabby_domain::text;

use crate::Gateway;
use crate::auth::Peer;
use crate::frames::{self, Event, Payload, Refusal, Request};
use crate::handshake::{self, Admitted, Rejection};
use crate::hub::{Client, Farewell, Outgoing};
use crate::kept::Moment;
use crate::methods::{self, After};

/// How long somebody may take to say who they are.
pub(crate) const HANDSHAKE: Duration = Duration::from_secs(10);
/// How long whoever is told goodbye may take to hear it.
const GOODBYE: Duration = Duration::from_secs(2);
/// The same where the whole gateway ends.
const LAST_GOODBYE: Duration = Duration::from_millis(300);
/// How many requests of one connection are dealt with at once.
const AT_ONCE: usize = 64;
/// How many requests of one connection may wait for a run or a person.
const WAITED_FOR: usize = 1024;

type Sink = SplitSink<WebSocket, Message>;
type Stream = SplitStream<WebSocket>;

/// Serves somebody until they leave.
pub(crate) async fn serve(gateway: Arc<Gateway>, socket: WebSocket, peer: Peer) {
    let _here = gateway.tasks.token();
    gateway.counts.connections.fetch_add(1, Ordering::Relaxed);
    let (sink, mut stream) = socket.split();
    let out = Outgoing::new();
    let writing = tokio::spawn(write(sink, out.clone()));
    let id = uuid::Uuid::new_v4().to_string();
    let nonce = uuid::Uuid::new_v4().to_string();
    let challenge = json!({"nonce": nonce, "ts": gateway.now()});
    out.send(Event::new("connect.challenge", &challenge, None).targeted());
    let greeting = greet(&gateway, &peer, &nonce, &id, &out, &mut stream);
    let farewell = match tokio::time::timeout(HANDSHAKE, greeting).await {
        Ok(Ok(admitted)) => Some(attend(&gateway, admitted, &mut stream).await),
        Ok(Err(farewell)) => Some(farewell),
        Err(_) => Some(Farewell::new(1000, "")),
    };
    if let Some(farewell) = farewell {
        out.end(farewell);
    }
    // Whoever does not listen any more is left.
    let _ = tokio::time::timeout(GOODBYE, writing).await;
    let patience = if gateway.ending.is_cancelled() { LAST_GOODBYE } else { GOODBYE };
    let hearing = async { while let Some(Ok(_)) = stream.next().await {} };
    let _ = tokio::time::timeout(patience, hearing).await;
}

/// Writes what waits, and the last word.
async fn write(mut sink: Sink, out: Outgoing) {
    let farewell = loop {
        tokio::select! {
            // What was said before the end is heard before it.
            biased;
            texts = out.waiting() => tokio::select! {
                done = write_all(&mut sink, texts, &out) => if !done { return },
                farewell = slow_end(&out) => break farewell,
            },
            farewell = out.ended() => break farewell,
        }
    };
    let frame = CloseFrame { code: farewell.code, reason: farewell.reason.into() };
    let goodbye = async {
        let _ = sink.send(Message::Close(Some(frame))).await;
    };
    let _ = tokio::time::timeout(GOODBYE, goodbye).await;
}

/// The end of somebody who does not read what waits for them.
async fn slow_end(out: &Outgoing) -> Farewell {
    let farewell = out.ended().await;
    if !out.is_slow() {
        tokio::time::sleep(GOODBYE).await;
    }
    farewell
}

/// Writes texts in one go; whether somebody is still there.
async fn write_all(sink: &mut Sink, texts: VecDeque<Utf8Bytes>, out: &Outgoing) -> bool {
    for text in texts {
        let length = text.len();
        let fed = sink.feed(Message::Text(text)).await;
        out.written(length);
        if fed.is_err() {
            return false;
        }
    }
    sink.flush().await.is_ok()
}

/// What came next.
enum Heard {
    Frame(Value),
    /// A text that is no JSON, or something that is no text.
    Noise,
    Gone(Farewell),
}

async fn hear(stream: &mut Stream) -> Heard {
    loop {
        match stream.next().await {
            Some(Ok(Message::Text(text))) => {
                return json::parse(&text).map_or(Heard::Noise, Heard::Frame);
            }
            Some(Ok(Message::Binary(bytes))) => {
                let text = String::from_utf8_lossy(&bytes);
                return json::parse(&text).map_or(Heard::Noise, Heard::Frame);
            }
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
            Some(Ok(Message::Close(frame))) => {
                let farewell = frame.map(|frame| Farewell::new(frame.code, &frame.reason));
                return Heard::Gone(farewell.unwrap_or_else(|| Farewell::new(1000, "")));
            }
            Some(Err(error)) => return Heard::Gone(fault(error)),
            None => return Heard::Gone(Farewell::new(1006, "")),
        }
    }
}

/// What is said to somebody whose frames cannot be read.
fn fault(error: axum::Error) -> Farewell {
    let error = error.into_inner();
    match error.downcast_ref::<tungstenite::Error>() {
        Some(tungstenite::Error::Capacity(_)) => Farewell::new(1009, ""),
        Some(tungstenite::Error::Utf8(_)) => Farewell::new(1007, ""),
        Some(tungstenite::Error::Protocol(_)) => Farewell::new(1002, ""),
        _ => Farewell::new(1006, ""),
    }
}

/// The first request.
async fn greet(
    gateway: &Arc<Gateway>,
    peer: &Peer,
    nonce: &str,
    id: &str,
    out: &Outgoing,
    stream: &mut Stream,
) -> Result<Admitted, Farewell> {
    let mut frame = match hear(stream).await {
        Heard::Frame(frame) => frame,
        Heard::Noise => return Err(Farewell::new(1000, "")),
        Heard::Gone(farewell) => return Err(farewell),
    };
    let request = Request::take(&mut frame).map_err(|_| Farewell::new(1008, "invalid request frame"))?;
    match handshake::admit(gateway, peer, nonce, id, out.clone(), &request).await {
        Ok(admitted) => {
            // Everything that is told from now on comes after the welcome.
            gateway.hub.join_after(admitted.client.clone(), || {
                out.send(frames::response(request.id.clone().into(), Ok(admitted.hello.clone())));
            });
            Ok(admitted)
        }
        Err(Rejection { refusal, farewell }) => {
            gateway.counts.rejected.fetch_add(1, Ordering::Relaxed);
            // Strangers do not fill the log.
            let why = text::head(&refusal.message, 200);
            tracing::warn!(connection = id, client = peer.address.map(tracing::field::display), %why, "somebody was not let in");
            out.send(frames::response(request.id.into(), Err(refusal)));
            Err(farewell)
        }
    }
}

/// Answers requests until the end; how it ends.
async fn attend(gateway: &Arc<Gateway>, admitted: Admitted, stream: &mut Stream) -> Farewell {
    let client = admitted.client;
    tracing::info!(connection = %client.id, client = %client.about.id, mode = %client.about.mode, "connected");
    let _leaving = Leaving { gateway, client: &client };
    let _approver = gateway.approver(&client);
    gateway.refresh_health();
    let mut begun = Begun::default();
    loop {
        tokio::select! {
            farewell = client.out.ended() => return farewell,
            Some(()) = begun.answering.next(), if !begun.answering.is_empty() => {}
            Some(()) = begun.waiting.next(), if !begun.waiting.is_empty() => {}
            () = client.out.drained(), if client.out.is_slow() => {}
            heard = hear(stream), if begun.answering.len() < AT_ONCE && !client.out.is_slow() => {
                if let Err(farewell) = begin_all(gateway, &client, &mut begun, heard, stream) {
                    return farewell;
                }
            }
        }
    }
}

/// Begins to answer what was heard, and what came with it; or how it ends.
fn begin_all(
    gateway: &Arc<Gateway>,
    client: &Arc<Client>,
    begun: &mut Begun,
    heard: Heard,
    stream: &mut Stream,
) -> Result<(), Farewell> {
    let (mut frames, mut next, mut farewell) = (Vec::new(), Some(heard), Ok(()));
    while let Some(heard) = next.take() {
        match heard {
            Heard::Frame(frame) => frames.push(frame),
            Heard::Noise => {}
            Heard::Gone(gone) => {
                farewell = Err(gone);
                break;
            }
        }
        if begun.answering.len() + frames.len() < AT_ONCE {
            next = hear(stream).now_or_never();
        }
    }
    let came = gateway.kept.moment();
    client.out.together(|| {
        for request in frames.into_iter().filter_map(|frame| read(gateway, client, frame)) {
            begun.begin(gateway, client, request, came);
        }
    });
    farewell
}

/// The requests of a connection that are not answered yet.
#[derive(Default)]
struct Begun {
    answering: FuturesUnordered<BoxFuture<'static, ()>>,
    /// Who waits for runs and people is heard all the same: an answer may be what they wait for.
    waiting: FuturesUnordered<BoxFuture<'static, ()>>,
}

impl Begun {
    /// Begins to answer. Requests begin in the order in which they came.
    fn begin(&mut self, gateway: &Arc<Gateway>, client: &Arc<Client>, request: Request, came: Moment) {
        let is_patient = methods::is_patient(&request.method);
        if is_patient && self.waiting.len() >= WAITED_FOR {
            let refusal = Refusal::unavailable(format!(
                "Error: {WAITED_FOR} requests of this connection are waited for already; try again when one is answered"
            ));
            client.out.send(frames::response(request.id.into(), Err(refusal)));
            return;
        }
        let mut answer = answer(gateway.clone(), client.clone(), request, came).boxed();
        if (&mut answer).now_or_never().is_none() {
            let unanswered = if is_patient { &mut self.waiting } else { &mut self.answering };
            unanswered.push(answer);
        }
    }
}

impl Drop for Begun {
    /// What was begun is finished, also if nobody hears of it.
    fn drop(&mut self) {
        for mut unfinished in [std::mem::take(&mut self.answering), std::mem::take(&mut self.waiting)] {
            if !unfinished.is_empty() {
                tokio::spawn(async move { while unfinished.next().await.is_some() {} });
            }
        }
    }
}

/// The request in a frame; whoever sent anything else is told so.
fn read(gateway: &Gateway, client: &Client, mut frame: Value) -> Option<Request> {
    match Request::take(&mut frame) {
        Ok(request) => {
            gateway.counts.requests.fetch_add(1, Ordering::Relaxed);
            Some(request)
        }
        Err(fault) => {
            let id = frame.get("id").filter(|id| !id.is_null()).cloned();
            let refusal = Refusal::invalid(format!("invalid request frame: {fault}"));
            client.out.send(frames::response(id.unwrap_or_else(|| "invalid".into()), Err(refusal)));
            None
        }
    }
}

/// Answers a request.
async fn answer(gateway: Arc<Gateway>, client: Arc<Client>, request: Request, came: Moment) {
    let after = After::default();
    let id = request.id.clone();
    client.out.send(match methods::answer(&gateway, &client, request, came, after.clone()).await {
        Ok(Payload::Written(payload)) => frames::written_response(&id, &payload),
        Ok(Payload::Value(value)) => frames::response(id.into(), Ok(value)),
        Err(refusal) => frames::response(id.into(), Err(refusal)),
    });
    after.answered();
}

/// Tells the others that somebody left, however that came.
struct Leaving<'l> {
    gateway: &'l Arc<Gateway>,
    client: &'l Arc<Client>,
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        let Self { gateway, client } = self;
        gateway.hub.leave(&client.id);
        tracing::info!(connection = %client.id, "disconnected");
        if let Some(key) = &client.presence {
            let told = Object::from_iter([("reason".to_owned(), Value::from("disconnect"))]);
            let now = gateway.now_ms();
            gateway.presence.note(key, told, now);
            gateway.presence_changed();
            // Where everybody leaves, nobody is told that somebody did.
            if gateway.ending.is_cancelled() {
                return;
            }
            gateway.refresh_presence();
        }
    }
}
