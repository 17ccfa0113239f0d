//! Which conversations a key had before: `<store>.earlier`, a line for each that another one took the place of.
//!
//! The store itself knows the current conversation of a key only, and a transcript does not name its key. Nothing
//! depends on this file; a line that was lost makes an earlier conversation harder to find.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use jiff::Timestamp;
use serde_json::json;
use yabby_domain::json::{self, Value};
use yabby_domain::seam::StoreError;
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::key::SessionKey;
use yabby_domain::text::lossy;

use crate::disk::{Disk, Doing, beside, write_all};
use crate::files::folder::{plain, read_plain};

/// The line for a change after which a key has another conversation, or none.
pub(super) fn line(
    key: &SessionKey,
    before: Option<&SessionEntry>,
    after: Option<&SessionEntry>,
    at: Timestamp,
) -> Option<String> {
    let id = before?.session_id().filter(|id| !id.is_empty())?;
    if after.and_then(|after| after.session_id()) == Some(id) {
        return None;
    }
    let line = json!({"sessionId": id, "sessionKey": key.as_str(), "endedAt": at.as_millisecond()});
    Some(json::stringify(&line) + "\n")
}

/// Appends lines. The first of a write ends a line that somebody died over.
pub(super) fn append(disk: &dyn Disk, store: &Path, lines: &str) -> Result<(), StoreError> {
    let path = beside(store, ".earlier");
    let file = disk.open_append(&path).and_then(plain).doing("open", &path)?;
    write_all(disk, &file, format!("\n{lines}").as_bytes()).doing("write", &path)
}

/// The key of each earlier conversation, by its session id.
pub fn earlier_keys(store: &Path) -> Result<HashMap<String, SessionKey>, StoreError> {
    let path = beside(store, ".earlier");
    let bytes = match read_plain(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(HashMap::new()),
        bytes => bytes.doing("read", &path)?,
    };
    let text = lossy(&bytes);
    let key_of = |line: &str| {
        let line = json::parse(line).ok()?;
        let field = |name: &str| line.get(name).and_then(Value::as_str);
        Some((field("sessionId")?.to_owned(), SessionKey::new(field("sessionKey")?)))
    };
    Ok(text.lines().filter_map(key_of).collect())
}
