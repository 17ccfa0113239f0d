//! Directives in a reply that arrives piece by piece (`sessions.md` §16).

use super::parse::ParsedReply;

/// Reads pieces of one reply. A tag that is cut in two waits for its other half, and a tag that stands
/// alone counts for the next piece that says something.
#[derive(Clone, Debug, Default)]
pub struct DirectiveStream {
    /// An opened tag at the end of the last piece.
    cut_off: String,
    waiting: WaitingTag,
}

#[derive(Clone, Debug, Default)]
struct WaitingTag {
    any: bool,
    current: bool,
    id: Option<String>,
}

/// Whether more pieces follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    More,
    Last,
}

impl DirectiveStream {
    /// What the piece says, if it says anything. Only an id that was named is known here; who reads
    /// the stream knows the current message.
    pub fn read(&mut self, piece: &str, position: Piece, silent_token: &str) -> Option<ParsedReply> {
        let mut text = std::mem::take(&mut self.cut_off);
        text.push_str(piece);
        if position == Piece::More
            && let Some(open) = text.rfind("[[").filter(|open| !text[open + 2..].contains("]]"))
        {
            self.cut_off = text.split_off(open);
        }
        if text.is_empty() {
            return None;
        }
        let mut parsed = ParsedReply::of(&text, None, silent_token);
        parsed.tags.any |= self.waiting.any;
        parsed.tags.current |= self.waiting.current;
        let named = parsed.tags.explicit_id.as_ref().or(self.waiting.id.as_ref());
        parsed.tags.reply_to_id = named.cloned();

        let says_something = !parsed.text.is_empty() || !parsed.sources.is_empty() || parsed.audio_as_voice;
        if says_something {
            self.waiting = WaitingTag::default();
            return Some(parsed);
        }
        if parsed.tags.any {
            let tags = parsed.tags;
            self.waiting = WaitingTag { any: true, current: tags.current, id: tags.reply_to_id };
        }
        None
    }

    /// Forgets everything; a new reply begins.
    pub fn reset(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reply::tokens::SILENT_TOKEN;

    #[test]
    fn a_tag_may_be_cut_in_two() {
        let mut stream = DirectiveStream::default();
        let mut read = |piece, position| {
            let parsed = stream.read(piece, position, SILENT_TOKEN)?;
            Some((parsed.text, parsed.tags.current, parsed.tags.reply_to_id))
        };
        assert_eq!(read("a [[reply_to_cur", Piece::More), Some(("a".into(), false, None)));
        assert_eq!(read("rent]]", Piece::More), None);
        assert_eq!(read("[[reply_to:5]]", Piece::More), None);
        assert_eq!(read(" b", Piece::More), Some((" b".into(), true, Some("5".into()))));
        assert_eq!(read("c [[x", Piece::Last), Some(("c [[x".into(), false, None)));
        assert_eq!(read("", Piece::Last), None);
    }
}
