//! Who knows what is alike: services and models behind [`Embedder`](yabby_domain::seam::embedder::Embedder)
//! (`memory.md` §5).
//!
//! [`choose`] makes one of plain [`EmbedSettings`]: a [`RemoteEmbedder`], or a [`LocalEmbedder`] with the
//! model that [`install`] brings. That there is nobody is no error: memory is found by its words then, and
//! the choice says why.

mod choice;
mod install;
mod jobs;
mod line;
mod local;
mod remote;
mod service;
mod settings;

pub use choice::{Account, Accounts, Choice, choose, fall_back, is_embedding_failure};
pub use install::{FetchError, ModelSource, install};
pub use local::LocalEmbedder;
pub use remote::RemoteEmbedder;
pub use settings::{
    EmbedSettings, InputTypes, JobSettings, Limits, LocalSettings, Provider, RemoteSettings, Wanted,
};
pub use yabby_minilm::{InstallError, Installed, PACKAGE_URL, Precision, Progress, Status, remove, status};
