//! Where a command works and with which configuration.

use anyhow::Result;
use yabby_domain::config::Config;
use yabby_store::config_file::Snapshot;
use yabby_store::paths::Place;

use crate::failure::Failure;

/// What every command is given.
pub struct Setting {
    pub place: Place,
}

impl Setting {
    /// The configuration; an invalid one stops the command, and says what is wrong.
    pub fn config(&self) -> Result<Config> {
        let snapshot = Snapshot::read(&self.place.config);
        if snapshot.is_valid() {
            return Ok(snapshot.config);
        }
        Err(Failure::bare(invalid(&snapshot, &self.place)).into())
    }
}

/// The note that stops a command (`config.md` §3).
fn invalid(snapshot: &Snapshot, place: &Place) -> String {
    let file = place.shortened(&snapshot.path);
    let problems: Vec<String> = snapshot.issues.iter().map(|issue| format!("  - {issue}")).collect();
    format!("Config invalid\nFile: {file}\nProblem:\n{}\n\nRun: yabby doctor --fix", problems.join("\n"))
}
