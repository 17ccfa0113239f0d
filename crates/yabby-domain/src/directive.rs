//! Inline directives and the levels they name (`sessions.md` §15).
