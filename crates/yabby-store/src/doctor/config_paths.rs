//! Paths in the configuration that point to where the folder was before it was moved, or out of it.

use std::path::{Path, PathBuf};

use yabby_config::key_path::KeyPath;
use yabby_domain::config::Config;
use yabby_domain::json::Value;
use yabby_domain::session::path::user_path;

use super::examination::Round;
use super::finding::{Code, Finding};
use crate::disk::shown;

/// A path to be written anew.
#[derive(Clone, Debug)]
pub(super) struct MovedPath {
    pub(super) setting: KeyPath,
    pub(super) path: String,
}

/// Looks at every setting that names a folder in which an agent keeps something.
pub(super) fn examine(round: &mut Round<'_>, config: &Config) {
    let place = &round.doctor.place;
    let file = place.config.clone();
    let state = place.folder.path().to_owned();
    for setting in settings(config) {
        let Some(written) = setting.get(config.root()).and_then(Value::as_str).map(str::to_owned) else {
            continue;
        };
        let path = PathBuf::from(user_path(&written, &shown(&place.home), &shown(&place.current)));
        if path.starts_with(&state) {
            continue;
        }
        let name = setting.segments().join(".");
        if path.exists() {
            let what = format!("{name} is outside of this folder: {}.", path.display());
            round.found(Finding::new(Code::ConfigPathOutside, &file, what));
        } else if let Some(here) = same_path_below(&state, &path) {
            let what = format!("{name} names {}, which is not there; {} is.", path.display(), here.display());
            round.found(Finding::new(Code::ConfigPathMoved, &file, what));
            let path = if written.starts_with('~') { place.shortened(&here) } else { shown(&here) };
            round.plan.config_paths.push(MovedPath { setting, path });
            round.plan.config = Some(file.clone());
        }
    }
}

/// The settings that hold such a path.
fn settings(config: &Config) -> Vec<KeyPath> {
    let agents = config.list(&["agents", "list"]).unwrap_or_default().len();
    let of_agents = (0..agents).flat_map(|at| {
        ["workspace", "agentDir"].map(|name| KeyPath::of(["agents", "list", &at.to_string(), name]))
    });
    [KeyPath::of(["agents", "defaults", "workspace"])].into_iter().chain(of_agents).collect()
}

/// The longest end of a path that there is below the folder.
fn same_path_below(state: &Path, path: &Path) -> Option<PathBuf> {
    let mut ends = path.components();
    // The root is no part of a name.
    ends.next()?;
    while !ends.as_path().as_os_str().is_empty() {
        let here = state.join(ends.as_path());
        if here.is_dir() {
            return Some(here);
        }
        ends.next()?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_found_by_its_end() {
        let state = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(state.path().join("agents/ops/agent")).unwrap();
        std::fs::create_dir(state.path().join("workspace")).unwrap();
        for (path, here) in [
            ("/home/sam/.yabby/workspace", Some("workspace")),
            ("/home/sam/.yabby/agents/ops/agent", Some("agents/ops/agent")),
            ("/home/sam/.yabby/notes", None),
            ("/", None),
        ] {
            let here = here.map(|here| state.path().join(here));
            assert_eq!(same_path_below(state.path(), Path::new(path)), here, "{path}");
        }
    }
}
