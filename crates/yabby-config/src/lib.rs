//! The configuration: what may stand in it, and the rules of reading it (`config.md`).
//!
//! Nothing here touches a file; `yabby-store` reads and writes the file by these rules.

pub mod defaults;
pub mod issue;
pub mod legacy;
pub mod schema;
pub mod sections;
pub mod validate;
