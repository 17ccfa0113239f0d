//! `MEDIA:` lines in a reply: which files go with it, and the text without them (`sessions.md` §16).

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use super::tags::without_audio_tag;
use crate::text;

/// No path or URL is longer, in UTF-16 units.
const MAX_SOURCE: usize = 4096;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MediaSplit {
    pub text: String,
    pub sources: Vec<String>,
    pub audio_as_voice: bool,
}

impl MediaSplit {
    /// Lines in code are code, and a reply without media or audio tag is left as it was written.
    pub fn of(reply: &str) -> Self {
        let reply = text::trim_end(reply);
        if reply.is_empty() {
            return Self::default();
        }
        let mut sources = Vec::new();
        let mut kept: Vec<Cow<'_, str>> = Vec::new();
        let mut fence = Fence::default();
        for line in reply.split('\n') {
            let payload = if fence.holds(line) { None } else { payload(line) };
            let Some(payload) = payload else {
                kept.push(line.into());
                continue;
            };
            let (found, rest) = read_payload(payload);
            let rest = if found.is_empty() { Cow::Borrowed(line) } else { rest.into() };
            sources.extend(found);
            let rest = text::trim(&BLANKS.replace_all(&rest, " ")).to_owned();
            if !rest.is_empty() {
                kept.push(rest.into());
            }
        }
        let cleaned = tidy(&kept.join("\n"));
        match without_audio_tag(&cleaned) {
            Some(untagged) => {
                let text = text::trim(&EMPTY_LINES.replace_all(&untagged, "\n")).to_owned();
                Self { text, sources, audio_as_voice: true }
            }
            None if sources.is_empty() => Self { text: reply.to_owned(), ..Self::default() },
            None => Self { text: cleaned, sources, audio_as_voice: false },
        }
    }
}

static BLANKS: LazyLock<Regex> = LazyLock::new(|| text::pattern("[ \t]{2,}"));
static EMPTY_LINES: LazyLock<Regex> = LazyLock::new(|| text::pattern("\n{2,}"));
static BLANKS_AT_END: LazyLock<Regex> = LazyLock::new(|| text::pattern("[ \t]+\n"));

fn tidy(text: &str) -> String {
    let text = BLANKS_AT_END.replace_all(text, "\n");
    let text = BLANKS.replace_all(&text, " ");
    text::trim(&EMPTY_LINES.replace_all(&text, "\n")).to_owned()
}

/// What follows `MEDIA:` at the start of a line. One backtick may stand before it.
fn payload(line: &str) -> Option<&str> {
    let after = text::trim_start(line).strip_prefix("MEDIA:")?;
    let spaced = text::trim_start(after);
    match spaced.strip_prefix('`') {
        Some(rest) if !rest.is_empty() => Some(rest),
        _ if !spaced.is_empty() => Some(spaced),
        // Only white space follows: its last character is all there is.
        _ => after.char_indices().next_back().map(|(at, _)| &after[at..]),
    }
}

/// The sources in a payload, and the words that are none.
fn read_payload(payload: &str) -> (Vec<String>, String) {
    if let Some(quoted) = unquote(payload) {
        return (source(quoted, Spaces::Allowed).into_iter().collect(), String::new());
    }
    let mut sources = Vec::new();
    let mut rest = Vec::new();
    for word in payload.split(text::is_space).filter(|word| !word.is_empty()) {
        match source(word, Spaces::Refused) {
            Some(source) => sources.push(source),
            None => rest.push(word),
        }
    }
    // A path may have spaces in it: one word of it is not the file that was meant.
    let looks_local =
        ["/", "./", "../", "~", "file://"].iter().any(|start| text::trim(payload).starts_with(start));
    let cut_short = sources.len() == 1 && !rest.is_empty() && looks_local;
    if (cut_short || sources.is_empty())
        && let Some(whole) = source(payload, Spaces::Allowed)
    {
        return (vec![whole], String::new());
    }
    (sources, rest.join(" "))
}

