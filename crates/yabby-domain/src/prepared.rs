//! The context of a conversation, prepared for a model and kept from one request to the next (`transcripts.md` §8).
//!
//! Most of a long conversation was prepared for the last request already. It is cut where an answer is followed by a
//! user message: the rules of [`crate::sanitize`] and [`crate::provider_rules`] look across such a place only to keep
//! call ids different, to pair tool results everywhere or nowhere, and to count images. Where one of these matters,
//! nothing is said here and the whole conversation is prepared anew, so that the request is the same either way.

use std::collections::HashSet;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::sync::Arc;

use jiff::Timestamp;

use crate::json::Value;
use crate::message::{Content, Message, Role};
use crate::provider_rules::{Recipient, all_images_fit, make_acceptable};
use crate::repair::is_call;
use crate::sanitize::policy::{ModelTarget, TranscriptPolicy};
use crate::sanitize::{CustomEntry, Sanitized, Standing, has_other_snapshot, join_turns, sanitize_part};
use crate::seam::settled::SettledMessages;
use crate::text;
use crate::transcript::context::message_of;
use crate::transcript::entry::{Entry, EntryId, EntryKind};
use crate::transcript::header::Version;
use crate::transcript::tree::Transcript;

/// What was prepared of a conversation.
#[derive(Debug, Default)]
pub struct PreparedContext {
    source: Option<Source>,
    /// The last entry that is settled.
    covers: Option<EntryId>,
    settled: Vec<SettledPart>,
    /// What later parts must not interfere with.
    traits: Traits,
    /// Something in this conversation cannot be prepared part by part.
    is_indivisible: bool,
}

#[derive(Debug)]
struct SettledPart {
    /// How often it was joined with others.
    level: u32,
    messages: Arc<SettledMessages>,
}

/// So many parts of one level become one of the next, so that there are never many.
const JOINED_PARTS: usize = 16;

/// What a context was prepared from, and for whom.
#[derive(Debug, PartialEq, Eq)]
struct Source {
    reading: u64,
    target: [Option<String>; 3],
}

impl Source {
    fn of(transcript: &Transcript, target: &ModelTarget<'_>) -> Self {
        let target = [target.api, target.provider, target.model].map(|field| field.map(str::to_owned));
        Self { reading: transcript.reading(), target }
    }
}

/// What the rules look at beyond one part of a conversation.
#[derive(Debug, Default)]
struct Traits {
    /// Hashes of the call ids before, between and after the rules.
    ids: HashSet<u64>,
    images: usize,
    image_data: usize,
    pairs_results: bool,
}

/// The messages of a request.
#[derive(Debug)]
pub struct PreparedMessages {
    pub settled: Vec<Arc<SettledMessages>>,
    pub messages: Vec<Message>,
    pub to_append: Vec<CustomEntry>,
}

impl PreparedContext {
    /// The messages of a request: the conversation, and `pending` behind it. `None` if they have to be prepared all
    /// together.
    pub fn prepare(
        &mut self,
        transcript: &Transcript,
        pending: &[Message],
        recipient: &Recipient<'_>,
        now: Timestamp,
    ) -> Option<PreparedMessages> {
        let target = &recipient.target;
        if transcript.header().version() < Version::Three || has_other_snapshot(transcript.entries(), target)
        {
            return None;
        }
        let source = Source::of(transcript, target);
        if self.source.as_ref() != Some(&source) {
            *self = Self { source: Some(source), ..Self::default() };
        }
        let since = self.covers.as_ref().and_then(|covers| transcript.branch_since(covers));
        let is_compacted = since
            .as_ref()
            .is_some_and(|since| since.iter().any(|entry| entry.kind() == EntryKind::Compaction));
        if self.is_indivisible && !is_compacted {
            return None;
        }
        let since = since.filter(|_| !is_compacted).map(|since| told_by(&since));
        // What follows the settled part was not known when it was settled.
        let is_cut_well = |told: &Vec<Told>| first_of(told, pending).is_some_and(is_question);
        let mut told = match since.filter(is_cut_well) {
            Some(since) => since,
            None => {
                *self = Self { source: self.source.take(), ..Self::default() };
                let summary = transcript.told_summary().map(|message| Told { entry: None, message });
                summary.into_iter().chain(told_by(&transcript.told_entries())).collect()
            }
        };
        let part = Part { recipient, entries: transcript.entries(), now };
        if let Some(end) = last_boundary(&told, pending) {
            let rest = told.split_off(end);
            if !self.settle(told, &part) {
                self.is_indivisible = true;
                return None;
            }
            told = rest;
        }
        self.follow(told, pending, &part)
    }

