//! Which files a stretch of conversation read and changed (`transcripts.md` §6.3, §6.4).

use std::collections::HashSet;

use crate::json::{Object, Value};
use crate::message::{Block, Message, Role};
use crate::text;

/// The files touched, each set in the order of the first touch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileOperations {
    pub read: FileSet,
    pub written: FileSet,
    pub edited: FileSet,
}

/// What a summary tells about files: a file that was changed is not also listed as read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileLists {
    pub read: Vec<String>,
    pub modified: Vec<String>,
}

impl FileOperations {
    /// Adds the lists that an earlier summary of ours carries in its `details`; what an extension
    /// wrote there is not ours to interpret.
    pub fn add_summary_entry(&mut self, entry: &Object) {
        let from_hook = entry.get("fromHook").is_some_and(crate::json::truthy);
        let Some(details) = entry.get("details").filter(|_| !from_hook) else {
            return;
        };
        self.read.extend(listed(details, "readFiles"));
        self.edited.extend(listed(details, "modifiedFiles"));
    }

    /// Adds what the calls of `read`, `write` and `edit` in a message name as their `path`.
    pub fn add_message(&mut self, message: &Message) {
        if message.role() != Role::Assistant {
            return;
        }
        for block in message.blocks() {
            let Block::ToolCall(call) = Block::of(block) else {
                continue;
            };
            let path = call.arguments.and_then(|arguments| arguments.get("path")).and_then(Value::as_str);
            let Some(path) = path.filter(|path| !path.is_empty()) else {
                continue;
            };
            match call.name {
                Some("read") => self.read.extend([path]),
                Some("write") => self.written.extend([path]),
                Some("edit") => self.edited.extend([path]),
                _ => {}
            }
        }
    }

    /// The two lists of a summary, sorted by UTF-16 unit.
    pub fn lists(&self) -> FileLists {
        let mut modified = FileSet::default();
        modified.extend(self.edited.iter().chain(self.written.iter()));
        let read = self.read.iter().filter(|path| !modified.known.contains(*path)).map(str::to_owned);
        FileLists { read: sorted(read.collect()), modified: sorted(modified.ordered) }
    }
}

fn listed<'d>(details: &'d Value, field: &str) -> impl Iterator<Item = &'d str> {
    details.get(field).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

fn sorted(mut paths: Vec<String>) -> Vec<String> {
    paths.sort_by_cached_key(|path| text::to_units(path));
    paths
}

impl FileLists {
    /// The lists as a summary entry carries them; [`FileOperations::add_summary_entry`] reads them again.
    pub fn details(&self) -> Value {
        serde_json::json!({"readFiles": self.read, "modifiedFiles": self.modified})
    }

    /// The lists as the sections that close a summary; nothing if both are empty.
    pub fn sections(&self) -> String {
        let section = |name: &str, paths: &[String]| match paths {
            [] => String::new(),
            _ => format!("\n\n<{name}>\n{}\n</{name}>", paths.join("\n")),
        };
        section("read-files", &self.read) + &section("modified-files", &self.modified)
    }
}

/// Paths without duplicates, in the order they came.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileSet {
    ordered: Vec<String>,
    known: HashSet<String>,
}

impl FileSet {
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.ordered.iter().map(String::as_str)
    }

    pub fn extend<'p>(&mut self, paths: impl IntoIterator<Item = &'p str>) {
        for path in paths {
            if self.known.insert(path.to_owned()) {
                self.ordered.push(path.to_owned());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_changed_file_is_not_listed_as_read() {
        let mut files = FileOperations::default();
        let call =
            |name: &str, arguments: Value| json!({"type": "toolCall", "name": name, "arguments": arguments});
        files.add_message(
            &Message::from_value(json!({"role": "assistant", "content": [
                call("read", json!({"path": "b"})),
                call("read", json!({"path": "Z"})),
                call("edit", json!({"path": "b"})),
                call("write", json!({"path": "a"})),
                call("read", json!({"file_path": "x"})),
                call("Read", json!({"path": "x"})),
                call("read", json!("x")),
            ]}))
            .unwrap(),
        );
        let earlier = json!({"details": {"readFiles": ["old", 4], "modifiedFiles": "no list"}});
        files.add_summary_entry(earlier.as_object().unwrap());
        let hooked = json!({"fromHook": true, "details": {"readFiles": ["hooked"]}});
        files.add_summary_entry(hooked.as_object().unwrap());
        let lists = files.lists();
        assert_eq!(
            lists,
            FileLists { read: vec!["Z".into(), "old".into()], modified: vec!["a".into(), "b".into()] }
        );
        assert_eq!(
            lists.sections(),
            "\n\n<read-files>\nZ\nold\n</read-files>\n\n<modified-files>\na\nb\n</modified-files>"
        );
        assert_eq!(FileLists::default().sections(), "");
    }
}
