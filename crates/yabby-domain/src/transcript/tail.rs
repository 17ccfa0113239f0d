//! The context of a long file, read from its end (`transcripts.md` §5).
//!
//! The leaf is the last entry and the model is told what stands since the last compaction, so most of a
//! long file need not be looked at. [`TailScan`] is fed the lines of a file from the last to the first,
//! follows the branch upwards, and says when it has seen enough: then it knows which lines tell
//! messages, and the settings in force. The answer is that of [`Transcript::context`] for every file;
//! where a line can only be understood from the lines before it, the scan says that it needs the whole.
//!
//! [`Transcript::context`]: super::Transcript::context

use std::borrow::Cow;
use std::collections::HashMap;

use sha1::{Digest, Sha1};

use super::context::{self, FirstKept, ModelUsed};
use super::entry::{Entry, EntryId, EntryKind, Glance, Name, object_on};
use super::header::{Header, Version};
use super::tree::{Earlier, EarlierSetting};
use crate::message::{Message, Role};
use crate::text;

/// How a file begins.
#[derive(Clone, Debug, PartialEq)]
pub struct Start {
    pub header: Header,
    /// Where the line behind the header begins.
    pub entries_from: u64,
}

impl Start {
    /// The header in the first bytes of a file, if it is there and nothing needs to be migrated. Of
    /// the last line of `bytes` all must be there.
    pub fn find(bytes: &[u8]) -> Option<Self> {
        let mut entries_from = 0;
        let mut is_first = true;
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            entries_from += line.len() as u64;
            let mut line = text::lossy(line);
            if is_first {
                line = Cow::Owned(text::trim_start(&line).to_owned());
            }
            is_first &= line.is_empty();
            if let Some(first) = Entry::parse(&line) {
                let header = Header::parse(first.line()).filter(|header| header.version() == Version::Three);
                return header.map(|header| Self { header, entries_from });
            }
        }
        None
    }
}

/// Where a line is in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub offset: u64,
    pub length: u64,
}

/// A line that tells a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    pub span: Span,
    kind: EntryKind,
}

impl Told {
    /// The message that the line tells.
    pub fn message(&self, line: &[u8]) -> Option<Message> {
        let line = text::lossy(line);
        match self.kind {
            EntryKind::Compaction => Some(context::summary_on(&line)),
            kind => context::message_on(kind, &line),
        }
    }
}

/// What the end of a file says about the context.
#[derive(Clone, Debug, PartialEq)]
pub struct Tail {
    /// The lines that tell the messages, in order. Some of them may turn out to tell nothing.
    pub told: Vec<Told>,
    pub thinking_level: String,
    pub model: Option<ModelUsed>,
    /// From where on the lines must be held to go on with the conversation; `None` if there is no
    /// entry.
    pub window: Option<Window>,
    /// Whether an answer was met, on whatever branch. Not meeting one means something only if
    /// `to_the_start`.
    pub has_assistant: bool,
    /// Every line was looked at.
    pub to_the_start: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    pub offset: u64,
    pub earlier: Earlier,
}

/// What a scan wants next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wants {
    /// The line before the one it was given.
    More,
    /// Nothing: the context is known.
    Nothing,
    /// The whole file, read from its beginning.
    Whole,
}

/// Follows the branch of a file upwards from its leaf.
#[derive(Debug, Default)]
pub struct TailScan {
    /// Every entry that was met, and whether it is on the branch. Of two with one id only the later one
    /// counts, and it is met first.
    met: HashMap<Key, bool>,
    /// The entry that comes next on the branch.
    next: Next,
    /// The branch, from the leaf upwards, as far as it tells messages.
    branch: Vec<Step>,
    compaction: Option<Compaction>,
    thinking_level: Option<Found<Option<String>>>,
    model: Option<Found<ModelUsed>>,
    has_assistant: bool,
    /// A line that is not blank was met.
    has_begun: bool,
}

#[derive(Debug, Default, PartialEq)]
enum Next {
    #[default]
    Leaf,
    Entry(Key),
    /// The branch has ended.
    Nobody,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    span: Span,
    kind: EntryKind,
}

#[derive(Debug)]
struct Compaction {
    /// Its place on the branch.
    at: usize,
    parent: Option<EntryId>,
    kept: Kept,
}

/// What is known about the entries that the last compaction kept.
#[derive(Debug)]
enum Kept {
    None,
    /// From this entry on, which was not met yet.
    From(Key),
    /// From this place of the branch on; and what the entry there hangs from.
    Since(usize, Option<EntryId>),
    /// Counted from the root.
    AfterMessages(usize),
}

