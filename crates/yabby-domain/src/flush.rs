//! When the pre-compaction memory flush runs, and with which words (`sessions.md` §14).
