//! Why a service did not answer, from everything that it says about it: status, headers, body, events.

use std::sync::LazyLock;
use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822;
use regex::Regex;
use reqwest::header::HeaderMap;
use secrecy::{ExposeSecret as _, SecretString};
use yabby_domain::compaction::trigger::tells_overflow;
use yabby_domain::json::{self, Value};
use yabby_domain::seam::model::{ModelError, ModelErrorKind};
use yabby_domain::text;

/// How much of what a service says is repeated.
const MOST_WORDS: usize = 240;

/// A failure, before it is put into a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) kind: ModelErrorKind,
    /// What the service, or the network, said.
    pub(crate) words: String,
    what: What,
    /// The status of the response that told it.
    status: Option<u16>,
}

/// What kinds of failures have the same kind for the engine and another remedy for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Usual,
    /// Nobody could be reached.
    Unreached,
    /// The end of the answer is missing.
    CutOff,
    /// The answer is not in the format that was agreed on.
    Unreadable,
}

impl Failure {
    pub(crate) fn new(kind: ModelErrorKind, words: impl Into<String>) -> Self {
        Self { kind, words: words.into(), what: What::Usual, status: None }
    }

    pub(crate) fn cut_off() -> Self {
        Self { kind: ModelErrorKind::Broken, words: String::new(), what: What::CutOff, status: None }
    }

    pub(crate) fn unreadable(words: impl Into<String>) -> Self {
        Self { kind: ModelErrorKind::Broken, words: words.into(), what: What::Unreadable, status: None }
    }

    pub(crate) fn unreached(words: impl Into<String>) -> Self {
        Self { kind: ModelErrorKind::Broken, words: words.into(), what: What::Unreached, status: None }
    }

    /// What the network says.
    pub(crate) fn of_transport(error: &(dyn std::error::Error + 'static)) -> Self {
        let http = error.downcast_ref::<reqwest::Error>();
        let words = innermost(error);
        match http {
            Some(http) if http.is_connect() => Self::unreached(words),
            Some(http) if http.is_timeout() => Self::new(ModelErrorKind::TimedOut, ""),
            Some(http) if http.is_builder() => Self::new(ModelErrorKind::BadRequest, words),
            Some(http) if http.is_request() => Self::unreached(words),
            _ => Self::cut_off(),
        }
    }

    /// What a response that is no answer says.
    pub(crate) fn of_response(status: u16, headers: &HeaderMap, body: &str, now: Timestamp) -> Self {
        let parsed = json::parse(body).unwrap_or_default();
        let mut told = Told::of(&parsed);
        if told.words.is_empty() {
            told.words = match text::non_blank(body) {
                // A page for people, of some machine in between.
                Some(page) if text::trim(page).starts_with('<') => format!("status {status}"),
                Some(words) => words.to_owned(),
                None => format!("{status} (no body)"),
            };
        }
        let retry_after = retry_after(headers, now).or(told.retry_after);
        Self { status: Some(status), ..told.failure(Some(status), retry_after) }
    }

    /// What an event that tells an error says.
    pub(crate) fn of_event(event: &Value) -> Self {
        let told = Told::of(event);
        let retry_after = told.retry_after;
        told.failure(told.status, retry_after)
    }

    /// The failure in one sentence, without secrets.
    pub(crate) fn sentence<'s>(
        &self,
        provider: &str,
        model: &str,
        secrets: impl IntoIterator<Item = &'s SecretString>,
    ) -> ModelError {
        let said = match redacted(&self.words, secrets) {
            words if words.is_empty() => String::new(),
            words => format!(" (“{words}”)"),
        };
        let sentence = match (self.kind, self.what) {
            (_, What::Unreached) => format!(
                "{provider} cannot be reached{said}: check the address, the network and whether it is running, and try again."
            ),
            (_, What::CutOff) => format!("The answer of {provider} broke off{said}: try again."),
            (_, What::Unreadable) => format!(
                "{provider} sent something that is no answer of its kind{said}: check that its address and `api` belong together, or try again."
            ),
            (ModelErrorKind::ContextOverflow, _) => format!(
                "The prompt is too long for {provider}/{model}{said}: begin a new conversation with /new, or choose a model that reads more with /model."
            ),
            (ModelErrorKind::RateLimited { retry_after: Some(wait) }, _) => format!(
                "{provider} takes no more requests for now{said}: try again in {} s, or choose another model with /model.",
                wait.as_secs_f64().ceil()
            ),
            (ModelErrorKind::RateLimited { retry_after: None }, _) => format!(
                "{provider} takes no more requests for now{said}: try again later, or choose another model with /model."
            ),
            (ModelErrorKind::Overloaded, _) => format!(
                "{provider} is overloaded{said}: try again in a minute, or choose another model with /model."
            ),
            (ModelErrorKind::Auth, _) => {
                format!("{provider} does not accept the key{said}: check it, or set another one.")
            }
            (ModelErrorKind::Billing, _) => format!(
                "{provider} wants to be paid first{said}: add credit to the account, or choose another model with /model."
            ),
            (ModelErrorKind::Refused, _) => {
                format!("{provider}/{model} declined to answer{said}: put it in other words.")
            }
            (ModelErrorKind::BadRequest, _) => format!(
                "{provider} does not take the request{said}: check what is configured for {model}, or choose another model with /model."
            ),
            (ModelErrorKind::TimedOut, _) => {
                format!("{provider} was silent for too long{said}: try again.")
            }
            (ModelErrorKind::Unavailable, _) => {
                format!("{provider} has no model {model} for this key{said}: choose another with /model.")
            }
            (ModelErrorKind::Broken, What::Usual) => {
                format!("Something is broken at {provider}{said}: try again later.")
            }
        };
        ModelError { status: self.status, ..ModelError::new(self.kind, sentence) }
    }
}

