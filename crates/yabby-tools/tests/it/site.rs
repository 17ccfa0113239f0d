//! A web of our own on loopback: sites that say whatever bytes they are told to, and names that lead
//! wherever they are told to.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use yabby_domain::config::Config;
use yabby_domain::seam::tool::{Tool, ToolContext, ToolOutput};
use yabby_tools::web_client::{Lookup, Web};

use crate::desk::Desk;

/// What a site does with a request.
#[derive(Clone)]
pub enum Step {
    Send(Vec<u8>),
    Wait(Duration),
    /// These bytes, as long as somebody takes them.
    Endlessly(Vec<u8>),
}

/// A server on loopback. It is gone when this is dropped.
pub struct Site {
    pub port: u16,
    pub seen: Arc<Mutex<Vec<String>>>,
    serving: JoinHandle<()>,
}

impl Site {
    pub async fn at(address: &str, port: u16, pages: Vec<(&str, Vec<Step>)>) -> Self {
        let listener = TcpListener::bind((address, port)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let pages: HashMap<String, Vec<Step>> =
            pages.into_iter().map(|(path, steps)| (path.to_owned(), steps)).collect();
        let (pages, noted) = (Arc::new(pages), seen.clone());
        let serving = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (pages, noted) = (pages.clone(), noted.clone());
                tokio::spawn(async move {
                    let mut head = Vec::new();
                    let mut byte = [0];
                    while !head.ends_with(b"\r\n\r\n")
                        && stream.read(&mut byte).await.is_ok_and(|read| read > 0)
                    {
                        head.push(byte[0]);
                    }
                    let head = String::from_utf8_lossy(&head).into_owned();
                    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
                    noted.lock().unwrap().push(head);
                    let missing = vec![page("404 Not Found", "text/plain", "no such page")];
                    for step in pages.get(&path).cloned().unwrap_or(missing) {
                        match step {
                            Step::Send(bytes) => {
                                if stream.write_all(&bytes).await.is_err() {
                                    return;
                                }
                            }
                            Step::Wait(time) => tokio::time::sleep(time).await,
                            Step::Endlessly(bytes) => while stream.write_all(&bytes).await.is_ok() {},
                        }
                    }
                    let _ = stream.shutdown().await;
                });
            }
        });
        Self { port, seen, serving }
    }

    pub async fn start(pages: Vec<(&str, Vec<Step>)>) -> Self {
        Self::at("127.0.0.1", 0, pages).await
    }

    pub fn visits(&self) -> usize {
        self.seen.lock().unwrap().len()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// A whole answer.
pub fn page(status: &str, kind: &str, body: &str) -> Step {
    let length = body.len();
    Step::Send(
        format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
            .into_bytes(),
    )
}

pub fn html(body: &str) -> Vec<Step> {
    vec![page("200 OK", "text/html; charset=utf-8", body)]
}

pub fn sends_to(place: &str) -> Vec<Step> {
    vec![Step::Send(
        format!("HTTP/1.1 302 Found\r\nLocation: {place}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            .into_bytes(),
    )]
}

/// Names and where they lead, one answer after the other; the last stays.
#[derive(Clone, Default)]
pub struct Names(Arc<Mutex<Known>>);

#[derive(Default)]
struct Known {
    answers: HashMap<String, VecDeque<Vec<IpAddr>>>,
    asked: Vec<String>,
}

impl Names {
    pub fn lead(&self, host: &str, answers: &[&[&str]]) {
        let answers =
            answers.iter().map(|answer| answer.iter().map(|address| address.parse().unwrap()).collect());
        self.0.lock().unwrap().answers.insert(host.to_owned(), answers.collect());
    }

    pub fn asked(&self) -> Vec<String> {
        self.0.lock().unwrap().asked.clone()
    }
}

#[async_trait]
impl Lookup for Names {
    async fn addresses(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        let mut known = self.0.lock().unwrap();
        known.asked.push(host.to_owned());
        let answers = known.answers.get_mut(host).ok_or_else(|| io::Error::other("no such name"))?;
        Ok(if answers.len() > 1 { answers.pop_front().unwrap() } else { answers[0].clone() })
    }
}

/// Somebody who fetches: `site.example` is a site that may be reached, and nothing else may.
pub struct Visitor {
    pub names: Names,
    tool: Arc<dyn Tool>,
    context: ToolContext,
    _desk: Desk,
}

impl Visitor {
    pub fn new() -> Self {
        Self::with(json!({}), &["site.example"])
    }

    pub fn with(fetch: Value, allowed: &[&str]) -> Self {
        let desk = Desk::new();
        let names = Names::default();
        names.lead("site.example", &[&["127.0.0.1"]]);
        let config = Config::new(json!({"tools": {"web": {"fetch": fetch, "allowPrivate": allowed}}}));
        let tool = yabby_tools::web_fetch(&config, Arc::new(Web::new(Arc::new(names.clone())))).unwrap();
        let mut context = desk.context.clone();
        context.config = Arc::new(config);
        Self { names, tool, context, _desk: desk }
    }

    pub async fn call(&self, arguments: Value) -> ToolOutput {
        self.tool.call(arguments.as_object().unwrap(), &self.context).await
    }

    pub async fn fetch(&self, url: &str) -> ToolOutput {
        self.call(json!({"url": url})).await
    }

    pub async fn later(&mut self, minutes: i64) {
        self.context.now = self.context.now.checked_add(jiff::SignedDuration::from_mins(minutes)).unwrap();
    }
}

pub fn words(output: &ToolOutput) -> String {
    output.blocks.iter().filter_map(|block| block["text"].as_str()).collect()
}
