//! When to compact, where to cut and what the summary covers (`transcripts.md` §6).
