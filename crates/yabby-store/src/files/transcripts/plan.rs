//! The context of a conversation, without the rest of it (`transcripts.md` §5).

use std::collections::VecDeque;
use std::io;
use std::ops::{ControlFlow, RangeInclusive};
use std::thread;

use yabby_domain::message::Message;
use yabby_domain::transcript::context::{Context, ModelUsed};
use yabby_domain::transcript::header::Header;
use yabby_domain::transcript::tail::{Sight, Start, Tail, TailScan, Told, Wants};

use super::text::{Piece, Text};

/// What the model is told at the end of a conversation, message by message: however long it is, only a
/// few messages are in memory at a time.
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
        Messages { plan: self, next: 0, ready: VecDeque::new() }
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
    /// The next line to be read.
    next: usize,
    /// What was read ahead.
    ready: VecDeque<Message>,
}

impl Iterator for Messages<'_> {
    type Item = io::Result<Message>;

    fn next(&mut self) -> Option<Self::Item> {
        let (text, told) = match &self.plan.source {
            Source::Messages(messages) => {
                self.next += 1;
                return messages.get(self.next - 1).cloned().map(Ok);
            }
            Source::Lines { text, told } => (text, told),
        };
        while self.ready.is_empty() && self.next < told.len() {
            match read_ahead(text, told.get(self.next..).unwrap_or_default()) {
                Ok((lines, messages)) => {
                    self.next += lines;
                    self.ready = messages;
                }
                Err(error) => {
                    self.next = told.len();
                    return Some(Err(error));
                }
            }
        }
        self.ready.pop_front().map(Ok)
    }
}

/// Reads a few of the lines; how many, and the messages on them.
fn read_ahead(text: &Text, told: &[Told]) -> io::Result<(usize, VecDeque<Message>)> {
    const AHEAD: u64 = 512 * 1024;
    let Some(first) = told.first() else { return Ok((0, VecDeque::new())) };
    let start = first.span.offset;
    let block = text.read(start, first.span.length.max(AHEAD))?;
    let line = |told: &Told| {
        let from = usize::try_from(told.span.offset.checked_sub(start)?).ok()?;
        block.get(from..from.checked_add(usize::try_from(told.span.length).ok()?)?)
    };
    let lines: Vec<(&Told, &[u8])> = told.iter().map_while(|told| Some((told, line(told)?))).collect();
    if lines.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let mut messages = vec![None; lines.len()];
    share_out(&mut messages, |place, message| {
        *message = lines.get(place).and_then(|(told, line)| told.message(line));
    });
    Ok((lines.len(), messages.into_iter().flatten().collect()))
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
    let mut sights = vec![Sight::default(); piece.line_count()];
    share_out(&mut sights, |number, sight| *sight = Sight::of(piece.line_from_end(number).1));
    for (number, sight) in sights.into_iter().enumerate() {
        let (offset, line) = piece.line_from_end(number);
        let wants = scan.seen_line(offset, line, sight);
        if wants != Wants::More {
            return wants;
        }
    }
    Wants::More
}

/// Works on each item, given its place among them: with several processors if there are many.
fn share_out<T: Send>(items: &mut [T], work: impl Fn(usize, &mut T) + Sync) {
    const MANY: usize = 200;
    const MOST_PROCESSORS: usize = 8;
    let processors = if items.len() < MANY {
        1
    } else {
        thread::available_parallelism().map_or(1, usize::from).min(MOST_PROCESSORS)
    };
    let share = items.len().div_ceil(processors).max(1);
    let work_on = |first: usize, items: &mut [T]| {
        items.iter_mut().enumerate().for_each(|(at, item)| work(first + at, item));
    };
    thread::scope(|scope| {
        let (own, others) = items.split_at_mut(share.min(items.len()));
        for (at, share_of_one) in others.chunks_mut(share).enumerate() {
            let work_on = &work_on;
            scope.spawn(move || work_on((at + 1) * share, share_of_one));
        }
        work_on(0, own);
    });
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