/// What stands between a pair of quotes around the whole payload.
fn unquote(payload: &str) -> Option<&str> {
    let trimmed = text::trim(payload);
    let inside =
        ['"', '\'', '`'].into_iter().find_map(|quote| trimmed.strip_prefix(quote)?.strip_suffix(quote))?;
    // Empty quotes are as good as none.
    text::non_blank(inside)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Spaces {
    Allowed,
    Refused,
}

/// A web address, or a path below the working folder that cannot leave it.
fn source(candidate: &str, spaces: Spaces) -> Option<String> {
    let candidate = candidate
        .trim_start_matches(['`', '"', '\'', '[', '{', '('])
        .trim_end_matches(['`', '"', '\'', '\\', '}', ')', ']', ',']);
    let candidate = candidate.strip_prefix("file://").unwrap_or(candidate);
    let fits = text::units(candidate) <= MAX_SOURCE;
    let spaces_fine = spaces == Spaces::Allowed || !candidate.contains(text::is_space);
    let on_the_web =
        ["http://", "https://"].iter().any(|scheme| text::starts_with_ignoring_ascii_case(candidate, scheme));
    let below_here = candidate.starts_with("./") && !candidate.contains("..");
    (fits && spaces_fine && (on_the_web || below_here)).then(|| candidate.to_owned())
}

/// The code fence that is open at a line, if any.
#[derive(Default)]
struct Fence<'t> {
    open: Option<&'t str>,
}

impl<'t> Fence<'t> {
    /// Whether the line is in a fence; opening and closing lines are.
    fn holds(&mut self, line: &'t str) -> bool {
        let was_open = self.open.is_some();
        if let Some(marker) = fence_marker(line) {
            match self.open {
                None => self.open = Some(marker),
                Some(open) if marker.starts_with(open) => self.open = None,
                Some(_) => {}
            }
        }
        was_open || self.open.is_some()
    }
}

/// The run of three or more backticks or tildes that a line begins with, after up to three spaces.
fn fence_marker(line: &str) -> Option<&str> {
    let text = line.trim_start_matches(' ');
    if line.len() - text.len() > 3 || text.contains(['\r', '\u{2028}', '\u{2029}']) {
        return None;
    }
    let length = |mark: char| text.len() - text.trim_start_matches(mark).len();
    let length = length('`').max(length('~'));
    (length >= 3).then(|| &text[..length])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_lines_become_sources() {
        let table: [(&str, &str, &[&str]); 15] = [
            ("look\nMEDIA:https://e.com/a.png\nend", "look\nend", &["https://e.com/a.png"]),
            ("  MEDIA: HTTPS://a/1 b https://a/2", "b", &["HTTPS://a/1", "https://a/2"]),
            ("MEDIA:\"./my file.png\"", "", &["./my file.png"]),
            ("MEDIA:./my file.png", "", &["./my file.png"]),
            ("MEDIA:`https://a/b c`", "c`", &["https://a/b"]),
            ("MEDIA:[file://./a.png],", "", &["./a.png"]),
            ("MEDIA:./a/../b", "MEDIA:./a/../b", &[]),
            ("MEDIA:~/x  y", "MEDIA:~/x  y", &[]),
            ("media:https://a/1", "media:https://a/1", &[]),
            ("see MEDIA:https://a/1", "see MEDIA:https://a/1", &[]),
            ("```\nMEDIA:https://a/1\n```", "```\nMEDIA:https://a/1\n```", &[]),
            ("~~~\n```\nMEDIA:./a\n~~~~\nMEDIA:./b", "~~~\n```\nMEDIA:./a\n~~~~", &["./b"]),
            ("MEDIA:\nMEDIA: \nMEDIA:`\nMEDIA:./a", "MEDIA:\nMEDIA:\nMEDIA:`", &["./a"]),
            ("a  \n\n\nb", "a  \n\n\nb", &[]),
            ("MEDIA:''", "MEDIA:''", &[]),
        ];
        for (reply, text, sources) in table {
            let split = MediaSplit::of(reply);
            assert_eq!(
                (split.text.as_str(), split.sources),
                (text, sources.iter().map(|s| (*s).to_owned()).collect()),
                "{reply}"
            );
        }
    }

    #[test]
    fn a_voice_tag_tidies_the_text() {
        let split = MediaSplit::of("[[ AUDIO_AS_VOICE ]]  a\n\n\nb");
        assert_eq!(split, MediaSplit { text: "a\nb".to_owned(), sources: vec![], audio_as_voice: true });
    }
}
