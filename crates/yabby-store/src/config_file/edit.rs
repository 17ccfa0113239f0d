//! Changing the configuration file (`config.md` §5, §6).
//!
//! The text is changed where it has to be and stays as it is written elsewhere: comments, order,
//! `$include` and `${NAME}`. As the reference does, a change also writes down the defaults; not in a file
//! with includes, for they would cover what is included.

use std::path::PathBuf;
use std::sync::Arc;

use yabby_config::include::{Resolved, Shape, Traced, includes};
use yabby_config::issue::Issue;
use yabby_config::key_path::{KeyPath, SetError, Step, index};
use yabby_domain::json::{self, Object, Value};
use yabby_domain::seam::{Clock, StoreError};
use yabby_domain::text::lossy;
use yabby_domain::transcript::time::iso;

use super::backup::{Held, Outcome};
use super::text::Text;
use super::{Snapshot, VERSION};
use crate::clock::SystemClock;
use crate::disk::{Disk, LocalDisk};
use crate::paths::Place;

/// How often somebody else may come first.
const TRIES: usize = 20;

/// What becomes of a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Edit {
    Set(Value),
    Unset,
}

#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// The file as it is; nothing is changed in one that cannot be read.
    #[error("{} is invalid; `yabby doctor` helps to repair it", .0.path.display())]
    Invalid(Box<Snapshot>),
    #[error("Config path not found: {0}")]
    NotFound(KeyPath),
    #[error("{0} is not in the file: what you see is its default")]
    Default(KeyPath),
    #[error(transparent)]
    Set(#[from] SetError),
    /// What is included cannot be changed from the file that includes it.
    #[error("{path} is set in {}, which is included; change it there", .file.display())]
    Included { path: KeyPath, file: PathBuf },
    #[error("{}, line {line}: {what}. yabby reads this but cannot change the file around it; write it in another way, or edit the file yourself", .file.display())]
    Unchangeable { file: PathBuf, line: usize, what: String },
    #[error("{} is not UTF-8 throughout, and would lose what is not; edit it yourself", .0.display())]
    NotText(PathBuf),
    #[error("Config validation failed: {0}")]
    Refused(Issue),
    /// The file is no longer the one that the caller saw.
    #[error("config changed since last load; re-run config.get and retry")]
    Stale,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The configuration file of a place, to change it.
pub struct ConfigFile<'p> {
    place: &'p Place,
    disk: Arc<dyn Disk>,
    clock: Arc<dyn Clock>,
}

impl<'p> ConfigFile<'p> {
    pub fn of(place: &'p Place) -> Self {
        Self::with(place, Arc::new(LocalDisk), Arc::new(SystemClock))
    }

    pub fn with(place: &'p Place, disk: Arc<dyn Disk>, clock: Arc<dyn Clock>) -> Self {
        Self { place, disk, clock }
    }

    /// Changes one value, and gives the file as it is then.
    pub fn edit(&self, path: &KeyPath, edit: &Edit) -> Result<Snapshot, EditError> {
        self.change(|snapshot| {
            if !snapshot.is_valid() {
                return Err(EditError::Invalid(Box::new(snapshot.clone())));
            }
            self.edited(snapshot, path, edit)
        })
    }

    /// Changes what the file itself says, before anything is resolved; what stays equal stays as it is
    /// written. The file may be invalid before, as long as it is JSON5, but not afterwards.
    pub fn rewrite(&self, change: impl Fn(&mut Value)) -> Result<Snapshot, EditError> {
        self.change(|snapshot| {
            let raw = snapshot.raw.as_deref().unwrap_or("{}\n");
            if json::read_json5(raw).is_err() {
                return Err(EditError::Invalid(Box::new(snapshot.clone())));
            }
            let mut wanted = snapshot.parsed.clone();
            change(&mut wanted);
            let text = self.text_of(raw)?;
            for (steps, edit) in differences(&snapshot.parsed, &wanted) {
                match edit {
                    Edit::Set(value) => text.set(&steps, &value),
                    Edit::Unset => text.remove(&steps),
                }
            }
            Ok(text.to_string())
        })
    }

    /// Puts a new text in the place of the old, whatever the old one is. `base` is the hash of the text
    /// that the caller saw.
    pub fn replace(&self, raw: &str, base: Option<&str>) -> Result<Snapshot, EditError> {
        self.change(|snapshot| {
            if snapshot.exists && base.is_some_and(|base| base != snapshot.hash) {
                return Err(EditError::Stale);
            }
            Ok(raw.to_owned())
        })
    }

