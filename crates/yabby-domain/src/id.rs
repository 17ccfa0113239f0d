//! Agent ids, account ids and the main key (`sessions.md` §2).
