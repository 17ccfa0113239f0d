//! What is remembered, and how it is found again.
//!
//! [`compat`] is OpenClaw's own index: the same file, the same rows, the same ranking. Everything in it can
//! be built again from the notes and transcripts.

pub mod compat;
pub mod settings;
