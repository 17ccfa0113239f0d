//! Conversations on disk (`transcripts.md` §2, §4, §7).
