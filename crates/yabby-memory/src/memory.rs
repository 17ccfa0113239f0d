//! An agent's memory: the index, kept up with the files, and the search in it.
//!
//! A search never silently answers from yesterday: it waits a moment for what is new, or says what it does
//! not know yet.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use tokio::runtime::Handle;
use yabby_domain::access::session_owner::is_owner;
use yabby_domain::channel::ChatType;
use yabby_domain::config::Config;
use yabby_domain::id::AgentId;
use yabby_domain::recollection::Remembered;
use yabby_domain::seam::embedder::Embedder;
use yabby_domain::seam::recollection::{Asked, Recollection};
use yabby_domain::seam::{Choice, SessionStore, StoreError};
use yabby_domain::secrets::Secrets;
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::key::SessionKey;
use yabby_domain::transcript::file_name::{TranscriptId, session_in};

use crate::audience::{Audience, MOST_SPAWNERS, Viewer};
use crate::compat::{Reference, files};
use crate::news::{Changed, News, Told};
use crate::private_file::make_private_folder;
use crate::recall::{
    Conversation, Embedded, Filter, Hit, Known, Meant, Message, Note, Query, Recall, RecallError, Wanted,
    Work,
};
use crate::shown;
use crate::watch::Watch;

/// How long a search waits for what is new, and for a model.
#[derive(Clone, Copy)]
struct Patience {
    news: Duration,
    model: Duration,
}

/// How long whoever asked waits for what is new.
pub const PATIENCE: Duration = Duration::from_secs(3);

/// Somebody asked, and waits for the answer.
const ASKED: Patience = Patience { news: PATIENCE, model: Duration::from_secs(20) };

/// Nobody asked: whoever wrote waits for another answer.
const UNASKED: Patience = Patience { news: Duration::from_secs(1), model: Duration::from_secs(2) };

/// How long what was said may wait to be read, as long as nobody looks for anything.
const SOON: Duration = Duration::from_millis(200);

/// So many hits are looked for beyond those that are wanted, where some are told anyway.
const MOST_TOLD: usize = 100;

/// So many files are read in one step. More would hold up whoever else writes.
const AT_ONCE: usize = 64;

/// What notes are called in the index.
const NOTE: &str = "memory";

/// So many texts go to a model at once.
const TEXTS: usize = 256;

/// Where an agent's memory lies.
#[derive(Clone, Debug)]
pub struct Places {
    pub agent: AgentId,
    /// Our own index.
    pub index: PathBuf,
    /// The folder of the transcripts.
    pub transcripts: PathBuf,
    pub workspace: PathBuf,
    /// More notes, as the configuration names them.
    pub extra_paths: Vec<String>,
    /// Whether notes and what was said are in it.
    pub has_notes: bool,
    pub has_sessions: bool,
}

/// What a memory is made of.
#[derive(Clone)]
pub struct Parts {
    pub places: Places,
    pub config: Arc<Config>,
    pub sessions: Arc<dyn SessionStore>,
    pub secrets: Arc<Secrets>,
    /// Whoever knows what is alike; without one, words decide.
    pub meaning: Option<Meaning>,
    pub ranking: Ranking,
}

/// Whose ranking the agent's searches have (`memory.ranking`).
#[derive(Clone, Default)]
pub enum Ranking {
    #[default]
    Own,
    /// The reference's, in its own index; or why there is none.
    Reference(Result<Reference, String>),
}

/// Who knows what is alike, and what they are told.
#[derive(Clone)]
pub struct Meaning {
    pub embedder: Arc<dyn Embedder>,
    /// What was said, too, and not only notes.
    pub sees_sessions: bool,
}

impl Meaning {
    /// Vectors of two models, or of one behind two addresses, are never compared.
    fn name(&self) -> String {
        let embedder = &self.embedder;
        let told = if self.sees_sessions { "" } else { "/notes" };
        format!("{}/{}/{}{told}", embedder.provider(), embedder.model(), embedder.provider_key())
    }
}

/// An agent's memory. Copies are the same.
#[derive(Clone)]
pub struct Memory(Arc<Inner>);

