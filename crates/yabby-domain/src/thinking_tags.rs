//! Thinking that a model writes into its text (`sessions.md` §15), between tags: `<think>Hm.</think>Yes.` Models that run on
//! one's own machine do that, since their wire format has no other place for it.
//!
//! Only where a text begins: a tag further on is something that the text speaks of.

use serde_json::json;

use crate::json::Value;
use crate::message::text_block;

/// What the tags are called.
const NAMES: [&str; 4] = ["think", "thinking", "thought", "antthinking"];
/// A tag is not longer than that, with all the blanks that may be in it.
const LONGEST: usize = 64;

/// A text that comes in pieces, and what it is.
#[derive(Debug, Default)]
pub struct ThinkingTags {
    place: Place,
    /// What cannot be told yet: it may become a tag.
    held: String,
    has_thought: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// There was nothing but blanks and thinking so far.
    #[default]
    Beginning,
    Thinking,
    Text,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    Text(String),
    Thinking(String),
}

impl ThinkingTags {
    /// A text follows that does not begin with tags, whatever is in it.
    pub fn none(&mut self) {
        self.place = Place::Text;
    }

    /// More of the text; the pieces of it that are known.
    pub fn push(&mut self, more: &str) -> Vec<Piece> {
        self.held.push_str(more);
        let mut pieces = Vec::new();
        while self.advance(&mut pieces) {}
        pieces
    }

    /// The text ends here; the last piece of it. A tag that closes thinking and is cut off is still one.
    pub fn finish(self) -> Option<Piece> {
        let is_nothing =
            if self.has_thought { self.held.trim_start().is_empty() } else { self.held.is_empty() };
        (!is_nothing && self.place != Place::Thinking).then_some(Piece::Text(self.held))
    }

    /// Takes one step; whether another one may follow.
    fn advance(&mut self, pieces: &mut Vec<Piece>) -> bool {
        match self.place {
            Place::Beginning => {
                let rest = self.held.trim_start();
                match Look::at(rest) {
                    Look::Tag { closes: false, length } => {
                        self.held = rest[length..].to_owned();
                        self.place = Place::Thinking;
                        self.has_thought = true;
                        true
                    }
                    Look::Unknown => false,
                    Look::Tag { closes: true, .. } | Look::None => {
                        // Blanks between thinking and text belong to neither.
                        if self.has_thought {
                            self.held = rest.to_owned();
                        }
                        self.place = Place::Text;
                        true
                    }
                }
            }
            Place::Thinking => {
                let mut looks = self.held.match_indices('<').map(|(at, _)| (at, Look::at(&self.held[at..])));
                let end =
                    looks.find(|(_, look)| matches!(look, Look::Tag { closes: true, .. } | Look::Unknown));
                let known = end.map_or(self.held.len(), |(at, _)| at);
                let rest = self.held.split_off(known);
                if !self.held.is_empty() {
                    pieces.push(Piece::Thinking(std::mem::replace(&mut self.held, rest)));
                } else {
                    self.held = rest;
                }
                let Some((_, Look::Tag { length, .. })) = end else { return false };
                self.held.drain(..length);
                self.place = Place::Beginning;
                true
            }
            Place::Text => {
                if !self.held.is_empty() {
                    pieces.push(Piece::Text(std::mem::take(&mut self.held)));
                }
                false
            }
        }
    }
}

/// What stands at the beginning of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    Tag {
        closes: bool,
        length: usize,
    },
    /// It may become a tag.
    Unknown,
    None,
}

impl Look {
    fn at(text: &str) -> Self {
        let unknown = if text.len() < LONGEST { Self::Unknown } else { Self::None };
        let Some(rest) = text.strip_prefix('<') else {
            return if text.is_empty() { Self::Unknown } else { Self::None };
        };
        let rest = rest.trim_start();
        let (closes, rest) = match rest.strip_prefix('/') {
            Some(rest) => (true, rest.trim_start()),
            None => (false, rest),
        };
        let end = rest.find(|letter: char| !letter.is_ascii_alphabetic()).unwrap_or(rest.len());
        let (name, rest) = rest.split_at(end);
        let name = name.to_ascii_lowercase();
        let rest = rest.trim_start();
        match rest.chars().next() {
            None if NAMES.iter().any(|known| known.starts_with(&name)) => unknown,
            Some('>') if NAMES.contains(&name.as_str()) => {
                Self::Tag { closes, length: text.len() - rest.len() + 1 }
            }
            _ => Self::None,
        }
    }
}

/// Makes thinking of what stands between tags in the texts of an answer. A model that has another place for its
/// thinking writes no tags.
pub fn apart(blocks: Vec<Value>) -> Vec<Value> {
    let is = |block: &Value, kind: &str| block.get("type").and_then(Value::as_str) == Some(kind);
    if blocks.iter().any(|block| is(block, "thinking")) {
        return blocks;
    }
    blocks
        .into_iter()
        .flat_map(|block| match block.get("text").and_then(Value::as_str) {
            Some(text) if is(&block, "text") => parts_of(text).unwrap_or_else(|| vec![block]),
            _ => vec![block],
        })
        .collect()
}

