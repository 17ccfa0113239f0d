//! The reference's index file and ranking (`memory.md` §1–§9).
