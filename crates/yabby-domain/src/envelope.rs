//! The header in front of a message: channel, sender, elapsed time, time stamp (`sessions.md` §12).
