//! `web_fetch`: the readable text of a page.

use std::time::{Duration, Instant};

use async_trait::async_trait;
use encoding_rs::{Encoding, UTF_8};
use serde_json::json;
use std::sync::Arc;
use yabby_domain::config::Config;
use yabby_domain::json::{self, Object, Value};
use yabby_domain::leash::web_address::Exceptions;
use yabby_domain::message::text_block;
use yabby_domain::seam::tool::{Effect, Tool, ToolContext, ToolOutput, ToolSpec};
use yabby_domain::text;
use yabby_domain::transcript::time::iso;
use yabby_domain::untrusted::fence;

use crate::arguments::Arguments;
use crate::web_cache::Cache;
use crate::web_client::{Answer, FetchError, Manner, Web};
use crate::web_page::{Mode, readable};

/// What a site is told that asks, unless the configuration says otherwise.
const USER_AGENT: &str = concat!("Mozilla/5.0 (compatible; yabby/", env!("CARGO_PKG_VERSION"), ")");

/// How much of an error page is told, in characters.
const ERROR_CHARS: usize = 4000;

/// Fewer characters are not worth a call.
const FEWEST_CHARS: usize = 100;

/// The tool, unless the configuration turns it off.
pub fn web_fetch(config: &Config, web: Arc<Web>) -> Option<Arc<dyn Tool>> {
    let is_on = config.tools.web.fetch.enabled();
    is_on.then(|| Arc::new(WebFetch { web, pages: Cache::default() }) as Arc<dyn Tool>)
}

struct WebFetch {
    web: Arc<Web>,
    pages: Cache<ToolOutput>,
}

/// What the configuration says about fetching (`config.md` §9).
struct Settings {
    exceptions: Exceptions,
    max_chars: usize,
    max_chars_cap: usize,
    time_limit: Duration,
    cache_minutes: f64,
    max_redirects: usize,
    user_agent: String,
}

impl Settings {
    fn from_config(config: &Config) -> Self {
        let fetch = &config.tools.web.fetch;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        let count = |number: f64| number as usize;
        let user_agent = fetch.user_agent.as_deref().and_then(text::non_blank);
        // A header holds no control characters; such a name is worse than none.
        let user_agent = user_agent.filter(|name| name.bytes().all(|byte| matches!(byte, 0x20..0x7f)));
        let max_chars_cap = count(fetch.max_chars_cap()).max(FEWEST_CHARS);
        Self {
            exceptions: Exceptions::from_config(config),
            max_chars: count(fetch.max_chars()),
            max_chars_cap,
            time_limit: Duration::from_secs(count(fetch.timeout_seconds()).clamp(1, 3600) as u64),
            cache_minutes: fetch.cache_ttl_minutes().max(0.0),
            max_redirects: count(fetch.max_redirects()).min(50),
            user_agent: user_agent.unwrap_or(USER_AGENT).to_owned(),
        }
    }
}

#[async_trait]
impl Tool for WebFetch {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "web_fetch".to_owned(),
            description:
                "Read a web page: its text as Markdown, with title and links. Text files and JSON come as \
                they are. No scripts run, and only public addresses are reached."
                    .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "url": {"type": "string", "description": "The address, http or https"},
                    "extractMode": {"type": "string", "enum": ["markdown", "text"], "description": "markdown (default), or text without links and marks"},
                    "maxChars": {"type": "number", "minimum": FEWEST_CHARS, "description": "How much of a long page to read"},
                },
                "required": ["url"],
            }),
        }
    }

    fn effect(&self) -> Effect {
        Effect::None
    }

    async fn call(&self, arguments: &Object, context: &ToolContext) -> ToolOutput {
        let arguments = Arguments(arguments);
        let url = match arguments.required("url") {
            Ok(url) => url,
            Err(problem) => return ToolOutput::error(&problem),
        };
        let settings = Settings::from_config(&context.config);
        let mode = if arguments.text("extractMode") == Some("text") { Mode::Text } else { Mode::Markdown };
        let wanted = arguments.count("maxChars", 1).unwrap_or(settings.max_chars);
        let max_chars = wanted.clamp(FEWEST_CHARS, settings.max_chars_cap);
        // What is allowed is part of the question: a page that was allowed may be no longer.
        let key = format!("{mode:?} {max_chars} {:?} {url}", settings.exceptions);
        if let Some(mut output) = self.pages.get(&key, context.now) {
            if let Some(Value::Object(details)) = &mut output.details {
                details.insert("cached".to_owned(), true.into());
            }
            return output;
        }
        match self.fetch(url, mode, max_chars, &settings, context).await {
            Ok(output) => {
                self.pages.keep(key, output.clone(), context.now, settings.cache_minutes);
                output
            }
            Err(problem) => ToolOutput::error(&problem),
        }
    }
}

