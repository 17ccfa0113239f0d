//! The variants of a message's body, computed once (`sessions.md` §11).
