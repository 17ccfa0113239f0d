//! What differs from run to run, or by the name of the program, is put out of sight on both sides.

use std::sync::LazyLock;

use regex::Regex;
use yabby_domain::json::Value;

use super::home::Home;

/// Fields that carry the moment of the run, or ids that were made in it. The last is filled in with the home.
const VOLATILE: [&str; 5] = ["meta", "createdAtMs", "updatedAtMs", "nextRunAtMs", "lastRunAtMs"];

/// The ports of the gateway and the model that stand in the recordings.
const PORTS: [&str; 2] = ["18910", "18911"];

#[derive(Clone, Default)]
pub(super) struct Normal {
    home: String,
    /// Ours.
    ports: [String; 2],
    /// Ids in these are known, and kept.
    known: String,
}

static PATTERNS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    const RULES: [(&str, &str); 10] = [
        (r"🦞 OpenClaw|OpenClaw", "yabby"),
        (r"(^|[^.\w/])openclaw($|[^.\w]|\.(\s|$))", "${1}yabby${2}"),
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", "<ts>"),
        (r"(?m)^\d\d:\d\d:\d\d(\.\d+)? ", "<ts> "),
        (r"just now|\b\d+[smhd] ago|\bin \d+[smhd]\b", "<age>"),
        (r"\b\d+ms\b|\b\d+\.\d+s\b", "<dur>"),
        (r"\bpid \d+", "pid <n>"),
        (r"(?m)^    at .*\n?", ""),
        (r"\b2026\.2\.3\b", "<version>"),
        (r"https?://docs\.[^\s\x22')]+", "<docs>"),
    ];
    RULES.iter().filter_map(|(pattern, to)| Some((Regex::new(pattern).ok()?, *to))).collect()
});

impl Normal {
    pub(super) fn new(command: &[String], home: &Home) -> Self {
        let known = format!("{}\n{}", command.join(" "), home.texts);
        let ports = [home.port.clone(), home.stub.clone()];
        Self { home: home.path().display().to_string(), ports, known }
    }

    pub(super) fn text(&self, text: &str) -> String {
        let mut text = text.replace(&self.home, "/home/user");
        for (ours, recorded) in self.ports.iter().zip(PORTS).filter(|(ours, _)| !ours.is_empty()) {
            text = text.replace(ours, recorded);
        }
        for (pattern, to) in PATTERNS.iter() {
            text = pattern.replace_all(&text, *to).into_owned();
        }
        text = self.without_ids(&text);
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        lines.join("\n")
    }

    fn without_ids(&self, text: &str) -> String {
        static ID: LazyLock<Option<Regex>> = LazyLock::new(|| {
            Regex::new(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}").ok()
        });
        let Some(id) = ID.as_ref() else { return text.to_owned() };
        let known = |found: &regex::Captures<'_>| match self.known.contains(&found[0]) {
            true => found[0].to_owned(),
            false => "<uuid>".to_owned(),
        };
        id.replace_all(text, known).into_owned()
    }

    pub(super) fn value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.text(text).into(),
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::Object(object) => {
                Value::Object(object.iter().map(|(key, value)| (self.text(key), self.value(value))).collect())
            }
            // A port of ours.
            Value::Number(number) => {
                let own = self.ports.iter().position(|port| *port == number.to_string());
                own.and_then(|at| PORTS[at].parse::<u16>().ok()).map_or_else(|| value.clone(), Value::from)
            }
            other => other.clone(),
        }
    }

    /// Files by name with their contents, without what carries the moment of the run.
    pub(super) fn file_contents(&self, files: &Value) -> Value {
        let mut files = self.value(files);
        for content in files.as_object_mut().into_iter().flat_map(|files| files.values_mut()) {
            strip(content);
        }
        files
    }
}

fn strip(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(strip),
        Value::Object(object) => {
            VOLATILE.iter().for_each(|field| drop(object.shift_remove(*field)));
            object.values_mut().for_each(strip);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_program_change_and_names_on_disk_stay() {
        let normal = Normal { home: "/tmp/x".to_owned(), ..Normal::default() };
        let table = [
            ("Run: openclaw doctor --fix", "Run: yabby doctor --fix"),
            ("File: ~/.openclaw/openclaw.json", "File: ~/.openclaw/openclaw.json"),
            ("/tmp/x/openclaw.log 3m ago  ", "/home/user/openclaw.log <age>"),
            ("Use \"openclaw agents list\"", "Use \"yabby agents list\""),
            ("at 2026-11-15T20:41:05.287Z, pid 77", "at <ts>, pid <n>"),
        ];
        for (text, expected) in table {
            assert_eq!(normal.text(text), expected);
        }
    }
}
