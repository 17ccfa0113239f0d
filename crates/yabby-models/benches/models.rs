//! What it costs to listen to a model: the delay until a word is heard, processor time, memory.
//!
//! The service is another process on loopback. The first words that it says are the time at which it says
//! them, so that whoever hears them knows how long they took. Prints one JSON line for `cargo xtask bench
//! models`; each part is a process of its own, whose memory and time are its alone.

#![allow(clippy::print_stdout, reason = "a benchmark prints")]
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot go on fails")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use yabby_domain::json::Object;
use yabby_domain::message::Message;
use yabby_domain::model::ModelRef;
use yabby_domain::seam::model::{ModelEvent, ModelProvider as _, ModelRequest};
use yabby_engine::events::{EngineEvent, EventKind, Unheard};
use yabby_models::settings::{Api, ModelSettings, ProviderSettings};
use yabby_models::{Http, Patience, RemoteProvider, Retries};
use yabby_testkit::stage::{Stage, direct, say};

/// Answers that are not counted, before those whose first words are timed.
const WARM: usize = 50;
/// How many answers of the engine are one conversation.
const TURNS: usize = 10;
/// Letters of each piece of the answer that is weighed: about what services send.
const PIECE: usize = 20;

/// How much is measured.
#[derive(Clone, Copy)]
struct Size {
    answers: usize,
    engine_answers: usize,
    /// Letters of the answer that is weighed.
    long: usize,
}

const WHOLE: Size = Size { answers: 2000, engine_answers: 500, long: 10_000_000 };
/// To see that it works.
const SHORT: Size = Size { answers: 100, engine_answers: 20, long: 1_000_000 };

fn size(name: &str) -> Size {
    if name == "short" { SHORT } else { WHOLE }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["serve", name] => serve(size(name)),
        ["measure", name, what, address] => println!("{}", measured(what, address, size(name))),
        // What a test run asks for.
        ["--test"] => {}
        ["short"] => println!("{}", all("short")),
        _ => println!("{}", all("whole")),
    }
}

fn all(name: &'static str) -> Value {
    let service = Service::start(name);
    let parts = ["bare first", "provider first", "engine first", "provider long", "engine long"];
    let told = parts.map(|part| (part.to_owned(), service.measure(part)));
    Value::Object(Object::from_iter(told))
}

/// The service, in a process of its own, which ends with us.
struct Service {
    child: Child,
    address: String,
    size: &'static str,
}

impl Service {
    fn start(size: &'static str) -> Self {
        let mut child =
            again().args(["serve", size]).stdout(Stdio::piped()).stdin(Stdio::piped()).spawn().unwrap();
        let mut address = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
        Self { child, address: address.trim().to_owned(), size }
    }

    fn measure(&self, part: &str) -> Value {
        let output =
            again().args(["measure", self.size, part, &self.address]).stderr(Stdio::inherit()).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{part}: {}", output.status);
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn again() -> Command {
    Command::new(std::env::current_exe().unwrap())
}

fn measured(part: &str, address: &str, size: Size) -> Value {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    match part {
        "bare first" => {
            json!({"delays": (0..size.answers + WARM).map(|_| bare(address)).skip(WARM).collect::<Vec<_>>()})
        }
        "provider first" => runtime.block_on(provider_first(address, size.answers)),
        "engine first" => runtime.block_on(engine_first(address, size.engine_answers)),
        "provider long" => runtime.block_on(provider_long(address, size.long)),
        "engine long" => runtime.block_on(engine_long(address, size.long)),
        _ => panic!("nothing is called {part}"),
    }
}

/// What the line itself takes: a socket that is read, and nothing else.
fn bare(address: &str) -> f64 {
    let mut line = TcpStream::connect(address).unwrap();
    line.set_nodelay(true).unwrap();
    let body = r#"{"model":"short"}"#;
    write!(line, "POST / HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len())
        .unwrap();
    let (mut heard, mut buffer) = (String::new(), [0; 4096]);
    loop {
        let count = line.read(&mut buffer).unwrap();
        let now = now();
        heard.push_str(std::str::from_utf8(&buffer[..count]).unwrap());
        if let Some((_, words)) = heard.split_once("\"content\":\"at ")
            && let Some((at, _)) = words.split_once('"')
        {
            return since(at, now);
        }
        assert!(count > 0, "{heard}");
    }
}

async fn provider_first(address: &str, answers: usize) -> Value {
    let (provider, request) = (provider(address), request("short"));
    let mut delays = Vec::with_capacity(answers);
    for number in 0..answers + WARM {
        let mut first = None;
        let heard = &mut |event: ModelEvent| {
            if let ModelEvent::Text(text) = event
                && first.is_none()
            {
                first = Some(delay(&text));
            }
        };
        provider.stream(&request, heard).await.unwrap();
        if number >= WARM {
            delays.push(first.unwrap());
        }
    }
    json!({"delays": delays})
}

async fn engine_first(address: &str, answers: usize) -> Value {
    let mut delays = Vec::with_capacity(answers);
    while delays.len() < answers {
        // A conversation that grows would be measured as well, so that each is a short one.
        let stage = stage(address, "short");
        let engine = stage.engine();
        for number in 0..=TURNS {
            let mut events = engine.subscribe();
            let listening = tokio::spawn(async move {
                loop {
                    match events.recv().await {
                        Ok(EngineEvent { kind: EventKind::Text(text), .. }) => return delay(&text),
                        Ok(_) => {}
                        Err(error) => panic!("{error:?}"),
                    }
                }
            });
            let report = say(&engine, direct("go on")).await;
            assert!(report.error.is_none(), "{:?}", report.error);
            let delay = listening.await.unwrap();
            // The first has a connection to make.
            if number > 0 {
                delays.push(delay);
            }
        }
    }
    json!({"delays": delays})
}

async fn provider_long(address: &str, letters: usize) -> Value {
    let (provider, request) = (provider(address), request("long"));
    weighed(letters, async {
        let mut heard = 0;
        let mut hear = |event| {
            if let ModelEvent::Text(text) = event {
                heard += text.len();
            }
        };
        let answer = provider.stream(&request, &mut hear).await.unwrap();
        assert_eq!(heard, letters);
        drop(answer);
    })
    .await
}

async fn engine_long(address: &str, letters: usize) -> Value {
    let stage = stage(address, "long");
    let engine = stage.engine();
    let mut events = engine.subscribe();
    let listening = tokio::spawn(async move {
        let mut heard = 0;
        loop {
            match events.recv().await {
                Ok(EngineEvent { kind: EventKind::Text(text), .. }) => heard += text.len(),
                // Whoever is slow misses some; it is told how many.
                Ok(_) | Err(Unheard::Missed(_) | Unheard::Nothing) => {}
                Err(Unheard::Over) => return heard,
            }
        }
    });
    let told = weighed(letters, async {
        let report = say(&engine, direct("go on")).await;
        assert!(report.error.is_none(), "{:?}", report.error);
    })
    .await;
    listening.abort();
    told
}

/// Processor seconds, and the most memory that was in use beyond what there was before.
async fn weighed(letters: usize, work: impl Future<Output = ()>) -> Value {
    let (before, began) = (memory("VmRSS:"), processor_seconds());
    work.await;
    json!({
        "processor": processor_seconds() - began,
        "memory": memory("VmHWM:") - before,
        "text": letters,
        "wire": event(&"x".repeat(PIECE)).len() * (letters / PIECE),
    })
}

/// Of all threads of this process, in hundredths.
fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = text.rsplit_once(") ").unwrap().1.split(' ').collect();
    let ticks = |at: usize| fields[at].parse::<f64>().unwrap();
    (ticks(11) + ticks(12)) / 100.0
}

fn memory(field: &str) -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(field)).unwrap();
    line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() * 1024.0
}

