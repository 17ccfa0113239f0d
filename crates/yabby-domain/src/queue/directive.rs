//! `/queue` in a message: a mode, and options such as `debounce:2s`, `cap=5`, `drop:old`
//! (`sessions.md` §18).

use std::sync::LazyLock;

use regex::Regex;

use super::{DropPolicy, QueueMode, QueueWishes};
use crate::text::{self, SPACE_CLASS};
use crate::{duration, json};

/// A message with its `/queue` directive read.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueDirective {
    /// The message without it.
    pub rest: String,
    pub request: Option<QueueRequest>,
}

/// What the directive asked for, in the words it was written in: a word that means nothing is an error
/// to be told.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueueRequest {
    /// Back to what is configured.
    pub reset: bool,
    pub mode: Option<Written<QueueMode>>,
    pub debounce_ms: Option<Written<u64>>,
    pub cap: Option<Written<f64>>,
    pub drop: Option<Written<DropPolicy>>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Written<T> {
    pub raw: String,
    pub value: Option<T>,
}

impl QueueRequest {
    pub fn has_options(&self) -> bool {
        self.debounce_ms.is_some() || self.cap.is_some() || self.drop.is_some()
    }

    pub fn wishes(&self) -> QueueWishes {
        #[expect(clippy::cast_precision_loss, reason = "nobody waits that long")]
        let debounce_ms = self.debounce_ms.as_ref().and_then(|written| written.value).map(|ms| ms as f64);
        QueueWishes {
            mode: self.mode.as_ref().and_then(|written| written.value),
            debounce_ms,
            cap: self.cap.as_ref().and_then(|written| written.value),
            drop: self.drop.as_ref().and_then(|written| written.value),
        }
    }
}

impl QueueDirective {
    pub fn extract(body: &str) -> Self {
        static COMMAND: LazyLock<Regex> = LazyLock::new(|| {
            text::pattern(&format!("(?:^|[{SPACE_CLASS}])(?i-u:/queue)(?:$|[{SPACE_CLASS}:])"))
        });
        let Some(found) = COMMAND.find(body) else {
            return Self { rest: text::trim(body).to_owned(), request: None };
        };
        let (before, after) = cut_at_command(body, found.start());
        let (request, after) = QueueRequest::read(&after);
        let rest = text::collapse_spaces(&format!("{before} {after}"));
        Self { rest: text::trim(&rest).to_owned(), request: Some(request) }
    }
}

/// What stands before the command and after it.
///
/// The reference looks for the command's place in lower case only: written otherwise, it cuts one unit
/// before the match, and at the start of a message one unit before its end. What is left reaches the
/// agent, so we cut there, too.
fn cut_at_command(body: &str, at: usize) -> (String, String) {
    const LENGTH: usize = "/queue".len();
    let matched = &body[at..];
    let slash = matched.find('/').unwrap_or(0);
    let units_before = text::units(&body[..at]);
    if matched[slash..].starts_with("/queue") {
        let cut = units_before + text::units(&matched[..slash]);
        return (text::head(body, cut).into_owned(), text::skip(body, cut + LENGTH).into_owned());
    }
    match units_before.checked_sub(1) {
        Some(cut) => (text::head(body, cut).into_owned(), text::skip(body, cut + LENGTH).into_owned()),
        None => {
            let all_but_one = text::units(body).saturating_sub(1);
            (text::head(body, all_but_one).into_owned(), text::skip(body, LENGTH - 1).into_owned())
        }
    }
}

impl QueueRequest {
    /// Reads mode and options up to the first word that is neither, and gives back what follows.
    fn read(arguments: &str) -> (Self, &str) {
        let arguments = text::trim_start(arguments);
        let mut rest = arguments.strip_prefix(':').map_or(arguments, text::trim_start);
        let mut request = Self::default();
        while !rest.is_empty() {
            let end = rest.find(text::is_space).unwrap_or(rest.len());
            let word = &rest[..end];
            if !request.take(word) {
                break;
            }
            rest = text::trim_start(&rest[end..]);
            if request.reset {
                break;
            }
        }
        (request, rest)
    }

    /// Whether the word belongs to the directive.
    fn take(&mut self, word: &str) -> bool {
        let lowered = text::lower(word);
        if ["default", "reset", "clear"].contains(&lowered.as_str()) {
            self.reset = true;
            return true;
        }
        let written = || word.split([':', '=']).nth(1).unwrap_or_default().to_owned();
        match lowered.split_once([':', '=']).map(|(name, _)| name) {
            Some("debounce") => {
                let raw = written();
                let value = duration::parse(&raw, duration::MILLISECOND).filter(|ms| *ms > 0);
                self.debounce_ms = Some(Written { value, raw });
            }
            Some("cap") => {
                let raw = written();
                let number = json::number_in(&raw).filter(|_| !raw.is_empty());
                let value = number.map(f64::floor).filter(|cap| *cap >= 1.0);
                self.cap = Some(Written { value, raw });
            }
            Some("drop") => {
                let raw = written();
                self.drop = Some(Written { value: DropPolicy::parse(&raw), raw });
            }
            _ => match QueueMode::parse(word) {
                Some(mode) => self.mode = Some(Written { raw: word.to_owned(), value: Some(mode) }),
                None => return false,
            },
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directive_ends_at_the_first_other_word() {
        let wish = QueueWishes::default();
        let table = [
            ("hi /queue steer there", "hi there", Some(QueueWishes { mode: Some(QueueMode::Steer), ..wish })),
            (
                "/queue: debounce:2s cap=5.9 drop:old x",
                "x",
                Some(QueueWishes {
                    debounce_ms: Some(2000.0),
                    cap: Some(5.0),
                    drop: Some(DropPolicy::Old),
                    ..wish
                }),
            ),
            ("/queue cap:0 drop:x debounce=", "", Some(wish)),
            ("/queue reset steer", "steer", Some(wish)),
            ("/queuex  y", "/queuex  y", None),
            ("/QUEUE x", "/QUEUE E x", Some(wish)),
            ("a /Queue x", "ue x", Some(wish)),
        ];
        for (body, rest, wishes) in table {
            let directive = QueueDirective::extract(body);
            assert_eq!(directive.rest, rest, "{body}");
            assert_eq!(directive.request.map(|request| request.wishes()), wishes, "{body}");
        }
        assert!(QueueDirective::extract("/queue clear").request.is_some_and(|request| request.reset));
    }
}
