//! The order of what is found (issue: measured on LoCoMo).
//!
//! Words first: BM25 with weak length normalisation, since turns are short. A turn borrows from its
//! neighbours, who share its subject; from its conversation; and words of the best turns are looked for,
//! too. What the question says about who and when decides the rest.

use std::collections::HashMap;

use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::Place;
use super::document::{Document, Marks};
use super::reader::Reader;
use super::writer::terms_of;
use crate::question::{Concept, Question};

const K1: f32 = 0.6;
const B: f32 = 0.3;
/// What a turn has of those before and behind it, by distance.
const FROM_BEFORE: [f32; 3] = [0.3, 0.2, 0.1];
const FROM_BEHIND: [f32; 2] = [0.25, 0.12];
/// How much of the mean of a conversation's best turns each of its turns has.
const SESSION: f32 = 0.25;
const SESSION_BEST: usize = 3;
/// How many turns lend words, how many, and how much those count at most.
const LENDERS: usize = 5;
const LENT_TERMS: usize = 16;
const LENT: f32 = 0.2;
const SPEAKER: f32 = 1.8;
const SAME_SIDE: f32 = 1.2;
/// What somebody wrote down counts more than what was only said.
const NOTED: f32 = 2.0;
const TIME_WORDS: f32 = 1.2;
const QUESTION: f32 = 0.85;
/// The same question, asked before, is no answer: one that has so much of what is asked for.
const ASKED_BEFORE: f32 = 0.4;
const NEARLY_ALL: f32 = 0.7;
/// What the built-in helper says is made of what others said.
const ECHO: f32 = 0.25;
/// How much a word that is part of another one counts, and how long a part is at least: one that is asked for by itself
/// may be shorter.
const COMPOUND: f32 = 0.6;
const SHORTEST_PART: usize = 5;
const SHORTEST_ASKED: usize = 4;
const SHORTEST_REST: usize = 3;
const MOST_COMPOUNDS: usize = 64;
/// How much a date that fits counts: of what a turn has, and of what the best has.
const DATE: f32 = 0.8;
const DATE_ALONE: f32 = 0.3;
const LATEST: f32 = 0.5;
/// How much the name of a speaker counts as a word.
const NAME: f32 = 0.1;
/// How much likeness of meaning counts beside words.
const MEANING: f32 = 0.6;

/// Where something has a word that is asked for, notes without one, and everything where nothing but words is asked for,
/// are to be nearly as much alike as what is most alike, and count less.
const NEARLY_AS_ALIKE: f32 = 0.7;
const ALIKE_ALONE: f32 = 0.5;

/// So many of the best by words are looked at closely.
const CLOSE_LOOK: usize = 3000;
/// So many places at most are ranked in the end.
const MOST_RANKED: usize = 600;
/// Conversations whose other turns may be found, too, and how many of them.
const WHOLE_SESSIONS: usize = 4;
const WHOLE_LENGTH: u32 = 120;
/// Turns by their date alone.
const MOST_BY_DATE: u32 = 1000;

/// Why something was found where it was, in parts of its score.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Why {
    /// Words of the question in it, those around it, and its conversation.
    pub words: f32,
    pub around: f32,
    /// Words that the best hits lent to the question.
    pub lent: f32,
    pub session: f32,
    /// Likeness of meaning.
    pub meaning: f32,
    /// How well its day fits.
    pub date: f32,
    pub is_speaker: bool,
    pub has_time_words: bool,
    pub is_question: bool,
}

/// A document and how good it is.
#[derive(Clone, Debug)]
pub(super) struct Ranked {
    pub(super) id: u32,
    pub(super) document: Document,
    pub(super) score: f32,
    pub(super) why: Why,
}

/// Likeness of meaning by document, from nothing to 1; empty without an embedder.
pub(super) type Meaning = HashMap<u32, f32>;

#[derive(Clone, Copy, Debug, Default)]
struct Candidate {
    id: Option<u32>,
    words: f32,
    around: f32,
}