    /// Reads the file, makes another text of it and writes that; again if somebody came first.
    fn change(
        &self,
        changed: impl Fn(&Snapshot) -> Result<String, EditError>,
    ) -> Result<Snapshot, EditError> {
        if !self.place.config.exists() {
            // No folder is made for a change that is refused.
            self.finished(&changed(&Snapshot::missing(self.place))?)?;
        }
        let held = Held::take(self.disk.as_ref(), &self.place.config)?;
        for _ in 0..TRIES {
            let old = held.current()?;
            let snapshot = match &old {
                None => Snapshot::missing(self.place),
                Some(bytes) => Snapshot::of_text(self.place, lossy(bytes).into_owned()),
            };
            let is_text = old.as_ref().is_none_or(|bytes| std::str::from_utf8(bytes).is_ok());
            let text = changed(&snapshot)?;
            if !is_text {
                return Err(EditError::NotText(snapshot.path));
            }
            let new = self.finished(&text)?;
            match held.replace(old.as_deref(), &new)? {
                Outcome::Replaced => return Ok(Snapshot::of_text(self.place, new)),
                Outcome::Overtaken => {}
            }
        }
        Err(StoreError::Busy { path: self.place.config.display().to_string() }.into())
    }

    /// The text with its stamp, if it may be used.
    fn finished(&self, text: &str) -> Result<String, EditError> {
        let snapshot = Snapshot::of_text(self.place, text.to_owned());
        if let Some(issue) = snapshot.issues.first() {
            return Err(EditError::Refused(issue.clone()));
        }
        let text = self.text_of(text)?;
        if !includes(&snapshot.parsed) {
            // What was just set may be a model, which is written out whole.
            for (steps, value) in missing_in(&snapshot.parsed, snapshot.config.root()) {
                if is_of_models(&steps) {
                    text.set(&steps, &value);
                }
            }
        }
        let stamp = |key: &str| [Step::Key("meta".to_owned()), Step::Key(key.to_owned())];
        text.set(&stamp("lastTouchedVersion"), &VERSION.into());
        text.set(&stamp("lastTouchedAt"), &iso(self.clock.now()).into());
        Ok(text.to_string())
    }

    fn edited(&self, snapshot: &Snapshot, path: &KeyPath, edit: &Edit) -> Result<String, EditError> {
        let with_defaults = self.with_defaults(snapshot)?;
        let before = Snapshot::of_text(self.place, with_defaults.clone());
        let resolved =
            before.resolved.as_ref().ok_or_else(|| EditError::Invalid(Box::new(before.clone())))?;
        let mut wanted = resolved.value();
        match edit {
            Edit::Set(value) => path.set(&mut wanted, value.clone())?,
            Edit::Unset if path.unset(&mut wanted) => {}
            Edit::Unset if path.get(snapshot.config.root()).is_some() => {
                return Err(EditError::Default(path.clone()));
            }
            Edit::Unset => return Err(EditError::NotFound(path.clone())),
        }
        let steps = steps_in_main(resolved, &before.parsed, path)
            .map_err(|file| Self::included(resolved, path, file))?;
        let text = self.text_of(&with_defaults)?;
        match edit {
            Edit::Set(value) => text.set(&steps, value),
            Edit::Unset => text.remove(&steps),
        }
        let text = text.to_string();
        let after = Snapshot::of_text(self.place, text.clone());
        let reached = after.resolved.as_ref().map(Resolved::value).filter(|reached| same(reached, &wanted));
        if reached.is_none() && after.issues.is_empty() {
            // A file that is included sets it as well, or adds to it.
            let file = [&after, &before]
                .into_iter()
                .filter_map(|snapshot| snapshot.resolved.as_ref()?.get(path))
                .find_map(first_included);
            return Err(Self::included(resolved, path, file.unwrap_or_default()));
        }
        Ok(text)
    }

    /// The text of a valid file with the defaults written down.
    fn with_defaults(&self, snapshot: &Snapshot) -> Result<String, EditError> {
        let text = snapshot.raw.as_deref().unwrap_or("{}\n");
        if includes(&snapshot.parsed) {
            return Ok(text.to_owned());
        }
        let changed = self.text_of(text)?;
        for (steps, value) in missing_in(&snapshot.parsed, snapshot.config.root()) {
            changed.set(&steps, &value);
        }
        Ok(changed.to_string())
    }

    fn text_of(&self, text: &str) -> Result<Text, EditError> {
        Text::parse(text).map_err(|error| EditError::Unchangeable {
            file: self.place.config.clone(),
            line: error.line_display(),
            what: error.kind().to_string(),
        })
    }

    fn included(resolved: &Resolved, path: &KeyPath, file: usize) -> EditError {
        let file = resolved.files.get(file).map(PathBuf::from).unwrap_or_default();
        EditError::Included { path: path.clone(), file }
    }
}

