//! Paths in the configuration that point to where the folder was before it was moved, or out of it.

use std::path::{Path, PathBuf};

use yabby_config::key_path::KeyPath;
use yabby_domain::config::Config;
use yabby_domain::json::Value;
use yabby_domain::session::path::user_path;

use super::examination::Round;
use super::finding::{Code, Finding};
use crate::config_file::Snapshot;
use crate::disk::shown;

/// A path to be written anew.
#[derive(Clone, Debug)]
pub(super) struct MovedPath {
    pub(super) setting: KeyPath,
    pub(super) path: String,
}

/// Looks at every setting that names a folder in which an agent keeps something, and at every other path in the
/// configuration that names what was in this folder before it was moved.
pub(super) fn examine(round: &mut Round<'_>, snapshot: &Snapshot) {
    let place = &round.doctor.place;
    let file = place.config.clone();
    let state = place.folder.path().to_owned();
    let (home, current) = (shown(&place.home), shown(&place.current));
    let absolute = |written: &str| PathBuf::from(user_path(written, &home, &current));
    let mut moved: Vec<(KeyPath, String, PathBuf, PathBuf)> = Vec::new();
    let mut former: Vec<PathBuf> = round.doctor.moved_from.iter().cloned().collect();
    for (setting, written) in settings(&snapshot.config) {
        let path = absolute(&written);
        if path.starts_with(&state) {
            continue;
        }
        if path.exists() {
            let what = format!("{} is outside of this folder: {}.", name(&setting), path.display());
            round.found(Finding::new(Code::ConfigPathOutside, &file, what));
        } else if let Some((before, here)) = same_path_below(&state, &path) {
            former.push(before);
            moved.push((setting, written, path, here));
        }
    }
    former.retain(|before| *before != state && !before.exists());
    for (setting, written) in paths(&snapshot.parsed) {
        let path = absolute(written);
        let below = former.iter().find_map(|before| path.strip_prefix(before).ok());
        let is_known = moved.iter().any(|(known, ..)| known.segments() == setting.segments());
        if let Some(below) = below.filter(|_| !is_known) {
            let here = state.join(below);
            moved.push((setting, written.to_owned(), path, here));
        }
    }
    for (setting, written, path, here) in moved {
        let (name, here_shown) = (name(&setting), here.display());
        let what =
            format!("{name} names {}, which is not there; {here_shown} is its place now.", path.display());
        round.found(Finding::new(Code::ConfigPathMoved, &file, what));
        let path = if written.starts_with('~') { place.shortened(&here) } else { shown(&here) };
        round.plan.config_paths.push(MovedPath { setting, path });
        round.plan.config = Some(file.clone());
    }
}

fn name(setting: &KeyPath) -> String {
    setting.segments().join(".")
}

/// Every text of a value that is a path and does not depend on where the program was started.
fn paths(root: &Value) -> Vec<(KeyPath, &str)> {
    let mut found = Vec::new();
    let mut waiting: Vec<(Vec<String>, &Value)> = vec![(Vec::new(), root)];
    while let Some((at, value)) = waiting.pop() {
        let below = |name: String| at.iter().cloned().chain([name]).collect::<Vec<_>>();
        if let Some(text) = value.as_str().filter(|text| text.starts_with(['/', '~'])) {
            found.push((KeyPath::of(at.iter().map(String::as_str)), text));
        }
        let named = value.as_object().into_iter().flatten();
        waiting.extend(named.map(|(name, value)| (below(name.clone()), value)));
        let listed = value.as_array().into_iter().flatten().enumerate();
        waiting.extend(listed.map(|(place, value)| (below(place.to_string()), value)));
    }
    found.sort_by(|(one, _), (other, _)| one.segments().cmp(other.segments()));
    found
}

/// The settings that hold such a path, and what they say.
fn settings(config: &Config) -> Vec<(KeyPath, String)> {
    let common = (KeyPath::of(["agents", "defaults", "workspace"]), &config.agents.defaults.workspace);
    let of_agents = config.agents.list.iter().enumerate().flat_map(|(at, agent)| {
        let setting = |name: &str| KeyPath::of(["agents", "list", &at.to_string(), name]);
        [(setting("workspace"), &agent.workspace), (setting("agentDir"), &agent.agent_dir)]
    });
    let all = [common].into_iter().chain(of_agents);
    all.filter_map(|(setting, written)| Some((setting, written.clone()?))).collect()
}

/// The longest end of a path that there is below the folder: where the folder was by that, and what is there now.
fn same_path_below(state: &Path, path: &Path) -> Option<(PathBuf, PathBuf)> {
    let mut ends = path.components();
    // The root is no part of a name.
    ends.next()?;
    while !ends.as_path().as_os_str().is_empty() {
        let end = ends.as_path();
        let here = state.join(end);
        if here.is_dir() {
            let before = path.ancestors().nth(end.components().count())?;
            return Some((before.to_owned(), here));
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
            let here = here.map(|here| (PathBuf::from("/home/sam/.yabby"), state.path().join(here)));
            assert_eq!(same_path_below(state.path(), Path::new(path)), here, "{path}");
        }
    }
}
