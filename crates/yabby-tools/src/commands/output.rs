//! The output of a command: its beginning and its end, in files that do not grow without end.
//!
//! Each file holds a piece and is called after the position that it begins at. The first piece stays; of
//! the others only the last two do.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

const PIECE: u64 = 256 * 1024;

/// Writes the output.
pub(crate) struct Writer {
    folder: PathBuf,
    position: u64,
    file: Option<File>,
    begun: Vec<u64>,
}

impl Writer {
    pub(crate) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), position: 0, file: None, begun: Vec::new() }
    }

    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    pub(crate) fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let room = PIECE - self.position % PIECE;
            let file = match self.file.take() {
                Some(file) if room < PIECE => self.file.insert(file),
                _ => {
                    let file = self.next()?;
                    self.file.insert(file)
                }
            };
            let count = bytes.len().min(usize::try_from(room).unwrap_or(usize::MAX));
            file.write_all(&bytes[..count])?;
            self.position += count as u64;
            bytes = &bytes[count..];
        }
        Ok(())
    }

    fn next(&mut self) -> io::Result<File> {
        self.begun.push(self.position);
        if self.begun.len() > 3 {
            let gone = self.begun.remove(1);
            let _ = fs::remove_file(piece(&self.folder, gone));
        }
        fs::OpenOptions::new().append(true).create(true).mode(0o600).open(piece(&self.folder, self.position))
    }
}

fn piece(folder: &Path, position: u64) -> PathBuf {
    folder.join(format!("output.{position:016}"))
}

/// A part of the output that is still there.
pub(crate) struct Part {
    pub(crate) position: u64,
    pub(crate) bytes: Vec<u8>,
}

/// What is still there, from a position on.
pub(crate) fn read(folder: &Path, from: u64) -> Vec<Part> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let position = |name: &str| name.strip_prefix("output.")?.parse::<u64>().ok();
    let mut positions: Vec<u64> = entries.filter_map(|entry| position(entry.file_name().to_str()?)).collect();
    positions.sort_unstable();
    let mut parts: Vec<Part> = Vec::new();
    for position in positions {
        let mut bytes = Vec::new();
        // One that is gone meanwhile is one that was left out.
        if File::open(piece(folder, position))
            .and_then(|file| file.take(PIECE).read_to_end(&mut bytes))
            .is_err()
        {
            continue;
        }
        let skip = usize::try_from(from.saturating_sub(position)).unwrap_or(usize::MAX).min(bytes.len());
        bytes.drain(..skip);
        let position = position + skip as u64;
        match parts.last_mut() {
            Some(last) if last.position + last.bytes.len() as u64 == position => last.bytes.extend(bytes),
            _ if bytes.is_empty() => {}
            _ => parts.push(Part { position, bytes }),
        }
    }
    parts
}

/// Where the output ends.
pub(crate) fn end(parts: &[Part], from: u64) -> u64 {
    parts.last().map_or(from, |part| part.position + part.bytes.len() as u64)
}

/// The output as a text: its beginning and its end, and what is missing between them.
pub(crate) fn shown(parts: &[Part], from: u64, most: usize) -> String {
    let mut text = String::new();
    let mut position = from;
    for part in parts {
        if part.position > position {
            text.push_str(&left_out(part.position - position));
        }
        text.push_str(&readable(&part.bytes));
        position = part.position + part.bytes.len() as u64;
    }
    shortened(&text, most)
}

fn left_out(bytes: u64) -> String {
    format!("\n[… {bytes} bytes left out …]\n")
}

/// The first and the last of a text, if it is too long.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let (head, tail) =
        (text.floor_char_boundary(most / 3), text.ceil_char_boundary(text.len() - most / 3 * 2));
    format!("{}{}{}", &text[..head], left_out((tail - head) as u64), &text[tail..])
}

/// Without what only a terminal understands.
fn readable(bytes: &[u8]) -> String {
    let text = yabby_domain::text::lossy(bytes);
    let text = yabby_domain::text::from_outside(&text);
    let mut clean = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' => {
                // Colours and the like: `ESC [ … letter`. Anything else loses its first character only.
                if rest.next_if_eq(&'[').is_some() {
                    while rest.next_if(|c| !('@'..='~').contains(c)).is_some() {}
                    rest.next();
                }
            }
            '\r' if rest.peek() == Some(&'\n') => {}
            '\r' => clean.push('\n'),
            '\n' | '\t' => clean.push(c),
            c if c.is_control() => {}
            c => clean.push(c),
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_and_the_end_stay() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = Writer::new(folder.path());
        for at in 0..200 {
            writer.write(format!("{at:>9}\n").repeat(1000).as_bytes()).unwrap();
        }
        assert_eq!(writer.position(), 2_000_000);
        let files = fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(files, 3);
        let parts = read(folder.path(), 0);
        let text = shown(&parts, 0, 1000);
        assert!(text.starts_with("        0\n") && text.ends_with("199\n"), "{text}");
        assert!(text.len() < 1100 && text.contains("bytes left out"), "{text}");
        assert_eq!(end(&parts, 0), 2_000_000);
        let last = read(folder.path(), 1_999_990);
        assert_eq!(shown(&last, 1_999_990, 1000), "      199\n");
        assert!(read(folder.path(), 2_000_000).is_empty());
    }

    #[test]
    fn a_terminals_signs_are_left_out() {
        assert_eq!(readable(b"\x1b[31mred\x1b[0m\r\nx\ry\0\x07z\xff"), "red\nx\nyz\u{fffd}");
        let cut = shortened(&"ö".repeat(100), 30);
        assert!(cut.starts_with("ööööö\n[…") && cut.ends_with("]\nöööööööööö"), "{cut}");
    }
}
