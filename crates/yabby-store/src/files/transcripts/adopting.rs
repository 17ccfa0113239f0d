//! Taking over a whole transcript of another program.

use yabby_domain::seam::StoreError;
use yabby_domain::text::lossy;
use yabby_domain::transcript::adopt::{Kinship, compared};
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
                let kinship = compared(&lossy(&here), text);
                if let Kinship::Grown(rest) = kinship {
                    let ends = if here.is_empty() || here.ends_with(b"\n") { "" } else { "\n" };
                    let whole = [&*here, ends.as_bytes(), rest.as_bytes()].concat();
                    Draft::write(disk, &path, &whole)?.place()?;
                }
                kinship.into()
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
                Ok(compared(&lossy(&here), text).into())
            }
        }
    }

    /// Whether another conversation has the name of this one.
    pub fn holds_another(&self, id: &TranscriptId, text: &str) -> Result<bool, StoreError> {
        let path = self.path(id);
        let Some(conversation) = Conversation::at(&path)? else { return Ok(false) };
        let here = conversation.text.all().doing("read", &path)?;
        Ok(compared(&lossy(&here), text) == Kinship::Strangers)
    }
}

impl From<Kinship<'_>> for Adopted {
    fn from(kinship: Kinship<'_>) -> Self {
        match kinship {
            Kinship::Known => Self::Known,
            Kinship::Grown(_) => Self::Grown,
            Kinship::GoneOnHere | Kinship::Strangers => Self::GoneOnHere,
        }
    }
}
