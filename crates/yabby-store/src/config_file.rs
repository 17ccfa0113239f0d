//! The configuration file: reading it (`config.md` §1, §2).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use yabby_config::issue::Issue;
use yabby_domain::config::Config;
use yabby_domain::json::{self, Value};

/// The configuration as it was found.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub path: PathBuf,
    /// What the file resolves to, with defaults; as far as it could be read if there are issues.
    pub config: Config,
    /// What makes the file invalid.
    pub issues: Vec<Issue>,
}

impl Snapshot {
    /// Reads the file at `path`; without one the configuration is empty.
    pub fn read(path: &Path) -> Self {
        let (value, issues) = match fs::read_to_string(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                (Value::Object(json::Object::new()), vec![])
            }
            Err(error) => (Value::Null, vec![Issue::new("", format!("read failed: {error}"))]),
            Ok(text) => match json::parse_json5(&text) {
                Some(value) => (value, vec![]),
                None => (Value::Null, vec![Issue::new("", "JSON5 parse failed")]),
            },
        };
        Self { path: path.to_owned(), config: Config::new(value), issues }
    }

    pub fn is_valid(&self) -> bool {
        self.issues.is_empty()
    }
}
