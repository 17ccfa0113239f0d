//! Which message each part of a reply refers to, where a channel sends it in parts (`sessions.md` §16).

use super::threading::ReplyToMode;
use crate::text;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReferencePlanner {
    mode: ReplyToMode,
    /// The thread the conversation is already in; every part refers to it.
    thread: Option<String>,
    /// The message that started the turn.
    start: Option<String>,
    references_allowed: bool,
    has_replied: bool,
}

impl ReferencePlanner {
    pub fn new(mode: ReplyToMode, thread: Option<&str>, start: Option<&str>) -> Self {
        let known = |id: Option<&str>| id.and_then(text::non_blank).map(str::to_owned);
        Self {
            mode,
            thread: known(thread),
            start: known(start),
            references_allowed: true,
            has_replied: false,
        }
    }

    /// For a place where nothing can be referred to.
    pub fn without_references(self) -> Self {
        Self { references_allowed: false, ..self }
    }

    /// What the next part refers to.
    pub fn next_reference(&mut self) -> Option<&str> {
        let refers = self.references_allowed
            && match (&self.thread, self.mode) {
                (Some(_), _) | (None, ReplyToMode::All) => true,
                (None, ReplyToMode::First) => !self.has_replied,
                (None, ReplyToMode::Off) => false,
            };
        let reference = self.thread.as_deref().or(self.start.as_deref()).filter(|_| refers)?;
        self.has_replied = true;
        Some(reference)
    }

    /// Something was sent, whatever it referred to.
    pub fn mark_sent(&mut self) {
        self.has_replied = true;
    }

    pub fn has_replied(&self) -> bool {
        self.has_replied
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_refer_as_the_mode_says() {
        use ReplyToMode::{All, First, Off};
        let table = [
            (Off, None, [None, None]),
            (First, None, [Some("s"), None]),
            (All, None, [Some("s"), Some("s")]),
            (Off, Some("t"), [Some("t"), Some("t")]),
        ];
        for (mode, thread, expected) in table {
            let mut planner = ReferencePlanner::new(mode, thread, Some(" s "));
            for reference in expected {
                assert_eq!(planner.next_reference(), reference, "{mode:?} {thread:?}");
            }
        }
        let mut nowhere = ReferencePlanner::new(All, Some("t"), None).without_references();
        assert_eq!(nowhere.next_reference(), None);
        let mut late = ReferencePlanner::new(First, None, Some("s"));
        late.mark_sent();
        assert_eq!(late.next_reference(), None);
    }
}
