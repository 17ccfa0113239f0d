//! Pages from the web, on the leash (`yabby_domain::leash::web_address`).
//!
//! Names are resolved through one door, which judges every answer, and the connection goes to what was
//! judged: a name that leads elsewhere a moment later has gained nothing. Redirections are followed here,
//! a judgement each. No proxy is asked, for nobody could tell where it leads.

use std::collections::HashSet;
use std::error::Error;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{ACCEPT, ACCEPT_LANGUAGE, CONTENT_ENCODING, CONTENT_TYPE, LOCATION, USER_AGENT};
use reqwest::{Client, Response};
use url::Url;
use yabby_domain::leash::web_address::{Exceptions, Refusal, judge, judge_answers, judge_url};

/// More of a page is not read, whatever it unpacks to.
pub const MAX_BYTES: usize = 4 * 1024 * 1024;

/// Where names lead.
#[async_trait]
pub trait Lookup: Send + Sync {
    async fn addresses(&self, host: &str) -> io::Result<Vec<IpAddr>>;
}

/// What this system says.
pub struct SystemLookup;

#[async_trait]
impl Lookup for SystemLookup {
    async fn addresses(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        Ok(tokio::net::lookup_host((host, 0)).await?.map(|address| address.ip()).collect())
    }
}

/// Connections to pages.
pub struct Web {
    lookup: Arc<dyn Lookup>,
    /// The connections for the exceptions that were last asked with; others want others.
    client: Mutex<Option<(Exceptions, Client)>>,
}

/// How a page is asked for.
pub(crate) struct Manner<'m> {
    pub(crate) exceptions: &'m Exceptions,
    pub(crate) user_agent: &'m str,
    pub(crate) time_limit: Duration,
    pub(crate) max_redirects: usize,
}

/// What came back.
pub(crate) struct Answer {
    pub(crate) url: Url,
    pub(crate) status: u16,
    /// With its parameters.
    pub(crate) content_type: Option<String>,
    pub(crate) body: Vec<u8>,
    /// There was more.
    pub(crate) is_cut: bool,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum FetchError {
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error("{from} sends to another address, which is refused: {why}")]
    Redirected { from: String, why: Refusal },
    #[error("the page sends on and on: more than {0} redirections are not followed")]
    TooManyRedirects(usize),
    #[error("the page sends in a circle: {0} comes again")]
    Circle(String),
    #[error("{0} has no address that this system knows")]
    Unknown(String),
    #[error("there was no whole answer within {} seconds", .0.as_secs())]
    TimedOut(Duration),
    #[error("the page is packed as {0}, which was not asked for")]
    Packed(String),
    #[error("{host} could not be asked: {why}")]
    Broken { host: String, why: String },
}

impl Web {
    pub fn new(lookup: Arc<dyn Lookup>) -> Self {
        Self { lookup, client: Mutex::new(None) }
    }

    pub(crate) async fn get(&self, raw: &str, manner: &Manner<'_>) -> Result<Answer, FetchError> {
        let (url, _) = judge(raw, manner.exceptions)?;
        let asking = self.follow(url, manner);
        tokio::time::timeout(manner.time_limit, asking)
            .await
            .unwrap_or(Err(FetchError::TimedOut(manner.time_limit)))
    }

    async fn follow(&self, mut url: Url, manner: &Manner<'_>) -> Result<Answer, FetchError> {
        let client = self.client(manner.exceptions)?;
        let mut seen = HashSet::new();
        for _ in 0..=manner.max_redirects {
            url.set_fragment(None);
            if !seen.insert(url.clone()) {
                return Err(FetchError::Circle(url.into()));
            }
            let request = client
                .get(url.clone())
                .header(USER_AGENT, manner.user_agent)
                .header(ACCEPT, "text/markdown, text/html;q=0.9, */*;q=0.8")
                .header(ACCEPT_LANGUAGE, "en-US,en;q=0.9");
            let response = request.send().await.map_err(|error| failure(&url, &error))?;
            match redirection(&response) {
                Some(place) => {
                    let from = url.to_string();
                    let refused = |why| FetchError::Redirected { from: from.clone(), why };
                    let next = url.join(&place).map_err(|_| refused(Refusal::NoAddress(place.clone())))?;
                    judge_url(&next, manner.exceptions).map_err(refused)?;
                    url = next;
                }
                None => return read(url, response).await,
            }
        }
        Err(FetchError::TooManyRedirects(manner.max_redirects))
    }

    fn client(&self, exceptions: &Exceptions) -> Result<Client, FetchError> {
        let mut kept = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, client)) = kept.as_ref()
            && known == exceptions
        {
            return Ok(client.clone());
        }
        // Somebody else may have chosen one already, and then that is the one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            .dns_resolver(Arc::new(Judging { lookup: self.lookup.clone(), exceptions: exceptions.clone() }))
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            // A connection that is kept would be to an address that was judged for another page.
            .pool_max_idle_per_host(0)
            .connect_timeout(Duration::from_secs(15))
            .build()
            .map_err(|error| FetchError::Broken { host: "the web".to_owned(), why: error.to_string() })?;
        *kept = Some((exceptions.clone(), client.clone()));
        Ok(client)
    }
}

/// The door that names are resolved through.
struct Judging {
    lookup: Arc<dyn Lookup>,
    exceptions: Exceptions,
}

impl Resolve for Judging {
    fn resolve(&self, name: Name) -> Resolving {
        let (lookup, exceptions) = (self.lookup.clone(), self.exceptions.clone());
        Box::pin(async move {
            let host = name.as_str();
            let answers = lookup.addresses(host).await?;
            judge_answers(host, &answers, &exceptions)?;
            // The port is that of the page.
            Ok(Box::new(answers.into_iter().map(|address| SocketAddr::new(address, 0))) as Addrs)
        })
    }
}

fn redirection(response: &Response) -> Option<String> {
    let sends_on = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    let place = response.headers().get(LOCATION).filter(|_| sends_on)?;
    Some(String::from_utf8_lossy(place.as_bytes()).into_owned())
}

/// Reads no more than is allowed, counted as it is unpacked.
async fn read(url: Url, mut response: Response) -> Result<Answer, FetchError> {
    let header = |name| {
        response.headers().get(name).map(|value: &reqwest::header::HeaderValue| {
            String::from_utf8_lossy(value.as_bytes()).into_owned()
        })
    };
    if let Some(packed) =
        header(CONTENT_ENCODING).filter(|packed| !packed.trim().eq_ignore_ascii_case("identity"))
    {
        return Err(FetchError::Packed(packed));
    }
    let (status, content_type) = (response.status().as_u16(), header(CONTENT_TYPE));
    let mut body = Vec::new();
    let mut is_cut = false;
    while let Some(chunk) = response.chunk().await.map_err(|error| failure(&url, &error))? {
        let room = MAX_BYTES - body.len();
        if chunk.len() > room {
            body.extend_from_slice(&chunk[..room]);
            is_cut = true;
            break;
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Answer { url, status, content_type, body, is_cut })
}

/// What went wrong, as deep down as it is known.
fn failure(url: &Url, error: &reqwest::Error) -> FetchError {
    let host = url.host_str().unwrap_or_default().to_owned();
    let mut cause: &dyn Error = error;
    loop {
        if let Some(refusal) = cause.downcast_ref::<Refusal>() {
            return FetchError::Refused(refusal.clone());
        }
        match cause.source() {
            Some(deeper) => cause = deeper,
            None => break,
        }
    }
    if error.is_connect() && cause.to_string().contains("lookup address") {
        return FetchError::Unknown(host);
    }
    FetchError::Broken { host, why: cause.to_string() }
}
