//! How full the context will be with what is about to be asked (`transcripts.md` §6.1, §6.5).

use super::tokens::{context_tokens, estimate, estimate_all, reported_usage};
use crate::message::Message;
use crate::transcript::context::{message_of, told_parts};
use crate::transcript::entry::{Entry, EntryKind};
use crate::transcript::undo::undone_at;

/// The tokens of a request: what the provider last counted, and an estimate for everything since. A count that the
/// size of the text contradicts does not count.
///
/// The last report counts only if it is younger than the last compaction: what was reported before it
/// was the size of a history that is no longer told. Nor does one that was copied when a compaction was
/// undone: it was the size of the shorter history. Without a report everything is estimated, the
/// system prompt and the tools (`overhead`) included.
pub fn projected(branch: &[&Entry], pending: &[Message], overhead: u64) -> u64 {
    let since = branch.iter().rposition(|entry| entry.kind() == EntryKind::Compaction).map_or(0, |at| at + 1);
    let undone = undone_at(&branch[since..]);
    let is_copy = |at: usize, entry: &Entry| {
        undone.is_some_and(|(mark, time)| at > mark && entry.time().is_some_and(|said| said < time))
    };
    let report = branch[since..]
        .iter()
        .enumerate()
        .rposition(|(at, entry)| !is_copy(at, entry) && reported(entry).is_some());
    let report = report.map(|at| since + at);
    let coming = estimate_all(pending);
    match report.and_then(|at| Some((at, reported(branch[at])?))) {
        Some((at, tokens)) => {
            let after = branch[at + 1..].iter().filter_map(|entry| entry.message());
            let counted = tokens + after.map(|message| estimate(&message)).sum::<u64>();
            contradicting_estimate(&branch[since..], branch, counted).unwrap_or(counted) + coming
        }
        None => overhead + estimated(branch) + coming,
    }
}

/// So many times the provider's figure is more than different kinds of text explain.
const CONTRADICTION: u64 = 8;

/// The estimate by the size of the text, where that cannot be what the provider counted: some servers report a
/// constant, or the last message only. `since` is what was said since the last compaction.
fn contradicting_estimate(since: &[&Entry], branch: &[&Entry], counted: u64) -> Option<u64> {
    let limit = counted.saturating_mul(CONTRADICTION);
    // Lines are longer than what they tell, and need not be parsed to know that they are short.
    let bytes: usize = since.iter().map(|entry| entry.line_length()).sum();
    if bytes as u64 / 4 <= limit {
        return None;
    }
    Some(estimated(branch)).filter(|estimate| *estimate > limit)
}

/// The estimate for everything that a branch tells the model. Each entry is read for it once, and not for every turn.
fn estimated(branch: &[&Entry]) -> u64 {
    let (summary, [kept, since]) = told_parts(branch);
    let of_entry = |entry: &Entry| message_of(entry).map_or(0, |message| estimate(&message));
    let told: u64 = kept.iter().chain(since).map(|entry| entry.estimated_tokens(of_entry)).sum();
    summary.as_ref().map_or(0, estimate) + told
}

