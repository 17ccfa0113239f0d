//! What a question asks for: words and what may be meant by them, dates, and whom it is about.

mod dates;
mod unspaced;

use jiff::civil::Date;

use crate::analysis::{self, Language, Word};

pub use dates::{Time, names_day_or_month};

/// How many things of a question are looked for; what follows adds nothing but work.
const MOST_CONCEPTS: usize = 64;
/// More of a question is not read, in bytes.
const MOST_TEXT: usize = 4096;
/// How much the spelling of another language counts.
const OTHER_LANGUAGE: f32 = 0.9;

/// A question, taken apart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Question {
    pub concepts: Vec<Concept>,
    /// When it was, as far as the question says.
    pub times: Vec<Time>,
    /// Words that may be somebody's name, folded.
    pub names: Vec<String>,
    /// It asks for a time.
    pub asks_when: bool,
    /// It asks for the latest of several.
    pub asks_latest: bool,
    /// It asks about the one who asks, or about the agent.
    pub about_me: bool,
    pub about_you: bool,
    /// It is a few words to look for, and no sentence.
    pub is_keywords: bool,
    /// It is in a language that makes words of words: `Zahnarzttermin`.
    pub has_compounds: bool,
}

/// One thing that is asked for. Of its terms the one that says most about a text counts.
#[derive(Clone, Debug, PartialEq)]
pub struct Concept {
    pub terms: Vec<(String, f32)>,
    /// The word as it was asked, folded.
    pub word: String,
    /// It is of a script without spaces, where words have no parts.
    pub is_unspaced: bool,
}

impl Question {
    /// Takes a question apart that is asked on this day.
    pub fn new(text: &str, today: Date) -> Self {
        let end = text.char_indices().map(|(at, _)| at).find(|at| *at >= MOST_TEXT).unwrap_or(text.len());
        let words = unspaced::with_days_apart(analysis::words(&text[..end]));
        let language = Language::of(&words);
        let (times, in_dates) = dates::named(&words, language, today);
        // Who asks only what was said at some time asks for all of it.
        let only_tells = |word: &Word| match word.is_unspaced() {
            true => unspaced::only_tells(word),
            false => TELLING.contains(&word.folded.as_str()) || analysis::terms_of(word, language).is_empty(),
        };
        let asks_for_a_time = !times.is_empty()
            && words.iter().enumerate().all(|(at, word)| in_dates.contains(&at) || only_tells(word));
        let mut concepts: Vec<Concept> = Vec::new();
        for (at, word) in words.iter().enumerate() {
            if asks_for_a_time || in_dates.contains(&at) || concepts.len() >= MOST_CONCEPTS {
                continue;
            }
            for term in analysis::terms_of(word, language) {
                if !concepts.iter().any(|known| known.terms[0].0 == term) {
                    concepts.push(Concept {
                        terms: alternatives(term, word),
                        word: word.folded.clone(),
                        is_unspaced: word.is_unspaced(),
                    });
                }
            }
        }
        let folded: Vec<&str> = words.iter().map(|word| word.folded.as_str()).collect();
        let has = |list: &[&str]| folded.iter().any(|word| list.contains(word));
        let has_pair = |one: &str, other: &str| folded.windows(2).any(|pair| pair == [one, other]);
        Self {
            concepts,
            times,
            names: words.iter().map(|word| word.folded.clone()).collect(),
            asks_when: folded.first().is_some_and(|word| WHEN.contains(word))
                || has_pair("how", "long")
                || ["year", "month", "day", "date", "time"]
                    .iter()
                    .any(|unit| has_pair("what", unit) || has_pair("which", unit)),
            asks_latest: has(&LATEST) || has_pair("most", "recent") || has_pair("last", "time"),
            about_me: has(&ME),
            about_you: has(&YOU),
            is_keywords: words.len() <= MOST_KEYWORDS
                && words.iter().all(|word| !analysis::is_common(word, language)),
            has_compounds: matches!(language, Language::German | Language::Dutch),
        }
    }
}

impl Question {
    /// Whether it asks for a time and for nothing else.
    pub fn asks_for_a_time(&self) -> bool {
        self.concepts.is_empty() && !self.times.is_empty()
    }

    /// Where a text first has something of the question, in bytes; its beginning if nowhere.
    pub fn first_in(&self, text: &str) -> usize {
        let is_asked = |term: &String| {
            self.concepts.iter().any(|concept| concept.terms.iter().any(|(asked, _)| asked == term))
        };
        let mut at = 0;
        for token in text.split_inclusive(char::is_whitespace) {
            if analysis::terms(token).iter().any(is_asked) {
                return at;
            }
            at += token.len();
        }
        0
    }
}

/// A sentence has more words, or common ones.
const MOST_KEYWORDS: usize = 3;

/// What people do when something is told or noted, folded.
const TELLING: [&str; 76] = [
    "note",
    "noted",
    "notes",
    "write",
    "wrote",
    "written",
    "say",
    "said",
    "tell",
    "told",
    "talk",
    "talked",
    "discuss",
    "discussed",
    "happen",
    "happened",
    "mention",
    "mentioned",
    "remember",
    "notiert",
    "notieren",
    "notizen",
    "geschrieben",
    "gesagt",
    "besprochen",
    "passiert",
    "erzahlt",
    "aufgeschrieben",
    "dit",
    "ecrit",
    "passe",
    "notes",
    "dije",
    "dicho",
    "anote",
    "anotado",
    "escribi",
    "paso",
    "detto",
    "scritto",
    "disse",
    "записал",
    "сказал",
    "было",
    "записала",
    "сказала",
    "говорил",
    "писал",
    "geschah",
    "war",
    "los",
    "sagte",
    "notierte",
    "notiere",
    "note",
    "raconte",
    "parle",
    "apunte",
    "apuntado",
    "escrito",
    "ocurrio",
    "annotato",
    "appuntato",
    "successo",
    "anotei",
    "anotado",
    "escrevi",
    "disse",
    "aconteceu",
    "genoteerd",
    "geschreven",
    "gezegd",
    "gebeurd",
    "σημειωσα",
    "εγραψα",
    "كتبت",
];

