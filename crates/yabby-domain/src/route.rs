//! Which agent and which session a message belongs to (`sessions.md` §4).