/// The best documents, the best first, and how good a perfect one would be. Beside the likeness stands how much of it a
/// document needs that has nothing else.
pub(super) fn rank(
    reader: &mut Reader<'_>,
    question: &Question,
    (meaning, least_alike): (&Meaning, f32),
    zone: &TimeZone,
    most: usize,
) -> rusqlite::Result<(Vec<Ranked>, f32)> {
    let speakers = reader.speakers(&question.names)?;
    let is_name = |concept: &Concept| speakers.iter().any(|(_, name)| *name == concept.word);
    let has_others = question.concepts.iter().any(|concept| !is_name(concept));
    let mut scores = Scores::new(reader.next);
    let mut ideal = 0.0;
    for concept in &question.concepts {
        let weight = if has_others && is_name(concept) { NAME } else { 1.0 };
        let terms = with_compounds(reader, question, concept)?;
        ideal += scores.add(reader, &terms, weight)?;
    }
    let mut places = around(reader, &scores)?;
    // What the question itself finds: everything else is only worth something beside it.
    let asked = places.clone();
    add_by_meaning(reader, meaning, &mut places)?;
    let scale = meaning_scale(meaning, best_of(&places));
    let lent = lent_terms(reader, question, &places, &|candidate| {
        candidate.sum() + candidate.meant(meaning) * scale
    })?;
    if !lent.is_empty() {
        for term in lent {
            scores.add(reader, &[term], 1.0)?;
        }
        places = around(reader, &scores)?;
        add_by_meaning(reader, meaning, &mut places)?;
    }
    let best = best_of(&places);
    let scale = meaning_scale(meaning, best);
    // Where nothing but the time is asked for, the time is all there is to go by.
    let worth_of_date = if best > 0.0 { DATE_ALONE * best } else { 1.0 };
    let sessions = sessions(&places, &|candidate| candidate.sum() + candidate.meant(meaning) * scale);
    add_whole_sessions(reader, &sessions, &mut places);
    add_by_date(reader, question, zone, &mut places)?;

    let mut likely: Vec<(f32, Place, Candidate)> = places
        .into_iter()
        .map(|(place, candidate)| {
            let session = sessions.get(&place.source).copied().unwrap_or(0.0);
            (candidate.sum() + session + candidate.meant(meaning) * scale, place, candidate)
        })
        .collect();
    keep_best(&mut likely, MOST_RANKED.max(most * 2), |(score, place, _)| (*score, *place));
    let newest = newest(reader, &likely)?;
    let has_words = asked.values().any(|candidate| candidate.words > 0.0);
    let most_alike = meaning.values().copied().fold(0.0, f32::max);
    let mut ranked = Vec::with_capacity(likely.len());
    for (_, place, candidate) in likely {
        let id = match candidate.id {
            Some(id) => id,
            None => match reader.id_at(place)? {
                Some(id) => id,
                None => continue,
            },
        };
        let Some(document) = reader.document(id)? else { continue };
        let day = day_of(&document, zone);
        let date = day.map_or(0.0, |day| question.times.iter().map(|time| time.fit(day)).fold(0.0, f32::max));
        let own = asked.get(&place).copied().unwrap_or_default();
        let is_note = !document.marks.has(Marks::USER) && !document.marks.has(Marks::AGENT);
        let is_only_alike = has_words && own.words == 0.0 && (question.is_keywords || is_note);
        let least_alike = least_alike.max(if is_only_alike { NEARLY_AS_ALIKE * most_alike } else { 0.0 });
        let is_found = own.words > 0.0
            || own.around > 0.0 && !question.is_keywords
            || meaning.get(&id).is_some_and(|alike| *alike >= least_alike)
            || date > 0.0;
        if !is_found {
            continue;
        }
        let why = Why {
            words: own.words,
            around: candidate.around,
            lent: candidate.words - own.words,
            session: sessions.get(&place.source).copied().unwrap_or(0.0),
            meaning: candidate.meant(meaning) * scale,
            date,
            is_speaker: is_speaker(&document, &speakers),
            has_time_words: question.asks_when && document.marks.has(Marks::TIME),
            is_question: document.marks.has(Marks::QUESTION),
        };
        let mut score = (why.words + why.lent + why.around + why.session + why.meaning) * (1.0 + DATE * date)
            + worth_of_date * date;
        if why.is_speaker {
            score *= SPEAKER;
        }
        if is_same_side(question, &document) {
            score *= SAME_SIDE;
        }
        if is_note {
            score *= NOTED;
        }
        if is_only_alike {
            score *= ALIKE_ALONE;
        }
        if why.has_time_words {
            score *= TIME_WORDS;
        }
        if why.is_question {
            let has_nearly_all = ideal > 0.0 && own.words >= NEARLY_ALL * ideal;
            let asked_before = has_nearly_all && reader.unit(id)?.is_some_and(|unit| only_asks(&unit.text));
            score *= if asked_before { ASKED_BEFORE } else { QUESTION };
        }
        if document.marks.has(Marks::ECHO) {
            score *= ECHO;
        }
        if question.asks_latest && newest > 0 {
            score *= 1.0 + LATEST * newness(document.minute, newest);
        }
        if score > 0.0 {
            ranked.push(Ranked { id, document, score, why });
        }
    }
    if question.concepts.is_empty() && ranked.iter().any(|found| found.why.date >= 1.0) {
        ranked.retain(|found| found.why.date >= 1.0);
    }
    // Of equals the later one.
    ranked.sort_by(|one, other| {
        other
            .score
            .total_cmp(&one.score)
            .then(other.document.minute.cmp(&one.document.minute))
            .then(one.id.cmp(&other.id))
    });
    ranked.truncate(most);
    Ok((ranked, ideal))
}

