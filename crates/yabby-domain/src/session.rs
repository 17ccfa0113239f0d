//! Sessions: keys, records, lifecycle (`sessions.md` §2–§10).

pub mod abort;
pub mod entry;
pub mod freshness;
pub mod group;
pub mod key;
pub mod label;
pub mod meta;
pub mod open;
pub mod path;
pub mod reset;
pub mod salvage;
pub mod send_policy;
pub mod store_cache;
pub mod store_journal;
pub mod store_lock;
pub mod store_text;
pub mod title;