const UNPAID_CODES: [&str; 6] = [
    "insufficient_quota",
    "billing_error",
    "billing_not_active",
    "billing_hard_limit_reached",
    "insufficient_balance",
    "payment_required",
];

/// Whether words say that an account is not paid for.
pub(crate) fn tells_of_no_credit(words: &str) -> bool {
    let signs = [
        "credit balance is too low",
        "insufficient credits",
        "insufficient balance",
        "insufficient_quota",
        "exceeded your current quota, please check your plan and billing",
        "billing hard limit",
        "account is not active, please check your billing",
    ];
    signs.iter().any(|sign| text::find_ignoring_ascii_case(words, sign).is_some())
}

/// What a body or an event tells, in the spellings of all services.
struct Told {
    words: String,
    /// Types, codes and reasons, in lower case.
    codes: Vec<String>,
    status: Option<u16>,
    retry_after: Option<Duration>,
}

impl Told {
    fn of(body: &Value) -> Self {
        // Gemini puts its errors into a list, if it had begun to answer.
        let body = body.as_array().and_then(|list| list.first()).unwrap_or(body);
        let error = ["error", "response"]
            .into_iter()
            .filter_map(|field| body.get(field))
            .find(|value| !value.is_null())
            .unwrap_or(body);
        let error = error.get("error").filter(|inner| inner.is_object()).unwrap_or(error);
        let words = match error {
            Value::String(words) => words.clone(),
            _ => {
                let spellings = ["message", "detail", "error_description"];
                let found = spellings
                    .into_iter()
                    .find_map(|field| [error, body].into_iter().find_map(|from| from.get(field)?.as_str()));
                found.unwrap_or_default().to_owned()
            }
        };
        let code = |field: &str| match error.get(field) {
            Some(Value::String(code)) => Some(text::lower(code)),
            _ => None,
        };
        let mut codes: Vec<String> = ["type", "code", "status"].into_iter().filter_map(code).collect();
        let details = error.get("details").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        codes.extend(details.iter().filter_map(|detail| detail.get("reason")?.as_str()).map(text::lower));
        // Behind a router, the words of whoever it asked.
        let raw = error.get("metadata").and_then(|metadata| metadata.get("raw")?.as_str());
        let words = match raw {
            Some(raw) => format!("{words}: {raw}"),
            None => words,
        };
        let delay = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str()?.strip_suffix('s'));
        let status = error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
        Self { words, codes, status, retry_after: delay.and_then(seconds) }
    }

    fn failure(&self, status: Option<u16>, retry_after: Option<Duration>) -> Failure {
        Failure::new(self.kind(status, retry_after), self.words.clone())
    }

    fn kind(&self, status: Option<u16>, retry_after: Option<Duration>) -> ModelErrorKind {
        use ModelErrorKind::{
            Auth, BadRequest, Billing, Broken, ContextOverflow, Overloaded, RateLimited, Refused, TimedOut,
            Unavailable,
        };
        let is = |codes: &[&str]| self.codes.iter().any(|code| codes.contains(&code.as_str()));
        let says = |words: &str| text::find_ignoring_ascii_case(&self.words, words).is_some();
        let limited = status == Some(429)
            || is(&["rate_limit_error", "rate_limit_exceeded", "resource_exhausted", "too_many_requests"]);
        let unpaid = status == Some(402) || is(&UNPAID_CODES) || tells_of_no_credit(&self.words);
        // A limit on tokens per minute is told in much the same words as one on tokens per request.
        let too_long = !limited
            && (tells_overflow(&self.words)
                || says("exceed context limit")
                || status == Some(413)
                || is(&["context_length_exceeded", "request_too_large"]));
        let refused = is(&["content_filter", "content_policy_violation", "refusal", "moderation_blocked"])
            || (status == Some(403) && says("moderation"));
        let denied = matches!(status, Some(401 | 403))
            || is(&[
                "authentication_error",
                "permission_error",
                "invalid_api_key",
                "api_key_invalid",
                "unauthenticated",
                "permission_denied",
            ]);
        let overloaded = matches!(status, Some(503 | 529))
            || is(&[
                "overloaded_error",
                "server_is_overloaded",
                "slow_down",
                "unavailable",
                "engine_overloaded",
            ]);
        let unknown = status == Some(404) || is(&["not_found_error", "model_not_found", "not_found"]);
        let late = matches!(status, Some(408 | 504)) || is(&["timeout_error", "deadline_exceeded"]);
        let wrong =
            is(&["invalid_request_error", "invalid_argument", "failed_precondition", "invalid_prompt"]);
        match status {
            _ if unpaid => Billing,
            _ if too_long => ContextOverflow,
            _ if limited => RateLimited { retry_after },
            _ if refused => Refused,
            _ if denied => Auth,
            _ if overloaded => Overloaded,
            _ if unknown => Unavailable,
            _ if late => TimedOut,
            Some(500..) => Broken,
            _ if wrong => BadRequest,
            Some(400..) => BadRequest,
            _ => Broken,
        }
    }
}

