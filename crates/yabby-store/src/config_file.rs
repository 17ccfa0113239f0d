//! The configuration file: reading it (`config.md` §1, §2) and, in [`edit`], writing it (§6).

mod backup;
mod check;
mod comment;
pub mod edit;
mod extras;
mod hiding;
mod lines;
mod plugins;
mod text;

use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use yabby_config::environment::Environment;
use yabby_config::extras::{merge, point_out};
use yabby_config::include::{self, IncludeError, Resolved, Why};
use yabby_config::issue::Issue;
use yabby_config::key_path::Step;
use yabby_config::substitute::substitute;
use yabby_config::validate::unknown_keys;
use yabby_domain::config::Config;
use yabby_domain::json::{self, Object, Value};
use yabby_domain::text::lossy;

use self::extras::ExtrasFile;
use crate::files::folder::read_plain;
use crate::paths::Place;

/// The version that we read and write files as, so that OpenClaw takes them for its own.
const VERSION: &str = "2026.2.3";

/// The configuration as it was found.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub path: PathBuf,
    pub exists: bool,
    /// The text of the file, if there is one.
    pub raw: Option<String>,
    /// The lower-case SHA-256 of the text; of nothing if there is none.
    pub hash: String,
    /// What the file itself says, before anything is resolved.
    pub parsed: Value,
    /// What it resolves to, with defaults; as far as it could be read if there are issues.
    pub config: Config,
    /// What makes the file invalid.
    pub issues: Vec<Issue>,
    /// What does not, but deserves a look.
    pub warnings: Vec<Issue>,
    /// The old keys among it.
    pub legacy: Vec<Issue>,
    /// What is worth a line on standard error.
    pub notices: Vec<String>,
    /// The variables that it was read with: its own are among them.
    pub environment: Environment,
    /// The file of our own settings; missing if nobody looked for it.
    pub extras: ExtrasFile,
    for_run: Value,
    resolved: Option<Resolved>,
    /// The texts of [`Resolved::files`].
    texts: Vec<(PathBuf, String)>,
    /// Where the one thing is that kept the file from being resolved.
    obstacle: Option<Spot>,
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    pub file: PathBuf,
    /// The first line is 1.
    pub line: usize,
}

