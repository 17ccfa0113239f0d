//! The one thread that writes a process's file.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use tokio::sync::oneshot;
use yabby_domain::seam::journal::Promise;
use yabby_domain::seam::{Clock, StoreError};
use yabby_domain::turn::retention::{merged, retained};
use yabby_domain::turn::{Record, Step, TurnId};

use super::Settings;
use super::adopting::{Inheritance, Lingering};
use super::name::Kind;
use super::own_file::OwnFile;
use super::reading::{Text, damage, lines, records};
use crate::disk::{Disk, parent, shown};

pub(super) enum Message {
    Append(Append),
    Replay { reply: oneshot::Sender<Result<Vec<Record>, StoreError>> },
    Read { turn: TurnId, reply: oneshot::Sender<Result<Vec<Record>, StoreError>> },
    Notices { reply: oneshot::Sender<Vec<String>> },
    Close,
}

/// Records on their way to the file.
pub(super) struct Append {
    lines: Vec<u8>,
    begun: Vec<TurnId>,
    settled: Vec<TurnId>,
    promise: Promise,
    reply: oneshot::Sender<Result<(), StoreError>>,
}

impl Append {
    /// Whoever appends makes the lines, so that the thread of all has less to do.
    pub(super) fn new(
        records: Vec<Record>,
        promise: Promise,
        reply: oneshot::Sender<Result<(), StoreError>>,
    ) -> Self {
        let lines = lines(&records);
        let (mut begun, mut settled) = (Vec::new(), Vec::new());
        for Record { turn, step, .. } in records {
            match step {
                Step::Accepted(_) => begun.push(turn),
                Step::Settled { .. } => settled.push(turn),
                _ => {}
            }
        }
        Self { lines, begun, settled, promise, reply }
    }
}

pub(super) struct Writer {
    kind: Kind,
    disk: Arc<dyn Disk>,
    clock: Arc<dyn Clock>,
    limit: u64,
    /// A longer file is written anew.
    threshold: u64,
    file: OwnFile,
    /// Turns in the file that are not settled.
    unsettled: HashSet<TurnId>,
    /// Files that were adopted and may still be there.
    lingering: Vec<Lingering>,
    notices: Vec<String>,
    /// What was noticed before, not to be told twice.
    noticed: HashSet<String>,
}

/// How many adopted files stay where they are.
const MOST_LINGERING: usize = 8;

/// How many appends may share a sync.
const BATCH: usize = 1024;

impl Writer {
    pub(super) fn new(path: PathBuf, kind: Kind, settings: Settings) -> Self {
        let Settings { disk, clock, limit } = settings;
        Self {
            kind,
            file: OwnFile::new(disk.clone(), path),
            disk,
            clock,
            limit,
            threshold: limit,
            unsettled: HashSet::new(),
            lingering: Vec::new(),
            notices: Vec::new(),
            noticed: HashSet::new(),
        }
    }

    /// Serves until it is told to close.
    pub(super) fn run(mut self, messages: &Receiver<Message>) {
        while let Ok(first) = messages.recv() {
            let mut appends = Vec::new();
            for message in std::iter::once(first).chain(messages.try_iter().take(BATCH)) {
                if let Message::Append(append) = message {
                    appends.push(append);
                    continue;
                }
                // Who asks after an append sees it.
                self.commit(std::mem::take(&mut appends));
                match message {
                    Message::Replay { reply } => {
                        let _ = reply.send(self.replay());
                    }
                    Message::Read { turn, reply } => {
                        let _ = reply.send(self.records_of(&turn));
                    }
                    Message::Notices { reply } => {
                        let _ = reply.send(std::mem::take(&mut self.notices));
                    }
                    Message::Close => return self.close(),
                    Message::Append(_) => {}
                }
            }
            self.commit(appends);
        }
    }

