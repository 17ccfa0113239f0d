//! Drafts that nobody will finish (`sessions.md` §6, `transcripts.md` §7.3).

use std::collections::HashSet;
use std::path::PathBuf;

use yabby_domain::seam::StoreError;
use yabby_domain::session::salvage::Survey;
use yabby_domain::session::store_text::record_text;
use yabby_domain::text::lossy;

use super::Work;
use crate::disk::{Disk, Doing};
use crate::doctor::examination::LeftDraft;
use crate::doctor::transcripts::read;
use crate::files::atomic::sync_parent;
use crate::files::keeping::{named_by_content, put_away};
use crate::files::sessions::Look;

impl Work<'_> {
    /// Removes drafts that hold nothing of their own, and keeps the others under a name of their own.
    pub(super) fn sweep_drafts(&mut self) {
        for draft in &self.plan.drafts {
            match sweep(&*self.doctor.disk, draft) {
                Ok(Swept::Gone) => {}
                Ok(Swept::Removed) if draft.is_of_sessions => {
                    self.done(&draft.path, "All of it is in its file; it was removed.", Vec::new());
                }
                Ok(Swept::Removed) => {
                    self.done(&draft.path, "It never was in force; it was removed.", Vec::new());
                }
                Ok(Swept::Kept(name)) => {
                    self.done(
                        &draft.path,
                        "It holds something that its file does not; it was kept.",
                        vec![name],
                    );
                }
                Ok(Swept::Awaited) => {}
                Err(error) => self.failed(&draft.path, &error),
            }
        }
    }
}

enum Swept {
    Gone,
    Removed,
    Kept(PathBuf),
    /// A journal speaks of it: it goes when the journal is folded into the store.
    Awaited,
}

fn sweep(disk: &dyn Disk, left: &LeftDraft) -> Result<Swept, StoreError> {
    let LeftDraft { path: draft, of, is_of_sessions } = left;
    let Some(bytes) = read(draft)? else { return Ok(Swept::Gone) };
    let name = draft.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let is_store = of.extension().is_some_and(|ending| ending == "json");
    let is_lock = of.extension().is_some_and(|ending| ending == "lock");
    let holds_something = if is_lock || !is_of_sessions {
        false
    } else if is_store {
        let look = Look::at(of)?;
        if look.journal.as_ref().is_some_and(|journal| journal.drafts.contains(&name)) {
            return Ok(Swept::Awaited);
        }
        has_other_records(&bytes, &look)
    } else {
        has_other_lines(&bytes, &read(of)?.unwrap_or_default())
    };
    let swept = if holds_something {
        Swept::Kept(put_away(disk, draft, &named_by_content(of, &bytes, "set-aside"))?)
    } else {
        disk.remove(draft).doing("remove", draft)?;
        Swept::Removed
    };
    sync_parent(disk, draft)?;
    Ok(swept)
}

/// Whether the draft of a store has a record that the store does not have in the same form.
fn has_other_records(draft: &[u8], look: &Look) -> bool {
    let survey = Survey::of(&lossy(draft));
    let known = look.records();
    let is_known = |found: &yabby_domain::session::salvage::Found| {
        let fields = found.record.fields().map(|fields| record_text(&fields.clone().into()));
        fields.is_some() && fields == known.get(&found.key).map(record_text)
    };
    let says_nothing = draft.trim_ascii().is_empty();
    !says_nothing && (survey.records.is_empty() || !survey.records.iter().all(is_known)) && draft != b"{}"
}

/// Whether the draft has a line that the file does not have.
fn has_other_lines(draft: &[u8], file: &[u8]) -> bool {
    fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
        bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty())
    }
    let known: HashSet<&[u8]> = lines(file).collect();
    lines(draft).any(|line| !known.contains(line))
}
