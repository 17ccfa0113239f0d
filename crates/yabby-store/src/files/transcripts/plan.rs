//! The context of a conversation, without the rest of it (`transcripts.md` §5).

use std::io;
use std::ops::{ControlFlow, RangeInclusive};
use std::thread;

use yabby_domain::message::Message;
use yabby_domain::transcript::context::{Context, ModelUsed};
use yabby_domain::transcript::header::Header;
use yabby_domain::transcript::tail::{Sight, Start, Tail, TailScan, Told, Wants};

use super::text::{Piece, Text};

/// What the model is told at the end of a conversation, message by message: however long it is, only
/// one message is in memory at a time.
#[derive(Debug)]
pub struct ContextPlan {
    source: Source,
    pub thinking_level: String,
    pub model: Option<ModelUsed>,
}

#[derive(Debug)]
enum Source {
    Lines {
        text: Text,
        told: Vec<Told>,
    },
    /// The file had to be read as a whole.
    Messages(Vec<Message>),
}

impl ContextPlan {
    pub(super) fn of_tail(text: Text, tail: Tail) -> Self {
        let source = Source::Lines { text, told: tail.told };
        Self { source, thinking_level: tail.thinking_level, model: tail.model }
    }

    pub(super) fn of_context(context: Context) -> Self {
        let source = Source::Messages(context.messages);
        Self { source, thinking_level: context.thinking_level, model: context.model }
    }

    /// The messages in order.
    pub fn messages(&self) -> Messages<'_> {
        Messages { plan: self, next: 0, block: Vec::new(), block_start: 0 }
    }

    pub fn into_context(self) -> io::Result<Context> {
        let messages = match self.source {
            Source::Messages(messages) => messages,
            Source::Lines { .. } => self.messages().collect::<io::Result<_>>()?,
        };
        Ok(Context { messages, thinking_level: self.thinking_level, model: self.model })
    }
}

/// Reads one message after the other.
pub struct Messages<'p> {
    plan: &'p ContextPlan,
    next: usize,
    /// A part of the text that holds the next lines.
    block: Vec<u8>,
    block_start: u64,
}

/// How much is read ahead.
const BLOCK: u64 = 256 * 1024;

impl Iterator for Messages<'_> {
    type Item = io::Result<Message>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let at = self.next;
            self.next += 1;
            match &self.plan.source {
                Source::Messages(messages) => return messages.get(at).cloned().map(Ok),
                Source::Lines { text, told } => {
                    let told = told.get(at)?;
                    match self.line(text, told).map(|line| told.message(line)) {
                        Ok(None) => {}
                        Ok(Some(message)) => return Some(Ok(message)),
                        Err(error) => {
                            self.next = usize::MAX;
                            return Some(Err(error));
                        }
                    }
                }
            }
        }
    }
}

