//! A gateway that listens for a test, and clients of it.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};
use yabby_config::environment::Environment;
use yabby_domain::seam::tool::Tool;
use yabby_gateway::{Listening, Memories, Parts, RestartWish, start};
use yabby_store::paths::{Choice, Place};
use yabby_testkit::stage::Stage;

pub const TOKEN: &str = "token-of-a-test";

/// A gateway, and what it stands on.
pub struct Stand {
    pub stage: Stage,
    pub listening: Listening,
    pub restarts: UnboundedReceiver<RestartWish>,
    home: tempfile::TempDir,
    port: u16,
}

impl Stand {
    /// With this configuration, and a token that clients know.
    pub async fn new(config: Value) -> Self {
        Self::with(config, Box::new(|_| None)).await
    }

    pub async fn with(config: Value, memories: Memories) -> Self {
        Self::on(config, memories, Vec::new()).await
    }

    pub async fn on(mut config: Value, memories: Memories, tools: Vec<Arc<dyn Tool>>) -> Self {
        let home = tempfile::tempdir().unwrap();
        config["gateway"]["mode"] = "local".into();
        config["gateway"]["auth"] = json!({"token": TOKEN});
        std::fs::create_dir(home.path().join(".openclaw")).unwrap();
        let text = serde_json::to_string_pretty(&config).unwrap();
        std::fs::write(home.path().join(".openclaw/openclaw.json"), text + "\n").unwrap();
        let stage = Stage { tools, ..Stage::new(config) };
        Self::start(stage, memories, home).await
    }

    /// Another gateway in the same home, after this one was killed.
    pub async fn restarted(self) -> Self {
        let Self { stage, listening, home, .. } = self;
        let stage = stage.killed();
        listening.stop("killed", None).await;
        Self::start(stage, Box::new(|_| None), home).await
    }

    async fn start(stage: Stage, memories: Memories, home: tempfile::TempDir) -> Self {
        let place = Place::find_around(&Choice::default(), Environment::default(), home.path(), home.path());
        let parts = Parts {
            engine: stage.engine(),
            config: stage.config.clone(),
            clock: stage.clock.clone(),
            place,
            version: "test".to_owned(),
            memories,
        };
        let (listening, restarts) = start(parts, &[IpAddr::V4(Ipv4Addr::LOCALHOST)], 0).await.unwrap();
        let port = listening.addresses[0].port();
        Self { stage, listening, restarts, home, port }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(".openclaw").join(name)
    }

    /// Somebody with these scopes.
    pub async fn client(&self, scopes: &[&str]) -> Client {
        self.client_as("operator", scopes).await
    }

    /// What a request over HTTP is answered, with these headers besides the usual ones.
    pub async fn http(&self, path: &str, headers: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).await.unwrap();
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\n{headers}\r\n",
            self.port
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// What somebody is answered who shows this secret.
    pub async fn shows(&self, token: &str) -> Value {
        let (socket, _) = connect_async(format!("ws://127.0.0.1:{}/", self.port)).await.unwrap();
        let mut client = Client { socket, count: 0, kept: Vec::new() };
        let params = json!({
            "minProtocol": 3,
            "maxProtocol": 3,
            "client": {"id": "gateway-client", "version": "1", "platform": "linux", "mode": "backend"},
            "auth": {"token": token},
        });
        client.ask("connect", params).await
    }

    /// Somebody in a role.
    pub async fn client_as(&self, role: &str, scopes: &[&str]) -> Client {
        let (socket, _) = connect_async(format!("ws://127.0.0.1:{}/", self.port)).await.unwrap();
        let mut client = Client { socket, count: 0, kept: Vec::new() };
        let params = json!({
            "minProtocol": 3,
            "maxProtocol": 3,
            "client": {"id": "gateway-client", "displayName": "tester", "version": "1", "platform": "linux", "mode": "backend"},
            "role": role,
            "scopes": scopes,
            "auth": {"token": TOKEN},
        });
        let hello = client.ask("connect", params).await;
        assert_eq!(hello["payload"]["type"], "hello-ok", "{hello}");
        client
    }

    /// Somebody who may do everything.
    pub async fn owner(&self) -> Client {
        self.client(&["operator.admin"]).await
    }
}

pub struct Client {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    count: usize,
    /// What came while something else was waited for.
    kept: Vec<Value>,
}

impl Client {
    /// The whole answer to a request.
    pub async fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params).await;
        self.answer(&id).await
    }

    /// The payload of the answer, which is not refused.
    pub async fn get(&mut self, method: &str, params: Value) -> Value {
        let answer = self.ask(method, params).await;
        assert_eq!(answer["ok"], true, "{method}: {answer}");
        answer["payload"].clone()
    }

    /// Why a request is refused.
    pub async fn refusal(&mut self, method: &str, params: Value) -> String {
        let answer = self.ask(method, params).await;
        answer["error"]["message"]
            .as_str()
            .unwrap_or_else(|| panic!("{method} is not refused: {answer}"))
            .to_owned()
    }

    /// Asks without waiting; the name of the request.
    pub async fn begin(&mut self, method: &str, params: Value) -> String {
        self.count += 1;
        let id = format!("r{}", self.count);
        let frame = json!({"type": "req", "id": id, "method": method, "params": params});
        self.socket.send(Message::text(frame.to_string())).await.unwrap();
        id
    }

    pub async fn answer(&mut self, id: &str) -> Value {
        self.first(|frame| frame["type"] == "res" && frame["id"] == id).await
    }

    /// The next event of a kind.
    pub async fn event(&mut self, name: &str) -> Value {
        self.first(|frame| frame["event"] == name).await["payload"].clone()
    }

    /// The first such frame, of those that were kept and those that come.
    async fn first(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.kept.iter().position(&is_it) {
            return self.kept.remove(at);
        }
        loop {
            let frame = self.next().await;
            if is_it(&frame) {
                return frame;
            }
            self.kept.push(frame);
        }
    }

    /// Whether anything of a kind was told so far.
    pub fn heard(&self, name: &str) -> bool {
        self.kept.iter().any(|frame| frame["event"] == name)
    }

    /// Every frame up to the first such one, in the order in which they come.
    pub async fn until(&mut self, is_it: impl Fn(&Value) -> bool) -> Vec<Value> {
        let mut frames = std::mem::take(&mut self.kept);
        while !frames.last().is_some_and(&is_it) {
            frames.push(self.next().await);
        }
        frames
    }

    /// How the gateway ends the connection.
    pub async fn closed(&mut self) -> (u16, String) {
        loop {
            let next = tokio::time::timeout(Duration::from_secs(20), self.socket.next()).await;
            match next.expect("the connection is ended in time") {
                Some(Ok(Message::Close(Some(frame)))) => {
                    return (frame.code.into(), frame.reason.to_string());
                }
                Some(Ok(_)) => {}
                other => panic!("it ended without a word: {other:?}"),
            }
        }
    }

    async fn next(&mut self) -> Value {
        let next = tokio::time::timeout(Duration::from_secs(20), self.socket.next()).await;
        let message = next.expect("something is told in time").expect("the gateway is there").unwrap();
        serde_json::from_str(message.to_text().unwrap()).unwrap_or_default()
    }
}