struct Inner {
    parts: Parts,
    recall: Recall,
    /// One reads files at a time.
    syncing: tokio::sync::Mutex<()>,
    /// What has changed. Shared, since whoever writes tells.
    news: Arc<News>,
    /// Whoever hears of every change, so that files need not be looked at. Held for a line.
    watch: Mutex<Option<Arc<Watch>>>,
    /// One asks the model at a time.
    embedding: tokio::sync::Mutex<()>,
    /// How often all files were looked at.
    looks: AtomicU64,
    /// What was said is about to be read.
    reads_soon: AtomicBool,
}

/// What is looked for, by whom.
#[derive(Clone, Debug)]
pub struct Search {
    pub text: String,
    pub viewer: Viewer,
    pub filter: Filter,
    pub most: usize,
    /// From 0 to 1.
    pub least: f32,
    /// How many neighbours come with a hit, on each side.
    pub around: u32,
    pub now: Timestamp,
    pub zone: TimeZone,
}

#[derive(Clone, Debug, Default)]
pub struct Found {
    /// The best first.
    pub hits: Vec<Hit>,
    /// What could not be looked at, and why.
    pub unread: Vec<String>,
    /// The model that judged what is alike.
    pub model: Option<String>,
}

/// What somebody may not see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hidden {
    pub hits: usize,
    /// Whom it was said to: `telegram:42`.
    pub people: Vec<String>,
    /// The groups that it was said in, by their keys.
    pub groups: Vec<String>,
    /// A session of each, as whom it is found.
    pub sessions: Vec<String>,
}

/// So many hits are looked at to count those that are hidden.
const MOST_COUNTED: usize = 50;

/// What a look at the files did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Synced {
    pub files: usize,
    pub changed: usize,
    pub added: usize,
    /// What could not be read.
    pub unread: Vec<String>,
}

/// How far something long has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    pub done: usize,
    pub all: usize,
}

pub type OnProgress<'p> = &'p (dyn Fn(Progress) + Send + Sync);

#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    #[error(transparent)]
    Recall(#[from] RecallError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the memory was interrupted")]
    Interrupted,
}

impl Memory {
    pub fn open(parts: Parts) -> Result<Self, MemoryError> {
        if let Some(folder) = parts.places.index.parent() {
            make_private_folder(folder)
                .map_err(|source| RecallError::Read { path: folder.display().to_string(), source })?;
        }
        let recall = Recall::open(&parts.places.index)?;
        Ok(Self(Arc::new(Inner {
            parts,
            recall,
            syncing: tokio::sync::Mutex::default(),
            news: Arc::default(),
            watch: Mutex::default(),
            embedding: tokio::sync::Mutex::default(),
            looks: AtomicU64::new(0),
            reads_soon: AtomicBool::new(false),
        })))
    }

    /// What answers a question.
    pub async fn search(&self, search: Search) -> Result<Found, MemoryError> {
        self.search_within(search, ASKED).await
    }

    async fn search_within(&self, search: Search, patience: Patience) -> Result<Found, MemoryError> {
        let mut unread = self.freshen(patience.news).await;
        let meaning = self.meaning_of(&search.text, patience.model, &mut unread).await;
        let model = meaning.as_ref().map(|meant| meant.model.clone());
        let query = Query {
            text: search.text,
            viewer: search.viewer,
            filter: search.filter,
            most: search.most,
            around: search.around,
            meaning,
            now: search.now,
            zone: search.zone,
        };
        let again = query.clone();
        let found = self.blocking(move |memory| memory.0.recall.search(&query)).await;
        let mut hits = match found {
            // It was begun anew: everything is read once more.
            Err(MemoryError::Recall(error)) if error.is_damage() => {
                self.sync(&|_| {}).await?;
                self.blocking(move |memory| memory.0.recall.search(&again)).await?
            }
            other => other?,
        };
        hits.retain(|hit| hit.score >= search.least);
        Ok(Found { hits, unread, model })
    }

