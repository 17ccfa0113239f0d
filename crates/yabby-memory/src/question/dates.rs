//! Dates that a question names, and how well a day fits them.

use jiff::civil::{Date, date};
use jiff::{Span, ToSpan as _};

use crate::analysis::{Language, Word};

/// A time that a question names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// `May`, `May 2023`, `8 May`, `2023`: what is not said may be any.
    Named { year: Option<i16>, month: Option<i8>, day: Option<i8> },
    /// From one day to another, both included.
    Between(Date, Date),
}

impl Time {
    /// How well a day fits, up to 1. What happened is told afterwards, and planned before.
    pub fn fit(self, day: Date) -> f32 {
        let Some((first, last)) = self.span_near(day) else { return 0.0 };
        if (first..=last).contains(&day) {
            return 1.0;
        }
        if matches!(self, Self::Named { month: None, .. }) {
            return 0.0;
        }
        let days = |from: Date, to: Date| from.until(to).map_or(i32::MAX, |span| span.get_days());
        if day > last {
            match days(last, day) {
                ..=7 => 0.7,
                8..=16 => 0.4,
                17..=31 => 0.2,
                _ => 0.0,
            }
        } else {
            match days(day, first) {
                ..=7 => 0.3,
                8..=31 => 0.1,
                _ => 0.0,
            }
        }
    }

    /// The days that are meant; where no year is said, those of the year that the day is in, or before.
    fn span_near(self, day: Date) -> Option<(Date, Date)> {
        let Self::Named { year, month, day: of_month } = self else {
            let Self::Between(first, last) = self else { return None };
            return Some((first, last));
        };
        let year = year.unwrap_or_else(|| match month {
            Some(month) if day.month() < month => day.year().saturating_sub(1),
            _ => day.year(),
        });
        match (month, of_month) {
            (None, _) => Some((Date::new(year, 1, 1).ok()?, Date::new(year, 12, 31).ok()?)),
            (Some(month), None) => {
                let first = Date::new(year, month, 1).ok()?;
                Some((first, first.last_of_month()))
            }
            (Some(month), Some(of_month)) => {
                let only = Date::new(year, month, of_month).ok()?;
                Some((only, only))
            }
        }
    }

    /// The days around which something may have been said about it.
    pub fn around(self) -> Option<(Date, Date)> {
        let (first, last) = match self {
            Self::Between(first, last) => (first, last),
            Self::Named { year: Some(year), .. } => self.span_near(date(year, 12, 31))?,
            Self::Named { year: None, .. } => return None,
        };
        Some((first.saturating_sub(31.days()), last.saturating_add(31.days())))
    }
}

/// The dates among the words of a question, and which words they are made of.
pub(super) fn named(words: &[Word], language: Language, today: Date) -> (Vec<Time>, Vec<usize>) {
    let mut times = Vec::new();
    let mut used = Vec::new();
    let number = |at: usize| words.get(at).and_then(|word| ordinal(&word.folded));
    let text = |at: usize| words.get(at).map_or("", |word| word.folded.as_str());
    for at in 0..words.len() {
        if used.contains(&at) {
            continue;
        }
        // 2023-05-08
        if let (Some(year @ 1900..=2199), Some(month @ 1..=12), Some(day @ 1..=31)) =
            (number(at), number(at + 1), number(at + 2))
            && text(at).len() == 4
        {
            times.push(Time::Named { year: Some(year), month: small(month), day: small(day) });
            used.extend([at, at + 1, at + 2]);
        } else if let Some(month) = month(words, at) {
            used.push(at);
            let is_year = |number: &i16| (1900..=2199).contains(number);
            let (mut day, mut year) = (None, None);
            let mut next = at + 1;
            if text(next) == "of" {
                next += 1;
            }
            if let Some(found) = number(next).filter(|number| (1..=31).contains(number)) {
                day = small(found);
                used.push(next);
                next += 1;
            }
            if let Some(found) = number(next).filter(is_year) {
                year = Some(found);
                used.push(next);
            }
            let before = [1, 2].into_iter().find(|back| {
                at >= *back
                    && (*back == 1 || matches!(text(at - 1), "of" | "de" | "di"))
                    && number(at - back).is_some()
            });
            if let Some(back) = before.filter(|_| day.is_none())
                && let Some(found) = number(at - back).filter(|number| (1..=31).contains(number))
            {
                day = small(found);
                used.push(at - back);
            }
            times.push(Time::Named { year, month: Some(month), day });
        } else if let Some((time, length)) = relative(words, at, language, today) {
            times.push(time);
            used.extend(at..at + length);
        }
    }
    if times.is_empty() {
        for at in 0..words.len() {
            if let Some(year @ 1900..=2199) = number(at).filter(|_| text(at).len() == 4) {
                times.push(Time::Named { year: Some(year), month: None, day: None });
                used.push(at);
            }
        }
    }
    (times, used)
}

