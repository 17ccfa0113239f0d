//! Taking the envelope off what a user wrote (`transcripts.md` §7.7).
//!
//! Channels put `[Telegram Bob 2026-01-15 10:00]` before a message for the model; people who read
//! the history want the message.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use crate::json::Value;
use crate::message::Message;
use crate::recollection::without_memories;
use crate::text;

const CHANNELS: [&str; 13] = [
    "WebChat",
    "WhatsApp",
    "Telegram",
    "Signal",
    "Slack",
    "Discord",
    "Google Chat",
    "iMessage",
    "Teams",
    "Matrix",
    "Zalo",
    "Zalo Personal",
    "BlueBubbles",
];

static TIME: LazyLock<Regex> = LazyLock::new(|| {
    text::pattern(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9]{2}:[0-9]{2}Z| [0-9]{2}:[0-9]{2})(?-u:\b)")
});

/// The text behind a leading `[header]`, if the header is an envelope's.
pub fn strip_envelope(message: &str) -> &str {
    split_envelope(message).map_or(message, |(_, body)| body)
}

/// The words of a leading `[header]` that is an envelope's, and the text behind it.
pub fn split_envelope(message: &str) -> Option<(&str, &str)> {
    let (header, body) = message.strip_prefix('[')?.split_once(']')?;
    let from_a_channel = || {
        CHANNELS.iter().any(|channel| header.strip_prefix(channel).is_some_and(|rest| rest.starts_with(' ')))
    };
    (TIME.is_match(header) || from_a_channel()).then(|| (header, text::trim_start(body)))
}

/// The text without lines that only name a message's id.
pub fn strip_message_ids(message: &str) -> Cow<'_, str> {
    if !message.contains("[message_id:") {
        return Cow::Borrowed(message);
    }
    let last = message.matches('\n').count();
    let lines: Vec<&str> = message
        .split('\n')
        .enumerate()
        .map(|(at, line)| line.strip_suffix('\r').filter(|_| at < last).unwrap_or(line))
        .collect();
    let kept: Vec<&str> = lines.iter().copied().filter(|line| !is_message_id(line)).collect();
    if kept.len() == lines.len() { Cow::Borrowed(message) } else { Cow::Owned(kept.join("\n")) }
}

/// `[message_id: …]` in any case, with space around it.
fn is_message_id(line: &str) -> bool {
    let line = text::trim(line);
    let Some(rest) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) else { return false };
    const MARK: &str = "message_id:";
    text::starts_with_ignoring_ascii_case(rest, MARK) && rest.len() > MARK.len() && !rest.contains(']')
}

/// The message as people read it: a user's texts without envelopes and message ids.
pub fn without_envelope(mut message: Message) -> Message {
    let from_user = message.text_field("role").is_some_and(|role| text::lower(role) == "user");
    if !from_user {
        return message;
    }
    let object = message.as_object_mut();
    match object.get_mut("content") {
        Some(Value::String(text)) => strip(text),
        Some(Value::Array(blocks)) => {
            let texts =
                blocks.iter_mut().filter(|block| block.get("type").and_then(Value::as_str) == Some("text"));
            for block in texts {
                if let Some(Value::String(text)) = block.get_mut("text") {
                    strip(text);
                }
            }
        }
        _ => {
            if let Some(Value::String(text)) = object.get_mut("text") {
                strip(text);
            }
        }
    }
    message
}

fn strip(text: &mut String) {
    let stripped = strip_message_ids(strip_envelope(without_memories(text))).into_owned();
    *text = stripped;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn envelopes_have_a_time_or_a_channel() {
        let table = [
            ("[WhatsApp +1 2026-01-15 10:00] hi", "hi"),
            ("[Telegram Bob id:1] yo", "yo"),
            ("[Google Chat x]\n hi ", "hi "),
            ("[x 2026-01-15T10:00Z]hi", "hi"),
            ("[x 2026-01-15T10:00Zulu]hi", "[x 2026-01-15T10:00Zulu]hi"),
            ("[2026-01-15 10:000] hi", "[2026-01-15 10:000] hi"),
            ("[Slack] hi", "[Slack] hi"),
            ("[slack x] hi", "[slack x] hi"),
            ("[] hi", "[] hi"),
            (" [Slack x] hi", " [Slack x] hi"),
            ("[Slack x", "[Slack x"),
        ];
        for (message, body) in table {
            assert_eq!(strip_envelope(message), body, "{message}");
        }
    }

    #[test]
    fn lines_that_name_a_message_id_go() {
        let table = [
            ("[message_id: 5]", ""),
            ("a\r\n [message_id: 5] \r\nb", "a\nb"),
            ("a\r\nb [message_id: 5]", "a\r\nb [message_id: 5]"),
            ("a\n[MESSAGE_ID: x]\n[message_id: y]", "a"),
            ("a\n[MESSAGE_ID: x]", "a\n[MESSAGE_ID: x]"),
            ("[message_id:]", "[message_id:]"),
            ("[message_id: a]]", "[message_id: a]]"),
        ];
        for (message, expected) in table {
            assert_eq!(strip_message_ids(message), expected, "{message:?}");
        }
    }
}
