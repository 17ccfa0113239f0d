//! Tags in a reply: `[[reply_to_current]]`, `[[reply_to: id]]`, `[[audio_as_voice]]`
//! (`sessions.md` §16).

use std::sync::LazyLock;

use regex::Regex;

use crate::text::{self, SPACE_CLASS};

/// What reply tags ask for, and the text without them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplyTags {
    /// White space is tidied even if there was no tag.
    pub text: String,
    /// The last id that was named.
    pub explicit_id: Option<String>,
    /// The message that started the turn was asked for.
    pub current: bool,
    pub found: bool,
}

impl ReplyTags {
    pub fn extract(text: &str) -> Self {
        static TAG: LazyLock<Regex> = LazyLock::new(|| {
            let space = format!("[{SPACE_CLASS}]*");
            text::pattern(&format!(
                r"\[\[{space}(?:(?i-u:reply_to_current)|(?i-u:reply_to){space}:{space}([^\]\n]+)){space}\]\]"
            ))
        });
        let mut tags = Self::default();
        for found in TAG.captures_iter(text) {
            tags.found = true;
            match found.get(1) {
                Some(id) => {
                    tags.explicit_id = text::non_blank(id.as_str()).map(str::to_owned).or(tags.explicit_id)
                }
                None => tags.current = true,
            }
        }
        tags.text = tidy(&TAG.replace_all(text, " "));
        tags
    }

    /// The message to answer: the one that was named, or the current one if it was asked for.
    pub fn reply_to_id(&self, current_message: Option<&str>) -> Option<String> {
        let current =
            || current_message.filter(|_| self.current).and_then(text::non_blank).map(str::to_owned);
        self.explicit_id.clone().or_else(current)
    }
}

/// The text without `[[audio_as_voice]]`, if it has that tag.
pub fn without_audio_tag(text: &str) -> Option<String> {
    static TAG: LazyLock<Regex> = LazyLock::new(|| {
        text::pattern(&format!(r"\[\[[{SPACE_CLASS}]*(?i-u:audio_as_voice)[{SPACE_CLASS}]*\]\]"))
    });
    TAG.is_match(text).then(|| tidy(&TAG.replace_all(text, " ")))
}

/// Runs of blanks become one space, and none are left around line feeds and at the ends.
fn tidy(text: &str) -> String {
    let lines: Vec<String> =
        text.split('\n').map(|line| collapse_blanks(line).trim_matches(' ').to_owned()).collect();
    text::trim(&lines.join("\n")).to_owned()
}

/// Every run of spaces and tabs becomes one space.
fn collapse_blanks(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    for c in line.chars() {
        match c {
            ' ' | '\t' if out.ends_with(' ') => {}
            '\t' => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_id_that_was_named_wins() {
        //  text                                   rest        id           current  found
        let table = [
            ("[[reply_to:a]] x [[ REPLY_TO : b ]]", "x", Some("b"), false, true),
            ("[[reply_to_current]]  x\t y", "x y", Some("now"), true, true),
            ("[[reply_to_current]][[reply_to:a]][[reply_to: ]]", "", Some("a"), true, true),
            ("[[reply_to: ]] x", "x", None, false, true),
            ("[[reply_to:]] x", "[[reply_to:]] x", None, false, false),
            ("[[reply_to:a\nb]] x", "[[reply_to:a\nb]] x", None, false, false),
            ("a \n\t b", "a\nb", None, false, false),
        ];
        for (text, rest, id, current, found) in table {
            let tags = ReplyTags::extract(text);
            assert_eq!(tags.text, rest, "{text}");
            assert_eq!(tags.reply_to_id(Some(" now ")).as_deref(), id, "{text}");
            assert_eq!((tags.current, tags.found), (current, found), "{text}");
        }
    }

    #[test]
    fn the_audio_tag_is_taken_out() {
        assert_eq!(without_audio_tag("[[ Audio_as_voice ]] hi").as_deref(), Some("hi"));
        assert_eq!(without_audio_tag("[audio_as_voice] hi"), None);
    }
}
