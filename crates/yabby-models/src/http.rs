//! The one HTTP stack that everybody is asked through.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use jiff::Timestamp;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response, Url};
use secrecy::{ExposeSecret as _, SecretString};
use yabby_domain::seam::model::ModelErrorKind;
use yabby_domain::text;

use crate::failure::Failure;
use crate::wire::Outgoing;

/// Connections to all services. Copies share them.
#[derive(Clone, Debug)]
pub struct Http(Arc<Connections>);

/// Made when somebody is first asked: to read the certificates of the system takes longer than everything else
/// that is done at a start, and many a process asks nobody.
#[derive(Debug)]
struct Connections {
    patience: Patience,
    /// Through a proxy, where the environment names one.
    usual: OnceLock<Client>,
    /// To this machine, which no proxy leads to.
    direct: OnceLock<Client>,
}

/// How long to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// For a connection.
    pub connect: Duration,
    /// For the next byte. Models may think for minutes without a word.
    pub silence: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { connect: Duration::from_secs(15), silence: Duration::from_secs(300) }
    }
}

/// There can be no connections at all.
#[derive(Debug, thiserror::Error)]
#[error(
    "connections cannot be made: {0}; check the certificates of this system and the proxy in its environment"
)]
pub struct HttpError(#[from] reqwest::Error);

impl Http {
    pub fn new(patience: Patience) -> Self {
        Self(Arc::new(Connections { patience, usual: OnceLock::new(), direct: OnceLock::new() }))
    }

    /// Who reaches an address.
    pub(crate) fn client(&self, url: &Url) -> Result<&Client, HttpError> {
        let Connections { patience, usual, direct } = &*self.0;
        let (kept, builder) = match is_local(url) {
            true => (direct, Client::builder().no_proxy()),
            false => (usual, Client::builder()),
        };
        if let Some(client) = kept.get() {
            return Ok(client);
        }
        // Somebody else may have chosen one already, and then that is the one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = builder
            .user_agent(concat!("yabby/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(patience.connect)
            .read_timeout(patience.silence)
            // A compressed stream comes in blocks, and not when it is said.
            .no_gzip()
            // A request holds a key, which belongs to one address.
            .redirect(reqwest::redirect::Policy::none())
            .build()?;
        Ok(kept.get_or_init(|| client))
    }

    /// Sends a request; what comes back is the beginning of an answer.
    pub(crate) async fn post(
        &self,
        outgoing: &Outgoing,
        key: Option<&SecretString>,
        extra: &[(String, SecretString)],
    ) -> Result<Response, Failure> {
        let url = Url::parse(&outgoing.url).map_err(|error| {
            Failure::new(ModelErrorKind::BadRequest, format!("{} is no address: {error}", outgoing.url))
        })?;
        let client = self.client(&url).map_err(|error| Failure::unreached(error.to_string()))?;
        let headers = headers(outgoing, key, extra)?;
        let sent = client.post(url).headers(headers).body(outgoing.body.to_text()).send().await;
        let response = sent.map_err(|error| Failure::of_transport(&error))?;
        let status = response.status();
        let is_stream = response
            .headers()
            .get(CONTENT_TYPE)
            .and_then(|kind| kind.to_str().ok())
            .is_none_or(|kind| !kind.starts_with("application/json") && !kind.starts_with("text/html"));
        if status.is_success() && is_stream {
            return Ok(response);
        }
        let headers = response.headers().clone();
        let body = beginning(response).await;
        match status.is_success() {
            // Some say what is wrong with a friendly face.
            true if body.contains("error") => Err(Failure::of_event(&parsed(&body))),
            true => Err(Failure::unreadable("no stream of events")),
            false => Err(Failure::of_response(status.as_u16(), &headers, &body, Timestamp::now())),
        }
    }
}

fn parsed(body: &str) -> yabby_domain::json::Value {
    yabby_domain::json::parse(body).unwrap_or_default()
}

fn is_local(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

fn headers(
    outgoing: &Outgoing,
    key: Option<&SecretString>,
    extra: &[(String, SecretString)],
) -> Result<HeaderMap, Failure> {
    let unfit =
        |name: &str| Failure::new(ModelErrorKind::BadRequest, format!("the header {name} cannot be sent"));
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
    for (name, value) in &outgoing.headers {
        headers.insert(*name, HeaderValue::from_str(value).map_err(|_| unfit(name))?);
    }
    if let Some(key) = key {
        let (name, before) = outgoing.key;
        let value = format!("{before}{}", key.expose_secret().trim());
        let mut value = HeaderValue::from_str(&value)
            .map_err(|_| Failure::new(ModelErrorKind::Auth, "the key holds characters that no key has"))?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    for (name, value) in extra {
        let known: HeaderName = name.parse().map_err(|_| unfit(name))?;
        let mut value = HeaderValue::from_str(value.expose_secret()).map_err(|_| unfit(name))?;
        value.set_sensitive(true);
        headers.insert(known, value);
    }
    Ok(headers)
}

/// The first part of a body: enough for an error, and not more than that.
async fn beginning(mut response: Response) -> String {
    const MOST: usize = 64 * 1024;
    let mut body = Vec::new();
    while body.len() < MOST {
        match response.chunk().await {
            Ok(Some(chunk)) => body.extend_from_slice(&chunk),
            Ok(None) | Err(_) => break,
        }
    }
    body.truncate(MOST);
    text::lossy(&body).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_proxy_leads_to_this_machine() {
        let table = [
            ("http://localhost:11434/v1", true),
            ("http://127.0.0.1:1/", true),
            ("http://[::1]:8000/v1", true),
            ("https://api.openai.com/v1", false),
            ("http://10.0.0.1/", false),
        ];
        for (url, local) in table {
            assert_eq!(is_local(&Url::parse(url).unwrap()), local, "{url}");
        }
    }
}
