//! A client of the gateway that is measured.

use std::time::Duration;

use futures_util::{FutureExt as _, SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use crate::Result;
use crate::program::{PORT, TOKEN};

/// The reference takes half a minute for a turn with many sessions.
const PATIENCE: Duration = Duration::from_secs(300);

pub struct Client {
    socket: WebSocketStream<TcpStream>,
    asked: u64,
}

impl Client {
    /// Connects, and waits for its hello.
    pub async fn connect() -> Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", PORT)).await?;
        stream.set_nodelay(true)?;
        let unlimited = WebSocketConfig::default().max_message_size(None).max_frame_size(None);
        let address = format!("ws://127.0.0.1:{PORT}/");
        let (socket, _) = client_async_with_config(address, stream, Some(unlimited)).await?;
        let mut client = Self { socket, asked: 0 };
        client.frame_where(|frame| frame["event"] == "connect.challenge").await?;
        let params = json!({
            "minProtocol": 3,
            "maxProtocol": 3,
            "client": {"id": "cli", "version": "1", "platform": "linux", "mode": "cli"},
            "role": "operator",
            "scopes": ["operator.admin"],
            "auth": {"token": TOKEN},
        });
        let hello = client.ask("connect", &params).await?;
        if hello["type"] != "hello-ok" {
            return Err(format!("instead of a hello: {hello}").into());
        }
        Ok(client)
    }

    /// Asks, and waits for the last answer.
    pub async fn ask(&mut self, method: &str, params: &Value) -> Result<Value> {
        let id = self.send(method, params).await?;
        let frame = self.frame_where(|frame| frame["id"] == *id && !is_first(frame)).await?;
        payload(frame)
    }

    /// Asks without waiting; the id of the request.
    pub async fn send(&mut self, method: &str, params: &Value) -> Result<String> {
        let id = self.prepare(method, params).await?;
        self.socket.flush().await?;
        Ok(id)
    }

    /// Asks with whatever is asked next.
    pub async fn prepare(&mut self, method: &str, params: &Value) -> Result<String> {
        self.asked += 1;
        let id = format!("r{}", self.asked);
        let frame = json!({"type": "req", "id": id, "method": method, "params": params});
        self.socket.feed(Message::text(frame.to_string())).await?;
        Ok(id)
    }

    /// The next text. What was prepared is asked before anything is waited for.
    pub async fn text_or_ask(&mut self) -> Result<String> {
        if let Some(text) = self.text().now_or_never() {
            return text;
        }
        self.socket.flush().await?;
        self.text().await
    }

    /// The next frame that is meant.
    pub async fn frame_where(&mut self, is_meant: impl Fn(&Value) -> bool) -> Result<Value> {
        loop {
            let frame = serde_json::from_str(&self.text().await?)?;
            if is_meant(&frame) {
                return Ok(frame);
            }
        }
    }

    /// The next text.
    pub async fn text(&mut self) -> Result<String> {
        loop {
            match timeout(PATIENCE, self.socket.next()).await.map_err(|_| "the gateway does not answer")? {
                Some(Ok(Message::Text(text))) => return Ok(text.to_string()),
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(error.into()),
                None => return Err("the gateway hung up".into()),
            }
        }
    }

    /// Does nothing but listen for a while: who does not listen is cut off.
    pub async fn rest(&mut self, time: Duration) -> Result<()> {
        let until = Instant::now() + time;
        while let Ok(text) = timeout_at(until, self.text()).await {
            text?;
        }
        Ok(())
    }
}

/// Whether it only says that a message is on record.
pub fn is_first(frame: &Value) -> bool {
    frame["ok"] == true && frame["payload"]["status"] == "accepted"
}

pub fn payload(mut frame: Value) -> Result<Value> {
    if frame["ok"] == true { Ok(frame["payload"].take()) } else { Err(frame["error"].to_string().into()) }
}
