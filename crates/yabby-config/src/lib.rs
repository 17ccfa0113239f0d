//! The configuration: what may stand in it, and the rules of reading it (`config.md`).
//!
//! Nothing here touches a file; `yabby-store` reads and writes the file by these rules.

pub mod config;
pub mod defaults;
pub mod dotenv;
pub mod environment;
pub mod extras;
pub mod hints;
pub mod home;
pub mod include;
pub mod issue;
pub mod key_path;
pub mod legacy;
pub mod lookup;
pub mod page;
pub mod read;
pub mod redaction;
pub mod schema;
pub mod sections;
pub mod substitute;
pub mod validate;
