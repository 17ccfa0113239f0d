//! Reading conversations, and no more of them than is needed (`transcripts.md` §2, §7.7).

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use yabby_domain::json::{self, Object, Value};
use yabby_domain::seam::{Part, StoreError};
use yabby_domain::text::{self, lossy};
use yabby_domain::transcript::Transcript;
use yabby_domain::transcript::context::Context;
use yabby_domain::transcript::damage::{self, Damage};
use yabby_domain::transcript::file::{START_BYTES, starts_a_session};
use yabby_domain::transcript::file_name::TranscriptId;
use yabby_domain::transcript::journal::{self, Pending};
use yabby_domain::transcript::preview::{self, PreviewItem, PreviewLimits};

use super::TranscriptFolder;
use super::plan::{ContextPlan, tail_of};
use super::text::Text;
use crate::disk::{Doing, beside, shown};
use crate::files::folder::{open_inside, resolved_inside};

impl TranscriptFolder {
    /// The whole conversation, of every branch; `None` if there is none.
    pub fn load_blocking(&self, id: &TranscriptId) -> Result<Option<Transcript>, StoreError> {
        let path = self.path(id);
        let Some(conversation) = Conversation::at(&path)? else { return Ok(None) };
        let file = shared(conversation.text.all().doing("read", &path)?);
        match Transcript::read_shared(&file) {
            Some(transcript) => Ok(Some(transcript)),
            None if text::trim(&file).is_empty() => Ok(None),
            None => {
                let what = "its first entry is no session header".to_owned();
                Err(StoreError::Damaged { path: shown(&path), what })
            }
        }
    }

    /// What the model is told at the end of a conversation, without the rest of it.
    pub fn context_plan(&self, id: &TranscriptId) -> Result<Option<ContextPlan>, StoreError> {
        let path = self.path(id);
        let Some(conversation) = Conversation::at(&path)? else { return Ok(None) };
        match tail_of(&conversation.text).doing("read", &path)? {
            Some((_, tail)) => Ok(Some(ContextPlan::of_tail(conversation.text, tail))),
            None => Ok(self.load_blocking(id)?.map(|whole| ContextPlan::of_context(whole.context()))),
        }
    }

    /// The same, with all messages at once.
    pub fn context_blocking(&self, id: &TranscriptId) -> Result<Option<Context>, StoreError> {
        let plan = self.context_plan(id)?;
        plan.map(|plan| plan.into_context().doing("read", &self.path(id))).transpose()
    }

    /// The first or the last bytes of a conversation, which may cut a line.
    pub fn peek_blocking(&self, id: &TranscriptId, part: Part) -> Result<Option<Vec<u8>>, StoreError> {
        let path = self.path(id);
        let Some(conversation) = Conversation::at(&path)? else { return Ok(None) };
        let bytes = match part {
            Part::First(count) => conversation.text.first(count),
            Part::Last(count) => conversation.text.last(count),
        };
        bytes.map(Some).doing("read", &path)
    }

    /// What the user said first: where the title of a conversation comes from.
    pub fn title_source(&self, id: &TranscriptId) -> Result<Option<String>, StoreError> {
        let start = self.peek_blocking(id, Part::First(preview::FIRST_BYTES))?;
        Ok(start.and_then(|start| preview::first_user_message(&start)))
    }

    /// What was said last, by the user or to the user.
    pub fn last_message(&self, id: &TranscriptId) -> Result<Option<String>, StoreError> {
        let end = self.peek_blocking(id, Part::Last(preview::LAST_BYTES))?;
        Ok(end.and_then(|end| preview::last_message(&end)))
    }

    /// The last messages of a conversation in a few words each.
    pub fn preview(&self, id: &TranscriptId, limits: PreviewLimits) -> Result<Vec<PreviewItem>, StoreError> {
        let path = self.path(id);
        let Some(conversation) = Conversation::at(&path)? else { return Ok(Vec::new()) };
        let failure = RefCell::new(None);
        let items = preview::preview_items(
            |count| match conversation.text.last(count) {
                Ok(bytes) => Cow::Owned(bytes),
                Err(error) => {
                    failure.replace(Some(error));
                    Cow::Borrowed(&[])
                }
            },
            limits,
        );
        failure.into_inner().map_or(Ok(items), Err).doing("read", &path)
    }

