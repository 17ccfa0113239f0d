//! Texts in pieces (`memory.md` §2).
//!
//! Lengths are UTF-16 units, and a cut may fall inside a pair: such halves travel as stand-ins (see
//! [`yabby_domain::text`]) and become U+FFFD wherever bytes are wanted, in hashes as in the index.

use yabby_domain::text;

use super::keys::hash_text;
use crate::settings::Chunking;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Counted from 1.
    pub start_line: usize,
    pub end_line: usize,
    /// The pieces of lines, joined with line feeds: where a line was cut, this is no part of the file.
    pub text: String,
    pub hash: String,
}

/// A piece of a line.
#[derive(Clone, Copy)]
struct Segment<'t> {
    units: &'t [u16],
    line: usize,
}

impl Segment<'_> {
    /// With the line feed that follows it.
    fn cost(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "no text is that long")]
        let length = self.units.len() as f64;
        length + 1.0
    }
}

/// The chunks of a text. An empty text is one empty chunk.
pub fn chunks(content: &str, size: Chunking) -> Vec<Chunk> {
    let most = (size.tokens * 4.0).max(32.0);
    let overlap = (size.overlap * 4.0).max(0.0);
    let units = text::to_units(content);
    let mut done = Vec::new();
    let mut open: Vec<Segment<'_>> = Vec::new();
    let mut length = 0.0;
    for (line, units) in units.split(|unit| *unit == u16::from(b'\n')).enumerate() {
        for segment in segments(units, line + 1, most) {
            if length + segment.cost() > most && !open.is_empty() {
                done.extend(joined(&open));
                open = carried(&open, overlap).to_vec();
                length = open.iter().map(Segment::cost).sum();
            }
            length += segment.cost();
            open.push(segment);
        }
    }
    done.extend(joined(&open));
    done
}

/// A line in pieces of at most so many units; an empty line is one empty piece.
fn segments(units: &[u16], line: usize, most: f64) -> impl Iterator<Item = Segment<'_>> {
    let mut from = 0.0;
    let mut is_first = true;
    std::iter::from_fn(move || {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        let at = |position: f64| (position as usize).min(units.len());
        let (start, end) = (at(from), at(from + most));
        let is_there = is_first || start < units.len();
        (is_first, from) = (false, from + most);
        is_there.then(|| Segment { units: &units[start..end], line })
    })
}

/// What the next chunk begins with: as many of the last pieces as reach the overlap.
fn carried<'s, 't>(open: &'s [Segment<'t>], overlap: f64) -> &'s [Segment<'t>] {
    if overlap <= 0.0 {
        return &[];
    }
    let mut kept = 0.0;
    for (at, segment) in open.iter().enumerate().rev() {
        kept += segment.cost();
        if kept >= overlap {
            return &open[at..];
        }
    }
    open
}

fn joined(open: &[Segment<'_>]) -> Option<Chunk> {
    let (first, last) = (open.first()?, open.last()?);
    let lines: Vec<&[u16]> = open.iter().map(|segment| segment.units).collect();
    let text = text::from_units(&lines.join(&u16::from(b'\n')));
    Some(Chunk { start_line: first.line, end_line: last.line, hash: hash_text(&text), text })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_are_packed_and_overlap() {
        let size = |tokens, overlap| Chunking { tokens, overlap };
        let long = "z".repeat(70);
        //  text, size, (lines, text)…
        type Expected<'t> = &'t [(usize, usize, &'t str)];
        let table: [(&str, Chunking, Expected<'_>); 6] = [
            ("", size(400.0, 80.0), &[(1, 1, "")]),
            ("a\r\nb", size(400.0, 80.0), &[(1, 2, "a\r\nb")]),
            (
                "0123456789\n0123456789\n0123456789\n",
                size(1.0, 0.0),
                &[(1, 2, "0123456789\n0123456789"), (3, 4, "0123456789\n")],
            ),
            ("0123456789\n0123456789\nx", size(1.0, 1.0), &[(1, 3, "0123456789\n0123456789\nx")]),
            (&long, size(8.0, 0.0), &[(1, 1, &long[..32]), (1, 1, &long[..32]), (1, 1, "zzzzzz")]),
            // What is carried may leave no room: then it is a chunk of its own once more.
            (
                "0123456789012345678901234567890\na",
                size(8.0, 2.0),
                &[(1, 1, "0123456789012345678901234567890"), (1, 2, "0123456789012345678901234567890\na")],
            ),
        ];
        for (text, size, expected) in table {
            let got = chunks(text, size);
            let got: Vec<_> = got.iter().map(|c| (c.start_line, c.end_line, c.text.as_str())).collect();
            assert_eq!(got, expected, "{text:?}");
        }
    }

    #[test]
    fn half_a_pair_is_hashed_as_unknown() {
        let text = format!("{}😀", "a".repeat(31));
        let got = chunks(&text, Chunking { tokens: 8.0, overlap: 0.0 });
        assert_eq!(got.len(), 2);
        assert_eq!(got[0].hash, hash_text(&format!("{}\u{fffd}", "a".repeat(31))));
    }

    proptest! {
        #[test]
        fn every_line_is_in_a_chunk(text in "[ab\\n😀]{0,400}", tokens in 1.0..30.0, overlap in 0.0..29.0) {
            let got = chunks(&text, Chunking { tokens, overlap });
            prop_assert_eq!(got[0].start_line, 1);
            prop_assert_eq!(got[got.len() - 1].end_line, text.split('\n').count());
            for pair in got.windows(2) {
                prop_assert!(pair[1].start_line <= pair[0].end_line + 1);
                prop_assert!(pair[0].end_line <= pair[1].end_line);
            }
        }
    }
}
