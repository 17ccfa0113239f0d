//! Texts as the pieces of words that the model has learnt, as BERT cut them: lower case, without accents,
//! every mark and every Chinese character on its own, and then the longest known piece first.
//!
//! A text that holds the name of one of the model's own signs, such as `[SEP]`, is text to us.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use icu_normalizer::DecomposingNormalizerBorrowed;
use icu_properties::props::GeneralCategory;
use icu_properties::{CodePointMapData, CodePointMapDataBorrowed};
use serde_json::Value;

use crate::encoder::PIECES;

/// What the model reads of a text, its own signs included.
pub const LONGEST_TEXT: usize = 256;
/// A word of more characters is none.
const LONGEST_WORD: usize = 100;

const UNKNOWN: u32 = 100;
const BEGIN: u32 = 101;
const END: u32 = 102;

pub struct Pieces {
    /// At the beginning of a word.
    beginnings: HashMap<Box<str>, u32>,
    /// Further on in one.
    rest: HashMap<Box<str>, u32>,
    /// In bytes.
    longest: usize,
    categories: CodePointMapDataBorrowed<'static, GeneralCategory>,
    decompose: DecomposingNormalizerBorrowed<'static>,
}

impl Pieces {
    /// Reads a `tokenizer.json`.
    pub fn read(path: &Path) -> io::Result<Self> {
        let file: Value = serde_json::from_slice(&std::fs::read(path)?)?;
        let known = file["model"]["vocab"].as_object().into_iter().flatten();
        let known = known.filter_map(|(piece, id)| Some((piece.as_str(), u32::try_from(id.as_u64()?).ok()?)));
        let pieces = Self::new(known);
        if pieces.beginnings.len() + pieces.rest.len() != PIECES {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it has not the pieces of this model"));
        }
        Ok(pieces)
    }

    fn new<'a>(known: impl Iterator<Item = (&'a str, u32)>) -> Self {
        let (mut beginnings, mut rest) = (HashMap::new(), HashMap::new());
        let mut longest = 0;
        for (piece, id) in known {
            longest = longest.max(piece.len());
            match piece.strip_prefix("##") {
                Some(piece) if !piece.is_empty() => rest.insert(piece.into(), id),
                _ => beginnings.insert(piece.into(), id),
            };
        }
        let categories = CodePointMapData::<GeneralCategory>::new();
        Self { beginnings, rest, longest, categories, decompose: DecomposingNormalizerBorrowed::new_nfd() }
    }

    /// The numbers of a text's pieces between the signs of its beginning and its end; of a long text, the
    /// first ones.
    pub fn of(&self, text: &str) -> Vec<u32> {
        let mut ids = vec![BEGIN];
        let mut word = String::new();
        for c in self.plain(text) {
            if c.is_whitespace() {
                self.cut(&word, &mut ids);
                word.clear();
            } else if self.is_mark(c) {
                self.cut(&word, &mut ids);
                word.clear();
                self.cut(c.encode_utf8(&mut [0; 4]), &mut ids);
            } else {
                word.push(c);
            }
            if ids.len() >= LONGEST_TEXT {
                break;
            }
        }
        self.cut(&word, &mut ids);
        ids.truncate(LONGEST_TEXT - 1);
        ids.push(END);
        ids
    }

    /// The longest known piece from the beginning, then from where that ends. One that is not known makes
    /// the whole word unknown.
    fn cut(&self, word: &str, ids: &mut Vec<u32>) {
        if word.is_empty() {
            return;
        }
        let before = ids.len();
        let mut left = word;
        let mut known = &self.beginnings;
        while !left.is_empty() {
            let longest = left.floor_char_boundary(self.longest);
            let ends = (1..=longest).rev().filter(|end| left.is_char_boundary(*end));
            let found = ends.into_iter().find_map(|end| Some((end, *known.get(&left[..end])?)));
            match found {
                Some((end, id)) if word.chars().count() <= LONGEST_WORD => {
                    ids.push(id);
                    left = &left[end..];
                    known = &self.rest;
                }
                _ => {
                    ids.truncate(before);
                    ids.push(UNKNOWN);
                    return;
                }
            }
        }
    }

    /// Without what is not seen, in lower case and without accents.
    fn plain(&self, text: &str) -> impl Iterator<Item = char> {
        let seen = text.chars().filter(|c| is_line_space(*c) || !self.is_hidden(*c));
        let apart = seen.flat_map(|c| {
            let around = if is_chinese(c) { Some(' ') } else { None };
            around.into_iter().chain([c]).chain(around)
        });
        let decomposed = self.decompose.normalize_iter(apart);
        let bare = decomposed.filter(|c| self.categories.get(*c) != GeneralCategory::NonspacingMark);
        bare.flat_map(char::to_lowercase)
    }

    fn is_hidden(&self, c: char) -> bool {
        use GeneralCategory::{Control, Format, PrivateUse};
        c == '\u{fffd}'
            || (!c.is_ascii_graphic() && matches!(self.categories.get(c), Control | Format | PrivateUse))
    }

    fn is_mark(&self, c: char) -> bool {
        use GeneralCategory::{
            ClosePunctuation, ConnectorPunctuation, DashPunctuation, FinalPunctuation, InitialPunctuation,
            OpenPunctuation, OtherPunctuation,
        };
        if c.is_ascii() {
            return c.is_ascii_punctuation();
        }
        matches!(
            self.categories.get(c),
            ConnectorPunctuation
                | DashPunctuation
                | OpenPunctuation
                | ClosePunctuation
                | InitialPunctuation
                | FinalPunctuation
                | OtherPunctuation
        )
    }
}

