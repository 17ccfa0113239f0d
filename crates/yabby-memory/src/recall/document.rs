//! What the ranking has to know of a document, in a few bytes.

use crate::analysis::words;

/// The bytes of a document in its block of facts.
pub(super) const BYTES: usize = 20;

/// Facts about a document: something that was said, or a part of a note.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Document {
    pub(super) source: u32,
    /// Its place in the source.
    pub(super) position: u32,
    pub(super) speaker: u32,
    /// Minutes since 1970; 0 is not known.
    pub(super) minute: u32,
    /// How many terms it has.
    pub(super) length: u16,
    pub(super) marks: Marks,
}

/// What a document is, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Marks(u8);

impl Marks {
    pub(super) const QUESTION: Self = Self(1);
    pub(super) const TIME: Self = Self(2);
    pub(super) const USER: Self = Self(4);
    pub(super) const AGENT: Self = Self(8);
    /// The agent goes on after it: it has called tools.
    pub(super) const UNFINISHED: Self = Self(16);
    /// The built-in helper said it, who has no words but those of others.
    pub(super) const ECHO: Self = Self(32);

    pub(super) fn has(self, mark: Self) -> bool {
        self.0 & mark.0 != 0
    }

    pub(super) fn with(self, mark: Self, is_so: bool) -> Self {
        if is_so { Self(self.0 | mark.0) } else { self }
    }
}

impl Document {
    pub(super) fn write(&self, bytes: &mut [u8]) {
        bytes[0..4].copy_from_slice(&self.source.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.position.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.speaker.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.minute.to_le_bytes());
        bytes[16..18].copy_from_slice(&self.length.to_le_bytes());
        bytes[18] = self.marks.0;
    }

    /// The document at a place of a block; one without a length is gone.
    pub(super) fn read(block: &[u8], at: usize) -> Option<Self> {
        let bytes = block.get(at * BYTES..(at + 1) * BYTES)?;
        let number = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let length = u16::from_le_bytes([bytes[16], bytes[17]]);
        (length > 0).then(|| Self {
            source: number(0),
            position: number(4),
            speaker: number(8),
            minute: number(12),
            length,
            marks: Marks(bytes[18]),
        })
    }
}

/// Whether a text says when something was.
pub(super) fn says_when(text: &str) -> bool {
    words(text).iter().any(|word| TIMES.binary_search(&word.folded.as_str()).is_ok())
}

static TIMES: [&str; 45] = [
    "ago",
    "april",
    "august",
    "day",
    "days",
    "december",
    "evening",
    "february",
    "friday",
    "gestern",
    "january",
    "july",
    "june",
    "last",
    "march",
    "may",
    "monday",
    "month",
    "months",
    "morgen",
    "morning",
    "next",
    "night",
    "november",
    "october",
    "recently",
    "saturday",
    "september",
    "since",
    "soon",
    "sunday",
    "thursday",
    "today",
    "tomorrow",
    "tonight",
    "tuesday",
    "wednesday",
    "week",
    "weekend",
    "weeks",
    "year",
    "years",
    "yesterday",
    "вчера",
    "завтра",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_comes_back_as_it_was() {
        let marks =
            Marks::default().with(Marks::USER, true).with(Marks::TIME, true).with(Marks::AGENT, false);
        let one = Document { source: 7, position: 8, speaker: 9, minute: 10, length: 11, marks };
        let mut block = vec![0; BYTES * 2];
        one.write(&mut block[BYTES..]);
        assert_eq!((Document::read(&block, 0), Document::read(&block, 1)), (None, Some(one)));
        assert!(marks.has(Marks::TIME) && !marks.has(Marks::AGENT));
        assert_eq!(Document::read(&block, 2), None);
    }

    #[test]
    fn times_are_in_order() {
        assert!(TIMES.is_sorted());
        assert!(says_when("We met last week") && !says_when("We met"));
    }
}
