//! A WebSocket connection of a scenario: what comes in is told as it comes.

use std::time::Duration;

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::net::TcpStream;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::handshake::client::{Request, generate_key};
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

/// Whoever does not read for so long is not waited for.
const PATIENCE: Duration = Duration::from_secs(30);
/// So long after its last words the other side must have hung up.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// Codes that are not sent: there was no code, or not even an end.
const NO_STATUS: u16 = 1005;
const ABNORMAL: u16 = 1006;

/// Something that happened on a connection.
pub(super) enum Heard {
    Text(String),
    Closed {
        code: u16,
        reason: String,
    },
    /// It could not be opened.
    Refused(String),
}

/// What a task of a scenario tells: on which connection, and what.
pub(super) type Ear = UnboundedSender<(String, Heard)>;

pub(super) struct Connection {
    to: SplitSink<WebSocketStream<TcpStream>, Message>,
    listening: JoinHandle<()>,
}

impl Connection {
    pub(super) async fn open(
        port: u16,
        headers: &[(String, String)],
        name: &str,
        ear: Ear,
    ) -> Result<Self, String> {
        let request = request(port, headers).map_err(|error| error.to_string())?;
        let stream = TcpStream::connect(("127.0.0.1", port)).await.map_err(|error| error.to_string())?;
        // The reference clients take frames of any size, too.
        let unlimited = WebSocketConfig::default().max_message_size(None).max_frame_size(None);
        let (socket, _) = client_async_with_config(request, stream, Some(unlimited))
            .await
            .map_err(|error| error.to_string())?;
        let (to, from) = socket.split();
        let listening = tokio::spawn(listen(from, name.to_owned(), ear));
        Ok(Self { to, listening })
    }

    /// Sends a text; whoever has closed the connection meanwhile does not read it.
    pub(super) async fn send(&mut self, text: String) {
        let _ = timeout(PATIENCE, self.to.send(Message::text(text))).await;
    }

    pub(super) async fn close(&mut self, code: u16, reason: &str) {
        let frame = CloseFrame { code: CloseCode::from(code), reason: reason.into() };
        let _ = timeout(PATIENCE, self.to.send(Message::Close(Some(frame)))).await;
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

fn request(port: u16, headers: &[(String, String)]) -> Result<Request, Error> {
    let mut request = Request::builder()
        .uri(format!("ws://127.0.0.1:{port}/"))
        .header("Connection", "Upgrade")
        .header("Upgrade", "websocket")
        .header("Sec-WebSocket-Version", "13")
        .header("Sec-WebSocket-Key", generate_key());
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
        request = request.header("Host", format!("127.0.0.1:{port}"));
    }
    for (name, value) in headers {
        request = request.header(name, value);
    }
    Ok(request.body(())?)
}

async fn listen(mut from: SplitStream<WebSocketStream<TcpStream>>, name: String, ear: Ear) {
    let mut closed = None;
    while closed.is_none() {
        let heard = match from.next().await {
            Some(Ok(Message::Text(text))) => Heard::Text(text.to_string()),
            Some(Ok(Message::Binary(bytes))) => Heard::Text(String::from_utf8_lossy(&bytes).into_owned()),
            Some(Ok(Message::Close(Some(frame)))) => {
                closed = Some((frame.code.into(), frame.reason.to_string()));
                continue;
            }
            Some(Ok(Message::Close(None))) => {
                closed = Some((NO_STATUS, String::new()));
                continue;
            }
            Some(Ok(_)) => continue,
            Some(Err(_)) | None => break,
        };
        if ear.send((name.clone(), heard)).is_err() {
            return;
        }
    }
    // It is closed when both sides have said so, and the line is down.
    let down = async { while let Some(Ok(_)) = from.next().await {} };
    let _ = timeout(LAST_WORDS, down).await;
    let (code, reason) = closed.unwrap_or((ABNORMAL, String::new()));
    let _ = ear.send((name, Heard::Closed { code, reason }));
}
