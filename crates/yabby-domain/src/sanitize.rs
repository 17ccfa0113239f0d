//! Per-provider sanitising of the history (`transcripts.md` §8).
