//! Recognising chat commands, abort words and activation (`sessions.md` §17).