    /// What the owner does not find although it answers: how many hits were said to others, and to whom. Only the owner
    /// at their own machine may be told that.
    pub async fn hidden_from_owner(&self, search: &Search) -> Result<Hidden, MemoryError> {
        if search.viewer.audience != Audience::Owner || !search.viewer.is_owner_alone {
            return Ok(Hidden::default());
        }
        let viewer = search.viewer.clone();
        let everything = Viewer { counts_everything: true, ..viewer.clone() };
        let query = |viewer: Viewer| Query {
            text: search.text.clone(),
            viewer,
            filter: search.filter.clone(),
            most: MOST_COUNTED,
            around: 0,
            meaning: None,
            now: search.now,
            zone: search.zone.clone(),
        };
        let (own, all) = (query(viewer), query(everything));
        let least = search.least;
        self.blocking(move |memory| {
            let recall = &memory.0.recall;
            let seen: HashSet<(String, u32)> =
                recall.search(&own)?.into_iter().map(|hit| (hit.path, hit.position)).collect();
            let hits = recall.search(&all)?.into_iter();
            let unseen: Vec<Hit> = hits
                .filter(|hit| hit.score >= least && hit.why.words > 0.0)
                .filter(|hit| !seen.contains(&(hit.path.clone(), hit.position)))
                .collect();
            let paths: Vec<String> = unseen.iter().map(|hit| hit.path.clone()).collect();
            let known = recall.known_of(&paths)?;
            let mut hidden = Hidden::default();
            for hit in unseen {
                let audience = known.get(&hit.path).map(|known| Audience::of_text(&known.audience));
                let (others, name) = match audience {
                    Some(Audience::Person(person)) => (&mut hidden.people, person),
                    Some(Audience::Room(room)) => (&mut hidden.groups, room),
                    Some(Audience::Owner) | None => continue,
                };
                hidden.hits += 1;
                if !others.contains(&name) {
                    others.push(name);
                    hidden.sessions.extend(hit.session_key);
                }
            }
            Ok(hidden)
        })
        .await
    }

    /// Every message with certain words, and what could not be looked at.
    pub async fn messages(&self, wanted: Wanted) -> Result<(Vec<Message>, Vec<String>), MemoryError> {
        let unread = self.freshen(ASKED.news).await;
        let messages = self.blocking(move |memory| memory.0.recall.messages(&wanted)).await?;
        Ok((messages, unread))
    }

    /// Reads what is new, for so long at most. What could not be read is told.
    pub async fn freshen(&self, patience: Duration) -> Vec<String> {
        let memory = self.clone();
        let sync = tokio::spawn(async move {
            let watch = memory.watch();
            let is_told = match &watch {
                Some(watch) => watch.has_heard_everything().await,
                None => false,
            };
            match is_told {
                true => memory.read_news().await,
                false => memory.sync(&|_| {}).await,
            }
        });
        match tokio::time::timeout(patience, sync).await {
            Ok(Ok(Ok(synced))) => synced.unread,
            Ok(Ok(Err(error))) => vec![format!("what is new: {error}")],
            Ok(Err(_)) => vec!["what is new: reading it was interrupted".to_owned()],
            Err(_) => vec!["what is new: it is still being read; ask again in a moment".to_owned()],
        }
    }

    /// Looks at every file, and reads those that changed. An index that turns out to be damaged is built anew.
    pub async fn sync(&self, progress: OnProgress<'_>) -> Result<Synced, MemoryError> {
        let _one = self.0.syncing.lock().await;
        self.0.news.take();
        self.read_as_told(Changed::everything(), progress).await
    }

    /// Reads what is known to have changed.
    async fn read_news(&self) -> Result<Synced, MemoryError> {
        let _one = self.0.syncing.lock().await;
        let changed = self.0.news.take();
        self.read_as_told(changed, &|_| {}).await
    }

    /// Reads what has changed. What could not be read is to be read the next time, too.
    async fn read_as_told(
        &self,
        mut changed: Changed,
        progress: OnProgress<'_>,
    ) -> Result<Synced, MemoryError> {
        // Whoever has another index knows nothing of what is in it.
        if self.blocking(|memory| memory.0.recall.follow()).await? {
            changed.everything = true;
        }
        let done = match self.read_changed(&changed, progress).await {
            Err(MemoryError::Recall(error)) if error.is_damage() => {
                changed.everything = true;
                self.read_changed(&changed, progress).await
            }
            other => other,
        };
        done.inspect_err(|_| self.0.news.put_back(changed))
    }

    async fn read_changed(&self, changed: &Changed, progress: OnProgress<'_>) -> Result<Synced, MemoryError> {
        if changed.is_nothing() {
            return Ok(Synced::default());
        }
        let (work, files) = match changed.everything || changed.notes {
            true => self.work_by_looking(changed).await?,
            false => self.work_on(&changed.transcripts).await?,
        };
        let mut synced = Synced { files, changed: work.len(), ..Synced::default() };
        let all = work.len();
        for (group, work) in work.chunks(AT_ONCE).enumerate() {
            progress(Progress { done: group * AT_ONCE, all });
            self.read(work, &mut synced).await?;
        }
        progress(Progress { done: all, all });
        Ok(synced)
    }