impl WebFetch {
    async fn fetch(
        &self,
        asked: &str,
        mode: Mode,
        max_chars: usize,
        settings: &Settings,
        context: &ToolContext,
    ) -> Result<ToolOutput, String> {
        let began = Instant::now();
        let manner = Manner {
            exceptions: &settings.exceptions,
            user_agent: &settings.user_agent,
            time_limit: settings.time_limit,
            max_redirects: settings.max_redirects,
        };
        let answer = self.web.get(asked, &manner).await.map_err(|error| told(asked, &error))?;
        let (url, status, was_cut) = (answer.url.to_string(), answer.status, answer.is_cut);
        let content_type = essence(answer.content_type.as_deref());
        let reading = tokio::task::spawn_blocking(move || Content::of(&answer, mode));
        let content = reading.await.map_err(|_| format!("{asked} could not be read"))?;
        let source = format!("the web page {url}");
        if !(200..300).contains(&status) {
            let words = content
                .map(|content| text::head(&content.text, ERROR_CHARS).into_owned())
                .unwrap_or_default();
            let fenced = text::non_blank(&words).map(|words| format!(": {}", fence(&source, words)));
            return Err(format!("Web fetch failed ({status}){}", fenced.unwrap_or_default()));
        }
        let content =
            content.map_err(|kind| format!("{url} is not text but {kind}; only text can be read"))?;
        let shown = text::head(&content.text, max_chars);
        let is_truncated = was_cut || shown.len() < content.text.len();
        let titled = match &content.title {
            Some(title) if !shown.contains(title.as_str()) => format!("Title: {title}\n\n{shown}"),
            _ => shown.to_string(),
        };
        let mut told = fence(&source, &titled);
        if is_truncated {
            let all = text::units(&content.text);
            told.push_str(&match was_cut {
                true => "\n(Cut: the page is too large to be read as a whole.)".to_owned(),
                false => format!("\n(Cut after {max_chars} of {all} characters; maxChars asks for more.)"),
            });
        }
        let fenced = fence(&source, &shown);
        let mut details = Object::new();
        let mut set = |key: &str, value: Value| _ = details.insert(key.to_owned(), value);
        set("url", asked.into());
        set("finalUrl", url.clone().into());
        set("status", status.into());
        set("contentType", content_type.into());
        if let Some(title) = &content.title {
            set("title", fence(&source, title).into());
        }
        set("extractMode", if mode == Mode::Text { "text" } else { "markdown" }.into());
        set("extractor", content.extractor.into());
        set("truncated", is_truncated.into());
        set("length", text::units(&fenced).into());
        set("rawLength", text::units(&shown).into());
        set("wrappedLength", text::units(&fenced).into());
        set("fetchedAt", iso(context.now).into());
        set("tookMs", u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX).into());
        set("text", fenced.into());
        Ok(ToolOutput {
            blocks: vec![text_block(&told)],
            details: Some(details.into()),
            ..ToolOutput::default()
        })
    }
}

fn told(asked: &str, error: &FetchError) -> String {
    format!("{} was not fetched: {error}", text::head(asked, 300))
}

/// `text/html` of `text/html; charset=utf-8`.
fn essence(content_type: Option<&str>) -> String {
    let essence = content_type.and_then(|kind| kind.split(';').next()).and_then(text::non_blank);
    essence.unwrap_or("application/octet-stream").to_ascii_lowercase()
}

struct Content {
    title: Option<String>,
    text: String,
    extractor: &'static str,
}

impl Content {
    /// The text of an answer, or what it is instead.
    fn of(answer: &Answer, mode: Mode) -> Result<Self, String> {
        let kind = essence(answer.content_type.as_deref());
        let encoding = encoding(answer, &kind);
        let is_wide = encoding != UTF_8 && encoding.name().starts_with("UTF-16");
        let looks_binary = !is_wide && answer.body.iter().take(8192).any(|byte| *byte == 0);
        if !is_text(&kind, &answer.body) || looks_binary {
            return Err(kind);
        }
        let (decoded, ..) = encoding.decode(&answer.body);
        let decoded = text::from_outside(&decoded);
        let looks_like_page = || {
            let start = text::head(decoded.trim_start(), 100).to_ascii_lowercase();
            kind == "application/octet-stream"
                && (start.starts_with("<!doctype html") || start.starts_with("<html"))
        };
        if kind == "text/html" || kind == "application/xhtml+xml" || looks_like_page() {
            let read = readable(&decoded, &answer.url, mode);
            return Ok(Self { title: read.title, text: read.text, extractor: "readability" });
        }
        if (kind == "application/json" || kind.ends_with("+json"))
            && let Ok(value) = json::parse(&decoded)
        {
            return Ok(Self { title: None, text: json::stringify_pretty(&value), extractor: "json" });
        }
        Ok(Self { title: None, text: decoded.into_owned(), extractor: "raw" })
    }
}

