//! Texts as the search sees them: folded, cut into words, without endings (`memory.md` §15: every script).
//!
//! Words of scripts with spaces become stems. Scripts without spaces, and Korean, become overlapping pairs or triples of
//! letters, which needs no dictionary.

mod alike;
mod irregular;
mod language;
mod stop_words;

use icu_normalizer::{ComposingNormalizerBorrowed, DecomposingNormalizerBorrowed};

pub use alike::alike;
pub use language::Language;

/// Longer runs without a space are not words.
const LONGEST_WORD: usize = 64;

/// A word of a text, as it was written but in small letters and without marks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    pub folded: String,
    /// It began with a capital letter.
    pub is_capital: bool,
    script: Script,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Script {
    /// Words between spaces.
    Spaced,
    /// Every letter is much of a word: pairs.
    Dense,
    /// Syllables, with particles behind a word: pairs of syllables.
    Hangul,
    /// Letters without spaces: triples.
    Unspaced,
}

/// The words of a text; runs of scripts without spaces are one word here.
pub fn words(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut run = String::new();
    let mut script = Script::Spaced;
    let mut is_capital = false;
    let mut finish = |run: &mut String, script: Script, is_capital: bool| {
        if !run.is_empty() {
            words.push(Word { folded: std::mem::take(run), is_capital, script });
        }
    };
    let nfkd = DecomposingNormalizerBorrowed::new_nfkd();
    let mut letters = nfkd.normalize_iter(text.chars()).peekable();
    while let Some(c) = letters.next() {
        if is_mark(c) {
            continue;
        }
        let is_apostrophe = matches!(c, '\'' | '’') && !run.is_empty() && script == Script::Spaced;
        if is_apostrophe && letters.peek().is_some_and(|next| next.is_alphabetic()) {
            // What follows is an ending (`Anna's`, `don't`); French `l'eau` keeps the longer part.
            if run.chars().count() <= 2 {
                run.clear();
            } else {
                while letters.next_if(|next| next.is_alphanumeric()).is_some() {}
                finish(&mut run, script, is_capital);
            }
            continue;
        }
        if !is_letter(c) {
            finish(&mut run, script, is_capital);
            continue;
        }
        let of = script_of(c);
        if of != script || run.len() >= LONGEST_WORD * 4 {
            finish(&mut run, script, is_capital);
        }
        if run.is_empty() {
            script = of;
            is_capital = c.is_uppercase();
        }
        run.extend(c.to_lowercase().map(same_letter));
    }
    finish(&mut run, script, is_capital);
    words
}

/// Marks on letters; in Indic scripts they are vowels and stay.
fn is_mark(c: char) -> bool {
    matches!(u32::from(c),
        0x300..=0x36F | 0x483..=0x487 | 0x591..=0x5C7 | 0x610..=0x61A | 0x640 | 0x64B..=0x65F | 0x670
        | 0xE47..=0xE4E | 0xEC8..=0xECE | 0x200B..=0x200D | 0x3099..=0x309A)
}

/// Letters, digits, and the marks of Indic scripts that no word goes without.
fn is_letter(c: char) -> bool {
    c.is_alphanumeric()
        || matches!(u32::from(c), 0x900..=0x963 | 0x981..=0xDFF | 0x1000..=0x109F | 0x1780..=0x17D3)
}

/// Letters that are written one for the other.
fn same_letter(c: char) -> char {
    match c {
        'ß' => 's',
        'ø' => 'o',
        'ł' => 'l',
        'đ' => 'd',
        'ı' => 'i',
        'ی' | 'ى' => 'ي',
        'ک' => 'ك',
        'ة' => 'ه',
        'ё' => 'е',
        'ς' => 'σ',
        // Katakana as Hiragana.
        'ァ'..='ヶ' => char::from_u32(u32::from(c) - 0x60).unwrap_or(c),
        _ => c,
    }
}