    /// What is to be read of all files, or of all notes and some transcripts.
    async fn work_by_looking(&self, changed: &Changed) -> Result<(Vec<Work>, usize), MemoryError> {
        let places = &self.0.parts.places;
        let Survey { notes, transcripts, known } = self.survey(changed.everything).await?;
        let mut work: Vec<Work> = Vec::new();
        let mut names: HashSet<String> = HashSet::new();
        for file in &notes {
            let path = files::memory_name(file, &places.workspace);
            if !is_known(&known, &path, file) {
                let agent = places.agent.as_str().to_owned();
                work.push(Work::Note(Note { file: file.clone(), path: path.clone(), agent }));
            }
            names.insert(path);
        }
        let mut grown = Vec::new();
        for file in &transcripts {
            let path = files::transcript_name(file);
            let is_misplaced =
                known.get(&path).is_some_and(|known| is_misplaced(known, &self.0.parts.config));
            if is_misplaced || !is_known(&known, &path, file) {
                grown.push(file.clone());
            }
            names.insert(path);
        }
        work.extend(self.conversations(grown, &known).await?.into_iter().map(Work::Conversation));
        let is_gone = |path: &String, known: &Known| {
            (changed.everything || known.kind == NOTE) && !names.contains(path)
        };
        let gone = known.iter().filter(|(path, known)| is_gone(path, known));
        work.extend(gone.map(|(path, _)| Work::Gone(path.clone())));
        if changed.everything {
            self.0.looks.fetch_add(1, Ordering::Relaxed);
        } else {
            work.extend(self.work_on(&changed.transcripts).await?.0);
        }
        Ok((work, notes.len() + transcripts.len()))
    }

    /// What is to be read of some transcripts.
    async fn work_on(&self, transcripts: &HashSet<String>) -> Result<(Vec<Work>, usize), MemoryError> {
        let folder = &self.0.parts.places.transcripts;
        let files: Vec<PathBuf> = transcripts.iter().map(|name| folder.join(name)).collect();
        let paths: Vec<String> = files.iter().map(|file| files::transcript_name(file)).collect();
        let known = self.blocking(move |memory| memory.0.recall.known_of(&paths)).await?;
        let count = files.len();
        let conversations = self.conversations(files, &known).await?;
        Ok((conversations.into_iter().map(Work::Conversation).collect(), count))
    }

    /// Builds the index anew beside the one that is there, and puts it in its place when it is whole. Until
    /// then everybody finds what they found before.
    pub async fn rebuild(&self, progress: OnProgress<'_>) -> Result<Synced, MemoryError> {
        let draft = Draft::beside(&self.0.parts.places.index);
        let places = Places { index: draft.0.clone(), ..self.0.parts.places.clone() };
        let beside = Self::open(Parts { places, ..self.0.parts.clone() })?;
        let old = self.0.recall.path().to_owned();
        beside.blocking(move |memory| memory.0.recall.inherit(&old)).await?;
        let synced = beside.sync(progress).await?;
        let _one = self.0.syncing.lock().await;
        let path = draft.0.clone();
        self.blocking(move |memory| memory.0.recall.become_like(&path)).await?;
        // What was said meanwhile was read into the index that is no more.
        let meanwhile = self.read_as_told(Changed::everything(), &|_| {}).await?;
        Ok(Synced { added: synced.added + meanwhile.added, ..synced })
    }

    /// How many files are not in the index as they are.
    pub async fn unread_files(&self) -> Result<usize, MemoryError> {
        let workspace = self.0.parts.places.workspace.clone();
        let Survey { notes, transcripts, known } = self.survey(true).await?;
        let notes = notes.iter().map(|file| (files::memory_name(file, &workspace), file));
        let said = transcripts.iter().map(|file| (files::transcript_name(file), file));
        let there: HashMap<String, &PathBuf> = notes.chain(said).collect();
        let changed = there.iter().filter(|(path, file)| !is_known(&known, path, file)).count();
        let gone = known.keys().filter(|path| !there.contains_key(*path)).count();
        Ok(changed + gone)
    }

