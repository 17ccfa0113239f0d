//! `history --follow`: what is said from now on, as it is said.

use std::io::Write;
use std::time::Duration;

use anyhow::Result;
use yabby_domain::transcript::entry::Entry;
use yabby_domain::transcript::pieces::pieces;
use yabby_domain::transcript::tree::Transcript;

use super::Source;
use super::shown::{Detail, Shown};
use crate::book::Book;
use crate::setting::Setting;

/// How often is looked. A look that finds nothing new costs two calls to the system.
const BETWEEN_LOOKS: Duration = Duration::from_millis(250);

/// Prints what is added to the lines that were shown, until the process is ended or nobody reads any more.
pub fn follow(
    setting: &Setting,
    mut source: Source,
    mut lines: Vec<String>,
    detail: Detail,
    out: &mut dyn Write,
) -> Result<()> {
    let mut shown = Shown::new(detail);
    // Something may have been said since those lines were read: the first look is a real one.
    let mut looked_at = None;
    loop {
        std::thread::sleep(BETWEEN_LOOKS);
        if let Some(next) = begun_anew(setting, &source)? {
            writeln!(out, "\n── a new conversation begins ──")?;
            out.flush()?;
            source = next;
            lines.clear();
            looked_at = None;
        }
        let stamp = Some(source.stamp());
        if stamp == looked_at {
            continue;
        }
        // Between two renames there may be nothing to read for a moment.
        let Some(transcript) = source.read().ok().flatten().and_then(|text| Transcript::read(&text)) else {
            continue;
        };
        looked_at = stamp;
        let branch = transcript.branch();
        let known =
            branch.iter().zip(&lines).take_while(|(entry, line)| entry.line() == line.as_str()).count();
        if known < lines.len() {
            writeln!(out, "\n── the conversation goes on from an earlier point ──")?;
        }
        shown.pieces(out, &pieces(&transcript, branch.get(known..).unwrap_or_default()))?;
        out.flush()?;
        lines = self::lines(&branch);
    }
}

pub fn lines(branch: &[&Entry]) -> Vec<String> {
    branch.iter().map(|entry| entry.line().to_owned()).collect()
}

/// The conversation that a session has now, if it is another one than before.
fn begun_anew(setting: &Setting, source: &Source) -> Result<Option<Source>> {
    let Some(found) = &source.found else { return Ok(None) };
    let entry = found.store.get_blocking(&found.key)?;
    let id = entry.as_ref().and_then(|entry| entry.session_id());
    if id.is_none() || id == found.entry.session_id() {
        return Ok(None);
    }
    let found = Book::open(setting)?.find(found.key.as_str(), Some(&found.agent))?;
    Ok(Some(Source { file: found.file.clone(), earlier_key: None, found: Some(found) }))
}

impl Source {
    /// What changes when something is added: the length and time of the file and of its journal.
    fn stamp(&self) -> [Option<(u64, std::time::SystemTime)>; 2] {
        let files = [self.file.clone(), self.file.with_added_extension("journal")];
        files.map(|file| {
            let metadata = std::fs::metadata(file).ok()?;
            Some((metadata.len(), metadata.modified().ok()?))
        })
    }
}
