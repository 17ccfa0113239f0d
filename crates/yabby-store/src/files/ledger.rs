//! What every call of a model used: `usage/YYYY-MM.jsonl`, a file a month (`sessions.md` §14).
//!
//! Whoever hands over a call goes on at once. A thread of its own writes all that wait together; from then
//! on they survive the end of the process, and once the ledger is closed a power failure. Any number of
//! processes may write one file: the system's lock on it is held for one write.

pub mod budget;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use jiff::tz::TimeZone;
use yabby_domain::ledger::{CallRecord, Filter};
use yabby_domain::seam::StoreError;
use yabby_domain::seam::ledger::Ledger;

use super::folder::{open_plain, plain};
use super::sessions::Notice;
use crate::disk::{Disk, Doing, LocalDisk, shown, write_all};
use budget::Purse;

/// The ledger of one folder. Dropping the last handle writes and syncs what is left.
#[derive(Clone)]
pub struct UsageLedger(Arc<Handle>);

struct Handle {
    folder: PathBuf,
    sender: Sender<Message>,
    writer: Option<JoinHandle<()>>,
    /// Shared, since every turn asks before it calls a model.
    purse: Mutex<Purse>,
}

enum Message {
    Record(Box<CallRecord>),
    Flush { reply: Sender<Result<(), StoreError>> },
    Notices { reply: Sender<Vec<String>> },
    Close,
}

impl UsageLedger {
    /// The ledger in the folder, which need not exist. Nothing is written before the first call.
    pub fn open(folder: impl Into<PathBuf>) -> Result<Self, StoreError> {
        Self::open_with(folder, Arc::new(LocalDisk))
    }

    pub fn open_with(folder: impl Into<PathBuf>, disk: Arc<dyn Disk>) -> Result<Self, StoreError> {
        let folder = folder.into();
        // Whoever changes the current folder later does not mean this one.
        let folder = std::path::absolute(&folder).doing("resolve", &folder)?;
        let (sender, receiver) = mpsc::channel();
        let writer = Writer { disk, folder: folder.clone(), ..Writer::default() };
        let named = thread::Builder::new().name("usage ledger".to_owned());
        let run = move || {
            // A turn does not wait for its line. Elsewhere it would be the whole process that is nice.
            #[cfg(target_os = "linux")]
            let _ = rustix::process::nice(10);
            writer.run(&receiver);
        };
        let writer = named.spawn(run).doing("start a thread for", &folder)?;
        Ok(Self(Arc::new(Handle { folder, sender, writer: Some(writer), purse: Mutex::default() })))
    }

    /// Comes back when every call that was handed over survives a power failure.
    pub fn flush(&self) -> Result<(), StoreError> {
        self.ask(|reply| Message::Flush { reply })?
    }

    /// What came up since this was last asked.
    pub fn notices(&self) -> Result<Vec<Notice>, StoreError> {
        Ok(self.ask(|reply| Message::Notices { reply })?.into_iter().map(Notice).collect())
    }

    /// Lets go of the ledger without holding up a runtime. Dropping the last handle waits for the disk.
    pub async fn close(self) {
        // If the runtime is going down, nothing was to be waited for.
        let _ = tokio::task::spawn_blocking(move || drop(self)).await;
    }

    fn ask<T>(&self, message: impl FnOnce(Sender<T>) -> Message) -> Result<T, StoreError> {
        let (reply, answer) = mpsc::channel();
        let closed = || StoreError::Closed { path: shown(&self.0.folder) };
        self.0.sender.send(message(reply)).map_err(|_| closed())?;
        answer.recv().map_err(|_| closed())
    }
}

impl Ledger for UsageLedger {
    fn record(&self, call: CallRecord) {
        // The thread ends with the last handle only.
        let _ = self.0.sender.send(Message::Record(Box::new(call)));
    }

