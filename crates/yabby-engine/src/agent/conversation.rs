//! A conversation that a turn is writing: the transcript, held for as long as the turn takes.

use yabby_domain::json::Value;
use yabby_domain::message::Message;
use yabby_domain::message::Role;
use yabby_domain::seam::{Begin, StoreError, TranscriptWriter};
use yabby_domain::transcript::before_run::{RunSettings, opening_entries};
use yabby_domain::transcript::entry::{Entry, EntryKind};
use yabby_domain::transcript::tree::{NewEntry, Transcript};

use crate::Engine;
use crate::durability::Recorded;
use crate::events::EventKind;
use crate::turn::TurnError;
use crate::turn::open::Opened;

/// Stands before a memory flush. A flush is a branch of its own: the conversation goes on from where it
/// was, and what providers have read of it stays the same.
pub(crate) const FLUSH_MARK: &str = "memory-flush";

/// Where a conversation was when something else began.
pub(crate) struct Aside {
    leaf: Option<String>,
    pending: Vec<NewEntry>,
}

pub(crate) struct Conversation {
    writer: Box<dyn TranscriptWriter>,
    /// Entries that go to the transcript together with the next one that matters: they cost no write of
    /// their own, and say nothing without it.
    pending: Vec<NewEntry>,
}

impl Conversation {
    pub(crate) async fn open(opened: &Opened) -> Result<Self, TurnError> {
        let begin = Begin {
            session_id: opened.session_id.clone(),
            cwd: opened.home.workspace.to_string_lossy().into_owned(),
            parent: None,
        };
        let mut writer = opened.home.transcripts.open(&opened.transcript, begin).await?;
        if let Some(flush) = interrupted_flush(writer.transcript()) {
            writer.move_leaf(flush.before.as_deref()).await?;
        }
        Ok(Self { writer, pending: Vec::new() })
    }

    /// Begins something that does not belong to the conversation, and ends with [`Self::end_aside`].
    pub(crate) fn begin_aside(&mut self) -> Aside {
        Aside {
            leaf: self.transcript().leaf().and_then(|leaf| leaf.id()).map(str::to_owned),
            pending: std::mem::take(&mut self.pending),
        }
    }

    /// Goes back to where the conversation was; what was said meanwhile stands beside it.
    pub(crate) async fn end_aside(&mut self, aside: Aside) -> Result<(), StoreError> {
        self.pending = aside.pending;
        self.writer.move_leaf(aside.leaf.as_deref()).await
    }

    pub(crate) fn transcript(&self) -> &Transcript {
        self.writer.transcript()
    }

    /// What the transcript will say next.
    pub(crate) fn pending_messages(&self) -> Vec<Message> {
        let message = |entry: &NewEntry| match entry {
            NewEntry::Message(message) => Some(message.clone()),
            _ => None,
        };
        self.pending.iter().filter_map(message).collect()
    }

    /// Prepares for a new question: the settings that a run writes down first, and a step off a question
    /// that nobody answered.
    pub(crate) async fn begin(&mut self, settings: RunSettings<'_>) -> Result<(), StoreError> {
        let transcript = self.writer.transcript();
        self.pending = opening_entries(&transcript.branch(), settings);
        let unanswered = transcript.leaf().filter(|leaf| is_question(leaf));
        if let Some(leaf) = unanswered {
            let parent = leaf.parent_id().map(str::to_owned);
            let parent = parent.filter(|parent| transcript.entry(parent).is_some());
            self.writer.move_leaf(parent.as_deref()).await?;
        }
        Ok(())
    }

    /// Adds something that is written with whatever comes next.
    pub(crate) fn add(&mut self, entry: NewEntry) {
        self.pending.push(entry);
    }

    /// Adds something in front of everything else that waits.
    pub(crate) fn add_first(&mut self, entries: Vec<NewEntry>) {
        // Settings come before what is sanitised for them; the question comes last.
        let at = self.pending.iter().position(|entry| matches!(entry, NewEntry::Message(_)));
        let at = at.unwrap_or(self.pending.len());
        self.pending.splice(at..at, entries);
    }

    /// Writes messages, after everything that waits; the ids of the messages.
    pub(crate) async fn say(
        &mut self,
        engine: &Engine,
        opened: &Opened,
        messages: Vec<Message>,
        recorded: &Recorded,
    ) -> Result<(), StoreError> {
        let mut entries = std::mem::take(&mut self.pending);
        entries.extend(messages.into_iter().map(NewEntry::Message));
        if entries.is_empty() {
            return Ok(());
        }
        self.append(engine, opened, entries, recorded).await.map(drop)
    }

    /// Writes entries at once.
    pub(crate) async fn append(
        &mut self,
        engine: &Engine,
        opened: &Opened,
        entries: Vec<NewEntry>,
        _recorded: &Recorded,
    ) -> Result<Vec<String>, StoreError> {
        let ids = self.writer.append(entries).await?;
        let transcript = opened.transcript.as_str().to_owned();
        engine.tell(&opened.key, None, EventKind::TranscriptChanged { transcript });
        Ok(ids)
    }
}

fn is_question(entry: &Entry) -> bool {
    entry.kind() == EntryKind::Message && entry.role() == Some(Role::User)
}

struct InterruptedFlush {
    /// The entry that it began after.
    before: Option<String>,
}

/// A flush at the end of a transcript: whoever began it did not come back to the conversation. If somebody
/// who knows nothing of flushes went on from it, it is part of the conversation.
fn interrupted_flush(transcript: &Transcript) -> Option<InterruptedFlush> {
    let is_mark = |entry: &Entry| {
        entry.kind() == EntryKind::Custom
            && entry.object().get("customType").and_then(Value::as_str) == Some(FLUSH_MARK)
    };
    let mut asked = 0;
    let mut ancestry = transcript.ancestry();
    while let Some(entry) = ancestry.next() {
        asked += usize::from(is_question(entry));
        if asked > 1 {
            return None;
        }
        if is_mark(entry) {
            let before = ancestry.next().and_then(Entry::id).map(str::to_owned);
            return Some(InterruptedFlush { before });
        }
    }
    None
}
