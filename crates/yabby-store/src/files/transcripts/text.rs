//! The text of a conversation: its file, and behind it what only its journal holds.

use std::fs::File;
use std::io::{self, BufRead};
use std::ops::{ControlFlow, RangeInclusive};
use std::os::unix::fs::FileExt;

/// Text that is read where it is needed. What is added to the file later is not part of it.
#[derive(Debug, Default)]
pub(crate) struct Text {
    file: Option<File>,
    length: u64,
    appendix: Vec<u8>,
}

impl Text {
    pub(crate) fn of_file(file: File) -> io::Result<Self> {
        let length = file.metadata()?.len();
        Ok(Self { file: Some(file), length, appendix: Vec::new() })
    }

    /// Puts more behind it, which no file holds.
    pub(crate) fn append(&mut self, bytes: &[u8]) {
        self.appendix.extend_from_slice(bytes);
    }

    /// Whether there is a file.
    pub(crate) fn is_in_file(&self) -> bool {
        self.file.is_some()
    }

    pub(crate) fn length(&self) -> u64 {
        self.length + self.appendix.len() as u64
    }

    /// Fills the buffer with what stands from `offset` on.
    pub(crate) fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let in_file = usize::try_from(self.length.saturating_sub(offset)).unwrap_or(usize::MAX);
        let (from_file, from_appendix) = buffer.split_at_mut(in_file.min(buffer.len()));
        if let Some(file) = &self.file {
            file.read_exact_at(from_file, offset)?;
        }
        let start = usize::try_from(offset.saturating_sub(self.length)).unwrap_or(usize::MAX);
        let end = start.saturating_add(from_appendix.len());
        let appended = self.appendix.get(start..end).ok_or(io::ErrorKind::UnexpectedEof)?;
        from_appendix.copy_from_slice(appended);
        Ok(())
    }

    /// What stands from `offset` on, or as much of it as there is.
    pub(crate) fn read(&self, offset: u64, length: u64) -> io::Result<Vec<u8>> {
        let length = length.min(self.length().saturating_sub(offset));
        let mut bytes = vec![0; usize::try_from(length).map_err(|_| io::ErrorKind::OutOfMemory)?];
        self.read_exact_at(&mut bytes, offset)?;
        Ok(bytes)
    }

    pub(crate) fn first(&self, count: usize) -> io::Result<Vec<u8>> {
        self.read(0, count as u64)
    }

    pub(crate) fn last(&self, count: usize) -> io::Result<Vec<u8>> {
        self.read(self.length().saturating_sub(count as u64), count as u64)
    }

    pub(crate) fn all(&self) -> io::Result<Vec<u8>> {
        self.read(0, self.length())
    }

    /// Shows the text from `start` on in pieces of whole lines, the last piece first. They grow: whoever
    /// wants more after the first ones likely wants much more. A line that is longer than all `sizes` is
    /// a piece of its own.
    pub(crate) fn pieces_backwards(
        &self,
        start: u64,
        sizes: RangeInclusive<usize>,
        mut each: impl FnMut(&Piece) -> ControlFlow<()>,
    ) -> io::Result<()> {
        let mut end = self.length();
        let mut size = *sizes.start();
        let mut piece = Piece::default();
        loop {
            let from = end.saturating_sub(size as u64).max(start);
            piece.read(self, from, end)?;
            size = size.saturating_mul(2).min(*sizes.end());
            if from > start {
                match piece.line_feeds.first().copied() {
                    // The first line begins before the piece.
                    Some(cut) => {
                        end = from + cut as u64;
                        piece.line_feeds.remove(0);
                        piece.first = cut + 1;
                    }
                    None => {
                        size = piece.bytes.len().saturating_mul(2);
                        continue;
                    }
                }
            }
            if each(&piece).is_break() || from <= start {
                return Ok(());
            }
        }
    }
}

/// Some lines of a text.
#[derive(Debug, Default)]
pub(crate) struct Piece {
    from: u64,
    bytes: Vec<u8>,
    /// Where the first line begins.
    first: usize,
    /// Where the other lines end, but for the last one.
    line_feeds: Vec<usize>,
}

impl Piece {
    fn read(&mut self, text: &Text, from: u64, end: u64) -> io::Result<()> {
        self.from = from;
        self.first = 0;
        self.bytes.resize(usize::try_from(end.saturating_sub(from)).unwrap_or_default(), 0);
        text.read_exact_at(&mut self.bytes, from)?;
        self.line_feeds.clear();
        let mut rest = self.bytes.as_slice();
        // Reading to a byte is the quickest search for it; reading from memory cannot fail.
        while let Ok(1..) = rest.skip_until(b'\n') {
            let last = self.bytes.len() - rest.len() - 1;
            if self.bytes[last] == b'\n' {
                self.line_feeds.push(last);
            }
        }
        Ok(())
    }

    pub(crate) fn line_count(&self) -> usize {
        self.line_feeds.len() + 1
    }

    /// A line without its line feed, and where it stands in the text; the last one is number zero.
    pub(crate) fn line_from_end(&self, number: usize) -> (u64, &[u8]) {
        let line_feed = |from_end| self.line_feeds.get(self.line_feeds.len().checked_sub(from_end)?);
        let end = line_feed(number).copied().unwrap_or(self.bytes.len());
        let start = line_feed(number + 1).map_or(self.first, |before| before + 1);
        (self.from + start as u64, self.bytes.get(start..end).unwrap_or_default())
    }
}
