//! How much history goes to the provider (`transcripts.md` §7.7, §8).
