//! `yabby-extras.json`, the file of our own settings beside the configuration (`docs/adr/0010`).

use std::io;
use std::path::PathBuf;

use yabby_config::environment::Environment;
use yabby_config::extras::{self, FILE};
use yabby_config::issue::Issue;
use yabby_config::key_path::Step;
use yabby_config::substitute::substitute;
use yabby_domain::json::{self, Object, Value};
use yabby_domain::session::path::user_path;
use yabby_domain::text::lossy;

use super::{Spot, lines};
use crate::disk::parent;
use crate::files::folder::read_plain;
use crate::paths::Place;

/// The file as it was found.
#[derive(Clone, Debug)]
pub struct ExtrasFile {
    pub path: PathBuf,
    pub exists: bool,
    /// What it says, with variables and the home folder filled in; nothing if there are issues.
    pub value: Value,
    /// What makes it invalid.
    pub issues: Vec<Issue>,
    text: String,
    /// The line that could not be read.
    broken: Option<usize>,
}

impl ExtrasFile {
    pub(super) fn missing(place: &Place) -> Self {
        Self {
            path: path(place),
            exists: false,
            value: Value::Object(Object::new()),
            issues: Vec::new(),
            text: String::new(),
            broken: None,
        }
    }

    pub(super) fn read(place: &Place, environment: &Environment) -> Self {
        match read_plain(&path(place)) {
            Ok(bytes) => Self::of_text(place, environment, lossy(&bytes).into_owned()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::missing(place),
            Err(error) => {
                let issues = vec![Issue::new("", format!("{FILE}: read failed: {error}"))];
                Self { exists: true, issues, ..Self::missing(place) }
            }
        }
    }

    pub(super) fn of_text(place: &Place, environment: &Environment, text: String) -> Self {
        let mut file = Self { exists: true, text, ..Self::missing(place) };
        let mut value = match json::read_json5(&file.text) {
            Ok(value) => value,
            Err(fault) => {
                file.broken = Some(fault.line);
                file.issues =
                    vec![Issue::new("", format!("{FILE}: JSON5 parse failed: SyntaxError: {fault}"))];
                return file;
            }
        };
        if let Err(missing) = substitute(&mut value, environment) {
            file.broken = lines::line_at(&file.text, &missing.steps);
            file.issues = vec![Issue::new("", missing.to_string())];
            return file;
        }
        file.issues = extras::issues(&value);
        if file.issues.is_empty() {
            let (home, current) = (place.home.to_string_lossy(), place.current.to_string_lossy());
            extras::expand(&mut value, &|path| user_path(path, &home, &current));
            file.value = value;
        }
        file
    }

    /// The line that an issue of this file is about.
    pub(super) fn spot_of(&self, issue: &Issue) -> Spot {
        let segments = issue.path.split('.').filter(|segment| !segment.is_empty());
        let mut steps: Vec<Step> = segments.map(step).collect();
        let unknown = issue.message.strip_prefix("Unrecognized key").and_then(|keys| keys.split('"').nth(1));
        steps.extend(unknown.map(|key| Step::Key(key.to_owned())));
        let line = self.broken.or_else(|| lines::line_at(&self.text, &steps)).unwrap_or(1);
        Spot { file: self.path.clone(), line }
    }
}

fn step(segment: &str) -> Step {
    segment.parse().map_or_else(|_| Step::Key(segment.to_owned()), Step::Index)
}

/// Beside the configuration.
pub(super) fn path(place: &Place) -> PathBuf {
    parent(&place.config).join(FILE)
}
