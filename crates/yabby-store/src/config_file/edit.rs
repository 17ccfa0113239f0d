//! Changing the configuration file (`config.md` §5, §6).
//!
//! The text is changed where it has to be and stays as it is written elsewhere: comments, order,
//! `$include` and `${NAME}`. As the reference does, a change also writes down the defaults; not in a file
//! with includes, for they would cover what is included.

mod change;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use yabby_config::defaults;
use yabby_config::extras;
use yabby_config::include::{Resolved, Shape, Traced, includes};
use yabby_config::issue::Issue;
use yabby_config::key_path::{KeyPath, SetError, Step};
use yabby_config::legacy;
use yabby_config::redaction::{MARK, NothingHidden, hidden, merge, restored};
use yabby_domain::json::{self, Value};
use yabby_domain::seam::{Clock, StoreError};
use yabby_domain::text::lossy;
use yabby_domain::transcript::time::iso;

use self::change::{Change, differences, first_included, missing_in, put, same, steps_in_main};
use super::backup::{Held, Outcome};
use super::extras::{self as extras_file, ExtrasFile};
use super::text::Text;
use super::{Snapshot, VERSION, comment, lines};
use crate::clock::SystemClock;
use crate::disk::{Disk, LocalDisk};
use crate::paths::Place;

/// How deep old keys may be in old keys.
const MIGRATIONS: usize = 3;

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
    #[error(transparent)]
    Hidden(#[from] NothingHidden),
    #[error(
        "a comment, or a key that is written twice, holds a value that is hidden; write the value itself"
    )]
    MarkLeft,
    #[error("SyntaxError: {0}")]
    Unreadable(json::Fault),
    /// The file is no longer the one that the caller saw.
    #[error("config changed since last load; re-run config.get and retry")]
    Stale,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What a repair did to the file.
#[derive(Debug)]
pub struct Repaired {
    pub snapshot: Snapshot,
    /// What became of old keys, a line each.
    pub migrated: Vec<String>,
    /// The keys that are comments now.
    pub commented: Vec<String>,
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
    ///
    /// Our own settings are in a file of their own.
    pub fn edit(&self, path: &KeyPath, edit: &Edit) -> Result<Snapshot, EditError> {
        if extras::is_own(path.segments()) {
            return self.edit_extras(path, edit);
        }
        if extras::is_shared(path.segments()) {
            let is_ours = path.get(&ExtrasFile::read(self.place, &self.place.environment).value).is_some();
            match edit {
                Edit::Set(value) if extras::is_own_value(path.segments(), value) => {
                    return self.edit_extras(path, edit);
                }
                Edit::Unset if is_ours => return self.edit_extras(path, edit),
                // Ours would win.
                Edit::Set(_) if is_ours => _ = self.edit_extras(path, &Edit::Unset)?,
                Edit::Set(_) | Edit::Unset => {}
            }
        }
        self.edit_all(&[(path.clone(), edit.clone())])
    }

    /// Changes several values, one after the other, and writes the file once: all of them, or none. They are
    /// none of our own settings.
    pub fn edit_all(&self, edits: &[(KeyPath, Edit)]) -> Result<Snapshot, EditError> {
        self.change(|snapshot| {
            if !snapshot.is_valid() {
                return Err(EditError::Invalid(Box::new(snapshot.clone())));
            }
            let mut reached = snapshot.clone();
            for (path, edit) in edits {
                reached = Snapshot::of_text(self.place, self.edited(&reached, path, edit)?);
            }
            Ok(reached.raw.unwrap_or_default())
        })
    }

