//! Words by which the model says that there is nothing to say: `NO_REPLY` and `HEARTBEAT_OK`
//! (`sessions.md` §16).

use std::sync::LazyLock;

use regex::Regex;

use crate::json::{self, Value};
use crate::text;

pub const SILENT_TOKEN: &str = "NO_REPLY";
pub const HEARTBEAT_TOKEN: &str = "HEARTBEAT_OK";

/// What a heartbeat asks the model unless it is configured (`sessions.md` §21).
pub const HEARTBEAT_PROMPT: &str = "Read HEARTBEAT.md if it exists (workspace context). Follow it strictly. Do not infer or repeat old tasks from prior chats. If nothing needs attention, reply HEARTBEAT_OK.";

/// The configured words of a heartbeat, unless they are blank.
pub fn heartbeat_prompt(configured: Option<&str>) -> &str {
    configured.and_then(text::non_blank).unwrap_or(HEARTBEAT_PROMPT)
}

/// Remainders of a heartbeat up to this length are an acknowledgement, not news.
pub const DEFAULT_ACK_LENGTH: f64 = 300.0;

/// Whether the text begins or ends with the token as a word of its own.
pub fn is_silent(text: &str, token: &str) -> bool {
    let begins = text::trim_start(text)
        .strip_prefix(token)
        .is_some_and(|rest| !rest.chars().next().is_some_and(text::is_word));
    (begins || ends_with_word(text, token)) && !text.is_empty() && !token.is_empty()
}

/// Whether `token` is the last word of the text; what follows are no letters.
fn ends_with_word(text: &str, token: &str) -> bool {
    let is_boundary = |before: Option<char>, after: Option<char>| {
        before.is_some_and(text::is_word) != after.is_some_and(text::is_word)
    };
    let up_to_last_word = text.trim_end_matches(|c| !text::is_word(c));
    up_to_last_word
        .strip_suffix(token)
        .is_some_and(|before| is_boundary(before.chars().next_back(), token.chars().next()))
}

/// In which kind of run a heartbeat token is looked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TokenContext {
    /// An ordinary turn: whatever is said beside the token is sent.
    Message,
    /// A heartbeat: a few words beside the token are not worth sending.
    Heartbeat { ack_length: f64 },
}

impl TokenContext {
    /// A heartbeat with a configured limit: a number, or text that is one.
    pub fn of_heartbeat(limit: Option<&Value>) -> Self {
        let given = match limit {
            Some(Value::Number(n)) => n.as_f64(),
            Some(Value::String(s)) => json::number_in(s),
            _ => None,
        };
        Self::Heartbeat { ack_length: given.unwrap_or(DEFAULT_ACK_LENGTH).max(0.0) }
    }
}

/// A text after its heartbeat tokens were taken off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stripped {
    /// What is left to say; `None` if there is nothing worth sending.
    pub text: Option<String>,
    pub found: bool,
}

/// Takes heartbeat tokens off both ends of the text, also from under markup.
pub fn strip_heartbeat(text: &str, context: TokenContext) -> Stripped {
    let Some(trimmed) = text::non_blank(text) else {
        return Stripped { text: None, found: false };
    };
    let stripped =
        [strip_edges(trimmed).filter(|rest| !rest.is_empty()), strip_edges(&without_markup(trimmed))];
    let Some(rest) = stripped.into_iter().flatten().next() else {
        return Stripped { text: Some(trimmed.to_owned()), found: false };
    };
    #[expect(clippy::cast_precision_loss, reason = "lengths of texts are small")]
    let is_ack = match context {
        TokenContext::Message => rest.is_empty(),
        TokenContext::Heartbeat { ack_length } => rest.is_empty() || text::units(&rest) as f64 <= ack_length,
    };
    Stripped { text: (!is_ack).then_some(rest), found: true }
}

/// The text on one line without the tokens at its ends; `None` if there were none.
fn strip_edges(text: &str) -> Option<String> {
    let mut rest = text::trim(text);
    let mut found = false;
    while let Some(shorter) =
        rest.strip_prefix(HEARTBEAT_TOKEN).or_else(|| rest.strip_suffix(HEARTBEAT_TOKEN))
    {
        rest = text::trim(shorter);
        found = true;
    }
    found.then(|| text::collapse_spaces(rest))
}

