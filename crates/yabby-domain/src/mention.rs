//! Mention patterns: detecting and stripping them (`sessions.md` §11).