    /// Changes one of our own settings; the file is made if there is none.
    fn edit_extras(&self, path: &KeyPath, edit: &Edit) -> Result<Snapshot, EditError> {
        let file = extras_file::path(self.place);
        let environment = Snapshot::read(self.place).environment;
        let held = Held::take(self.disk.as_ref(), &file)?;
        for _ in 0..TRIES {
            let old = held.current()?;
            let text = match &old {
                None => "{}\n".to_owned(),
                Some(bytes) => match std::str::from_utf8(bytes) {
                    Ok(text) => text.to_owned(),
                    Err(_) => return Err(EditError::NotText(file)),
                },
            };
            let written = json::read_json5(&text).map_err(|fault| EditError::Unchangeable {
                file: file.clone(),
                line: fault.line,
                what: fault.to_string(),
            })?;
            let mut wanted = written.clone();
            match edit {
                Edit::Set(value) => path.set(&mut wanted, value.clone())?,
                Edit::Unset if path.unset(&mut wanted) => {}
                Edit::Unset => return Err(EditError::NotFound(path.clone())),
            }
            let new = Self::applied_in(&file, &text, &differences(&written, &wanted))?;
            if let Some(issue) = ExtrasFile::of_text(self.place, &environment, new.clone()).issues.first() {
                return Err(EditError::Refused(issue.clone()));
            }
            match held.replace(old.as_deref(), &new)? {
                Outcome::Replaced => return Ok(Snapshot::read(self.place)),
                Outcome::Overtaken => {}
            }
        }
        Err(StoreError::Busy { path: file.display().to_string() }.into())
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
            self.applied(raw, &differences(&snapshot.parsed, &wanted))
        })
    }

    /// Makes a file of an earlier or a later release valid: old keys become today's, and keys that
    /// nobody knows become comments. `None` if there is nothing of the kind in it.
    pub fn repair(&self) -> Result<Option<Repaired>, EditError> {
        let (_, migrated, commented) = self.repaired(&Snapshot::read(self.place))?;
        if migrated.is_empty() && commented.is_empty() {
            return Ok(None);
        }
        let snapshot = self.change(|snapshot| Ok(self.repaired(snapshot)?.0))?;
        Ok(Some(Repaired { snapshot, migrated, commented }))
    }

    /// Whether a repair would do something, and leave nothing that is wrong.
    pub fn can_be_repaired(&self) -> bool {
        let repaired = self.repaired(&Snapshot::read(self.place));
        repaired.is_ok_and(|(text, migrated, commented)| {
            !(migrated.is_empty() && commented.is_empty()) && self.finished(&text).is_ok()
        })
    }

    /// What a repair would leave for a person to correct, and waits for. Empty if it has nothing to do.
    pub fn left_by_repair(&self) -> Vec<Issue> {
        match self.repaired(&Snapshot::read(self.place)) {
            Ok((text, migrated, commented)) if !(migrated.is_empty() && commented.is_empty()) => {
                Snapshot::of_text(self.place, text).issues
            }
            _ => Vec::new(),
        }
    }

    /// The text as it would be then, what became of old keys, and which ones are comments.
    fn repaired(&self, snapshot: &Snapshot) -> Result<(String, Vec<String>, Vec<String>), EditError> {
        let raw = snapshot.raw.as_deref().unwrap_or("{}\n");
        if json::read_json5(raw).is_err() {
            return Err(EditError::Invalid(Box::new(snapshot.clone())));
        }
        let mut wanted = snapshot.parsed.clone();
        let mut migrated = Vec::new();
        // What was moved may be old itself, such as `match.provider` in `routing.bindings`.
        for _ in 0..MIGRATIONS {
            migrated.extend(legacy::migrate(&mut wanted));
        }
        let text = self.applied(raw, &differences(&snapshot.parsed, &wanted))?;
        let (text, commented) = self.without_unknown_keys(text);
        Ok((text, migrated, commented))
    }

    /// The text with the keys that make it invalid in comments, and what they were called. Keys of an
    /// included file stay where they are.
    fn without_unknown_keys(&self, text: String) -> (String, Vec<String>) {
        let snapshot = Snapshot::of_text(self.place, text.clone());
        let Some(resolved) = &snapshot.resolved else { return (text, Vec::new()) };
        let paths: Vec<Vec<Step>> =
            snapshot.issues.iter().flat_map(|issue| in_main(resolved, issue)).collect();
        match comment::commented_out(&text, &paths) {
            Some((changed, done)) => (changed, done.iter().map(|steps| told(steps)).collect()),
            None => (text, Vec::new()),
        }
    }

    /// What the file would be with this text, in which marks stand for the secrets that it has now. Nothing is
    /// written.
    pub fn proposed(&self, raw: &str) -> Result<Snapshot, EditError> {
        let sent = json::read_json5(raw).map_err(EditError::Unreadable)?;
        let restored = hidden(&sent, &Snapshot::read(self.place).parsed)?;
        if restored.is_empty() && !raw.contains(MARK) {
            return Ok(Snapshot::of_text(self.place, raw.to_owned()));
        }
        let edits: Vec<Change> =
            restored.into_iter().map(|(steps, value)| (steps, Edit::Set(value))).collect();
        let text = self.applied(raw, &edits)?;
        if text.contains(MARK) {
            return Err(EditError::MarkLeft);
        }
        Ok(Snapshot::of_text(self.place, text))
    }

    /// What the file would be with a patch over it (RFC 7396), in which marks stand for the secrets that it has
    /// now. Older keys of the patch go where they belong now. Nothing is written.
    pub fn patched(&self, patch: &Value) -> Result<Snapshot, EditError> {
        let snapshot = Snapshot::read(self.place);
        let patch = restored(patch, &snapshot.parsed)?;
        let mut wanted = snapshot.parsed.clone();
        merge(&mut wanted, &patch);
        legacy::migrate(&mut wanted);
        let raw = snapshot.raw.as_deref().unwrap_or("{}\n");
        let text = self.applied(raw, &differences(&snapshot.parsed, &wanted))?;
        Ok(Snapshot::of_text(self.place, text))
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
        let mut edits = Vec::new();
        if !includes(&snapshot.parsed) {
            // What was just set may be a model, which is written out whole.
            edits = missing_in(&snapshot.parsed, snapshot.config.raw());
            edits.retain(|(steps, _)| defaults::is_of_models(steps));
        }
        let meta = |key: &str| vec![Step::Key("meta".to_owned()), Step::Key(key.to_owned())];
        edits.push((meta("lastTouchedVersion"), Edit::Set(VERSION.into())));
        edits.push((meta("lastTouchedAt"), Edit::Set(iso(self.clock.now()).into())));
        self.applied(text, &edits)
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
            Edit::Unset if path.get(snapshot.config.raw()).is_some() => {
                return Err(EditError::Default(path.clone()));
            }
            Edit::Unset => return Err(EditError::NotFound(path.clone())),
        }
        let steps = steps_in_main(resolved, &before.parsed, path)
            .map_err(|file| Self::included(resolved, path, file))?;
        let text = self.applied(&with_defaults, &[(steps, edit.clone())])?;
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
        self.applied(text, &missing_in(&snapshot.parsed, snapshot.config.raw()))
    }

    /// The text with some values changed, and nothing else.
    fn applied(&self, text: &str, edits: &[Change]) -> Result<String, EditError> {
        Self::applied_in(&self.place.config, text, edits)
    }

    fn applied_in(file: &Path, text: &str, edits: &[Change]) -> Result<String, EditError> {
        let unchangeable = |line, what| EditError::Unchangeable { file: file.to_owned(), line, what };
        let changing = Text::parse(text)
            .map_err(|error| unchangeable(error.line_display(), error.kind().to_string()))?;
        let mut wanted = json::parse_json5(text).unwrap_or_default();
        for (steps, edit) in edits {
            put(&mut wanted, steps, edit);
            match edit {
                Edit::Set(value) => changing.set(steps, value),
                Edit::Unset => changing.remove(steps),
            }
        }
        let changed = changing.to_string();
        // Nothing is left to the belief that a text was understood.
        match json::parse_json5(&changed) {
            Some(reached) if same(&reached, &wanted) => Ok(changed),
            _ => Err(unchangeable(1, "a change would damage this file".to_owned())),
        }
    }

    fn included(resolved: &Resolved, path: &KeyPath, file: usize) -> EditError {
        let file = resolved.files.get(file).map(PathBuf::from).unwrap_or_default();
        EditError::Included { path: path.clone(), file }
    }
}

