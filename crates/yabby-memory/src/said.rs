//! What people and the agent said, out of the lines of a transcript.

use yabby_domain::flush;
use yabby_domain::history::{CONTEXT_MARKER, CURRENT_MESSAGE_MARKER};
use yabby_domain::message::{Block, Content, Message, Role as Speaker};
use yabby_domain::recollection::without_memories;
use yabby_domain::reply::tokens::{HEARTBEAT_PROMPT, SILENT_TOKEN};
use yabby_domain::secrets::Secrets;
use yabby_domain::session::reset::BARE_RESET;
use yabby_domain::text;
use yabby_domain::transcript::context::message_of;
use yabby_domain::transcript::entry::Entry;
use yabby_domain::transcript::envelope::{split_envelope, strip_message_ids};
use yabby_domain::transcript::forget::FORGOTTEN;

use crate::unit::{Role, Unit};

/// What is longer is cut into several, in characters.
const LONGEST: usize = 1500;

/// Names are not longer, in characters.
const LONGEST_NAME: usize = 64;

/// The provider of the built-in helper.
const HELPER: &str = "offline";

/// What the line of a transcript says; nothing if it is no message of a person or the agent. Several people
/// may speak in one message that was sent to the agent.
pub fn units(line: &str, number: u32, in_room: bool, secrets: &Secrets) -> Vec<Unit> {
    let Some(entry) = Entry::parse(line) else { return Vec::new() };
    let Some(message) = message_of(&entry) else { return Vec::new() };
    let said = match message.role() {
        Speaker::User => by_people(&words_of(&message), in_room),
        Speaker::Assistant => vec![("assistant".to_owned(), words_of(&message))],
        _ => return Vec::new(),
    };
    let role = if message.role() == Speaker::User { Role::User } else { Role::Assistant };
    let is_unfinished = message.blocks().iter().any(|block| matches!(Block::of(block), Block::ToolCall(_)));
    let is_echo = role == Role::Assistant && message.text_field("provider") == Some(HELPER);
    #[expect(clippy::cast_possible_truncation, reason = "a time of the calendar is a whole number")]
    let at = entry.time().map(|time| time as i64);
    let mut units = Vec::new();
    for (speaker, words) in said {
        let words = text::from_outside(&text::lossy(words.as_bytes())).into_owned();
        let words = secrets.redact(&words);
        let words = text::trim(&words);
        // What was taken back says nothing.
        if words.lines().all(|line| line == FORGOTTEN) {
            continue;
        }
        for part in parts(words) {
            units.push(Unit {
                entry: entry.id().map(str::to_owned),
                first_line: number,
                last_line: number,
                role,
                speaker: speaker.clone(),
                at,
                heading: String::new(),
                text: part.to_owned(),
                is_unfinished,
                is_echo,
            });
        }
    }
    units
}

fn words_of(message: &Message) -> String {
    match message.content() {
        Content::Text(text) => text.to_owned(),
        Content::Blocks(blocks) => {
            let texts = blocks.iter().filter_map(|block| match Block::of(block) {
                Block::Text(text) => Some(text),
                _ => None,
            });
            texts.collect::<Vec<_>>().join("\n")
        }
        Content::Missing => String::new(),
    }
}

/// Who said what in a message to the agent: what it was told to have context comes before the message.
fn by_people(words: &str, in_room: bool) -> Vec<(String, String)> {
    let words = without_memories(words);
    if is_ours(words) {
        return Vec::new();
    }
    let mut said = Vec::new();
    let current = match words.split_once(CURRENT_MESSAGE_MARKER) {
        Some((before, current)) => {
            let context = before.split_once(CONTEXT_MARKER).map_or("", |(_, context)| context);
            for line in context.lines().filter(|line| !line.trim().is_empty()) {
                match split_envelope(line) {
                    Some(_) => said.push(by_person(line, in_room)),
                    None => match said.last_mut() {
                        Some((_, words)) => {
                            words.push('\n');
                            words.push_str(line);
                        }
                        None => said.push(by_person(line, in_room)),
                    },
                }
            }
            current
        }
        None => words,
    };
    said.push(by_person(current, in_room));
    said.retain(|(_, words)| text::non_blank(words).is_some_and(|words| words != SILENT_TOKEN));
    said
}

/// What was said in a user's name, though no user said it.
fn is_ours(words: &str) -> bool {
    [BARE_RESET, flush::DEFAULT_PROMPT, HEARTBEAT_PROMPT].iter().any(|own| words.contains(own))
}

/// A message without its header and what the program put beside it, and who it is from.
fn by_person(message: &str, in_room: bool) -> (String, String) {
    let own: Vec<&str> = message.trim_start().lines().filter(|line| !is_notice(line)).collect();
    let message = own.join("\n");
    let message = message.trim_start();
    let (header, body) =
        split_envelope(message).map_or((None, message), |(header, body)| (Some(header), body));
    let body = strip_message_ids(body);
    // The last line of a group's message may say who wrote it.
    if let Some((words, from)) = body.trim_end().rsplit_once("\n[from: ")
        && let Some(name) = from.strip_suffix(']').filter(|name| !name.contains('\n'))
    {
        return (name_of(name), words.to_owned());
    }
    if in_room
        && let Some((name, words)) = body.split_once(": ")
        && is_name(name)
    {
        return (name_of(name), words.to_owned());
    }
    let speaker = header.filter(|_| !in_room).and_then(sender_in).unwrap_or_else(|| "user".to_owned());
    (speaker, body.into_owned())
}

