//! From the model's text to what is sent (`sessions.md` §16).
