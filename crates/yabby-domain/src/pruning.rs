//! Context pruning: trimming and clearing old tool results (`transcripts.md` §8.1).
