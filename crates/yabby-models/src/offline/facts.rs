//! Sentences that are worth keeping: what people say about themselves, want and decide.

use std::sync::LazyLock;

use regex::Regex;
use yabby_domain::text;

use super::pattern;
use super::wish::{Wish, wishes};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Fact,
    Preference,
    Decision,
}

/// What a text holds that is worth keeping, in order.
pub(super) fn facts(said: &str) -> Vec<(Kind, String)> {
    let mut found = Vec::new();
    for wish in wishes(said) {
        match wish {
            Wish::Remember(what) if !what.is_empty() => {
                found.push((kind(&what).unwrap_or(Kind::Fact), text::collapse_spaces(&what)));
            }
            Wish::Unclear(words) => {
                found.extend(sentences(&words).into_iter().filter_map(|one| Some((kind(&one)?, one))));
            }
            _ => {}
        }
    }
    found
}

/// The sentences of a text, each on one line, with the mark that it ends with.
pub(super) fn sentences(said: &str) -> Vec<String> {
    static END: LazyLock<Regex> = LazyLock::new(|| pattern(r"[.!?…]+(?:\s+|$)|[。！？]+|\n+"));
    let mut sentences = Vec::new();
    let mut begun = 0;
    for end in END.find_iter(said) {
        sentences.push(&said[begun..end.end()]);
        begun = end.end();
    }
    sentences.push(&said[begun..]);
    let on_one_line = |sentence: &str| text::trim(&text::collapse_spaces(sentence)).to_owned();
    sentences.into_iter().map(on_one_line).filter(|sentence| !sentence.is_empty()).collect()
}

/// What a sentence is worth keeping for.
fn kind(sentence: &str) -> Option<Kind> {
    const SHORTEST: usize = 6;
    const LONGEST: usize = 400;
    let length = sentence.chars().count();
    if sentence.ends_with(['?', '？'])
        || !(SHORTEST..=LONGEST).contains(&length)
        || FLEETING.is_match(sentence)
    {
        return None;
    }
    let kinds = [(&DECISION, Kind::Decision), (&PREFERENCE, Kind::Preference), (&FACT, Kind::Fact)];
    kinds.into_iter().find(|(signs, _)| signs.is_match(sentence)).map(|(_, kind)| kind)
}

static DECISION: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)\b(?:we|i)(?:['’]ve| have)? (?:decided|agreed|chose|settled|concluded)\b|\blet['’]?s (?:use|go with|take|stick)\b|",
        r"^(?:decision|decided|agreed)\b|\b(?:we|i)(?:['’]ll| will| are going to| am going to) (?:use|go with|take)\b"
    ))
});

static PREFERENCE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)\bi(?:['’]d)? (?:really |always |never |also )*(?:like|love|hate|dislike|prefer|enjoy|avoid|want|need|can['’]?t stand|",
        r"(?:don['’]?t|do not) (?:like|want|eat|drink|need))\b|\bi (?:always|never|usually)\b|\ballergic\b|\bfavou?rite\b|",
        r"^(?:please )?(?:always|never)\b|^(?:please )?(?:don['’]?t|do not) (?:ever )?\w+"
    ))
});

static FACT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)\b(?:my|our)\b[^.?!]{1,80}\b(?:is|are|was|were|has|have|will|starts?|ends?|lives?|works?|called|named)\b|",
        r"\bis (?:my|our)\b|\bcall me\b|\bi(?:['’]m| am| was| live| work| moved| bought| study| studied| speak| own| drive|",
        r" grew| was born| got| run| have (?:an?|two|three|four|five|no|my)\b)|\bwe (?:live|moved|have|own|bought|meet|are)\b|",
        r"\b(?:birthday|deadline|appointment|anniversary|password hint|address|phone number)\b|",
        r"\b[0-9]{4}-[0-9]{2}-[0-9]{2}\b|\b[0-9]{1,2}\.[0-9]{1,2}\.(?:[0-9]{2,4})?|\b[0-9]{1,2}/[0-9]{1,2}/[0-9]{2,4}\b|",
        r"\b(?:[0-9]{1,2}(?:st|nd|rd|th)?(?: of)? )?(?:january|february|march|april|june|july|august|september|october|",
        r"november|december)\b[ ,]*[0-9]{0,4}|\b[0-9]{1,2}(?:st|nd|rd|th)? (?:of )?may\b|\bmay [0-9]{1,2}\b"
    ))
});

/// What is about this very conversation, and void when it is over.
static FLEETING: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)^i(?:['’]m| am) (?:here|back|sorry|fine|good|okay|ok|not sure|done|just)\b|\bi (?:want|need|['’]d like) (?:you to|to know|help)\b|",
        r"\bi have (?:a|one|another) question\b|\bmy (?:question|point|last message) (?:is|was)\b"
    ))
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_about_people_are_worth_keeping() {
        use Kind::{Decision, Fact, Preference};
        let table = [
            ("My name is Sam.", Some(Fact)),
            ("I live in Graz", Some(Fact)),
            ("I'm a nurse.", Some(Fact)),
            ("Rex is my dog.", Some(Fact)),
            ("The dentist is on 2026-03-04.", Some(Fact)),
            ("Anna comes on 3 May", Some(Fact)),
            ("I prefer tea to coffee", Some(Preference)),
            ("Please never call me before nine.", Some(Preference)),
            ("I am allergic to nuts", Some(Preference)),
            ("We decided to use Rust.", Some(Decision)),
            ("Let’s go with the blue one", Some(Decision)),
            ("What is my name?", None),
            ("I want you to sing", None),
            ("I'm back", None),
            ("It rains.", None),
            ("ok", None),
        ];
        for (sentence, expected) in table {
            assert_eq!(kind(sentence), expected, "{sentence}");
        }
    }

    #[test]
    fn sentences_end_with_a_mark_and_a_space() {
        let table: [(&str, &[&str]); 4] = [
            ("At 14.30 we meet. Bring v1.2!  Ok?", &["At 14.30 we meet.", "Bring v1.2!", "Ok?"]),
            ("a\n b\n\n", &["a", "b"]),
            ("我住在这里。你呢？", &["我住在这里。", "你呢？"]),
            ("", &[]),
        ];
        for (said, expected) in table {
            assert_eq!(sentences(said), expected, "{said}");
        }
    }

    #[test]
    fn what_is_to_be_remembered_is_a_fact() {
        let found = facts("Hi! Remember that the code is 12. List files.");
        assert_eq!(found, [(Kind::Fact, "the code is 12".to_owned())]);
        assert_eq!(facts("I like tea. It rains. My cat is old.").len(), 2);
    }
}