/// A setting, and the place of the branch that sets it.
#[derive(Debug)]
struct Found<T> {
    value: T,
    at: usize,
}

/// The id of an entry in little space: short ones as they are, long ones by their digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key([u8; 16]);

impl Key {
    fn of(name: &Name<'_>) -> Self {
        const OTHER: u8 = 0x40;
        const DIGEST: u8 = 0x80;
        let (tag, name) = match name {
            Name::Text(text) => (0, text.as_bytes()),
            Name::Other(json) => (OTHER, json.as_bytes()),
        };
        let mut key = [0; 16];
        let (first, rest) = key.split_at_mut(1);
        match rest.get_mut(..name.len()) {
            Some(place) => {
                place.copy_from_slice(name);
                first[0] = tag | u8::try_from(name.len()).unwrap_or_default();
            }
            None => {
                let length = rest.len();
                rest.copy_from_slice(&Sha1::digest(name)[..length]);
                first[0] = tag | DIGEST;
            }
        }
        Self(key)
    }
}

/// A line, as far as the scan needs to know it at first sight. Looking takes nearly all of the time and
/// needs no other line, so many can be looked at at once.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sight(Seen);

#[derive(Clone, Copy, Debug, Default)]
enum Seen {
    /// No entry.
    #[default]
    Nothing,
    /// An entry without an id.
    Nameless,
    Entry(Met),
}

/// An entry as it is met.
#[derive(Clone, Copy, Debug)]
struct Met {
    key: Key,
    parent: Option<Key>,
    kind: EntryKind,
    is_answer: bool,
}

impl Sight {
    pub fn of(line: &[u8]) -> Self {
        Self::of_text(&text::lossy(line))
    }

    fn of_text(line: &str) -> Self {
        let seen = Glance::at(line, |glance| {
            let kind = glance.kind();
            if kind == EntryKind::Session {
                return Seen::Nothing;
            }
            let Some(id) = glance.id() else { return Seen::Nameless };
            Seen::Entry(Met {
                key: Key::of(&id),
                parent: glance.parent().map(|parent| Key::of(&parent)),
                kind,
                is_answer: kind == EntryKind::Message && glance.role() == Some(Role::Assistant),
            })
        });
        Self(seen.unwrap_or(Seen::Nothing))
    }
}

impl TailScan {
    /// Takes the next line towards the beginning, without its line feed. Lines before
    /// [`Start::entries_from`] are not to be given.
    pub fn line(&mut self, offset: u64, line: &[u8]) -> Wants {
        self.seen_line(offset, line, Sight::of(line))
    }

    /// The same, for a line that was looked at before.
    pub fn seen_line(&mut self, offset: u64, line: &[u8], sight: Sight) -> Wants {
        let (mut line, mut sight) = (line, sight);
        if !self.has_begun {
            // Whatever white space is at the end of a file does not count.
            let whole = text::lossy(line);
            let trimmed = text::trim_end(&whole);
            line = line.get(..line.len() - (whole.len() - trimmed.len())).unwrap_or_default();
            sight = Sight::of_text(trimmed);
            self.has_begun = !trimmed.is_empty();
        }
        match sight.0 {
            Seen::Nothing => Wants::More,
            Seen::Nameless => Wants::Whole,
            Seen::Entry(met) => self.meet(met, offset, line),
        }
    }

    fn meet(&mut self, met: Met, offset: u64, line: &[u8]) -> Wants {
        self.has_assistant |= met.is_answer;
        let is_next = match self.next {
            Next::Leaf => true,
            Next::Entry(key) => key == met.key,
            Next::Nobody => false,
        };
        if !is_next {
            self.met.entry(met.key).or_insert(false);
            return Wants::More;
        }
        self.met.insert(met.key, true);
        self.step(met, offset, line);
        self.next = match met.parent {
            None => Next::Nobody,
            Some(parent) => match self.met.get(&parent) {
                None => Next::Entry(parent),
                // A circle ends where it would come round.
                Some(true) => Next::Nobody,
                // The parent stands further down, and was passed by.
                Some(false) => return Wants::Whole,
            },
        };
        if self.next == Next::Nobody || self.is_told() { Wants::Nothing } else { Wants::More }
    }