/// How long a service wants to be left alone: in milliseconds, in seconds, or until a time.
fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(milliseconds) = header("retry-after-ms").and_then(|text| text.trim().parse::<f64>().ok()) {
        return Duration::try_from_secs_f64(milliseconds / 1000.0).ok();
    }
    let value = header("retry-after")?.trim();
    seconds(value).or_else(|| {
        let until = rfc2822::parse(value).ok()?.timestamp();
        Some(Duration::try_from(until.duration_since(now)).unwrap_or(Duration::ZERO))
    })
}

fn seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.parse().ok()?).ok()
}

/// What looks like a key, whoever's it is.
static KEY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:sk|xai|gsk|AIza|key|pk|rk|tgp)[-_][\w*.\-]{6,}|\bAIza[\w\-]{10,}|\bBearer\s+\S+")
        .expect("a constant pattern compiles")
});

/// The words on one line, without keys, and not too many of them.
pub(crate) fn redacted<'s>(words: &str, secrets: impl IntoIterator<Item = &'s SecretString>) -> String {
    let words = without_secrets(&text::collapse_spaces(words), secrets);
    let words = text::trim(&words).trim_end_matches('.');
    match text::units(words) > MOST_WORDS {
        true => format!("{}…", text::to_outside(&text::head(words, MOST_WORDS))),
        false => words.to_owned(),
    }
}

/// The words without these secrets, and without what looks like one.
pub(crate) fn without_secrets<'s>(
    words: &str,
    secrets: impl IntoIterator<Item = &'s SecretString>,
) -> String {
    // Shorter ones are no secrets, and would make holes everywhere.
    const LEAST: usize = 6;
    let mut words = words.to_owned();
    for secret in secrets.into_iter().map(|secret| secret.expose_secret().trim()) {
        if secret.len() >= LEAST {
            words = words.replace(secret, "…");
        }
    }
    KEY.replace_all(&words, "…").into_owned()
}

