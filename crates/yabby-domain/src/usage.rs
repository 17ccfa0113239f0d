//! Token usage: spellings, prompt tokens, what is recorded after a run (`sessions.md` §14).
