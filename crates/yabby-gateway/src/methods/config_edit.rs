//! What `config.set`, `config.patch` and `config.apply` share: the file that the caller saw is the one that is
//! changed, hidden values stay what they are, and nothing invalid is written (`gateway.md` §7).

use std::time::Duration;

use serde_json::json;
use yabby_config::defaults;
use yabby_config::redaction::{merge, redacted};
use yabby_domain::json::{self, Object, Value};
use yabby_domain::text;
use yabby_store::config_file::Snapshot;
use yabby_store::config_file::edit::{ConfigFile, EditError};
use yabby_store::disk::LocalDisk;
use yabby_store::files::atomic;
use yabby_store::paths::Place;

use super::Call;
use super::config_get::issues;
use crate::frames::{Answer, Refusal};
use crate::schema::{COUNT, NON_EMPTY, Schema, TEXT, optional, required};
use crate::{RestartWish, on_disk};

/// A change after which we start anew.
pub(super) const PARAMS: Schema = Schema::Object(&[
    required("raw", NON_EMPTY),
    optional("baseHash", NON_EMPTY),
    optional("sessionKey", TEXT),
    optional("note", TEXT),
    optional("restartDelayMs", COUNT),
]);

/// How a request changes the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// By this text.
    Whole,
    /// By a patch over what it says.
    Patch,
}

/// Changes the file; what it resolves to then.
pub(super) async fn write(call: &Call, way: Way) -> Result<Value, Refusal> {
    let (place, raw) = (call.gateway.place.clone(), call.text("raw").unwrap_or_default().to_owned());
    let base = call.text("baseHash").and_then(text::non_blank).map(str::to_owned);
    on_disk(move || write_to(&place, &raw, base.as_deref(), way)).await?
}

fn write_to(place: &Place, raw: &str, base: Option<&str>, way: Way) -> Result<Value, Refusal> {
    let snapshot = Snapshot::read(place);
    check_base(&snapshot, base)?;
    let file = ConfigFile::of(place);
    let mut before = Value::Null;
    let proposed = match way {
        Way::Whole => file.proposed(raw),
        Way::Patch => {
            if !snapshot.is_valid() {
                return Err(Refusal::invalid("invalid config; fix before patching"));
            }
            let patch = json::read_json5(raw).map_err(EditError::Unreadable).map_err(refused)?;
            if !patch.is_object() {
                return Err(Refusal::invalid("config.patch raw must be an object"));
            }
            before = snapshot.config.raw().clone();
            merge(&mut before, &patch);
            file.patched(&patch)
        }
    };
    let proposed = proposed.map_err(refused)?;
    if !proposed.issues.is_empty() {
        let details = json!({"issues": issues(&proposed.issues)});
        return Err(Refusal::invalid("invalid config").with_details(details));
    }
    // Whoever changed the file since then is not overwritten.
    let base = snapshot.exists.then_some(snapshot.hash.as_str());
    file.replace(proposed.raw.as_deref().unwrap_or_default(), base).map_err(refused)?;
    let said = match way {
        Way::Whole => &proposed.parsed,
        Way::Patch => &before,
    };
    Ok(redacted(&defaults::as_said(proposed.config.raw(), said)))
}

fn check_base(snapshot: &Snapshot, base: Option<&str>) -> Result<(), Refusal> {
    match base {
        _ if !snapshot.exists => Ok(()),
        None => Err(Refusal::invalid("config base hash required; re-run config.get and retry")),
        Some(base) if base != snapshot.hash => Err(refused(EditError::Stale)),
        Some(_) => Ok(()),
    }
}

fn refused(error: EditError) -> Refusal {
    match error {
        EditError::Store(error) => error.into(),
        error => Refusal::invalid(error.to_string()),
    }
}

/// What every answer begins with.
pub(super) fn told(call: &Call, config: Value) -> Object {
    Object::from_iter([
        ("ok".to_owned(), Value::Bool(true)),
        ("path".to_owned(), call.gateway.place.config.to_string_lossy().into()),
        ("config".to_owned(), config),
    ])
}

/// Changes the file, leaves a note for whoever starts next, and asks for a new start.
pub(super) async fn write_and_restart(call: &Call, way: Way, mode: &'static str) -> Answer {
    let config = write(call, way).await?;
    let mut told = told(call, config);
    // The note is there before anybody starts who should find it.
    let sentinel = sentinel(call, mode).await?;
    told.insert("restart".to_owned(), restart(call, mode));
    told.insert("sentinel".to_owned(), sentinel);
    Ok(Value::Object(told))
}

fn restart(call: &Call, reason: &str) -> Value {
    const USUAL_MS: f64 = 2000.0;
    const MOST_MS: f64 = 60_000.0;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and a minute")]
    let delay = call.number("restartDelayMs").unwrap_or(USUAL_MS).clamp(0.0, MOST_MS) as u64;
    let wish = RestartWish { reason: reason.to_owned(), delay: Duration::from_millis(delay) };
    let is_heard = call.gateway.restarts.send(wish).is_ok();
    json!({
        "ok": is_heard,
        "pid": std::process::id(),
        "signal": "SIGUSR1",
        "delayMs": delay,
        "reason": reason,
        "mode": "emit",
    })
}

/// What whoever starts next finds, and tells the session that asked.
async fn sentinel(call: &Call, mode: &str) -> Result<Value, Refusal> {
    let said = |name: &str| call.text(name).and_then(text::non_blank);
    let mut payload = json!({
        "kind": "config-apply",
        "status": "ok",
        "ts": call.gateway.now(),
        "message": said("note"),
        "doctorHint": "Run: openclaw doctor --non-interactive",
        "stats": {"mode": mode, "root": call.gateway.place.config.to_string_lossy()},
    });
    if let Some(key) = said("sessionKey") {
        payload["sessionKey"] = key.into();
    }
    let path = call.gateway.place.folder.path().join("restart-sentinel.json");
    let text = format!("{}\n", json::stringify_pretty(&json!({"version": 1, "payload": payload})));
    let file = path.clone();
    let written = on_disk(move || atomic::replace(&LocalDisk, &file, text.as_bytes())).await?;
    let path = match written {
        Ok(()) => Value::from(path.to_string_lossy()),
        Err(error) => {
            tracing::warn!(%error, "no note is left for the next start");
            Value::Null
        }
    };
    Ok(json!({"path": path, "payload": payload}))
}