/// Whether a word is the name of a month or of a day of the week.
pub fn names_day_or_month(folded: &str) -> bool {
    const DAYS: [&str; 21] = [
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
        "montag",
        "dienstag",
        "mittwoch",
        "donnerstag",
        "freitag",
        "samstag",
        "sonntag",
        "lundi",
        "mardi",
        "mercredi",
        "jeudi",
        "vendredi",
        "samedi",
        "dimanche",
    ];
    DAYS.contains(&folded) || MONTHS.iter().any(|names| names.contains(&folded))
}

fn small(number: i16) -> Option<i8> {
    i8::try_from(number).ok()
}

/// `9`, `9th`, `2023`.
fn ordinal(word: &str) -> Option<i16> {
    let digits = ["st", "nd", "rd", "th"].iter().find_map(|ending| word.strip_suffix(ending)).unwrap_or(word);
    digits.parse().ok()
}

/// A month by its name; short names and words that are also something else need a number or a preposition
/// beside them.
fn month(words: &[Word], at: usize) -> Option<i8> {
    let word = words[at].folded.as_str();
    let found =
        MONTHS.iter().position(|names| names.contains(&word)).and_then(|at| i8::try_from(at + 1).ok());
    let is_doubtful = word.len() <= 4 && word.is_ascii() || matches!(word, "march" | "august" | "marche");
    let neighbour = |at: Option<usize>| at.and_then(|at| words.get(at)).map(|word| word.folded.as_str());
    let has_number = |word: Option<&str>| word.and_then(ordinal).is_some();
    let (before, after) = (neighbour(at.checked_sub(1)), neighbour(Some(at + 1)));
    let is_placed = before.is_some_and(|word| BEFORE_MONTHS.contains(&word));
    found
        .filter(|_| {
            !is_doubtful || words[at].is_capital || is_placed || has_number(before) || has_number(after)
        })
        .filter(|_| word != "may" || is_placed || has_number(before) || has_number(after))
}

const BEFORE_MONTHS: [&str; 20] = [
    "in", "of", "during", "on", "since", "by", "until", "early", "late", "mid", "last", "this", "next", "im",
    "en", "de", "in", "em", "before", "after",
];

/// The twelve months in the languages whose endings are known, folded.
const MONTHS: [&[&str]; 12] = [
    &[
        "january",
        "jan",
        "januar",
        "janvier",
        "enero",
        "gennaio",
        "janeiro",
        "januari",
        "января",
        "январе",
        "январь",
    ],
    &[
        "february",
        "feb",
        "februar",
        "fevrier",
        "febrero",
        "febbraio",
        "fevereiro",
        "februari",
        "февраля",
        "феврале",
        "февраль",
    ],
    &["march", "mar", "marz", "mars", "marzo", "marco", "maart", "марта", "марте", "март"],
    &["april", "apr", "avril", "abril", "aprile", "апреля", "апреле", "апрель"],
    &["may", "mai", "mayo", "maggio", "maio", "mei", "мая", "мае", "маи"],
    &["june", "jun", "juni", "juin", "junio", "giugno", "junho", "июня", "июне", "июнь"],
    &["july", "jul", "juli", "juillet", "julio", "luglio", "julho", "июля", "июле", "июль"],
    &["august", "aug", "aout", "agosto", "augustus", "августа", "августе", "август"],
    &[
        "september",
        "sep",
        "sept",
        "septembre",
        "septiembre",
        "settembre",
        "setembro",
        "сентября",
        "сентябре",
        "сентябрь",
    ],
    &[
        "october",
        "oct",
        "oktober",
        "octobre",
        "octubre",
        "ottobre",
        "outubro",
        "октября",
        "октябре",
        "октябрь",
    ],
    &["november", "nov", "novembre", "noviembre", "novembro", "ноября", "ноябре", "ноябрь"],
    &[
        "december",
        "dec",
        "dezember",
        "decembre",
        "diciembre",
        "dicembre",
        "dezembro",
        "декабря",
        "декабре",
        "декабрь",
    ],
];