    /// What files there are, or what notes, and what is known of them.
    async fn survey(&self, with_transcripts: bool) -> Result<Survey, MemoryError> {
        self.blocking(move |memory| {
            let places = &memory.0.parts.places;
            let notes = if places.has_notes {
                files::memory_files(&places.workspace, &places.extra_paths)
            } else {
                Vec::new()
            };
            let transcripts = match with_transcripts && places.has_sessions {
                true => files::transcripts(&places.transcripts),
                false => Vec::new(),
            };
            Ok(Survey { notes, transcripts, known: memory.0.recall.known()? })
        })
        .await
    }

    /// A transcript has grown: what is new in it is found from now on. Whoever searches reads it; otherwise it is
    /// read in a moment, with whatever else was said by then, and not while somebody waits for an answer.
    pub fn grew(&self, id: &TranscriptId) {
        if !self.0.parts.places.has_sessions {
            return;
        }
        self.0.news.tell(Told::Transcript(id.file_name()));
        let Ok(runtime) = Handle::try_current() else { return };
        if !self.0.reads_soon.swap(true, Ordering::AcqRel) {
            let memory = self.clone();
            runtime.spawn(async move {
                tokio::time::sleep(SOON).await;
                memory.0.reads_soon.store(false, Ordering::Release);
                memory.catch_up().await;
            });
        }
    }

    /// A conversation begins, or goes on after a while.
    pub(crate) fn begins(&self, id: &TranscriptId) {
        self.0.news.tell(Told::Begins(id.file_name()));
    }

    /// Reads and embeds what is known to have changed, with nobody waiting for it.
    pub(crate) async fn catch_up(&self) {
        if let Err(error) = self.read_news().await {
            tracing::warn!(%error, "what is new was not indexed");
        }
        // Without its vector something is found by its words, and the next one tries again.
        if let Err(problem) = self.embed_what_is_new(&mut |_| {}).await {
            tracing::debug!(problem, "what is new was not embedded");
        }
    }

    pub(crate) fn news(&self) -> &Arc<News> {
        &self.0.news
    }

    /// Who hears of every change from now on, or that nobody does.
    pub(crate) fn listen_to(&self, watch: Option<Arc<Watch>>) {
        // Whatever happened before that was not heard.
        self.0.news.put_back(Changed::everything());
        *self.0.watch.lock().unwrap_or_else(PoisonError::into_inner) = watch;
    }