    /// About how many bytes of memory it takes.
    pub fn bytes(&self) -> usize {
        /// An entry of the set and the bookkeeping of a part.
        const ENTRY: usize = 64;
        let settled: usize = self.settled.iter().map(|part| part.messages.bytes() + ENTRY).sum();
        settled + self.traits.ids.len() * ENTRY
    }

    /// Adds a part that ends where the conversation can be cut; whether that is possible.
    fn settle(&mut self, told: Vec<Told>, part: &Part<'_>) -> bool {
        let begins_well = told
            .first()
            .is_some_and(|first| matches!(first.message.role(), Role::User | Role::CompactionSummary));
        let Some(last) = told.last().and_then(|last| last.entry.clone()).filter(|_| begins_well) else {
            return false;
        };
        let messages: Vec<Message> = told.into_iter().map(|told| told.message).collect();
        let mut traits = Traits::default();
        traits.count(&messages);
        let sanitized = part.sanitized(messages.clone(), self.traits.pairs_results);
        // Whether results are paired here must not depend on what is said later.
        if part.sanitized(messages, true).messages != sanitized.messages {
            return false;
        }
        traits.pairs_results = sanitized.pairs_results;
        traits.count(&sanitized.messages);
        traits.count_images(&sanitized.messages);
        let joined = part.joined(sanitized.messages);
        let ends_well = joined.last().is_some_and(is_final_answer);
        let mut accepted = part.accepted(joined, &[following_question()]);
        let is_apart = accepted.pop().is_some_and(|last| last == following_question());
        if !ends_well
            || !is_apart
            || accepted.first().is_none_or(|first| first.role() != Role::User)
            || !accepted.last().is_some_and(is_final_answer)
        {
            return false;
        }
        traits.count(&accepted);
        let settled = SettledMessages::new(&accepted);
        // What is nested too deep cannot be read back.
        if !self.traits.allow(&traits, part.recipient) || settled.messages() != accepted {
            return false;
        }
        self.traits.add(traits);
        self.settled.push(SettledPart { level: 0, messages: Arc::new(settled) });
        self.join_parts();
        self.covers = Some(last);
        true
    }

    fn join_parts(&mut self) {
        while let Some(start) = self.settled.len().checked_sub(JOINED_PARTS)
            && let Some(level) = self.settled.last().map(|last| last.level)
            && self.settled[start..].iter().all(|part| part.level == level)
        {
            let parts: Vec<_> = self.settled.drain(start..).map(|part| part.messages).collect();
            let messages = Arc::new(SettledMessages::joined(&parts));
            self.settled.push(SettledPart { level: level + 1, messages });
        }
    }

    /// The rest of the conversation behind what is settled.
    fn follow(&self, told: Vec<Told>, pending: &[Message], part: &Part<'_>) -> Option<PreparedMessages> {
        if self.settled.is_empty() {
            return None;
        }
        let messages: Vec<Message> = told.into_iter().map(|told| told.message).collect();
        let mut traits = Traits::default();
        traits.count(&messages);
        let Sanitized { messages, to_append, pairs_results } =
            part.sanitized(messages, self.traits.pairs_results);
        traits.pairs_results = pairs_results;
        traits.count(&messages);
        traits.count_images(&messages);
        traits.count(pending);
        traits.count_images(pending);
        let joined = part.joined(messages);
        let begins_well = joined.first().or(pending.first()).is_some_and(|first| first.role() == Role::User);
        let accepted = part.accepted(joined, pending);
        traits.count(&accepted);
        let begins_well = begins_well && accepted.first().is_some_and(|first| first.role() == Role::User);
        if !begins_well || !self.traits.allow(&traits, part.recipient) {
            return None;
        }
        let settled = self.settled.iter().map(|part| part.messages.clone()).collect();
        Some(PreparedMessages { settled, messages: accepted, to_append })
    }
}

