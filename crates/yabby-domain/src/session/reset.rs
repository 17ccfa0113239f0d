//! Words that begin a session anew: `/new`, `/reset` (`sessions.md` §9).

use crate::config::Config;
use crate::text;

/// What the model is told when a reset brings no words of its own (`sessions.md` §21).
pub const BARE_RESET: &str = "A new session was started via /new or /reset. Greet the user in your configured persona, if one is provided. Be yourself - use your defined voice, mannerisms, and mood. Keep it to 1-3 sentences and ask what they want to do. If the runtime model differs from default_model in the system prompt, mention the default model. Do not mention internal steps, files, tools, or reasoning.";

/// The words that a turn gives to the agent; `None` if there are none, which is answered with
/// [`NO_TEXT`](crate::reply::notices::NO_TEXT).
///
/// `raw` is the message as it came. A new session for which it says nothing more than the trigger
/// begins with a greeting.
pub fn words_for_agent<'b>(body: &'b str, raw: &str, is_new: bool) -> Option<&'b str> {
    let raw = text::trim(raw);
    let is_bare = matches!(raw, "/new" | "/reset") || (text::non_blank(body).is_none() && !raw.is_empty());
    if is_new && is_bare { Some(BARE_RESET) } else { text::non_blank(body).map(|_| body) }
}

/// The words that reset a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResetTriggers(Vec<String>);

impl Default for ResetTriggers {
    fn default() -> Self {
        Self(vec!["/new".to_owned(), "/reset".to_owned()])
    }
}

impl ResetTriggers {
    /// `session.resetTriggers`, unless the list is empty.
    pub fn from_config(config: &Config) -> Self {
        match &config.session.reset_triggers {
            Some(triggers) if !triggers.is_empty() => Self(triggers.clone()),
            _ => Self::default(),
        }
    }

    /// What follows the trigger, if the message is one. `raw` is the message as it came, `stripped`
    /// the same without headers and mentions; either may show the trigger.
    pub fn find(&self, raw: &str, stripped: &str) -> Option<String> {
        let (raw_lower, stripped_lower) = (text::lower(text::trim(raw)), text::lower(stripped));
        for trigger in self.0.iter().filter(|trigger| !trigger.is_empty()) {
            let lowered = text::lower(trigger);
            if raw_lower == lowered || stripped_lower == lowered {
                return Some(String::new());
            }
            let prefix = format!("{lowered} ");
            if raw_lower.starts_with(&prefix) || stripped_lower.starts_with(&prefix) {
                let rest = text::skip(stripped, text::units(trigger)).into_owned();
                return Some(text::trim_start(&rest).to_owned());
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_reset_asks_for_a_greeting() {
        //  body  raw           new    words
        let table = [
            ("", "/new", true, Some(BARE_RESET)),
            ("", "/begin", true, Some(BARE_RESET)),
            ("x", " /reset ", true, Some(BARE_RESET)),
            (" x ", "/new x", true, Some(" x ")),
            ("", "", true, None),
            (" ", "/new", false, None),
            ("/new", "/new", false, Some("/new")),
        ];
        for (body, raw, is_new, words) in table {
            assert_eq!(words_for_agent(body, raw, is_new), words, "{body:?} {raw:?} {is_new}");
        }
    }

    #[test]
    fn a_trigger_stands_alone_or_before_a_space() {
        let triggers = ResetTriggers::default();
        let table = [
            ("/new", Some("")),
            ("/NEW  summarize", Some("summarize")),
            ("/reset x y", Some("x y")),
            ("/newish", None),
            ("/new: x", None),
            ("say /new", None),
        ];
        for (body, rest) in table {
            assert_eq!(triggers.find(body, body).as_deref(), rest, "{body}");
        }
        // A header hides the trigger from the raw text, not from the stripped one.
        assert_eq!(triggers.find("[Dec 4] Al: /new hi", "/new hi").as_deref(), Some("hi"));
    }
}