fn is_line_space(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r')
}

fn is_chinese(c: char) -> bool {
    matches!(c,
        '\u{4e00}'..='\u{9fff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{20000}'..='\u{2a6df}'
        | '\u{2a700}'..='\u{2b73f}'
        | '\u{2b740}'..='\u{2b81f}'
        | '\u{2b920}'..='\u{2ceaf}'
        | '\u{f900}'..='\u{faff}'
        | '\u{2f800}'..='\u{2fa1f}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const KNOWN: &[&str] = &[
        "un", "##want", "##ed", "wa", "runn", "##ing", ",", "low", "cafe", "!", "ㄱ", "中", "文", "ᄒ", "##ᅡ",
        "##ᆫ",
    ];

    fn pieces() -> Pieces {
        Pieces::new(KNOWN.iter().zip(1000..).map(|(piece, id)| (*piece, id)))
    }

    fn names(text: &str) -> Vec<&'static str> {
        let name = |id: &u32| match *id {
            UNKNOWN => "?",
            BEGIN => "<",
            END => ">",
            id => KNOWN[id as usize - 1000],
        };
        pieces().of(text).iter().map(name).collect()
    }

    #[test]
    fn texts_are_cut_as_bert_cut_them() {
        let long = format!("{} low", "un".repeat(51));
        let table: &[(&str, &[&str])] = &[
            ("", &["<", ">"]),
            (" \t\r\n ", &["<", ">"]),
            ("UNwanted, running!", &["<", "un", "##want", "##ed", ",", "runn", "##ing", "!", ">"]),
            ("un wanted", &["<", "un", "?", ">"]),
            ("unwantedX running", &["<", "?", "runn", "##ing", ">"]),
            ("Café cafe\u{301}!!", &["<", "cafe", "cafe", "!", "!", ">"]),
            ("low中文low", &["<", "low", "中", "文", "low", ">"]),
            ("l\u{0}o\u{ad}w\u{fffd}\u{200d}", &["<", "low", ">"]),
            ("한", &["<", "ᄒ", "##ᅡ", "##ᆫ", ">"]),
            ("🦀 low", &["<", "?", "low", ">"]),
            (&long, &["<", "?", "low", ">"]),
            ("[SEP]", &["<", "?", "?", "?", ">"]),
        ];
        for (text, expected) in table {
            assert_eq!(names(text), *expected, "{text:?}");
        }
    }

    #[test]
    fn of_a_long_text_the_beginning_is_read() {
        let ids = pieces().of(&"low ".repeat(1000));
        assert_eq!(ids.len(), LONGEST_TEXT);
        assert_eq!((ids[0], ids[LONGEST_TEXT - 1]), (BEGIN, END));
    }

    proptest! {
        #[test]
        fn every_text_can_be_cut(text in any::<String>()) {
            let ids = pieces().of(&text);
            prop_assert!((2..=LONGEST_TEXT).contains(&ids.len()));
        }
    }
}
