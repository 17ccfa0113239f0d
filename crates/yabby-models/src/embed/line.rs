//! The line to a service: what every request carries, how failures are told, and when it is tried again
//! (`memory.md` §5.2).

use std::future::Future;
use std::sync::LazyLock;
use std::time::Duration;

use regex::Regex;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, RequestBuilder, Response, Url};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;
use yabby_domain::seam::embedder::EmbedError;
use yabby_domain::text;

use super::settings::Limits;
use crate::failure::{innermost, without_secrets};
use crate::http::Http;

pub(super) struct Line {
    http: Http,
    /// Without the kind of content, which is not always the same.
    headers: HeaderMap,
    secrets: Vec<SecretString>,
    pub(super) provider: &'static str,
    pub(super) limits: Limits,
}

/// Why a request failed.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    /// That the service answered with, if it did.
    pub(super) status: Option<u16>,
    pub(super) words: String,
    pub(super) late: bool,
}

/// How much of what a service says is repeated.
const MOST_WORDS: usize = 1000;

/// More than this is no answer to a request of 8000 characters.
const LONGEST_ANSWER: usize = 256 << 20;

/// What may be better in a moment.
static PASSING: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)(rate[_ ]limit|too many requests|429|resource has been exhausted|5\d\d|cloudflare)")
        .expect("a constant pattern compiles")
});

impl Line {
    pub(super) fn new(
        http: Http,
        provider: &'static str,
        headers: &[(String, SecretString)],
        limits: Limits,
    ) -> Result<Self, String> {
        let unfit = |name: &str| format!("{provider} embeddings: the header {name} cannot be sent");
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let known: HeaderName = name.parse().map_err(|_| unfit(name))?;
            let mut value = HeaderValue::from_str(value.expose_secret().trim()).map_err(|_| unfit(name))?;
            value.set_sensitive(true);
            map.insert(known, value);
        }
        map.remove(CONTENT_TYPE);
        // What stands before a key is no secret, and what follows it is.
        let secret = |value: &SecretString| {
            let value = value.expose_secret();
            SecretString::from(value.strip_prefix("Bearer ").unwrap_or(value).to_owned())
        };
        let secrets = headers.iter().filter(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
        let secrets = secrets.map(|(_, value)| secret(value)).collect();
        Ok(Self { http, headers: map, secrets, provider, limits })
    }

    /// Sends JSON, and reads JSON.
    pub(super) async fn post(&self, what: &str, url: &str, body: &Value) -> Result<Value, Fault> {
        let body = body.to_string();
        let body = text::to_outside(&body).into_owned();
        let request = self.request(what, Method::POST, url)?;
        let request = request.header(CONTENT_TYPE, "application/json").body(body);
        self.json(what, request).await
    }

    pub(super) async fn get(&self, what: &str, url: &str) -> Result<Value, Fault> {
        let request = self.request(what, Method::GET, url)?;
        self.json(what, request).await
    }

    pub(super) fn request(&self, what: &str, method: Method, url: &str) -> Result<RequestBuilder, Fault> {
        let parsed = Url::parse(url)
            .map_err(|error| self.fault(what, None, &format!("its address is none: {error}")))?;
        let client = self.http.client(&parsed).map_err(|error| self.fault(what, None, &error.to_string()))?;
        Ok(client.request(method, parsed).headers(self.headers.clone()))
    }

    pub(super) async fn json(&self, what: &str, request: RequestBuilder) -> Result<Value, Fault> {
        let mut response = self.send(what, request).await?;
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.unsent(what, &error))? {
            body.extend_from_slice(&chunk);
            if body.len() > LONGEST_ANSWER {
                return Err(self.fault(what, None, "the answer is too long"));
            }
        }
        serde_json::from_slice(&body).map_err(|_| self.fault(what, None, "the answer is no JSON"))
    }

    /// Sends a request; a response is one that the service means well.
    pub(super) async fn send(&self, what: &str, request: RequestBuilder) -> Result<Response, Fault> {
        let mut response = request.send().await.map_err(|error| self.unsent(what, &error))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let mut body = Vec::new();
        while let Ok(Some(chunk)) = response.chunk().await {
            body.extend_from_slice(&chunk);
            if body.len() > 64 << 10 {
                break;
            }
        }
        let words = format!("{} {}", status.as_u16(), text::trim(&text::lossy(&body)));
        Err(self.fault(what, Some(status.as_u16()), &words))
    }

    fn unsent(&self, what: &str, error: &reqwest::Error) -> Fault {
        // Of the address only what cannot be a secret.
        let place = error.url().and_then(|url| {
            let port = url.port_or_known_default()?;
            Some(format!("{}:{port}", url.host_str()?))
        });
        let place = place.unwrap_or_else(|| "its address".to_owned());
        let words = match error.is_connect() {
            true => format!("cannot reach {place}: {}", innermost(error)),
            false => format!("no answer from {place}: {}", innermost(error)),
        };
        self.fault(what, None, &words)
    }

    /// A failure in the words that logs and other programs look for.
    pub(super) fn fault(&self, what: &str, status: Option<u16>, words: &str) -> Fault {
        let words = without_secrets(words, &self.secrets);
        let words = text::to_outside(&text::head(&words, MOST_WORDS)).into_owned();
        Fault { status, words: format!("{} {what} failed: {words}", self.provider), late: false }
    }

    /// Tries, and tries again where that may help. No attempt may take longer than the limit.
    pub(super) async fn tries<Answer, Attempt>(
        &self,
        limit: Duration,
        doing: &str,
        attempt: impl Fn() -> Attempt,
    ) -> Result<Answer, Fault>
    where
        Attempt: Future<Output = Result<Answer, Fault>>,
    {
        let mut tried = 0;
        loop {
            let fault = match tokio::time::timeout(limit, attempt()).await {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(fault)) => fault,
                Err(_) => return Err(Fault::late(doing, limit)),
            };
            if tried == self.limits.retries || !PASSING.is_match(&fault.words) {
                return Err(fault);
            }
            tokio::time::sleep(self.limits.wait(tried)).await;
            tried += 1;
        }
    }
}

impl Fault {
    /// It took too long.
    pub(super) fn late(doing: &str, limit: Duration) -> Self {
        let words = format!("memory embeddings {doing} timed out after {}s", limit.as_secs());
        Self { status: None, words, late: true }
    }
}

impl From<Fault> for EmbedError {
    fn from(fault: Fault) -> Self {
        Self(fault.words)
    }
}
