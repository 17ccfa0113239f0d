//! What was found, as programs and models read it (`memory.md` §6, §10; what the reference does not tell
//! comes after what it does).

use serde_json::{Value, json};
use yabby_domain::json;
use yabby_domain::transcript::time;

use crate::recall::Hit;
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
    let own = line(&hit.unit);
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
    shortened(&lines.collect::<Vec<_>>().join("\n"))
}

/// `Anna: the key is under the mat`; a part of a note as it is.
pub fn line(unit: &Unit) -> String {
    match unit.role {
        Role::Note => unit.text.clone(),
        Role::User | Role::Assistant => format!("{}: {}", unit.speaker, unit.text),
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// Milliseconds since 1970 as a time that people read.
pub fn stamp(milliseconds: i64) -> Option<String> {
    jiff::Timestamp::from_millisecond(milliseconds).ok().map(time::iso)
}