    fn step(&mut self, met: Met, offset: u64, line: &[u8]) {
        let span = Span { offset, length: line.len() as u64 };
        let object = || object_on(&text::lossy(line));
        let knows_messages = self.knows_messages();
        let at = if knows_messages { usize::MAX } else { self.branch.len() };
        if met.kind == EntryKind::ThinkingLevelChange && self.thinking_level.is_none() {
            self.thinking_level = Some(Found { value: context::level_in(&object()), at });
        }
        if (met.kind == EntryKind::ModelChange || met.is_answer) && self.model.is_none() {
            self.model = Some(Found { value: context::model_in(met.kind, &object()), at });
        }
        if knows_messages {
            return;
        }
        self.branch.push(Step { span, kind: met.kind });
        // What an entry hangs from is only kept of those that a window may begin with.
        let parent = || Glance::at(&text::lossy(line), |glance| glance.parent().map(Name::into_id)).flatten();
        match &mut self.compaction {
            Some(compaction) => {
                if matches!(compaction.kept, Kept::From(first) if first == met.key) {
                    compaction.kept = Kept::Since(at, parent());
                }
            }
            None if met.kind == EntryKind::Compaction => {
                let kept = match FirstKept::of(&object()) {
                    FirstKept::None => Kept::None,
                    FirstKept::Named(id) => Kept::From(Key::of(&id.name())),
                    FirstKept::AfterMessages(count) => Kept::AfterMessages(count),
                };
                self.compaction = Some(Compaction { at, parent: parent(), kept });
            }
            None => {}
        }
    }

    fn knows_messages(&self) -> bool {
        self.compaction
            .as_ref()
            .is_some_and(|compaction| matches!(compaction.kept, Kept::None | Kept::Since(..)))
    }

    fn is_told(&self) -> bool {
        self.knows_messages() && self.thinking_level.is_some() && self.model.is_some()
    }

    /// What was found, once nothing more is wanted or there are no more lines.
    pub fn finish(self) -> Tail {
        let to_the_start = !self.is_told() && self.next != Next::Nobody;
        let (top, below) = self.top();
        let earlier = Earlier {
            thinking_level: earlier(self.thinking_level.as_ref(), top, |level| level.clone()),
            model: earlier(self.model.as_ref(), top, |model| Some(model.clone())),
            below,
        };
        let window = self.branch.get(top).map(|oldest| Window { offset: oldest.span.offset, earlier });
        Tail {
            told: self.told(),
            thinking_level: context::level_or_default(self.thinking_level.and_then(|found| found.value)),
            model: self.model.map(|found| found.value),
            window,
            has_assistant: self.has_assistant,
            to_the_start,
        }
    }

    /// The oldest place of the branch that must be held, and what hangs above it.
    fn top(&self) -> (usize, Option<EntryId>) {
        let root = self.branch.len().saturating_sub(1);
        match &self.compaction {
            None => (root, None),
            Some(compaction) => match &compaction.kept {
                Kept::None | Kept::From(_) => (compaction.at, compaction.parent.clone()),
                Kept::Since(at, parent) => (*at, parent.clone()),
                Kept::AfterMessages(_) => (root, None),
            },
        }
    }

    fn told(&self) -> Vec<Told> {
        let told = |step: &Step| Told { span: step.span, kind: step.kind };
        let tells = |step: &&Step| context::tells(step.kind);
        let Some(compaction) = &self.compaction else {
            return self.branch.iter().rev().filter(tells).map(told).collect();
        };
        let (after, before) = self.branch.split_at(compaction.at);
        let (summary, before) = before.split_at(1.min(before.len()));
        let kept = match &compaction.kept {
            Kept::None | Kept::From(_) => 0,
            Kept::Since(at, _) => at - compaction.at,
            Kept::AfterMessages(count) => {
                let is_message = before.iter().rev().map(|step| step.kind == EntryKind::Message);
                before.len() - context::behind_messages(*count, is_message).unwrap_or(before.len())
            }
        };
        let kept = before.get(..kept).unwrap_or_default();
        let entries = kept.iter().rev().chain(after.iter().rev()).filter(tells);
        summary.iter().chain(entries).map(told).collect()
    }
}

/// What the branch sets before the window, which begins at `top`.
fn earlier<T, U>(found: Option<&Found<T>>, top: usize, value: impl Fn(&T) -> Option<U>) -> EarlierSetting<U> {
    match found {
        Some(found) if found.at <= top => EarlierSetting::Unknown,
        found => EarlierSetting::Known(found.and_then(|found| value(&found.value))),
    }
}
