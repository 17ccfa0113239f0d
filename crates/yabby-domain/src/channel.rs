//! Channel names, chat types and the addresses of each platform (`sessions.md` §2).
