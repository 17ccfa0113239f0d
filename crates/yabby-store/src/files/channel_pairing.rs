//! Who may talk to the agent in a channel: those who were let in, and those who ask to be (`state-files.md` §6).
//! OpenClaw reads and writes the same two files, under the same lock.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use yabby_domain::json::{self, Object, Value};
use yabby_domain::seam::{Clock, StoreError};
use yabby_domain::text::{self, lossy};

use super::atomic;
use super::folder::read_plain;
use super::lock_folder::LockFolder;
use crate::disk::{Disk as _, Doing, LocalDisk, beside, shown};
use crate::paths::Place;

/// How long a request waits.
const LASTS_MS: i64 = 3_600_000;

/// The files of one channel.
pub struct ChannelPairing {
    requests: PathBuf,
    allowed: PathBuf,
    channel: String,
    clock: Arc<dyn Clock>,
}

impl ChannelPairing {
    pub fn of(place: &Place, channel: &str, clock: Arc<dyn Clock>) -> Self {
        let named = place.environment.get("OPENCLAW_OAUTH_DIR").and_then(text::non_blank);
        let folder = named.map_or_else(|| place.folder.path().join("credentials"), PathBuf::from);
        let channel = text::lower(channel);
        let forbidden = |c: char| matches!(c, '\\' | '/' | ':' | '*' | '?' | '"' | '<' | '>' | '|');
        let name = channel.replace(forbidden, "_").replace("..", "_");
        Self {
            requests: folder.join(format!("{name}-pairing.json")),
            allowed: folder.join(format!("{name}-allowFrom.json")),
            channel,
            clock,
        }
    }

    /// Who asks; requests that are too old are left out.
    pub fn requests(&self) -> Result<Vec<Value>, StoreError> {
        let now = self.clock.now().as_millisecond();
        let is_fresh = |request: &Value| {
            let at = request
                .get("createdAt")
                .and_then(Value::as_str)
                .and_then(|at| at.parse::<jiff::Timestamp>().ok());
            at.is_some_and(|at| now.saturating_sub(at.as_millisecond()) <= LASTS_MS)
        };
        let mut requests = list_in(&self.requests, "requests")?;
        requests.retain(is_fresh);
        Ok(requests)
    }

    /// Lets the one in who was given this code; their id.
    pub fn approve(&self, code: &str) -> Result<Option<String>, StoreError> {
        let wanted = text::lower(text::trim(code));
        if let Some(folder) = self.requests.parent().filter(|folder| !folder.exists()) {
            LocalDisk.create_folder(folder).doing("create", folder)?;
        }
        let _lock = LockFolder::take(&beside(&self.requests, ".lock"))?;
        let mut requests = self.requests()?;
        let has_code = |request: &Value| {
            request.get("code").and_then(Value::as_str).map(text::lower).as_ref() == Some(&wanted)
        };
        let Some(at) = requests.iter().position(has_code) else { return Ok(None) };
        let request = requests.remove(at);
        let id = request.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
        // Let in first: a request that is granted twice does no harm, one that is lost does.
        self.allow(&id)?;
        write(&self.requests, "requests", requests)?;
        Ok(Some(id))
    }

    fn allow(&self, id: &str) -> Result<(), StoreError> {
        let prefix = format!("{}:", self.channel);
        let plain = text::trim(id);
        let plain = plain.strip_prefix(&prefix).unwrap_or(plain);
        let _lock = LockFolder::take(&beside(&self.allowed, ".lock"))?;
        let mut allowed = list_in(&self.allowed, "allowFrom")?;
        let is_known = allowed.iter().any(|known| known.as_str() == Some(plain));
        if plain.is_empty() || plain == "*" || is_known {
            return Ok(());
        }
        allowed.push(plain.into());
        write(&self.allowed, "allowFrom", allowed)
    }
}

/// A file that cannot be read is not taken for an empty one, which would be written over.
fn list_in(file: &Path, field: &str) -> Result<Vec<Value>, StoreError> {
    let bytes = match read_plain(file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        read => read.doing("read", file)?,
    };
    let found = json::parse(&lossy(&bytes)).ok().filter(Value::is_object);
    let found = found
        .ok_or_else(|| StoreError::Damaged { path: shown(file), what: format!("it holds no {field}") })?;
    Ok(found.get(field).and_then(Value::as_array).cloned().unwrap_or_default())
}

fn write(file: &Path, field: &str, list: Vec<Value>) -> Result<(), StoreError> {
    let content =
        Object::from_iter([("version".to_owned(), Value::from(1)), (field.to_owned(), list.into())]);
    let text = format!("{}\n", json::stringify_pretty(&Value::Object(content)));
    atomic::replace(&LocalDisk, file, text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SystemClock;
    use crate::paths::Choice;

    fn pairing(home: &Path, channel: &str) -> ChannelPairing {
        let choice = Choice { state: Some(home.join("state")), profile: None };
        let place = Place::find_around(&choice, Vec::new().into_iter().collect(), home, home);
        ChannelPairing::of(&place, channel, Arc::new(SystemClock))
    }

    fn request(id: &str, code: &str, age_s: i64) -> Value {
        let at = jiff::Timestamp::now() - jiff::SignedDuration::from_secs(age_s);
        serde_json::json!({"id": id, "code": code, "createdAt": format!("{at:.3}"), "lastSeenAt": format!("{at:.3}")})
    }

    #[test]
    fn whoever_has_a_fresh_code_is_let_in_once() {
        let home = tempfile::tempdir().unwrap();
        let pairing = pairing(home.path(), "Telegram");
        assert_eq!(pairing.approve("NONE2345").unwrap(), None);
        write(
            &pairing.requests,
            "requests",
            vec![request("7", "ABCD2345", 60), request("8", "OLDD2345", 3700)],
        )
        .unwrap();
        assert_eq!(pairing.requests().unwrap().len(), 1);
        assert_eq!(pairing.approve("OLDD2345").unwrap(), None);
        assert_eq!(pairing.approve(" abcd2345 ").unwrap().as_deref(), Some("7"));
        assert_eq!(pairing.approve("ABCD2345").unwrap(), None);
        assert_eq!(list_in(&pairing.allowed, "allowFrom").unwrap(), ["7"]);
        assert!(!beside(&pairing.requests, ".lock").exists());
    }

    #[test]
    fn a_list_that_cannot_be_read_is_not_written_over() {
        let home = tempfile::tempdir().unwrap();
        let pairing = pairing(home.path(), "telegram");
        std::fs::create_dir_all(pairing.requests.parent().unwrap()).unwrap();
        write(&pairing.requests, "requests", vec![request("telegram:7", "ABCD2345", 0)]).unwrap();
        std::fs::write(&pairing.allowed, "{half").unwrap();
        assert!(pairing.approve("ABCD2345").is_err());
        assert_eq!(std::fs::read_to_string(&pairing.allowed).unwrap(), "{half");
        assert_eq!(pairing.requests().unwrap().len(), 1);
        std::fs::remove_file(&pairing.allowed).unwrap();
        pairing.approve("ABCD2345").unwrap();
        assert_eq!(list_in(&pairing.allowed, "allowFrom").unwrap(), ["7"]);
    }
}
