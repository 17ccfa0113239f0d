//! `web_search`: Brave, Perplexity (itself or through OpenRouter) or a SearXNG of the owner's own.

mod brave;
mod perplexity;
mod searxng;

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use reqwest::header::RETRY_AFTER;
use reqwest::{Client, RequestBuilder};
use serde_json::json;
use url::Url;
use yabby_domain::config::Config;
use yabby_domain::config::word::Word;
use yabby_domain::json::{self, Object, Value};
use yabby_domain::message::text_block;
use yabby_domain::seam::tool::{Effect, Tool, ToolContext, ToolOutput, ToolSpec};
use yabby_domain::text;
use yabby_domain::untrusted::fence;

use crate::arguments::Arguments;
use crate::web_cache::Cache;
use crate::web_page::is_invisible;

/// Who is asked, with what they are asked with.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Provider {
    Brave { base: String, key: Option<String> },
    Perplexity { base: String, model: String, key: Option<String> },
    Searxng { base: Option<String> },
}

/// Where the services are, and the variables that may hold their keys.
pub struct Ask {
    pub brave: String,
    pub perplexity: String,
    pub openrouter: String,
    pub variable: Variable,
}

/// Looks a variable of the environment up.
pub type Variable = Box<dyn Fn(&str) -> Option<String> + Send + Sync>;

impl Ask {
    /// The real services.
    pub fn real(variable: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self {
            brave: "https://api.search.brave.com".to_owned(),
            perplexity: "https://api.perplexity.ai".to_owned(),
            openrouter: "https://openrouter.ai/api/v1".to_owned(),
            variable: Box::new(variable),
        }
    }

    fn provider(&self, config: &Config) -> Provider {
        let search = &config.tools.web.search;
        let base = config.extras.tools.web.search.searxng.base_url.as_deref();
        let set = |written: &Option<String>| written.as_deref().and_then(text::non_blank).map(str::to_owned);
        let variable =
            |name: &str| (self.variable)(name).as_deref().and_then(text::non_blank).map(str::to_owned);
        match search.provider.as_ref().map_or("", Word::as_str).trim().to_lowercase().as_str() {
            "perplexity" => {
                let own = set(&search.perplexity.api_key);
                let direct = variable("PERPLEXITY_API_KEY");
                // Whose key it is tells where to ask.
                let base = match (&own, &direct) {
                    (Some(key), _) if key.to_lowercase().starts_with("pplx-") => &self.perplexity,
                    (None, Some(_)) => &self.perplexity,
                    _ => &self.openrouter,
                };
                let model =
                    set(&search.perplexity.model).unwrap_or_else(|| "perplexity/sonar-pro".to_owned());
                let base = set(&search.perplexity.base_url).unwrap_or_else(|| base.clone());
                Provider::Perplexity {
                    model,
                    base,
                    key: own.or(direct).or_else(|| variable("OPENROUTER_API_KEY")),
                }
            }
            "searxng" => Provider::Searxng { base: base.and_then(text::non_blank).map(str::to_owned) },
            _ => Provider::Brave {
                base: self.brave.clone(),
                key: set(&search.api_key).or_else(|| variable("BRAVE_API_KEY")),
            },
        }
    }
}

impl Provider {
    fn name(&self) -> &'static str {
        match self {
            Self::Brave { .. } => "brave",
            Self::Perplexity { .. } => "perplexity",
            Self::Searxng { .. } => "searxng",
        }
    }

    /// As people call it.
    fn called(&self) -> &'static str {
        match self {
            Self::Brave { .. } => "Brave",
            Self::Perplexity { .. } => "Perplexity",
            Self::Searxng { .. } => "SearXNG",
        }
    }

    /// What is missing, and what to do about it.
    fn lacks(&self) -> Option<&'static str> {
        match self {
            Self::Brave { key: None, .. } => Some(
                "web_search has no key for Brave. Set BRAVE_API_KEY in the environment or in a .env file of the state \
                 folder, or `yabby config set tools.web.search.apiKey <key>`.",
            ),
            Self::Perplexity { key: None, .. } => Some(
                "web_search has no key for Perplexity. Set PERPLEXITY_API_KEY or OPENROUTER_API_KEY in the environment \
                 or in a .env file of the state folder, or `yabby config set tools.web.search.perplexity.apiKey <key>`.",
            ),
            Self::Searxng { base: None } => Some(
                "web_search does not know where SearXNG is. Tell it with `yabby config set \
                 tools.web.search.searxng.baseUrl http://host:port`.",
            ),
            Self::Brave { .. } | Self::Perplexity { .. } | Self::Searxng { .. } => None,
        }
    }
}

