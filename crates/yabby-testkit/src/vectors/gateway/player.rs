//! Plays the client's steps of a scenario, and records what the gateway says.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::timeout_at;
use yabby_domain::json;

use super::connection::{Connection, Heard};
use super::device::Wish;
use super::home::Home;
use super::http;
use super::process::Gateway;
use super::scenario::Scenario;

/// How long anything is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// What was recorded; a step that could not be taken is a note at the end.
pub(super) async fn play(scenario: &Scenario, home: &Home, gateway: &Gateway) -> Scenario {
    let (ear, heard) = unbounded_channel();
    let mut player = Player {
        scenario,
        home,
        gateway,
        connections: HashMap::new(),
        ear,
        heard,
        lines: Vec::new(),
        requests: 0,
        begun: Instant::now(),
    };
    if let Err(problem) = player.play().await {
        let note = json!({"dir": "note", "error": problem});
        player.lines.push(note);
    }
    let lines = player.lines.iter().map(|line| match line["dir"] == "s2c" {
        true => home.put_back(line),
        false => line.clone(),
    });
    Scenario { lines: lines.collect(), meta: scenario.meta.clone() }
}

struct Player<'p> {
    scenario: &'p Scenario,
    home: &'p Home,
    gateway: &'p Gateway,
    /// Without a value once they are closed.
    connections: HashMap<String, Option<Connection>>,
    ear: UnboundedSender<(String, Heard)>,
    heard: UnboundedReceiver<(String, Heard)>,
    lines: Vec<Value>,
    requests: usize,
    begun: Instant,
}

/// What a step or a line waits for.
enum Wanted {
    Nothing,
    /// The first frame on a connection.
    Frame(String),
    /// The first answer to a request, or the end of its connection.
    Answer(String, Value),
    /// So many answers to requests of this id.
    Answers(Value, usize),
    /// So many events of a name on a connection that contain something.
    Event {
        connection: String,
        name: String,
        contains: Value,
        count: usize,
    },
    Closed(String),
}

impl Wanted {
    fn is_there(&self, lines: &[Value]) -> bool {
        let is_answer =
            |line: &&Value, id: &Value| line["frame"]["type"] == "res" && line["frame"]["id"] == *id;
        match self {
            Self::Nothing => true,
            Self::Frame(connection) => heard_on(lines, connection).next().is_some(),
            Self::Answer(connection, id) => {
                is_closed(lines, connection) || heard_on(lines, connection).any(|line| is_answer(&line, id))
            }
            Self::Answers(id, count) => lines.iter().filter(|line| is_answer(line, id)).count() >= *count,
            Self::Event { connection, name, contains, count } => {
                let is_meant = |line: &&Value| {
                    let frame = &line["frame"];
                    frame["type"] == "event" && frame["event"] == name.as_str() && is_part(contains, frame)
                };
                heard_on(lines, connection).filter(is_meant).count() >= *count
            }
            Self::Closed(connection) => is_closed(lines, connection),
        }
    }

    fn words(&self) -> String {
        match self {
            Self::Nothing => "nothing".to_owned(),
            Self::Frame(connection) => format!("the first frame on {connection}"),
            Self::Answer(connection, id) => format!("the answer to {id} on {connection}"),
            Self::Answers(id, count) => format!("{count} answers to {id}"),
            Self::Event { connection, name, contains, count } => {
                format!("{count} × the event {name} with {contains} on {connection}")
            }
            Self::Closed(connection) => format!("the end of {connection}"),
        }
    }
}

fn heard_on<'l>(lines: &'l [Value], connection: &'l str) -> impl Iterator<Item = &'l Value> {
    lines.iter().filter(move |line| line["dir"] == "s2c" && line["conn"] == connection)
}

fn is_closed(lines: &[Value], connection: &str) -> bool {
    heard_on(lines, connection).any(|line| line.get("close").is_some() || line.get("error").is_some())
}

/// Whether everything in `part` is in `whole` as well.
fn is_part(part: &Value, whole: &Value) -> bool {
    match (part, whole) {
        (Value::Null, _) => true,
        (Value::Object(part), Value::Object(whole)) => {
            part.iter().all(|(key, value)| whole.get(key).is_some_and(|own| is_part(value, own)))
        }
        _ => part == whole,
    }
}

