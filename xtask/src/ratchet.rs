//! Refreshes the numbers of recorded cases that pass, which the tests hold the vector runner to.

use std::path::Path;

use anyhow::{Result, ensure};

use crate::program::cargo;

/// Runs every recorded case and writes how many pass; fewer than before only if `lowers`.
pub fn refresh(lowers: bool) -> Result<()> {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let status = cargo()
        .current_dir(project)
        .args(["run", "--quiet", "--locked", "--package", "yabby-testkit", "--bin", "vectors", "--"])
        .args(["--ratchet", "vectors"])
        .args(lowers.then_some("--lower"))
        .status()?;
    ensure!(status.success(), "the runner ended with {status}");
    Ok(())
}