/// What the provider said about the size of the context, in an answer that can be relied on.
fn reported(entry: &Entry) -> Option<u64> {
    let tokens = context_tokens(&reported_usage(entry)?);
    // A copy of something that was said elsewhere reports nothing.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive, and saturates")]
    (tokens >= 1.0).then_some(tokens as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(lines: &[&str]) -> Vec<Entry> {
        lines.iter().map(|line| Entry::parse(line).unwrap()).collect()
    }

    #[test]
    fn reports_from_before_a_compaction_do_not_count() {
        let user = r#"{"type":"message","id":"a","message":{"role":"user","content":"12345678"}}"#;
        let answer = r#"{"type":"message","id":"b","parentId":"a","message":{"role":"assistant","content":[],"stopReason":"stop","usage":{"totalTokens":900}}}"#;
        let compaction =
            r#"{"type":"compaction","id":"c","parentId":"b","summary":"1234","firstKeptEntryId":"b"}"#;
        let failed = r#"{"type":"message","id":"d","parentId":"c","message":{"role":"assistant","content":[],"stopReason":"error","usage":{"totalTokens":5000}}}"#;
        let table: [(&[&str], u64); 4] = [
            (&[user], 12),
            (&[user, answer], 900),
            (&[user, answer, user], 902),
            (&[user, answer, compaction, failed], 11),
        ];
        for (lines, tokens) in table {
            let entries = entries(lines);
            let branch: Vec<&Entry> = entries.iter().collect();
            assert_eq!(projected(&branch, &[], 10), tokens, "{lines:?}");
        }
        let entries = entries(&[user, answer]);
        let branch: Vec<&Entry> = entries.iter().collect();
        let pending = [entries[0].message().unwrap()];
        assert_eq!(projected(&branch, &pending, 10), 902);
    }

    #[test]
    fn a_report_that_the_text_contradicts_does_not_count() {
        let said = |id: &str, parent: &str, text: &str| {
            format!(
                r#"{{"type":"message","id":"{id}","parentId":{parent},"message":{{"role":"user","content":"{text}"}}}}"#
            )
        };
        let report = r#"{"type":"message","id":"b","parentId":"a","message":{"role":"assistant","content":[],"stopReason":"stop","usage":{"totalTokens":132}}}"#;
        for (chars, tokens) in [(400, 132), (4_000, 132), (40_000, 10_000), (4_000_000, 1_000_000)] {
            let long = said("a", "null", &"x".repeat(chars));
            let entries = entries(&[&long, report]);
            let branch: Vec<&Entry> = entries.iter().collect();
            assert_eq!(projected(&branch, &[], 10), tokens, "{chars}");
        }
        // A picture takes many bytes and few tokens.
        let picture = format!(
            r#"{{"type":"message","id":"a","parentId":null,"message":{{"role":"user","content":[{{"type":"image","data":"{}"}}]}}}}"#,
            "x".repeat(100_000)
        );
        let entries = entries(&[&picture, report]);
        assert_eq!(projected(&entries.iter().collect::<Vec<_>>(), &[], 10), 132);
    }

    #[test]
    fn what_is_counted_entry_by_entry_is_what_the_context_takes() {
        let lines = [
            r#"{"type":"message","id":"a","message":{"role":"user","content":"12345678"}}"#,
            r#"{"type":"message","id":"b","parentId":"a","message":{"role":"assistant","content":[{"type":"text","text":"one two three"}]}}"#,
            r#"{"type":"custom_message","id":"c","parentId":"b","customType":"x","content":"a note of something","display":true}"#,
            r#"{"type":"compaction","id":"d","parentId":"c","summary":"what was said before","firstKeptEntryId":"b"}"#,
            r#"{"type":"custom","id":"e","parentId":"d","customType":"x","data":{"a":"not told"}}"#,
            r#"{"type":"message","id":"f","parentId":"e","message":{"role":"user","content":"and then?"}}"#,
        ];
        let entries = entries(&lines);
        for end in 0..=entries.len() {
            let branch: Vec<&Entry> = entries[..end].iter().collect();
            let whole = estimate_all(&crate::transcript::context::build_context(&branch).messages);
            assert_eq!((estimated(&branch), estimated(&branch)), (whole, whole), "{end}");
        }
    }

    #[test]
    fn reports_that_were_copied_do_not_count() {
        let at = |id: &str, second: u32, tokens: u32| {
            format!(
                r#"{{"type":"message","id":"{id}","timestamp":"2026-02-03T12:00:0{second}.000Z","message":{{"role":"assistant","content":[{{"type":"text","text":"12345678"}}],"stopReason":"stop","usage":{{"totalTokens":{tokens}}}}}}}"#
            )
        };
        let mark = r#"{"type":"custom","customType":"yabby.compaction-undone","data":{"compaction":"c"},"id":"m","timestamp":"2026-02-03T12:00:05.000Z"}"#;
        let [before, copied, later] = [at("a", 1, 900), at("b", 2, 100), at("d", 6, 950)];
        let table: [(&[&str], u64); 3] = [
            (&[&before, mark, &copied], 902),
            (&[mark, &copied], 12),
            (&[&before, mark, &copied, &later], 950),
        ];
        for (lines, tokens) in table {
            let entries = entries(lines);
            let branch: Vec<&Entry> = entries.iter().collect();
            assert_eq!(projected(&branch, &[], 10), tokens, "{lines:?}");
        }
    }
}
