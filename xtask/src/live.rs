//! `cargo xtask live`: a conversation with the real services, by hand.

use anyhow::{Result, bail, ensure};

use crate::program::cargo;

/// Asks the services that there is a key for; with names only those. It lives beside the tests whose
/// conversation it holds.
pub fn run(names: &[&str]) -> Result<()> {
    if std::env::var_os("CI").is_some() {
        bail!("what a real service says is no reason for a change to fail; `live` is for people, not for CI");
    }
    let status = cargo()
        .args(["run", "--quiet", "--locked", "-p", "yabby-models", "--example", "live", "--"])
        .args(names)
        .status()?;
    ensure!(status.success(), "not every service answered as it should");
    Ok(())
}