    /// Writes everything that waits with one write, and syncs once if anybody wants it.
    fn commit(&mut self, appends: Vec<Append>) {
        if appends.is_empty() {
            return;
        }
        let all = lines_of(&appends);
        let start = match self.file.write(&all) {
            Ok(start) => start,
            Err(error) => return answer(appends, &Err(error)),
        };
        let is_durable = |append: &Append| append.promise == Promise::Durable;
        let (durable, written): (Vec<Append>, Vec<Append>) = appends.into_iter().partition(is_durable);
        self.take_note(&written);
        let kept = lines_of(&written);
        answer(written, &Ok(()));
        if !durable.is_empty() {
            let synced = self.file.sync();
            match &synced {
                Ok(()) => self.take_note(&durable),
                Err(_) => self.file.take_back(start, kept),
            }
            answer(durable, &synced);
        }
        self.let_go_of_adopted();
        if self.file.length() > self.threshold {
            self.write_anew();
        }
    }

    fn take_note(&mut self, appends: &[Append]) {
        for append in appends {
            self.unsettled.extend(append.begun.iter().cloned());
            for turn in &append.settled {
                self.unsettled.remove(turn);
                for file in &mut self.lingering {
                    file.unsettled.remove(turn);
                }
            }
        }
    }

    /// Writes the file anew without what is settled. What is left may double before the next time, so
    /// that it is not done over and over where nothing is settled.
    fn write_anew(&mut self) {
        if let Err(error) = self.shortened().and_then(|text| self.file.replace(&text)) {
            self.notice(format!("{} stays long: {error}", shown(self.file.path())));
        }
        self.threshold = self.limit.max(self.file.length().saturating_mul(2));
    }

    /// What is left of the file's text when it is written anew.
    fn shortened(&mut self) -> Result<Vec<u8>, StoreError> {
        self.let_go_of_adopted();
        let (text, mut damaged) = (self.file.text()?, Vec::new());
        let shortened = lines(self.retained(records(&text, &mut damaged)));
        if !damaged.is_empty() {
            self.file.keep_copy()?;
        }
        self.notice_damage(&damaged);
        Ok(shortened)
    }

    fn retained(&self, records: impl IntoIterator<Item = Record>) -> impl Iterator<Item = Record> {
        let now = self.clock.now().as_millisecond();
        // While a file with its beginning may come back, it has to be known that a turn is settled.
        retained(records, now, |turn| self.lingering.iter().any(|file| file.turns.contains(turn)))
    }

    fn read_own(&mut self) -> Result<Vec<Record>, StoreError> {
        let text = Text::read(&self.file.text()?);
        self.notice_damage(&text.damaged);
        Ok(text.records)
    }

    /// The records of a turn, also those in adopted files: a turn goes on in our own file that began in another one.
    fn records_of(&mut self, turn: &TurnId) -> Result<Vec<Record>, StoreError> {
        let (text, mut damaged) = (self.file.text()?, Vec::new());
        let is_of_turn = |record: &Record| record.turn == *turn;
        let mut journals = vec![records(&text, &mut damaged).filter(is_of_turn).collect()];
        self.notice_damage(&damaged);
        for file in self.lingering.iter().filter(|file| file.turns.contains(turn)) {
            journals.push(file.records()?.into_iter().filter(is_of_turn).collect());
        }
        Ok(merged(journals))
    }

    fn notice_damage(&mut self, damaged: &[usize]) {
        if !damaged.is_empty() {
            self.notice(damage(&shown(self.file.path()), damaged));
        }
    }

    /// What is to be gone on with: our own, and what others left behind. Their files are read and stay where they are
    /// until their turns are settled.
    fn replay(&mut self) -> Result<Vec<Record>, StoreError> {
        let own = self.read_own()?;
        let inheritance = Inheritance::find(&*self.disk, parent(self.file.path()), self.kind)?;
        for notice in &inheritance.notices {
            self.notice(notice.clone());
        }
        let mut journals = vec![own];
        for file in &self.lingering {
            journals.push(file.records()?);
        }
        journals.extend(inheritance.journals);
        self.lingering.extend(inheritance.files);
        let records = merged(journals);
        let of = |is: fn(&Step) -> bool| -> HashSet<TurnId> {
            records.iter().filter(|record| is(&record.step)).map(|record| record.turn.clone()).collect()
        };
        let settled = of(|step| matches!(step, Step::Settled { .. }));
        let mut unsettled = of(|step| matches!(step, Step::Accepted(_)));
        unsettled.retain(|turn| !settled.contains(turn));
        for file in &mut self.lingering {
            file.unsettled.retain(|turn| unsettled.contains(turn));
        }
        self.unsettled.extend(unsettled);
        if self.lingering.len() > MOST_LINGERING {
            self.gather(&records)?;
        }
        self.let_go_of_adopted();
        Ok(retained(records, self.clock.now().as_millisecond(), |_| false).collect())
    }

