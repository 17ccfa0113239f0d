//! Tool-pair repair: every call gets its result (`transcripts.md` §8).
