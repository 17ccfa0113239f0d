//! What was found, as programs and models read it (`memory.md` §6, §10; what the reference does not tell
//! comes after what it does).

use serde_json::{Value, json};
use yabby_domain::json;
use yabby_domain::transcript::time;

use crate::recall::{Hit, Message};
use crate::unit::{Role, Unit};

/// How long a snippet may be, in characters.
const LONGEST: usize = 700;

/// A hit: `{path, startLine, endLine, score, snippet, source}`, and who said it, when and where.
pub fn hit(hit: &Hit) -> Value {
    let unit = &hit.unit;
    let mut shown = json!({
        "path": hit.path,
        "startLine": unit.first_line,
        "endLine": unit.last_line,
        "score": json::number((f64::from(hit.score) * 1000.0).round() / 1000.0),
        "snippet": snippet(hit),
        "source": hit.kind,
    });
    if unit.role != Role::Note {
        shown["speaker"] = unit.speaker.as_str().into();
    }
    if let Some(at) = unit.at.and_then(stamp) {
        shown["time"] = at.into();
    }
    for (key, value) in
        [("sessionKey", &hit.session_key), ("sessionId", &hit.session_id), ("messageId", &unit.entry)]
    {
        if let Some(value) = value {
            shown[key] = value.as_str().into();
        }
    }
    shown
}

/// A message with where it stands: `{messageId, timestamp, role, speaker, text, sessionKey, sessionId}`.
pub fn message(found: &Message) -> Value {
    let mut shown = said(&found.unit);
    shown["sessionKey"] = found.session_key.as_deref().map_or(Value::Null, Value::from);
    shown["sessionId"] = found.session_id.as_deref().map_or(Value::Null, Value::from);
    shown
}

/// Something that was said in a conversation: `{messageId, timestamp, role, speaker, text}`.
pub fn said(unit: &Unit) -> Value {
    json!({
        "messageId": unit.entry,
        "timestamp": unit.at.and_then(stamp),
        "role": unit.role.as_str(),
        "speaker": unit.speaker,
        "text": unit.text,
    })
}

/// `<path>#L<a>` or `<path>#L<a>-L<b>`.
pub fn citation(hit: &Hit) -> String {
    let (first, last) = (hit.unit.first_line, hit.unit.last_line);
    if first == last { format!("{}#L{first}", hit.path) } else { format!("{}#L{first}-L{last}", hit.path) }
}

/// Why a hit stands where it does, part by part.
pub fn why(hit: &Hit) -> Value {
    let why = &hit.why;
    let rounded = |number: f32| json::number((f64::from(number) * 1000.0).round() / 1000.0);
    json!({
        "words": rounded(why.words),
        "lent": rounded(why.lent),
        "neighbours": rounded(why.around),
        "session": rounded(why.session),
        "meaning": rounded(why.meaning),
        "date": rounded(why.date),
        "speaker": why.is_speaker,
        "timeWords": why.has_time_words,
        "question": why.is_question,
    })
}

/// What was said, with the lines around it where they fit.
pub fn snippet(hit: &Hit) -> String {
    let own = around(&line(&hit.unit), hit.near, LONGEST);
    let mut room = LONGEST.saturating_sub(own.chars().count());
    let mut fits = |unit: &&Unit| {
        let length = line(unit).chars().count() + 1;
        let fits = length <= room;
        room = room.saturating_sub(length);
        fits
    };
    let before: Vec<String> = hit.before.iter().rev().take_while(&mut fits).map(line).collect();
    let after: Vec<String> = hit.after.iter().take_while(&mut fits).map(line).collect();
    let lines = before.into_iter().rev().chain([own]).chain(after);
    lines.collect::<Vec<_>>().join("\n")
}

/// `Anna: the key is under the mat`; a part of a note as it is.
pub fn line(unit: &Unit) -> String {
    match unit.role {
        Role::Note => unit.text.clone(),
        Role::User | Role::Assistant => format!("{}: {}", unit.speaker, unit.text),
    }
}

/// At most so many characters of a text, with the place at `near` in them; `…` stands for what is left
/// out.
fn around(text: &str, near: usize, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    let before = text.get(..near).map_or(0, |before| before.chars().count());
    let from = before.saturating_sub(most / 4);
    let shown: String = text.chars().skip(from).take(most).collect();
    let (head, tail) = (if from > 0 { "…" } else { "" }, if count > from + most { "…" } else { "" });
    format!("{head}{shown}{tail}")
}

/// Milliseconds since 1970 as a time that people read.
pub fn stamp(milliseconds: i64) -> Option<String> {
    jiff::Timestamp::from_millisecond(milliseconds).ok().map(time::iso)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snippet_shows_the_place_and_cuts_between_characters() {
        let table = [
            ("short", 0, 10, "short"),
            ("abcdefghij", 0, 4, "abcd…"),
            ("abcdefghij", 8, 4, "…hij"),
            ("ééééé😀éééé", 10, 4, "…é😀éé…"),
            ("abc", 99, 2, "ab…"),
        ];
        for (text, near, most, expected) in table {
            assert_eq!(around(text, near, most), expected, "{text} {near}");
        }
    }
}