/// The unknown keys that an issue tells of, as steps in the main file.
fn in_main(resolved: &Resolved, issue: &Issue) -> Vec<Vec<Step>> {
    let Some(keys) = issue.message.strip_prefix("Unrecognized key") else { return Vec::new() };
    let holder = lines::traced(resolved, &Issue::new(issue.path.as_str(), ""));
    let Shape::Object(members) = &holder.shape else { return Vec::new() };
    // Keys are told between quotes, and may hold dots and quotes themselves.
    let is_told = |key: &str| keys.contains(&format!("\"{key}\""));
    let unknown: Vec<(&String, &Traced)> = members.iter().filter(|(key, _)| is_told(key)).collect();
    let length: usize = unknown.iter().map(|(key, _)| key.len() + "\"\", ".len()).sum();
    if keys.trim_start_matches('s').len() != length {
        // One key that looks like two: nobody can tell which ones are meant.
        return Vec::new();
    }
    let own = unknown.into_iter().filter(|(_, member)| member.file == 0);
    own.map(|(_, member)| member.steps.clone()).collect()
}

fn told(steps: &[Step]) -> String {
    let part = |step: &Step| match step {
        Step::Key(key) => key.clone(),
        Step::Index(index) => index.to_string(),
    };
    steps.iter().map(part).collect::<Vec<_>>().join(".")
}