const WHEN: [&str; 8] = ["when", "wann", "quand", "cuando", "quando", "wanneer", "когда", "متى"];
const LATEST: [&str; 10] = [
    "latest",
    "newest",
    "currently",
    "current",
    "nowadays",
    "zuletzt",
    "aktuell",
    "derniere",
    "ultimo",
    "последнии",
];
const ME: [&str; 14] =
    ["i", "my", "me", "mine", "our", "we", "ich", "mein", "meine", "mir", "je", "mon", "mi", "мои"];
const YOU: [&str; 8] = ["you", "your", "yours", "du", "dein", "deine", "tu", "ton"];

/// What a text may say for a word: the word itself, what people use for the same, and how it ends in other
/// languages.
fn alternatives(term: String, word: &Word) -> Vec<(String, f32)> {
    let mut terms = vec![(term, 1.0)];
    let mut add = |term: String, weight: f32| {
        if !terms.iter().any(|(known, _)| *known == term) {
            terms.push((term, weight));
        }
    };
    if word.folded.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        let english = Language::English.stem(&word.folded);
        for (alike, weight) in analysis::alike(&english) {
            add(alike.clone(), *weight);
        }
        for language in Language::LATIN {
            add(language.stem(&word.folded), OTHER_LANGUAGE);
        }
    }
    terms
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    fn asked(text: &str) -> Question {
        Question::new(text, date(2026, 2, 3))
    }

    #[test]
    fn what_is_asked_for_is_told_from_how_it_is_asked() {
        let words = |text: &str| {
            asked(text).concepts.into_iter().map(|concept| concept.word).collect::<Vec<_>>().join(" ")
        };
        let table = [
            ("When did Anna adopt the dog?", "anna adopt dog"),
            ("What did we do on 9 November, 2022 in Rome?", "rome"),
            ("dog dogs DOG", "dog"),
            ("我的狗", "我的狗 我的狗"),
            ("what is it?", ""),
            ("", ""),
        ];
        for (text, expected) in table {
            assert_eq!(words(text), expected, "{text}");
        }
    }

    #[test]
    fn who_asks_for_a_day_alone_asks_for_all_of_it() {
        let (today, yesterday, before) = (date(2026, 2, 3), date(2026, 2, 2), date(2026, 2, 1));
        let table = [
            ("what did I note yesterday?", yesterday),
            ("Was habe ich gestern notiert?", yesterday),
            ("qu'est-ce que j'ai noté hier", yesterday),
            ("¿Qué anoté ayer?", yesterday),
            ("cosa ho scritto ieri", yesterday),
            ("o que anotei ontem?", yesterday),
            ("wat heb ik gisteren genoteerd", yesterday),
            ("что я записал вчера?", yesterday),
            ("昨日", yesterday),
            ("昨日何を書いた？", yesterday),
            ("昨日のメモ", yesterday),
            ("昨日は何をメモしましたか", yesterday),
            ("昨天我记了什么？", yesterday),
            ("我昨天寫了什麼", yesterday),
            ("어제", yesterday),
            ("어제 뭐 적었지?", yesterday),
            ("어제는 무엇을 메모했나요", yesterday),
            ("今日", today),
            ("今天我说了什么", today),
            ("오늘 뭐 했지", today),
            ("was war heute los", today),
            ("qu'ai-je noté aujourd'hui ?", today),
            ("¿qué dije hoy?", today),
            ("vorgestern", before),
            ("the day before yesterday", before),
            ("avant-hier", before),
            ("一昨日", before),
            ("前天", before),
            ("그저께", before),
        ];
        for (text, day) in table {
            let question = asked(text);
            assert_eq!(question.times, [Time::Between(day, day)], "{text}");
            assert_eq!(question.concepts, [], "{text}");
        }
        // Something else is asked for, too; and in German `hier` is no day.
        for text in ["昨日の会議", "昨天的会议", "어제 회의", "the plumber yesterday"] {
            let question = asked(text);
            assert_eq!(question.times, [Time::Between(yesterday, yesterday)], "{text}");
            assert!(!question.concepts.is_empty(), "{text}");
        }
        assert_eq!(asked("Was ist hier der Schlüssel?").times, []);
    }

    #[test]
    fn a_question_says_what_matters_to_it() {
        let marks = |text: &str| {
            let question = asked(text);
            (question.asks_when, question.asks_latest, question.about_me, question.about_you)
        };
        let table = [
            ("When is my birthday?", (true, false, true, false)),
            ("How long has it been?", (true, false, false, false)),
            ("what was the latest recipe you gave me", (false, true, true, true)),
            ("Which year was the move?", (true, false, false, false)),
            ("the recent storm", (false, false, false, false)),
        ];
        for (text, expected) in table {
            assert_eq!(marks(text), expected, "{text}");
        }
    }
}