/// The blocks that a text becomes; `None` if there is no thinking in it.
fn parts_of(text: &str) -> Option<Vec<Value>> {
    let mut tags = ThinkingTags::default();
    let pieces = tags.push(text);
    if !tags.has_thought {
        return None;
    }
    let block = |piece: Piece| match piece {
        Piece::Text(text) => (!text.is_empty()).then(|| text_block(&text)),
        Piece::Thinking(text) => match text.trim() {
            "" => None,
            thinking => Some(json!({"type": "thinking", "thinking": thinking})),
        },
    };
    Some(pieces.into_iter().chain(tags.finish()).filter_map(block).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thinking(text: &str) -> Value {
        json!({"type": "thinking", "thinking": text})
    }

    #[test]
    fn what_stands_between_tags_at_the_beginning_is_thinking() {
        let text = |text: &str| text_block(text);
        let table = [
            ("Yes.", vec![text("Yes.")]),
            ("", vec![text("")]),
            (" \n", vec![text(" \n")]),
            ("\n Yes.", vec![text("\n Yes.")]),
            ("<think>Hm.</think>Yes.", vec![thinking("Hm."), text("Yes.")]),
            ("\n<think>\nHm.\n</think>\n\nYes. \n", vec![thinking("Hm."), text("Yes. \n")]),
            ("< THINKING >Hm.< / Thinking >Yes.", vec![thinking("Hm."), text("Yes.")]),
            ("<thought>a</thought><think>b</think>c", vec![thinking("a"), thinking("b"), text("c")]),
            ("<think></think>Yes.", vec![text("Yes.")]),
            ("<think>Hm.</think>", vec![thinking("Hm.")]),
            ("<think>Hm.</think> \n", vec![thinking("Hm.")]),
            (
                "<think>If a < b, then <b>so</b>.</think>Yes.",
                vec![thinking("If a < b, then <b>so</b>."), text("Yes.")],
            ),
            // It was cut off.
            ("<think>Hm, let me s", vec![thinking("Hm, let me s")]),
            ("<think>Hm.</thi", vec![thinking("Hm.")]),
            // What a text speaks of.
            ("Models write <think>Hm.</think>.", vec![text("Models write <think>Hm.</think>.")]),
            ("`<think>` begins it.", vec![text("`<think>` begins it.")]),
            ("<thinker>Hm.</thinker>", vec![text("<thinker>Hm.</thinker>")]),
            ("<think", vec![text("<think")]),
            ("</think>Yes.", vec![text("</think>Yes.")]),
            ("<think>a</think>b<think>c</think>", vec![thinking("a"), text("b<think>c</think>")]),
        ];
        for (written, expected) in table {
            assert_eq!(apart(vec![text_block(written)]), expected, "{written:?}");
        }
    }

    #[test]
    fn thinking_that_has_a_place_of_its_own_leaves_texts_alone() {
        let blocks = vec![thinking("Hm."), text_block("<think>is a tag</think>")];
        assert_eq!(apart(blocks.clone()), blocks);
        let call = json!({"type": "toolCall", "id": "a", "name": "b", "arguments": {}});
        let written = vec![text_block("<think>Hm.</think>"), call.clone()];
        assert_eq!(apart(written), [thinking("Hm."), call]);
    }

    #[test]
    fn pieces_say_the_same_however_a_text_is_cut() {
        for written in [
            "\n<think>Hm < 3</b></think> \n Yes <think>.",
            "<thin air>",
            " <",
            "<think>a</think>\n<think>b",
            "Yes.",
        ] {
            let letters: Vec<char> = written.chars().collect();
            let told = |length: usize| {
                let mut tags = ThinkingTags::default();
                let (mut text, mut thinking) = (String::new(), String::new());
                let mut pieces: Vec<Piece> = letters
                    .chunks(length)
                    .flat_map(|letters| tags.push(&letters.iter().collect::<String>()))
                    .collect();
                pieces.extend(tags.finish());
                for piece in pieces {
                    match piece {
                        Piece::Text(piece) => text.push_str(&piece),
                        Piece::Thinking(piece) => thinking.push_str(&piece),
                    }
                }
                (text, thinking)
            };
            let whole = told(letters.len());
            for length in 1..letters.len() {
                assert_eq!(told(length), whole, "{written:?} in pieces of {length}");
            }
        }
    }

    #[test]
    fn a_text_that_is_no_tag_is_not_held_up() {
        let mut tags = ThinkingTags::default();
        assert_eq!(tags.push("<th"), []);
        assert_eq!(tags.push("ree> "), [Piece::Text("<three> ".to_owned())]);
        assert_eq!(tags.push("<think>"), [Piece::Text("<think>".to_owned())]);
        assert_eq!(tags.finish(), None);
    }
}