fn provider(address: &str) -> RemoteProvider {
    let model = |id: &str| ModelSettings { max_output: 100_000_000, ..ModelSettings::named(id) };
    let settings = ProviderSettings {
        id: "bench".to_owned(),
        api: Api::OpenAiCompletions,
        base_url: format!("http://{address}/v1"),
        api_key: None,
        bearer: false,
        headers: Vec::new(),
        models: vec![model("short"), model("long")],
    };
    RemoteProvider::new(settings, Http::new(Patience::default()), Retries::none())
}

fn request(model: &str) -> ModelRequest {
    let question = json!({"role": "user", "content": "go on", "timestamp": 1});
    let messages = Message::from_value(question).into_iter().collect();
    ModelRequest {
        system: "You are a crab.".to_owned(),
        session_id: "0a1b2c3d-0000-4000-8000-000000000000".to_owned(),
        ..ModelRequest::new(ModelRef::new("bench", model), messages)
    }
}

fn stage(address: &str, model: &str) -> Stage {
    // A message that meets the end of a run would wait for others that may follow.
    let mut stage = Stage::new(json!({"messages": {"queue": {"debounceMs": 0}}}));
    stage.providers.push(Arc::new(provider(address)));
    stage.default_model = ModelRef::new("bench", model);
    stage
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as f64
}

fn delay(words: &str) -> f64 {
    let now = now();
    since(words.strip_prefix("at ").unwrap(), now)
}

/// Seconds.
fn since(at: &str, now: f64) -> f64 {
    (now - at.parse::<f64>().unwrap()) / 1e9
}

/// Answers until whoever started us is gone.
fn serve(size: Size) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    println!("{}", listener.local_addr().unwrap());
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    for line in listener.incoming().map_while(Result::ok) {
        std::thread::spawn(move || {
            // Whoever hangs up has heard enough.
            let _ = answer_all(line, size.long);
        });
    }
}

fn answer_all(line: TcpStream, letters: usize) -> std::io::Result<()> {
    line.set_nodelay(true)?;
    let mut reader = BufReader::new(line.try_clone()?);
    let mut line = line;
    loop {
        let mut length = 0;
        loop {
            let mut header = String::new();
            if reader.read_line(&mut header)? == 0 {
                return Ok(());
            }
            let header = header.trim().to_ascii_lowercase();
            if let Some(value) = header.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
            if header.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        line.write_all(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n",
        )?;
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        if body["model"] == "long" {
            let chunk = chunked(&event(&"x".repeat(PIECE)).repeat(50));
            for _ in 0..letters / PIECE / 50 {
                line.write_all(chunk.as_bytes())?;
            }
        } else {
            // What comes before the first word is on its way already.
            line.write_all(chunked(&event("")).as_bytes())?;
            std::thread::sleep(std::time::Duration::from_millis(1));
            line.write_all(chunked(&event(&format!("at {:.0}", now()))).as_bytes())?;
        }
        let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}});
        let end = format!("data: {end}\n\ndata: [DONE]\n\n");
        line.write_all(format!("{}0\r\n\r\n", chunked(&end)).as_bytes())?;
    }
}

fn event(words: &str) -> String {
    let choice = json!({"index": 0, "delta": {"content": words}, "finish_reason": null});
    let chunk = json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]});
    format!("data: {chunk}\n\n")
}

fn chunked(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}
