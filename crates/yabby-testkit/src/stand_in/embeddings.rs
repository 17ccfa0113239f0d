//! Services that turn texts into vectors, on loopback, in their own wire formats: OpenAI and Voyage with
//! files and jobs, Gemini with its own, and Ollama. The vectors depend on the words alone, so that texts with
//! the same words are near.

mod gemini;
mod openai;

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::{Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::server::take_down;

/// A service on loopback. It is gone when this is dropped.
pub struct EmbeddingStandIn {
    address: String,
    room: Arc<Room>,
    serving: JoinHandle<()>,
}

/// What goes wrong, once for each.
#[derive(Clone, Debug)]
pub enum Trouble {
    /// This status, and these words in the service's kind of error.
    Status(u16, String),
    /// The answer comes, but late.
    Slow(Duration),
    /// So many vectors are missing at the end.
    Short(usize),
    /// The vectors have another length.
    OtherLength(usize),
    /// It is no answer at all.
    Nonsense,
}

/// How jobs end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobEnd {
    /// After so many questions for it.
    Done(usize),
    /// The provider gives up.
    Failed,
    /// It goes on and on.
    Never,
    /// One text of it failed.
    OneMissing,
    /// The model takes no jobs: 404 when it is asked for one.
    Unknown,
}

/// A request as it came.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    pub method: String,
    /// With its query.
    pub path: String,
    pub headers: HashMap<String, String>,
    /// `Null` if it was no JSON.
    pub body: Value,
}

#[derive(Default)]
struct Room {
    troubles: Mutex<VecDeque<Trouble>>,
    ends: Mutex<VecDeque<JobEnd>>,
    asked: Mutex<Vec<Asked>>,
    files: Mutex<HashMap<String, String>>,
    jobs: Mutex<HashMap<String, RunningJob>>,
}

struct RunningJob {
    file: String,
    end: JobEnd,
    questions: usize,
}

/// How long vectors are.
pub const LENGTH: usize = 16;

/// The vector of a text.
pub fn vector(text: &str) -> Vec<f64> {
    vector_of(text, LENGTH)
}

fn vector_of(text: &str, length: usize) -> Vec<f64> {
    let mut vector = vec![0.0; length];
    let lower = text.to_lowercase();
    for word in lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let sum = word.bytes().fold(5381_usize, |sum, byte| sum.wrapping_mul(33) ^ usize::from(byte));
        vector[sum % length] += 1.0;
    }
    let size = vector.iter().map(|number| number * number).sum::<f64>().sqrt().max(1e-9);
    vector.iter().map(|number| number / size).collect()
}

impl EmbeddingStandIn {
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

    /// `http://127.0.0.1:<port>`; OpenAI is below `/v1`, those who are like it below `/like/v1`, Gemini below
    /// `/v1beta`.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// What goes wrong with the next requests for vectors, one each.
    pub fn will(&self, troubles: impl IntoIterator<Item = Trouble>) {
        unpoisoned(&self.room.troubles).extend(troubles);
    }

    /// How the next jobs end. The others are done when they are first asked for.
    pub fn jobs_end(&self, ends: impl IntoIterator<Item = JobEnd>) {
        unpoisoned(&self.room.ends).extend(ends);
    }

    /// Everything that it was asked, in order.
    pub fn asked(&self) -> Vec<Asked> {
        unpoisoned(&self.room.asked).clone()
    }

    /// Methods and paths of everything that it was asked.
    pub fn paths(&self) -> Vec<String> {
        self.asked().iter().map(|asked| format!("{} {}", asked.method, asked.path)).collect()
    }

    /// The files that it was given, as lines.
    pub fn files(&self) -> Vec<Vec<Value>> {
        let files = unpoisoned(&self.room.files);
        let line = |line: &str| serde_json::from_str(line).unwrap_or_default();
        files.values().map(|file| file.lines().map(line).collect()).collect()
    }
}