impl Ranked {
    pub(super) fn place(&self) -> Place {
        Place { source: self.document.source, position: self.document.position }
    }
}

impl Candidate {
    fn sum(&self) -> f32 {
        self.words + self.around
    }

    fn meant(&self, meaning: &Meaning) -> f32 {
        self.id.and_then(|id| meaning.get(&id)).copied().unwrap_or(0.0)
    }
}

fn best_of(places: &HashMap<Place, Candidate>) -> f32 {
    places.values().map(Candidate::sum).fold(0.0, f32::max)
}

/// The terms of a concept, with words that it is a part of, and with its own parts. A sentence in a language that has
/// no such words is only helped where nothing has the word itself.
fn with_compounds(
    reader: &mut Reader<'_>,
    question: &Question,
    concept: &Concept,
) -> rusqlite::Result<Vec<(String, f32)>> {
    let mut terms = concept.terms.clone();
    let stem = concept.terms[0].0.clone();
    let length = stem.chars().count();
    let may_be_part = question.is_keywords || question.has_compounds;
    let shortest = if may_be_part { SHORTEST_ASKED } else { SHORTEST_PART };
    if length < shortest || !stem.chars().all(char::is_alphabetic) || concept.is_unspaced {
        return Ok(terms);
    }
    let having = reader.frequency(&stem)?;
    if having > 0.0 && !may_be_part {
        return Ok(terms);
    }
    let mut parts: Vec<String> = reader.longer_terms(&stem, MOST_COMPOUNDS)?;
    parts.retain(|term| term.chars().count() >= length + SHORTEST_REST);
    // `Schloss` of `Fahrradschloss`: every term is looked at, and only where nothing has the word itself.
    if having == 0.0 && parts.is_empty() && may_be_part {
        parts = reader.terms_ending(&stem, SHORTEST_REST, MOST_COMPOUNDS)?;
    }
    let cuts = stem.char_indices().map(|(at, _)| at).skip(SHORTEST_PART);
    let (heads, tails): (Vec<&str>, Vec<&str>) = cuts.map(|at| stem.split_at(at)).unzip();
    let is_long = |part: &&&str| part.chars().count() >= SHORTEST_PART;
    let own = heads.iter().chain(&tails).filter(is_long);
    parts.extend(own.map(|part| (*part).to_owned()));
    for part in parts {
        let frequency = reader.frequency(&part)?;
        if frequency == 0.0 || terms.iter().any(|(known, _)| *known == part) {
            continue;
        }
        // It never counts more than the word itself, however rare it is.
        let rarer = rarity(reader.documents, having) / rarity(reader.documents, frequency);
        terms.push((part, COMPOUND * if having > 0.0 { rarer.min(1.0) } else { 1.0 }));
    }
    Ok(terms)
}

/// What every document has by its words.
struct Scores {
    all: Vec<f32>,
    touched: Vec<u32>,
    /// For one concept.
    best: Vec<f32>,
}

impl Scores {
    fn new(documents: u32) -> Self {
        let length = documents as usize;
        Self { all: vec![0.0; length], touched: Vec::new(), best: vec![0.0; length] }
    }

    /// Adds what one thing brings: of its terms the one that counts most in a document. Comes back with what
    /// it brings to one of common length.
    fn add(
        &mut self,
        reader: &mut Reader<'_>,
        terms: &[(String, f32)],
        weight: f32,
    ) -> rusqlite::Result<f32> {
        let mut hits = Vec::new();
        let mut most = 0.0_f32;
        for (term, share) in terms {
            let postings = reader.postings(term)?;
            let rarity = rarity(reader.documents, postings.len() as f32) * share * weight;
            if !postings.is_empty() {
                most = most.max(rarity);
            }
            for posting in postings {
                let Some(document) = reader.document(posting.document)? else { continue };
                if !reader.may_see(&document) {
                    continue;
                }
                let count = f32::from(posting.count);
                let norm = 1.0 - B + B * f32::from(document.length) / reader.mean_length;
                let echo = if document.marks.has(Marks::ECHO) { ECHO } else { 1.0 };
                let value = echo * rarity * count * (K1 + 1.0) / (count + K1 * norm);
                let best = &mut self.best[posting.document as usize];
                if *best == 0.0 {
                    hits.push(posting.document);
                }
                *best = best.max(value);
            }
        }
        for id in hits {
            let at = id as usize;
            if self.all[at] == 0.0 {
                self.touched.push(id);
            }
            self.all[at] += std::mem::take(&mut self.best[at]);
        }
        Ok(most)
    }
}

