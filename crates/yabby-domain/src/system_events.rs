//! Notices for the next prompt (`sessions.md` §12).