fn without_markup(text: &str) -> String {
    static MARKUP: LazyLock<Regex> = LazyLock::new(|| text::pattern("<[^>]*>"));
    static NO_BREAK: LazyLock<Regex> = LazyLock::new(|| text::pattern("(?i-u:&nbsp;)"));
    let without_tags = MARKUP.replace_all(text, " ");
    let plain = NO_BREAK.replace_all(&without_tags, " ");
    plain.trim_matches(['*', '`', '~', '_']).to_owned()
}

/// Whether a heartbeat file asks for nothing: headings and empty list items only.
pub fn heartbeat_file_is_empty(content: &str) -> bool {
    content.split('\n').map(text::trim).all(|line| line.is_empty() || is_heading(line) || is_empty_item(line))
}

fn is_heading(line: &str) -> bool {
    let title = line.trim_start_matches('#');
    title.len() < line.len() && title.chars().next().is_none_or(text::is_space)
}

/// `-`, `* [ ]`, `+ [x]`.
fn is_empty_item(line: &str) -> bool {
    let Some(item) = line.strip_prefix(['-', '*', '+']).map(text::trim) else {
        return false;
    };
    let ticked = item.strip_prefix('[').and_then(|item| item.strip_suffix(']'));
    let mut mark = ticked.unwrap_or_default().chars();
    let is_mark = match (mark.next(), mark.next()) {
        (None, _) => true,
        (Some(c), None) => text::is_space(c) || matches!(c, 'x' | 'X'),
        _ => false,
    };
    item.is_empty() || (ticked.is_some() && is_mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_is_a_word_at_either_end() {
        let table = [
            ("NO_REPLY", true),
            (" NO_REPLY. Thanks", true),
            ("ok — NO_REPLY!", true),
            ("NO_REPLYé", true),
            ("éNO_REPLY", true),
            ("NO_REPLYX", false),
            ("_NO_REPLY_", false),
            ("no_reply", false),
            ("a NO_REPLY b", false),
            ("", false),
        ];
        for (text, silent) in table {
            assert_eq!(is_silent(text, SILENT_TOKEN), silent, "{text}");
        }
        assert!(is_silent("(a.b) z", "(a.b)"));
        assert!(!is_silent("z (a.b)", "(a.b)"));
        assert!(!is_silent("x", ""));
    }

    #[test]
    fn heartbeat_tokens_come_off_both_ends() {
        let heartbeat = TokenContext::of_heartbeat(Some(&Value::from("5")));
        let table = [
            ("HEARTBEAT_OK", TokenContext::Message, None, true),
            ("**HEARTBEAT_OK**", TokenContext::Message, None, true),
            ("HEARTBEAT_OK all\nfine HEARTBEAT_OK", TokenContext::Message, Some("all fine"), true),
            ("HEARTBEAT_OK 12345", heartbeat, None, true),
            ("HEARTBEAT_OK 123456", heartbeat, Some("123456"), true),
            (" a HEARTBEAT_OK b ", heartbeat, Some("a HEARTBEAT_OK b"), false),
            ("  ", heartbeat, None, false),
        ];
        for (text, context, rest, found) in table {
            let expected = Stripped { text: rest.map(str::to_owned), found };
            assert_eq!(strip_heartbeat(text, context), expected, "{text}");
        }
    }

    #[test]
    fn a_heartbeat_asks_what_is_configured() {
        assert_eq!(heartbeat_prompt(Some(" Look around. ")), "Look around.");
        assert_eq!(heartbeat_prompt(Some(" ")), HEARTBEAT_PROMPT);
        assert_eq!(heartbeat_prompt(None), HEARTBEAT_PROMPT);
    }

    #[test]
    fn limits_may_be_spelt_as_text() {
        let table = [("5", 5.0), (" 1e2 ", 100.0), ("0x10", 16.0), ("", 0.0), ("-1", 0.0), ("many", 300.0)];
        for (limit, expected) in table {
            let context = TokenContext::of_heartbeat(Some(&Value::from(limit)));
            assert_eq!(context, TokenContext::Heartbeat { ack_length: expected }, "{limit}");
        }
        assert_eq!(TokenContext::of_heartbeat(None), TokenContext::Heartbeat { ack_length: 300.0 });
    }

    #[test]
    fn a_heartbeat_file_of_headings_and_empty_items_asks_for_nothing() {
        let table = [
            ("# T\n- [ ]\n*\n+ [X] ", true),
            ("", true),
            ("#tag", false),
            ("- [ ] do", false),
            ("- [", false),
        ];
        for (content, empty) in table {
            assert_eq!(heartbeat_file_is_empty(content), empty, "{content}");
        }
    }
}
