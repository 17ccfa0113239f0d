//! The configuration changes while we run: what can be applied at once is, and the rest begins everything anew.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notify::{RecommendedWatcher, RecursiveMode};
use tokio::sync::mpsc::{self, UnboundedReceiver};
use yabby_config::read::{Reload, reload};
use yabby_domain::config::Config;
use yabby_domain::config::gateway::ReloadMode;
use yabby_domain::json::Value;
use yabby_store::config_file::Snapshot;

use crate::logs;
use crate::setting::Setting;
use crate::wire::models;
use crate::wire::secrets::secrets;

/// What a change leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    Nothing,
    Live,
    Restart,
}

/// What a gateway that runs does about a change of its configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Unchanged,
    /// It applies it without a restart.
    Live,
    /// It restarts itself.
    Restart,
    /// Somebody has to restart it.
    ByHand,
}

/// What a running gateway does when its configuration becomes another one.
pub fn outcome(setting: &Setting, before: &Config, after: &Config) -> Outcome {
    let changed = changed_paths(before.raw(), after.raw());
    let mode = after.gateway.reload.mode();
    match effect(&changed, mode) {
        Effect::Nothing if changed.is_empty() => Outcome::Unchanged,
        Effect::Nothing => Outcome::ByHand,
        Effect::Live if !names_a_new_model(setting, &Arc::new(before.clone()), after) => Outcome::Live,
        Effect::Live | Effect::Restart if mode == ReloadMode::Hot => Outcome::ByHand,
        Effect::Live | Effect::Restart => Outcome::Restart,
    }
}

/// Somebody who notices that the configuration changes, from before it is in force.
pub struct Watching {
    /// Nothing is noticed without one.
    watcher: Option<RecommendedWatcher>,
    changes: UnboundedReceiver<()>,
    /// The files as they were when somebody looked last.
    looked: Looks,
    existed: bool,
}

type Looks = BTreeMap<PathBuf, Option<Vec<u8>>>;

impl Watching {
    pub fn begin(setting: &Setting) -> Self {
        let (sender, changes) = mpsc::unbounded_channel();
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            let is_change = |event: notify::Event| {
                event.kind.is_modify() || event.kind.is_create() || event.kind.is_remove()
            };
            if event.is_ok_and(is_change) {
                let _ = sender.send(());
            }
        });
        let snapshot = Snapshot::read(&setting.place);
        let watching = watcher.and_then(|mut watcher| {
            watch_folders(&mut watcher, &snapshot.files())?;
            Ok(watcher)
        });
        let watcher = watching
            .inspect_err(|error| {
                tracing::warn!(%error, "changes of the configuration are not noticed; restart the gateway after one");
            })
            .ok();
        Self { watcher, changes, looked: looks(snapshot.files()), existed: snapshot.exists }
    }

    /// Applies changes of the configuration; comes back when everything has to begin anew.
    ///
    /// `current` is the one in force, from the first to the last moment.
    pub async fn follow(
        self,
        setting: &Setting,
        current: &mut Arc<Config>,
        applied: impl Fn(Config) -> Config,
        apply: impl Fn(&Arc<Config>),
    ) {
        let Self { watcher, mut changes, mut looked, mut existed } = self;
        let Some(mut watcher) = watcher else { return std::future::pending().await };
        while changes.recv().await.is_some() {
            let quiet = current.gateway.reload.debounce_ms().clamp(0.0, 60_000.0);
            let quiet = Duration::from_secs_f64(quiet / 1000.0);
            while let Ok(Some(())) = tokio::time::timeout(quiet, changes.recv()).await {}
            // Other files of the folder change all the time.
            if looked.iter().all(|(file, before)| std::fs::read(file).ok() == *before) {
                continue;
            }
            let snapshot = Snapshot::read(&setting.place);
            looked = looks(snapshot.files());
            if let Err(error) = watch_folders(&mut watcher, looked.keys()) {
                tracing::warn!(%error, "not every change of the configuration will be noticed");
            }
            if let Some(why) = unusable(&snapshot, existed) {
                tracing::warn!("{why}; the last valid one stays in force");
                continue;
            }
            existed = snapshot.exists;
            logs::hide(secrets(&setting.place, &snapshot.with_extras(), &snapshot.environment));
            let next = Arc::new(applied(snapshot.for_run()));
            let changed = changed_paths(current.raw(), next.raw());
            let mode = next.gateway.reload.mode();
            let effect = match effect(&changed, mode) {
                Effect::Live if names_a_new_model(setting, current, &next) => Effect::Restart,
                effect => effect,
            };
            match effect {
                Effect::Nothing => {
                    if !changed.is_empty() {
                        tracing::info!(changed = %told(&changed), "the configuration changed, and nothing is done about it (gateway.reload.mode=off)");
                    }
                    continue;
                }
                Effect::Live => {
                    apply(&next);
                    tracing::info!(changed = %told(&changed), "the configuration changed, and is in force");
                }
                Effect::Restart if mode == ReloadMode::Hot => {
                    tracing::warn!(changed = %told(&changed), "the configuration changed; restart the gateway to apply it");
                }
                Effect::Restart => {
                    tracing::info!(changed = %told(&changed), "the configuration changed: beginning anew");
                    return;
                }
            }
            *current = next;
        }
    }
}