impl Snapshot {
    /// Reads the file of a place; without one the configuration is empty.
    pub fn read(place: &Place) -> Self {
        let mut snapshot = match read_plain(&place.config) {
            Ok(bytes) => Self::of_text(place, lossy(&bytes).into_owned()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::missing(place),
            Err(error) => {
                let mut snapshot = Self::blank(place, None);
                snapshot.refuse(format!("read failed: {error}"), None);
                snapshot
            }
        };
        snapshot.add_extras(place);
        snapshot
    }

    /// Takes our own settings in, which count where the configuration is valid.
    fn add_extras(&mut self, place: &Place) {
        let is_valid = self.is_valid();
        self.extras = ExtrasFile::read(place, &self.environment);
        if is_valid && self.extras.issues.is_empty() {
            merge(&mut self.for_run, &self.extras.value);
        } else {
            self.for_run = Value::Object(Object::new());
        }
        self.issues.extend(self.extras.issues.iter().cloned());
    }

    /// The configuration as a person sees it, with our own settings in it.
    pub fn with_extras(&self) -> Config {
        let mut all = self.config.raw().clone();
        merge(&mut all, &self.extras.value);
        Config::new(all)
    }

    /// The files that it was read from: whoever changes one of them changes the configuration.
    pub fn files(&self) -> Vec<PathBuf> {
        let included = self.texts.iter().map(|(path, _)| path.clone()).filter(|path| *path != self.path);
        [self.path.clone(), self.extras.path.clone()].into_iter().chain(included).collect()
    }

    pub fn is_valid(&self) -> bool {
        self.issues.is_empty()
    }

    /// What a run works with. An invalid file says nothing to a run: it goes on with defaults.
    pub fn for_run(&self) -> Config {
        Config::new(self.for_run.clone())
    }

    /// The text of the file without its secrets.
    pub fn redacted_text(&self) -> Option<String> {
        let raw = self.raw.as_deref()?;
        Some(match json::read_json5(raw) {
            Ok(parsed) => hiding::hidden_in(raw, &parsed),
            Err(_) => hiding::hidden_by_names(raw),
        })
    }

    /// The keys that the schema does not know, as paths.
    pub fn unknown_keys(&self) -> Vec<String> {
        // Before includes are resolved there are keys that nobody else knows.
        if self.resolved.is_some() { unknown_keys(self.config.raw()) } else { Vec::new() }
    }

    /// The line that an issue is about, in the file that holds it.
    pub fn line_of(&self, issue: &Issue) -> Option<Spot> {
        if self.extras.issues.contains(issue) {
            return Some(self.extras.spot_of(issue));
        }
        if let Some(obstacle) = &self.obstacle {
            return Some(obstacle.clone());
        }
        let resolved = self.resolved.as_ref()?;
        let traced = lines::traced(resolved, issue);
        let (file, text) = self.texts.get(traced.file)?;
        let line = lines::line_at(text, &traced.steps)?;
        Some(Spot { file: file.clone(), line })
    }

    /// The same file with this text.
    pub fn of_text(place: &Place, raw: String) -> Self {
        let mut snapshot = Self::blank(place, Some(raw.clone()));
        snapshot.resolve(place, raw);
        snapshot
    }

    fn blank(place: &Place, raw: Option<String>) -> Self {
        let nothing = || Value::Object(Object::new());
        Self {
            path: place.config.clone(),
            exists: true,
            hash: hash(raw.as_deref().unwrap_or_default()),
            raw,
            parsed: nothing(),
            config: Config::new(nothing()),
            issues: Vec::new(),
            warnings: Vec::new(),
            legacy: Vec::new(),
            notices: Vec::new(),
            environment: place.environment.clone(),
            extras: ExtrasFile::missing(place),
            for_run: nothing(),
            resolved: None,
            texts: Vec::new(),
            obstacle: None,
        }
    }

    fn missing(place: &Place) -> Self {
        let mut snapshot = Self { exists: false, ..Self::blank(place, None) };
        snapshot.config = Config::new(check::without_file(&place.environment));
        snapshot
    }

    fn refuse(&mut self, message: String, obstacle: Option<Spot>) {
        self.issues = vec![Issue::new("", message)];
        self.obstacle = obstacle;
    }

    /// The steps from text to configuration; the first that fails is the last.
    fn resolve(&mut self, place: &Place, raw: String) {
        let parsed = match json::read_json5(&raw) {
            Ok(parsed) => parsed,
            Err(fault) => {
                let spot = Spot { file: self.path.clone(), line: fault.line };
                return self.refuse(format!("JSON5 parse failed: SyntaxError: {fault}"), Some(spot));
            }
        };
        self.parsed = parsed.clone();
        self.texts.push((self.path.clone(), raw));
        let resolved = match self.with_includes(parsed) {
            Ok(resolved) => resolved,
            Err(error) => {
                self.config = as_far_as_read(self.parsed.clone());
                let spot = self.spot_of(&error);
                return self.refuse(error.to_string(), spot);
            }
        };
        let mut value = resolved.value();
        self.environment.add_section(&value);
        if let Err(missing) = substitute(&mut value, &self.environment) {
            self.config = as_far_as_read(resolved.value());
            let traced = lines::follow(&resolved.root, &missing.steps);
            let spot = self.spot(traced.file, &traced.steps);
            return self.refuse(missing.to_string(), spot);
        }
        self.resolved = Some(resolved);
        let checked = check::check(value, place, &self.environment);
        self.config = as_far_as_read(checked.config);
        self.for_run = checked.for_run;
        self.issues = checked.issues;
        for issue in &mut self.issues {
            point_out(issue, self.config.raw());
        }
        self.warnings = checked.warnings;
        self.legacy = checked.legacy;
        self.notices = checked.notices;
    }

    fn with_includes(&mut self, parsed: Value) -> Result<Resolved, IncludeError> {
        let texts = &mut self.texts;
        let mut read = |path: &str| {
            let text = lossy(&read_plain(Path::new(path)).ok()?).into_owned();
            texts.push((PathBuf::from(path), text.clone()));
            Some(text)
        };
        include::resolve(&self.path.to_string_lossy(), parsed, &mut read)
    }

    /// Where an include fails: in the file that is broken, else at the directive.
    fn spot_of(&self, error: &IncludeError) -> Option<Spot> {
        if let Why::Broken { path, fault, .. } = &error.why {
            return Some(Spot { file: path.into(), line: fault.line });
        }
        let at = |(file, _): &(PathBuf, String)| file.to_string_lossy() == error.file;
        // The main file may be written in another way than its path resolves to.
        self.spot(self.texts.iter().position(at).unwrap_or_default(), &error.steps)
    }

    fn spot(&self, file: usize, steps: &[Step]) -> Option<Spot> {
        let (file, text) = self.texts.get(file)?;
        Some(Spot { file: file.clone(), line: lines::line_at(text, steps)? })
    }
}

pub(crate) fn hash(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// An object, or nothing.
fn as_far_as_read(value: Value) -> Config {
    Config::new(if value.is_object() { value } else { Value::Object(Object::new()) })
}