/// The tool, where there is somebody to ask and the configuration does not turn it off. One that turns it on
/// gets it in any case, and is told what is missing.
pub fn web_search(config: &Config, ask: Ask) -> Option<Arc<dyn Tool>> {
    let provider = ask.provider(config);
    let is_on = config.tools.web.search.enabled.unwrap_or(provider.lacks().is_none());
    is_on.then(|| Arc::new(WebSearch { ask, provider, found: Cache::default() }) as Arc<dyn Tool>)
}

struct WebSearch {
    ask: Ask,
    /// When the tool was made; what is asked follows the configuration of the turn.
    provider: Provider,
    found: Cache<ToolOutput>,
}

/// What is looked for.
struct Question<'q> {
    query: &'q str,
    count: usize,
    country: Option<&'q str>,
    search_lang: Option<&'q str>,
    ui_lang: Option<&'q str>,
    freshness: Option<String>,
}

/// What a service found.
struct Found {
    /// Words of the service's own.
    answer: Option<String>,
    hits: Vec<Hit>,
}

struct Hit {
    title: String,
    url: String,
    words: String,
    published: Option<String>,
}

#[async_trait]
impl Tool for WebSearch {
    fn spec(&self) -> ToolSpec {
        let described = match self.provider {
            Provider::Brave { .. } | Provider::Searxng { .. } => {
                "Search the web: titles, addresses and excerpts."
            }
            Provider::Perplexity { .. } => {
                "Search the web: an answer in words, with the pages that it is from."
            }
        };
        let mut properties = json!({
            "query": {"type": "string", "description": "What to look for"},
            "count": {"type": "number", "minimum": 1, "maximum": 10, "description": "How many results"},
            "country": {"type": "string", "description": "Two letters of a country, or ALL"},
            "search_lang": {"type": "string", "description": "The language of results, such as de"},
            "ui_lang": {"type": "string", "description": "The language of everything else"},
        });
        if !matches!(self.provider, Provider::Perplexity { .. }) {
            properties["freshness"] = json!({
                "type": "string",
                "description": "How old: pd (a day), pw (a week), pm (a month), py (a year) or 2026-01-31to2026-02-28",
            });
        }
        ToolSpec {
            name: "web_search".to_owned(),
            description: described.to_owned(),
            parameters: json!({"type": "object", "properties": properties, "required": ["query"]}),
        }
    }

    fn effect(&self) -> Effect {
        Effect::None
    }

    async fn call(&self, arguments: &Object, context: &ToolContext) -> ToolOutput {
        match self.search(Arguments(arguments), context).await {
            Ok(output) => output,
            Err(problem) => ToolOutput::error(&problem),
        }
    }
}

