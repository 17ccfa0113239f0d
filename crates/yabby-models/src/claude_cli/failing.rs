//! Why the program did not answer, and what to do about it.

use std::io;
use std::sync::LazyLock;

use regex::Regex;
use yabby_domain::compaction::trigger::tells_overflow;
use yabby_domain::seam::model::{ModelError, ModelErrorKind};
use yabby_domain::text;

use super::ClaudeCliSettings;
use crate::failure::{redacted, tells_of_no_credit};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// There is no such program.
    Missing,
    /// It could not be started.
    Unstarted(String),
    /// It does not know what it is asked with.
    TooOld(String),
    /// The session that it was to go on with is not there.
    NoSession,
    /// The session that it was to begin is there already.
    SessionExists,
    Silent,
    /// It printed a line without an end.
    EndlessLine,
    /// It ended without a result.
    CutOff(String),
    Said(ModelErrorKind, String),
}

/// The status that its service answered with. Any other number may be a port, a time or a part of an id.
static STATUS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?i)api error[:\s(]*([45]\d\d)\b").expect("a constant pattern compiles"));

const NOT_LOGGED_IN: [&str; 5] = ["/login", "invalid api key", "authentication", "oauth", "not logged in"];

impl Trouble {
    pub(super) fn of_start(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::Missing,
            _ => Self::Unstarted(error.to_string()),
        }
    }

    /// What its words mean.
    pub(super) fn of_words(words: &str) -> Self {
        use ModelErrorKind::{
            Auth, BadRequest, Billing, Broken, ContextOverflow, Overloaded, RateLimited, Unavailable,
        };
        let says =
            |signs: &[&str]| signs.iter().any(|sign| text::find_ignoring_ascii_case(words, sign).is_some());
        let status = STATUS.captures(words).and_then(|found| found[1].parse::<u16>().ok());
        let kind = match () {
            () if says(&["no conversation found with session id"]) => return Self::NoSession,
            () if says(&["session id"]) && says(&["already in use"]) => return Self::SessionExists,
            () if says(&["unknown option", "unknown argument", "invalid value for '--output-format'"]) => {
                return Self::TooOld(words.to_owned());
            }
            () if tells_overflow(words) => ContextOverflow,
            () if status == Some(402) || tells_of_no_credit(words) => Billing,
            () if status == Some(429)
                || says(&["usage limit", "rate limit", "rate_limit", "hit your limit"]) =>
            {
                RateLimited { retry_after: None }
            }
            () if matches!(status, Some(401 | 403)) || says(&NOT_LOGGED_IN) => Auth,
            () if matches!(status, Some(503 | 529)) || says(&["overloaded"]) => Overloaded,
            () if status == Some(404) || says(&["issue with the selected model", "model_not_found"]) => {
                Unavailable
            }
            () if status == Some(400) => BadRequest,
            () => Broken,
        };
        Self::Said(kind, words.to_owned())
    }

    /// In one sentence, with the remedy.
    pub(super) fn sentence(&self, settings: &ClaudeCliSettings, model: &str) -> ModelError {
        use ModelErrorKind::{
            Auth, BadRequest, Billing, Broken, ContextOverflow, Overloaded, RateLimited, Refused, TimedOut,
            Unavailable,
        };
        let program = settings.program.display();
        let said = |words: &str| match redacted(words, settings.set_variables.iter().map(|(_, value)| value))
        {
            words if words.is_empty() => String::new(),
            words => format!(" (“{words}”)"),
        };
        let (kind, sentence) = match self {
            Self::Missing => (
                Unavailable,
                format!(
                    "The program {program} is not installed: get it with `npm install -g @anthropic-ai/claude-code`, or say where it is."
                ),
            ),
            Self::Unstarted(why) => (
                Unavailable,
                format!("The program {program} cannot be started{}: check that it may be run.", said(why)),
            ),
            Self::TooOld(why) => (
                Unavailable,
                format!("The program {program} is too old{}: update it with `claude update`.", said(why)),
            ),
            Self::NoSession | Self::SessionExists => (
                Broken,
                format!("The program {program} lost its session: begin a new conversation with /new."),
            ),
            Self::EndlessLine => (
                Broken,
                format!(
                    "The program {program} printed a line without an end, which was cut off after 32 MB: try again."
                ),
            ),
            Self::Silent => (TimedOut, format!("The program {program} was silent for too long: try again.")),
            Self::CutOff(why) => (
                Broken,
                format!(
                    "The program {program} ended without an answer{}: try again, or run it by hand to see why.",
                    said(why)
                ),
            ),
            Self::Said(kind, words) => {
                let said = said(words);
                let sentence = match kind {
                    Auth => format!(
                        "The program {program} is not logged in{said}: run it once by hand, and log in."
                    ),
                    Billing => format!(
                        "The account of the program {program} has no credit left{said}: add some, or choose another model with /model."
                    ),
                    ContextOverflow => format!(
                        "The prompt is too long for {model}{said}: begin a new conversation with /new, or choose another model with /model."
                    ),
                    RateLimited { .. } => format!(
                        "The program {program} has used up what its account allows{said}: try again later, or choose another model with /model."
                    ),
                    Overloaded => {
                        format!("The service behind {program} is overloaded{said}: try again in a minute.")
                    }
                    Unavailable => format!(
                        "The program {program} has no model {model}{said}: choose another with /model."
                    ),
                    Refused | BadRequest | TimedOut | Broken => {
                        format!(
                            "The program {program} failed{said}: try again, or run it by hand to see why."
                        )
                    }
                };
                (*kind, sentence)
            }
        };
        ModelError::new(kind, sentence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_the_program_are_understood() {
        use ModelErrorKind::{Auth, Billing, Broken, ContextOverflow, Overloaded, RateLimited, Unavailable};
        let said = |kind| move |words: &str| Trouble::Said(kind, words.to_owned());
        type Expected = Box<dyn Fn(&str) -> Trouble>;
        let table: [(&str, Expected); 13] = [
            ("No conversation found with session ID: 2d22", Box::new(|_| Trouble::NoSession)),
            ("Error: Session ID 736b is already in use.", Box::new(|_| Trouble::SessionExists)),
            ("error: unknown option '--session-id'", Box::new(|words| Trouble::TooOld(words.into()))),
            ("Invalid API key · Please run /login", Box::new(said(Auth))),
            ("Prompt is too long", Box::new(said(ContextOverflow))),
            ("Claude AI usage limit reached|1760000000", Box::new(said(RateLimited { retry_after: None }))),
            ("API Error: 529 Overloaded", Box::new(said(Overloaded))),
            ("API Error: 529 Try again. Check your gateway (127.0.0.1:34299)", Box::new(said(Overloaded))),
            ("API Error (429 {\"type\":\"error\"})", Box::new(said(RateLimited { retry_after: None }))),
            ("Cannot connect to 127.0.0.1:40129", Box::new(said(Broken))),
            ("There's an issue with the selected model (x)", Box::new(said(Unavailable))),
            ("Credit balance is too low", Box::new(said(Billing))),
            ("Segmentation fault", Box::new(said(Broken))),
        ];
        for (words, expected) in table {
            assert_eq!(Trouble::of_words(words), expected(words), "{words}");
        }
    }

    #[test]
    fn an_overflow_is_recognised_in_the_transcript_too() {
        let trouble = Trouble::of_words("Prompt is too long");
        let error = trouble.sentence(&ClaudeCliSettings::default(), "opus");
        assert!(tells_overflow(&error.message), "{error}");
    }
}