fn script_of(c: char) -> Script {
    match u32::from(c) {
        // Hangul syllables come apart when they are decomposed.
        0x1100..=0x11FF => Script::Hangul,
        0xE00..=0xEFF | 0x1000..=0x109F | 0x1780..=0x17FF => Script::Unspaced,
        0x2E80..=0x2FDF
        | 0x3005..=0x3007
        | 0x3040..=0x30FF
        | 0x31F0..=0x31FF
        | 0x3400..=0x9FFF
        | 0xF900..=0xFAFF
        | 0x20000..=0x323AF => Script::Dense,
        _ => Script::Spaced,
    }
}

/// The terms that a text is found by, in its order, each as often as it occurs.
pub fn terms(text: &str) -> Vec<String> {
    let words = words(text);
    let language = Language::of(&words);
    let mut terms = Vec::with_capacity(words.len());
    for word in &words {
        each_term(word, language, &mut |term| terms.push(term));
    }
    terms
}

/// The terms that one word of a question is looked for by; none if it is too common to mean anything. Where there are
/// pairs of letters, they say more than each letter.
pub fn terms_of(word: &Word, language: Language) -> Vec<String> {
    let mut terms = Vec::new();
    if word.script == Script::Hangul {
        hangul_question(&syllables(&word.folded), &mut |term| terms.push(term));
        return terms;
    }
    each_term(word, language, &mut |term| terms.push(term));
    if word.script == Script::Dense && word.folded.chars().nth(1).is_some() {
        terms.retain(|term| term.chars().nth(1).is_some());
    }
    terms
}

/// A text of a script without spaces, where it is folded like a word of it.
pub fn folded(text: &str) -> String {
    words(text).into_iter().map(|word| word.folded).collect()
}

impl Word {
    /// Whether its letters follow each other without spaces between words, or particles follow the word.
    pub fn is_unspaced(&self) -> bool {
        self.script != Script::Spaced
    }

    /// Whether it is Korean, where particles follow a word.
    pub fn is_hangul(&self) -> bool {
        self.script == Script::Hangul
    }

    /// A part of a word without spaces.
    pub fn part(&self, folded: &str) -> Self {
        Self { folded: folded.to_owned(), is_capital: false, script: self.script }
    }

    /// A word of a script with spaces.
    pub fn spaced(folded: &str) -> Self {
        Self { folded: folded.to_owned(), is_capital: false, script: Script::Spaced }
    }
}

/// Whether a word is too common to mean anything.
pub fn is_common(word: &Word, language: Language) -> bool {
    word.script == Script::Spaced && stop_words::is_of(&word.folded, language)
}

fn each_term(word: &Word, language: Language, give: &mut dyn FnMut(String)) {
    match word.script {
        Script::Spaced if stop_words::is_of(&word.folded, language) => {}
        Script::Spaced if stop_words::is_of(irregular::base(&word.folded), language) => {}
        Script::Spaced => give(language.stem(&word.folded)),
        Script::Dense => pairs_and_letters(&word.folded, give),
        Script::Hangul => {
            let syllables = syllables(&word.folded);
            pairs_and_letters(&syllables, give);
            if let Some(first) = syllables.chars().next() {
                give(beginning_with(first));
            }
        }
        Script::Unspaced => grams(&word.folded, 3, give),
    }
}

/// A single letter is a word, too.
fn pairs_and_letters(text: &str, give: &mut dyn FnMut(String)) {
    grams(text, 2, give);
    if text.chars().nth(1).is_some() {
        text.chars().for_each(|letter| give(letter.to_string()));
    }
}

/// Korean letters as syllables.
fn syllables(folded: &str) -> String {
    ComposingNormalizerBorrowed::new_nfc().normalize(folded).into_owned()
}

/// What is asked of a Korean word: its pairs of syllables. What stands before a particle or an ending may be a single
/// one, with which other words begin.
fn hangul_question(syllables: &str, give: &mut dyn FnMut(String)) {
    let letters: Vec<char> = syllables.chars().collect();
    grams(syllables, 2, give);
    let [first, rest @ ..] = letters.as_slice() else { return };
    let is_noun_and_particle = matches!(rest, [last] if PARTICLES.contains(last));
    if is_noun_and_particle || !rest.is_empty() && rest.len() <= 2 && ends_in_consonant(*first) {
        give(beginning_with(*first));
    }
}