    pub(crate) fn watch(&self) -> Option<Arc<Watch>> {
        self.0.watch.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How often all files were looked at since this memory was opened.
    pub fn looks(&self) -> u64 {
        self.0.looks.load(Ordering::Relaxed)
    }

    /// Has the model look at everything that it has not seen yet. Comes back with why it stopped.
    pub async fn embed(&self, progress: OnProgress<'_>) -> Result<Embedded, String> {
        let mut embedded = self.embedded().await.map_err(told)?;
        let mut show = |more: u32| {
            embedded.done = embedded.done.saturating_add(more);
            // More may have been said meanwhile.
            embedded.all = embedded.all.max(embedded.done);
            progress(Progress { done: embedded.done as usize, all: embedded.all as usize });
        };
        show(0);
        self.embed_what_is_new(&mut show).await?;
        Ok(embedded)
    }

    /// The same without counting what there is: it costs what is new.
    async fn embed_what_is_new(&self, done: &mut (dyn FnMut(u32) + Send)) -> Result<(), String> {
        let Some(meaning) = &self.0.parts.meaning else { return Ok(()) };
        let _one = self.0.embedding.lock().await;
        let (model, embedder, notes_only) = (meaning.name(), &meaning.embedder, !meaning.sees_sessions);
        loop {
            let of = model.clone();
            let unseen = self
                .blocking(move |memory| memory.0.recall.unembedded(&of, TEXTS, notes_only))
                .await
                .map_err(told)?;
            if unseen.is_nothing() {
                return Ok(());
            }
            done(unseen.filled_in);
            let texts: Vec<String> = unseen.documents.iter().map(|document| document.text.clone()).collect();
            if texts.is_empty() {
                continue;
            }
            let vectors = embedder.documents(&texts).await.map_err(told)?;
            if vectors.len() != texts.len() {
                return Err(format!(
                    "{} gave {} vectors for {} texts",
                    embedder.provider(),
                    vectors.len(),
                    texts.len()
                ));
            }
            #[expect(clippy::cast_possible_truncation, reason = "vectors are not that precise")]
            let narrow =
                |vector: Vec<f64>| vector.into_iter().map(|number| number as f32).collect::<Vec<f32>>();
            let vectors: Vec<_> = unseen.documents.into_iter().zip(vectors.into_iter().map(narrow)).collect();
            let (of, count) = (model.clone(), u32::try_from(vectors.len()).unwrap_or(u32::MAX));
            self.blocking(move |memory| memory.0.recall.embed(&of, &vectors)).await.map_err(told)?;
            done(count);
        }
    }

    /// What a question means to the model, if there is one that has seen something.
    async fn meaning_of(
        &self,
        question: &str,
        patience: Duration,
        unread: &mut Vec<String>,
    ) -> Option<Meant> {
        let meaning = self.0.parts.meaning.as_ref()?;
        let (model, embedder) = (meaning.name(), &meaning.embedder);
        let of = model.clone();
        if !self.blocking(move |memory| memory.0.recall.has_embedded(&of)).await.ok()? {
            return None;
        }
        match tokio::time::timeout(patience, embedder.query(question)).await {
            Ok(Ok(vector)) if vector.is_empty() => None,
            #[expect(clippy::cast_possible_truncation, reason = "vectors are not that precise")]
            Ok(Ok(vector)) => Some(Meant {
                model,
                vector: vector.into_iter().map(|number| number as f32).collect(),
                least: embedder.least_likeness(),
            }),
            Ok(Err(error)) => {
                unread.push(format!("what is alike in meaning: {error}"));
                None
            }
            Err(_) => {
                unread.push(format!(
                    "what is alike in meaning: {} did not answer in time",
                    embedder.provider()
                ));
                None
            }
        }
    }

    /// Transcripts with what is known of whose they are.
    async fn conversations(
        &self,
        files: Vec<PathBuf>,
        known: &HashMap<String, Known>,
    ) -> Result<Vec<Conversation>, MemoryError> {
        if files.is_empty() {
            return Ok(Vec::new());
        }
        let parts = &self.0.parts;
        let records = match self.records_of(&files, known).await? {
            Some(records) => records,
            // The one that changed last comes last: of two with one transcript it counts.
            None => self.newest_records(usize::MAX).await?.into_iter().rev().collect(),
        };
        let of_file: HashMap<String, &(SessionKey, SessionEntry)> = records
            .iter()
            .filter_map(|record| Some((TranscriptId::of_record(&record.1).ok()?.file_name(), record)))
            .collect();
        let record_of = |key: &SessionKey| {
            records.iter().find(|(known, _)| known == key).map(|(_, record)| record.clone())
        };
        // Where agents share their records, nobody knows whose a transcript without one is.
        let is_shared = records.iter().any(|(key, _)| !self.is_ours(key));
        let mut conversations = Vec::new();
        for file in files {
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let path = files::transcript_name(&file);
            let session_id = Some(session_in(&name).to_owned());
            let agent = parts.places.agent.as_str().to_owned();
            let nobodys = Conversation {
                file,
                path: path.clone(),
                agent,
                session_key: None,
                session_id,
                channel: None,
                chat_type: None,
                audience: Audience::Owner,
            };
            conversations.push(match of_file.get(&name) {
                Some((key, _)) if !self.is_ours(key) => continue,
                Some((key, record)) => {
                    let audience = Audience::of(key, Some(record), &record_of);
                    Conversation {
                        session_key: Some(key.as_str().to_owned()),
                        channel: channel_of(key, record),
                        chat_type: record.chat_type().map(|kind| ChatType::as_str(kind).to_owned()),
                        audience: owned(audience, &parts.config),
                        ..nobodys
                    }
                }
                // Whose it was when it was last read; a conversation that began anew keeps its old transcripts.
                None => match known.get(&path) {
                    Some(known) => Conversation {
                        session_key: known.session_key.clone(),
                        channel: known.channel.clone(),
                        chat_type: known.chat_type.clone(),
                        audience: Audience::of_text(&known.audience),
                        ..nobodys
                    },
                    None if is_shared => continue,
                    None => nobodys,
                },
            });
        }
        Ok(conversations)
    }

    /// The records that changed last, the last one first, without what only runs need: there may be thousands.
    async fn newest_records(&self, most: usize) -> Result<Vec<(SessionKey, SessionEntry)>, MemoryError> {
        let choice = Choice { keys: Box::new(|_| true), records: None, most };
        Ok(self.0.parts.sessions.newest(choice).await?.entries)
    }

    /// The records of transcripts that still belong to the sessions they belonged to, or to sessions that changed
    /// just now, as those do in which something is said: a message costs the same however many sessions there are.
    /// `None` if somebody has to look at all of them.
    async fn records_of(
        &self,
        files: &[PathBuf],
        known: &HashMap<String, Known>,
    ) -> Result<Option<Vec<(SessionKey, SessionEntry)>>, MemoryError> {
        const FEW: usize = 64;
        if files.len() > FEW {
            return Ok(None);
        }
        let mut newest = None;
        let mut records = Vec::with_capacity(files.len());
        for file in files {
            let is_its = |record: &SessionEntry| {
                TranscriptId::of_record(record).is_ok_and(|id| file.ends_with(id.file_name()))
                    && record.spawned_by().is_none()
            };
            let known =
                known.get(&files::transcript_name(file)).and_then(|known| known.session_key.as_deref());
            if let Some(key) = known.map(SessionKey::new)
                && let Some(record) = self.0.parts.sessions.get(&key).await?.filter(is_its)
            {
                records.push((key, record));
                continue;
            }
            let newest = match &mut newest {
                Some(newest) => newest,
                None => newest.insert(self.newest_records(FEW).await?),
            };
            let Some(found) = newest.iter().find(|(_, record)| is_its(record)) else { return Ok(None) };
            records.push(found.clone());
        }
        Ok(Some(records))
    }

    fn is_ours(&self, key: &SessionKey) -> bool {
        key.agent_key().is_none() || key.agent_id() == self.0.parts.places.agent
    }

    async fn read(&self, work: &[Work], synced: &mut Synced) -> Result<(), MemoryError> {
        let files = work.to_vec();
        let outcomes =
            self.blocking(move |memory| memory.0.recall.index(&files, &memory.0.parts.secrets)).await?;
        for (work, outcome) in work.iter().zip(outcomes) {
            match outcome {
                Ok(indexed) => synced.added += indexed.added,
                Err(problem) => {
                    self.0.news.put_back(still_unread(work));
                    synced.unread.push(problem);
                }
            }
        }
        Ok(())
    }

    /// Who looks, from a session.
    pub async fn viewer(&self, key: &SessionKey, is_owner_alone: bool) -> Result<Viewer, MemoryError> {
        let record = self.0.parts.sessions.get(key).await?;
        let spawner_of = |record: Option<&SessionEntry>| {
            record.and_then(|record| record.spawned_by()).map(SessionKey::new)
        };
        let mut above: Vec<(SessionKey, SessionEntry)> = Vec::new();
        let mut spawner = spawner_of(record.as_ref());
        // A task's task belongs to whoever the first was given for; the rule looks no further than this.
        while let Some(key) = spawner.filter(|_| above.len() < MOST_SPAWNERS) {
            let Some(record) = self.0.parts.sessions.get(&key).await? else { break };
            spawner = spawner_of(Some(&record));
            above.push((key, record));
        }
        let record_of =
            |key: &SessionKey| above.iter().find(|(known, _)| known == key).map(|(_, record)| record.clone());
        let audience = owned(Audience::of(key, record.as_ref(), &record_of), &self.0.parts.config);
        Ok(Viewer::new(key.clone(), audience, is_owner_alone, &self.0.parts.config))
    }

    pub fn recall(&self) -> &Recall {
        &self.0.recall
    }

    pub(crate) fn config(&self) -> &Config {
        &self.0.parts.config
    }

    pub fn places(&self) -> &Places {
        &self.0.parts.places
    }

    pub fn ranking(&self) -> &Ranking {
        &self.0.parts.ranking
    }

    pub fn meaning(&self) -> Option<&Meaning> {
        self.0.parts.meaning.as_ref()
    }

    /// How far the model has come with what is remembered.
    pub async fn embedded(&self) -> Result<Embedded, MemoryError> {
        let Some(meaning) = &self.0.parts.meaning else { return Ok(Embedded::default()) };
        let (model, notes_only) = (meaning.name(), !meaning.sees_sessions);
        self.blocking(move |memory| memory.0.recall.embedded(&model, notes_only)).await
    }

    /// Runs away from the threads that wait.
    pub async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, RecallError> + Send + 'static,
    ) -> Result<T, MemoryError> {
        let memory = self.clone();
        let done = tokio::task::spawn_blocking(move || work(&memory)).await;
        done.map_err(|_| MemoryError::Interrupted)?.map_err(MemoryError::from)
    }
}

