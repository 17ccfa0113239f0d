//! Who answers: providers of models behind [`ModelProvider`](yabby_domain::seam::model::ModelProvider).
//!
//! A service or a server on this machine is a [`RemoteProvider`], made of plain [`settings`]; for the
//! common ones [`presets`] knows most of them. The `claude` program is [`claude_cli`]. [`offline`] needs
//! nobody. [`embed`] has those who know what is alike.

mod anthropic;
mod failure;
mod gemini;
mod http;
mod openai_chat;
mod openai_responses;
mod remote;
mod retry;
mod sse;
mod stored;
mod wire;
mod writing;

pub mod catalog;
pub mod claude_cli;
pub mod embed;
pub mod offline;
pub mod presets;
pub mod rotation;
pub mod settings;

pub use http::{Http, HttpError, Patience};
pub use remote::RemoteProvider;
pub use retry::Retries;
