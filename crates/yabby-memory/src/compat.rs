//! The reference's index file and ranking (`memory.md` §1–§9).
//!
//! The file is OpenClaw's own, and both programs may take turns on it: the same rows under the same ids,
//! so that neither embeds again what the other has embedded. The rules are one file each and touch
//! nothing; [`CompatIndex`] puts them to work.

pub mod chunking;
pub mod citations;
pub mod deltas;
pub mod embedding;
mod extension;
pub mod files;
pub mod forget;
pub mod fts_query;
pub mod hybrid;
mod index;
pub mod keys;
pub mod paths;
pub mod reading;
pub mod redaction;
mod reference;
mod search;
pub mod snippet;
mod status;
pub mod store;
mod sync;
pub mod transcript_text;
pub mod vectors;

pub use embedding::Embedders;
pub use index::{CompatIndex, IndexError, Places};
pub use reference::Reference;
pub use search::{Hit, SearchOptions, Seen};
pub use status::{EmbeddedBy, FallbackStatus, SourceCount, Status, VectorStatus, jobs_of};
pub use sync::{Progress, ProgressListener, Reason};
