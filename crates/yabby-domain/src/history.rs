//! The group history buffer (`sessions.md` §13).
