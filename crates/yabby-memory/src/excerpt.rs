//! What `memory_get` gives: lines of a note, or what was said from a line of a conversation on (`memory.md`
//! §9; the reference opens no conversations).

use yabby_domain::text;

use crate::audience::Viewer;
use crate::compat::reading::{self, Lines, ReadError};
use crate::memory::{Memory, MemoryError};
use crate::shown;

/// More than this is not given at once, in characters.
const MOST: usize = 50_000;

/// How much of a conversation is shown if nobody says it.
const SOME_MESSAGES: u32 = 12;
const MOST_MESSAGES: u32 = 200;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    pub text: String,
    /// From the workspace, or `sessions/<file>`.
    pub path: String,
    /// There is more than this.
    pub is_cut: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum ExcerptError {
    #[error("the notes are private")]
    Private,
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Memory(#[from] MemoryError),
}

impl Memory {
    /// What stands at a path, as far as it may be seen.
    pub async fn excerpt(&self, viewer: &Viewer, path: &str, lines: Lines) -> Result<Excerpt, ExcerptError> {
        let mut excerpt = match text::trim(path).starts_with("sessions/") {
            true => self.said(viewer, text::trim(path), lines).await?,
            false => self.note(viewer, path, lines).await?,
        };
        if let Some((end, _)) = excerpt.text.char_indices().nth(MOST) {
            excerpt.text.truncate(end);
            excerpt.is_cut = true;
        }
        Ok(excerpt)
    }

    /// Lines of a note, however many they are.
    pub async fn note(&self, viewer: &Viewer, path: &str, lines: Lines) -> Result<Excerpt, ExcerptError> {
        if !viewer.sees_notes() {
            return Err(ExcerptError::Private);
        }
        let path = path.to_owned();
        let read = self.blocking(move |memory| {
            let places = memory.places();
            Ok(reading::read(&places.workspace, &places.extra_paths, &path, lines))
        });
        let read = read.await??;
        Ok(Excerpt { text: text::from_outside(&read.text).into_owned(), path: read.path, is_cut: false })
    }

    async fn said(&self, viewer: &Viewer, path: &str, lines: Lines) -> Result<Excerpt, ExcerptError> {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        let whole = |number: f64| number.max(1.0) as u32;
        let first = lines.from.map_or(1, whole);
        let count = lines.count.map_or(SOME_MESSAGES, whole).min(MOST_MESSAGES);
        let (viewer, wanted) = (viewer.clone(), path.to_owned());
        let found =
            self.blocking(move |memory| memory.recall().around_line(&viewer, &wanted, first, 0, count));
        // What may not be seen is not there.
        let units = found.await?.ok_or(ReadError::Refused)?;
        let said: Vec<String> = units.iter().map(shown::line).collect();
        Ok(Excerpt { text: said.join("\n"), path: path.to_owned(), is_cut: false })
    }
}