/// The cause behind all others says most.
pub(crate) fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let mut inner = error;
    while let Some(cause) = inner.source() {
        inner = cause;
    }
    inner.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(status: u16, body: &str) -> Failure {
        Failure::of_response(status, &HeaderMap::new(), body, Timestamp::UNIX_EPOCH)
    }

    #[test]
    fn failures_have_the_kind_that_their_service_means() {
        use ModelErrorKind::{
            Auth, BadRequest, Billing, Broken, ContextOverflow, Overloaded, RateLimited, Refused, TimedOut,
            Unavailable,
        };
        let limited = |seconds: Option<u64>| RateLimited { retry_after: seconds.map(Duration::from_secs) };
        let table = [
            (
                401,
                r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}"#,
                Auth,
            ),
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 213462 tokens > 200000 maximum"}}"#,
                ContextOverflow,
            ),
            (
                400,
                r#"{"error":{"message":"This model's maximum context length is 8192 tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}"#,
                ContextOverflow,
            ),
            (
                413,
                r#"{"error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#,
                ContextOverflow,
            ),
            (400, "", ContextOverflow),
            (
                400,
                r#"{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed","status":"INVALID_ARGUMENT"}}"#,
                ContextOverflow,
            ),
            (400, r#"{"error":{"type":"invalid_request_error","message":"messages.0: bad"}}"#, BadRequest),
            (422, r#"{"detail":"nonsense"}"#, BadRequest),
            (
                400,
                r#"[{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}]"#,
                Auth,
            ),
            (
                429,
                r#"{"error":{"message":"Rate limit reached for tokens per min: too many tokens","type":"tokens","code":"rate_limit_exceeded"}}"#,
                limited(None),
            ),
            (
                429,
                r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}"#,
                Billing,
            ),
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}"#,
                Billing,
            ),
            (402, r#"{"error":{"message":"Insufficient Balance","type":"unknown_error"}}"#, Billing),
            (403, r#"{"error":{"type":"billing_error","message":"x"}}"#, Billing),
            (402, "{}", Billing),
            (
                429,
                r#"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"quota","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"13s"}]}}"#,
                limited(Some(13)),
            ),
            (
                529,
                r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
                Overloaded,
            ),
            (503, "<html>busy</html>", Overloaded),
            (500, r#"{"error":{"type":"api_error","message":"Internal server error"}}"#, Broken),
            (502, "<html>", Broken),
            (504, "", TimedOut),
            (404, r#"{"error":"model 'x' not found"}"#, Unavailable),
            (403, r#"{"error":{"code":403,"message":"Input was flagged by moderation"}}"#, Refused),
            (403, "{}", Auth),
        ];
        for (status, body, kind) in table {
            assert_eq!(of(status, body).kind, kind, "{status} {body}");
        }
        let event =
            json::parse(r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#);
        assert_eq!(Failure::of_event(&event.unwrap()).kind, Overloaded);
        let event = r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"x"}}}"#;
        assert_eq!(Failure::of_event(&json::parse(event).unwrap()).kind, Broken);
        let event =
            r#"{"error":{"code":502,"message":"Provider returned error","metadata":{"raw":"upstream"}}}"#;
        let failure = Failure::of_event(&json::parse(event).unwrap());
        assert_eq!((failure.kind, failure.words.as_str()), (Broken, "Provider returned error: upstream"));
    }

    #[test]
    fn the_wait_is_told_in_three_ways() {
        let now: Timestamp = "2026-02-03T12:00:00Z".parse().unwrap();
        let table = [
            ("retry-after-ms", "1500", Some(1.5)),
            ("retry-after", "7", Some(7.0)),
            ("retry-after", "0.25", Some(0.25)),
            ("retry-after", "Tue, 03 Feb 2026 12:00:09 GMT", Some(9.0)),
            ("retry-after", "Tue, 03 Feb 2026 11:00:00 GMT", Some(0.0)),
            ("retry-after", "-1", None),
            ("retry-after", "soon", None),
        ];
        for (name, value, expected) in table {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            let wait = retry_after(&headers, now).map(|wait| wait.as_secs_f64());
            assert_eq!(wait, expected, "{name}: {value}");
        }
    }

    #[test]
    fn a_sentence_holds_no_key_and_not_the_whole_body() {
        let key = SecretString::from("my-own-secret");
        let words = format!("bad my-own-secret and sk-ant-REDACTED and Bearer xyz.123 {}", "x".repeat(9000));
        let failure = Failure::new(ModelErrorKind::Auth, words);
        let error = failure.sentence("anthropic", "claude", [&key]);
        assert!(!error.message.contains("secret") && !error.message.contains("sk-ant"), "{error}");
        assert!(!error.message.contains("xyz"), "{error}");
        assert!(error.message.len() < 500, "{}", error.message.len());
        assert!(error.message.starts_with("anthropic does not accept the key (“bad … and … and"), "{error}");
    }

    #[test]
    fn an_overflow_is_recognised_in_the_transcript_too() {
        let error = Failure::new(ModelErrorKind::ContextOverflow, "").sentence("p", "m", None);
        assert!(tells_overflow(&error.message), "{error}");
    }
}
