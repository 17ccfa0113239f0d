//! The skills snapshot (`sessions.md` §20).
