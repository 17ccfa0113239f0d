//! What whoever asked for a new beginning left for it: `restart-sentinel.json` (`state-files.md` §7).

use yabby_domain::config::Config;
use yabby_domain::json::{self, Value};
use yabby_domain::session::key::{KeyPolicy, SessionKey};
use yabby_domain::text;
use yabby_store::paths::Place;

/// Why we began anew, as it was left to us.
pub struct Sentinel(Value);

/// Takes away what was left, if there is something.
pub fn take(place: &Place) -> Option<Sentinel> {
    let file = place.folder.path().join("restart-sentinel.json");
    let left = std::fs::read_to_string(&file).ok()?;
    if let Err(error) = std::fs::remove_file(&file) {
        tracing::warn!(%error, file = %file.display(), "the note about the last restart cannot be removed");
    }
    Some(Sentinel(json::parse(&left).ok()?.get("payload")?.clone()))
}

impl Sentinel {
    /// The session that is to know, and what: the one that asked, or the main one.
    pub fn notice(&self, config: &Config) -> (SessionKey, String) {
        let said = |path: &[&str]| json::at(&self.0, path).and_then(Value::as_str).and_then(text::non_blank);
        let policy = KeyPolicy::from_config(config);
        let session = match said(&["sessionKey"]) {
            Some(key) => policy.store_key(&text::lower(key)),
            None => policy.main_session(),
        };
        let reason = said(&["stats", "mode"]).or(said(&["kind"])).unwrap_or("a restart was asked for");
        let note = said(&["message"]).map(|note| format!(": {note}")).unwrap_or_default();
        (session, format!("The gateway began anew ({reason}){note}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn whoever_asked_for_a_new_beginning_hears_of_it() {
        let config = Config::default();
        let told = |payload: Value| {
            let (session, notice) = Sentinel(payload).notice(&config);
            (session.as_str().to_owned(), notice)
        };
        let asked = json!({"kind": "config-apply", "sessionKey": "agent:ops:main", "message": "a new model", "stats": {"mode": "config.patch"}});
        let expected = "The gateway began anew (config.patch): a new model";
        assert_eq!(told(asked), ("agent:ops:main".to_owned(), expected.to_owned()));
        let nobody = json!({"kind": "config-apply", "message": null});
        let expected = "The gateway began anew (config-apply)";
        assert_eq!(told(nobody), ("agent:main:main".to_owned(), expected.to_owned()));
    }
}