/// Why a gateway that runs does not take a configuration over, if it does not.
pub fn unusable(snapshot: &Snapshot, must_exist: bool) -> Option<String> {
    if !snapshot.is_valid() {
        let issues: Vec<String> = snapshot.issues.iter().map(ToString::to_string).collect();
        return Some(format!("the configuration is invalid now ({})", issues.join("; ")));
    }
    let is_gone = must_exist && !snapshot.exists;
    is_gone.then(|| format!("the configuration {} is gone", snapshot.path.display()))
}

/// Whether a model is named that nobody who can be asked knows of: services are told their models when they are made.
fn names_a_new_model(setting: &Setting, before: &Arc<Config>, after: &Config) -> bool {
    let named = models::spoken_of(after);
    let spoken_of = models::spoken_of(before);
    let fresh: Vec<_> = named.into_iter().filter(|model| !spoken_of.contains(model)).collect();
    if fresh.is_empty() {
        return false;
    }
    let offered = models::offered(&setting.place, before, &models::main_folder(&setting.place));
    fresh.iter().any(|model| !offered.iter().any(|offered| offered.model == *model))
}

/// The files of the configuration as they are, the missing ones among them.
fn looks(files: Vec<PathBuf>) -> Looks {
    let look = |file: PathBuf| (std::fs::read(&file).ok(), file);
    files.into_iter().map(look).map(|(bytes, file)| (file, bytes)).collect()
}

/// Another file takes the place of the one that was there when it is written, so that folders are watched.
fn watch_folders<'f>(
    watcher: &mut impl notify::Watcher,
    files: impl IntoIterator<Item = &'f PathBuf>,
) -> notify::Result<()> {
    let folders: BTreeSet<&Path> = files.into_iter().filter_map(|file| file.parent()).collect();
    folders.into_iter().try_for_each(|folder| watcher.watch(folder, RecursiveMode::NonRecursive))
}

fn told(changed: &[Vec<String>]) -> String {
    changed.iter().map(|path| path.join(".")).collect::<Vec<_>>().join(", ")
}

fn effect(changed: &[Vec<String>], mode: ReloadMode) -> Effect {
    // No channel can begin anew alone.
    let is_live = |path: &Vec<String>| reload(path) == Reload::Live;
    match (changed.is_empty() || mode == ReloadMode::Off, changed.iter().all(is_live), mode) {
        (true, _, _) => Effect::Nothing,
        (false, true, ReloadMode::Restart) | (false, false, _) => Effect::Restart,
        (false, true, _) => Effect::Live,
    }
}

/// Where two configurations differ.
fn changed_paths(before: &Value, after: &Value) -> Vec<Vec<String>> {
    fn compare(
        before: Option<&Value>,
        after: Option<&Value>,
        path: &mut Vec<String>,
        found: &mut Vec<Vec<String>>,
    ) {
        match (before, after) {
            (before, after) if before == after => {}
            (Some(Value::Object(before)), Some(Value::Object(after))) => {
                let added = after.keys().filter(|name| !before.contains_key(*name));
                for name in before.keys().chain(added) {
                    path.push(name.clone());
                    compare(before.get(name), after.get(name), path, found);
                    path.pop();
                }
            }
            _ => found.push(path.clone()),
        }
    }
    let mut found = Vec::new();
    compare(Some(before), Some(after), &mut Vec::new(), &mut found);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_a_change_leads_to_depends_on_what_changed() {
        let before =
            json!({"messages": {"responsePrefix": "a"}, "gateway": {"port": 1, "auth": {"token": "x"}}});
        let with = |path: &str, value: Value| {
            let mut after = before.clone();
            *after.pointer_mut(path).unwrap() = value;
            after
        };
        let table = [
            (before.clone(), ReloadMode::Hybrid, Effect::Nothing),
            (with("/messages/responsePrefix", json!("b")), ReloadMode::Hybrid, Effect::Live),
            (with("/messages", json!({})), ReloadMode::Hybrid, Effect::Live),
            (with("/gateway/auth/token", json!("y")), ReloadMode::Hybrid, Effect::Live),
            (with("/gateway/port", json!(2)), ReloadMode::Hybrid, Effect::Restart),
            (with("/messages/responsePrefix", json!("b")), ReloadMode::Restart, Effect::Restart),
            (with("/gateway/port", json!(2)), ReloadMode::Off, Effect::Nothing),
        ];
        for (after, mode, expected) in table {
            assert_eq!(effect(&changed_paths(&before, &after), mode), expected, "{after}");
        }
    }
}
