//! Taking over a whole transcript of another program.

use yabby_domain::seam::StoreError;
use yabby_domain::transcript::file_name::TranscriptId;

use super::TranscriptFolder;
use super::reading::Conversation;
use crate::disk::Doing;
use crate::files::atomic::{Draft, sync_parent};

/// What became of a transcript that was taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adopted {
    New,
    /// It was here, and its end was not.
    Grown,
    /// All of it is here.
    Known,
    /// It was gone on with here; what is here stays.
    GoneOnHere,
}

impl TranscriptFolder {
    /// Puts a whole transcript here, unless what is here knows more than it.
    pub fn adopt_blocking(&self, id: &TranscriptId, text: &str) -> Result<Adopted, StoreError> {
        let (path, _lock) = self.locked(id)?;
        let disk = &*self.settings.disk;
        let adopted = match Conversation::at(&path)? {
            None => {
                let placed = Draft::write(disk, &path, text.as_bytes())?.claim()?;
                sync_parent(disk, &path)?;
                if placed { Adopted::New } else { Adopted::GoneOnHere }
            }
            Some(conversation) => {
                let here = conversation.text.all().doing("read", &path)?;
                let adopted = compared(&here, text.as_bytes());
                if adopted == Adopted::Grown {
                    Draft::write(disk, &path, text.as_bytes())?.place()?;
                }
                adopted
            }
        };
        Ok(adopted)
    }

    /// What [`Self::adopt_blocking`] would do. Changes nothing.
    pub fn would_adopt(&self, id: &TranscriptId, text: &str) -> Result<Adopted, StoreError> {
        let path = self.path(id);
        match Conversation::at(&path)? {
            None => Ok(Adopted::New),
            Some(conversation) => {
                let here = conversation.text.all().doing("read", &path)?;
                Ok(compared(&here, text.as_bytes()))
            }
        }
    }
}

fn compared(here: &[u8], there: &[u8]) -> Adopted {
    if here.starts_with(there) {
        Adopted::Known
    } else if there.starts_with(here) {
        Adopted::Grown
    } else {
        Adopted::GoneOnHere
    }
}
