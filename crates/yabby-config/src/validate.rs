//! Whether a configuration may be used, and what is wrong with it (`config.md` §3).
//!
//! Checks come in stages, and a stage is reached only if those before it found nothing: legacy keys,
//! the schema with the rules of its types, folders that two agents share, avatars, and last plugins,
//! channels and heartbeat targets.

mod agents;
mod allowed;
mod plugins;
mod rules;
mod walk;

use serde_json::Value;

use crate::issue::Issue;
use crate::legacy;

pub use plugins::{Origin, Plugin};

/// What the checks must know of the world around the configuration.
#[derive(Clone, Copy)]
pub struct World<'w> {
    pub home: &'w str,
    pub state: &'w str,
    /// What relative paths are relative to.
    pub working_folder: &'w str,
    pub env: &'w dyn Fn(&str) -> Option<String>,
    /// Whether there is such a file or folder.
    pub exists: &'w dyn Fn(&str) -> bool,
    /// The plugins found on disk, besides those that OpenClaw brings along.
    pub plugins: &'w [Plugin],
}

/// The outcome of a check.
#[derive(Clone, Debug, PartialEq)]
pub struct Validation {
    /// The configuration in the order of the schema and with its defaults; as it was given if it has
    /// issues.
    pub config: Value,
    /// What makes it unusable; all of one stage.
    pub issues: Vec<Issue>,
    /// What does not.
    pub warnings: Vec<Issue>,
}

impl Validation {
    pub fn is_valid(&self) -> bool {
        self.issues.is_empty()
    }
}

/// Checks a configuration whose includes and variables are resolved.
pub fn validate(config: &Value, world: &World<'_>) -> Validation {
    let refused = |issues| Validation { config: config.clone(), issues, warnings: Vec::new() };
    let legacy = legacy::issues(config);
    if !legacy.is_empty() {
        return refused(legacy);
    }
    let walked = walk::config(config);
    if !walked.issues.is_empty() {
        return refused(walked.issues);
    }
    for stage in [agents::shared_folders, agents::avatars] {
        let issues = stage(&walked.config, world);
        if !issues.is_empty() {
            return refused(issues);
        }
    }
    let (issues, warnings) = plugins::check(&walked.config, world);
    if !issues.is_empty() {
        return Validation { warnings, ..refused(issues) };
    }
    Validation { config: walked.config, issues, warnings }
}

/// The keys that the schema does not know, as paths, wherever they stand.
pub fn unknown_keys(config: &Value) -> Vec<String> {
    walk::config(config).unknown_keys
}
