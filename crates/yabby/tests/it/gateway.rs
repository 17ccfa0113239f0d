//! `yabby gateway`, from outside: its life, and what people do to it.

mod abuse;
mod commands;
mod life;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream as PlainStream;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use ed25519_dalek::{Signer as _, SigningKey};
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

use crate::home::Home;

pub const TOKEN: &str = "tok-of-a-test";

/// A gateway that runs on a home; it is killed when this is dropped.
pub struct Gateway {
    pub child: Child,
    out: BufReader<ChildStdout>,
    pub port: u16,
}

/// The configuration of a gateway that answers by itself, on whatever port is free.
pub fn config(home: &Home, port: u16, more: Value) {
    let mut config = json!({"gateway": {"mode": "local", "port": port, "auth": {"token": TOKEN}}});
    merge(&mut config, more);
    home.write(".openclaw/openclaw.json", &config.to_string());
}

fn merge(into: &mut Value, more: Value) {
    match (into, more) {
        (Value::Object(into), Value::Object(more)) => {
            for (name, value) in more {
                merge(into.entry(name).or_insert(Value::Null), value);
            }
        }
        (into, more) => *into = more,
    }
}

/// A port that nobody uses, and that the system gives to nobody by itself.
pub fn free_port() -> u16 {
    use std::sync::atomic::{AtomicU16, Ordering};
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let start = 20_000 + u16::try_from(std::process::id() % 400).unwrap() * 16;
    loop {
        let port = start + NEXT.fetch_add(1, Ordering::Relaxed) % 2000;
        if std::net::TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

impl Gateway {
    pub fn start(home: &Home, port: u16) -> Self {
        Self::run(&mut home.command(&["gateway", "run"]), port)
    }

    /// The one that this command runs.
    pub fn run(command: &mut Command, port: u16) -> Self {
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let mut gateway = Self { child, out, port };
        gateway.wait_for("listening on");
        gateway
    }

    /// A fresh one with nothing special about it.
    pub fn fresh() -> (Home, Self) {
        let (home, port) = (Home::empty(), free_port());
        config(&home, port, json!({}));
        let gateway = Self::start(&home, port);
        (home, gateway)
    }

    /// Waits until it says something.
    pub fn wait_for(&mut self, words: &str) -> String {
        loop {
            let mut line = String::new();
            if self.out.read_line(&mut line).unwrap() == 0 {
                let mut why = String::new();
                self.child.stderr.take().unwrap().read_to_string(&mut why).unwrap();
                panic!("the gateway ended without saying {words:?}: {why}");
            }
            if line.contains(words) {
                return line;
            }
        }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_raw(i32::try_from(self.pid()).unwrap()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// How it ended, within a while.
    pub fn ended(&mut self) -> Option<i32> {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(begun.elapsed() < Duration::from_secs(40), "the gateway does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// How much memory it uses.
    pub fn resident_kb(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    /// What it answers to these bytes.
    pub fn raw_http(&self, request: &str) -> String {
        let mut stream = PlainStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(15))).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    pub fn get(&self, path: &str) -> String {
        self.raw_http(&format!(
            "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\n\r\n",
            self.port
        ))
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Somebody who talks to a gateway.
pub struct Caller {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    pub nonce: String,
    count: u32,
    pub events: Vec<Value>,
}

/// How a connection ended.
#[derive(Debug, PartialEq, Eq)]
pub struct Closed {
    pub code: u16,
    pub reason: String,
}

impl Caller {
    /// Opens a connection, with these headers.
    pub async fn open(port: u16, headers: &[(&'static str, &str)]) -> Self {
        let mut request = format!("ws://127.0.0.1:{port}").into_client_request().unwrap();
        for (name, value) in headers {
            request.headers_mut().insert(*name, value.parse().unwrap());
        }
        let (socket, _) = tokio_tungstenite::connect_async(request).await.unwrap();
        let mut caller = Self { socket, nonce: String::new(), count: 0, events: Vec::new() };
        let challenge = caller.next().await.unwrap();
        assert_eq!(challenge["event"], "connect.challenge");
        caller.nonce = challenge["payload"]["nonce"].as_str().unwrap().to_owned();
        caller
    }

    /// Opens a connection and says who it is.
    pub async fn connected(port: u16) -> Self {
        let mut caller = Self::open(port, &[]).await;
        let hello = caller.call("connect", hello(json!({"token": TOKEN}))).await.unwrap();
        assert_eq!(hello["type"], "hello-ok");
        caller
    }

    pub async fn send(&mut self, text: impl Into<String>) {
        let _ = self.socket.send(Message::text(text.into())).await;
    }

    /// The next frame, or how the connection ended.
    pub async fn next(&mut self) -> Result<Value, Closed> {
        let gone = || Closed { code: 1006, reason: String::new() };
        loop {
            let next =
                tokio::time::timeout(Duration::from_secs(30), self.socket.next()).await.expect("a frame");
            match next {
                Some(Ok(Message::Text(text))) => return Ok(serde_json::from_str(&text).unwrap()),
                Some(Ok(Message::Close(Some(frame)))) => {
                    return Err(Closed { code: frame.code.into(), reason: frame.reason.to_string() });
                }
                Some(Ok(Message::Close(None))) | None => return Err(gone()),
                Some(Err(Error::ConnectionClosed | Error::Io(_) | Error::Protocol(_))) => return Err(gone()),
                Some(Err(error)) => panic!("{error}"),
                Some(Ok(_)) => {}
            }
        }
    }

    /// Reads on until the connection ends.
    pub async fn closed(&mut self) -> Closed {
        loop {
            match self.next().await {
                Ok(frame) => self.events.push(frame),
                Err(closed) => return closed,
            }
        }
    }

    /// Makes a request; the answer, or the message of the refusal.
    pub async fn call(&mut self, method: &str, params: Value) -> Result<Value, String> {
        self.count += 1;
        let id = self.count.to_string();
        self.send(json!({"type": "req", "id": id, "method": method, "params": params}).to_string()).await;
        loop {
            let frame = self.next().await.map_err(|closed| format!("{closed:?}"))?;
            if frame["type"] != "res" || frame["id"] != id {
                self.events.push(frame);
            } else if frame["ok"] == true {
                return Ok(frame["payload"].clone());
            } else {
                return Err(frame["error"]["message"].as_str().unwrap().to_owned());
            }
        }
    }

    /// Waits for an event for which this holds.
    pub async fn wait(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        if let Some(found) = self.events.iter().find(|event| is_it(event)) {
            return found.clone();
        }
        loop {
            let frame = self.next().await.unwrap();
            if is_it(&frame) {
                return frame;
            }
            self.events.push(frame);
        }
    }
}

/// The parameters of `connect`.
pub fn hello(auth: Value) -> Value {
    json!({
        "minProtocol": 3, "maxProtocol": 3, "role": "operator", "scopes": ["operator.admin"],
        "client": {"id": "gateway-client", "version": "1", "platform": "test", "mode": "backend"},
        "auth": auth,
    })
}

/// A device that signs.
pub struct Device(SigningKey);

impl Device {
    pub fn new(seed: u8) -> Self {
        Self(SigningKey::from_bytes(&[seed; 32]))
    }

    /// What it signs for these parameters of `connect`.
    pub fn sign(&self, hello: &Value, nonce: &str, at: i64) -> Value {
        use base64::Engine as _;
        let encode = |bytes: &[u8]| base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes);
        let key = self.0.verifying_key();
        let id: String = Sha256::digest(key.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
        let (client, token) = (&hello["client"], hello["auth"]["token"].as_str().unwrap_or_default());
        let text = format!(
            "v2|{id}|{}|{}|operator|operator.admin|{at}|{token}|{nonce}",
            client["id"].as_str().unwrap(),
            client["mode"].as_str().unwrap()
        );
        json!({
            "id": id, "publicKey": encode(key.as_bytes()), "signedAt": at, "nonce": nonce,
            "signature": encode(&self.0.sign(text.as_bytes()).to_bytes()),
        })
    }
}

pub fn now() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}