    /// All conversations, the one that changed last first.
    pub fn list_blocking(&self) -> Result<Vec<TranscriptId>, StoreError> {
        let files = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            files => files.doing("list", &self.folder)?,
        };
        let mut changed = HashMap::<TranscriptId, SystemTime>::new();
        for file in files {
            let file = file.doing("list", &self.folder)?;
            let Some((id, is_journal)) = conversation_in(&file.file_name().to_string_lossy()) else {
                continue;
            };
            // What leads out of the folder is not in it.
            let Ok(Some(opened)) = open_inside(&file.path()) else { continue };
            let Ok(metadata) = opened.metadata() else { continue };
            if !metadata.is_file() || (is_journal && metadata.len() == 0) {
                continue;
            }
            let modified = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            let latest = changed.entry(id).or_insert(modified);
            *latest = modified.max(*latest);
        }
        let mut all: Vec<_> = changed.into_iter().collect();
        all.sort_by(|(one, one_changed), (other, other_changed)| {
            other_changed.cmp(one_changed).then_with(|| one.cmp(other))
        });
        Ok(all.into_iter().map(|(id, _)| id).collect())
    }

    /// The conversation that changed last; files that do not look like one do not count.
    pub fn most_recent(&self) -> Result<Option<TranscriptId>, StoreError> {
        for id in self.list_blocking()? {
            if self
                .peek_blocking(&id, Part::First(START_BYTES))?
                .is_some_and(|start| starts_a_session(&start))
            {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    /// What an earlier program wrote beside a transcript, in a file of the same name that ends in
    /// `.json`; `None` if there is none, or it cannot be understood.
    pub fn metadata(&self, id: &TranscriptId) -> Result<Option<Object>, StoreError> {
        let Some(path) = self.metadata_path(id) else { return Ok(None) };
        let Some(mut file) = open_inside(&path)? else { return Ok(None) };
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).doing("read", &path)?;
        Ok(match json::parse_json5(&lossy(&bytes)) {
            Some(Value::Object(metadata)) => Some(metadata),
            _ => None,
        })
    }

    /// Where metadata would be. A transcript may be called `sessions`; the store is nobody's metadata.
    pub(super) fn metadata_path(&self, id: &TranscriptId) -> Option<PathBuf> {
        (id.as_str() != "sessions").then(|| self.folder.join(format!("{}.json", id.as_str())))
    }

    /// What is wrong with a conversation.
    pub fn inspect(&self, id: &TranscriptId) -> Result<Vec<Damage>, StoreError> {
        let path = self.path(id);
        let Some(conversation) = Conversation::at(&path)? else { return Ok(Vec::new()) };
        Ok(damage::inspect(&conversation.text.all().doing("read", &path)?))
    }
}

/// The conversation that a file of this name belongs to, and whether it is its journal.
fn conversation_in(name: &str) -> Option<(TranscriptId, bool)> {
    let file = name.strip_suffix(".journal");
    Some((TranscriptId::of_file(file.unwrap_or(name)).ok()?, file.is_some()))
}

/// A text that entries can share; what is not UTF-8 in it is replaced.
pub(super) fn shared(bytes: Vec<u8>) -> Arc<String> {
    let text = String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    Arc::new(text)
}

/// A conversation as it is on disk: the file, and what only the journal holds.
pub(super) struct Conversation {
    pub(super) text: Text,
    has_file: bool,
    has_journal: bool,
    /// The lines that only the journal holds.
    pub(super) pending: String,
}

impl Conversation {
    /// The conversation whose file has this path.
    pub(super) fn at(path: &Path) -> Result<Option<Self>, StoreError> {
        let path = &resolved_inside(path)?;
        // The journal is removed after the file was written, so this order misses nothing.
        let journal = read_journal(path)?;
        let mut text = match open_inside(path)? {
            Some(file) => Text::of_file(file).doing("read", path)?,
            None => Text::default(),
        };
        let (has_file, has_journal) = (text.is_in_file(), journal.is_some());
        let journal = journal.unwrap_or_default();
        let pending = if journal.is_empty() {
            String::new()
        } else {
            let file = text.all().doing("read", path)?;
            match journal::pending(has_file.then(|| lossy(&file)).as_deref(), &lossy(&journal)) {
                Pending::Lines(lines) => {
                    if !lines.is_empty() && file.last().is_some_and(|last| *last != b'\n') {
                        text.append(b"\n");
                    }
                    lines
                }
                Pending::Overtaken { .. } => String::new(),
            }
        };
        text.append(pending.as_bytes());
        let is_there = has_file || !pending.is_empty();
        Ok(is_there.then_some(Self { text, has_file, has_journal, pending }))
    }

    pub(super) fn has_pending_lines(&self) -> bool {
        !self.pending.is_empty()
    }

    pub(super) fn has_file(&self) -> bool {
        self.has_file
    }

    /// Whether there is a journal, if only one of no use.
    pub(super) fn has_journal(&self) -> bool {
        self.has_journal
    }
}

/// The two files of a conversation as they are.
pub(super) struct Found {
    pub(super) bytes: Option<Vec<u8>>,
    /// The whole lines of the journal.
    pub(super) journal: Vec<u8>,
}

impl Found {
    pub(super) fn at(path: &Path) -> Result<Self, StoreError> {
        let journal = read_journal(path)?.unwrap_or_default();
        let bytes = match open_inside(path)? {
            Some(mut file) => {
                let mut bytes = Vec::new();
                file.read_to_end(&mut bytes).doing("read", path)?;
                Some(bytes)
            }
            None => None,
        };
        Ok(Self { bytes, journal })
    }
}

/// The whole lines of a journal, if there is one.
fn read_journal(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    let path = beside(path, ".journal");
    let Some(mut file) = open_inside(&path)? else { return Ok(None) };
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).doing("read", &path)?;
    bytes.truncate(journal::whole_lines(&bytes).len());
    Ok(Some(bytes))
}