/// The term of words that begin with a syllable.
fn beginning_with(syllable: char) -> String {
    format!("{syllable}~")
}

/// Particles that follow a noun without a space.
const PARTICLES: [char; 14] =
    ['은', '는', '이', '가', '을', '를', '에', '의', '도', '로', '와', '과', '만', '랑'];

/// Whether a Hangul syllable has a consonant at its end: 먹 of 먹다 and 먹었다.
fn ends_in_consonant(syllable: char) -> bool {
    matches!(u32::from(syllable), code @ 0xAC00..=0xD7A3 if !(code - 0xAC00).is_multiple_of(28))
}

/// Overlapping runs of so many letters; a shorter text is one.
fn grams(text: &str, size: usize, give: &mut dyn FnMut(String)) {
    let letters: Vec<char> = text.chars().collect();
    match letters.len() <= size {
        true => give(text.to_owned()),
        false => letters.windows(size).for_each(|gram| give(gram.iter().collect())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_lose_marks_and_endings() {
        let table = [
            ("The dogs' names", "dog name"),
            ("Anna's café — naïve", "anna cafe naiv"),
            ("I went to Paris; she didn't", "pari"),
            ("bought buying BUY", "buy buy buy"),
            ("don't l’eau 42 RT-AX88U", "eau 42 rt ax88u"),
            ("…", ""),
        ];
        for (text, expected) in table {
            assert_eq!(terms(text).join(" "), expected, "{text}");
        }
    }

    #[test]
    fn scripts_without_spaces_are_runs_of_letters() {
        let table = [
            ("我的狗叫小白", "我的 的狗 狗叫 叫小 小白 我 的 狗 叫 小 白"),
            ("東京タワー", "東京 京た たわ わー 東 京 た わ ー"),
            ("ゴミ", "こみ こ み"),
            ("狗", "狗"),
            ("แมวที่", "แมว มวท วที"),
        ];
        for (text, expected) in table {
            assert_eq!(terms(text).join(" "), expected, "{text}");
        }
        assert_eq!(terms("강아지").join(" "), "강아 아지 강 아 지 강~");
    }

    #[test]
    fn korean_words_are_found_with_particles_and_endings() {
        let asked = |text: &str| {
            words(text).iter().flat_map(|word| terms_of(word, Language::English)).collect::<Vec<_>>()
        };
        let is_found = |question: &str, text: &str| {
            let terms = terms(text);
            asked(question).iter().any(|term| terms.contains(term))
        };
        for (question, text) in [
            ("강아지", "강아지는 귀엽다"),
            ("개", "우리 개는 크다"),
            ("개가", "개는 크다"),
            ("집에", "집을 샀다"),
            ("먹다", "점심을 먹었다"),
            ("고양이 이름", "고양이 이름은 나비입니다"),
        ] {
            assert!(is_found(question, text), "{question}: {:?} {:?}", asked(question), terms(text));
        }
        for (question, text) in [("적었지", "한국어"), ("고양이", "고기를 샀다"), ("적었지", "목적은 이것")]
        {
            assert!(!is_found(question, text), "{question}: {:?} {:?}", asked(question), terms(text));
        }
    }

    #[test]
    fn other_languages_have_their_own_endings() {
        let pairs = [
            ("Die Katzen sind auf der Couch und schlafen", "Wo schläft die Katze?"),
            ("Мы купили новую машину вчера", "когда мы купили машины"),
            ("Hemos comprado unas casas en la playa", "¿Cuándo compramos la casa de la playa?"),
            ("اشترينا السيارة الجديدة أمس", "متى اشترينا سيارة"),
        ];
        for (text, question) in pairs {
            let shared = terms(question).iter().filter(|term| terms(text).contains(term)).count();
            assert!(shared >= 1, "{:?} {:?}", terms(text), terms(question));
        }
    }
}