/// Whether such content is text: by its name or, where that says nothing, by its bytes.
fn is_text(kind: &str, body: &[u8]) -> bool {
    const NAMES: [&str; 12] = [
        "application/json",
        "application/xml",
        "application/javascript",
        "application/ecmascript",
        "application/yaml",
        "application/x-yaml",
        "application/toml",
        "application/x-sh",
        "application/x-javascript",
        "application/graphql",
        "application/x-ndjson",
        "application/sql",
    ];
    let is_unknown = matches!(kind, "application/octet-stream" | "binary/octet-stream" | "unknown/unknown");
    let is_utf8 = || match std::str::from_utf8(body) {
        Ok(_) => true,
        // The last character may be cut.
        Err(error) => error.error_len().is_none(),
    };
    kind.starts_with("text/")
        || kind.ends_with("+json")
        || kind.ends_with("+xml")
        || NAMES.contains(&kind)
        || (is_unknown && is_utf8())
}

/// The letters that the answer, its first bytes or its head name.
fn encoding(answer: &Answer, kind: &str) -> &'static Encoding {
    if let Some((encoding, _)) = Encoding::for_bom(&answer.body) {
        return encoding;
    }
    let named = answer.content_type.as_deref().and_then(charset_in);
    let in_page = || {
        let head = &answer.body[..answer.body.len().min(1024)];
        kind.contains("html").then(|| charset_in(&String::from_utf8_lossy(head)))?
    };
    named.or_else(in_page).unwrap_or(UTF_8)
}

/// The encoding behind the first `charset=`.
fn charset_in(text: &str) -> Option<&'static Encoding> {
    let at = text::find_ignoring_ascii_case(text, "charset=")?;
    let rest = text[at + "charset=".len()..].trim_start_matches(['"', '\'', ' ']);
    let label: String =
        rest.chars().take_while(|c| c.is_ascii_alphanumeric() || "-_:.".contains(*c)).collect();
    Encoding::for_label(label.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(kind: &str, body: &[u8]) -> Result<(String, &'static str), String> {
        let answer = Answer {
            url: url::Url::parse("https://site.example/").unwrap(),
            status: 200,
            content_type: Some(kind.to_owned()).filter(|kind| !kind.is_empty()),
            body: body.to_vec(),
            is_cut: false,
        };
        Content::of(&answer, Mode::Markdown).map(|content| (content.text, content.extractor))
    }

    #[test]
    fn letters_are_read_as_they_were_meant() {
        let table: [(&str, &[u8], &str); 9] = [
            ("text/plain", "grün".as_bytes(), "grün"),
            ("text/plain; charset=iso-8859-1", b"gr\xfcn", "grün"),
            ("text/plain; Charset=\"windows-1252\"", b"\x80 5", "€ 5"),
            ("text/html", b"<meta charset=latin1><p>gr\xfcn", "grün"),
            ("text/html; charset=shift_jis", b"<p>\x93\xfa\x96\x7b", "日本"),
            ("text/plain", b"\xff\xfeg\0r\0", "gr"),
            ("text/plain; charset=nonsense", "grün".as_bytes(), "grün"),
            ("text/plain", b"bad \xff byte", "bad \u{fffd} byte"),
            ("", b"no name", "no name"),
        ];
        for (kind, body, text) in table {
            assert_eq!(content(kind, body).unwrap().0, text, "{kind}");
        }
    }

    #[test]
    fn what_is_no_text_is_refused() {
        let table: [(&str, &[u8]); 8] = [
            ("image/png", b"\x89PNG"),
            ("application/pdf", b"%PDF-1.7"),
            ("application/zip", b"PK"),
            ("audio/mpeg", b"ID3"),
            ("text/plain", b"a\0b"),
            ("text/html", b"\0\0\0<p>evil</p>"),
            ("application/octet-stream", b"\xff\xfa\x01"),
            ("", b"\x7fELF\x80"),
        ];
        for (kind, body) in table {
            assert!(content(kind, body).is_err(), "{kind}");
        }
    }

    #[test]
    fn every_kind_of_text_has_its_way() {
        let table: [(&str, &[u8], &str, &str); 5] = [
            ("application/json", b"{\"a\":[1]}", "{\n  \"a\": [\n    1\n  ]\n}", "json"),
            ("application/ld+json", b"{broken", "{broken", "raw"),
            ("text/markdown", b"# As *it* is", "# As *it* is", "raw"),
            ("application/atom+xml", b"<feed/>", "<feed/>", "raw"),
            ("", b"<!DOCTYPE html><p>page", "page", "readability"),
        ];
        for (kind, body, text, extractor) in table {
            assert_eq!(content(kind, body).unwrap(), (text.to_owned(), extractor), "{kind}");
        }
    }
}