/// The files of a memory.
struct Survey {
    notes: Vec<PathBuf>,
    transcripts: Vec<PathBuf>,
    known: HashMap<String, Known>,
}

/// An index that nobody sees yet; it goes away with whoever works on it.
struct Draft(PathBuf);

impl Draft {
    fn beside(index: &Path) -> Self {
        Self(PathBuf::from(format!("{}.tmp-{}", index.display(), uuid::Uuid::new_v4())))
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        for ending in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(format!("{}{ending}", self.0.display()));
        }
    }
}

/// What is to be tried again, and told again, at the next occasion.
fn still_unread(work: &Work) -> Changed {
    match work {
        Work::Conversation(conversation) => Changed {
            transcripts: conversation
                .file
                .file_name()
                .map(|name| name.to_string_lossy().into_owned())
                .into_iter()
                .collect(),
            ..Changed::default()
        },
        Work::Note(_) => Changed { notes: true, ..Changed::default() },
        Work::Gone(_) => Changed::default(),
    }
}

fn told(error: impl ToString) -> String {
    error.to_string()
}

fn is_known(known: &HashMap<String, Known>, path: &str, file: &Path) -> bool {
    known.get(path).is_some_and(|known| known.is_as(file))
}

/// The platform of a conversation.
fn channel_of(key: &SessionKey, record: &SessionEntry) -> Option<String> {
    let named = record.channel().or(record.last_channel()).map(str::to_owned);
    named.or_else(|| key.group().map(|group| group.channel)).map(|channel| channel.to_lowercase())
}