impl WebSearch {
    async fn search(&self, arguments: Arguments<'_>, context: &ToolContext) -> Result<ToolOutput, String> {
        let config = &context.config;
        let provider = self.ask.provider(config);
        if let Some(lacking) = provider.lacks() {
            return Err(lacking.to_owned());
        }
        let search = &config.tools.web.search;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        let usual = search.max_results() as usize;
        let word = |name| arguments.text(name).and_then(text::non_blank);
        let question = Question {
            query: arguments.required("query")?,
            count: arguments.count("count", 1).unwrap_or(usual).clamp(1, 10),
            country: word("country"),
            search_lang: word("search_lang"),
            ui_lang: word("ui_lang"),
            freshness: word("freshness").map(|raw| freshness(raw, &provider)).transpose()?,
        };
        let key = format!(
            "{provider:?} {} {:?} {:?} {:?} {:?} {}",
            question.count,
            question.country,
            question.search_lang,
            question.ui_lang,
            question.freshness,
            question.query.to_lowercase()
        );
        if let Some(mut output) = self.found.get(&key, context.now) {
            if let Some(Value::Object(details)) = &mut output.details {
                details.insert("cached".to_owned(), true.into());
            }
            return Ok(output);
        }
        let seconds = search.timeout_seconds().clamp(1.0, 3600.0);
        let time_limit = Duration::from_secs_f64(seconds);
        let began = Instant::now();
        let asking = async {
            match &provider {
                Provider::Brave { base, key } => {
                    brave::ask(base, key.as_deref().unwrap_or_default(), &question).await
                }
                Provider::Perplexity { base, model, key } => {
                    perplexity::ask(base, model, key.as_deref().unwrap_or_default(), &question).await
                }
                Provider::Searxng { base } => {
                    searxng::ask(base.as_deref().unwrap_or_default(), &question).await
                }
            }
        };
        let found =
            tokio::time::timeout(time_limit, asking).await.unwrap_or(Err(Trouble::Silent(time_limit)));
        let found = found.map_err(|trouble| trouble.told(&provider))?;
        let output = told(&question, &provider, &found, began.elapsed());
        let minutes = search.cache_ttl_minutes().max(0.0);
        self.found.keep(key, output.clone(), context.now, minutes);
        Ok(output)
    }
}

/// `pd`, `pw`, `pm`, `py` or a range of days.
fn freshness(raw: &str, provider: &Provider) -> Result<String, String> {
    if matches!(provider, Provider::Perplexity { .. }) {
        return Err("freshness cannot be asked of Perplexity; say it in the query".to_owned());
    }
    let raw = raw.trim();
    let lower = raw.to_lowercase();
    if matches!(lower.as_str(), "pd" | "pw" | "pm" | "py") {
        return Ok(lower);
    }
    let day = |text: &str| (text.len() == 10).then(|| text.parse::<jiff::civil::Date>().ok())?;
    match raw.split_once("to").and_then(|(from, to)| Some((day(from)?, day(to)?))) {
        Some((from, to)) if from <= to && matches!(provider, Provider::Brave { .. }) => Ok(raw.to_owned()),
        Some((from, to)) if from <= to => {
            Err("SearXNG knows no range of days; freshness is pd, pw, pm or py".to_owned())
        }
        _ => Err("freshness is pd, pw, pm, py, or a range such as 2026-01-31to2026-02-28".to_owned()),
    }
}

fn told(question: &Question<'_>, provider: &Provider, found: &Found, took: Duration) -> ToolOutput {
    let mut words = found.answer.clone().unwrap_or_default();
    for (number, hit) in found.hits.iter().enumerate() {
        if !words.is_empty() {
            words.push_str("\n\n");
        }
        let Hit { title, url, words: excerpt, published } = hit;
        let lines = [title.as_str(), url, excerpt, published.as_deref().unwrap_or_default()];
        let lines: Vec<&str> = lines.into_iter().filter(|line| !line.is_empty()).collect();
        words.push_str(&format!("{}. {}", number + 1, lines.join("\n   ")));
    }
    let told = match words.is_empty() {
        true => "Nothing was found.".to_owned(),
        false => fence(&format!("a web search by {}", provider.called()), &words),
    };
    let hit = |hit: &Hit| {
        let mut row = Object::new();
        row.insert("title".to_owned(), hit.title.as_str().into());
        row.insert("url".to_owned(), hit.url.as_str().into());
        row.insert("description".to_owned(), hit.words.as_str().into());
        if let Some(published) = &hit.published {
            row.insert("published".to_owned(), published.as_str().into());
        }
        if let Some(site) = Url::parse(&hit.url).ok().and_then(|url| url.host_str().map(str::to_owned)) {
            row.insert("siteName".to_owned(), site.into());
        }
        Value::Object(row)
    };
    let mut details = Object::new();
    let mut set = |key: &str, value: Value| _ = details.insert(key.to_owned(), value);
    set("query", question.query.into());
    set("provider", provider.name().into());
    if let Provider::Perplexity { model, .. } = provider {
        set("model", model.as_str().into());
    }
    set("tookMs", u64::try_from(took.as_millis()).unwrap_or(u64::MAX).into());
    match &found.answer {
        Some(answer) => {
            set("content", answer.as_str().into());
            set("citations", found.hits.iter().map(|hit| Value::from(hit.url.as_str())).collect());
        }
        None => {
            set("count", found.hits.len().into());
            set("results", found.hits.iter().map(hit).collect());
        }
    }
    ToolOutput { blocks: vec![text_block(&told)], details: Some(details.into()), ..ToolOutput::default() }
}