impl Player<'_> {
    async fn play(&mut self) -> Result<(), String> {
        let scenario = self.scenario;
        let mut last = Wanted::Nothing;
        for step in scenario.steps() {
            if step["nowait"] != true {
                self.wait_for(&last, PATIENCE).await?;
            }
            for condition in step["after"].as_array().into_iter().flatten() {
                self.wait_condition(step, condition).await?;
            }
            last = self.take(step).await?;
        }
        // What is there already was said in time.
        while let Ok(heard) = self.heard.try_recv() {
            self.note_down(heard);
        }
        Ok(())
    }

    async fn wait_condition(&mut self, step: &Value, condition: &Value) -> Result<(), String> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let count = usize::try_from(condition["n"].as_u64().unwrap_or(1)).unwrap_or(1);
        let patience = condition["timeoutMs"].as_u64().map_or(PATIENCE, Duration::from_millis);
        let wanted = if let Some(pause) = condition["ms"].as_u64() {
            return self.pause(Duration::from_millis(pause)).await;
        } else if let Some(id) = condition.get("res") {
            Wanted::Answers(id.clone(), count)
        } else if let Some(connection) = condition["close"].as_str() {
            Wanted::Closed(connection.to_owned())
        } else if let Some(name) = condition["event"].as_str() {
            let connection = condition.get("conn").unwrap_or(&step["conn"]);
            Wanted::Event {
                connection: text(connection),
                name: name.to_owned(),
                contains: self.filled(&condition["match"])?,
                count,
            }
        } else {
            return Err(format!("{condition} is no condition"));
        };
        self.wait_for(&wanted, patience).await
    }

    async fn wait_for(&mut self, wanted: &Wanted, patience: Duration) -> Result<(), String> {
        let end = tokio::time::Instant::now() + patience;
        while !wanted.is_there(&self.lines) {
            match timeout_at(end, self.heard.recv()).await {
                Ok(Some(heard)) => self.note_down(heard),
                Ok(None) | Err(_) => {
                    return Err(format!("gave up after {patience:?}: {} did not come", wanted.words()));
                }
            }
        }
        Ok(())
    }

    /// Listens for so long.
    async fn pause(&mut self, time: Duration) -> Result<(), String> {
        let end = tokio::time::Instant::now() + time;
        while let Ok(Some(heard)) = timeout_at(end, self.heard.recv()).await {
            self.note_down(heard);
        }
        Ok(())
    }

    fn now(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn note_down(&mut self, (connection, heard): (String, Heard)) {
        let mut line = json!({"dir": "s2c", "conn": &connection});
        match heard {
            Heard::Text(text) => match json::parse(&text) {
                Ok(frame @ Value::Object(_)) => line["frame"] = frame,
                _ => line["raw"] = text.into(),
            },
            Heard::Closed { code, reason } => {
                // Hang up as well, or the gateway takes it for open.
                self.connections.insert(connection, None);
                line["close"] = json!({"code": code, "reason": reason});
            }
            Heard::Refused(error) => line["error"] = error.into(),
        }
        line["t"] = self.now().into();
        self.lines.push(line);
    }

    /// Takes a step; what completes it.
    async fn take(&mut self, step: &Value) -> Result<Wanted, String> {
        let connection = step["conn"].as_str().unwrap_or_default().to_owned();
        let mut line = step.clone();
        if let Some(line) = line.as_object_mut() {
            line.shift_remove("sent");
        }
        line["t"] = self.now().into();
        if step.get("frame").is_some() {
            let frame = self.framed(step, &connection, &mut line)?;
            self.lines.push(line);
            if let Some(connection) = self.connection(&connection)? {
                connection.send(frame.to_string()).await;
            }
            let is_request = frame["type"] == "req" && frame["id"].as_str().is_some_and(|id| !id.is_empty());
            return Ok(match is_request {
                true => Wanted::Answer(connection, frame["id"].clone()),
                false => Wanted::Nothing,
            });
        }
        self.lines.push(line);
        if step["open"] == true {
            self.open(&connection).await;
            return Ok(Wanted::Frame(connection));
        }
        if let Some(raw) = step["raw"].as_str() {
            let raw = self.home.filled(raw);
            if let Some(connection) = self.connection(&connection)? {
                connection.send(raw).await;
            }
        } else if let Some(close) = step.get("close") {
            let code = close["code"].as_u64().and_then(|code| u16::try_from(code).ok()).unwrap_or(1000);
            if let Some(connection) = self.connection(&connection)? {
                connection.close(code, close["reason"].as_str().unwrap_or_default()).await;
            }
            return Ok(Wanted::Closed(connection));
        } else if let Some(request) = step.get("http") {
            self.ask(request).await?;
        } else if let Some(signal) = step["signal"].as_str() {
            self.gateway.signal(signal)?;
        }
        Ok(Wanted::Nothing)
    }

    /// `None` if the gateway has closed it.
    fn connection(&mut self, name: &str) -> Result<Option<&mut Connection>, String> {
        let connection = self.connections.get_mut(name);
        connection.map(Option::as_mut).ok_or_else(|| format!("the connection {name} was never open"))
    }

    async fn open(&mut self, name: &str) {
        let headers: Vec<_> = self.scenario.headers(name);
        let headers: Vec<_> =
            headers.iter().map(|(name, value)| (name.clone(), self.home.filled(value))).collect();
        match Connection::open(self.home.port, &headers, name, self.ear.clone()).await {
            Ok(connection) => drop(self.connections.insert(name.to_owned(), Some(connection))),
            Err(error) => self.note_down((name.to_owned(), Heard::Refused(error))),
        }
    }

    async fn ask(&mut self, request: &Value) -> Result<(), String> {
        let answer = http::ask(self.home.port, &self.filled(request)?).await;
        self.requests += 1;
        let (id, now) = (format!("h{}", self.requests), self.now());
        self.lines.push(json!({"dir": "s2c", "id": id, "http": answer, "t": now}));
        Ok(())
    }

    /// The frame of a line with everything filled in, signed and padded as it wishes.
    fn framed(&self, step: &Value, connection: &str, line: &mut Value) -> Result<Value, String> {
        let mut frame = self.filled(&step["frame"])?;
        if let Some(wish) = Wish::of(step) {
            let nonce = wish.nonce(self.challenge(connection));
            let signed_at = wish.signed_at(Timestamp::now().as_millisecond());
            let device = wish.device(&frame["params"], signed_at, nonce.as_deref());
            frame["params"]["device"] = device.clone();
            line["sent"] = json!({"device": device});
        }
        if let Some(size) = step["padTo"].as_u64().and_then(|size| usize::try_from(size).ok()) {
            frame["params"]["pad"] = "".into();
            frame["params"]["pad"] = "x".repeat(size.saturating_sub(frame.to_string().len())).into();
        }
        Ok(frame)
    }

    fn challenge(&self, connection: &str) -> Option<&str> {
        let is_challenge =
            |line: &&Value| line["conn"] == connection && line["frame"]["event"] == "connect.challenge";
        self.lines.iter().find(is_challenge).and_then(|line| line["frame"]["payload"]["nonce"].as_str())
    }

    /// With the values of this run, and those of earlier answers.
    fn filled(&self, value: &Value) -> Result<Value, String> {
        Ok(match value {
            Value::String(text) => self.filled_text(text)?,
            Value::Array(items) => items.iter().map(|item| self.filled(item)).collect::<Result<_, _>>()?,
            Value::Object(object) => {
                let member = |(key, value): (&String, &Value)| Ok((key.clone(), self.filled(value)?));
                Value::Object(object.iter().map(member).collect::<Result<_, String>>()?)
            }
            other => other.clone(),
        })
    }

    fn filled_text(&self, text: &str) -> Result<Value, String> {
        const BEGIN: &str = "{{res:";
        let mut rest = text;
        let mut out = String::new();
        while let Some(at) = rest.find(BEGIN) {
            let end = rest[at..].find("}}").map(|end| at + end).ok_or("a placeholder has no end")?;
            let value = self.answered(&rest[at + BEGIN.len()..end])?;
            if at == 0 && end + 2 == text.len() {
                return Ok(value.clone());
            }
            out.push_str(&self.home.filled(&rest[..at]));
            match value {
                Value::String(text) => out.push_str(text),
                other => out.push_str(&other.to_string()),
            }
            rest = &rest[end + 2..];
        }
        out.push_str(&self.home.filled(rest));
        Ok(out.into())
    }

    /// A value of the first answer to a request, by `ID:/json/pointer`.
    fn answered(&self, place: &str) -> Result<&Value, String> {
        let (id, pointer) = place.split_once(':').ok_or_else(|| format!("{place} names no value"))?;
        let is_answer = |line: &&Value| line["frame"]["type"] == "res" && line["frame"]["id"] == id;
        let answer = self.lines.iter().find(is_answer);
        let value = answer.and_then(|line| line["frame"].pointer(pointer));
        value.ok_or_else(|| format!("the answer to {id} has no {pointer}"))
    }
}