/// `yesterday`, `last week`, `three days ago`: the days that are meant, and of how many words it is made.
fn relative(words: &[Word], at: usize, language: Language, today: Date) -> Option<(Time, usize)> {
    let text = |at: usize| words.get(at).map_or("", |word| word.folded.as_str());
    let back = |span: Span| today.saturating_sub(span);
    let day = |day: Date| Time::Between(day, day);
    let last_week = Time::Between(back(13.days()), today);
    let last_month = Time::Between(back(2.months()), today);
    // In German and Dutch it is a place.
    let is_place = |word: &str| word == "hier" && matches!(language, Language::German | Language::Dutch);
    Some(match (text(at), text(at + 1)) {
        ("day", "before") if YESTERDAY.contains(&text(at + 2)) => (day(back(2.days())), 3),
        ("avant", "hier") => (day(back(2.days())), 2),
        (word, _) if DAY_BEFORE.contains(&word) => (day(back(2.days())), 1),
        (word, _) if TODAY.contains(&word) => (day(today), 1),
        (word, _) if YESTERDAY.contains(&word) && !is_place(word) => (day(back(1.day())), 1),
        ("last" | "past", "week")
        | ("letzte" | "letzten" | "letzter" | "vorige" | "voriger" | "vergangene", "woche")
        | ("vorige" | "afgelopen", "week")
        | ("semaine", "derniere" | "passee")
        | ("semana", "pasada" | "passada")
        | ("settimana", "scorsa") => (last_week, 2),
        ("прошлои", "неделе") => (last_week, 2),
        ("last" | "past", "month")
        | ("letzten" | "letzter" | "letztem" | "vorigen", "monat")
        | ("vorige" | "afgelopen", "maand")
        | ("mois", "dernier" | "passe")
        | ("mes", "pasado" | "passado")
        | ("mese", "scorso") => (last_month, 2),
        ("last" | "past", "year") => {
            let year = today.year().saturating_sub(1);
            (Time::Named { year: Some(year), month: None, day: None }, 2)
        }
        ("this", "week") => (Time::Between(back(7.days()), today), 2),
        ("this", "month") => (Time::Between(today.first_of_month(), today), 2),
        ("this", "year") => (Time::Named { year: Some(today.year()), month: None, day: None }, 2),
        (count, unit) if text(at + 2) == "ago" => {
            let count = ordinal(count).or_else(|| {
                NUMBERS.iter().position(|name| *name == count).and_then(|at| i16::try_from(at).ok())
            })?;
            let count = i64::from(count);
            let (middle, slack) = match unit {
                "day" | "days" => (back(count.days()), 1),
                "week" | "weeks" => (back(count.min(500).weeks()), 4),
                "month" | "months" => (back(count.min(200).months()), 20),
                "year" | "years" => (back(count.min(100).years()), 190),
                _ => return None,
            };
            let slack = slack.days();
            (Time::Between(middle.saturating_sub(slack), middle.saturating_add(slack)), 3)
        }
        _ => return None,
    })
}

/// The days, folded; those of scripts without spaces come in English.
const TODAY: [&str; 12] = [
    "today",
    "tonight",
    "heute",
    "aujourd",
    "hoy",
    "oggi",
    "hoje",
    "vandaag",
    "сегодня",
    "اليوم",
    "σημερα",
    "idag",
];
const YESTERDAY: [&str; 11] =
    ["yesterday", "gestern", "hier", "ayer", "ieri", "ontem", "gisteren", "вчера", "امس", "χθεσ", "χτεσ"];
const DAY_BEFORE: [&str; 7] =
    ["ereyesterday", "vorgestern", "anteayer", "anteontem", "eergisteren", "позавчера", "προχθεσ"];

const NUMBERS: [&str; 13] = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::words;

    fn found(text: &str) -> Vec<Time> {
        named(&words(text), Language::English, date(2026, 2, 3)).0
    }

    #[test]
    fn dates_are_read_as_people_write_them() {
        let on = |year, month, day| Time::Named { year, month, day };
        let table = [
            ("on 9 November, 2022", on(Some(2022), Some(11), Some(9))),
            ("on March 16th 2022", on(Some(2022), Some(3), Some(16))),
            ("in May", on(None, Some(5), None)),
            ("the 8th of May", on(None, Some(5), Some(8))),
            ("am 3. März 2024", on(Some(2024), Some(3), Some(3))),
            ("since 2021", on(Some(2021), None, None)),
            ("2023-05-08", on(Some(2023), Some(5), Some(8))),
            ("yesterday", Time::Between(date(2026, 2, 2), date(2026, 2, 2))),
            ("two days ago", Time::Between(date(2026, 1, 31), date(2026, 2, 2))),
        ];
        for (text, expected) in table {
            assert_eq!(found(text), [expected], "{text}");
        }
        for text in ["may I go", "we march on", "99999 days ago", "room 404", "0 month"] {
            assert_eq!(found(text), [], "{text}");
        }
    }

    #[test]
    fn a_day_fits_if_it_is_meant_or_soon_after() {
        let may = Time::Named { year: Some(2023), month: Some(5), day: None };
        let table = [
            (date(2023, 5, 1), 1.0),
            (date(2023, 6, 5), 0.7),
            (date(2023, 6, 30), 0.2),
            (date(2023, 4, 28), 0.3),
            (date(2023, 9, 1), 0.0),
            (date(2022, 5, 1), 0.0),
        ];
        for (day, expected) in table {
            assert!((may.fit(day) - expected).abs() < 1e-6, "{day}");
        }
        let any = Time::Named { year: None, month: Some(5), day: None };
        assert!((any.fit(date(2019, 5, 3)) - 1.0).abs() < 1e-6);
    }
}