/// Why nothing came of it.
enum Trouble {
    Silent(Duration),
    Unreachable(String),
    Status(u16, Option<String>),
    Unreadable,
}

impl Trouble {
    /// In one sentence, with what to do.
    fn told(&self, provider: &Provider) -> String {
        let who = provider.called();
        match self {
            Self::Silent(limit) => format!("{who} did not answer within {} seconds.", limit.as_secs()),
            Self::Unreachable(why) => format!("{who} could not be reached: {why}."),
            Self::Unreadable => format!("{who} answered with something that is no search result."),
            Self::Status(401, _) => {
                format!("{who} does not know the key (401); check {}.", place_of_key(provider))
            }
            Self::Status(402, _) => format!("{who} wants to be paid first (402)."),
            Self::Status(403, _) if matches!(provider, Provider::Searxng { .. }) => {
                "SearXNG does not answer programs (403); add json to search.formats in its settings.yml."
                    .to_owned()
            }
            Self::Status(403, _) => {
                format!("{who} does not allow this key to search (403); check {}.", place_of_key(provider))
            }
            Self::Status(422 | 400, _) => {
                format!(
                    "{who} did not understand the question; try it without country, languages and freshness."
                )
            }
            Self::Status(429, after) => {
                let after = after
                    .as_ref()
                    .map(|after| format!("; it asks to wait {after} seconds"))
                    .unwrap_or_default();
                format!("{who} was asked too often (429){after}.")
            }
            Self::Status(status, _) => format!("{who} could not search (status {status})."),
        }
    }
}

fn place_of_key(provider: &Provider) -> &'static str {
    match provider {
        Provider::Brave { .. } => "tools.web.search.apiKey or BRAVE_API_KEY",
        Provider::Perplexity { .. } => {
            "tools.web.search.perplexity.apiKey, PERPLEXITY_API_KEY or OPENROUTER_API_KEY"
        }
        Provider::Searxng { .. } => "its settings",
    }
}

/// An address below the place of a service.
fn below(base: &str, path: &str) -> Result<Url, Trouble> {
    let base = base.trim_end_matches('/');
    Url::parse(&format!("{base}{path}")).map_err(|_| Trouble::Unreachable(format!("{base} is no address")))
}

