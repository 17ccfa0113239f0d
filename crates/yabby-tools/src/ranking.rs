//! How well passages answer a query, by the words that they share.
//!
//! Rare words count more than common ones, and every word counts by itself: a question in whole
//! sentences finds what it is about though no passage holds all of its words (`memory.md` §15).

use std::collections::{HashMap, HashSet};

use yabby_domain::text;

/// A word in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    /// Lower-cased, without endings.
    pub(crate) stem: String,
    /// Where it begins, in bytes.
    pub(crate) at: usize,
}

/// The words of a text. Scripts that put no space between words are taken letter by letter.
pub(crate) fn words(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut begun: Option<usize> = None;
    for (at, c) in text.char_indices() {
        let stands_alone = is_unspaced(c);
        let goes_on = c.is_alphanumeric() && !stands_alone;
        if let (Some(start), false) = (begun, goes_on) {
            words.push(word(text, start, at));
            begun = None;
        }
        if stands_alone {
            words.push(word(text, at, at + c.len_utf8()));
        } else if goes_on {
            begun = begun.or(Some(at));
        }
    }
    words.extend(begun.map(|start| word(text, start, text.len())));
    words
}

fn word(text: &str, from: usize, to: usize) -> Word {
    Word { stem: stem(&text::lower(&text[from..to])).to_owned(), at: from }
}

fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{3040}'..='\u{30ff}'
        | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// A word without its English ending, as far as that is safe to say without a dictionary.
fn stem(word: &str) -> &str {
    let without = |ending: &str, least: usize| {
        word.strip_suffix(ending).filter(|rest| rest.len() >= least && rest.is_ascii())
    };
    let plural = || without("s", 3).filter(|rest| !rest.ends_with('s') && !rest.ends_with('u'));
    without("ing", 4).or_else(|| without("ed", 4)).or_else(plural).unwrap_or(word)
}

/// Words that say nothing about what is asked.
const COMMON: &[&str] = &[
    "a", "about", "again", "am", "an", "and", "any", "anything", "are", "as", "at", "be", "been", "but",
    "by", "can", "did", "do", "doe", "does", "for", "from", "had", "have", "has", "he", "her", "him", "his",
    "how", "i", "if", "in", "is", "it", "know", "m", "me", "mention", "my", "of", "on", "or", "our",
    "please", "re", "remember", "s", "said", "say", "she", "so", "still", "t", "tell", "that", "the",
    "their", "them", "then", "there", "they", "thi", "this", "to", "told", "us", "ve", "wa", "was", "we",
    "were", "what", "when", "where", "which", "who", "why", "will", "with", "you", "your",
];

/// What somebody looks for.
pub(crate) struct Query(Vec<String>);

impl Query {
    /// The telling words of a text; all of them if none is telling.
    pub(crate) fn new(text: &str) -> Self {
        let mut seen = HashSet::new();
        let mut stems: Vec<String> = words(text).into_iter().map(|word| word.stem).collect();
        stems.retain(|stem| seen.insert(stem.clone()));
        let telling: Vec<String> =
            stems.iter().filter(|stem| !COMMON.contains(&stem.as_str())).cloned().collect();
        Self(if telling.is_empty() { stems } else { telling })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Where in a text the first of the words stands, in bytes.
    pub(crate) fn first_in(&self, text: &str) -> Option<usize> {
        words(text)
            .into_iter()
            .find(|word| self.0.iter().any(|term| likeness(term, &word.stem) > 0.0))
            .map(|word| word.at)
    }

    /// Of every text that shares a word with the query: which one, and how much of the query it covers,
    /// from 0 to 1.
    pub(crate) fn score<'t>(&self, texts: impl Iterator<Item = &'t str>) -> Vec<(usize, f64)> {
        let mut found: Vec<(usize, Vec<f64>, usize)> = Vec::new();
        let mut holding: HashMap<usize, f64> = HashMap::new();
        let mut count = 0_usize;
        for (at, text) in texts.enumerate() {
            count += 1;
            let words = words(text);
            let best =
                |term: &String| words.iter().map(|word| likeness(term, &word.stem)).fold(0.0, f64::max);
            let covered: Vec<f64> = self.0.iter().map(best).collect();
            for (term, likeness) in covered.iter().enumerate().filter(|(_, likeness)| **likeness > 0.0) {
                *holding.entry(term).or_default() += likeness;
            }
            if covered.iter().any(|likeness| *likeness > 0.0) {
                found.push((at, covered, words.len()));
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "counts")]
        let weights: Vec<f64> = (0..self.0.len())
            .map(|term| match holding.get(&term) {
                Some(held) => (1.0 + count as f64 / held).ln(),
                // Nobody ever used the word; then it says little that a passage does not, either.
                None => (1.0 + count as f64).ln() / 2.0,
            })
            .collect();
        let whole: f64 = weights.iter().sum();
        let scored = found.into_iter().map(|(at, covered, length)| {
            let held: f64 = covered.iter().zip(&weights).map(|(likeness, weight)| likeness * weight).sum();
            (at, held / whole.max(f64::MIN_POSITIVE) * brevity(length))
        });
        scored.collect()
    }
}

/// How much two words are the same: one may go on where the other ends.
fn likeness(one: &str, other: &str) -> f64 {
    let (short, long) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    if short == long {
        1.0
    } else if short.chars().count() >= 4 && long.starts_with(short) {
        0.6
    } else {
        0.0
    }
}

/// A long text holds many words by chance.
fn brevity(words: usize) -> f64 {
    const SHORT: f64 = 40.0;
    #[expect(clippy::cast_precision_loss, reason = "counts")]
    let length = words as f64;
    1.0 / (1.0 + 0.15 * (length / SHORT).max(1.0).ln())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn best(query: &str, texts: &[&str]) -> Option<usize> {
        let scored = Query::new(query).score(texts.iter().copied());
        scored.into_iter().max_by(|one, other| one.1.total_cmp(&other.1)).map(|(at, _)| at)
    }

    #[test]
    fn words_lose_their_endings_and_unspaced_scripts_are_letters() {
        let stems = |text| words(text).into_iter().map(|word| word.stem).collect::<Vec<_>>().join(" ");
        let table = [
            ("The dogs' names", "the dog name"),
            ("planned, planning", "plann plann"),
            ("bus class its", "bus class its"),
            ("Ärzte über42", "ärzte über42"),
            ("我的狗 rex", "我 的 狗 rex"),
            ("...", ""),
        ];
        for (text, expected) in table {
            assert_eq!(stems(text), expected, "{text}");
        }
    }

    #[test]
    fn a_question_in_whole_sentences_finds_what_it_is_about() {
        let texts = [
            "- The dentist moved to Rose Street",
            "- my dog is called Rex",
            "- I prefer tea, and I like the dog park",
            "- 我的狗叫小白",
            "- Der Zahnarzt ist am Dienstag",
        ];
        let table = [
            ("When did I last go to the dentist?", Some(0)),
            ("what is my dog called", Some(1)),
            ("dogs in parks", Some(2)),
            ("小白", Some(3)),
            ("zahnarzt", Some(4)),
            ("my", Some(1)),
            ("umbrella", None),
            ("?!", None),
        ];
        for (query, expected) in table {
            assert_eq!(best(query, &texts), expected, "{query}");
        }
    }

    #[test]
    fn scores_are_between_nothing_and_all() {
        let scored = Query::new("red car").score(["red car", "a red house", "blue"].into_iter());
        let [(0, both), (1, one)] = scored[..] else { panic!("{scored:?}") };
        assert!((both - 1.0).abs() < 1e-9 && one > 0.0 && one < both, "{scored:?}");
    }
}