    fn refusal(&self, call: &CallRecord, zone: &TimeZone) -> Option<String> {
        let mut purse = self.0.purse.lock().unwrap_or_else(PoisonError::into_inner);
        purse.refusal(&self.0.folder, call, zone)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let _ = self.sender.send(Message::Close);
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

struct Writer {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
    /// Lines that are not written yet, by month.
    waiting: BTreeMap<String, Vec<String>>,
    /// Months whose files were written and not synced.
    unsynced: BTreeSet<String>,
    /// Months whose files have a durable name.
    named: BTreeSet<String>,
    notices: Vec<String>,
}

impl Default for Writer {
    fn default() -> Self {
        Self {
            disk: Arc::new(LocalDisk),
            folder: PathBuf::new(),
            waiting: BTreeMap::new(),
            unsynced: BTreeSet::new(),
            named: BTreeSet::new(),
            notices: Vec::new(),
        }
    }
}

/// How many calls are written at once.
const BATCH: usize = 1024;

impl Writer {
    fn run(mut self, messages: &Receiver<Message>) {
        while let Ok(first) = messages.recv() {
            for message in std::iter::once(first).chain(messages.try_iter().take(BATCH)) {
                match message {
                    Message::Record(call) => self.take(&call),
                    Message::Flush { reply } => {
                        let _ = reply.send(self.flush());
                    }
                    Message::Notices { reply } => {
                        let _ = reply.send(std::mem::take(&mut self.notices));
                    }
                    Message::Close => {
                        // Nobody is left to be told.
                        let _ = self.flush();
                        return;
                    }
                }
            }
            if let Err(error) = self.write() {
                self.notice(format!("calls of models are not written down for now: {error}"));
            }
        }
    }

    fn take(&mut self, call: &CallRecord) {
        /// What cannot be written must not fill the memory.
        const MOST: usize = 10_000;
        let lines = self.waiting.entry(call.month()).or_default();
        if lines.len() == MOST {
            lines.remove(0);
        }
        lines.push(call.line() + "\n");
    }

    /// Writes what waits; what fails goes on waiting.
    fn write(&mut self) -> Result<(), StoreError> {
        while let Some((month, lines)) = self.waiting.pop_first() {
            if let Err(error) = self.append(&month, lines.concat().as_bytes()) {
                self.waiting.insert(month, lines);
                return Err(error);
            }
            self.unsynced.insert(month);
        }
        Ok(())
    }

    fn append(&self, month: &str, lines: &[u8]) -> Result<(), StoreError> {
        let path = self.path(month);
        let opened = match self.disk.open_append(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.disk.create_folder(&self.folder).doing("create", &self.folder)?;
                self.disk.open_append(&path)
            }
            opened => opened,
        };
        let file = opened.and_then(plain).doing("open", &path)?;
        file.lock().doing("lock", &path)?;
        let length = file.metadata().doing("look at", &path)?.len();
        // A line that somebody died over is never glued to.
        let bytes = match ends_in_line_feed(&file, length).doing("read", &path)? {
            true => lines.to_vec(),
            false => [b"\n", lines].concat(),
        };
        write_all(&*self.disk, &file, &bytes).doing("write", &path).inspect_err(|_| {
            // A part of it would be read as damage; if this fails as well, that is what it is.
            let _ = self.disk.truncate(&file, length);
        })
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        self.write()?;
        while let Some(month) = self.unsynced.first().cloned() {
            let path = self.path(&month);
            let file = self.disk.open_append(&path).doing("open", &path)?;
            self.disk.sync(&file).doing("sync", &path)?;
            if !self.named.contains(&month) {
                self.disk.sync_folder(&self.folder).doing("sync", &self.folder)?;
                self.named.insert(month.clone());
            }
            self.unsynced.remove(&month);
        }
        Ok(())
    }

    fn path(&self, month: &str) -> PathBuf {
        self.folder.join(format!("{month}.jsonl"))
    }

    fn notice(&mut self, notice: String) {
        if !self.notices.contains(&notice) {
            self.notices.push(notice);
        }
    }
}

fn ends_in_line_feed(file: &File, length: u64) -> io::Result<bool> {
    let mut last = [b'\n'];
    if let Some(at) = length.checked_sub(1) {
        file.read_exact_at(&mut last, at)?;
    }
    Ok(last == *b"\n")
}

/// What stands in the file of a month.
#[derive(Clone, Debug, Default)]
pub struct Month {
    pub path: PathBuf,
    pub calls: Vec<CallRecord>,
    /// Lines that are no calls, counted from one.
    pub damaged: Vec<usize>,
}

/// The months from this one on, e.g. `2026-02`; `None` is all of them. None if there is no folder.
pub fn read(folder: &Path, since: Option<&str>) -> Result<Vec<Month>, StoreError> {
    let mut months = Vec::new();
    for path in files(folder)? {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        if since.is_none_or(|first| *name >= *first) {
            months.push(read_month(path)?);
        }
    }
    Ok(months)
}

/// The months in which there are calls that a filter keeps, with those alone.
pub fn find(folder: &Path, filter: &Filter, zone: &TimeZone) -> Result<Vec<Month>, StoreError> {
    // Months change in Greenwich: a day may begin in the month before.
    let first = filter.since.and_then(|day| day.yesterday().ok());
    let first = first.map(|day| day.strftime("%Y-%m").to_string());
    let mut months = read(folder, first.as_deref())?;
    for month in &mut months {
        month.calls.retain(|call| filter.keeps(call, zone));
    }
    Ok(months)
}

/// The files of the ledger, in their order.
fn files(folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.doing("list", folder)?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry.doing("list", folder)?;
        if entry.file_name().to_str().is_some_and(is_month) {
            files.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}

/// Whether it is the name of a file of the ledger.
pub(crate) fn is_month(name: &str) -> bool {
    let Some((year, month)) = name.strip_suffix(".jsonl").and_then(|name| name.split_once('-')) else {
        return false;
    };
    let is_number = |text: &str, length| text.len() == length && text.bytes().all(|b| b.is_ascii_digit());
    is_number(year, 4) && is_number(month, 2)
}

fn read_month(path: PathBuf) -> Result<Month, StoreError> {
    let mut bytes = Vec::new();
    let read = open_plain(&path).and_then(|file| io::Read::read_to_end(&mut &file, &mut bytes));
    read.doing("read", &path)?;
    let mut month = Month { path, ..Month::default() };
    for (at, line) in bytes.split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty()) {
        match std::str::from_utf8(line).ok().and_then(CallRecord::parse) {
            Some(call) => month.calls.push(call),
            None => month.damaged.push(at + 1),
        }
    }
    Ok(month)
}