fn rarity(documents: f32, having: f32) -> f32 {
    (1.0 + (documents - having + 0.5).max(0.0) / (having + 0.5)).ln()
}

/// The best documents with their neighbours.
fn around(reader: &mut Reader<'_>, scores: &Scores) -> rusqlite::Result<HashMap<Place, Candidate>> {
    let mut best: Vec<(f32, u32)> = scores.touched.iter().map(|id| (scores.all[*id as usize], *id)).collect();
    keep_best(&mut best, CLOSE_LOOK, |(score, id)| (*score, *id));
    let mut places: HashMap<Place, Candidate> = HashMap::with_capacity(best.len() * 4);
    for (score, id) in best {
        let Some(document) = reader.document(id)? else { continue };
        let Some(source) = reader.visible(document.source) else { continue };
        let own = places.entry(Place { source: document.source, position: document.position }).or_default();
        (own.id, own.words) = (Some(id), score);
        // What was quoted beside something else has nothing to do with it.
        if source.is_note || document.marks.has(Marks::ECHO) {
            continue;
        }
        let behind = FROM_BEFORE
            .iter()
            .zip(1..)
            .map(|(share, distance)| (document.position.checked_add(distance), share));
        let before = FROM_BEHIND
            .iter()
            .zip(1..)
            .map(|(share, distance)| (document.position.checked_sub(distance), share));
        for (position, share) in behind.chain(before) {
            if let Some(position) = position.filter(|position| *position < source.end) {
                places.entry(Place { source: document.source, position }).or_default().around +=
                    score * share;
            }
        }
    }
    Ok(places)
}

/// Words of the best that the question does not have, and how much they count.
fn lent_terms(
    reader: &mut Reader<'_>,
    question: &Question,
    places: &HashMap<Place, Candidate>,
    worth: &dyn Fn(&Candidate) -> f32,
) -> rusqlite::Result<Vec<(String, f32)>> {
    let mut best: Vec<(f32, Place)> =
        places.iter().map(|(place, candidate)| (worth(candidate), *place)).collect();
    best.retain(|(worth, _)| *worth > 0.0);
    keep_best(&mut best, LENDERS, |(score, place)| (*score, *place));
    let is_asked = |term: &str| question.concepts.iter().any(|concept| concept.terms[0].0 == term);
    let is_name = |term: &str| question.names.iter().any(|name| name.starts_with(term));
    let mut values: HashMap<String, f32> = HashMap::new();
    for (score, place) in best {
        let Some(unit) = reader.id_at(place)?.map(|id| reader.unit(id)).transpose()?.flatten() else {
            continue;
        };
        let mut terms = terms_of(&unit);
        terms.sort_unstable();
        terms.dedup();
        for term in terms {
            if !is_asked(&term) && !is_name(&term) {
                *values.entry(term).or_default() += score;
            }
        }
    }
    let mut terms = Vec::with_capacity(values.len());
    for (term, value) in values {
        let frequency = reader.frequency(&term)?;
        // What only the lender says finds nobody else.
        if frequency > 1.0 {
            terms.push((value * rarity(reader.documents, frequency), term));
        }
    }
    terms.sort_by(|one, other| other.0.total_cmp(&one.0).then_with(|| one.1.cmp(&other.1)));
    let most = terms.first().map_or(1.0, |(value, _)| *value);
    Ok(terms.into_iter().take(LENT_TERMS).map(|(value, term)| (term, LENT * value / most)).collect())
}

/// What each conversation gives to all of its turns.
fn sessions(places: &HashMap<Place, Candidate>, worth: &dyn Fn(&Candidate) -> f32) -> HashMap<u32, f32> {
    let mut by_source: HashMap<u32, Vec<f32>> = HashMap::new();
    for (place, candidate) in places {
        by_source.entry(place.source).or_default().push(worth(candidate));
    }
    let mean_of_best = |mut scores: Vec<f32>| {
        scores.sort_by(|one, other| other.total_cmp(one));
        let count = scores.len().min(SESSION_BEST);
        SESSION * scores[..count].iter().sum::<f32>() / count as f32
    };
    by_source.into_iter().map(|(source, scores)| (source, mean_of_best(scores))).collect()
}

