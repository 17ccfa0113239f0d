//! The server of a stand-in.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::fs::File;
use std::io::{self, Write as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use futures_util::stream;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::reply::{Piece, Reply};

/// A service on loopback. It is gone when this is dropped.
pub struct StandIn {
    address: String,
    room: Arc<Room>,
    serving: JoinHandle<()>,
}

#[derive(Default)]
struct Room {
    replies: Mutex<VecDeque<Reply>>,
    usual: Mutex<Option<Reply>>,
    seen: Mutex<Vec<Seen>>,
}

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Seen {
    /// With its query.
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: Value,
}

impl Seen {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

impl StandIn {
    pub async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("loopback has a free port");
        let address = listener.local_addr().expect("a listener has an address");
        let room = Arc::new(Room::default());
        let app = Router::new().fallback(answer).with_state(room.clone());
        let serving = tokio::spawn(async move {
            // It ends with the test.
            let _ = axum::serve(listener, app).await;
        });
        Self { address: format!("http://{address}"), room, serving }
    }

    pub fn address(&self) -> &str {
        &self.address
    }

    /// What it says next, a reply for each request.
    pub fn will(&self, replies: impl IntoIterator<Item = Reply>) {
        unpoisoned(&self.room.replies).extend(replies);
    }

    /// What it says when there is nothing else to say.
    pub fn otherwise(&self, reply: Reply) {
        *unpoisoned(&self.room.usual) = Some(reply);
    }

    /// Everything that it was asked, in order.
    pub fn seen(&self) -> Vec<Seen> {
        unpoisoned(&self.room.seen).clone()
    }

    /// The body of the last request.
    pub fn last_body(&self) -> Value {
        unpoisoned(&self.room.seen).last().map(|seen| seen.body.clone()).unwrap_or_default()
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn answer(State(room): State<Arc<Room>>, request: Request) -> Result<Response, Infallible> {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let header = |(name, value): (&axum::http::HeaderName, &axum::http::HeaderValue)| {
        (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
    };
    let seen = Seen {
        path: parts.uri.path_and_query().map(ToString::to_string).unwrap_or_default(),
        headers: parts.headers.iter().map(header).collect(),
        body: serde_json::from_slice(&body).unwrap_or_default(),
    };
    take_down(&seen.path, &seen.body);
    unpoisoned(&room.seen).push(seen);
    let unasked = || Reply::json(500, &serde_json::json!({"error": "the script is at an end"}));
    let next = unpoisoned(&room.replies).pop_front();
    let reply = next.or_else(|| unpoisoned(&room.usual).clone()).unwrap_or_else(unasked);
    Ok(response(reply))
}

/// A reply on the wire, piece by piece.
pub(super) fn response(reply: Reply) -> Response {
    let mut response = Response::builder().status(reply.status);
    for (name, value) in &reply.headers {
        response = response.header(name, value);
    }
    let pieces = stream::unfold(reply.pieces.into_iter(), |mut pieces| async move {
        loop {
            match pieces.next()? {
                Piece::Bytes(bytes) => {
                    // So that what was said reaches the other side before what follows.
                    tokio::task::yield_now().await;
                    return Some((Ok(bytes), pieces));
                }
                Piece::Wait(time) => tokio::time::sleep(time).await,
                Piece::Cut => {
                    // What was said before has to be on its way, or it is lost with the line.
                    tokio::time::sleep(Duration::from_millis(30)).await;
                    return Some((Err(io::Error::other("cut")), pieces));
                }
            }
        }
    });
    response.body(Body::from_stream(pieces)).expect("scripts have valid headers")
}

/// Writes a request into the file that `YABBY_TAKE_DOWN` names, for whoever judges it later.
pub(super) fn take_down(path: &str, body: &Value) {
    let Some(file) = std::env::var_os("YABBY_TAKE_DOWN") else { return };
    let line = format!("{}\n", serde_json::json!({"path": path, "body": body}));
    let mut file = File::options().create(true).append(true).open(file).expect("the file can be opened");
    file.write_all(line.as_bytes()).expect("the file can be written");
}

fn unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