/// Whether the configuration says something else about whose a conversation is than it did when that was read.
fn is_misplaced(known: &Known, config: &Config) -> bool {
    let stored = Audience::of_text(&known.audience);
    match &stored {
        Audience::Person(_) => owned(stored.clone(), config) != stored,
        Audience::Owner => known.session_key.as_ref().is_some_and(|key| {
            let by_key = Audience::of(&SessionKey::new(key.clone()), None, &|_| None);
            matches!(by_key, Audience::Person(_)) && owned(by_key, config) != Audience::Owner
        }),
        Audience::Room(_) => false,
    }
}

/// A person who is known as the owner is the owner.
fn owned(audience: Audience, config: &Config) -> Audience {
    let Audience::Person(name) = &audience else { return audience };
    if is_owner(name, config) { Audience::Owner } else { audience }
}

#[async_trait]
impl Recollection for Memory {
    async fn recollect(&self, asked: Asked) -> Vec<Remembered> {
        let Ok(viewer) = self.viewer(&asked.session_key, asked.is_owner_alone).await else {
            return Vec::new();
        };
        let search = Search {
            text: asked.words,
            viewer,
            filter: Filter { current_session: Some(asked.session_id.clone()), ..Filter::default() },
            most: asked.most + asked.told.len().min(MOST_TOLD),
            least: 0.0,
            around: 1,
            now: asked.now,
            zone: TimeZone::system(),
        };
        let found = self.search_within(search, UNASKED).await.unwrap_or_else(|error| {
            tracing::warn!(%error, "nothing was remembered for a message");
            Found::default()
        });
        // What is told anyway need not be remembered.
        let is_told = |hit: &Hit| {
            let is_here = hit.session_id.as_ref() == Some(&asked.session_id);
            is_here && hit.unit.entry.as_ref().is_some_and(|entry| asked.told.contains(entry))
        };
        let remembered = |hit: &Hit| Remembered { score: f64::from(hit.score), text: shown::snippet(hit) };
        found.hits.iter().filter(|hit| !is_told(hit)).take(asked.most).map(remembered).collect()
    }

    async fn catch_up(&self) {
        if self.0.news.is_read() {
            return;
        }
        let memory = self.clone();
        // What was begun is done also if nobody waits for it any longer.
        let reading = tokio::spawn(async move { memory.read_news().await });
        if !matches!(tokio::time::timeout(UNASKED.news, reading).await, Ok(Ok(Ok(_)))) {
            tracing::warn!("what was said last is not in the memory yet");
        }
    }
}
