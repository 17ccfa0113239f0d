//! Model references, aliases and the allowed set (`sessions.md` §15).
