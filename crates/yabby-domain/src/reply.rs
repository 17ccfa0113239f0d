//! From the model's text to what is sent (`sessions.md` §16).
//!
//! The way of a reply: its text is split into words, media and tags ([`parse`]), threaded
//! ([`threading`]), freed of what was said already ([`duplicates`]); [`build`] does these in order.
//! Just before it is sent, [`deliverable`] makes the last decisions.

pub mod build;
pub mod deliverable;
pub mod duplicates;
pub mod media;
pub mod notices;
pub mod parse;
pub mod payload;
pub mod reference;
pub mod stream;
pub mod tags;
pub mod target;
pub mod threading;
pub mod tokens;
pub mod usage_line;
