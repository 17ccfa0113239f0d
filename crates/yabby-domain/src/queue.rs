//! What happens to a message while a run is active (`sessions.md` §18).
