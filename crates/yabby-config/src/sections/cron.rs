//! `cron`: jobs at set times.

use yabby_config_derive::section;

use crate::sections::number::PositiveInteger;

/// Jobs at set times.
#[section]
pub struct Cron {
    /// Whether they run.
    #[config(default = true)]
    pub enabled: Option<bool>,
    /// Their file. Default: `<state>/cron/jobs.json`.
    pub store: Option<String>,
    /// How many run at once.
    #[config(default = 1)]
    pub max_concurrent_runs: Option<PositiveInteger>,
}
