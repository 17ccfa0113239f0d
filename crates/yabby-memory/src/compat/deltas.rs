//! When a transcript has grown enough to be indexed again (`memory.md` §4.3).

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};

use crate::settings::SessionDeltas;

/// How much of a transcript is not in the index yet. At first nothing is known, so all of it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Delta {
    last_size: u64,
    pending_bytes: f64,
    pending_messages: f64,
}

impl Delta {
    /// The file has this size now: whether it should be indexed. `count_lines` counts the line feeds
    /// between two offsets; it is asked only while that can make a difference.
    pub fn grew(
        &mut self,
        size: u64,
        threshold: SessionDeltas,
        count_lines: impl FnOnce(u64, u64) -> io::Result<u64>,
    ) -> io::Result<bool> {
        if size != self.last_size {
            // A file that shrank is another file.
            let from = if size < self.last_size { 0 } else { self.last_size };
            self.pending_bytes += float(size - from);
            self.last_size = size;
            let bytes_decide = threshold.bytes > 0.0 && self.pending_bytes >= threshold.bytes;
            if threshold.messages > 0.0 && !bytes_decide {
                self.pending_messages += float(count_lines(from, size)?);
            }
        }
        let reached = |pending: f64, threshold: f64| match threshold > 0.0 {
            true => pending >= threshold,
            false => pending > 0.0,
        };
        let is_due = reached(self.pending_bytes, threshold.bytes)
            || reached(self.pending_messages, threshold.messages);
        if is_due {
            let rest = |pending: f64, threshold: f64| match threshold > 0.0 {
                true => (pending - threshold).max(0.0),
                false => 0.0,
            };
            self.pending_bytes = rest(self.pending_bytes, threshold.bytes);
            self.pending_messages = rest(self.pending_messages, threshold.messages);
        }
        Ok(is_due)
    }

    /// The file was indexed when it had this size.
    pub fn indexed(size: u64) -> Self {
        Self { last_size: size, ..Self::default() }
    }
}

#[expect(clippy::cast_precision_loss, reason = "no file is that long")]
fn float(count: u64) -> f64 {
    count as f64
}

/// The line feeds between two offsets of a file, read in pieces.
pub fn count_lines(file: &mut File, from: u64, to: u64) -> io::Result<u64> {
    file.seek(SeekFrom::Start(from))?;
    let mut part = file.take(to.saturating_sub(from));
    let mut piece = vec![0; 64 * 1024];
    let mut lines = 0;
    loop {
        let read = part.read(&mut piece)?;
        if read == 0 {
            return Ok(lines);
        }
        lines += piece[..read].iter().filter(|byte| **byte == b'\n').count() as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_adds_up_to_the_threshold() {
        let bytes = SessionDeltas { bytes: 100.0, messages: 0.0 };
        let messages = SessionDeltas { bytes: 1000.0, messages: 3.0 };
        let any = SessionDeltas { bytes: 0.0, messages: 0.0 };
        //  thresholds, (size, lines in the new part, due)…
        type Steps = &'static [(u64, u64, bool)];
        let table: [(SessionDeltas, Steps); 4] = [
            (bytes, &[(60, 1, false), (60, 0, false), (110, 1, true), (150, 1, false), (200, 1, true)]),
            (messages, &[(10, 2, false), (20, 2, true), (30, 1, false), (40, 1, true)]),
            (any, &[(0, 0, false), (1, 0, true), (1, 0, false), (2, 0, true)]),
            // Shrinking counts the whole file.
            (bytes, &[(99, 0, false), (50, 0, true), (60, 0, false), (102, 0, true)]),
        ];
        for (threshold, steps) in table {
            let mut delta = Delta::default();
            for (size, lines, due) in steps {
                let got = delta.grew(*size, threshold, |_, _| Ok(*lines)).expect("no file is read");
                assert_eq!(got, *due, "{threshold:?} {size}");
            }
        }
        let mut indexed = Delta::indexed(500);
        assert!(!indexed.grew(500, any, |_, _| Ok(1)).expect("no file is read"));
    }
}