impl Traits {
    /// Takes down the call ids of messages.
    fn count(&mut self, messages: &[Message]) {
        for message in messages {
            match message.role() {
                Role::Assistant => {
                    let calls = message.blocks().iter().filter(|block| is_call(block));
                    self.ids.extend(calls.map(|call| hash(call.get("id").and_then(Value::as_str))));
                }
                Role::ToolResult => {
                    let fields = ["toolCallId", "toolUseId"];
                    let named = fields.into_iter().filter_map(|field| message.text_field(field));
                    self.ids.extend(named.map(|id| hash(Some(id))));
                }
                _ => {}
            }
        }
    }

    fn count_images(&mut self, messages: &[Message]) {
        let blocks = messages.iter().flat_map(|message| message.blocks());
        for image in blocks.filter(|block| block.get("type").and_then(Value::as_str) == Some("image")) {
            self.images += 1;
            self.image_data += image.get("data").and_then(Value::as_str).map_or(0, str::len);
        }
    }

    /// Whether a later part can be prepared without a look at these.
    fn allow(&self, later: &Self, recipient: &Recipient<'_>) -> bool {
        let (images, data) = (self.images + later.images, self.image_data + later.image_data);
        self.ids.is_disjoint(&later.ids) && (images == 0 || all_images_fit(images, data, recipient.family))
    }

    fn add(&mut self, later: Self) {
        self.ids.extend(later.ids);
        self.images += later.images;
        self.image_data += later.image_data;
        self.pairs_results |= later.pairs_results;
    }
}

fn hash(id: Option<&str>) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}

/// The rules, as they apply to a part of a conversation.
struct Part<'p> {
    recipient: &'p Recipient<'p>,
    entries: &'p [Entry],
    now: Timestamp,
}

impl Part<'_> {
    fn sanitized(&self, messages: Vec<Message>, pairs_results: bool) -> Sanitized {
        let standing = Standing::Following { pairs_results };
        sanitize_part(messages, &self.recipient.target, self.entries, self.now, standing)
    }

    fn joined(&self, messages: Vec<Message>) -> Vec<Message> {
        join_turns(messages, &TranscriptPolicy::of(&self.recipient.target))
    }

    fn accepted(&self, mut messages: Vec<Message>, behind: &[Message]) -> Vec<Message> {
        messages.extend_from_slice(behind);
        make_acceptable(messages, self.recipient)
    }
}

/// A message of a conversation, and where it stands.
struct Told {
    entry: Option<EntryId>,
    message: Message,
}

fn told_by(entries: &[&Entry]) -> Vec<Told> {
    let told = |entry: &&Entry| Some(Told { entry: entry.key().cloned(), message: message_of(entry)? });
    entries.iter().filter_map(told).collect()
}

fn first_of<'t>(told: &'t [Told], pending: &'t [Message]) -> Option<&'t Message> {
    told.first().map(|told| &told.message).or(pending.first())
}

/// The last place where the conversation can be cut: behind a final answer, in front of a question.
fn last_boundary(told: &[Told], pending: &[Message]) -> Option<usize> {
    (1..=told.len()).rev().find(|at| {
        let (before, behind) = told.split_at(*at);
        let is_settled = |last: &Told| last.entry.is_some() && is_final_answer(&last.message);
        before.last().is_some_and(is_settled) && first_of(behind, pending).is_some_and(is_question)
    })
}

fn has_words(message: &Message) -> bool {
    let is_said = |block: &Value| {
        block.get("type").and_then(Value::as_str) == Some("text")
            && block.get("text").and_then(Value::as_str).is_some_and(|said| text::non_blank(said).is_some())
    };
    match message.content() {
        Content::Text(said) => text::non_blank(said).is_some(),
        Content::Blocks(blocks) => blocks.iter().any(is_said),
        Content::Missing => false,
    }
}

fn is_question(message: &Message) -> bool {
    message.role() == Role::User && has_words(message)
}

/// Whether this is an answer that says something and asks for no tools.
fn is_final_answer(message: &Message) -> bool {
    message.role() == Role::Assistant
        && !matches!(message.stop_reason(), Some("error" | "aborted"))
        && !message.blocks().iter().any(is_call)
        && has_words(message)
}

/// Stands for whatever follows a part, and is told apart from everything in it.
fn following_question() -> Message {
    let question = serde_json::json!({"role": "user", "content": "(what follows)"});
    Message::from_value(question).unwrap_or_default()
}