fn add_whole_sessions(
    reader: &Reader<'_>,
    sessions: &HashMap<u32, f32>,
    places: &mut HashMap<Place, Candidate>,
) {
    let mut best: Vec<(f32, u32)> = sessions.iter().map(|(source, score)| (*score, *source)).collect();
    keep_best(&mut best, WHOLE_SESSIONS, |(score, source)| (*score, *source));
    for (_, source) in best {
        let Some(visible) =
            reader.visible(source).filter(|visible| !visible.is_note && visible.units <= WHOLE_LENGTH)
        else {
            continue;
        };
        for position in 0..visible.end {
            places.entry(Place { source, position }).or_default();
        }
    }
}

fn add_by_date(
    reader: &Reader<'_>,
    question: &Question,
    zone: &TimeZone,
    places: &mut HashMap<Place, Candidate>,
) -> rusqlite::Result<()> {
    for (first, last) in question.times.iter().filter_map(|time| time.around()) {
        let millisecond =
            |day: Date| day.to_zoned(zone.clone()).map_or(0, |start| start.timestamp().as_millisecond());
        let last = last.saturating_add(jiff::Span::new().days(1));
        for place in reader.said_between(millisecond(first), millisecond(last), MOST_BY_DATE)? {
            if reader.visible(place.source).is_some_and(|source| place.position < source.end) {
                places.entry(place).or_default();
            }
        }
    }
    Ok(())
}

/// Likeness counts as much as words, scaled by the best of both.
fn meaning_scale(meaning: &Meaning, best: f32) -> f32 {
    let most = meaning.values().copied().fold(0.0, f32::max);
    match (most > 0.0, best > 0.0) {
        (false, _) => 0.0,
        (true, true) => MEANING * best / most,
        (true, false) => 1.0,
    }
}

fn add_by_meaning(
    reader: &mut Reader<'_>,
    meaning: &Meaning,
    places: &mut HashMap<Place, Candidate>,
) -> rusqlite::Result<()> {
    for id in meaning.keys() {
        if let Some(document) = reader.document(*id)?.filter(|document| reader.may_see(document)) {
            places.entry(Place { source: document.source, position: document.position }).or_default().id =
                Some(*id);
        }
    }
    Ok(())
}

/// Keeps the best of many. What is equal is kept by its place, so that the same question finds the same.
fn keep_best<T, K: Ord>(all: &mut Vec<T>, most: usize, key: impl Fn(&T) -> (f32, K)) {
    if all.len() > most {
        let order = |one: &T, other: &T| {
            let ((one, first), (other, second)) = (key(one), key(other));
            other.total_cmp(&one).then_with(|| first.cmp(&second))
        };
        all.select_nth_unstable_by(most, order);
        all.truncate(most);
    }
}

/// Whether a text is one question and nothing else: what stands beside a question may well be an answer.
fn only_asks(text: &str) -> bool {
    let text = text.trim();
    let inner = text.trim_end_matches(['?', '？', '؟', '!', ' ']);
    inner.len() < text.len() && !inner.contains(['.', '!', '?', ';', '\n', '。', '！', '？', '؟'])
}

fn is_speaker(document: &Document, speakers: &[(u32, String)]) -> bool {
    speakers.iter().any(|(id, _)| *id == document.speaker)
}

/// Who asks about themselves means what they said; who asks about the agent, what it said.
fn is_same_side(question: &Question, document: &Document) -> bool {
    match (question.about_me, question.about_you) {
        (true, false) => document.marks.has(Marks::USER),
        (false, true) => document.marks.has(Marks::AGENT),
        _ => false,
    }
}

/// The day of a document. That of a note is the one it is named after, wherever that is asked.
fn day_of(document: &Document, zone: &TimeZone) -> Option<Date> {
    let second = i64::from(document.minute) * 60;
    let time = jiff::Timestamp::from_second(second).ok().filter(|_| document.minute > 0)?;
    let is_said = document.marks.has(Marks::USER) || document.marks.has(Marks::AGENT);
    let zone = if is_said { zone } else { &TimeZone::UTC };
    Some(zone.to_datetime(time).date())
}

fn newest(reader: &mut Reader<'_>, likely: &[(f32, Place, Candidate)]) -> rusqlite::Result<u32> {
    let mut newest = 0;
    for (_, _, candidate) in likely {
        if let Some(document) = candidate.id.map(|id| reader.document(id)).transpose()?.flatten() {
            newest = newest.max(document.minute);
        }
    }
    Ok(newest)
}

/// From 1 for the newest down to nothing, half of it after thirty days.
fn newness(minute: u32, newest: u32) -> f32 {
    let days = newest.saturating_sub(minute) as f32 / 1440.0;
    0.5_f32.powf(days / 30.0)
}
