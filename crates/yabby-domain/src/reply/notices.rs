//! What is told beside the reply: a new session, a compaction, the tokens used.

use super::payload::ReplyPayload;

/// Told in verbose sessions when a session begins.
pub fn new_session(session_id: &str) -> ReplyPayload {
    ReplyPayload::from_text(format!("🧭 New session: {session_id}"))
}

/// Told in verbose sessions when the history was compacted.
pub fn compacted(count: Option<u64>) -> ReplyPayload {
    let count = count.map(|count| format!(" (count {count})")).unwrap_or_default();
    ReplyPayload::from_text(format!("🧹 Auto-compaction complete{count}."))
}

/// Puts a line below the last text, or sends it alone if there is none.
pub fn append_line(payloads: &mut Vec<ReplyPayload>, line: &str) {
    let last =
        payloads.iter_mut().rev().find_map(|payload| payload.text.as_mut().filter(|text| !text.is_empty()));
    match last {
        Some(text) => {
            if !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(line);
        }
        None => payloads.push(ReplyPayload::from_text(line)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_goes_below_the_last_text() {
        let media = ReplyPayload { media_url: Some("u".to_owned()), ..ReplyPayload::default() };
        let mut payloads = vec![compacted(Some(2)), media];
        append_line(&mut payloads, "Usage: 1 in / 2 out");
        assert_eq!(
            payloads[0].text.as_deref(),
            Some("🧹 Auto-compaction complete (count 2).\nUsage: 1 in / 2 out")
        );
        let mut nothing = Vec::new();
        append_line(&mut nothing, "x");
        assert_eq!(nothing, [ReplyPayload::from_text("x")]);
    }
}