impl Drop for EmbeddingStandIn {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn answer(State(room): State<Arc<Room>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let path = parts.uri.path().to_owned();
    let header = |(name, value): (&axum::http::HeaderName, &axum::http::HeaderValue)| {
        (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
    };
    let asked = Asked {
        method: parts.method.to_string(),
        path: parts.uri.path_and_query().map(ToString::to_string).unwrap_or_default(),
        headers: parts.headers.iter().map(header).collect(),
        body: serde_json::from_slice(&body).unwrap_or_default(),
    };
    // OpenAI has published what it takes.
    if matches!(asked.path.as_str(), "/v1/embeddings" | "/v1/batches") {
        take_down(&asked.path, &asked.body);
    }
    unpoisoned(&room.asked).push(asked.clone());
    let embeds = ["/embeddings", "/api/embed", ":embedContent", ":batchEmbedContents"];
    if embeds.iter().any(|end| path.ends_with(end)) {
        return embed(&room, &path, &asked.body).await;
    }
    if path.contains("/v1beta") {
        return gemini::answer(&room, &parts.method, &path, &asked.body, &body);
    }
    openai::answer(&room, &parts.method, &path, &asked.body, &body)
}

async fn embed(room: &Room, path: &str, body: &Value) -> Response {
    let trouble = unpoisoned(&room.troubles).pop_front();
    let (mut length, mut missing) = (LENGTH, 0);
    match trouble {
        Some(Trouble::Status(status, words)) => return error(path, status, &words),
        Some(Trouble::Slow(time)) => tokio::time::sleep(time).await,
        Some(Trouble::Short(count)) => missing = count,
        Some(Trouble::OtherLength(other)) => length = other,
        Some(Trouble::Nonsense) => return "<html>welcome</html>".into_response(),
        None => {}
    }
    let texts: Vec<&str> = if path.contains(":batchEmbedContents") {
        list(&body["requests"])
            .iter()
            .filter_map(|request| request["content"]["parts"][0]["text"].as_str())
            .collect()
    } else if path.contains(":embedContent") {
        body["content"]["parts"][0]["text"].as_str().into_iter().collect()
    } else {
        list(&body["input"]).iter().filter_map(Value::as_str).collect()
    };
    let empty = texts.iter().any(|text| text.trim().is_empty());
    if empty || texts.is_empty() {
        return error(path, 400, "'$.input' is invalid: input cannot be an empty string");
    }
    let vectors: Vec<Vec<f64>> =
        texts.iter().take(texts.len().saturating_sub(missing)).map(|text| vector_of(text, length)).collect();
    json_response(
        200,
        &if path.contains(":batchEmbedContents") {
            json!({"embeddings": vectors.iter().map(|values| json!({"values": values})).collect::<Vec<_>>()})
        } else if path.contains(":embedContent") {
            json!({"embedding": {"values": vectors.first()}})
        } else if path.ends_with("/api/embed") {
            json!({"model": body["model"], "embeddings": vectors, "total_duration": 1, "load_duration": 1, "prompt_eval_count": 1})
        } else {
            openai::list_of(&vectors, &body["model"])
        },
    )
}

/// An error as the service at a path words it.
fn error(path: &str, status: u16, words: &str) -> Response {
    let body = if path.contains("/v1beta") {
        json!({"error": {"code": status, "message": words, "status": "UNKNOWN"}})
    } else if path.starts_with("/api/") {
        json!({"error": words})
    } else {
        json!({"error": {"message": words, "type": "error", "param": null, "code": null}})
    };
    json_response(status, &body)
}

fn json_response(status: u16, body: &Value) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, [("content-type", "application/json")], body.to_string()).into_response()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

impl Room {
    /// Keeps a file; its name.
    fn keep(&self, prefix: &str, content: String) -> String {
        let mut files = unpoisoned(&self.files);
        let name = format!("{prefix}{}", files.len() + 1);
        files.insert(name.clone(), content);
        name
    }

    fn file(&self, name: &str) -> Option<String> {
        unpoisoned(&self.files).get(name).cloned()
    }

    fn next_end(&self) -> JobEnd {
        unpoisoned(&self.ends).pop_front().unwrap_or(JobEnd::Done(1))
    }

    /// Begins a job about a file; its name.
    fn begin(&self, prefix: &str, file: &str, end: JobEnd) -> String {
        let mut jobs = unpoisoned(&self.jobs);
        let name = format!("{prefix}{}", jobs.len() + 1);
        jobs.insert(name.clone(), RunningJob { file: file.to_owned(), end, questions: 0 });
        name
    }

    /// The file of a job, how it ends, and whether that is now.
    fn look(&self, name: &str) -> Option<(String, JobEnd, bool)> {
        let mut jobs = unpoisoned(&self.jobs);
        let job = jobs.get_mut(name)?;
        job.questions += 1;
        let over = match job.end {
            JobEnd::Done(questions) => job.questions >= questions,
            JobEnd::Failed | JobEnd::OneMissing => true,
            JobEnd::Never | JobEnd::Unknown => false,
        };
        Some((job.file.clone(), job.end.clone(), over))
    }
}

/// The lines of a file that came as a part of a form.
fn lines_of_form(body: &Bytes) -> String {
    let text = String::from_utf8_lossy(body);
    let lines = text.lines().filter(|line| line.starts_with('{') && !line.starts_with("{\"file\""));
    lines.map(|line| format!("{line}\n")).collect()
}

fn is_get(method: &Method) -> bool {
    method == Method::GET
}

fn unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