    /// Writes everything that is still of use into our own file: one that is killed again and again leaves a file each
    /// time.
    fn gather(&mut self, records: &[Record]) -> Result<(), StoreError> {
        let text = lines(self.retained(records.iter().cloned()));
        self.file.replace(&text)?;
        self.lingering.iter_mut().for_each(|file| file.unsettled.clear());
        Ok(())
    }

    /// Removes files whose turns are all settled, once our own file knows what repeated deliveries of their messages
    /// are recognised by. What cannot be removed stays locked, so that nobody else takes it for left behind, and is
    /// tried again later.
    fn let_go_of_adopted(&mut self) {
        let is_done = |file: &Lingering| file.unsettled.is_empty();
        if !self.lingering.iter().any(is_done) {
            return;
        }
        let folder = parent(self.file.path()).to_owned();
        let mut failed = self.keep_settled().err().map(|error| error.to_string());
        if failed.is_none() {
            for file in self.lingering.iter_mut().filter(|file| file.unsettled.is_empty()) {
                failed = file.remove(&*self.disk).err().map(|error| error.to_string()).or(failed);
            }
            if self.lingering.iter().any(Lingering::is_gone) {
                match self.disk.sync_folder(&folder) {
                    Ok(()) => self.lingering.retain(|file| !file.is_gone()),
                    Err(error) => failed = failed.or(Some(error.to_string())),
                }
            }
        }
        if let Some(error) = failed {
            self.notice(format!(
                "cannot remove journals in {} that are no longer needed: {error}; it is tried again",
                shown(&folder)
            ));
        }
    }

    /// Writes down which turns of adopted files were settled a short while ago.
    fn keep_settled(&mut self) -> Result<(), StoreError> {
        let own = self.read_own()?;
        let mut journals = vec![own.clone()];
        let (mut turns, mut elsewhere) = (HashSet::new(), HashSet::new());
        for file in &self.lingering {
            // A turn may have begun in one of the others.
            journals.push(file.records()?);
            let turns = if file.unsettled.is_empty() { &mut turns } else { &mut elsewhere };
            turns.extend(file.turns.iter().cloned());
        }
        let now = self.clock.now().as_millisecond();
        let settled = retained(merged(journals), now, |turn| elsewhere.contains(turn));
        let settled = settled.filter(|record| turns.contains(&record.turn) && !own.contains(record));
        let settled: Vec<Record> = settled.collect();
        if settled.is_empty() {
            return Ok(());
        }
        let start = self.file.write(&lines(&settled))?;
        if let Err(error) = self.file.sync() {
            self.file.take_back(start, Vec::new());
            return Err(error);
        }
        Ok(())
    }

    fn close(mut self) {
        // What stays behind is adopted by whoever comes next.
        self.let_go_of_adopted();
        if !self.unsettled.is_empty() || !self.lingering.is_empty() {
            return self.file.flush();
        }
        match self.shortened() {
            Ok(nothing) if nothing.is_empty() => {
                let _ = self.file.remove();
            }
            // Platforms deliver again what was answered a moment ago, also after a clean end.
            Ok(known) => {
                let _ = self.file.replace(&known);
            }
            Err(_) => self.file.flush(),
        }
    }

    fn notice(&mut self, notice: String) {
        if self.noticed.insert(notice.clone()) {
            self.notices.push(notice);
        }
    }
}

fn lines_of(appends: &[Append]) -> Vec<u8> {
    appends.iter().map(|append| append.lines.as_slice()).collect::<Vec<_>>().concat()
}

fn answer(appends: Vec<Append>, result: &Result<(), StoreError>) {
    for append in appends {
        // Whoever does not wait any more need not be told.
        let _ = append.reply.send(result.clone());
    }
}
