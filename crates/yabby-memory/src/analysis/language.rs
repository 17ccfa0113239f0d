//! Which language a text is in, as far as endings and common words need it.

use rust_stemmers::{Algorithm, Stemmer};

use super::{Word, irregular, stop_words};

/// A language whose endings are known. Everything else in Latin letters is taken for English.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Language {
    #[default]
    English,
    German,
    French,
    Spanish,
    Italian,
    Portuguese,
    Dutch,
    Russian,
    Arabic,
    Greek,
}

impl Language {
    pub const LATIN: [Self; 7] = [
        Self::English,
        Self::German,
        Self::French,
        Self::Spanish,
        Self::Italian,
        Self::Portuguese,
        Self::Dutch,
    ];

    /// By the script, or else by whose common words there are most of. Who says few words says English ones.
    pub fn of(words: &[Word]) -> Self {
        let count = |range: std::ops::RangeInclusive<char>| {
            words.iter().filter(|word| word.folded.chars().next().is_some_and(|c| range.contains(&c))).count()
        };
        let most = words.len() / 2;
        match () {
            () if words.is_empty() => Self::English,
            () if count('\u{400}'..='\u{52F}') > most => Self::Russian,
            () if count('\u{600}'..='\u{6FF}') > most => Self::Arabic,
            () if count('\u{370}'..='\u{3FF}') > most => Self::Greek,
            () => {
                let common = |language: Self| {
                    words.iter().filter(|word| stop_words::is_of(&word.folded, language)).count()
                };
                // The first of equals: English.
                Self::LATIN.into_iter().rev().max_by_key(|language| common(*language)).unwrap_or_default()
            }
        }
    }

    /// A word without its ending.
    pub fn stem(self, word: &str) -> String {
        if word.bytes().all(|byte| byte.is_ascii_digit()) {
            return word.to_owned();
        }
        let algorithm = match (self, word.chars().next().unwrap_or_default()) {
            (_, '\u{400}'..='\u{52F}') => Algorithm::Russian,
            (_, '\u{370}'..='\u{3FF}') => Algorithm::Greek,
            (_, '\u{600}'..='\u{6FF}') => return arabic_stem(word),
            (Self::German, _) => Algorithm::German,
            (Self::French, _) => Algorithm::French,
            (Self::Spanish, _) => Algorithm::Spanish,
            (Self::Italian, _) => Algorithm::Italian,
            (Self::Portuguese, _) => Algorithm::Portuguese,
            (Self::Dutch, _) => Algorithm::Dutch,
            (Self::English | Self::Russian | Self::Arabic | Self::Greek, _) => {
                return Stemmer::create(Algorithm::English).stem(irregular::base(word)).into_owned();
            }
        };
        Stemmer::create(algorithm).stem(word).into_owned()
    }
}

/// Arabic words without the article and the commonest endings: the full algorithm takes too much off short
/// words.
fn arabic_stem(word: &str) -> String {
    const PREFIXES: [&str; 7] = ["وال", "بال", "كال", "فال", "لل", "ال", "و"];
    const SUFFIXES: [&str; 11] = ["ها", "ان", "ات", "ون", "ين", "يه", "ته", "نا", "ه", "ي", "ا"];
    let long = |text: &str, least: usize| text.chars().count() >= least;
    let word: String = word.chars().map(|c| if matches!(c, 'أ' | 'إ' | 'آ') { 'ا' } else { c }).collect();
    let mut stem = word.as_str();
    if let Some(rest) =
        PREFIXES.iter().find_map(|prefix| stem.strip_prefix(prefix)).filter(|rest| long(rest, 3))
    {
        stem = rest;
    }
    if let Some(rest) =
        SUFFIXES.iter().find_map(|suffix| stem.strip_suffix(suffix)).filter(|rest| long(rest, 3))
    {
        stem = rest;
    }
    stem.to_owned()
}