/// A line that the program wrote.
fn is_notice(line: &str) -> bool {
    ["System: [", "System: Channel ", "[Thread starter", "To send an image back,"]
        .iter()
        .any(|start| line.starts_with(start))
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().count() <= LONGEST_NAME && !name.contains(['\n', '.', '?', '!'])
}

/// `Anna (42)` is Anna.
fn name_of(label: &str) -> String {
    let name = label.rsplit_once(" (").filter(|(_, id)| id.ends_with(')')).map_or(label, |(name, _)| name);
    name.trim().to_owned()
}

/// The sender in the header of a direct message: `Telegram Anna id:42 +5m 2026-02-03T12:00Z`.
fn sender_in(header: &str) -> Option<String> {
    let (_, rest) = header.split_once(' ')?;
    let is_end = |word: &&str| {
        let mut letters = word.chars();
        let first = letters.next().unwrap_or_default();
        let begins_number = letters.next().is_some_and(|second| second.is_ascii_digit());
        word.starts_with("id:")
            || (matches!(first, '+') && begins_number)
            || (first.is_ascii_digit() && word.contains('-'))
    };
    let name = rest.split(' ').take_while(|word| !is_end(word)).collect::<Vec<_>>().join(" ");
    (!name.is_empty()).then_some(name)
}

/// A text in parts that are not too long, cut where a paragraph or a sentence ends.
fn parts(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((limit, _)) = rest.char_indices().nth(LONGEST) {
        let window = &rest[..limit];
        let half = window.len() / 2;
        let cut = ["\n\n", "\n", ". ", " "]
            .iter()
            .find_map(|end| window.rfind(end).map(|at| at + end.len()).filter(|at| *at > half))
            .unwrap_or(limit);
        parts.push(rest[..cut].trim());
        rest = rest[cut..].trim_start();
    }
    if !rest.is_empty() {
        parts.push(rest);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn said(message: serde_json::Value, in_room: bool) -> Vec<(String, String)> {
        let line = json!({"type": "message", "id": "e1", "timestamp": "2026-02-03T12:00:00.000Z", "message": message});
        let units = units(&line.to_string(), 7, in_room, &Secrets::default());
        assert!(units.iter().all(|unit| unit.first_line == 7 && unit.entry.as_deref() == Some("e1")));
        units.into_iter().map(|unit| (unit.speaker, unit.text)).collect()
    }

    #[test]
    fn a_message_is_told_by_whom_it_is() {
        let user = |text: &str| json!({"role": "user", "content": text});
        let table = [
            (user("hello"), false, "user", "hello"),
            (user("[Telegram Anna Berg id:42 +5m 2026-02-03T12:00Z] hello"), false, "Anna Berg", "hello"),
            (user("[WhatsApp +49151 2026-02-03 12:00] hi"), false, "user", "hi"),
            (
                user("[Telegram Family id:-100 2026-02-03T12:00Z] Anna (42): so: yes\n[message_id: 5]"),
                true,
                "Anna",
                "so: yes",
            ),
            (user("[Discord #general 2026-02-03T12:00Z] hey\n[from: Bob (7)]"), true, "Bob", "hey"),
            (user("System: [2026-02-03 12:00:00] Node up.\n\nhello"), false, "user", "hello"),
            (
                user("## New message:\nUser:\nSystem: Channel telegram: connected.\n\nhello"),
                false,
                "user",
                "hello",
            ),
            (
                json!({"role": "assistant", "content": [{"type": "text", "text": "yes"}]}),
                false,
                "assistant",
                "yes",
            ),
        ];
        for (message, in_room, speaker, words) in table {
            assert_eq!(said(message.clone(), in_room), [(speaker.to_owned(), words.to_owned())], "{message}");
        }
    }

    #[test]
    fn what_others_said_before_is_theirs() {
        let text = format!(
            "{CONTEXT_MARKER}\n[Telegram Family 2026-02-03T11:00Z] Anna: the key is under the mat\n\n{CURRENT_MESSAGE_MARKER}\n[Telegram Family 2026-02-03T12:00Z] Bob: where is the key?"
        );
        let expected = [("Anna", "the key is under the mat"), ("Bob", "where is the key?")];
        let expected = expected.map(|(speaker, words)| (speaker.to_owned(), words.to_owned()));
        assert_eq!(said(json!({"role": "user", "content": text}), true), expected);
    }

    #[test]
    fn what_nobody_said_is_not_remembered() {
        for text in [HEARTBEAT_PROMPT, flush::DEFAULT_PROMPT, BARE_RESET, "", " \n "] {
            assert_eq!(said(json!({"role": "user", "content": text}), false), [], "{text}");
        }
        assert_eq!(said(json!({"role": "toolResult", "content": "x"}), false), []);
        assert_eq!(units("not json", 1, false, &Secrets::default()), []);
    }

    #[test]
    fn secrets_stay_outside() {
        let found = said(json!({"role": "user", "content": "the key is sk-abcdefghijklmnop1234"}), false);
        assert!(!found[0].1.contains("abcdefghijklmnop"), "{found:?}");
    }

    #[test]
    fn long_messages_are_cut_where_they_pause() {
        let long = "One sentence that goes on. ".repeat(200);
        let found = said(json!({"role": "assistant", "content": long}), false);
        assert!(found.len() > 2 && found.iter().all(|(_, words)| words.ends_with("on.")), "{found:?}");
    }
}
