//! `SessionEntry`, one record of `sessions.json` (`sessions.md` §7).
