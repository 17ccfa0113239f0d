//! A fresh copy of a recorded home folder, with its placeholders filled in.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use jiff::{Timestamp, ToSpan as _};
use regex::{Captures, Regex};
use tempfile::TempDir;
use yabby_domain::json::{self, Value};

use crate::vectors::gateway::Ports;

pub(super) struct Home {
    folder: TempDir,
    path: PathBuf,
    /// Of the gateway.
    pub(super) port: String,
    /// Of the model.
    pub(super) stub: String,
    /// The text of every file, before it was run on.
    pub(super) texts: String,
    /// What was in it then.
    before: Before,
}

#[derive(Default)]
struct Before {
    has_openclaw_folder: bool,
    has_ledger: bool,
    /// The configuration as it is written, without what it includes.
    configuration: Value,
}

impl Home {
    pub(super) fn copy(source: &Path, ports: &Ports) -> std::io::Result<Self> {
        let folder = TempDir::with_prefix("yabby-home-")?;
        let path = folder.path().join("user");
        let (port, stub) = (ports.gateway.to_string(), ports.stub.to_string());
        let mut home = Self { folder, path, port, stub, texts: String::new(), before: Before::default() };
        let target = home.path.clone();
        home.copy_folder(source, &target)?;
        let folder = target.join(".openclaw");
        home.before = Before {
            has_openclaw_folder: folder.exists(),
            has_ledger: folder.join("usage").exists(),
            configuration: home.json_at(".openclaw/openclaw.json"),
        };
        Ok(home)
    }

    fn copy_folder(&mut self, from: &Path, to: &Path) -> std::io::Result<()> {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            let target = to.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                self.copy_folder(&entry.path(), &target)?;
            } else if entry.file_name() != ".keep" {
                let text = self.filled(&fs::read_to_string(entry.path())?);
                fs::write(&target, &text)?;
                self.texts.push_str(&text);
            }
        }
        Ok(())
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// A file that is not in it.
    pub(super) fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Text with its placeholders filled in: quoted numbers lose their quotes.
    pub(super) fn filled(&self, text: &str) -> String {
        static TIME: LazyLock<Option<Regex>> =
            LazyLock::new(|| Regex::new(r#""@NOW([+-]\d+)@"|@(NOW|ISO)([+-]\d+)@"#).ok());
        let text = text.replace("\"@PORT@\"", &self.port).replace("\"@STUB@\"", &self.stub);
        let text = text.replace("@PORT@", &self.port).replace("@STUB@", &self.stub);
        let text = text.replace("@HOME@", &self.path().display().to_string());
        let now = Timestamp::now();
        let moment = |distance: &str| {
            let distance = distance.parse::<i64>().unwrap_or(0);
            now.checked_add(distance.milliseconds()).unwrap_or(now)
        };
        let fill = |found: &Captures<'_>| match (found.get(1), found.get(2), found.get(3)) {
            (_, Some(kind), Some(distance)) if kind.as_str() == "ISO" => {
                moment(distance.as_str()).strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
            }
            (Some(distance), ..) | (_, _, Some(distance)) => {
                moment(distance.as_str()).as_millisecond().to_string()
            }
            _ => String::new(),
        };
        TIME.as_ref().map_or(text.clone(), |time| time.replace_all(&text, fill).into_owned())
    }

    /// Whether there was a folder of OpenClaw in it.
    pub(super) fn was_of_openclaw(&self) -> bool {
        self.before.has_openclaw_folder
    }

    /// Whether there was a ledger of ours in it.
    pub(super) fn had_ledger(&self) -> bool {
        self.before.has_ledger
    }

    /// Whether its configuration was put together from several places.
    pub(super) fn used_references(&self) -> bool {
        self.texts.contains("$include") || self.texts.contains("${")
    }

    /// The configuration as it was written.
    pub(super) fn configuration(&self) -> &Value {
        &self.before.configuration
    }

    /// What is in a file, as JSON5; null without one.
    pub(super) fn json_at(&self, file: &str) -> Value {
        let path: PathBuf = self.path().join(file);
        let text = fs::read_to_string(path).ok();
        text.and_then(|text| json::parse_json5(&text)).unwrap_or_default()
    }
}
