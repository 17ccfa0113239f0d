//! What has changed and is not in the index yet.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc::UnboundedSender;

/// Something that happened to the files of a memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// Nobody knows what: all files have to be looked at.
    Something,
    /// Notes have come, gone or changed.
    Notes,
    /// The transcript of this file name was written, or is gone.
    Transcript(String),
    /// A conversation with this transcript begins or goes on.
    Begins(String),
}

/// What has changed. Shared by those who tell and those who read; held for a few lines at a time.
#[derive(Default)]
pub(crate) struct News(Mutex<Unread>);

#[derive(Default)]
struct Unread {
    changed: Changed,
    /// The same for the reference's index.
    for_reference: Changed,
    /// Whoever wants to know at once.
    listener: Option<UnboundedSender<Told>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changed {
    pub(crate) everything: bool,
    pub(crate) notes: bool,
    /// By file name.
    pub(crate) transcripts: HashSet<String>,
}

impl Changed {
    pub(crate) fn everything() -> Self {
        Self { everything: true, ..Self::default() }
    }

    pub(crate) fn is_nothing(&self) -> bool {
        !self.everything && !self.notes && self.transcripts.is_empty()
    }

    fn add(&mut self, other: Self) {
        self.everything |= other.everything;
        self.notes |= other.notes;
        self.transcripts.extend(other.transcripts);
    }
}

impl News {
    pub(crate) fn tell(&self, told: Told) {
        let mut unread = self.unread();
        let unread = &mut *unread;
        for changed in [&mut unread.changed, &mut unread.for_reference] {
            match &told {
                Told::Something => changed.everything = true,
                Told::Notes => changed.notes = true,
                Told::Transcript(name) => {
                    changed.transcripts.insert(name.clone());
                }
                Told::Begins(_) => {}
            }
        }
        if let Some(listener) = &unread.listener {
            // Whoever has stopped listening takes themselves off.
            let _ = listener.send(told);
        }
    }

    /// What somebody is about to read.
    pub(crate) fn take(&self) -> Changed {
        std::mem::take(&mut self.unread().changed)
    }

    pub(crate) fn is_read(&self) -> bool {
        self.unread().changed.is_nothing()
    }

    /// The same for the reference's index, which is not read from here.
    pub(crate) fn take_for_reference(&self) -> Changed {
        std::mem::take(&mut self.unread().for_reference)
    }

    /// It could not be read, and still is to be.
    pub(crate) fn put_back(&self, changed: Changed) {
        self.unread().changed.add(changed);
    }

    pub(crate) fn listen(&self, listener: Option<UnboundedSender<Told>>) {
        self.unread().listener = listener;
    }

    fn unread(&self) -> MutexGuard<'_, Unread> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