impl Messages<'_> {
    fn line(&mut self, text: &Text, told: &Told) -> io::Result<&[u8]> {
        let span = told.span;
        let block_end = self.block_start + self.block.len() as u64;
        if span.offset < self.block_start || span.offset + span.length > block_end {
            self.block = text.read(span.offset, span.length.max(BLOCK))?;
            self.block_start = span.offset;
        }
        let start = usize::try_from(span.offset - self.block_start).unwrap_or(usize::MAX);
        let length = usize::try_from(span.length).unwrap_or(usize::MAX);
        self.block.get(start..start.saturating_add(length)).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

/// How much of a file may stand before the end of its header.
const START: usize = 64 * 1024;

/// Looks at the end of a text; `None` if it must be read as a whole.
pub(super) fn tail_of(text: &Text) -> io::Result<Option<(Header, Tail)>> {
    const PIECES: RangeInclusive<usize> = 64 * 1024..=4 * 1024 * 1024;
    tail_by(PIECES, text)
}

fn tail_by(pieces: RangeInclusive<usize>, text: &Text) -> io::Result<Option<(Header, Tail)>> {
    let mut start = text.first(START)?;
    if (start.len() as u64) < text.length() {
        let lines = start.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        start.truncate(lines);
    }
    let Some(Start { header, entries_from }) = Start::find(&start) else { return Ok(None) };
    let mut scan = TailScan::default();
    let mut wants = Wants::More;
    text.pieces_backwards(entries_from, pieces, |piece| {
        wants = scan_piece(&mut scan, piece);
        if wants == Wants::More { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    Ok((wants != Wants::Whole).then(|| (header, scan.finish())))
}

fn scan_piece(scan: &mut TailScan, piece: &Piece) -> Wants {
    let sights = if piece.line_count() < MANY_LINES { Vec::new() } else { looked_at(piece) };
    for number in 0..piece.line_count() {
        let (offset, line) = piece.line_from_end(number);
        let sight = sights.get(number).copied().unwrap_or_else(|| Sight::of(line));
        let wants = scan.seen_line(offset, line, sight);
        if wants != Wants::More {
            return wants;
        }
    }
    Wants::More
}

/// So many lines are worth the while of several processors.
const MANY_LINES: usize = 1000;
const MOST_PROCESSORS: usize = 8;

/// Looks at the lines of a piece with several processors; the last line first.
fn looked_at(piece: &Piece) -> Vec<Sight> {
    let processors = thread::available_parallelism().map_or(1, usize::from).min(MOST_PROCESSORS);
    let mut sights = vec![Sight::default(); piece.line_count()];
    let share = sights.len().div_ceil(processors);
    let look = |first: usize, sights: &mut [Sight]| {
        for (number, sight) in sights.iter_mut().enumerate() {
            *sight = Sight::of(piece.line_from_end(first + number).1);
        }
    };
    thread::scope(|scope| {
        let (own, others) = sights.split_at_mut(share);
        for (at, sights) in others.chunks_mut(share).enumerate() {
            scope.spawn(move || look((at + 1) * share, sights));
        }
        look(0, own);
    });
    sights
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;
    use yabby_domain::transcript::tree::NewEntry;
    use yabby_domain::transcript::{Stamp, Transcript};

    use super::*;

    /// Reads a file from its end, in pieces of a few sizes, and as a whole, and goes on with it.
    fn agree(file: &[u8]) -> Result<(), TestCaseError> {
        let lossy = String::from_utf8_lossy(file).into_owned();
        for size in [1, 7, 64, 100_000] {
            let mut text = Text::default();
            text.append(file);
            let Some((header, tail)) = tail_by(size..=size * 2, &text).unwrap() else { continue };
            let whole = Transcript::read(&lossy).expect("the end was understood without the beginning");
            let window = tail.window.clone();
            let plan = ContextPlan::of_tail(text, tail);
            prop_assert_eq!(plan.into_context().unwrap(), whole.context(), "in pieces of {}", size);
            let Some(window) = window else {
                prop_assert!(whole.entries().is_empty());
                continue;
            };
            let lines = String::from_utf8_lossy(&file[usize::try_from(window.offset).unwrap()..]);
            let window = Transcript::read_window(header, &Arc::new(lines.into_owned()), window.earlier);
            goes_on_the_same(window, whole)?;
        }
        Ok(())
    }

    fn goes_on_the_same(mut window: Transcript, mut whole: Transcript) -> Result<(), TestCaseError> {
        prop_assert_eq!(window.leaf_id(), whole.leaf_id());
        prop_assert_eq!(window.context(), whole.context());
        let ids: Vec<String> =
            window.entries().iter().filter_map(|entry| entry.id()).map(str::to_owned).collect();
        for id in ids {
            window.move_leaf(&id).unwrap();
            whole.move_leaf(&id).unwrap();
            if window.knows_its_context() {
                prop_assert_eq!(window.context(), whole.context(), "at {}", id);
            }
        }
        for transcript in [&mut window, &mut whole] {
            let mut fresh_id = || "99999999-9999".to_owned();
            let mut stamp = Stamp { now: jiff::Timestamp::UNIX_EPOCH, fresh_id: &mut fresh_id };
            transcript.append(NewEntry::Message(Message::default()), &mut stamp).unwrap();
        }
        if window.knows_its_context() {
            prop_assert_eq!(window.context(), whole.context());
        }
        Ok(())
    }

    /// Lines with names that meet by chance: branches, doubles, circles, names further down.
    fn line() -> impl Strategy<Value = Vec<u8>> {
        let kind = prop_oneof![
            8 => Just(r#""type":"message","message":{"role":"user","content":"u"}"#),
            8 => Just(r#""type":"message","message":{"role":"assistant","content":[],"provider":"p","model":"m"}"#),
            1 => Just(r#""type":"message","message":{"role":"assistant","model":"\ud83d"}"#),
            1 => Just(r#""type":"message","message":null"#),
            1 => Just(r#""type":"thinking_level_change","thinkingLevel":"high""#),
            1 => Just(r#""type":"thinking_level_change","thinkingLevel":7"#),
            1 => Just(r#""type":"model_change","provider":"q","modelId":"n""#),
            1 => Just(r#""type":"compaction","summary":"S","firstKeptEntryId":"3","tokensBefore":1"#),
            1 => Just(r#""type":"compaction","summary":"S","firstKeptEntryId":"gone""#),
            1 => Just(r#""type":"compaction","summary":"S""#),
            1 => Just(r#""type":"compaction","summary":"S","removedCount":2"#),
            1 => Just(r#""type":"compaction","summary":"S","removedCount":0"#),
            1 => Just(r#""type":"branch_summary","summary":"B","fromId":"1","timestamp":"2026-01-15T09:30:00Z""#),
            1 => Just(r#""type":"branch_summary","summary":"""#),
            1 => Just(r#""type":"custom_message","content":"c","timestamp":null"#),
            1 => Just(r#""type":"label","targetId":"1","label":"L""#),
            1 => Just(r#""type":"session","id":"again""#),
            1 => Just(r#""type":"future","n":1e999"#),
        ];
        let name = prop_oneof![
            12 => (0..9_u8).prop_map(|n| format!("\"{n}\"")),
            1 => Just("\"a name of more than fifteen bytes\"".to_owned()),
            1 => Just("4".to_owned()),
            1 => Just("null".to_owned()),
        ];
        let entry = (kind, name.clone(), name, 0..40_usize).prop_map(|(kind, id, parent, padding)| {
            let padding = "é".repeat(padding);
            format!(r#"{{{kind},"id":{id},"parentId":{parent},"padding":"{padding}"}}"#).into_bytes()
        });
        prop_oneof![
            24 => entry,
            1 => Just(b"null".to_vec()),
            1 => Just(b"".to_vec()),
            1 => Just("\u{a0}".into()),
            1 => Just(b"{\"torn".to_vec()),
            1 => Just(b"{\"id\":\"\xff\",\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"\xff\"}}".to_vec()),
        ]
    }

    /// A chain as it is usually written, with a compaction here and there.
    fn chain() -> impl Strategy<Value = Vec<Vec<u8>>> {
        let entry = prop_oneof![
            6 => Just((false, r#""type":"message","message":{"role":"user","content":"u"}"#)),
            6 => Just((false, r#""type":"message","message":{"role":"assistant","provider":"p","model":"m"}"#)),
            1 => Just((false, r#""type":"thinking_level_change","thinkingLevel":"high""#)),
            1 => Just((true, r#""type":"compaction","summary":"S""#)),
        ];
        prop::collection::vec((entry, 1..4_usize, 0..6_usize), 0..30).prop_map(|entries| {
            let line = |(at, ((is_compaction, kind), up, kept)): (usize, ((bool, &str), usize, usize))| {
                let parent = at
                    .checked_sub(if up == 3 { 2 } else { 1 })
                    .map_or("null".into(), |p| format!("\"e{p}\""));
                let kept = if is_compaction {
                    format!(r#","firstKeptEntryId":"e{}""#, at.saturating_sub(kept))
                } else {
                    String::new()
                };
                format!(r#"{{{kind},"id":"e{at}","parentId":{parent}{kept}}}"#).into_bytes()
            };
            entries.into_iter().enumerate().map(line).collect()
        })
    }

    fn file(lines: impl Strategy<Value = Vec<Vec<u8>>>) -> impl Strategy<Value = Vec<u8>> {
        let before =
            prop_oneof![8 => Just(""), 1 => Just("\u{feff}"), 1 => Just("torn\n"), 1 => Just("\n \n")];
        let version = prop_oneof![8 => Just("3"), 1 => Just("2"), 1 => Just("\"x\"")];
        let end = prop_oneof![3 => Just("\n"), 1 => Just(""), 1 => Just("\n\n\u{2028}"), 1 => Just("\u{a0}")];
        let line_feed = prop_oneof![4 => Just("\n"), 1 => Just("\r\n")];
        (before, version, lines, line_feed, end).prop_map(|(before, version, lines, line_feed, end)| {
            let header = format!(r#"{{"type":"session","version":{version},"id":"s"}}"#);
            let lines = std::iter::once(header.into_bytes()).chain(lines).collect::<Vec<_>>();
            [before.as_bytes(), &lines.join(line_feed.as_bytes()), end.as_bytes()].concat()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_file_tells_the_same_from_its_end(file in file(prop::collection::vec(line(), 0..24))) {
            agree(&file)?;
        }

        #[test]
        fn a_chain_tells_the_same_from_its_end(file in file(chain())) {
            agree(&file)?;
        }
    }

    #[test]
    fn many_lines_are_looked_at_at_once() {
        let mut file = String::from("{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n");
        for at in 0..20_000_u32 {
            let parent = at.checked_sub(1).map_or("null".to_owned(), |parent| format!("\"{parent:08x}\""));
            file.push_str(&format!(
                "{{\"type\":\"message\",\"id\":\"{at:08x}\",\"parentId\":{parent},\"message\":{{\"role\":\"user\",\"content\":\"{at}\"}}}}\n"
            ));
        }
        let mut text = Text::default();
        text.append(file.as_bytes());
        let (_, tail) = tail_of(&text).unwrap().expect("nothing else is needed");
        let context = ContextPlan::of_tail(text, tail).into_context().unwrap();
        assert_eq!(context, Transcript::read(&file).expect("a header").context());
        assert_eq!(context.messages.len(), 20_000);
    }
}
