//! What is remembered, and how it is found again.
//!
//! [`memory`] is what an agent remembers. [`recall`] is our own index over notes and everything that was
//! said; [`audience`] says who may find what.
//! [`compat`] is OpenClaw's own index: the same file, the same rows, the same ranking. Everything in both can
//! be built again from the notes and transcripts.

pub mod analysis;
pub mod audience;
pub mod compat;
pub mod excerpt;
pub mod like_reference;
pub mod listening;
pub mod memory;
mod news;
pub mod note;
mod private_file;
pub mod question;
pub mod recall;
pub mod request;
pub mod said;
pub mod settings;
pub mod shown;
pub mod unit;
pub mod upkeep;
mod watch;
