//! Notes in Markdown, cut where they change the subject: a bullet, a paragraph, a block of code.

use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::analysis;
use crate::question::names_day_or_month;
use crate::unit::{Role, Unit};

/// What is longer is cut, in characters.
const LONGEST: usize = 1500;

/// The parts of a note. One whose name is a day was written then.
pub fn units(path: &str, note: &str) -> Vec<Unit> {
    let at = day_in_name(path);
    let mut units: Vec<Unit> = Vec::new();
    let mut headings: Vec<(usize, String)> = Vec::new();
    let mut is_open = false;
    let mut is_code = false;
    for (number, line) in (1..).zip(note.split('\n')) {
        let line = line.trim_end();
        let words = line.trim_start();
        let is_fence = words.starts_with("```") || words.starts_with("~~~");
        let heading = heading_of(words).filter(|_| !is_code);
        let goes_on = is_open && (is_code || !words.is_empty() && !begins(words));
        if let Some((level, title)) = heading {
            headings.retain(|(above, _)| *above < level);
            headings.push((level, title.to_owned()));
        }
        match units.last_mut().filter(|last| goes_on && last.text.len() < LONGEST * 4) {
            Some(last) => {
                last.text.push('\n');
                last.text.push_str(line);
                last.last_line = number;
            }
            None if words.is_empty() => is_open = false,
            None => {
                let above = headings.iter().filter(|(_, title)| heading.is_none_or(|(_, own)| own != title));
                let heading_text = above.map(|(_, title)| title.as_str()).collect::<Vec<_>>().join(" > ");
                units.push(Unit {
                    first_line: number,
                    last_line: number,
                    role: Role::Note,
                    at,
                    heading: heading_text,
                    text: words.to_owned(),
                    ..Unit::default()
                });
                is_open = heading.is_none();
            }
        }
        if is_fence {
            is_code = !is_code;
        }
    }
    units.retain(says_something);
    units
}

/// Whether a part of a note answers any question. A heading stands beside every part below it; a placeholder of a
/// template and a date alone say nothing.
fn says_something(unit: &Unit) -> bool {
    let is_heading = unit.first_line == unit.last_line && heading_of(&unit.text).is_some();
    let words = analysis::words(&unit.text);
    let folded: Vec<&str> = words.iter().map(|word| word.folded.as_str()).collect();
    let is_date = |word: &&str| word.bytes().all(|byte| byte.is_ascii_digit()) || names_day_or_month(word);
    let is_date =
        !folded.is_empty() && folded.iter().all(is_date) && folded.iter().any(|word| word.len() > 1);
    !is_heading && !is_date && !folded.is_empty() && !PLACEHOLDERS.contains(&folded.join(" ").as_str())
}

/// What stands in a template where something is to be written, folded.
const PLACEHOLDERS: [&str; 20] = [
    "nothing yet",
    "nothing",
    "nothing here yet",
    "nothing to remember yet",
    "none",
    "none yet",
    "not yet",
    "n a",
    "na",
    "tbd",
    "todo",
    "to do",
    "empty",
    "to be filled in",
    "fill this in",
    "noch nichts",
    "bisher nichts",
    "rien encore",
    "nada aun",
    "nada todavia",
];

/// The level and the words of a heading.
fn heading_of(line: &str) -> Option<(usize, &str)> {
    let title = line.trim_start_matches('#');
    let level = line.len() - title.len();
    (level > 0).then(|| title.strip_prefix(' ')).flatten().map(|title| (level, title.trim()))
}

/// Whether a line begins something new: a bullet, a number, a heading, code.
fn begins(line: &str) -> bool {
    let is_bullet = ["- ", "* ", "+ ", "```", "~~~"].iter().any(|mark| line.starts_with(mark));
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let is_numbered = digits > 0 && (line[digits..].starts_with(". ") || line[digits..].starts_with(") "));
    is_bullet || is_numbered || heading_of(line).is_some()
}

/// Noon of the day that a file is named after: `memory/2026-02-03.md`, `memory/2026-02-03-trip.md`.
fn day_in_name(path: &str) -> Option<i64> {
    let name = path.rsplit('/').next()?;
    let day: Date = name.get(..10)?.parse().ok()?;
    Some(day.at(12, 0, 0, 0).to_zoned(TimeZone::UTC).ok()?.timestamp().as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bullet_or_a_paragraph_is_a_part() {
        let note = "# Home\n- dog: Rex,\n  a beagle\n- cat\n\nTwo lines\nof text.\n\n## Work\n1. ship\n2) rest\n```\n# x\n\ny\n```\n# Away\nsun";
        let found: Vec<_> = units("MEMORY.md", note)
            .into_iter()
            .map(|unit| (unit.first_line, unit.last_line, unit.text, unit.heading))
            .collect();
        let expected = [
            (2, 3, "- dog: Rex,\n  a beagle", "Home"),
            (4, 4, "- cat", "Home"),
            (6, 7, "Two lines\nof text.", "Home"),
            (10, 10, "1. ship", "Home > Work"),
            (11, 11, "2) rest", "Home > Work"),
            (12, 16, "```\n# x\n\ny\n```", "Home > Work"),
            (18, 18, "sun", "Away"),
        ];
        let expected =
            expected.map(|(first, last, text, under)| (first, last, text.to_owned(), under.to_owned()));
        assert_eq!(found, expected);
        assert_eq!(units("x.md", ""), []);
        assert_eq!(units("x.md", "#hashtag\nx").len(), 1);
    }

    #[test]
    fn what_says_nothing_is_no_part() {
        let texts =
            |note: &str| units("MEMORY.md", note).into_iter().map(|unit| unit.text).collect::<Vec<_>>();
        let template = include_str!("../../yabby/workspace/MEMORY.md");
        assert_eq!(texts(template), Vec::<String>::new());
        let note = "# 2026\n\n2026-02-03\n\nTuesday, 3 February 2026\n\n_(none yet)_\n\n- 42\n- Room 42";
        assert_eq!(texts(note), ["- Room 42"]);
    }

    #[test]
    fn a_note_may_be_named_after_its_day() {
        let day = |path: &str| day_in_name(path).map(|at| at / 86_400_000);
        assert_eq!(day("memory/2026-02-03.md"), Some(20_487));
        assert_eq!(day("memory/2026-02-03-trip.md"), Some(20_487));
        assert_eq!(day("memory/2026-02-30.md"), None);
        assert_eq!(day("memory/ünïcödé.md"), None);
    }
}
