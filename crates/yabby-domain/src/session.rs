//! Sessions: keys, records, lifecycle (`sessions.md` §2–§10).

pub mod abort;
pub mod address;
pub mod adopt;
pub mod change;
pub mod cli_session;
pub mod freshness;
pub mod glance;
pub mod group;
pub mod label;
pub mod listing;
pub mod meta;
pub mod open;
pub mod renew;
pub mod reset;
pub mod row;
pub mod salvage;
pub mod send_policy;
pub mod store_cache;
pub mod store_journal;
pub mod store_lock;
pub mod store_text;
pub mod title;

pub use crate::record as entry;
pub use crate::{key, path};