/// Connections to a place that the owner named. Where that is this machine no proxy leads there.
fn client(url: &Url) -> Result<Client, Trouble> {
    // Somebody else may have chosen one already, and then that is the one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let is_local =
        host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    let builder = Client::builder()
        .user_agent(concat!("yabby/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(Duration::from_secs(15))
        // A request holds a key, which belongs to one address.
        .redirect(reqwest::redirect::Policy::none());
    let builder = if is_local { builder.no_proxy() } else { builder };
    builder.build().map_err(|error| Trouble::Unreachable(error.to_string()))
}

/// Sends a request and reads the JSON that comes back, which is not large.
async fn answer(request: RequestBuilder) -> Result<Value, Trouble> {
    const MOST: usize = 1024 * 1024;
    let unreachable = |error: reqwest::Error| {
        let mut cause: &dyn std::error::Error = &error;
        while let Some(deeper) = cause.source() {
            cause = deeper;
        }
        Trouble::Unreachable(cause.to_string())
    };
    let mut response = request.send().await.map_err(unreachable)?;
    let status = response.status().as_u16();
    if status != 200 {
        let after = response.headers().get(RETRY_AFTER).and_then(|after| after.to_str().ok());
        let after =
            after.filter(|after| !after.is_empty() && after.bytes().all(|byte| byte.is_ascii_digit()));
        return Err(Trouble::Status(status, after.map(str::to_owned)));
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
        body.extend_from_slice(&chunk);
        if body.len() > MOST {
            return Err(Trouble::Unreadable);
        }
    }
    json::parse(&text::lossy(&body)).ok().filter(Value::is_object).ok_or(Trouble::Unreadable)
}

/// A text of an answer as it is seen: on one line.
fn seen(value: Option<&Value>) -> String {
    let text = value.and_then(Value::as_str).unwrap_or_default();
    let visible: String = text.chars().filter(|c| !is_invisible(*c)).collect();
    visible.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    type Variables = &'static [(&'static str, &'static str)];

    fn ask(variables: Variables) -> Ask {
        Ask::real(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn whose_key_it_is_tells_where_to_ask() {
        let perplexity =
            |own: Value| json!({"tools": {"web": {"search": {"provider": "Perplexity", "perplexity": own}}}});
        let (direct, router) = ("https://api.perplexity.ai", "https://openrouter.ai/api/v1");
        //  configuration, variables, base, key
        let table: [(Value, Variables, &str, Option<&str>); 8] = [
            (json!({"apiKey": "pplx-1"}), &[], direct, Some("pplx-1")),
            (json!({"apiKey": "sk-or-1"}), &[("PERPLEXITY_API_KEY", "p")], router, Some("sk-or-1")),
            (json!({"apiKey": "other"}), &[], router, Some("other")),
            (json!({}), &[("PERPLEXITY_API_KEY", "p"), ("OPENROUTER_API_KEY", "o")], direct, Some("p")),
            (json!({}), &[("OPENROUTER_API_KEY", " o ")], router, Some("o")),
            (
                json!({"baseUrl": "https://own.example"}),
                &[("OPENROUTER_API_KEY", "o")],
                "https://own.example",
                Some("o"),
            ),
            (json!({"apiKey": " "}), &[], router, None),
            (json!({}), &[("BRAVE_API_KEY", "b")], router, None),
        ];
        for (own, variables, base, key) in table {
            let provider = ask(variables).provider(&Config::new(perplexity(own.clone())));
            let expected = Provider::Perplexity {
                base: base.to_owned(),
                model: "perplexity/sonar-pro".to_owned(),
                key: key.map(str::to_owned),
            };
            assert_eq!(provider, expected, "{own} {variables:?}");
        }
    }

    #[test]
    fn the_tool_is_there_where_somebody_can_be_asked() {
        let searxng = json!({"provider": "searxng", "searxng": {"baseUrl": "http://127.0.0.1:1"}});
        //  search, variables, offered
        let table: [(Value, Variables, bool); 8] = [
            (json!({}), &[], false),
            (json!({}), &[("BRAVE_API_KEY", "b")], true),
            (json!({"apiKey": "b"}), &[], true),
            (json!({"enabled": false, "apiKey": "b"}), &[], false),
            (json!({"enabled": true}), &[], true),
            (json!({"provider": "perplexity"}), &[("BRAVE_API_KEY", "b")], false),
            (json!({"provider": "searxng"}), &[("BRAVE_API_KEY", "b")], false),
            (searxng, &[], true),
        ];
        for (search, variables, offered) in table {
            let config = Config::new(json!({"tools": {"web": {"search": search}}}));
            assert_eq!(web_search(&config, ask(variables)).is_some(), offered, "{config:?}");
        }
    }

    #[test]
    fn freshness_is_a_word_or_a_range() {
        let brave = Provider::Brave { base: String::new(), key: None };
        let searxng = Provider::Searxng { base: None };
        //  written, Brave, SearXNG
        let table = [
            ("PW", true, true),
            ("py", true, true),
            ("2026-01-31to2026-02-28", true, false),
            ("2026-02-28to2026-01-31", false, false),
            ("2026-02-30to2026-03-01", false, false),
            ("yesterday", false, false),
        ];
        for (raw, by_brave, by_searxng) in table {
            assert_eq!(freshness(raw, &brave).is_ok(), by_brave, "{raw}");
            assert_eq!(freshness(raw, &searxng).is_ok(), by_searxng, "{raw}");
        }
    }
}
