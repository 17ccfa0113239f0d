//! Benchmarks by name.

mod cli;
mod gateway;
mod locomo;
mod machine;
mod memory;
mod models;
mod report;
mod store;
mod turns;

use anyhow::{Result, ensure};

use crate::program::cargo;

pub use cli::cli;
pub use gateway::gateway;
pub use locomo::locomo;
pub use memory::memory;
pub use models::{Form, models};
pub use report::publish_in;
pub use store::store;
pub use turns::turns;

/// They live in the crate they measure; this only starts them.
pub fn rules() -> Result<()> {
    let status = cargo().args(["bench", "--locked", "-p", "yabby-domain", "--bench", "rules"]).status()?;
    ensure!(status.success(), "the benchmark ended with {status}");
    Ok(())
}