/// The edits that make one value of another. A list of another length is one edit.
fn differences(old: &Value, new: &Value) -> Vec<(Vec<Step>, Edit)> {
    fn walk(old: &Value, new: &Value, steps: &mut Vec<Step>, found: &mut Vec<(Vec<Step>, Edit)>) {
        match (old, new) {
            (Value::Object(old), Value::Object(new)) => {
                for key in old.keys().chain(new.keys().filter(|key| !old.contains_key(*key))) {
                    steps.push(Step::Key(key.clone()));
                    match (old.get(key), new.get(key)) {
                        (Some(old), Some(new)) => walk(old, new, steps, found),
                        (_, Some(new)) => found.push((steps.clone(), Edit::Set(new.clone()))),
                        (_, None) => found.push((steps.clone(), Edit::Unset)),
                    }
                    steps.pop();
                }
            }
            (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
                for (index, (old, new)) in old.iter().zip(new).enumerate() {
                    steps.push(Step::Index(index));
                    walk(old, new, steps, found);
                    steps.pop();
                }
            }
            (old, new) if same(old, new) => {}
            (_, new) => found.push((steps.clone(), Edit::Set(new.clone()))),
        }
    }
    let mut found = Vec::new();
    walk(old, new, &mut Vec::new(), &mut found);
    found
}

/// The members that the second value has and the first has not, each with the way to it.
fn missing_in(written: &Value, filled: &Value) -> Vec<(Vec<Step>, Value)> {
    fn walk(written: &Value, filled: &Value, steps: &mut Vec<Step>, found: &mut Vec<(Vec<Step>, Value)>) {
        match (written, filled) {
            (Value::Object(written), Value::Object(filled)) => {
                for (key, value) in filled {
                    steps.push(Step::Key(key.clone()));
                    match written.get(key) {
                        Some(written) => walk(written, value, steps, found),
                        None => found.push((steps.clone(), value.clone())),
                    }
                    steps.pop();
                }
            }
            (Value::Array(written), Value::Array(filled)) if written.len() == filled.len() => {
                for (index, (written, value)) in written.iter().zip(filled).enumerate() {
                    steps.push(Step::Index(index));
                    walk(written, value, steps, found);
                    steps.pop();
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    walk(written, filled, &mut Vec::new(), &mut found);
    found
}

fn is_of_models(steps: &[Step]) -> bool {
    let begins = |path: &[&str]| {
        path.iter().zip(steps).filter(|(name, step)| matches!(step, Step::Key(key) if key == *name)).count()
            == path.len()
    };
    begins(&["models"]) || begins(&["agents", "defaults", "models"])
}

/// The way to a value in the main file: to what is there, or to where it can be laid over what is
/// included. The error is the file that would have to be changed instead.
fn steps_in_main(resolved: &Resolved, main: &Value, path: &KeyPath) -> Result<Vec<Step>, usize> {
    let mut steps = Vec::new();
    let mut above = Some(&resolved.root);
    for segment in path.segments() {
        let child = above.and_then(|above| above.child(segment));
        let is_list = above.map(|above| matches!(above.shape, Shape::List(_)));
        match (child, is_list) {
            (Some(child), _) if child.file == 0 => steps = child.steps.clone(),
            (Some(child), Some(true)) => return Err(child.file),
            // Behind the elements that are included.
            (None, Some(true)) => steps.push(Step::Index(length_at(main, &steps))),
            (None, _) if is_list.is_none() && index(segment).is_some() => steps.push(Step::Index(0)),
            _ => steps.push(Step::Key(segment.clone())),
        }
        above = child;
    }
    Ok(steps)
}

fn length_at(main: &Value, steps: &[Step]) -> usize {
    let list = steps.iter().try_fold(main, |value, step| match step {
        Step::Key(key) => value.as_object()?.get(key),
        Step::Index(index) => value.as_array()?.get(*index),
    });
    list.and_then(Value::as_array).map_or(0, Vec::len)
}

/// The first file but the main one that has a part in a value.
fn first_included(traced: &Traced) -> Option<usize> {
    if traced.file != 0 {
        return Some(traced.file);
    }
    match &traced.shape {
        Shape::Scalar(_) => None,
        Shape::List(items) => items.iter().find_map(first_included),
        Shape::Object(members) => members.values().find_map(first_included),
    }
}

/// Whether two values are equal; the order of keys says nothing, and a number is a number.
fn same(one: &Value, other: &Value) -> bool {
    let members = |one: &Object, other: &Object| {
        one.len() == other.len()
            && one.iter().all(|(key, value)| other.get(key).is_some_and(|found| same(value, found)))
    };
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => members(one, other),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        (one, other) => one == other,
    }
}
