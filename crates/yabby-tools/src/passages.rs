//! Texts cut into passages: what a search finds and shows, one at a time.

/// A part of a text that says one thing: a bullet, a paragraph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Passage {
    /// Lines are counted from 1.
    pub(crate) first_line: usize,
    pub(crate) last_line: usize,
    pub(crate) text: String,
    /// The heading that it stands under.
    pub(crate) heading: String,
}

/// The passages of a note in Markdown. A line that goes on with a bullet or a paragraph belongs to it.
pub(crate) fn of_note(note: &str) -> Vec<Passage> {
    let mut passages: Vec<Passage> = Vec::new();
    let mut heading = String::new();
    let mut open = false;
    for (at, line) in note.split('\n').enumerate() {
        let line = line.trim_end();
        let words = line.trim_start();
        if let Some(title) = heading_of(words) {
            heading = title.to_owned();
        }
        match passages.last_mut().filter(|_| open && !begins(words)) {
            _ if words.is_empty() => open = false,
            Some(last) => {
                last.text.push('\n');
                last.text.push_str(line);
                last.last_line = at + 1;
            }
            None => {
                let (line_number, heading) = (at + 1, heading.clone());
                passages.push(Passage {
                    first_line: line_number,
                    last_line: line_number,
                    text: words.to_owned(),
                    heading,
                });
                open = heading_of(words).is_none();
            }
        }
    }
    passages
}

fn heading_of(line: &str) -> Option<&str> {
    let title = line.trim_start_matches('#');
    (title.len() < line.len()).then(|| title.strip_prefix(' ')).flatten().map(str::trim)
}

/// Whether a line begins something new: a bullet, a number, a heading.
fn begins(line: &str) -> bool {
    let is_bullet = ["- ", "* ", "+ "].iter().any(|mark| line.starts_with(mark));
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let is_numbered = digits > 0 && (line[digits..].starts_with(". ") || line[digits..].starts_with(") "));
    is_bullet || is_numbered || heading_of(line).is_some()
}

/// At most so many characters of a text, with the place at `near` in them; `…` stands for what is left
/// out.
pub(crate) fn snippet(text: &str, near: usize, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let before = text.get(..near).map_or(0, |before| before.chars().count());
    let from = before.saturating_sub(most / 4);
    let shown: String = text.chars().skip(from).take(most).collect();
    let (head, tail) =
        (if from > 0 { "…" } else { "" }, if text.chars().count() > from + most { "…" } else { "" });
    format!("{head}{shown}{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bullet_or_a_paragraph_is_a_passage() {
        let note =
            "# Home\n- dog: Rex,\n  a beagle\n- cat\n\nTwo lines\nof text.\n\n## Work\n1. ship\n2) rest\n";
        let found: Vec<_> = of_note(note)
            .into_iter()
            .map(|passage| (passage.first_line, passage.last_line, passage.text, passage.heading))
            .collect();
        let expected = [
            (1, 1, "# Home", "Home"),
            (2, 3, "- dog: Rex,\n  a beagle", "Home"),
            (4, 4, "- cat", "Home"),
            (6, 7, "Two lines\nof text.", "Home"),
            (9, 9, "## Work", "Work"),
            (10, 10, "1. ship", "Work"),
            (11, 11, "2) rest", "Work"),
        ];
        let expected =
            expected.map(|(first, last, text, under)| (first, last, text.to_owned(), under.to_owned()));
        assert_eq!(found, expected);
        assert_eq!(of_note(""), []);
        assert_eq!(of_note("#hashtag\nx").len(), 1);
    }

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
            assert_eq!(snippet(text, near, most), expected, "{text} {near}");
        }
    }
}
